"""Results on a terminal: the numbers of a fit, ranked rows, checks, solvers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rerank.cli.common import silence, standard_output
from rerank.errors.telling import harmless
from rerank.reranker.shown import SOURCES, numbers_of

if TYPE_CHECKING:
    from rerank.reranker.files.verify import Report
    from rerank.reranker.result import Result
    from rerank.reranker.state import FittedState


WIDE = 100_000
"""Columns where no terminal breaks the lines."""


class Printed(Console):
    """Standard output, where control characters of names are spelled."""

    def render_str(self, text: str, **options: Any) -> Text:
        """One line of text, or a cell."""
        return super().render_str(harmless(text, name=True), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does; errors as of :func:`rerank.cli.common.standard_output`."""
        with standard_output():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Go on: files may remain to be written."""
        silence()


def plain_console() -> Console:
    """Standard output, where nothing of the data is read as style, and only a terminal breaks lines and cuts cells."""
    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDE
    return Printed(markup=False, highlight=False, width=width)


def bounded_by(result: Result) -> str:
    """Whose the bound is."""
    if result.bound_solver is not None:
        return f"on the word of {result.bound_solver}"
    return f"by {SOURCES[result.bound_source]}"


def four_numbers(result: Result) -> Table:
    """Statistic, value, bound and the program's own numbers, each with its meaning."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in numbers_of(result):
        table.add_row(*row)
    return table


def print_result(state: FittedState) -> None:
    """Status, numbers, weights, shortlist, time and notes of a fit."""
    out = plain_console()
    result = state.result
    out.print(result.message, style="bold")
    out.print(four_numbers(result))
    used = [f"{name} {weight:+.6g}" for name, weight in state.named_weights().items()]
    shown = ", ".join(used[:12]) + (", ..." if len(used) > 12 else "")
    out.print(f"weights   {shown or 'none'}")
    short = result.shortlist
    out.print(
        f"shortlist {short.n_head} of {short.n_rows} rows in {result.n_lists} list(s), {short.n_positive_head} of "
        f"{short.n_positive} relevant ones; {short.n_features} features"
    )
    out.print("seconds   " + ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items()))
    for note in remarks(result):
        out.print(f"- {note}")


def remarks(result: Result) -> list[str]:
    """Sentences on ties at the cut, columns left out, repeated rows and lists left out."""
    short = result.shortlist
    lines = list(result.notes)
    if short.n_tied:
        lines.append(
            f"{short.n_tied} row(s) more than asked for share the score at the cut; all of them are in the shortlist."
        )
    if result.left_out:
        names = ", ".join(result.left_out[:6]) + (", ..." if len(result.left_out) > 6 else "")
        lines.append(f"Not reranked, because they hold no numbers or miss some: {names}.")
    if short.constant_features:
        names = ", ".join(short.constant_features[:6]) + (", ..." if len(short.constant_features) > 6 else "")
        lines.append(f"Constant on the shortlist and left out: {names}.")
    if short.n_duplicates:
        extra = (
            f", {short.n_conflicts} of them with another gain, which no weights can tell apart"
            if short.n_conflicts
            else ""
        )
        lines.append(f"{short.n_duplicates} row(s) of the shortlist repeat an earlier one{extra}.")
    if result.n_empty_lists:
        lines.append(f"{result.n_empty_lists} list(s) hold nothing to order and are not in the mean.")
    return lines


def print_rows(rows: Sequence[dict[str, Any]], n_rows: int) -> None:
    """Ranked rows, best first."""
    out = plain_console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    with_lists = any(row["list"] is not None for row in rows)
    for name in [*["list"] * with_lists, "place", "row", "score"]:
        table.add_column(name, justify="left" if name in ("list", "row") else "right", overflow="fold")
    for row in rows:
        own = [row["list"]] if with_lists else []
        table.add_row(*own, str(row["place"]), row["id"], f"{row['score']:.6g}")
    out.print(table)
    if len(rows) < n_rows:
        out.print(f"{len(rows)} of {n_rows} rows; --top 0 prints all.")


def print_checks(report: Report) -> None:
    """The checks of a verification, one in each line, and the fields that no check covers."""
    out = plain_console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "check", "stated", "recomputed"):
        table.add_column(name)
    for check in report.checks:
        mark = Text("ok", style="green") if check.holds else Text("FAILED", style="bold red")
        table.add_row(mark, check.name, check.stated, check.recomputed)
    out.print(table)
    for remark in report.remarks:
        out.print(remark)
    out.print(report.outcome, style="bold")
    for why, names in report.reasons().items():
        out.print(f"{why}: {', '.join(names)}")


def print_doctor(versions: dict[str, str], solvers: Sequence[dict[str, Any]]) -> None:
    """Versions and solvers of an installation."""
    out = plain_console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("solver", "version", "licence", "reached by"):
        table.add_column(name)
    for one in solvers:
        if one["found"]:
            table.add_row(one["name"], str(one["version"]), one["licence"], one["how"])
    out.print("  ".join(f"{name} {version}" for name, version in versions.items()))
    out.print(table)
    for one in solvers:
        if not one["found"]:
            out.print(f"{one['name']} was not found: {one['install']}")
