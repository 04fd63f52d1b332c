"""From measured cells to a page: leads in per cent, corrected intervals, wins, and what all tables say together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.evidence.cells import METHODS, STAGES, STATISTICS, TABLES

SHARE = 0.5
"""Held-out rows for each training row; repeats share rows, and [NadeauBengio2003] allows for that."""


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
    for stage in (one for one in STAGES if any(at == one for _, at, _ in groups)):
        head = f"| table, statistic | splits | first stage | {' | '.join(METHODS)} | radius 0 |"
        lines += [f"## Over {stage}", "", head, "|---" * 7 + "|"]
        for statistic in STATISTICS:
            for table in TABLES:
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
        lines.append("")
        for method in METHODS:
            by_table = {
                table: float(np.mean([
                    100 * (row[method] - row["first_stage"]) / np.mean([r["first_stage"] for r in own])
                    for (name, at, _), own in groups.items() if name == table and at == stage for row in own
                ]))
                for table in TABLES if any(name == table and at == stage for name, at, _ in groups)
            }  # fmt: skip
            mean, low, high = pooled(by_table)
            lines.append(f"- {method}, all tables and statistics: {mean:+.2f} % ({low:+.2f} to {high:+.2f}).")
        lines.append("")
    lines += ["## Tests", ""]
    for method in METHODS:
        lines.append(
            f"- {method}: worse than its first stage after Holm's correction in "
            f"{len(holm(worse[method]))} of {len(worse[method])} cells, better in {len(holm(better[method]))}."
        )
    seconds = {m: float(np.mean([row[f"{m}_seconds"] for row in rows])) for m in METHODS}
    lines.append("- CPU seconds of a fit, mean: " + ", ".join(f"{m} {s:.1f}" for m, s in seconds.items()) + ".")
    return "\n".join(lines) + "\n"
