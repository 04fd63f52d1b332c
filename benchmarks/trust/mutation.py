"""Mutation testing: how many small changes of the code the tests of its room notice.

``python -m benchmarks.trust --mutation ranks perturb=60 certificate=60`` changes each file of a room in every place
(or in so many places, drawn with the seed ``--first``) and runs the room's tests, those of the file first, in a forked
process until one fails. Processes that the tests start run the unchanged code. What survives is printed.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from benchmarks.trust.mutators import mutants
from benchmarks.trust.summary import Case, Summary

ROOT = Path(__file__).parent.parent.parent
AIM = 0.9
HEAVY = ("numpy", "scipy.optimize", "sklearn.linear_model", "numba", "pyomo.environ", "hypothesis", "pytest", "polars")
ROOMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ranks": ("tests/ranks", ("positions", "evaluate", "row_gains", "lists", "rationals", "measures")),
    "perturb": ("tests/ranks", ("perturb", "equal_rows", "theorem")),
    "certificate": ("tests/certificate", ()),
}
OWN = {
    "row_gains": "ideal_gains",
    "rationals": "measures",
    "proof_check": "proof",
    "tree": "proof",
    "leaves": "proof",
    "vertices": "proof",
    "exact": "proof",
    "pairs": "proof",
    "claims": "certificate",
    "lists": "lists",
}


def mutation(rooms: Sequence[str], first: int, jobs: int) -> Summary:
    """Mutants of rooms, each ``NAME`` or ``NAME=COUNT``; killed is one that a test notices or that never ends."""
    for name in HEAVY:  # loaded once: a forked process has them at once
        importlib.import_module(name)
    summary = Summary("")
    texts = []
    for word in rooms:
        room, _, count = word.partition("=")
        killed, tried = _room(room, int(count) if count else None, first, summary)
        texts.append(f"{room}: {killed} of {tried} mutants killed ({killed / tried:.1%})")
        if killed < AIM * tried:
            summary.failures.append(f"{room}: fewer than {AIM:.0%} killed")
    summary.text = "; ".join(texts) + f"; seed {first}"
    return summary


def _room(room: str, count: int | None, first: int, summary: Summary) -> tuple[int, int]:
    tests, stems = ROOMS[room]
    folder = ROOT / "rerank" / ("certificate" if room == "certificate" else "ranks")
    paths = [p for p in sorted(folder.rglob("*.py")) if p.name != "__init__.py" and (not stems or p.stem in stems)]
    every = [(path, mutant) for path in paths for mutant in mutants(path.read_text(encoding="utf-8"))]
    chosen = every if count is None else random.Random(first).sample(every, min(count, len(every)))
    limit = _limit(chosen[0][0], tests)
    killed = 0
    for number, (path, mutant) in enumerate(chosen, start=1):
        how = _outcome(path, mutant.tree, tests, limit)
        killed += how != "survived"
        summary.add(Case(str(mutant), (), (f"{room} {how}",)))
        if how == "survived":
            print(f"survived: {path.relative_to(ROOT)}, {mutant}", flush=True)
        print(f"{room}: {number} of {len(chosen)}, {killed} killed", file=sys.stderr, end="\r", flush=True)
    return killed, len(chosen)


def _limit(path: Path, tests: str) -> float:
    """Seconds after which a mutant counts as endless: four times what the unchanged file takes, and a minute."""
    began = time.perf_counter()
    how = _outcome(path, ast.parse(path.read_text(encoding="utf-8")), tests, 3600.0)
    if how != "survived":
        raise RuntimeError(f"The tests in {tests} fail without any change of {path}; mend them first.")
    return 60.0 + 4 * (time.perf_counter() - began)


def _outcome(path: Path, tree: ast.Module, tests: str, limit: float) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    process = multiprocessing.get_context("fork").Process(
        target=_child, args=(".".join(parts), path, tree, _ordered(path, tests))
    )
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return "endless"
    return "survived" if process.exitcode == 0 else "failed"


def _ordered(path: Path, tests: str) -> list[str]:
    """The test files of a room, that of the changed file first."""
    own = f"test_{OWN.get(path.stem, path.stem)}.py"
    found = sorted((ROOT / tests).glob("test_*.py"), key=lambda p: (p.name != own, p.name))
    return [str(p.relative_to(ROOT)) for p in found]


def _child(name: str, path: Path, tree: ast.Module, tests: list[str]) -> None:
    """Run the tests with a module replaced; the exit code is 0 if all pass."""
    import pytest
    from hypothesis import settings

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    settings.register_profile("same", derandomize=True, database=None, deadline=None)
    settings.load_profile("same")
    sys.meta_path.insert(0, _Finder(name, path, tree))
    os.chdir(ROOT)
    # The mutant is in this process alone, so the tests must not be sent to others.
    alone = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main(["-x", "-q", *alone, *tests])
    os._exit(0 if code == 0 else 1)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a tree."""

    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        """The code of the tree."""
        code: CodeType = compile(self.tree, self.path, "exec")
        return code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, with the tree to load it from."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.loader = name, _Loader(name, str(path))
        self.loader.tree = tree

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's specification, for that module alone."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)
