"""From measured cells to a page: leads in per cent, corrected intervals, wins, and what all tables say together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.evidence.cells import METHODS, RADII, STAGES, STATISTICS, TABLES

SHARE = 0.5
"""Held-out rows for each training row; repeats share rows, and [NadeauBengio2003] allows for that."""

TRIED = """\
What was tried for more: radii of .03, .1 and .3, with corrections of three columns and of all, six judges, and a
lead of one error as a condition ([decision 0062](decisions/0062-few-corrections-and-a-wide-judge.md)). For a statistic
of N places none of these tells reliably where a correction pays, because held-out leads hardly go with test leads. For
AUC they do, and taking the largest lead of larger radii helped
([decision 0065](decisions/0065-auc-takes-the-best-option.md))."""
"""Beside the aims, whether they are reached or missed."""


def summary(leads: Sequence[float]) -> tuple[float, float, float, float]:
    """Mean, half-width of the 95 % interval, and the one-sided p of "not worse" and of "not better"."""
    values = np.asarray(leads)
    n = values.size
    error = values.std(ddof=1) * math.sqrt(1 / n + SHARE) if n > 1 else math.nan
    if not error > 0:
        return float(values.mean()), 0.0 if error == 0 else math.nan, 1.0, 1.0
    p = float(student.cdf(float(values.mean()) / error, n - 1))
    return float(values.mean()), float(student.ppf(0.975, n - 1) * error), p, 1 - p


def holm(p: dict[str, float]) -> set[str]:
    """The names whose p stands Holm's correction at 5 %."""
    found: set[str] = set()
    for place, name in enumerate(sorted(p, key=lambda key: p[key])):
        if p[name] > 0.05 / (len(p) - place):
            break
        found.add(name)
    return found


def better_at(p: dict[str, float], rate: float = 0.05) -> list[str]:
    """The names found at a false discovery rate (Benjamini and Hochberg 1995), best first."""
    ordered = sorted(p, key=lambda key: p[key])
    passed = [place for place, name in enumerate(ordered, 1) if p[name] <= rate * place / len(p)]
    return ordered[: max(passed, default=0)]


