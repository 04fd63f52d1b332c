"""What a fit of a card says: value, bound, corrected value, and one sentence of each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from rerank.io.page import Items, Part, Readable, Words
from rerank.scorecard.card import Card
from rerank.scorecard.likelihood import LogLoss, link_of
from rerank.scorecard.rows import Rows
from rerank.scorecard.search import Search
from rerank.scorecard.statement import measure, name_of
from rerank.scorecard.value import value_of
from rerank.statistics import AUC, Precision


@dataclass(frozen=True)
class HeldOut:
    """A value corrected for the choice of questions and card: by how many refits, and how; None where there is none,
    and ``why``. ``spread`` is that of :class:`Card`, of refits on rows drawn again, and ``error`` the standard error of
    a mean over folds.
    """

    value: float | None
    refits: int
    method: str
    spread: tuple[float, float] | None = None
    error: float | None = None
    why: str = ""


@dataclass(frozen=True)
class CardResult(Readable):
    """A fitted card in numbers.

    Attributes
    ----------
    statistic : str
    value : float
        On the rows of the fit, tied rows in expectation over their orders.
    pessimistic : float
        The same with tied relevant rows last.
    bound : float
        No card that points, rules and constraints allow has a larger value; infinite where no bound is known.
    status : {"optimal", "feasible"}
    size : int
        Most questions of a card.
    n_questions : int
        Questions that the card was chosen from.
    sets, bounded, searched, left : int
        Sets of questions; how many were bounded; of how many of these the points were searched, and are not.
    seconds : float
        Of the search, without compiling and without the corrected value.
    held_out : HeldOut or None
    asked : mapping or None
        What the card was chosen from and under which rules, in plain values, by which a file can be verified.
    notes : tuple of str
        What columns may mean otherwise than they were read.
    levels : mapping
        Texts that columns held whose levels the card asks for, by which new ones are told when it is applied.
    """

    statistic: str
    value: float
    pessimistic: float
    bound: float
    status: str
    size: int
    n_questions: int
    sets: int
    bounded: int
    searched: int
    left: int
    seconds: float
    held_out: HeldOut | None = None
    asked: Mapping[str, Any] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)

    @property
    def gap(self) -> float:
        """Bound less value."""
        return max(0.0, self.bound - self.value)

    @property
    def corrected(self) -> float | None:
        """The corrected value; None without refits."""
        return None if self.held_out is None else self.held_out.value

    @property
    def told(self) -> tuple[str, ...]:
        """The notes, and why there is no corrected value."""
        why = "none was asked for, by validation" if self.held_out is None else self.held_out.why
        return (*self.notes, f"No corrected value: {why}.") if self.corrected is None else self.notes

    def parts(self) -> list[Part]:
        """What a person reads first."""
        cards = f"no card of at most {self.size} of these {self.n_questions} questions that is allowed has more"
        if self.status == "optimal" and self.bounded < self.sets:
            proof = f"Proved: {cards}, nor any other score on their answers; found in {self.seconds:.2g} s."
        elif self.status == "optimal":
            proof = (
                f"Proved: {cards}. All {self.sets:,} sets of questions were bounded, the points of {self.searched:,} "
                f"searched, in {self.seconds:.2g} s."
            )
        else:
            known = f"{cards} than {rounded_up(self.bound)}" if math.isfinite(self.bound) else "no bound is known"
            proof = (
                f"Not proved: {known}; {self.bounded:,} of {self.sets:,} sets of questions were bounded in "
                f"{self.seconds:.2g} s."
            )
        own, held = "on the rows of the fit", self.held_out
        if held is None or held.value is None:
            first = f"{amount(self.statistic, self.value)} {own}."
        else:
            how = f"{held.refits} {held.method}"
            first = (
                f"{amount(self.statistic, held.value)}, corrected for the choice of questions and points ({how}); "
                f"{four(self.value)} {own}."
            )
        found: list[Part] = [Words(first, strong=True), Words(proof)]
        if held is not None and held.value is None:
            found.append(Words(self.told[-1]))
        if self.pessimistic < self.value:
            found.append(Words(f"With tied rows against the relevant ones it is {four(self.pessimistic)}.", small=True))
        return [*found, Items(self.notes)] if self.notes else found


def amount(stat: Any, value: float) -> str:
    """A statistic with its value and unit: precision@N is a number of rows in this package, and no share."""
    statistic, rate = measure(stat)
    if rate is None and type(statistic) is Precision:
        return f"{four(value)} relevant rows among the first {statistic.at:,} ({statistic.name})"
    return f"{'AUC' if rate is None and isinstance(statistic, AUC) else name_of(stat)} {four(value)}"


def four(value: float) -> str:
    """Four digits, as a person reads a value."""
    return f"{value:.4g}"


def rounded_up(bound: float) -> str:
    """Four digits of a bound, rounded away from the values it bounds, but for its own slack of rounding."""
    if not math.isfinite(bound) or bound == 0:
        return f"{bound:g}"
    step = 10.0 ** (math.floor(math.log10(abs(bound))) - 3)
    return f"{math.ceil(bound / step - 1e-7) * step:.4g}"


def exact(stat: Any, rows: Rows, totals: Any, ties: str = "average") -> Fraction | float:
    """The statistic of totals on rows."""
    return value_of(*measure(stat), totals, rows, rows.units, ties)


def later(stat: Any, card: Card, rows: Rows) -> float:
    """The statistic of a card on other rows than those that its totals are of; log loss has the link of these."""
    statistic, rate = measure(stat)
    link = link_of(*np.array([total[:3] for total in card.totals]).T) if isinstance(statistic, LogLoss) else None
    return float(value_of(statistic, rate, card.total(rows.X), rows, rows.units, link=link))


def result_of(
    stat: Any, rows: Rows, card: Card, search: Search, n_questions: int, seconds: float, held_out: HeldOut | None
) -> CardResult:
    """The numbers of a search that has ended; the value is computed anew from the card's totals."""
    totals = card.total(rows.X)
    value = float(exact(stat, rows, totals))
    optimal = search.complete
    bound = value if optimal and not search.problem.slack else max(value, search.bound)
    least, status = float(exact(stat, rows, totals, "pessimistic")), "optimal" if optimal else "feasible"
    counts = search.sets, search.bounded, search.searched, search.left
    asked = search.problem.size, n_questions
    return CardResult(name_of(stat), value, least, bound, status, *asked, *counts, seconds, held_out)
