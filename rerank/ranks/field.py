r"""Measures of a run as the field has them: their names, and the value of every judged query.

Every rank statistic is one, by :func:`rerank.statistics.parse`. Three more are no rank statistics:

``rprec``
    Share of the R relevant documents of a query that stand in the first R places.
``bpref``
    Mean over the relevant documents of :math:`1 - \min(n, R) / \min(N, R)`, with n judged irrelevant ones above of N
    [BuckleyVoorhees2004]; grades below 0 count as not judged.
``judged@k``
    Share of the first k documents, or of all that there are, that were judged.

Names of trec_eval (``ndcg_cut_10``, ``P_10``, ``map``, ``recip_rank``), ranx (``mrr@10``, ``hit_rate@10``) and
ir_measures (``nDCG@10``, ``AP(rel=2)@100``) are read, too. ``mrr`` is ``rr`` here: 1/place of the first relevant
document.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rerank.errors import InputError
from rerank.io.options import whole
from rerank.io.texts import Indices, Keys, Texts
from rerank.io.trec import RunRows
from rerank.ranks.evaluator import Evaluator, scale_of
from rerank.ranks.lists import OneList
from rerank.ranks.row_gains import Floats, Gain, asks_relevance, gain_of, weighted_gains
from rerank.statistics import DCG, Precision, RankStatistic, parse

RunTies = Literal["trec", "pessimistic", "optimistic", "average"]

_CUT = re.compile(r"(ndcg_cut|map_cut|p|recall|success|hit_rate|judged)[_.](\d+)")
_WITH = re.compile(r"([\w-]+)\(([^()]*)\)(@\d+)?")
_OWN = {"rprec": "rprec", "rprecision": "rprec", "bpref": "bpref", "judged": "judged"}
_DCG = {"log2": "linear", "exp-log2": "exponential"}
MEANT = (
    "mrr is rr here, the mean of 1/place of the first relevant document, as the field has it; the statistic mrr of a "
    "fit is the sum over all relevant documents."
)


@dataclass(frozen=True)
class Measure:
    """A measure by its name, as it was given; ``level`` and ``gain`` where the name says them."""

    name: str
    kind: RankStatistic | str  # "rprec", "bpref" or "judged" where it is no statistic
    at: int | None = None  # places of "judged"
    level: int | None = None
    gain: Any = None
    remark: str = ""  # what to say to those who may take it for another


def measure_of(given: object) -> Measure:
    """The measure that is meant by a name, a measure of ir_measures, or whatever makes a rank statistic."""
    if type(given).__module__.partition(".")[0] == "ir_measures":
        given = str(given)
    if not isinstance(given, str):
        statistic = parse(given)
        return Measure(statistic.name, statistic, remark=statistic.remark)
    name = given.strip()
    word, level, gain = _without_options(name)
    if (cut := _CUT.fullmatch(word)) is not None:
        word = f"{cut[1].removesuffix('_cut')}@{cut[2]}"
    stem, sign, number = word.partition("@")
    stem = re.sub(r"[\s_-]", "", stem)
    if stem in _OWN:
        if sign and (stem != "judged" or not number.isdigit()):
            raise InputError(f"{name!r}: {_OWN[stem]} takes no such number; write 'rprec', 'bpref' or 'judged@10'.")
        at = whole("The number of places of judged", int(number)) if sign else None
        return Measure(name, _OWN[stem], at, level)
    meant = stem in ("mrr", "meanreciprocalrank")
    statistic = parse(f"rr{sign}{number}" if meant else word)
    return Measure(name, statistic, None, level, gain, MEANT if meant and not sign else statistic.remark)


def _without_options(name: str) -> tuple[str, int | None, str | None]:
    """A name in lower case, and what ``(rel=2)`` or ``(dcg='exp-log2')`` of ir_measures says."""
    found = _WITH.fullmatch(name)
    if found is None:
        return name.lower(), None, None
    level, gain = None, None
    for part in found[2].split(","):
        option, _, value = (text.strip(" '\"") for text in part.partition("="))
        if option == "rel" and value.isdigit():
            level = whole("rel", int(value))
        elif option == "dcg" and value in _DCG:
            gain = _DCG[value]
        else:
            raise InputError(f"{name!r}: {part.strip()!r} is not read; write rel=2 or dcg='exp-log2', or leave it out.")
    return (found[1] + (found[3] or "")).lower(), level, gain


class JudgedPool:
    """Judged documents, prepared once for all runs."""

    def __init__(self, rows: RunRows) -> None:
        self.queries, self.query, self.grade, self.documents = rows.queries, rows.query, rows.values, rows.documents
        self.numbers = dict(zip(self.queries, range(len(self.queries))))
        self.salt, self.keys = 0, self.documents.keys(self.query)
        while np.unique(self.keys).size < self.keys.size:  # no two documents of a query share a key
            self.salt += 1
            self.keys = self.documents.keys(self.query + self.salt * len(self.queries))
        self.order = np.argsort(self.keys)
        bits = max(16, self.keys.size.bit_length() + 5)
        self._low = np.uint64(2**bits - 1)
        self._there = np.zeros(2**bits, dtype=bool)
        self._there[(self.keys & self._low).astype(np.intp)] = True

    def find(self, query: Indices, documents: Texts) -> tuple[Indices, Indices]:
        """Which of the documents were judged, and their numbers in the pool."""
        keys: Keys = documents.keys(query + self.salt * len(self.queries))
        rows = np.flatnonzero(self._there[(keys & self._low).astype(np.intp)])
        ordered = self.keys[self.order]
        place = np.minimum(np.searchsorted(ordered, keys[rows]), ordered.size - 1)
        alike = ordered[place] == keys[rows]
        rows, judged = rows[alike], self.order[place[alike]]
        same = documents.some(rows).equal(self.documents.some(judged)) & (self.query[judged] == query[rows])
        return rows[same], judged[same]


class Placed:
    """Where the judged documents stand in a run; ``query`` (n,) is that of each of its documents, as the pool counts.

    ``lengths`` (queries,) says how many documents each query has, ``judged`` (m,) which of the pool the run has.
    """

    def __init__(self, pool: JudgedPool, query: Indices, documents: Texts, scores: Any) -> None:
        self.pool = pool
        self.lengths = np.bincount(query, minlength=len(pool.queries))
        self.found, self.judged = pool.find(query, documents)
        self.query, self.grade = pool.query[self.judged], pool.grade[self.judged]
        new = query[1:] != query[:-1]
        tidy = np.count_nonzero(new) + 1 == np.count_nonzero(self.lengths)
        if tidy and ((scores[1:] <= scores[:-1]) | new).all():
            order, at = np.arange(query.size), self.found
        else:
            order = np.lexsort((-scores, query))
            at = np.empty(query.size, dtype=np.intp)
            at[order] = np.arange(query.size)
            query, scores, at = query[order], scores[order], at[self.found]
        self._scores, self._documents, self._order, self._at = scores, documents, order, at
        begins = np.ones(query.size, dtype=bool)
        begins[1:] = query[1:] != query[:-1]
        first = np.flatnonzero(begins)
        self._start = np.zeros(len(pool.queries), dtype=np.intp)
        self._start[query[first]] = first
        begins[1:] |= scores[1:] != scores[:-1]
        first = np.flatnonzero(begins)
        block = np.searchsorted(first, at, side="right") - 1
        # The first and the last row of equal scores.
        self._first, self._last = first[block], np.append(first[1:], query.size)[block] - 1

    @cached_property
    def by_id(self) -> Indices:
        """Place of each judged document from 1, equal scores by document id, descending, as trec_eval has them."""
        at, tied = self._at.copy(), np.flatnonzero(self._last > self._first)
        blocks = np.unique(self._first[tied], return_index=True)
        ends = dict(zip(blocks[0].tolist(), (self._last[tied][blocks[1]] + 1).tolist()))
        rows = np.concatenate([np.empty(0, dtype=np.intp), *(np.arange(*block) for block in ends.items())])
        better = np.empty_like(rows)
        ids = self._documents.some(self._order[rows]).tolist()
        begin = 0
        for first, end in ends.items():
            own = sorted(range(begin, begin + end - first), key=ids.__getitem__, reverse=True)
            better[own] = np.arange(first, end)
            begin += end - first
        at[tied] = better[np.searchsorted(rows, at[tied])]
        return np.asarray(at - self._start[self.query] + 1)

    def places(self, gains: Floats, ties: RunTies) -> Indices:
        """Place of each judged document from 1; of equal scores the larger gain is last (pessimistic), or first."""
        if ties == "trec":
            return self.by_id
        order = np.lexsort((-gains, self._first))
        before = np.empty(gains.size, dtype=np.intp)
        firsts = self._first[order]
        before[order] = np.arange(gains.size) - np.searchsorted(firsts, firsts)
        at = self._last - before if ties == "pessimistic" else self._first + before
        return np.asarray(at - self._start[self.query] + 1)

    def lists(self, gains: Floats, pool: Floats) -> list[OneList]:
        """The lists of the run with the gains of all judged documents, those that were missed by themselves."""
        missed = np.ones(pool.size, dtype=bool)
        missed[self.judged] = False
        every = np.zeros(self._scores.size)
        every[self._at] = gains
        by_query = [np.empty(0)] * len(self.lengths)
        order = np.flatnonzero(missed)[np.argsort(self.pool.query[missed], kind="stable")]
        for rows in np.split(order, np.flatnonzero(np.diff(self.pool.query[order])) + 1):
            if rows.size:
                by_query[self.pool.query[rows[0]]] = pool[rows]
        return [
            OneList(number, np.arange(start, start + size), every[start : start + size], 1.0, by_query[number])
            for number, (start, size) in enumerate(zip(self._start.tolist(), self.lengths.tolist()))
            if size
        ]

    def by_evaluator(self, statistic: RankStatistic, gains: Floats, pool: Floats, equal: bool = False) -> Floats:
        """Means over all orders of equal scores; of all documents with ``equal``."""
        lists = self.lists(gains, pool)
        values = np.zeros(len(self.lengths))
        found = Evaluator(statistic, lists).values(np.zeros(self._scores.size) if equal else self._scores, "average")
        values[[ranked.name for ranked in lists]] = [value or 0.0 for value in found]
        return values


def values_of(measure: Measure, placed: Placed, gain: Gain, level: int, ties: RunTies) -> Floats:
    """Value of every judged query, float64 (queries,); 0 where the run has nothing, or nothing is relevant."""
    level = measure.level or level
    if isinstance(measure.kind, RankStatistic):
        statistic = measure.kind
        pool = gains_of(placed.pool.grade, statistic, measure.gain or gain, level)
        gains = pool[placed.judged]
        if ties == "average":
            return placed.by_evaluator(statistic, gains, pool) / _places(statistic)
        return _by_place(statistic, placed, gains, pool, ties) / _places(statistic)
    if ties == "average":
        raise InputError(
            f"ties is 'average', and {measure.name} has no mean over orders of equal scores; leave it out, or give "
            "another ties."
        )
    if measure.kind == "judged":
        place = placed.places(np.ones(placed.judged.size), ties)
        most = placed.lengths if measure.at is None else np.minimum(placed.lengths, measure.at)
        return _share(_count(placed, place <= most[placed.query]), most)
    relevant = placed.grade >= level
    place = placed.places(relevant.astype(np.float64), ties)
    R = _in_pool(placed.pool, placed.pool.grade >= level)
    if measure.kind == "rprec":
        return _share(_count(placed, relevant & (place <= R[placed.query])), R)
    return _bpref(placed, relevant, place, R, level)


def chance_of(measure: Measure, placed: Placed, gain: Gain, level: int) -> Floats | None:
    """Mean over all orders of a run's documents for every judged query; None for what is no rank statistic."""
    statistic = measure.kind
    if not isinstance(statistic, RankStatistic):
        return None
    pool = gains_of(placed.pool.grade, statistic, measure.gain or gain, measure.level or level)
    gains = pool[placed.judged]
    if statistic.weighs_hits:
        return placed.by_evaluator(statistic, gains, pool, equal=True) / _places(statistic)
    rows = np.flatnonzero(gains > 0)
    query, gains = placed.query[rows], gains[rows]
    size = placed.lengths[query]
    mean = {int(n): float(statistic.coefficients(int(n)).mean()) for n in np.unique(size)}
    raw = _sum(placed, query, gains * np.array([mean[n] for n in size.tolist()]))
    return _as_quoted(statistic, placed, raw, pool) / _places(statistic)


