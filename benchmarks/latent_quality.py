"""Precision of all methods on held-out records, with as many trials each; the ways of the xi-step; curves.

The log of MovieLens-1M comes with its split; the others are split per user, 70 % for training, 10 % for validation and
20 % for the test, anew for each seed.  Trials are made with seed 0; the setting that is best on the validation part
then trains with every seed, stopped by the validation part again, and looks at the test part once.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.latent_methods import FACTORS, Method, Trial, methods, run
from rerank.latent import LatentRoBiRank, evaluate, split_log

DRAWS = 2000


def parts(where: Path, name: str, seed: int) -> tuple[Any, Any, Any]:
    """Training, validation and test part, as ones."""
    with np.load(where / name / f"{name}.npz", allow_pickle=False) as found:
        shape = tuple(int(n) for n in found["shape"])
        log = sp.csr_matrix(
            (found["data"].astype(np.float32), found["indices"], found["indptr"]), shape=shape
        )
        given = found["split"] if name == "ml1m" else None
    if given is None:
        test, validation, train = split_log(log, (0.2, 0.1), seed)
        return train, validation, test
    user = np.repeat(np.arange(log.shape[0]), np.diff(log.indptr))
    picked = [given == k for k in range(3)]
    made = [
        sp.csr_matrix((np.ones(int(p.sum()), np.float32), (user[p], log.indices[p])), shape=log.shape)
        for p in picked
    ]
    return made[0], made[1], made[2]


def quality(where: Path, name: str, wanted: list[str], trials: int, seeds: int) -> None:
    """Print a row for each method, and the differences to RoBiRank user by user."""
    splits = [parts(where, name, seed) for seed in range(seeds)]
    train = splits[0][0]
    print(
        f"\n{name}: {train.shape[0]} users, {train.shape[1]} items, {train.nnz} training records, {trials} trials each"
    )
    print(f"{'':14} p@1    p@10   recall nDCG   MRR    CPU s to best, of all trials", flush=True)
    precision: dict[str, Any] = {}
    for title, method in methods(train.shape[1]).items():
        if wanted and title not in wanted:
            continue
        best, spent = tuned(method, splits[0], trials if title != "popularity" else 1)
        found = [tested(method, best.options, split, seed) for seed, split in enumerate(splits)]
        precision[title] = np.concatenate([values for values, _, _ in found])
        means = np.mean([measures for _, measures, _ in found], axis=0)
        seconds = np.median([trial.seconds for _, _, trial in found])
        print(
            f"{title:14} "
            + " ".join(f"{m:.4f}" for m in means)
            + f" {seconds:6.1f} {spent:8.1f}  {best.options}",
            flush=True,
        )
    for title, values in precision.items():
        if title != "RoBiRank" and "RoBiRank" in precision:
            print(f"  RoBiRank - {title}: p@10 {interval(precision['RoBiRank'] - values)}")


def tuned(method: Method, split: tuple[Any, Any, Any], trials: int) -> tuple[Trial, float]:
    """Best trial by validation, and CPU seconds of all."""
    rng = np.random.default_rng(0)
    every = [run(method, split[0], split[1], method.draw(rng), 0) for _ in range(trials)]
    return max(every, key=lambda trial: trial.precision), sum(trial.total for trial in every)


def tested(
    method: Method, options: dict[str, Any], split: tuple[Any, Any, Any], seed: int
) -> tuple[Any, list[float], Trial]:
    """Precision@10 of each user of the test part, and means: p@1, then p, recall, nDCG and MRR at 10."""
    train, validation, test = split
    trial = run(method, train, validation, options, seed)
    assert trial.scores is not None
    seen = train + validation
    found = evaluate(trial.scores, test, 10, seen)
    first = evaluate(trial.scores, test, 1, seen).means()["precision"]
    return found.precision, [first, *found.means().values()], trial


def interval(differences: Any) -> str:
    """Mean and 95 % interval of the paired bootstrap over users."""
    rng = np.random.default_rng(0)
    means = [differences[rng.integers(differences.size, size=differences.size)].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def xi(where: Path, name: str, epochs: int = 30) -> None:
    """Share of the time and precision@10 on the validation part for each way of the xi-step; one thread."""
    train, validation, _ = parts(where, name, 0)
    LatentRoBiRank(FACTORS, n_epochs=1, n_jobs=1).fit(train)
    print(f"\n{name}: {epochs} epochs   p@10   xi share  xi error  CPU s", flush=True)
    for way in ("exact", "chebyshev", "sampled", "auto"):
        began = time.process_time()
        model = LatentRoBiRank(
            FACTORS,
            alpha=0.03,
            xi=way,
            n_epochs=epochs,
            evaluate_every=epochs,
            n_shards=1,
            n_jobs=1,
            random_state=0,
        ).fit(train)
        spent = time.process_time() - began
        last = model.history_[-1]
        found = evaluate(model.score_items, validation, 10, train).means()["precision"]
        print(
            f"{way:20} {found:.4f}  {last['xi_share']:7.0%}  {last['xi_error']:7.1%}  {spent:6.1f}",
            flush=True,
        )


def curve(where: Path, name: str, epochs: int = 40) -> None:
    """Precision@1 on the validation part against wall-clock and against shards times seconds."""
    train, validation, _ = parts(where, name, 0)
    LatentRoBiRank(FACTORS, n_epochs=1, n_shards=2).fit(train)
    print(
        f"\n{name}: shards = threads, epoch, seconds, shards x seconds, p@1 on the validation part",
        flush=True,
    )
    for p in (1, 2):
        model = LatentRoBiRank(
            FACTORS, alpha=0.03, n_epochs=epochs, evaluate_every=4, validation_k=1, patience=epochs, n_shards=p,
            n_jobs=p, random_state=0,
        ).fit(train, validation)  # fmt: skip
        for look in model.history_:
            print(
                f"{p} {look['epoch']:3d} {look['seconds']:7.2f} {p * look['seconds']:7.2f} {look['precision']:.4f}"
            )
