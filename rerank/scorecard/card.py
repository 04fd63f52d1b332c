"""A card: questions with points, the total of a row, and what each total meant in the rows of the fit."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.frames import as_table
from rerank.io.options import whole
from rerank.io.page import Cells, Part, Readable, Words, as_markdown
from rerank.scorecard import export, files, workbook
from rerank.scorecard.files import Total
from rerank.scorecard.gaps import missed, notes_on_rows, with_gaps
from rerank.scorecard.questions import MISSING, Question

MOST_POINTS = 10**6  # points of a question, at most, and at least with a minus
Z = 1.959963984540054  # standard deviations of the normal distribution that leave 2.5 % on either side


@dataclass(frozen=True)
class Card(Readable):
    """Points of yes/no questions; a row's total is the sum of the points of the questions it answers by yes.

    Attributes
    ----------
    questions : tuple of Question
    points : tuple of int
    totals : tuple of Total
        From the largest total down; empty for a card that was written by hand.
    cut : int or None
        Rows of at least this total are flagged.
    special : tuple of Question
        Codes that count as gaps, such as "income in 999999"; a column has one such question at most.
    spread : (float, float) or None
        Of the intervals of ``totals``, in standard errors: how much nearer to the overall share than its risk a total
        may be in rows to come, and how much farther, by refits; None for 1.96 on either side.
    pooled : bool
        Whether without ``spread`` intervals are those of pools of totals, as cards of earlier files have them.
    """

    questions: tuple[Question, ...]
    points: tuple[int, ...]
    totals: tuple[Total, ...] = ()
    cut: int | None = None
    special: tuple[Question, ...] = ()
    spread: tuple[float, float] | None = None
    pooled: bool = False

    def __post_init__(self) -> None:
        if len(self.questions) != len(self.points) or not self.questions:
            raise InputError(
                f"A card has {len(self.questions)} questions and {len(self.points)} points; give each question one."
            )
        for question, own in zip(self.questions, self.points):
            whole(f"The points of {str(question)!r}", own, -MOST_POINTS, MOST_POINTS)
        if self.cut is not None:
            whole("cut", self.cut, -(2**53), 2**53)
        for total in self.totals:
            counts, shares = (total.relevant, total.other), (total.low, total.risk, total.high)
            fits = all(0 <= count < math.inf for count in counts) and sum(counts) > 0
            if not (fits and all(0 <= share <= 1 for share in shares) and total.low <= total.high):
                raise InputError(
                    f"The total {total.total} of a card has the counts {counts} and the shares {shares}; counts are "
                    "not negative, one is above 0, and shares are from 0 to 1."
                )
        places = [total.total for total in self.totals]
        if any(upper <= lower for upper, lower in pairwise(places)):
            raise InputError("The totals of a card do not fall; give the largest first, and each once.")

    @classmethod
    def of(cls, card: Any, columns: Sequence[str] = ()) -> "Card":
        """A card as a person has it: a mapping of questions to points, pairs, a card, or a file of :meth:`save`.

        Parameters
        ----------
        card : Card, mapping, sequence of pairs, or path to a .csv or .json
            Questions are :class:`Question` or texts such as ``"age >= 60"``.
        columns : sequence of str, optional
            Names of the table's columns, for texts.

        Raises
        ------
        InputError
        """
        if isinstance(card, cls):
            return card
        if isinstance(card, str) or hasattr(card, "__fspath__"):
            return cls(*files.read_card(card, columns)[0])
        pairs = list(card.items()) if isinstance(card, Mapping) else [tuple(pair) for pair in card]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise InputError(
                "A card is a mapping of questions to points, such as {'age >= 60': 3}, and holds one at least."
            )
        questions = tuple(own if isinstance(own, Question) else Question.read(str(own), columns) for own, _ in pairs)
        return cls(questions, tuple(own for _, own in pairs))

    def save(self, path: str | os.PathLike[str], result: Any = None) -> None:
        """Write the card to a file that :meth:`of` reads.

        Parameters
        ----------
        path : path
            A .json holds all of it, a .csv questions and points.
        result : CardResult, optional
            Of the fit: statistic, value and bound go into a .json, for people who read it.

        Raises
        ------
        InputError
            For another suffix, and where the file cannot be written.
        """
        files.save(path, self, result)

    def to_json(self, result: Any = None) -> str:
        """The text of a .json file of :meth:`save`."""
        return files.json_of(self, result)

    def to_csv(self, raw: bool = False) -> str:
        """The text of a .csv file of :meth:`save`: a line for each question, under ``question,points``; ``raw`` without
        the apostrophe before what a spreadsheet takes for a formula.
        """
        return files.csv_of(self, raw)

    def to_sql(self, table: str | None = None) -> str:
        """The total as an expression of standard SQL: a sum of CASE expressions.

        Numbers and truth values (as 1 and 0) are compared with numbers, texts with texts, and NULL answers no, but to
        the question whether it is missing. A NaN that is no NULL is for the database to say.

        Parameters
        ----------
        table : str, optional
            Put before every column.

        Raises
        ------
        InputError
            For what no text of SQL can hold, and for a question that compares a column with the word True or False.
        """
        return export.sql(self, table)

    def to_formula(self, columns: Mapping[str, str] | Sequence[str] | None = None, row: int = 2) -> str:
        """The total as a formula of Excel, LibreOffice and their like, for one row of a sheet.

        An empty cell answers no, but to the question whether it is missing; a text where numbers are compared is an
        error of the sheet. Arguments stand between commas, as in a .xlsx file and an English program. Spreadsheets
        compare 15 digits.

        Parameters
        ----------
        columns : mapping or sequence of str, optional
            Column to cell, such as ``{"age": "C2"}``; or names of columns in the order of the sheet, from A.
            By default the columns of the card, in its order.
        row : int
            Row of the sheet, for names in order.

        Raises
        ------
        InputError
            For a column without a cell, what is no cell, and a formula longer than a spreadsheet takes.
        """
        return export.formula(self, columns, row)

    def to_excel(self, path: str | os.PathLike[str], X: Any = None) -> None:
        """Write a workbook of Excel: the card with its risks on one sheet, and rows with formulas for total, risk and
        flag on another; see :meth:`to_formula`. It needs the package openpyxl.

        Parameters
        ----------
        path : path
            A .xlsx.
        X : table (n, d), optional
            The rows; by default the sheet is to be filled in, and a row without any value has no total.

        Raises
        ------
        InputError
        """
        workbook.save(self, path, X)

    def to_python(self) -> str:
        """The text of a function ``total(row)`` in plain Python: the total of a row given as a mapping.

        A value that is missing is None, NaN, or no key of the mapping.
        """
        return export.python(self)

    def to_markdown(self) -> str:
        """What :meth:`parts` says, with tables of Markdown."""
        return as_markdown(self.parts())

    def plot(self, ax: Any = None) -> Any:
        """The card as on paper: questions and points, below them the risk of each total; returns the axes."""
        from rerank.plots import card_picture

        texts = [str(question) for question in self.questions]
        return card_picture(texts, self.points, self.totals, self.cut, ax=ax)

    def answers(self, X: Any) -> NDArray[np.bool_]:
        """Answers to the questions, (questions, n), of a table (n, d)."""
        table = with_gaps(as_table(X), self.special)
        return np.array([question.answers(table) for question in self.questions], dtype=bool)

    def total(self, X: Any) -> NDArray[np.int64]:
        """Total of each row of a table (n, d)."""
        return np.asarray(self.points, dtype=np.int64) @ self.answers(X).astype(np.int64)

    def gaps(self, X: Any) -> int:
        """Number of rows (n, d) that miss a value of a column of the card, of which no question asks whether it is."""
        return missed(self.questions, with_gaps(as_table(X), self.special)).size

    def told(self, X: Any, levels: Mapping[str, Sequence[str]], rows: Sequence[Any]) -> list[str]:
        """Sentences on rows of a table (n, d) that miss a value, and on new levels; ``rows`` names rows."""
        return notes_on_rows(self.questions, levels, with_gaps(as_table(X), self.special), rows)

    def risk(self, totals: ArrayLike) -> NDArray[np.float64]:
        """Share of relevant rows that is expected at each total, by the rows of the fit.

        A total that no row of the fit has gets the risk of the next smaller one, or of the smallest.
        """
        if not self.totals:
            raise InputError(
                "The card was written by hand, so that no risks are known; call its with_totals on labelled rows."
            )
        known = np.array([total.total for total in self.totals[::-1]])
        place = np.searchsorted(known, np.asarray(totals), "right") - 1
        return np.array([total.risk for total in self.totals[::-1]])[np.maximum(place, 0)]

    def flags(self, totals: ArrayLike) -> NDArray[np.bool_]:
        """Which totals reach the cut; without one, those whose risk is one half at least."""
        given = np.asarray(totals)
        return given >= self.cut if self.cut is not None else self.risk(given) >= 0.5

    def with_totals(
        self,
        totals: NDArray[np.int64],
        relevant: NDArray[np.float64],
        other: NDArray[np.float64],
        spread: tuple[float, float] | None = None,
    ) -> "Card":
        """The card with what its totals mean in these rows, which count as so many relevant and other ones."""
        return replace(self, totals=tuple(risks(totals, relevant, other, spread)), spread=spread, pooled=False)

    def parts(self) -> list[Part]:
        """What a person reads: questions and points, risks by total, and the cuts that matter."""
        points = [("question", "points"), *((str(q), f"{own:+d}") for q, own in zip(self.questions, self.points))]
        found: list[Part] = [Cells(points, ("left", "right"), named=True)]
        if self.totals:
            lines = [("total", "rows", "relevant", "risk", "95 % interval")]
            for row in self.totals:
                counts = f"{row.relevant + row.other:g}", f"{row.relevant:g}"
                lines.append((str(row.total), *counts, percent(row.risk), f"{percent(row.low)} to {percent(row.high)}"))
            found += [Words(""), Cells(lines, ("right",) * 5, named=True), Words(self.said_of_risks(), small=True)]
            found += [Words(""), self.cut_cells()]
        return [*found, *self.remarks()]

    def remarks(self) -> list[Part]:
        """What gaps answer."""
        found: list[Part] = []
        if self.special:
            found.append(Words(f"A gap is also: {'; '.join(map(str, self.special))}.", small=True))
        if any(question.sign != MISSING for question in self.questions):
            found.append(Words("A missing value answers no, but to the question whether it is missing.", small=True))
        return found

    def said_of_risks(self) -> str:
        """How risks and intervals are made."""
        relevant = sum(total.relevant for total in self.totals)
        rows = relevant + sum(total.other for total in self.totals)
        how = "count that these rows chose the card, by its refits."
        if self.spread is None and self.pooled:
            how = "do not count that these rows chose the card; those of a fit with validation bootstrap do."
        elif self.spread is None:
            how = "are of the rows of each total alone, which makes them wider: these rows chose the card."
        return (
            f"A risk is (relevant + {relevant / rows:.3g}) / (rows + 1), one row more with the share of all rows, for "
            f"neighbouring totals together where shares would fall. Intervals {how}"
        )

    def cut_cells(self) -> Cells:
        """The table of :meth:`cuts`."""
        head = ("flagged from", "share flagged", "sensitivity", "specificity", "precision")
        lines = [(str(cut.total), *(percent(share) for share in cut[1:])) for cut in self.cuts()]
        return Cells([head, *lines], ("right",) * 5, named=True)

    def cuts(self) -> "list[Cut]":
        """The cuts to act on: its own, the best balance, nine tenths of the relevant rows, precision one half."""
        P, Q = sum(total.relevant for total in self.totals), sum(total.other for total in self.totals)
        hits = others = 0.0
        every = []
        for total in self.totals:
            hits, others = hits + total.relevant, others + total.other
            balance = hits / P if P else math.nan, 1 - others / Q if Q else math.nan
            every.append(Cut(total.total, (hits + others) / (P + Q), *balance, hits / (hits + others)))
        chosen = [cut for cut in every if cut.total == self.cut]
        if every:
            chosen.append(max(every, key=lambda cut: cut.sensitivity + cut.specificity))
            chosen.append(next(cut for cut in every if cut.sensitivity >= 0.9))
            chosen += [cut for cut in every if cut.precision >= 0.5][-1:]
        return sorted(set(chosen), key=lambda cut: -cut.total)[:4]


class Cut(NamedTuple):
    """Rows of at least ``total`` are flagged: shares of all rows, of the relevant ones, of the others that are not
    flagged, and of relevant rows among those flagged.
    """

    total: int
    flagged: float
    sensitivity: float
    specificity: float
    precision: float


def risks(
    totals: NDArray[Any],
    relevant: NDArray[np.float64],
    other: NDArray[np.float64],
    spread: tuple[float, float] | None = None,
    pooled: bool = False,
) -> list[Total]:
    """What each total means, the largest first. The share of relevant rows with the overall share added as one row,
    made to fall with the total by pooling neighbours (isotonic regression); the interval is Wilson's [Wilson1927] of
    this risk and the total's own rows, or ``pooled`` of the share and the rows that were pooled; or with as many
    standard errors as refits say (``spread``). Totals that are pooled differ in rows to come: then their rows are the
    geometric mean of those of the pool and of the total, since those of the pool make intervals too narrow for single
    totals, and those of the total too wide.
    """
    levels, number = np.unique(-np.asarray(totals, np.int64), return_inverse=True)
    p = np.bincount(number, relevant, levels.size)
    q = np.bincount(number, other, levels.size)
    base = p.sum() / (p.sum() + q.sum())
    pools: list[list[float]] = []  # rows, relevant rows, levels

    def smooth(pool: Sequence[float]) -> float:
        return (pool[1] + base) / (pool[0] + 1)

    for own_p, own_q in zip(p.tolist(), q.tolist()):
        pools.append([own_p + own_q, own_p, 1])
        while len(pools) > 1 and smooth(pools[-1]) > smooth(pools[-2]):
            rows, hits, many = pools.pop()
            pools[-1] = [pools[-1][0] + rows, pools[-1][1] + hits, pools[-1][2] + many]

    def interval(pool: Sequence[float], rows: float) -> tuple[float, float]:
        risk = smooth(pool)
        if spread is None:
            return wilson(pool[1], pool[0]) if pooled else (end(risk, rows, -Z), end(risk, rows, Z))
        low, high = spread if risk >= base else (-spread[1], -spread[0])
        many = math.sqrt(rows * pool[0]) + 1
        return end(risk, many, -high), end(risk, many, -low)

    each = [pool for pool in pools for _ in range(int(pool[2]))]
    return [
        Total(-int(level), float(own_p), float(own_q), smooth(pool), *interval(pool, own_p + own_q))
        for level, own_p, own_q, pool in zip(levels, p, q, each)
    ]


def wilson(hits: float, rows: float) -> tuple[float, float]:
    """Interval of 95 % of a share [Wilson1927, p. 212]."""
    if not rows:
        return 0.0, 1.0
    return end(hits / rows, rows, -Z), end(hits / rows, rows, Z)


def end(share: float, rows: float, errors: float) -> float:
    """The share whose own standard error lies so many times between it and a share of so many rows."""
    z = errors * errors / rows
    half = math.copysign(math.sqrt(z * share * (1 - share) + z * z / 4), errors)
    return min(1.0, max(0.0, (share + z / 2 + half) / (1 + z)))


def percent(share: float) -> str:
    """A share as a person reads it."""
    if math.isnan(share):
        return "-"
    return f"{100 * share:.0f} %" if 0.1 <= share <= 0.9 or share in (0.0, 1.0) else f"{100 * share:.1f} %"
