"""Several runs joined: a row for each document of a query that any run has, a column for each run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.table import Floats, Table, Words, numbered, within, words
from rerank.io.trec import Qrels, Run


@dataclass(frozen=True, eq=False)
class Joined:
    """The documents of several runs."""

    qid: Words
    docid: Words
    scores: Floats  # (n, runs): NaN where a run does not have the document
    names: tuple[str, ...]
    places: Floats  # (n, runs): place in the run's list of the query, from 1; equal scores in the order of the run
    notes: tuple[str, ...] = ()  # what the readers of the runs decided

    def __len__(self) -> int:
        return int(self.qid.size)

    def some(self, rows: NDArray[Any]) -> "Joined":
        """Some of the rows, by number or mask."""
        return Joined(self.qid[rows], self.docid[rows], self.scores[rows], self.names, self.places[rows])


def places_of(run: Run) -> NDArray[np.intp]:
    """Place of each document in its list, from 1; equal scores in the order of the run."""
    number = numbered(run.qid)[1]
    return within(number, np.lexsort((-run.score, number)))  # stable


def first_documents(run: Run, depth: int | None) -> Run:
    """The documents of the first places of each list; all without a depth."""
    if depth is None:
        return run
    kept = places_of(run) <= depth
    return run if kept.all() else replace(run, qid=run.qid[kept], docid=run.docid[kept], score=run.score[kept])


def join(runs: Mapping[str, Run]) -> Joined:
    """The union of the runs' documents, in order of first appearance; there must be a run."""
    if not runs:
        raise InputError("There is no run to join; pass at least one.")
    each = list(runs.values())
    queries, query = numbered(np.concatenate([run.qid for run in each]))
    documents, document = numbered(np.concatenate([run.docid for run in each]))
    pairs, row = numbered(query * len(documents) + document)  # numbers are compared faster than pairs of texts
    scores, places = np.full((2, len(pairs), len(each)), np.nan)
    column = np.repeat(np.arange(len(each)), [run.score.size for run in each])
    scores[row, column] = np.concatenate([run.score for run in each])
    places[row, column] = np.concatenate([places_of(run) for run in each])
    own, other = np.divmod(np.array(pairs, dtype=np.intp), max(len(documents), 1))
    notes = tuple(note for run in each for note in run.notes)
    return Joined(words(list(queries))[own], words(list(documents))[other], scores, tuple(runs), places, notes)


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgements beside joined runs."""

    grades: Floats  # (n,): of each row; not judged and negative grades count as 0
    judged: NDArray[np.bool_]  # whether the row's query stands in the judgements
    known: NDArray[np.bool_]  # whether the document itself was judged
    missed: Mapping[str, tuple[float, ...]]  # grades of the relevant documents that no row has, by query

    def relevance(self) -> "Judged":
        """The same with 1 for every grade above 0."""
        missed = {query: (1.0,) * len(grades) for query, grades in self.missed.items()}
        return replace(self, grades=(self.grades > 0).astype(np.float64), missed=missed)


def judge(joined: Joined, qrels: Qrels) -> Judged:
    """The grades of the rows, and those of the relevant documents that are no rows."""
    left = dict(zip(zip(qrels.qid.tolist(), qrels.docid.tolist()), qrels.grade.tolist()))
    pairs, queries = list(zip(joined.qid.tolist(), joined.docid.tolist())), set(qrels.qid.tolist())
    found = np.array([left.pop(pair, np.nan) for pair in pairs], dtype=np.float64)
    lost: dict[str, list[float]] = {}
    for (query, _), grade in left.items():
        if grade > 0:
            lost.setdefault(query, []).append(float(grade))
    missed = {query: tuple(grades) for query, grades in lost.items()}
    judged = np.array([query in queries for query, _ in pairs], dtype=bool)
    return Judged(np.fmax(found, 0.0), judged, ~np.isnan(found), missed)


def apart(joined: Joined) -> tuple[str, ...]:
    """What is said about two runs that share no query, or no document in any: ids may be spelled in two ways. One query
    alone says nothing: two short lists often have no document in common.
    """
    there = ~np.isnan(joined.scores)
    numbers = numbered(joined.qid)[1]
    own = [np.unique(numbers[column]) for column in there.T]
    notes = []
    for a, b in combinations([k for k, column in enumerate(there.T) if column.any()], 2):
        if (there[:, a] & there[:, b]).any():
            continue
        common = np.intersect1d(own[a], own[b])
        if common.size == 1 or min(own[a].size, own[b].size) < 2:
            continue
        ids = joined.docid if common.size else joined.qid
        here = np.isin(numbers, common[:1]) if common.size else np.ones(len(joined), dtype=bool)
        first, second = (ids[int(np.argmax(there[:, k] & here))] for k in (a, b))
        what = "document in any query" if common.size else "query"
        notes.append(
            f"The runs {joined.names[a]} and {joined.names[b]} share no {what}: {first!r:.40} beside {second!r:.40}; "
            "check that their ids are spelled alike."
        )
    return tuple(notes)


def ranges(joined: Joined) -> dict[str, list[float]]:
    """Least and largest score of each run that has one."""
    there = ~np.isnan(joined.scores)
    return {
        name: [float(column[some].min()), float(column[some].max())]
        for name, column, some in zip(joined.names, joined.scores.T, there.T)
        if some.any()
    }


def elsewhere(joined: Joined, fitted: Mapping[str, Sequence[float]] | None) -> tuple[str, ...]:
    """What is said about runs of whose scores more than half lie outside the range that a fit saw (:func:`ranges`)."""
    notes = []
    for name, column in zip(joined.names, joined.scores.T):
        least, largest = (fitted or {}).get(name, (-np.inf, np.inf))
        own = column[~np.isnan(column)]
        if own.size and 2 * int(((own < least) | (own > largest)).sum()) > own.size:
            notes.append(
                f"Most scores of the run {name} lie outside {least:g} to {largest:g}, where the fit saw them; half "
                f"of them are above {np.median(own):g}; check that it is the same system and scale."
            )
    return tuple(notes)


def unjudged(joined: Joined, known: Judged, qrels: Qrels) -> tuple[str, ...]:
    """What is said about runs of whose documents none was judged, where others have some."""
    there = ~np.isnan(joined.scores)
    some = [bool((column & known.known).any()) for column in there.T]
    notes = []
    for name, column, has in zip(joined.names, there.T, some):
        if has or not column.any() or not any(some):
            continue
        row = int(np.argmax(column & known.judged)) if (column & known.judged).any() else int(np.argmax(column))
        other = qrels.docid[qrels.qid == joined.qid[row]][:1].tolist()
        found = ("document", joined.docid[row], other[0]) if other else ("query", joined.qid[row], qrels.qid[0])
        what, mine, theirs = found
        notes.append(
            f"No {what} of the run {name} is judged: it has {mine!r:.40}, and the judgements have {theirs!r:.40}; "
            "check that their ids are spelled alike."
        )
    return tuple(notes)


def fuse(runs: Mapping[str, Run], qrels: Qrels | None = None, *, judged: bool = True) -> Table:
    """Join runs into one table: a row for each document of a query that any run has, a column for each run.

    A document that a run does not have gets the lowest score of that run for the query (0 when the run has
    nothing for the query). Labels are the grades; not judged and negative grades count as 0.

    Parameters
    ----------
    runs : mapping of str to Run
        The names become feature names.
    qrels : Qrels, optional
        Without it the table has no labels.
    judged : bool
        Count the relevant documents that no run has in the ideal list, as the evaluators of the field do:
        `Table.ideal_gains` holds their grades. They are never rows, since they cannot be reranked. A query
        whose relevant documents were all missed stands there too, with or without rows. With False such
        documents are left out, which makes every value larger; `Table.notes` gives their number.
    """
    joined = join(runs)
    lists, query = numbered(joined.qid)
    X = joined.scores.copy()
    for column in X.T:
        there = ~np.isnan(column)
        lowest = np.full(len(lists), np.inf)
        np.minimum.at(lowest, query[there], column[there])
        lowest[np.isinf(lowest)] = 0.0
        column[~there] = lowest[query[~there]]
    known = None if qrels is None else judge(joined, qrels)
    missed = {} if known is None else known.missed
    return Table(
        X=X,
        y=None if known is None else known.grades,
        qid=joined.qid,
        ids=joined.docid,
        feature_names=joined.names,
        ideal_gains=missed if judged and missed else None,
        notes=(*joined.notes, *notes_on(missed, set(joined.qid.tolist()), COUNTED if judged else LEFT_OUT)),
    )


# What happens to relevant documents that no run has.
COUNTED, LEFT_OUT = "; they count in the ideal list", "; they are left out of the ideal list"


def notes_on(missed: Mapping[str, tuple[float, ...]], queries: set[Any], use: str) -> tuple[str, ...]:
    """What is said about the relevant documents that no run has."""
    if not missed:
        return ()
    count = sum(map(len, missed.values()))
    notes = [f"{count} relevant documents are in no run{use}."]
    absent = [query for query in missed if query not in queries]
    if absent:
        first = f"{len(absent)} judged queries have no document in any run, {absent[0]!r} first"
        notes.append(f"{first}; a list without rows is in no mean.")
    return tuple(notes)
