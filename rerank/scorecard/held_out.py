"""The corrected value of a card: questions and card chosen anew without some rows, or on rows drawn again."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from rerank.errors import InputError
from rerank.errors.stops import limited
from rerank.io.options import spelled, whole
from rerank.scorecard.card import Card, Z
from rerank.scorecard.choose import LateError, in_time, quick_card
from rerank.scorecard.options import CardOptions
from rerank.scorecard.result import HeldOut, exact, later
from rerank.scorecard.rows import Rows
from rerank.scorecard.statement import measure

REFITS = 40  # of the bootstrap
FOLDS, REFITTED = "folds, each with its own card", "refits on rows drawn again"
LATE = "there was no time for all of its refits; raise time_limit"
STOPPED = "the fit was stopped by Ctrl-C"
NO_CARD = "fewer rows, as refits have them, leave no allowed card or one class alone; ask fewer columns or constraints"
NO_FOLDS = "the rows are too few for folds with both classes"


def folds_of(rows: Rows, many: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows of each fold and the others: whole lists, or both classes in their shares."""
    if not rows.by_list:
        fewest = int(min(rows.relevant.sum(), (~rows.relevant).sum()))
        if fewest < 2:
            return []
        split = StratifiedKFold(min(many, fewest), shuffle=True, random_state=seed)
        return [(train, test) for train, test in split.split(np.zeros(rows.n), rows.relevant)]
    lists = rows.list_weight.size
    place = np.random.default_rng(seed).permutation(lists) % min(many, lists)
    parts = [place[rows.lists] == fold for fold in range(min(many, lists))]
    return [(np.flatnonzero(~part), np.flatnonzero(part)) for part in parts if not part.all()]


def corrected(
    options: CardOptions, card: Card, rows: Rows, how: int | str, seed: int, seconds: float | None = None
) -> HeldOut:
    """The corrected value of a card, for which so many seconds are left, or why there is none. For areas, and where
    there are several lists, it is the mean over the folds; for the first places of one list, whose number is for all
    rows, it is the value of all rows ranked by the risk that the card of the other folds gives them.
    """
    if isinstance(how, str) and how != "bootstrap":
        raise InputError(f"validation is {spelled(how)}; it must be a number of folds, 'bootstrap' or None.")
    with limited(seconds):
        try:
            return _bootstrap(options, card, rows, seed) if how == "bootstrap" else _by_folds(options, rows, how, seed)
        except LateError:
            return HeldOut(None, 0, REFITTED if how == "bootstrap" else FOLDS, why=LATE)


def _by_folds(options: CardOptions, rows: Rows, how: int | str, seed: int) -> HeldOut:
    folds = folds_of(rows, whole("validation", how, 2, 1000), seed)
    statistic, rate = measure(options.stat)
    whole_lists = rate is not None or statistic.counts_pairs or rows.by_list
    values, pooled = [], np.full(rows.n, -1.0)
    for train, test in folds:
        in_time()
        part = rows.some(train)
        if (card := quick_card(options, part)) is None:
            return HeldOut(None, 0, FOLDS, why=NO_CARD)
        if whole_lists:
            own = rows.some(test)
            try:
                values.append(later(options.stat, card, own))
            except InputError:  # no list of the fold has anything to order
                continue
        else:
            pooled[test] = card.risk(card.total(rows.some(test).X))
    if not folds or (whole_lists and not values):
        return HeldOut(None, 0, FOLDS, why=NO_FOLDS)
    ranks = np.unique(pooled, return_inverse=True)[1]
    value = float(np.mean(values)) if whole_lists else float(exact(options.stat, rows, ranks))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return HeldOut(value, len(folds), FOLDS, error=error)


def _bootstrap(options: CardOptions, card: Card, rows: Rows, seed: int) -> HeldOut:
    """The value less its mean optimism on rows drawn again [Harrell1996, p. 372]; lists are drawn as a whole."""
    draw = np.random.default_rng(seed)
    leads, errors = [], list[float]()
    for _ in range(REFITS):
        in_time()
        if not rows.by_list:
            part = rows.some(draw.integers(rows.n, size=rows.n))
        else:
            chosen = draw.integers(rows.list_weight.size, size=rows.list_weight.size)
            each = [np.flatnonzero(rows.lists == number) for number in chosen]
            number = np.repeat(np.arange(len(each)), [group.size for group in each])
            part = replace(rows.some(np.concatenate(each)), lists=number, list_weight=rows.list_weight[chosen])
        if (other := quick_card(options, part)) is not None:
            leads.append(later(options.stat, other, part) - later(options.stat, other, rows))
            errors += _errors(other, rows)
    if not leads:
        return HeldOut(None, 0, REFITTED, why=NO_CARD)
    own = float(exact(options.stat, rows, card.total(rows.X)))
    low, high = np.quantile(errors, (0.025, 0.975)).tolist()
    return HeldOut(own - float(np.mean(leads)), len(leads), REFITTED, (min(low, -Z), max(high, Z)))


def _errors(card: Card, every: Rows) -> list[float]:
    """By how many standard errors the risks that a card has from rows drawn again are farther from the overall share
    than the shares of all rows are (bootstrap-t [Efron1981]); of each risk once.
    """
    risk = card.risk(card.total(every.X))
    relevant, other = every.counts
    base, found = relevant.sum() / (relevant.sum() + other.sum()), []
    for own in {total.risk for total in card.totals}:
        rows = sum(total.relevant + total.other for total in card.totals if total.risk == own)
        there = risk == own
        share = (relevant[there].sum() + base) / (relevant[there].sum() + other[there].sum() + 1)
        error = (own - share) * math.sqrt((rows + 1) / (share * (1 - share)))
        found.append(float(error if own >= base else -error))
    return found
