"""Draws the picture of ``docs/guide.md``: ``python docs/images/overfit.py``, about half a minute.

Made-up machines, 2,000 in a list, judged by DCG@20.  The fits of one list are judged by 20 others.  The first stage is
logistic regression, which is right for machines with one way to fail, and wrong for those with two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from rerank import Reranker, datasets
from rerank.plots import by_option
from rerank.ranks import evaluate

STAT, ROWS, LISTS = "dcg@20", 2000, 20
RADII = (0.01, 0.03, 0.1, 0.3, 1.0, None)
CANDIDATES = (40, 80, 160, 400, 1000, None)


def tried(ways: int, options: list[dict[str, Any]]) -> dict[str, Any]:
    """Statistic of each option's fit, mean and error on lists to come, and the first stage's two values."""
    made = datasets.machines(ROWS, 0, ways)
    later = [datasets.machines(ROWS, 1_000_000 + seed, ways) for seed in range(LISTS)]
    found: dict[str, Any] = {"fitted": [], "held_out": [], "errors": []}
    for chosen in options:
        est = Reranker(STAT, solver="search", node_limit=0, cross_fit=False, **chosen).fit(made.X, made.y)
        values = np.array([est.score(each.X, each.y) for each in later])
        found["fitted"].append(est.result_.statistic)
        found["held_out"].append(values.mean())
        found["errors"].append(values.std(ddof=1) / LISTS**0.5)
    alone = np.mean([evaluate(STAT, each.y, est.first_stage_scores(each.X)) for each in later])
    return {**found, "first_stage": (est.result_.first_stage_statistic, float(alone))}


def draw(folder: Path = Path(__file__).parent) -> None:
    """Print and draw the radius with one way to fail and with two, and the candidates with one."""
    by_radius = [{"radius": one, "margin": None if one is None else 0.02} for one in RADII]
    by_head = [{"n_candidates": one} for one in CANDIDATES]
    radii, heads = [*RADII[:-1], "free"], [*CANDIDATES[:-1], "all"]
    runs = ((1, "radius", radii, by_radius), (2, "radius", radii, by_radius), (1, "n_candidates", heads, by_head))
    figure, axes = plt.subplots(1, 3, figsize=(11.4, 3.6), layout="constrained", sharey=True)
    for ax, (ways, name, values, options) in zip(axes, runs):
        found = tried(ways, options)
        world = "one way to fail" if ways == 1 else "two ways to fail"
        print("{}, first stage: fitted {:.2f}, lists to come {:.2f}".format(world, *found["first_stage"]))
        for value, *row in zip(values, found["fitted"], found["held_out"], found["errors"]):
            print("  {} {}: fitted {:.2f}, lists to come {:.2f} +- {:.2f}".format(name, value, *row))
        by_option(values, **found, name=name, unit=STAT if ax is axes[0] else "", ax=ax)
        ax.set_title(world + (", free weights" if name == "n_candidates" else ""), fontsize=11)
        legend = ax.get_legend()
        legend.remove()
    names, above = [text.get_text() for text in legend.texts], dict(loc="outside upper center", ncols=4)
    figure.legend(legend.legend_handles, names, frameon=False, **above)
    figure.savefig(folder / "overfit.png", dpi=80)


if __name__ == "__main__":
    draw()
