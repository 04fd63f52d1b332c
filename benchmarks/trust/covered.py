"""Lines and branches of the packages that the tests run, with compiled kernels run as Python.

The rooms of ``tests/`` run one after the other, each for at most :data:`SECONDS`; what a room ran before it was stopped
counts. The rooms of :data:`KERNELS` run twice: as they are, and with ``NUMBA_DISABLE_JIT=1``, since no tool sees into
compiled code. ``rerank/latent`` is left out. Tests may fail here by their own time limits: their verdict is that of
``python -m pytest``.

Printed by ``python -m benchmarks.trust --coverage``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.trust.summary import Summary

ROOT = Path(__file__).parent.parent.parent
SECONDS = 1800.0
AIM = 95.0
KERNELS = ("scorers", "search")
LEFT_OUT = {"__pycache__", "benchmarks", "cases", "constraints", "latent"}


def coverage(rooms: Sequence[str], first: int, jobs: int) -> Summary:
    """Run rooms of tests (``all`` for every one) and report the share of lines and branches that ran."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "COVERAGE_FILE": str(Path(folder) / "data"),
            "COVERAGE_RCFILE": str(ROOT / "pyproject.toml"),
        }
        chosen = _all_rooms() if "all" in rooms else list(rooms)
        stopped = [room for room in chosen if not _ran(room, environment)]
        as_python = environment | {"NUMBA_DISABLE_JIT": "1"}
        stopped += [f"{room} as Python" for room in chosen if room in KERNELS and not _ran(room, as_python)]
        report = Path(folder) / "report.json"
        for command in (["combine", "-q"], ["json", "-q", "-o", str(report)]):
            subprocess.run([sys.executable, "-m", "coverage", *command], cwd=ROOT, env=environment, check=True)
        found = json.loads(report.read_text())
    for path, percent, missing in sorted(_below(found), key=lambda row: row[1]):
        print(f"{percent:5.1f} % {path}: {missing}")
    share = found["totals"]["percent_covered"]
    text = f"lines and branches covered {share:.2f} % by tests/{{{','.join(chosen)}}}"
    failures = [] if share >= AIM else [f"The aim is {AIM} %."]
    return Summary(text + (f", stopped after {SECONDS:.0f} s: {', '.join(stopped)}" if stopped else ""), failures)


def _all_rooms() -> list[str]:
    entries = sorted((ROOT / "tests").iterdir())
    return [
        entry.name
        for entry in entries
        if entry.name not in LEFT_OUT and (entry.is_dir() or entry.name.startswith("test_"))
    ]


def _ran(room: str, environment: dict[str, str]) -> bool:
    """Run a room's tests; whether they came to their end."""
    tests = ["-m", "coverage", "run", "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", f"tests/{room}"]
    process = subprocess.Popen([sys.executable, *tests], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        print(f"tests/{room}: stopped after {SECONDS:.0f} s", flush=True)
        return False
    print(f"tests/{room}: {printed.strip().splitlines()[-1]}", flush=True)
    return True


def _below(found: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Files below the aim with the lines that did not run."""
    return [
        (path, entry["summary"]["percent_covered"], _ranges(entry["missing_lines"]))
        for path, entry in found["files"].items()
        if entry["summary"]["percent_covered"] < AIM
    ]


def _ranges(lines: Sequence[int]) -> str:
    """``1, 3-5`` for 1, 3, 4, 5."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)
