"""Good cards of any size soon, without a proof: questions are exchanged, one at a time, until nothing helps.

Totals are whole numbers, so one pass over the rows counts those of each class by total and by their answer to a
question; the value with this question follows for each number of points.  So a question and its points are replaced by
the best question and points that there are, until no place of the card can be mended.  Then some questions are left
out, one comes in by chance, with what the rules ask for beside it, and the exchange begins again (iterated local search
[LourencoMartinStutzle2003]); the one by chance stays until the others are mended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import Deadline
from rerank.scorecard import kernels
from rerank.scorecard.problem import CardProblem, Found

RANGES = (5, 20, 100, 1000)  # largest points of a question that are tried first
NONE = -1  # no question
WORSE = 1e-3  # share of the value by which the next card may be worse than the one before it


@dataclass(frozen=True)
class Draft:
    """Questions with points, how many rules and limits they break, and their value."""

    members: tuple[int, ...]
    points: tuple[int, ...]
    broken: int
    value: float

    @property
    def rank(self) -> tuple[int, float]:
        """The larger the better."""
        return -self.broken, self.value


@dataclass(frozen=True, eq=False)
class Exchange:
    """The exchange of questions of a problem, with numbers by chance from a seed."""

    problem: CardProblem
    stop: Deadline
    seed: int = 0

    @cached_property
    def _rows(self) -> kernels.QuestionTable:
        """Rows and questions, without points."""
        data = self.problem.data
        yes = 2 * data.answers.sum(axis=1, dtype=np.int64) <= data.answers.shape[1]
        rare = [np.flatnonzero(own == which).astype(np.int32) for own, which in zip(data.answers, yes)]
        start = np.concatenate([[0], np.cumsum([own.size for own in rare])]).astype(np.int64)
        counts = np.stack([data.relevant, data.other], axis=1).astype(np.float64)
        kinds, none = int(data.people.max()) + 1, np.zeros(0, np.int64)
        return kernels.QuestionTable(
            start, np.concatenate(rare), yes, counts, data.lists, data.people, kinds, none, none
        )

    def table(self, domains: Sequence[Sequence[int]]) -> kernels.QuestionTable:
        """The rows with the points that questions may have, the smallest ones first."""
        first = np.concatenate([[0], np.cumsum(list(map(len, domains)))]).astype(np.int64)
        points = [point for own in domains for point in sorted(own, key=lambda point: (abs(point), -point))]
        return self._rows._replace(first=first, points=np.array(points, np.int64))

    def _levels(self, members: Sequence[int], points: Sequence[int]) -> Any:
        """The level of each row by its total, and the total of each level."""
        return kernels.levels_of(self.problem.data.answers, np.array(members, np.int64), np.array(points, np.int64))

    def broken(self, members: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
        """How many rules some questions break, and how many they do with each other one; -1 where none may join."""
        rules, own = self.problem.rules, list(members)
        asked, met = (np.atleast_1d(side[:, own].any(axis=1)) for side in (rules.asked, rules.needed))
        found = ((asked[:, None] | rules.asked) & ~(met[:, None] | rules.needed)).sum(axis=0)
        columns = np.unique(rules.places[own])
        here = np.isin(rules.places[:-1], columns)
        found[rules.clash[own].any(axis=0) | (~here & (columns.size >= rules.places[-1]))] = -1
        found[own] = -1
        return int((asked & ~met).sum()), found

    def sign(self, members: Sequence[int], points: Sequence[int]) -> NDArray[np.int64]:
        """The sign that the points of each question must have beside these, or 0."""
        found = np.zeros(len(self.problem.domains), np.int64)
        if self.problem.limits.one_sign:
            for j, own in zip(members, points):
                found[self.problem.rules.places[:-1] == self.problem.rules.places[j]] = np.sign(own)
        return found

    def room(self, points: Sequence[int]) -> int:
        """How many points above 0 may be added."""
        return self.problem.limits.total - sum(max(0, own) for own in points)

    def draft(self, members: Sequence[int], points: Sequence[int]) -> Draft:
        """Questions with points, valued."""
        problem, data = self.problem, self.problem.data
        level, totals = self._levels(members, points)
        by_list, by_kind = np.zeros((totals.size, data.cells)), np.zeros((totals.size, 2 * self._rows.kinds))
        for out, own in ((by_list, data.lists), (by_kind, data.people)):
            kernels.by_level(level, own, self._rows.counts, np.arange(level.size), out)
        value = kernels.worth_of_blocks(by_list, totals, totals.size, problem.worth)
        unkept = not kernels.blocks_keep(by_kind, totals.size, problem.limits) or self.room(points) < 0
        return Draft(tuple(members), tuple(points), self.broken(members)[0] + unkept, float(value))

    def descend(
        self,
        draft: Draft,
        size: int,
        table: kernels.QuestionTable,
        draw: np.random.Generator,
        stays: int = NONE,
        mended: Iterable[int] = (),
    ) -> Draft:
        """Replace one question and its points by the best there are, or add one, in an order by chance, until that
        helps nowhere. The question that ``stays`` gets other points at most; none is better in place of those that are
        ``mended``.
        """
        known = set(mended)
        while True:
            places = [*draft.members, *([NONE] if len(draft.members) < size else [])]
            left = [j for j in places if j not in known]
            if not left or (self.stop.now and draft.members and not draft.broken):
                return draft
            added = left[draw.integers(len(left))]
            better = self._replaced(draft, added, table, stays)
            if better is draft:
                known.add(added)
            else:  # what has just come is the best in its place
                known = set(better.members[-1:]) if len(better.members) >= len(draft.members) else set()
                draft = better

    def _replaced(self, draft: Draft, added: int, table: kernels.QuestionTable, stays: int) -> Draft:
        """The draft with another question or other points in place of one, or without it, if that is better."""
        problem = self.problem
        rest = tuple(j for j in draft.members if j != added)
        points = tuple(own for j, own in zip(draft.members, draft.points) if j != added)
        own, broken = self.broken(rest)
        own += self.room(points) < 0
        if added == stays != NONE:
            broken[np.arange(broken.size) != stays] = -1
        by_loss = problem.worth.kind == kernels.LOGLOSS
        q, v, breaks, value = (kernels.best_more_by_loss if by_loss else kernels.best_more)(
            *self._levels(rest, points),
            table,
            problem.worth,
            problem.limits._replace(total=self.room(points)),
            broken,
            self.sign(rest, points),
            own if rest and added not in (stays, NONE) else -1,
            (draft.broken, draft.value, problem.slack),
        )
        if q == -2:
            return Draft(rest, points, int(breaks), float(value))
        return draft if q < 0 else Draft((*rest, int(q)), (*points, int(v)), int(breaks), float(value))

    def cards(self, size: int, rounds: Callable[[int], int], starts: Sequence[Draft] = ()) -> Iterator[Draft]:
        """Drafts, each the result of one descent: a growing card of small points; then for each of some ranges of
        points, the small ones first, cards of 1, 2, ... ``size`` questions, each from the best with a question less
        and the best with smaller points, with changes by chance until ``rounds`` of them in a row found nothing better.

        What is tried for some size and range is tried for all that are larger, with the same numbers by chance: more
        questions or points give no worse card.
        """
        *smaller, every = map(self.table, self._ranges())
        best = Draft((), (), 10**9, -np.inf)
        draw = np.random.default_rng(self.seed)
        for cap in range(1, size + 1):
            if not self.stop.now or best.broken:  # there is a card even without time
                best = self.descend(best, cap, smaller[0] if smaller else every, draw)
                yield best
        row = [Draft((), (), 10**9, -np.inf)] * (size + 1)
        for table in (*smaller, every):
            for cap in range(1, size + 1):
                draw = np.random.default_rng([self.seed, cap])
                for found in self._improved([row[cap - 1], row[cap]], cap, rounds(cap), table, draw):
                    row[cap] = max(row[cap], found, key=lambda draft: draft.rank)
                    yield found
        if starts:
            yield from self._improved([row[size], *starts], size, rounds(size), every, draw)

    def _ranges(self) -> Iterator[list[list[int]]]:
        """Points that questions may have: those up to each of :data:`RANGES`, and all."""
        domains = self.problem.domains
        for most in RANGES:
            own = [[point for point in each if abs(point) <= max(most, min(map(abs, each)))] for each in domains]
            if any(len(some) < len(each) for some, each in zip(own, domains)):
                yield own
        yield [list(each) for each in domains]

    def _improved(
        self, starts: Sequence[Draft], size: int, rounds: int, table: kernels.QuestionTable, draw: np.random.Generator
    ) -> Iterator[Draft]:
        """Drafts from each of the starts, then from changes of the best of them."""
        best, idle, deck = starts[0], 0, list[int]()
        for start in starts:
            if self.stop.now:
                return
            found = self.descend(start, size, table, draw)
            yield found
            best = max(best, found, key=lambda draft: draft.rank)
        now = best
        while idle < rounds and not self.stop.now and best.members:
            deck = deck or draw.permutation(len(self.problem.domains)).tolist()
            added = deck.pop()
            # The others are mended before the one by chance may leave again.
            found = self.descend(self._changed(now, added, size, table, draw), size, table, draw, added)
            found = self.descend(found, size, table, draw, mended={*found.members, NONE} - {added})
            yield found
            idle = 0 if found.rank > best.rank else idle + 1
            best = max(best, found, key=lambda draft: draft.rank)
            margin = WORSE * draw.random() * abs(best.value)
            if (-found.broken, found.value + margin) >= now.rank:
                now = found

    def _changed(
        self, draft: Draft, added: int, size: int, table: kernels.QuestionTable, draw: np.random.Generator
    ) -> Draft:
        """A draft with the question ``added`` and without some of the others.

        What the rules ask for beside a question enters with it, and those of the others that do not fit leave: so steps
        lead from any set of questions that the rules allow to any other one.
        """
        n = len(draft.members)
        kept = draw.permutation(n)[int(draw.integers(1, max(2, n // 2) + 1)) :]
        known = {draft.members[i]: draft.points[i] for i in kept}
        found: dict[int, int] = {}
        for j in [added, *known]:
            if j not in found:
                found = self._joined(found, j, known, size, table, draw) or found
        return self.draft(tuple(found), tuple(found.values())) if found else draft

    def _joined(
        self,
        found: dict[int, int],
        j: int,
        known: dict[int, int],
        size: int,
        table: kernels.QuestionTable,
        draw: np.random.Generator,
    ) -> dict[int, int] | None:
        """Questions and their points with one more and what the rules then ask for, of those ``known`` first; None if
        they do not fit.
        """
        rules, found = self.problem.rules, dict(found)
        while len(found) < size:
            sign = int(self.sign(list(found), list(found.values()))[j])
            points = table.points[table.first[j] : table.first[j + 1]].tolist()
            allowed = [point for point in points if point * sign >= 0]
            if self.broken(list(found))[1][j] < 0 or not allowed:
                return None
            found[j] = known[j] if known.get(j) in allowed else int(draw.choice(allowed))
            own = list(found)
            unmet = np.flatnonzero(rules.asked[:, own].any(axis=1) & ~rules.needed[:, own].any(axis=1))
            if not unmet.size:
                return found
            wanted = np.flatnonzero(rules.needed[unmet[0]] & (self.broken(own)[1] >= 0)).tolist()
            if not wanted:
                return None
            j = int(draw.choice([i for i in wanted if i in known] or wanted))
        return None


def found_of(draft: Draft) -> Found | None:
    """The card of a draft that breaks nothing; questions in their order."""
    if draft.broken or not draft.members:
        return None
    order = np.argsort(draft.members)
    members, points = (tuple(own[i] for i in order) for own in (draft.members, draft.points))
    return Found(members, points, draft.value)
