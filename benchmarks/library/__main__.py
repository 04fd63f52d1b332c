"""``python -m benchmarks.library`` lists the instances; with ``--regenerate`` it proves and writes them anew."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.library.enumeration import optimum
from benchmarks.library.instances import INSTANCES, Instance
from formulations import mps
from formulations.compile import compile_model
from formulations.library import FOLDER, load, names


def write(instance: Instance, folder: Path) -> None:
    """Prove the optimum of an instance and write its two files."""
    card = instance.card(*optimum(instance))
    mps.write(compile_model(instance.model()), folder / f"{instance.name}.mps", card)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__)
    parser.add_argument("--regenerate", action="store_true", help="enumerate every optimum and rewrite every file")
    if parser.parse_args(arguments).regenerate:
        for instance in INSTANCES:
            write(instance, FOLDER)
        for name in set(names()) - {instance.name for instance in INSTANCES}:
            (FOLDER / f"{name}.mps").unlink()
            (FOLDER / f"{name}.json").unlink(missing_ok=True)
    for name in names():
        program, card = load(name)
        size = f"{len(program.rows)} rows, {len(program.columns)} columns"
        print(f"{name:<28}{card['optimum']:>12.6f}  {size:<24}{card['title']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
