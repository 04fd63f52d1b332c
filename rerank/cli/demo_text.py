"""The demonstration on a terminal: two lists side by side, the numbers, the proof, the held-out rows."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rerank.cli.demo import FEATURES, TOP, Demo
from rerank.cli.report import SOURCES, four_numbers


def print_demo(demo: Demo, console: Console | None = None) -> None:
    """Print the two lists, the numbers, the proof and the held-out rows."""
    out = console or Console()
    for line in _opening(demo):
        out.print(line, highlight=False)
    out.print()
    out.print(side_by_side(demo))
    for line in _places(demo):
        out.print(line, highlight=False)
    out.print()
    out.print(four_numbers(demo.result))
    out.print()
    for line in closing(demo):
        out.print(line, highlight=False)


def side_by_side(demo: Demo) -> Table:
    """The tops of two lists side by side: row, label and place in the other list."""
    columns = ", ".join(demo.columns)
    table = Table(
        padding=(0, 1), title=f"The first {len(demo.before)} places of the training list ({columns})"
    )
    names = ("place", "first stage", demo.found, "exact reranking", demo.found, "was at")
    for name, side in zip(names, ("right", "left", "center", "left", "center", "right"), strict=True):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for place, (left, right) in enumerate(zip(demo.before, demo.after, strict=True), start=1):
        table.add_row(
            str(place), left.name, _mark(left.relevant), right.name, _mark(right.relevant),
            "" if right.other == place else str(right.other),
        )  # fmt: skip
    return table


def _mark(relevant: bool) -> Text:
    return Text("yes", style="bold green") if relevant else Text(".", style="dim")


def _opening(demo: Demo) -> list[str]:
    """The sentences before the lists."""
    short = demo.result.shortlist
    weights = ", ".join(f"{name} {weight:+.3g}" for name, weight in demo.weights.items())
    return [
        f"{demo.title}: {demo.task}.",
        f"Logistic regression ranks {demo.n_train:,} of them and keeps its best {short.n_head} as the shortlist, "
        f"{short.n_positive_head} of the {short.n_positive} to be found among them. Then the order of the "
        f"shortlist is fitted exactly for {demo.result.statistic_name} (hits among the first {TOP}), with at most "
        f"{FEATURES} of {short.n_features} features: {weights}.",
    ]


def _places(demo: Demo) -> list[str]:
    """The places of the relevant rows in the two lists."""
    names = ("first stage", "exact reranking")
    return [
        f"Found among the first {TOP}, {name}: {len(found)}, at places {', '.join(map(str, found)) or '-'}."
        for name, found in zip(names, demo.hits, strict=True)
    ]


def closing(demo: Demo) -> list[str]:
    """What was proved and by which method, and the statistics on held-out rows."""
    r = demo.result
    lines = [r.message]
    if r.status == "optimal":
        lines.append(
            f"The ideal shortlist would reach {demo.ideal:.6g}. No weights on at most {FEATURES} features have a value "
            f"above {r.bound:.6g}, margin included: proved by {SOURCES[r.bound_source]} ({r.nodes:,} boxes, "
            f"{r.seconds.get('search', 0.0):.2f} s). The value was recomputed in exact fractions."
        )
    lines += list(r.notes)
    first, ours = demo.held_out
    verdict = "better" if ours > first else "worse" if ours < first else "the same"
    lines.append(
        f"Held out: on {demo.n_held_out:,} rows that no fit has seen, {r.statistic_name} is {first:g} by "
        f"the first stage and {ours:g} by the exact order: {verdict}."
    )
    gains = np.array([after - before for before, after in demo.splits])
    if gains.size:
        lines.append(
            f"Over {gains.size} other random splits: better on {int((gains > 0).sum())}, worse on "
            f"{int((gains < 0).sum())}, the same on {int((gains == 0).sum())}; {gains.mean():+.2f} on average. What "
            "is gained in sample does not all carry over: look at held-out rows before you trust the top of a list."
        )
    lines.append(f"Data: {demo.citation}")
    return lines
