"""From measured cells to the page: leads over RRF by number of runs and of training queries, tests, and the curves.

A part of ``python -m benchmarks.fusion``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.page import holm, summary
from benchmarks.fusion.collections import CHANCE, DEPTH, FOLDS, KINDS, REAL, VARYING

METHODS = ("guarded", "logistic", "ascent >= 0", "exact >= 0", "min-max", "z", "best single", "LightGBM")

Where = tuple[str, int, int]
CURVES = "robust03"
"""The collection of the picture."""

FINDINGS = """\
What follows from it: take `ScoreFusion` from five judged queries on. Over all six collections its mean lead over RRF
has an interval above 0 from ten queries on, and so has its lead over logistic regression at five, 20, 50 and 80
queries. On the real runs alone the lead over RRF has such an interval at 50 only, on TREC Deep Learning 2020 nowhere.
There logistic regression on min-max scores, in a hundredth of a second, is as good from ten queries on, and falls below
RRF with five. Fits of the statistic itself (ascent, exact) need some 50 queries to be level, boosted trees more
than 20. From 20 queries on a search for weights was seldom worth its time."""


METHOD = f"""\
Real runs, cut to {DEPTH} documents: 17 participants of TREC 2003 Robust (100 queries, grades 0 to 2), and BM25 with
RepBERT on TREC Deep Learning 2020 (54 queries, grades 0 to 3). MQ2007-agg (LETOR 4.0) has 21 runs as reciprocal ranks
(1,692 queries). Of the three others (OHSUMED with 106 queries, 36 queries of MSLR, LightGBM's example with 251), single
columns stand for runs: those whose nDCG@10 is {CHANCE:g} above that of a random order, and which differ within
{VARYING:.0%} of the queries. In each of five folds some runs and some training queries are drawn, and the queries of
the fold are the test. Leads are means in nDCG@10 (linear gain; a query without a hit counts 0) over RRF (k = 60), with
Student's 95 % interval over folds.

guarded is `ScoreFusion` of version 0.2, before [decision 0039](decisions/0039-fusion-is-the-one-choice.md), with its
defaults and at most 10 CPU seconds. logistic is scikit-learn's logistic regression of relevance
on min-max scores (C = 100, both signs). Coordinate ascent (.5 CPU seconds) and the exact fit
without folds (1 CPU second) have min-max scores and weights >= 0; LightGBM's lambdarank has reciprocal ranks. How the
rule of that choice was made, on other draws of the same sets: [decision
0028](decisions/0028-the-null-of-score-fusion.md).
"""


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
    mean, half, p, _ = summary(values, 0.0)
    return mean, half, p


def pooled(rows: Sequence[dict[str, Any]], names: Sequence[str], size: int, method: str, base: str) -> np.ndarray:
    """Mean lead in each fold of each collection with so many training queries, numbers of runs and draws averaged.

    All of them share the test queries of the fold. The 43 queries of the smallest collection stand for 50.
    """
    folds: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        name, _, queries, fold, _ = row["cell"]
        if name in names and (50 if queries == 43 else queries) == size and method in row:
            folds.setdefault((name, fold), []).append(row[method]["ndcg"] - row[base]["ndcg"])
    return np.array([np.mean(each) for each in folds.values()])


def _shown(values: np.ndarray) -> str:
    mean, half, _ = interval(values)
    return f"{mean:+.3f}" + ("" if math.isnan(half) else f" +- {half:.3f}")


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page in Markdown."""
    found, draws = places(rows), len({row["cell"][4] for row in rows})
    planned = draws * FOLDS * sum(len(kind.runs) * len(kind.sizes) for kind in KINDS.values())
    others = [name for name in KINDS if name not in REAL]
    lines = [
        "# Score fusion on held-out queries",
        "",
        f"Written by `python -m benchmarks.fusion --data FOLDER`: {len(rows)} of {planned} cells",
        "([data](papers.md#data-of-the-benchmarks)); what is missing is measured by the same command.",
        "",
        METHOD,
        "",
        "![Lead over RRF by number of training queries](images/fusion_curves.png)",
        "",
        FINDINGS,
        "",
    ]
    for title, names in (("Real runs", REAL), ("Columns", others), ("All six", list(KINDS))):
        known = [method for method in METHODS if any(row["cell"][0] in names and method in row for row in rows)]
        if not known:
            continue
        lines += [f"## {title}, pooled", "", f"| queries | {' | '.join(known)} | guarded less logistic |"]
        lines += ["|---" * (len(known) + 2) + "|"]
        for size in (5, 10, 20, 50, 80):
            if not pooled(rows, names, size, "guarded", "RRF").size:
                continue
            compared = [*((method, "RRF") for method in known), ("guarded", "logistic")]
            told = [_shown(pooled(rows, names, size, *each)) for each in compared]
            lines.append(f"| {size} | {' | '.join(told)} |")
        lines.append("")
    shown = None
    for where in found:
        name, runs, _ = where
        if (name, runs) != shown:
            shown = name, runs
            lines += [f"## {KINDS[name].title}, {runs} runs", ""]
            lines += [f"| queries | RRF | {' | '.join((*METHODS, *TOLD))} |"]
            lines += ["|---" * (len(METHODS) + len(TOLD) + 2) + "|"]
        lines.append(_line(rows, where))
        if where == found[-1] or found[found.index(where) + 1][:2] != (name, runs):
            lines.append("")
    return "\n".join([*lines, *_tests(rows, found)]) + "\n"


TOLD = ("RRF kept", "searched", "seconds of guarded")


def _line(rows: Sequence[dict[str, Any]], where: Where) -> str:
    own = [row for row in rows if tuple(row["cell"][:3]) == where]
    told = [_shown(leads(rows, where, method)) for method in METHODS]
    base = np.mean([row["RRF"]["ndcg"] for row in own])
    kept = sum(row["guarded"]["chosen"] == "RRF" for row in own)
    searched = sum("radius" in row["guarded"]["chosen"] for row in own)
    seconds = np.mean([row["guarded"]["seconds"] for row in own])
    told += [f"{kept} of {len(own)}", f"{searched} of {len(own)}", f"{seconds:.1f}"]
    return f"| {where[2]} | {base:.3f} | {' | '.join(told)} |"


def _tests(rows: Sequence[dict[str, Any]], found: Sequence[Where]) -> list[str]:
    lines = ["## Tests", ""]
    for base in ("RRF", *METHODS[1:]):
        every = {where: leads(rows, where, "guarded", base) for where in found}
        p = {
            f"{KINDS[name].title}, {runs} runs, {size} queries": interval(values)[2]
            for (name, runs, size), values in every.items()
            if values.size > 1
        }
        below = holm(p)
        where = f": {', '.join(sorted(below))}" if below else ""
        mean = float(np.concatenate(list(every.values())).mean())
        lines.append(
            f"- guarded is below {base} after Holm's correction in {len(below)} of {len(p)} lines{where}; "
            f"its mean lead over all lines is {mean:+.4f}."
        )
    return lines


def curves(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Lead over RRF on real runs by number of training queries, a picture for each number of runs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, hide_frame

    shown = {
        "guarded": (BLUE, "-", 2.5),
        "logistic": (ORANGE, "--", 1.5),
        "ascent >= 0": (GREEN, "-.", 1.5),
        "min-max": (PURPLE, ":", 1.8),
        "LightGBM": (GREY, (0, (5, 1, 1, 1, 1, 1)), 1.5),
    }
    kind = KINDS[CURVES]
    figure, axes = pyplot.subplots(1, len(kind.runs), figsize=(9, 3.2), sharey=True, layout="constrained")
    for ax, runs in zip(axes, kind.runs):
        at = {size: (CURVES, runs, size) for size in kind.sizes if leads(rows, (CURVES, runs, size), "guarded").size}
        ax.axhline(0, color="black", lw=0.8)
        for name, (color, line, width) in shown.items():
            found = [interval(leads(rows, where, name)) for where in at.values()]
            ax.plot(list(at), [one[0] for one in found], color=color, ls=line, lw=width, label=name)
            if name == "guarded":
                low, high = ([one[0] + side * one[1] for one in found] for side in (-1, 1))
                ax.fill_between(list(at), low, high, color=color, alpha=0.15, lw=0)
        ax.set(xscale="log", title=f"{runs} runs", xlabel="training queries", xticks=kind.sizes, ylim=(-0.09, 0.06))
        ax.set_xticks(kind.sizes, [str(size) for size in kind.sizes])
        ax.minorticks_off()
        hide_frame(ax)
    axes[0].set_ylabel("nDCG@10, lead over RRF")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, dpi=85)
    pyplot.close(figure)
