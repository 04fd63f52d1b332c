"""Precision@1 against seconds for one and two shards on as many threads, beside WARP on one: figure 2 in small.

Seconds are of the wall, without the looks at the validation part.  All steps of a method do the same work, so each is
taken to last as long as the quickest, which a busy machine disturbed least.  Where two threads each do half of the work
and nothing waits, the curves against shards times seconds lie on one another.

Printed by ``python -m benchmarks.latent --curve``.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.latent.methods import FACTORS, Scores, products
from benchmarks.latent.quality import parts, warm
from rerank.latent import LatentRoBiRank, evaluate

EVERY, LOOKS = 2, 10
Curve = list[tuple[float, float]]


def robirank(train: Any, p: int) -> Iterator[Scores]:
    model = LatentRoBiRank(FACTORS, n_shards=p, n_jobs=p, evaluate_every=EVERY, random_state=0)
    while True:
        model.partial_fit(train, EVERY)
        yield model.score_items


def warp(train: Any) -> Iterator[Scores]:
    from lightfm import LightFM

    model = LightFM(FACTORS, loss="warp", learning_rate=0.05, max_sampled=30, random_state=0)
    while True:
        model.fit_partial(train, epochs=EVERY, num_threads=1)
        yield products(model.user_embeddings, model.item_embeddings, model.item_biases)


def followed(steps: Iterator[Scores], look: Callable[[Scores], float]) -> Curve:
    """Seconds and precision after each step."""
    seconds, values = [], []
    for _ in range(LOOKS):
        began = time.perf_counter()
        scores = next(steps)
        seconds.append(time.perf_counter() - began)
        values.append(look(scores))
    return [(min(seconds) * (k + 1), value) for k, value in enumerate(values)]


def report(where: Path, name: str, plot: str | None) -> None:
    """Print the curves, and draw them where a file is given."""
    train, validation, _ = parts(where, name, 0)
    warm()
    look = lambda scores: evaluate(scores, validation, 1, train).means()["precision"]  # noqa: E731
    curves = {(f"RoBiRank, p = {p}", p): followed(robirank(train, p), look) for p in (1, 2)}
    if importlib.util.find_spec("lightfm"):
        curves["lightfm WARP, one thread", 1] = followed(warp(train), look)
    print(f"\n{name}: seconds and p@1 on the validation part, every {EVERY} epochs")
    for (title, _), curve in curves.items():
        print(f"{title:25} " + " ".join(f"{s:.1f}:{value:.4f}" for s, value in curve), flush=True)
    if plot is not None:
        picture(name, curves, plot)


def picture(name: str, curves: dict[tuple[str, int], Curve], file: str) -> None:
    """Two panels: seconds, and shards times seconds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for (title, p), curve in curves.items():
        style = {"marker": "s" if "WARP" in title else "o" if p == 1 else "^", "markersize": 4, "linewidth": 1.4}
        color = "0.45" if "WARP" in title else "C0" if p == 1 else "C1"
        values = [value for _, value in curve]
        left.plot([s for s, _ in curve], values, label=title, color=color, **style)
        right.plot([p * s for s, _ in curve], values, label=title, color=color, **style)
    left.set(xlabel="seconds", ylabel="precision@1, validation part", title=name)
    right.set(xlabel="shards × seconds", title="the same work")
    left.legend(frameon=False)
    for panel in (left, right):
        panel.grid(alpha=0.3)
        panel.set_xlim(left=0)
    plt.savefig(file, dpi=130)
