"""nDCG of RoBiRank beside other methods, tuned on validation queries, compared on the same test queries.

- OHSUMED and MQ2007 (rank aggregation): the five folds of LETOR; fold k is the test, the one before it the
  validation, the other three the training set; test queries of all folds are pooled.
- MSLR sample: each half is the test once; LightGBM's example: its own test part.  A quarter of the training queries,
  drawn with seed 0, is the validation set.

Every method chooses, by nDCG@10 on the validation queries, its setting and the form of the features: standardised on
the training rows, or mapped to [0, 1] inside each query.  nDCG has gains ``2^y - 1``, equal scores in random order,
and leaves queries without a relevant row out.  Intervals are of the paired bootstrap over queries, 95 %.

Printed by ``python -m benchmarks.first_stage.robirank --quality``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays
from benchmarks.first_stage.robirank_peers import Floats, Method, Split, methods
from rerank.metrics import ndcg

CUTS = (1, 3, 5, 10, 20)
DRAWS = 10_000
FORMS = ("standard", "query")


def report(where: Path, sets: list[str], wanted: list[str], small: bool) -> None:
    """Print a table and the differences for each data set."""
    every = {
        name: method
        for name, method in methods(small).items()
        if name == "RoBiRank" or any(part.lower() in name.lower() for part in wanted)
    }
    for name in sets:
        splits = [dict(zip(FORMS, both)) for both in splits_of(where, name)]
        found: dict[str, Floats] = {}
        for title, method in every.items():
            results = [tuned(method, forms) for forms in splits]
            seconds = sum(spent for _, _, spent in results)
            found[title] = np.concatenate([values for values, _, _ in results])
            if len(found) == 1:
                print(f"\n{name}: {found[title].shape[0]} test queries")
                print(f"{'':24}" + "".join(f" nDCG@{cut:<3}" for cut in CUTS) + " CPU s of all fits")
            row = "".join(f" {value:8.4f}" for value in found[title].mean(axis=0))
            print(f"{title:24}{row} {seconds:8.1f}  {'; '.join(how for _, how, _ in results)}", flush=True)
        differences(found)


def tuned(method: Method, forms: dict[str, Split]) -> tuple[Floats, str, float]:
    """Measures of each test query (n, cuts) with the best setting on the validation queries, its name, CPU seconds."""
    best, chosen, how, spent = -np.inf, np.empty(0), "", 0.0
    for form, split in forms.items():
        for setting, valid, test, seconds in _timed(method, split):
            spent += seconds
            value = float(values_of(split, 1, valid, (10,)).mean())
            if value > best:
                best, chosen, how = value, test, f"{form}, {setting}"
    return values_of(next(iter(forms.values())), 2, chosen), how, spent


def _timed(method: Method, split: Split) -> Iterator[tuple[str, Floats, Floats, float]]:
    """What the method yields, and the CPU seconds it took to make it."""
    scored = method(split)
    while True:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = next(scored, None)
        if found is None:
            return
        yield *found, time.process_time() - begun


def values_of(split: Split, part: int, scores: Floats, cuts: tuple[int, ...] = CUTS) -> Floats:
    """The nDCG at each cut-off of each query with a relevant row."""
    y, qid = split.y[part], split.qid[part]
    ends = np.flatnonzero(np.diff(qid)) + 1
    rows = [r for r in np.split(np.arange(y.size), ends) if y[r].any()]
    return np.array([[ndcg(y[r], scores[r], cut, ties="average") for cut in cuts] for r in rows])


def differences(found: dict[str, Floats]) -> None:
    """Print RoBiRank less each other method, with its interval."""
    ours = found["RoBiRank"]
    picks = np.random.default_rng(0).integers(0, ours.shape[0], (DRAWS, ours.shape[0]))
    print("RoBiRank less the other (95 % interval); * where the interval does not hold 0")
    for title, theirs in found.items():
        if theirs is ours:
            continue
        text = ""
        for c in range(len(CUTS)):
            difference = ours[:, c] - theirs[:, c]
            low, high = np.quantile(difference[picks].mean(axis=1), (0.025, 0.975))
            text += f"  {difference.mean():+.3f} ({low:+.3f} {high:+.3f}){'*' if low > 0 or high < 0 else ' '}"
        print(f"{title:24}{text}", flush=True)


def splits_of(where: Path, name: str) -> Iterator[tuple[Split, Split]]:
    """The splits of a data set, each in both forms of the features."""
    d = arrays(where, name)
    if "fold" in d:
        for k in range(1, 6):
            roles = np.where(d["fold"] == k, 2, np.where(d["fold"] == (k - 2) % 5 + 1, 1, 0))
            yield _forms(d, roles)
        return
    for test in (1, 0) if name == "mslr_sample" else (1,):
        queries = np.unique(d["qid"][d["split"] != test])
        held = np.random.default_rng(0).choice(queries, queries.size // 4, replace=False)
        yield _forms(d, np.where(d["split"] == test, 2, np.isin(d["qid"], held).astype(int)))


def _forms(d: dict[str, NDArray[Any]], roles: NDArray[Any]) -> tuple[Split, Split]:
    X, train = d["X"], roles == 0
    spread = X[train].std(axis=0)
    standard = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    ends = np.flatnonzero(np.diff(d["qid"])) + 1
    query = np.concatenate([_to_unit(part) for part in np.split(X, ends)])
    y = d["y"].astype(np.float64)

    def split(Z: Floats) -> Split:
        parts = [(Z[roles == role], y[roles == role], d["qid"][roles == role]) for role in range(3)]
        return Split(*zip(*parts))

    return split(standard), split(query)


def _to_unit(X: Floats) -> Floats:
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    found: Floats = (X - low) / np.where(width > 0, width, 1.0)
    return found
