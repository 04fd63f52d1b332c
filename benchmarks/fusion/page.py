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
What follows from it: with five judged queries equal weights of min-max scores are ahead, in the mean, of all that is
fitted without folds. On the real runs logistic regression on min-max scores is ahead of RRF from ten queries on, though
not by more than its interval. Boosted trees need more than 20 queries to be level."""


METHOD = f"""\
Real runs, cut to {DEPTH} documents: 17 participants of TREC 2003 Robust (100 queries, grades 0 to 2), and BM25 with
RepBERT on TREC Deep Learning 2020 (54 queries, grades 0 to 3). MQ2007-agg (LETOR 4.0) has 21 runs as reciprocal ranks
(1,692 queries). Of the three others (OHSUMED with 106 queries, 36 queries of MSLR, LightGBM's example with 251), single
columns stand for runs: those whose nDCG@10 is {CHANCE:g} above that of a random order, and which differ within
{VARYING:.0%} of the queries. In each of five folds some runs and some training queries are drawn, and the queries of
the fold are the test. Leads are means in nDCG@10 (linear gain; a query without a hit counts 0) over RRF (k = 60), with
Student's 95 % interval over folds.

guarded is `ScoreFusion` with its defaults and at most 10 CPU seconds; it is a column once all cells have it. logistic
is scikit-learn's logistic regression of relevance on min-max scores (C = 100, both signs). Coordinate ascent (.5 CPU
seconds) and the exact fit without folds (1 CPU second) have min-max scores and weights >= 0; LightGBM's lambdarank has
reciprocal ranks.
"""

MEASURES = """\
## ScoreFusion by three measures

Mean lead of `ScoreFusion` with its defaults over each rival on held-out queries, with Student's 95 % interval over
queries. `python -m benchmarks.fusion.measures --data FOLDER --draws 1` measures the lines that are missing, and
`python -m benchmarks.fusion --written` puts them here. CPU seconds of a fit are those of a busy machine."""


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


def complete(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The methods that all cells have."""
    return [name for name in METHODS if all(name in row for row in rows)]


def by_measure(measured: Sequence[dict[str, Any]]) -> list[str]:
    """The table of leads by several measures, and in how many of its comparisons ScoreFusion is clearly behind."""
    if not measured:
        return []
    rivals = [name for name in measured[0] if name not in ("cell", "seconds")]
    heads = ["runs", "queries", "measure", *(f"less {name}" for name in rivals), "CPU seconds"]
    lines = [MEASURES, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in measured:
        name, runs, size, stat, _ = row["cell"]
        told = " | ".join("{:+.4f} +- {:.4f}".format(*row[rival]) for rival in rivals)
        lines.append(f"| {name}, {runs} | {size} | {stat} | {told} | {row['seconds']:.2f} |")
    every = [(rival, *row[rival]) for row in measured for rival in rivals]
    ahead, behind = ([rival for rival, mean, half in every if side * mean > half] for side in (1, -1))
    words = f": {', '.join(sorted(set(behind)))}" if behind else ""
    told = f"In {len(ahead)} of {len(every)} comparisons it is ahead by more than the interval, in {len(behind)} behind"
    return [*lines, "", f"{told}{words}.", ""]


def page(rows: Sequence[dict[str, Any]], measured: Sequence[dict[str, Any]] = ()) -> str:
    """The page in Markdown; ``measured`` are the rows of :mod:`benchmarks.fusion.measures`."""
    methods = complete(rows)
    ours = "guarded" in methods
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
        *by_measure(measured),
    ]
    for title, names in (("Real runs", REAL), ("Columns", others), ("All six", list(KINDS))):
        if not any(row["cell"][0] in names for row in rows):
            continue
        compared = [*((method, "RRF") for method in methods), *[("guarded", "logistic")] * ours]
        heads = [*methods, *["guarded less logistic"] * ours]
        lines += [f"## {title}, pooled", "", f"| queries | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        for size in (5, 10, 20, 50, 80):
            if pooled(rows, names, size, methods[0], "RRF").size:
                told = [_shown(pooled(rows, names, size, *each)) for each in compared]
                lines.append(f"| {size} | {' | '.join(told)} |")
        lines.append("")
    shown = None
    for where in found:
        name, runs, _ = where
        if (name, runs) != shown:
            shown = name, runs
            lines += [f"## {KINDS[name].title}, {runs} runs", ""]
            heads = [*methods, *TOLD * ours]
            lines += [f"| queries | RRF | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
        lines.append(_line(rows, where, methods))
        if where == found[-1] or found[found.index(where) + 1][:2] != (name, runs):
            lines.append("")
    return "\n".join([*lines, *(_tests(rows, found) if ours else [])]).rstrip() + "\n"


TOLD = ("RRF kept", "searched", "seconds of guarded")


def _line(rows: Sequence[dict[str, Any]], where: Where, methods: Sequence[str]) -> str:
    own = [row for row in rows if tuple(row["cell"][:3]) == where]
    told = [_shown(leads(rows, where, method)) for method in methods]
    base = np.mean([row["RRF"]["ndcg"] for row in own])
    if "guarded" in methods:
        chosen = [row["guarded"]["chosen"] for row in own]
        seconds = np.mean([row["guarded"]["seconds"] for row in own])
        told += [f"{chosen.count('RRF')} of {len(own)}", f"{sum('radius' in one for one in chosen)} of {len(own)}"]
        told += [f"{seconds:.1f}"]
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
        at = {size: (CURVES, runs, size) for size in kind.sizes if leads(rows, (CURVES, runs, size), "logistic").size}
        ax.axhline(0, color="black", lw=0.8)
        for name, (color, line, width) in shown.items():
            if name not in complete(rows):
                continue
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
