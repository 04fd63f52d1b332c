"""All cards that are nearly as good as the best one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import NotSupportedError
from rerank.io.options import whole
from rerank.io.page import Cells, Part, Readable, Words
from rerank.scorecard.card import Card
from rerank.scorecard.kernels import LOGLOSS
from rerank.scorecard.problem import CardProblem, Found
from rerank.scorecard.questions import Question
from rerank.scorecard.search import Search, cards_of
from rerank.scorecard.statement import StatedCard, carded


@dataclass(frozen=True, eq=False)
class Pool(Readable):
    """Cards within ``delta`` of the best one, the best first.

    Attributes
    ----------
    found : tuple of Found
        Numbers of questions with the smallest points that give the order, the value, and how many vectors of points
        give it.
    complete : bool
        Whether there are no others; if not, ``why`` says what cut the pool.
    why : str
    delta : float
    questions : tuple of Question
        Those that the numbers mean.
    """

    found: tuple[Found, ...]
    complete: bool
    why: str
    delta: float
    questions: tuple[Question, ...]
    answers: NDArray[np.bool_]
    special: tuple[Question, ...] = ()

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, place: int) -> Card:
        return carded(self.questions, self.found[place], self.special)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of the cards."""
        return np.array([card.value for card in self.found])

    @property
    def sets(self) -> int:
        """Different sets of questions."""
        return len({card.members for card in self.found})

    @property
    def column_sets(self) -> int:
        """Different sets of columns."""
        return len({frozenset(self.questions[j].column for j in card.members) for card in self.found})

    def counts(self) -> list[tuple[Question, int, int, int]]:
        """Of each question that some card asks: in how many cards, with the least and the most points."""
        points: dict[int, list[int]] = {}
        for card in self.found:
            for j, own in zip(card.members, card.points):
                points.setdefault(j, []).append(own)
        order = sorted(points, key=lambda j: (-len(points[j]), j))
        return [(self.questions[j], len(points[j]), min(points[j]), max(points[j])) for j in order]

    def different(self, k: int) -> list[Card]:
        """The best card, and then up to ``k`` - 1 others, each the one whose totals are least like those before it.

        Likeness is the largest correlation of the totals of the rows with those of a card that was taken.
        """
        if not self.found:
            return []
        totals = np.array([np.array(card.points) @ self.answers[list(card.members)] for card in self.found], np.float64)
        totals -= totals.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(totals, axis=1, keepdims=True)
        totals /= np.where(norms > 0, norms, 1.0)
        taken = [0]
        like = totals @ totals[0]
        while len(taken) < min(whole("k", k), len(self.found)):
            like[taken] = np.inf
            taken.append(int(np.argmin(like)))
            like = np.maximum(like, totals @ totals[taken[-1]])
        return [self[place] for place in taken]

    def choose(self, rule: Callable[[Card], Any]) -> Card:
        """The card with the smallest ``rule(card)``; of equal ones the best."""
        return min((self[place] for place in range(len(self.found))), key=rule)

    def parts(self) -> list[Part]:
        """What a person reads."""
        count = f"{len(self):,} cards" if len(self) != 1 else "1 card"
        sets = "1 set" if self.sets == 1 else f"{self.sets:,} sets"
        head = f"{count} within {self.delta:g} of the best value, on {sets} of questions and {self.column_sets:,} of "
        end = "columns; these are all." if self.complete else f"columns; there may be more: {self.why}."
        lines = [("question", "cards", "points")] + [
            (str(question), f"{many:,}", f"{low:+d}" if low == high else f"{low:+d} to {high:+d}")
            for question, many, low, high in self.counts()[:20]
        ]
        return [Words(head + end, strong=True), Cells(lines, ("left", "right", "right"), named=True)]


def collected(
    problem: CardProblem, least: float, most: int, threads: int, time_limit: float | None, strict: bool = False
) -> tuple[list[Found], str]:
    """All cards of at least a value, or above it, the best first, and why there may be others; empty if these are all.
    Of the cards of one set of questions that order the rows alike it is the one with the smallest points.
    """
    known: dict[tuple[tuple[int, ...], bytes], Found] = {}
    unlisted, lock = list[Any](), Lock()

    def take(members: NDArray[Any], bound: float) -> bool:
        """Take the cards of a set; False when there are too many."""
        if not problem.listed(members):
            unlisted.append(members)
            return True
        own = cards_of(problem, members, least, strict)
        there = np.flatnonzero(problem.data.groups(members)[0].any(axis=1))
        for card in own:
            order = _order(card.points, there)
            if _is_idle(problem, card, there, order):
                continue
            with lock:
                other = known.get((card.members, order))
                both = card if other is None else min(card, other, key=lambda each: each.key)
                many = card.vectors + (0 if other is None else other.vectors)
                known[card.members, order] = replace(both, vectors=many)
        return len(known) <= most

    search = Search(problem, n_jobs=threads)
    interrupted = search.run_within(time_limit, least, take)
    why = ""
    if unlisted:
        why = "some sets have too many vectors of points to list"
    elif len(known) > most:
        why = f"it was cut at {most:,} cards"
    elif interrupted or not search.all_bounded:
        why = "the time ended before all sets of questions were searched"
    return sorted(known.values(), key=lambda card: card.key), why


def _is_idle(problem: CardProblem, card: Found, there: NDArray[np.intp], order: bytes) -> bool:
    """Whether some question can be left out, with the same points of the others, and the rows keep their order."""
    for place in range(len(card.members)):
        if len(card.members) > 1 and problem.rules.allow(card.members[:place] + card.members[place + 1 :]):
            points = tuple(0 if at == place else own for at, own in enumerate(card.points))
            if _order(points, there) == order:
                return True
    return False


def _order(points: tuple[int, ...], there: NDArray[np.intp]) -> bytes:
    """The order of the groups that have rows."""
    bits = (there[:, None] >> np.arange(len(points))) & 1
    return np.unique(bits @ np.array(points), return_inverse=True)[1].astype(np.int16).tobytes()


def pool_of(found: StatedCard, best: Found, delta: float, most: int, threads: int, time_limit: float | None) -> Pool:
    """The cards within ``delta`` of the best one of a search."""
    problem = found.problem
    if problem.worth.kind == LOGLOSS:
        raise NotSupportedError("Cards are not listed by log loss; fit with stat='auc' or another rank statistic.")
    least = best.value - delta - problem.slack
    cards, why = collected(problem, least, whole("most", most), threads, time_limit)
    if cards and cards[0].value > best.value + problem.slack:
        why = "the fit was not proved, and a better card was found"
    return Pool(tuple(cards[:most]), not why, why, delta, tuple(found.questions), found.answers, found.special)
