"""Cards of options and rows: one whose search has ended, and a quick one, as folds and refits choose it."""

from joblib import effective_n_jobs

from rerank.errors import InputError
from rerank.errors.compiling import watch
from rerank.errors.stops import Deadline, current
from rerank.io.options import real, seed
from rerank.scorecard.card import Card
from rerank.scorecard.options import CardOptions
from rerank.scorecard.problem import Found
from rerank.scorecard.rows import Rows
from rerank.scorecard.search import ROUNDS_OF_A_FOLD, Search
from rerank.scorecard.statement import StatedCard, stated


class LateError(Exception):
    """The time was over before a card was found."""


def searched(
    options: CardOptions, rows: Rows, card: Card | None = None, best: Found | None = None, limit: float | None = None
) -> tuple[Search, StatedCard]:
    """A search that has ended, and the problem as stated; it may begin with a card, or the best of smaller ones."""
    watch()
    if limit is None and options.time_limit is not None:
        limit = real("time_limit", options.time_limit, 0.0)
    found = stated(options, rows, card)
    starts = () if card is None else found.found(card)
    asked = effective_n_jobs(options.n_jobs), bool(options.verbose), best, starts, seed(options.random_state)
    search = Search(found.problem, Deadline(), *asked)
    if search.run_within(limit) and search.best is None:
        raise KeyboardInterrupt
    return search, found


def quick_card(options: CardOptions, rows: Rows) -> Card | None:
    """A card of the rows by exchange, without a proof; by a search if that keeps no constraint. None of rows that
    cannot be asked what those of the fit can: of one class, or with one answer alone. LateError where the time of
    :func:`limited` is over: with more it may be another card.
    """
    if rows.relevant.all() or not rows.relevant.any():
        return None
    try:
        found = stated(options, rows)
    except InputError:
        return None
    search = Search(found.problem, current(), effective_n_jobs(options.n_jobs))
    search.exchange(lambda cap: ROUNDS_OF_A_FOLD)
    if search.best is None:
        search.run()
    in_time()
    if search.best is None:
        return None
    card = found.card(search.best)
    return card.with_totals(card.total(rows.X), *rows.counts)


def in_time() -> None:
    """LateError where the time of :func:`limited` is over."""
    if current().now:
        raise LateError