def pooled(by_table: dict[str, float], seed: int = 0) -> tuple[float, float, float]:
    """Mean over tables, and its 95 % interval by drawing tables anew."""
    values = np.array(list(by_table.values()))
    rng = np.random.default_rng(seed)
    draws = values[rng.integers(0, values.size, (10_000, values.size))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def page(rows: Sequence[dict[str, Any]], opening: str) -> str:
    """The page in Markdown."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        table, stage, statistic, _ = row["cell"].split("/")
        groups[table, stage, statistic].append(row)
    lines = [opening, ""]
    worse: dict[str, dict[str, float]] = {method: {} for method in METHODS}
    better: dict[str, dict[str, float]] = {method: {} for method in METHODS}
    tables, stages, statistics = (_ordered(groups, k, one) for k, one in enumerate((TABLES, STAGES, STATISTICS)))
    for stage in stages:
        head = f"| table, statistic | splits | first stage | {' | '.join(METHODS)} | radius 0 |"
        lines += [f"## Over {stage}", "", head, "|---" * 7 + "|"]
        for statistic in statistics:
            for table in tables:
                own = groups.get((table, stage, statistic))
                if not own:
                    continue
                base = float(np.mean([row["first_stage"] for row in own]))
                cells = []
                for method in METHODS:
                    leads = [100 * (row[method] - row["first_stage"]) / base for row in own]
                    mean, half, less, more = summary(leads)
                    name = f"{table}/{stage}/{statistic}"
                    worse[method][name], better[method][name] = less, more
                    wins, losses = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
                    interval = "" if math.isnan(half) else f" +- {half:.2f}"
                    cells.append(f"{mean:+.2f}{interval} ({wins}/{losses})")
                zero = np.mean([row["radius"] == 0 for row in own])
                lines.append(
                    f"| {table}, {own[0]['stat']} | {len(own)} | {base:.4g} | {' | '.join(cells)} | {zero:.0%} |"
                )
        lines += ["", *_pooled(groups, stage), ""]
    lines += [*_aims(groups, len(holm(worse["cv"]))), "", TRIED, "", "## Tests", ""]
    for method in METHODS:
        lines.append(
            f"- {method}: worse than its first stage after Holm's correction in "
            f"{len(holm(worse[method]))} of {len(worse[method])} cells; better at a false discovery rate of 5 %: "
            f"{', '.join(better_at(better[method])) or 'none'}."
        )
    lines += _kept(groups)
    seconds = {m: float(np.mean([row[f"{m}_seconds"] for row in rows])) for m in METHODS}
    lines.append("- CPU seconds of a fit, mean: " + ", ".join(f"{m} {s:.1f}" for m, s in seconds.items()) + ".")
    return "\n".join(lines) + "\n"


def _ordered(groups: Iterable[tuple[str, str, str]], place: int, planned: Iterable[str]) -> list[str]:
    """The names at a place of the groups: those that were planned in their order, then others."""
    found = {group[place] for group in groups}
    return [one for one in planned if one in found] + sorted(found.difference(planned))


def _pooled(groups: Mapping[tuple[str, str, str], Sequence[dict[str, Any]]], stage: str) -> list[str]:
    """The mean lead of each method over all tables, each with the mean of its cells, by statistic and in all."""
    head = f"| all tables | {' | '.join(METHODS)} |"
    lines = [head, "|---" * (len(METHODS) + 1) + "|"]
    measured = [one for one in _ordered(groups, 2, STATISTICS) if any(group[1:] == (stage, one) for group in groups)]
    for counted in (*([one] for one in measured), *([measured] if len(measured) > 1 else ())):
        told = []
        for method in METHODS:
            mean, low, high = pooled(_by_table(groups, stage, counted, method))
            told.append(f"{mean:+.2f} ({low:+.2f} to {high:+.2f})")
        lines.append(f"| {', '.join(counted)} | {' | '.join(told)} |")
    return lines


def _by_table(
    groups: Mapping[tuple[str, str, str], Sequence[dict[str, Any]]], stage: str, counted: Sequence[str], method: str
) -> dict[str, float]:
    """Mean lead of each table's cells of these statistics, in per cent of the first stage."""
    found: dict[str, list[float]] = defaultdict(list)
    for (table, at, statistic), own in groups.items():
        if at == stage and statistic in counted:
            base = np.mean([row["first_stage"] for row in own])
            found[table].append(100 * float(np.mean([row[method] for row in own]) / base - 1))
    return {table: float(np.mean(found[table])) for table in _ordered(groups, 0, TABLES) if table in found}


def _aims(groups: Mapping[tuple[str, str, str], Sequence[dict[str, Any]]], worse: int) -> list[str]:
    """Whether ``RerankerCV`` reaches what was aimed at before anything was run."""
    told = "reached" if worse == 0 else f"missed, worse in {worse}"
    lines = ["## What was aimed at", "", f"- cv is worse in no cell after Holm's correction: {told}."]
    for stage in (one for one in STAGES if any(at == one for _, at, _ in groups)):
        mean, low, high = pooled(_by_table(groups, stage, STATISTICS, "cv"))
        met = mean > 0 if stage == "logistic" else mean >= 0
        aim = "above" if stage == "logistic" else "not below"
        lines.append(
            f"- cv leads {stage} in the mean of all tables by a number {aim} 0: {'reached' if met else 'missed'}, "
            f"{mean:+.2f} % ({low:+.2f} to {high:+.2f})."
        )
    return lines


def _kept(groups: Mapping[tuple[str, str, str], Sequence[dict[str, Any]]]) -> list[str]:
    """What each fixed radius leads by, the best one of each cell, and the radius that cross-validation chooses."""
    leads: dict[str, list[float]] = {name: [] for name in (*RADII, "cv")}
    splits = 0
    for own in groups.values():
        tried = [row for row in own if all(name in row for name in RADII)]
        splits += len(tried)
        for name in leads if tried else ():
            base = np.mean([row["first_stage"] for row in tried])
            leads[name].append(float(np.mean([100 * (row[name] - row["first_stage"]) / base for row in tried])))
    if not splits:
        return []
    fixed = ", ".join(f"{radius:g} by {np.mean(leads[name]):+.2f} %" for name, radius in RADII.items())
    best = float(np.mean(np.maximum(0.0, np.max([leads[name] for name in RADII], axis=0))))
    own_lead = float(np.mean(leads["cv"]))
    share = f"{own_lead / best:.0%}" if best > 0 and own_lead > 0 else "nothing"
    return [
        f"- In the {splits} splits of {len(leads['cv'])} cells in which three radii were fixed, these lead the first "
        f"stage so: {fixed}. The best of 0 and these in each cell, known only afterwards, leads by {best:+.2f} %, cv "
        f"by {own_lead:+.2f} %: it keeps {share} of that lead."
    ]
