"""A card in use: what it is worth, what the best card of its size is worth, and how sure that is."""

import math
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs

from rerank.errors.stops import limited
from rerank.io.options import whole
from rerank.io.page import Part, Readable, Words
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.scorecard.card import Card, Z
from rerank.scorecard.choose import LateError, quick_card, searched
from rerank.scorecard.held_out import folds_of
from rerank.scorecard.kernels import LOGLOSS
from rerank.scorecard.options import CardOptions
from rerank.scorecard.points import MOST_QUESTIONS
from rerank.scorecard.pool import collected
from rerank.scorecard.result import exact, four, later, rounded_up
from rerank.scorecard.rows import Rows
from rerank.scorecard.statement import measure
from rerank.statistics import RankStatistic


@dataclass(frozen=True)
class Regret(Readable):
    """A card beside the best of its size on the same rows.

    Attributes
    ----------
    value : float
        Of the card.
    best : Card
    best_value : float
    bound : float
        No card of this size has a larger value; infinite where no bound is known.
    proved : bool
        Whether the bound is the value of ``best``.
    better : int
        Cards that are better: so many, or at least so many if not ``counted``.
    counted : bool
    lead, error : float or None
        On rows held out, the best card of the others less the given one: mean over folds, and its standard error.
    late : bool
        Whether there is no lead for lack of time.
    """

    card: Card
    value: float
    best: Card
    best_value: float
    bound: float
    proved: bool
    better: int
    counted: bool
    lead: float | None
    error: float | None
    late: bool = False

    @property
    def regret(self) -> float:
        """Bound less value: the card lacks no more than this; exactly this if ``proved``."""
        return max(0.0, self.bound - self.value)

    def parts(self) -> list[Part]:
        """What a person reads."""
        many = f"{self.better:,}" if self.counted else f"At least {self.better:,}"
        if self.proved and self.better == 0:
            first = f"The card is at {four(self.value)}; no allowed card of its size has more on this table: proved."
        elif self.proved:
            first = (
                f"The card is at {four(self.value)}; the best allowed card of its size on this table has "
                f"{four(self.best_value)}: proved. {many} {'card is' if self.better == 1 else 'cards are'} better."
            )
        else:
            known = f"none has more than {rounded_up(self.bound)}" if math.isfinite(self.bound) else "no bound is known"
            first = (
                f"The card is at {four(self.value)}; the best allowed card of its size found on this table has "
                f"{four(self.best_value)}, and {known}. {many} better "
                f"{'card is' if self.better == 1 else 'cards are'} known."
            )
        found: list[Part] = [Words(first, strong=True)]
        if self.late:
            found.append(Words("No lead on rows held out: there was no time for all folds; raise time_limit."))
        if self.lead is not None:
            error = self.error if self.error is not None and math.isfinite(self.error) else None
            ends = "" if error is None else f" (95 %: {self.lead - Z * error:+.4g} to {self.lead + Z * error:+.4g})"
            found.append(Words(f"On rows held out, a card found on the other rows leads by {self.lead:+.4g}{ends}."))
            if self.lead < 0:
                found.append(Words("A card in use that was fitted on these rows has seen those held out as well."))
        if self.better:
            found += [Words("The best card:"), *self.best.parts()]
        return found


def regret_of(options: CardOptions, card: Card, rows: Rows, most: int) -> Regret:
    """The regret of a card on rows that came in."""
    divisor = math.gcd(*card.points)
    used = [(question, own // divisor) for question, own in zip(card.questions, card.points) if own]
    plain = Card.of(used) if used else card
    size = whole("The number of questions of the card", max(1, len(used)), 1, MOST_QUESTIONS)
    search, found = searched(replace(options, n_questions=size), rows, plain)
    totals = card.total(rows.X)
    value = float(exact(options.stat, rows, totals))
    best, best_value = card, value
    if search.best is not None:
        other = found.card(search.best)
        other_value = float(exact(options.stat, rows, other.total(rows.X)))
        if other_value > value + found.problem.slack:
            best, best_value = other, other_value
    proved = search.complete
    bound = best_value if proved else max(search.bound, best_value)
    better, counted, late = 0, True, False
    if best is not card and found.problem.worth.kind == LOGLOSS:
        better, counted = 1, False
    elif best is not card:
        least, ends = value + found.problem.slack, (effective_n_jobs(options.n_jobs), options.time_limit)
        cards, why = collected(found.problem, least, whole("most", most), *ends, strict=True)
        better, counted = max(1, min(len(cards), most)), not why
    best = best.with_totals(best.total(rows.X), *rows.counts)
    try:
        with limited(options.time_limit):
            leads = _held_out(options, card, rows)
    except LateError:
        leads, late = (None, None), True
    return Regret(card, value, best, best_value, bound, proved, better, counted, *leads, late)


def _held_out(options: CardOptions, card: Card, rows: Rows) -> tuple[float | None, float | None]:
    """Lead of the card found without a fold on its rows, the mean over folds, with its standard error."""
    how = options.validation if isinstance(options.validation, int) else 5
    statistic, rate = measure(options.stat)
    leads, errors = [], []
    for train, test in folds_of(rows, how, 0):
        part, own = rows.some(train), rows.some(test)
        other = quick_card(options, part)
        if other is None or own.relevant.all() or not own.relevant.any():
            continue
        used = card.with_totals(card.total(part.X), *part.counts)
        leads.append(later(options.stat, other, own) - later(options.stat, used, own))
        if rate is None and isinstance(statistic, RankStatistic):
            totals = other.total(own.X), card.total(own.X)
            lists = split(own.relevant.astype(np.float64), own.lists, gain="binary")
            errors.append(Evaluator(statistic, lists).lead(totals[0], totals[1], "average")[1])
    if not leads:
        return None, None
    if len(errors) == len(leads) and all(math.isfinite(error) for error in errors):
        return float(np.mean(leads)), math.sqrt(sum(error**2 for error in errors)) / len(errors)
    many = len(leads)
    return float(np.mean(leads)), float(np.std(leads, ddof=1) / math.sqrt(many)) if many > 1 else math.nan