def gains_of(grades: Floats, statistic: RankStatistic, gain: Gain, level: int) -> Floats:
    """Gain of each judged document; grades below 0 count as 0."""
    if asks_relevance(statistic):
        return (grades >= level).astype(np.float64)
    return weighted_gains(np.maximum(grades, 0), gain_of(statistic, gain, None), None)


def _places(statistic: RankStatistic) -> float:
    """Precision is a share of its places here, and a count as a statistic of a fit."""
    return float(statistic.at) if type(statistic) is Precision else 1.0


def _by_place(statistic: RankStatistic, placed: Placed, gains: Floats, pool: Floats, ties: RunTies) -> Floats:
    """What relevant documents earn at their places, as a share of what all could."""
    rows = np.flatnonzero(gains > 0)
    place, query = placed.places(gains, ties)[rows], placed.query[rows]
    order = np.lexsort((place, query))
    place, query, gains = place[order], query[order], gains[rows][order]
    size = placed.lengths[query]
    earned = np.empty(rows.size)
    by_size = np.argsort(size, kind="stable")
    for own in np.split(by_size, np.flatnonzero(np.diff(size[by_size])) + 1):
        if own.size:
            n = int(size[own[0]])
            earned[own] = statistic.coefficients(n)[n - place[own]]
    if statistic.weighs_hits and rows.size:
        above = np.arange(rows.size) - np.searchsorted(query, query)
        hits = statistic.hit_weights(int(above.max()) + 1)
        assert hits is not None
        earned = earned * hits[above]
    return _as_quoted(statistic, placed, _sum(placed, query, earned * gains), pool)


