"""What a fitted estimator shows where it is printed, and in a notebook: text, and a piece of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

SHORT, WHOLE = 24, ";white-space:nowrap"
"""Signs of a cell that stays on one line, such as a number or its name, and its style."""


class ShownMixin:
    """Text and HTML of a fitted estimator of scikit-learn's kind; before the fit scikit-learn's own."""

    def _shown(self) -> tuple[str, str] | None:
        """Text and HTML; None before the fit."""
        raise NotImplementedError

    def __str__(self) -> str:
        shown = self._shown()
        return super().__str__() if shown is None else shown[0]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        above: Any = super()
        bundle: dict[str, str] = above._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # that is a setting of scikit-learn
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _repr_html_inner(self) -> str:
        above: Any = super()
        shown = self._shown()
        page: str = above._repr_html_inner() if shown is None else f"<div>{shown[1]}</div>"
        return page


def text_table(rows: Sequence[Sequence[str]], sides: Sequence[str]) -> str:
    """Lines of a table whose columns stand on these sides, left or right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(sides))]
    signs = ["<" if side == "left" else ">" for side in sides]
    return "\n".join(
        "  ".join(f"{text:{sign}{width}}" for text, sign, width in zip(row, signs, widths)).rstrip() for row in rows
    )


def html_table(rows: Iterable[Sequence[str]], sides: Sequence[str]) -> str:
    """A table whose columns stand on these sides; the first cell of a row is its heading, and nothing is markup."""

    def cells(row: Sequence[str]) -> str:
        tags = ["th", *["td"] * (len(row) - 1)]
        return "".join(
            f'<{tag} style="text-align:{side}{WHOLE if len(text) <= SHORT else ""}">{escape(text)}</{tag}>'
            for tag, side, text in zip(tags, sides, row)
        )

    return f"<table>{''.join(f'<tr>{cells(row)}</tr>' for row in rows)}</table>"
