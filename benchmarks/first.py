"""CPU seconds of first calls: ``python -m benchmarks.first [NAME ...]``, with empty caches and with full ones.

Each call runs in a fresh process. Cold, numba's folder is empty; warm, it holds what the cold run left there. Children
count, and so do imports: what a user waits for on one core. Three runs each; the median, and all of them.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
RUNS = 3
TABLE = "from rerank import datasets\nt = datasets.load('haberman')\n"
WORDS = "import sys\nfrom rerank.cli import main\nsys.argv[1:] = {!r}\nsys.exit(main())"
DATA = str(ROOT / "rerank" / "io" / "data" / "haberman.csv")
RUNS_OF = str(ROOT / "examples" / "runs" / "judged.{}.gz")
FIT = ["fit", DATA, "--label", "target", "--stat", "dcg@10", "--candidates", "50", "--free", "--model", "model.json"]


def readme() -> str:
    """The first block of Python in the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def calls() -> dict[str, str]:
    """What is called, by name; the last three need the model file of the one before them."""
    fit, scorer = (
        "from rerank import Reranker\n" + TABLE,
        "from rerank.scorers import {0}\n" + TABLE + "{0}().fit(t.X, t.y)",
    )
    fused = (
        "from rerank.fusion import ScoreFusion\nfrom rerank.io import read_qrels, read_run\n"
        f"runs = {{n: read_run({RUNS_OF!r}.format(n + '.run')) for n in ('column90', 'column99')}}\n"
        f"ScoreFusion().fit(runs, read_qrels({RUNS_OF.format('qrels')!r}))"
    )
    return {
        "import": "from rerank import Reranker, RerankerCV, datasets, load",
        "README's first block": readme(),
        "Reranker('dcg@10')": fit + "Reranker('dcg@10').fit(t.X, t.y)",
        "logistic regression corrected": fit + "Reranker('dcg@10', first_stage='logistic').fit(t.X, t.y)",
        "a card": TABLE
        + "from rerank.scorecard import Scorecard\nScorecard('auc', n_questions=3, points=3).fit(t.X, t.y)",
        "RankSVM": scorer.format("RankSVM"),
        "TopPush": scorer.format("TopPush"),
        "fusion": fused,
        "rerank demo": WORDS.format(["demo"]),
        "rerank fit --free": WORDS.format(FIT),
        "rerank rank": WORDS.format(["rank", "model.json", DATA]),
        "rerank score": WORDS.format(["score", "model.json", DATA]),
        "rerank verify": WORDS.format(["verify", "model.json", DATA]),
    }


def spent(script: str, cache: str, folder: str) -> float:
    """CPU seconds of a script in a fresh process, with those of its children."""
    env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", script], env=env, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        raise SystemExit(f"exit code {done.returncode}:\n{script}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="calls whose names hold one of these; all by default")
    asked = parser.parse_args().names
    print(f"{'CPU seconds, median (runs)':32}{'cold':>8}{'':24}{'warm':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, script in calls().items():
            if asked and not any(part in name for part in asked):
                continue
            found: list[list[float]] = [[], []]
            for _ in range(RUNS):
                with tempfile.TemporaryDirectory() as cache:
                    for seconds in found:
                        seconds.append(spent(script, cache, folder))
            shown = [f"{median(seconds):8.2f}  {' '.join(f'{s:.2f}' for s in seconds):22}" for seconds in found]
            print(f"{name:32}{''.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
