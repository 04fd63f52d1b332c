"""Trials of one method: every one trains for some looks, the best of them to their end; then the test part, once.

Trials see split 0 alone, and the first of them takes the recommended options.  By successive halving
[JamiesonTalwalkar2016] all train for two looks, the best 8 for four, and the best 4 on until three looks have brought
nothing, or to the method's last look.  The options of the best look then train with every split, stopped by its
validation part, and that look's scores meet the test part.

A part of ``python -m benchmarks.latent --quality``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.latent.methods import Method, Options, Scores
from rerank.latent import evaluate

RUNGS = ((2, None), (4, 8), (1000, 4))  # looks, and how many of the best trials get them
PATIENCE = 3
Split = tuple[Any, Any, Any]


class Trial:
    """Training of one setting; ``looks`` holds CPU seconds and precision@10 on the validation part of each look."""

    def __init__(self, method: Method, split: Split, options: Options, seed: int) -> None:
        self.options = options
        self.split = split
        self.limit = method.looks
        self.looks: list[tuple[float, float]] = []
        self.scores: Scores | None = None
        self._steps = method.steps(split[0], options, seed)

    @property
    def best(self) -> int:
        """The first of the best looks."""
        return int(np.argmax([precision for _, precision in self.looks]))

    def train(self, looks: int) -> Trial:
        """Train on, up to so many looks."""
        with threadpool_limits(1):
            while len(self.looks) < min(looks, self.limit) and not self._ended():
                began = time.process_time()
                scores = next(self._steps)
                spent = time.process_time() - began + (self.looks[-1][0] if self.looks else 0.0)
                found = evaluate(scores, self.split[1], 10, self.split[0]).means()["precision"]
                self.looks.append((spent, found))
                if self.best == len(self.looks) - 1:
                    self.scores = scores
        return self

    def _ended(self) -> bool:
        return len(self.looks) > 0 and len(self.looks) - 1 - self.best >= PATIENCE


def tuned(method: Method, split: Split, trials: int) -> tuple[Trial, list[Trial]]:
    """Best trial by validation, and all."""
    rng = np.random.default_rng(0)
    settings = [method.first, *(method.draw(rng) for _ in range(trials - 1))]
    every = [Trial(method, split, options, 0) for options in settings]
    for looks, left in RUNGS:
        for trial in every[:left]:
            trial.train(looks)
        every.sort(key=lambda trial: -trial.looks[trial.best][1])
    return every[0], every


def measured(method: Method, splits: Sequence[Split], trials: int) -> dict[str, Any]:
    """All that the tables need of a method, as JSON knows it; precision@10 of each user of the test parts among it."""
    best, every = tuned(method, splits[0], trials)
    runs = [best] + [
        Trial(method, split, best.options, seed).train(method.looks) for seed, split in enumerate(splits) if seed
    ]
    return {
        "options": best.options,
        "trials": [{"options": t.options, "looks": t.looks} for t in every],
        "seconds": sum(t.looks[-1][0] for t in every),
        "runs": [{"looks": t.looks, "best": t.best, **tested(t)} for t in runs],
    }


def tested(trial: Trial) -> dict[str, Any]:
    """Means on the test part: p@1, then p, recall, nDCG and MRR at 10; and p@10 of each user."""
    train, validation, test = trial.split
    assert trial.scores is not None
    seen = train + validation
    found = evaluate(trial.scores, test, 10, seen)
    first = evaluate(trial.scores, test, 1, seen).means()["precision"]
    return {"means": [first, *found.means().values()], "precision": found.precision.tolist()}


def kept(folder: Path | None, name: str, method: Method, splits: Sequence[Split], trials: int) -> dict[str, Any]:
    """What was measured before and kept in ``folder``, or else what is measured now."""
    file = None if folder is None else folder / f"{name.replace(' ', '-')}-{trials}-{len(splits)}.json"
    if file is not None and file.exists():
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    found = measured(method, splits, trials)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return found
