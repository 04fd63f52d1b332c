"""Precision of all methods on held-out records, with as many trials each; the ways of the xi-step.

The log of MovieLens-1M comes with its split; the others are split per user, 70 % for training, 10 % for validation and
20 % for the test, anew for each seed; :mod:`benchmarks.latent.trials` says how methods are tuned and tested.

Printed by ``python -m benchmarks.latent --quality``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.latent.methods import FACTORS, methods
from benchmarks.latent.trials import kept
from rerank.latent import LatentRoBiRank, evaluate, split_log

DRAWS = 2000


def parts(where: Path, name: str, seed: int) -> tuple[Any, Any, Any]:
    """Training, validation and test part, as ones."""
    with np.load(where / name / f"{name}.npz", allow_pickle=False) as found:
        shape = tuple(int(n) for n in found["shape"])
        log = sp.csr_matrix((found["data"].astype(np.float32), found["indices"], found["indptr"]), shape=shape)
        given = found["split"] if name == "ml1m" else None
    if given is None:
        test, validation, train = split_log(log, (0.2, 0.1), seed)
        return train, validation, test
    user = np.repeat(np.arange(log.shape[0]), np.diff(log.indptr))
    picked = [given == k for k in range(3)]
    made = [
        sp.csr_matrix((np.ones(int(p.sum()), np.float32), (user[p], log.indices[p])), shape=log.shape) for p in picked
    ]
    return made[0], made[1], made[2]


def quality(where: Path, name: str, wanted: list[str], trials: int, seeds: int, folder: Path | None = None) -> None:
    """Print a row for each method, and the differences to RoBiRank user by user, each user's mean over the seeds.

    Every split leaves the same users with test records.
    """
    splits = [parts(where, name, seed) for seed in range(seeds)]
    train = splits[0][0]
    warm()
    print(
        f"\n{name}: {train.shape[0]} users, {train.shape[1]} items, {train.nnz} records to train on, {seeds} seeds\n"
        f"{'':14} p@1    p@10   recall nDCG   MRR    | validation: p@10, CPU s to it, to WARP's best; of all, trials",
        flush=True,
    )
    bars: list[float] | None = None
    users: dict[str, Any] = {}
    for title, method in methods(train.shape[1]).items():
        if wanted and title not in wanted:
            continue
        found = kept(folder, f"{name}-{title}", method, splits, min(trials, method.trials))
        if title == "lightfm WARP":
            bars = [run["looks"][run["best"]][1] for run in found["runs"]]
        users[title] = np.mean([run["precision"] for run in found["runs"]], axis=0)
        print(row(title, found, bars), flush=True)
    for title, values in users.items():
        if title != "RoBiRank" and "RoBiRank" in users:
            ratio = users["RoBiRank"].mean() / values.mean()
            print(f"  RoBiRank - {title}: p@10 {interval(users['RoBiRank'] - values)}, {ratio:.3f} times")


def row(title: str, found: dict[str, Any], bars: list[float] | None) -> str:
    """A line of the table: means over the splits, medians of seconds."""
    runs = found["runs"]
    means = np.mean([run["means"] for run in runs], axis=0)
    best = [run["looks"][run["best"]] for run in runs]
    reached = "     -"
    if bars is not None:
        first = [next((s for s, p in run["looks"] if p >= bar), np.inf) for run, bar in zip(runs, bars)]
        reached = f"{np.median(first):6.1f}"
    options = ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in found["options"].items())
    return (
        f"{title:14} " + " ".join(f"{m:.4f}" for m in means) + f" | {np.mean([p for _, p in best]):.4f} "
        f"{np.median([s for s, _ in best]):6.1f} {reached} {found['seconds']:8.1f} {len(found['trials']):3d}  {options}"
    )


def warm() -> None:
    """Compile what the clock shall not see."""
    log = sp.random(60, 50, 0.2, format="csr", dtype=np.float32, random_state=0)
    for loss in ("robirank", "warp"):
        model = LatentRoBiRank(FACTORS, loss=loss, n_epochs=1, n_jobs=1).fit(log)
        evaluate(model.score_items, log)


def interval(differences: Any) -> str:
    """Mean and 95 % interval of the paired bootstrap over users."""
    rng = np.random.default_rng(0)
    means = [differences[rng.integers(differences.size, size=differences.size)].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def xi(where: Path, name: str, epochs: int = 20) -> None:
    """Share of the time and precision@10 on the validation part for each way of the xi-step; one thread and shard."""
    train, validation, _ = parts(where, name, 0)
    warm()
    print(f"\n{name}: {epochs} epochs   p@10   xi share  xi error  CPU s  evaluation, CPU s", flush=True)
    for way, samples in (("exact", 2000), ("auto", 2000), ("auto", 250)):
        began = time.process_time()
        model = LatentRoBiRank(
            FACTORS,
            xi=way,
            xi_samples=samples,
            n_epochs=epochs,
            evaluate_every=epochs,
            n_shards=1,
            n_jobs=1,
            random_state=0,
        ).fit(train)
        spent = time.process_time() - began
        last = model.history_[-1]
        began = time.process_time()
        with threadpool_limits(1):
            found = evaluate(model.score_items, validation, 10, train).means()["precision"]
        looked = time.process_time() - began
        title = way if way == "exact" else f"{way}, {samples}"
        print(
            f"{title:20} {found:.4f}  {last['xi_share']:7.0%}  {last['xi_error']:7.1%}  {spent:6.1f}  {looked:6.2f}",
            flush=True,
        )
