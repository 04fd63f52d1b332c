"""A card as a workbook of Excel: questions, points and risks on one sheet, and rows with formulas on another."""

import os
from collections.abc import Callable
from io import BytesIO
from typing import Any

from rerank.errors import InputError
from rerank.io.atomic import writing_bytes
from rerank.io.frames import as_table, column, entries, place_of
from rerank.scorecard.export import formula, letters

EMPTY = 200  # rows of a sheet that is to be filled in
HEADS = ("total", "risk", "flagged")


def save(card: Any, path: str | os.PathLike[str], X: Any = None) -> None:
    """See :meth:`rerank.scorecard.Card.to_excel`."""
    try:
        from openpyxl import Workbook
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError as error:
        advice = "pip install 'exact-rerank[excel]'"
        raise InputError(f"A workbook needs openpyxl, which is not installed; {advice}.") from error
    if not str(path).lower().endswith(".xlsx"):
        raise InputError(f"{path} names no workbook; write to a .xlsx.")
    book = Workbook()
    try:
        _card_sheet(card, book.active)
        _rows_sheet(card, book.create_sheet("Rows"), X)
    except IllegalCharacterError as error:
        raise InputError(f"{str(error)[:60]!r} holds a character that no cell has; rename it.") from None
    out = BytesIO()
    book.save(out)
    with writing_bytes(path) as file:
        file.write(out.getvalue())


def _put(sheet: Any, row: int, place: int, value: Any, told: bool = True) -> None:
    """Write a cell, where ``place`` counts from 0; a text that is ``told`` is no formula, whatever it begins with."""
    cell = sheet.cell(row, place + 1, value)
    if told and isinstance(value, str):
        cell.data_type = "s"


def _card_sheet(card: Any, sheet: Any) -> None:
    """Questions and points, beside them totals from the smallest up with their risks, and the cut."""
    sheet.title = "Card"
    for place, head in enumerate(("question", "points", "", "total", "risk", "low", "high", "", "flagged from")):
        _put(sheet, 1, place, head)
    for row, (question, points) in enumerate(zip(card.questions, card.points), 2):
        _put(sheet, row, 0, str(question))
        _put(sheet, row, 1, points)
    for row, total in enumerate(reversed(card.totals), 2):
        for place, number in enumerate((total.total, total.risk, total.low, total.high), 3):
            _put(sheet, row, place, number)
            sheet.cell(row, place + 1).number_format = "0" if place == 3 else "0.0%"
    _put(sheet, 2, 8, card.cut)
    sheet.column_dimensions["A"].width = 40


def _rows_sheet(card: Any, sheet: Any, X: Any) -> None:
    """A column for each of the card's, and behind them total, risk and flag as formulas, row by row."""
    names = list(dict.fromkeys(question.column for question in card.questions))
    values = None
    if X is not None:
        table = as_table(X)
        values = [entries(column(table, place_of(table, name))) for name in names]
    for place, head in enumerate((*names, *HEADS)):
        _put(sheet, 1, place, head)
    total, risk = (letters(len(names) + k) for k in range(2))
    behind = _behind(card, total, risk)
    for row in range(2, 2 + (EMPTY if values is None else len(values[0]))):
        own = formula(card, names, row).removeprefix("=")
        filled = f"COUNTA(A{row}:{letters(len(names) - 1)}{row})=0"
        _put(sheet, row, len(names), f"={own}" if values is not None else f'=IF({filled},"",{own})', told=False)
        for place, text in enumerate(behind(row), len(names) + 1):
            _put(sheet, row, place, text, told=False)
        for place, each in enumerate(values or ()):
            _put(sheet, row, place, _plain(each[row - 2]))
        sheet.cell(row, len(names) + 2).number_format = "0.0%"


def _behind(card: Any, total: str, risk: str) -> Callable[[int], list[str]]:
    """The formulas of risk and flag of a row."""
    last = len(card.totals) + 1

    def texts(row: int) -> list[str]:
        if not card.totals:
            return ["", "" if card.cut is None else f'=IF({total}{row}="","",IF({total}{row}>=Card!$I$2,1,0))']
        # A total that no row of the fit has gets the risk of the next smaller one, or of the smallest.
        place = f"IFERROR(MATCH({total}{row},Card!$D$2:$D${last},1),1)"
        flagged = f"{risk}{row}>=0.5" if card.cut is None else f"{total}{row}>=Card!$I$2"
        each = f"INDEX(Card!$E$2:$E${last},{place})", f"IF({flagged},1,0)"
        return [f'=IF({total}{row}="","",{cell})' for cell in each]

    return texts


def _plain(value: Any) -> Any:
    """A value as a cell holds it."""
    return value.item() if hasattr(value, "item") else value