def _as_quoted(statistic: RankStatistic, placed: Placed, raw: Floats, pool: Floats) -> Floats:
    """Raw sums as people quote them; see :func:`rerank.statistics.presentation`."""
    there = placed.lengths > 0
    if statistic.per_relevant:
        return _share(raw, _in_pool(placed.pool, pool)) * there
    if isinstance(statistic, DCG):
        return _share(raw, _ideal(statistic, placed.pool, pool) if statistic.normalised else there * 1.0) * there
    found = np.zeros(raw.size)
    for ranked in placed.lists(pool[placed.judged], pool):
        offset, scale = scale_of(statistic, ranked.gains, ranked.missed)
        found[ranked.name] = (raw[ranked.name] - offset) / scale if scale > 0 else 0.0
    return found


def _ideal(statistic: DCG, pool: JudgedPool, gains: Floats) -> Floats:
    """DCG of the judged documents in their best order."""
    order = np.lexsort((-gains, pool.query))
    query = pool.query[order]
    above = np.arange(query.size) - np.searchsorted(query, query)
    earned = statistic.coefficients(int(above.max()) + 1)[::-1][above]
    return np.asarray(np.bincount(query, earned * gains[order], len(pool.queries)), dtype=np.float64)


def _bpref(placed: Placed, relevant: Any, place: Indices, R: Floats, level: int) -> Floats:
    other = (placed.grade >= 0) & ~relevant
    N = _in_pool(placed.pool, (placed.pool.grade >= 0) & (placed.pool.grade < level))
    order = np.lexsort((place, placed.query))
    query, relevant, other = placed.query[order], relevant[order], other[order]
    before = np.cumsum(other) - other
    before = before - before[np.searchsorted(query, query)] if query.size else before
    rows = relevant & (R[query] > 0)
    query, before = query[rows], before[rows]
    preferred = 1.0 - np.minimum(before, R[query]) / np.maximum(np.minimum(N, R)[query], 1)
    return _share(_sum(placed, query, preferred), R)


def _sum(placed: Placed, query: Indices, values: Floats) -> Floats:
    return np.asarray(np.bincount(query, values, len(placed.lengths)), dtype=np.float64)


def _count(placed: Placed, chosen: Any) -> Floats:
    return _sum(placed, placed.query, chosen.astype(np.float64))


def _in_pool(pool: JudgedPool, values: Any) -> Floats:
    found = np.bincount(pool.query, np.asarray(values, dtype=np.float64), len(pool.queries))
    return np.asarray(found, dtype=np.float64)


def _share(values: Floats, of: Any) -> Floats:
    return np.divide(values, of, out=np.zeros(values.size), where=np.asarray(of) > 0)
