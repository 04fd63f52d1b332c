"""Draws the pictures of the README and of ``docs/how-it-works.md``: ``python docs/images/weight_space.py``.

A score orders 30 rows, 8 of them relevant, and two columns may correct it by at most .5 each.  So the weights are a
square, and every picture shows that square.  The bound is the plain one of the page, by intervals; the package's
search has the same idea and more.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from rerank import datasets
from rerank.plots import BLUE, GREEN, GREY, ORANGE
from rerank.scorecard import Scorecard

FOLDER = Path(__file__).parent
RADIUS, PLACES = 0.5, 5
ROW = 1  # the relevant row of the second picture
rng = np.random.default_rng(34)
ROWS = rng.normal(size=(30, 3))  # the score, and the two columns that correct it
RELEVANT = ROWS @ [1.0, 0.6, -0.5] + 0.8 * rng.normal(size=30)
POSITIVE = np.argsort(-RELEVANT)[:8]
NEGATIVE = np.setdiff1d(np.arange(30), POSITIVE)
DIFFERENCES = ROWS[POSITIVE][:, None, :] - ROWS[NEGATIVE][None, :, :]  # (8, 22, 3): relevant less irrelevant
PAYS = np.array([1 / math.log2(1 + p) if p <= PLACES else 0.0 for p in range(1, 31)])  # DCG@5, place 1 first


def value_of_lost(lost: Any) -> Any:
    """DCG@5 of relevant rows that lose so many pairs each (..., 8): the j-th best stands at place j + lost."""
    return PAYS[np.arange(len(POSITIVE)) + np.sort(lost, axis=-1)].sum(axis=-1)


def value(weights: Any) -> Any:
    """DCG@5 of the order by the score and two corrections (..., 2); a tie counts against the relevant row."""
    corrections = np.asarray(weights)[..., None, None, :]
    return value_of_lost((DIFFERENCES[..., 0] + (DIFFERENCES[..., 1:] * corrections).sum(-1) <= 0).sum(-1))


def bound(box: Any) -> float:
    """No weights in the box (low and high corners) have a larger value: pairs that none of them wins are lost."""
    centre, half = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    largest = DIFFERENCES[..., 0] + DIFFERENCES[..., 1:] @ centre + np.abs(DIFFERENCES[..., 1:]) @ half
    return value_of_lost((largest <= 0).sum(axis=1))


def search() -> tuple[Any, float, list[tuple[Any, float, float]], list[tuple[float, float]]]:
    """Best weights, their value, each closed box with bound and value then known, and (value, bound) by box."""
    root = np.array([[-RADIUS, -RADIUS], [RADIUS, RADIUS]])
    best, found = np.zeros(2), value(np.zeros(2))
    waiting, closed, course = [(bound(root), root)], [], []
    while waiting:
        limit, box = waiting.pop(int(np.argmax([limit for limit, _ in waiting])))
        course.append((found, max(limit, found)))
        if limit <= found:
            closed.append((box, limit, found))
            continue
        middle = (box[0] + box[1]) / 2
        if value(middle) > found:
            best, found = middle, value(middle)
        axis = int(np.argmax(box[1] - box[0]))
        for side in (0, 1):
            half = box.copy()
            half[1 - side, axis] = middle[axis]
            waiting.append((bound(half), half))
    return best, found, closed, [*course, (found, found)]


def square(axes: Any, title: str) -> None:
    """Limits, labels and title of a picture of the weights."""
    axes.set(xlim=(-RADIUS, RADIUS), ylim=(-RADIUS, RADIUS), aspect="equal", title=title)
    axes.set(xlabel="correction of the first column", ylabel="correction of the second column")


def draw_space() -> Any:
    """The value at every point of the square: steps, with edges where two rows change places."""
    figure, axes = plt.subplots(figsize=(6.6, 5.2), layout="constrained")
    ticks = np.linspace(-RADIUS, RADIUS, 801)
    values = np.array([value(np.column_stack([ticks, np.full(801, tick)])) for tick in ticks])
    shown = axes.pcolormesh(ticks, ticks, values, cmap="cividis", shading="nearest", rasterized=True)
    figure.colorbar(shown, label="DCG@5")
    best = search()[0]
    for at, mark, text in (((0, 0), "o", "the score alone"), (best, "*", "best corrections")):
        axes.plot(*at, mark, color="white", markeredgecolor="black", markersize=12, clip_on=False)
        axes.annotate(
            f"{text}: {value(at):.2f}",
            at,
            (0, 11 if mark == "o" else -22),
            textcoords="offset points",
            ha="center",
            bbox={"boxstyle": "round", "fc": "white", "ec": "none", "alpha": 0.85},
        )
    square(axes, "Value of the list at every weight")
    return figure


def draw_box() -> Any:
    """One relevant row against the others, in one box: pairs won everywhere, lost everywhere, undecided."""
    figure, axes = plt.subplots(figsize=(6.2, 6.2), layout="constrained")
    box = np.array([[-0.1, -0.33], [0.22, -0.01]])
    centre, half = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    ends = np.linspace(-RADIUS, RADIUS, 2)
    counts = {"won in all of the box": 0, "lost in all of the box": 0, "undecided": 0}
    for score, first, second in DIFFERENCES[ROW]:
        middle, spread = score + (first, second) @ centre, np.abs((first, second)) @ half
        kind = list(counts)[0 if middle - spread > 0 else 1 if middle + spread <= 0 else 2]
        counts[kind] += 1
        colour, line = {"won": (GREEN, "--"), "los": (ORANGE, ":"), "und": (BLUE, "-")}[kind[:3]]
        axes.plot(ends, -(score + first * ends) / second, line, color=colour, label=kind)
    axes.add_patch(Rectangle(box[0], *(box[1] - box[0]), fc=GREY, ec="black", alpha=0.35, lw=1.5))
    square(axes, "One relevant row: where it changes places with each other row")
    lines, names = axes.get_legend_handles_labels()
    unique = dict(zip(names, lines))
    figure.legend(
        [unique[name] for name in counts],
        [f"{name}: {count} of {len(NEGATIVE)} rows" for name, count in counts.items()],
        loc="outside lower center",
        frameon=False,
    )
    return figure


def draw_bound() -> Any:
    """The boxes at the end, and value and bound as boxes were taken."""
    best, found, closed, course = search()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    shades = plt.get_cmap("cividis")
    low = min(limit for _, limit, _ in closed)
    for box, limit, _ in closed:
        colour = shades((limit - low) / (found - low))
        left.add_patch(Rectangle(box[0], *(box[1] - box[0]), fc=colour, ec="white", lw=0.4))
    left.plot(*best, "*", color="white", markeredgecolor="black", markersize=14)
    square(left, "Boxes at the end, shaded by their bound")
    figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(low, found), shades), ax=left, label="bound of the box")
    draw_course(right, course)
    return figure


def draw_course(axes: Any, course: list[tuple[float, float]]) -> None:
    """Value and bound as boxes were taken."""
    axes.step(range(len(course)), [high for _, high in course], where="post", color=ORANGE, ls="--", label="bound")
    axes.step(range(len(course)), [reached for reached, _ in course], where="post", color=BLUE, label="best value")
    axes.set(xlabel="boxes of weights looked at", ylabel="DCG@5", title="Bound and value meet: the answer is proved")
    axes.legend()


def draw_first() -> Any:
    """The README's picture: its card with the risk of each total, and a bound that closes over boxes of weights."""
    table = datasets.load("haberman")
    card = (
        Scorecard("auc", 3, 3, validation=None).fit(pd.DataFrame(table.X, columns=table.feature_names), table.y).card_
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=(1.15, 1), layout="constrained")
    card.plot(ax=left)
    draw_course(right, search()[3])
    return figure


PICTURES = {"weights.png": draw_space, "box.png": draw_box, "bound.png": draw_bound, "first.png": draw_first}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        draw().savefig(FOLDER / name, dpi=110)
        print(FOLDER / name)
