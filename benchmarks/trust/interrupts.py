"""Fits that a signal reaches at a random moment: each has to end with what it found or with KeyboardInterrupt.

A child process says ``begins``, fits, and says how that ended. A signal is sent after a random time. What counts as
wrong is the death of the process by a signal, another exception than KeyboardInterrupt, and a process that does not
end.

Printed by ``python -m benchmarks.trust --interrupts``.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.trust.summary import Case, Summary, over_seeds

ROOT = Path(__file__).parent.parent.parent
LONGEST = 120.0
"""Seconds after which a process counts as one that does not end."""

# A process that was started in the background ignores SIGINT, and so would its children.
_HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
_DATA = (
    _HEARD
    + """
import sys
import numpy as np
{imports}
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, 6))
y = (X[:, 0] + rng.normal(size={n}) > 1).astype(float)
print("begins", flush=True)
try:
    {fit}
    print("ended", flush=True)
except KeyboardInterrupt:
    print("clean", flush=True)
"""
)


def _script(code: str, n: int = 300) -> str:
    """Imports come before the fit: a signal in the middle of one is lost by libraries that are not ours."""
    lines = code.strip().splitlines()
    imports = [line for line in lines if line.startswith("from ")]
    fit = [line for line in lines if not line.startswith("from ")]
    return _DATA.format(imports="\n".join(imports), fit="\n    ".join(fit), n=n)


_FIT = "from rerank import Reranker\nprint(Reranker('dcg@10', {options}).fit(X, y).result_.notes)"
_SCORER = "from rerank.scorers import {name}\n{name}({options}).fit(X, y)"
SCRIPTS = {
    "search": _script(_FIT.format(options="solver='search', first_stage=None, time_limit=10")),
    "two workers": _script(_FIT.format(options="solver='search', first_stage=None, time_limit=10, n_jobs=2")),
    "highs": _script(_FIT.format(options="solver='highs', time_limit=10")),
    "program": _script(_FIT.format(options="solver='highs', presolve=False, time_limit=10"), 60),
    "proof": _script(_FIT.format(options="solver='search', max_features=2, proof=True, time_limit=10")),
    "selection": _script(
        "from rerank import Reranker, RerankerCV\n"
        "RerankerCV(Reranker('dcg@10', solver='search', time_limit=.5), cv=3).fit(X, y)"
    ),
    "ranksvm": _script(_SCORER.format(name="RankSVM", options="alpha=1e-9, tol=1e-12"), 50_000),
    "robirank": _script(_SCORER.format(name="RoBiRank", options="alpha=1e-9, tol=1e-12"), 50_000),
    "toppush": _script(_SCORER.format(name="TopPush", options="alpha=1e-7, tol=1e-14"), 50_000),
    "latent": _script(
        "from scipy.sparse import random as drawn\nfrom rerank.latent import LatentRoBiRank\nlog = drawn(2000, 500, "
        ".02, random_state=0, format='csr')\nlog.data[:] = 1\nprint(LatentRoBiRank(n_factors=16, n_epochs=500, "
        "random_state=0).fit(log).stopped_)"
    ),
}
_TABLE = "\n".join(f"{int(i % 3 == 0)},{i * 37 % 101},{i * 53 % 97},{i * i % 89},{i * 71 % 83}" for i in range(300))
COMMAND = _HEARD + "\nimport sys; from rerank.cli import main; sys.argv[0] = 'rerank'; main()"
KINDS = (*SCRIPTS, "command")


def interrupts(count: int, first: int, jobs: int) -> Summary:
    """Send ``count`` signals at random moments."""
    return over_seeds("signals", interrupted, count, first, jobs)


def interrupted(seed: int) -> Case:
    """One fit and one signal."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    number = rng.choice([signal.SIGINT, signal.SIGTERM]) if kind == "command" else signal.SIGINT
    return _reached(kind, number, rng.choice([1.0, 4.0, 8.0]) * rng.random())


def _reached(kind: str, number: signal.Signals, seconds: float) -> Case:
    described = f"{kind}, {number.name} after {seconds:.3f} s"
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m.json"
        arguments, ready = [sys.executable, "-c", SCRIPTS.get(kind, COMMAND)], "begins"
        if kind == "command":
            data, ready = Path(folder) / "data.csv", "Fitting"
            data.write_text(f"hit,a,b,c,d\n{_TABLE}\n", encoding="utf-8")
            arguments += ["fit", str(data), "--free", "--label", "hit", "--model", str(model), "--solver", "search"]
            arguments += ["--time-limit", "10", "--candidates", "0"]
        child = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert child.stdout is not None
        said = child.stdout.readline()
        try:
            if said.startswith(ready):
                try:
                    child.wait(seconds)
                except subprocess.TimeoutExpired:
                    child.send_signal(number)
            said += child.communicate(timeout=LONGEST)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return Case(described, ("it did not end",), (kind,))
        failures, ending = judged(kind, child.returncode, said, model.exists())
    return Case(described, failures, (ending,))


def judged(kind: str, code: int, said: str, written: bool) -> tuple[tuple[str, ...], str]:
    """What was wrong with the end of a process, and a word for how it ended."""
    told = "ended" if "\nended" in said else "clean" if "\nclean" in said or "Stopped before" in said else ""
    if kind == "command" and written:
        told = "written"
    # Python itself ends with SIGINT if KeyboardInterrupt was once raised inside exec of a text, even if it was caught
    # (run_eval_code_obj in its pythonrun.c), and imports use exec.
    allowed = (0, -signal.SIGINT) if kind != "command" else (0, 3, 130, -signal.SIGINT)
    bad = [word for word in ("SystemError", "Segmentation", "Fatal Python", "DeadLock") if word in said]
    if told and code in allowed and not bad:
        return (), told
    return (f"code {code}: {said[-2000:]}",), "wrong"
