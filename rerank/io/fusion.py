"""Several runs as the features of one table: what score fusion learns from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.table import Table, words
from rerank.io.trec import Qrels, Run


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
    if not runs:
        raise InputError("There is no run to join; pass at least one.")
    scores = {name: dict(zip(zip(run.qid, run.docid), run.score.tolist())) for name, run in runs.items()}
    rows = dict.fromkeys(pair for table in scores.values() for pair in table)
    grades: dict[Any, int] = {}
    if qrels is not None:
        grades = dict(zip(zip(qrels.qid, qrels.docid), qrels.grade.tolist()))
    missed: dict[str, list[float]] = {}
    for pair, grade in grades.items():
        if grade > 0 and pair not in rows:
            missed.setdefault(str(pair[0]), []).append(float(grade))
    X = np.empty((len(rows), len(runs)))
    for column, table in enumerate(scores.values()):
        lowest: dict[Any, float] = {}
        for (query, _), score in table.items():
            lowest[query] = min(score, lowest.get(query, score))
        X[:, column] = [table.get(pair, lowest.get(pair[0], 0.0)) for pair in rows]
    return Table(
        X=X,
        y=None if qrels is None else np.array([float(max(grades.get(pair, 0), 0)) for pair in rows]),
        qid=words([query for query, _ in rows]),
        ids=words([document for _, document in rows]),
        feature_names=tuple(runs),
        ideal_gains={query: tuple(found) for query, found in missed.items()} if judged and missed else None,
        notes=_notes(missed, {query for query, _ in rows}, judged),
    )


def _notes(missed: Mapping[str, list[float]], queries: set[Any], judged: bool) -> tuple[str, ...]:
    """What is said about the relevant documents that no run has."""
    if not missed:
        return ()
    count = sum(map(len, missed.values()))
    use = "they count in the ideal list" if judged else "they are left out of the ideal list"
    notes = [f"{count} relevant documents are in no run; {use}."]
    absent = [query for query in missed if query not in queries]
    if absent:
        first = f"{len(absent)} judged queries have no document in any run, {absent[0]!r} first"
        notes.append(f"{first}; a list without rows is in no mean.")
    return tuple(notes)
