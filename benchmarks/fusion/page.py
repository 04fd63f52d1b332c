"""From measured cells to the page: leads over RRF by number of runs and of training queries, tests, and the curves.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.evidence.page import holm
from benchmarks.fusion.collections import CHANCE, FOLDS, KINDS, VARYING

METHODS = (
    "guarded", "free", "min-max", "z", "best single", "coordinate ascent", "ascent >= 0", "optuna", "RankSVM",
    "LightGBM", "XGBoost", "ranx",
)  # fmt: skip

Where = tuple[str, int, int]
CURVES = "mq2007agg"
"""The collection of the picture."""

FINDINGS = """\
What follows from it: with five or ten judged queries take RRF; what fits gain there is mostly within chance. From
twenty on the guarded fit leads RRF in the mean of every line of MQ2007-agg and OHSUMED; with six or more runs the
interval is above 0. On 36 queries of MSLR no fit has an interval above 0 from twenty queries on, and on LightGBM's
example no lead is larger than .015. Free weights that are not negative are at most .005 behind the guarded ones from
20 to 200 queries, and often ahead, with nothing to guard them. Ascent with weights that are not negative, and as much
time, is as good on MQ2007-agg and OHSUMED; on LightGBM's example it falls below RRF with few queries, where the guard
keeps RRF. Fits whose weights may be negative (coordinate ascent and RankSVM here) and boosted trees fall below RRF with
few queries and many runs. From 200 queries on the linear methods differ little, and RankSVM takes the least time. With
1,000 queries and 21 runs our fits have too little time here, the guarded one in 10 CPU seconds and the free one in 2:
ascent, Optuna, RankSVM and boosted trees then lead them by .01 to .04. With so many queries and runs give a fit more
time, or take one of these."""


def leads(rows: Sequence[dict[str, Any]], where: Where, name: str, base: str = "RRF") -> np.ndarray:
    """Mean lead over the base in each fold of a collection, a number of runs and of training queries.

    The draws of a fold share its test queries, so they are averaged.
    """
    folds: dict[int, list[float]] = {}
    for row in rows:
        if tuple(row["cell"][:3]) == where and name in row:
            folds.setdefault(row["cell"][3], []).append(row[name]["ndcg"] - row[base]["ndcg"])
    return np.array([np.mean(draws) for draws in folds.values()])


def places(rows: Sequence[dict[str, Any]]) -> list[Where]:
    """Collections, numbers of runs and of training queries that were measured, in the order of the plan."""
    known = {tuple(row["cell"][:3]) for row in rows}
    planned = [(name, runs, size) for name, kind in KINDS.items() for runs in kind.runs for size in kind.sizes]
    return [where for where in planned if where in known]


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean, half-width of Student's 95 % interval over folds, and the one-sided p of "not below"."""
    n = values.size
    if n < 2:
        return float(values.mean()), math.nan, 1.0
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if error == 0:
        return float(values.mean()), 0.0, 1.0
    p = float(student.cdf(float(values.mean()) / error, n - 1))
    return float(values.mean()), float(student.ppf(0.975, n - 1)) * error, p


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page in Markdown."""
    draws, late = len({row["cell"][4] for row in rows}), sum("ascent >= 0" in row for row in rows)
    planned = draws * FOLDS * sum(len(kind.runs) * len(kind.sizes) for kind in KINDS.values())
    lines = [
        "# Score fusion on held-out queries", "",
        f"Written by `python -m benchmarks.fusion --data FOLDER --draws {draws}`: {len(rows)} of {planned} cells",
        "([data](papers.md#data-of-the-benchmarks)).", "",
        "MQ2007-agg (LETOR 4.0) is a collection of runs: 1,692 queries, 21 runs, grades 0 to 2. Of the three others",
        "(OHSUMED with 106 queries, 36 queries of MSLR, LightGBM's example with 251), single columns stand for runs:",
        f"those whose nDCG@10 is {CHANCE:g} above that of a random order, and which differ within {VARYING:.0%} of the",
        "queries. In each of five folds some runs and some training queries are drawn, and the queries of the fold are",
        "the test. A number is the mean lead in nDCG@10 over RRF (k = 60), with Student's 95 % interval over folds,",
        "so that it includes the draw of queries and runs. Draws of a fold share its test queries and are averaged.",
        "",
        "guarded is `ScoreFusion` with its defaults and 10 CPU seconds; free is an exact fit of non-negative weights",
        "without folds in 2 CPU seconds, as many as coordinate ascent has. Ascent with weights >= 0 and Optuna have",
        "as many seconds as the guarded fit took. All of these, RankSVM and the trees see reciprocal ranks. ranx tries",
        "all weights in tenths on min-max scores, so it takes three runs at most. Gap and seconds are means of fits.",
        f"Ascent with weights >= 0 and Optuna are measured in {late} cells so far, most of them of the first draw; the",
        "tests below compare with them where both are.",
        "Guarded and free fits of 1,000 queries were measured again when reading runs had become faster.",
        "The rule of the guard was changed after the first draw of MQ2007-agg had been seen, by draws with other seeds",
        "([decision 0028](decisions/0028-the-null-of-score-fusion.md)); any other draw was measured after that.", "",
        "![Lead over RRF by number of training queries](images/fusion_curves.png)", "",
        FINDINGS, "",
    ]  # fmt: skip
    found, shown = places(rows), None
    for where in found:
        name, runs, _ = where
        methods = [method for method in METHODS if leads(rows, where, method).size]
        if (name, runs) != shown:
            shown = name, runs
            lines += ["", f"## {KINDS[name].title}, {runs} runs", ""]
            told = ("null kept", "free fit proved", "its gap", "seconds of guarded", "of free", "of RankSVM")
            lines += [f"| queries | RRF | {' | '.join((*methods, *told))} |"]
            lines += ["|---" * (len(methods) + len(told) + 2) + "|"]
        lines.append(_line(rows, where, methods))
    return "\n".join([*lines, "", *_tests(rows, found)]) + "\n"


def _line(rows: Sequence[dict[str, Any]], where: Where, methods: Sequence[str]) -> str:
    own = [row for row in rows if tuple(row["cell"][:3]) == where]
    told = []
    for method in methods:
        mean, half, _ = interval(leads(rows, where, method))
        told.append(f"{mean:+.3f}" + ("" if math.isnan(half) else f" +- {half:.3f}"))
    base = np.mean([row["RRF"]["ndcg"] for row in own])
    kept = sum(row["guarded"]["kept"] for row in own)
    proved = sum(row["free"]["gap"] <= 1e-9 * max(1.0, row["free"]["value"]) for row in own)
    gap = np.mean([row["free"]["gap"] for row in own])
    seconds = (f"{np.mean([row[name]['seconds'] for row in own]):.1f}" for name in ("guarded", "free", "RankSVM"))
    told += [f"{kept} of {len(own)}", f"{proved} of {len(own)}", f"{gap:.3f}", *seconds]
    return f"| {where[2]} | {base:.3f} | {' | '.join(told)} |"


def _tests(rows: Sequence[dict[str, Any]], found: Sequence[Where]) -> list[str]:
    lines = ["## Tests", ""]
    for base in ("RRF", "min-max", "z", "coordinate ascent", "ascent >= 0"):
        both = [row for row in rows if base in row]
        every = {where: leads(both, where, "guarded", base) for where in found}
        p = {
            f"{KINDS[name].title}, {runs} runs, {size} queries": interval(values)[2]
            for (name, runs, size), values in every.items() if values.size > 1
        }  # fmt: skip
        below = holm(p)
        where = f": {', '.join(sorted(below))}" if below else ""
        mean = float(np.concatenate(list(every.values())).mean())
        lines.append(
            f"- guarded is below {base} after Holm's correction in {len(below)} of {len(p)} cells{where}; "
            f"its mean lead over all cells is {mean:+.4f}."
        )
    return lines


def curves(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Lead over RRF on MQ2007-agg by number of training queries, a picture for each number of runs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, hide_frame

    shown = {"guarded": (BLUE, "-", 2.5), "free": (ORANGE, "--", 1.5), "coordinate ascent": (GREEN, "-.", 1.5),
             "RankSVM": (PURPLE, ":", 1.8), "LightGBM": (GREY, (0, (5, 1, 1, 1, 1, 1)), 1.5)}  # fmt: skip
    kind = KINDS[CURVES]
    figure, axes = pyplot.subplots(1, len(kind.runs), figsize=(11, 3.2), sharey=True, layout="constrained")
    for ax, runs in zip(axes, kind.runs):
        at = {size: (CURVES, runs, size) for size in kind.sizes if leads(rows, (CURVES, runs, size), "guarded").size}
        ax.axhline(0, color="black", lw=0.8)
        for name, (color, line, width) in shown.items():
            found = [interval(leads(rows, where, name)) for where in at.values()]
            ax.plot(list(at), [one[0] for one in found], color=color, ls=line, lw=width, label=name)
            if name == "guarded":
                low, high = ([one[0] + side * one[1] for one in found] for side in (-1, 1))
                ax.fill_between(list(at), low, high, color=color, alpha=0.15, lw=0)
        ax.set(xscale="log", title=f"{runs} runs", xlabel="training queries", xticks=kind.sizes, ylim=(-0.06, 0.06))
        ax.set_xticks(kind.sizes, [str(size) for size in kind.sizes])
        ax.minorticks_off()
        hide_frame(ax)
    axes[0].set_ylabel("nDCG@10, lead over RRF")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, dpi=85)
    pyplot.close(figure)
