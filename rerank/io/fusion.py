"""Several runs as the features of one table: what score fusion learns from."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.table import Table, words
from rerank.io.trec import Qrels, Run


def fuse(runs: Mapping[str, Run], qrels: Qrels | None = None, *, judged: bool = False) -> Table:
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
        Also add a row for each document with a positive grade that no run has, so that an ideal list counts
        it, as the evaluators of the field do. It gets the lowest scores. Without it, such documents are
        counted in `Table.notes`.
    """
    if not runs:
        raise InputError("There is no run to join; pass at least one.")
    scores = {name: dict(zip(zip(run.qid, run.docid), run.score.tolist())) for name, run in runs.items()}
    rows = dict.fromkeys(pair for table in scores.values() for pair in table)
    queries = {query for query, _ in rows}
    grades: dict[Any, int] = {}
    if qrels is not None:
        grades = dict(zip(zip(qrels.qid, qrels.docid), qrels.grade.tolist()))
    relevant = [pair for pair, grade in grades.items() if grade > 0 and pair[0] in queries]
    absent = [pair for pair in relevant if pair not in rows]
    if judged:
        rows.update(dict.fromkeys(absent))
    X = np.empty((len(rows), len(runs)))
    for column, table in enumerate(scores.values()):
        lowest: dict[Any, float] = {}
        for (query, _), score in table.items():
            lowest[query] = min(score, lowest.get(query, score))
        X[:, column] = [table.get(pair, lowest.get(pair[0], 0.0)) for pair in rows]
    notes: tuple[str, ...] = ()
    if absent:
        what = (
            "were added below the last score"
            if judged
            else "cannot be reranked and are not in the ideal list"
        )
        notes = (f"{len(absent)} relevant documents are in no run; they {what}.",)
    return Table(
        X=X,
        y=None if qrels is None else np.array([float(max(grades.get(pair, 0), 0)) for pair in rows]),
        qid=words([query for query, _ in rows]),
        ids=words([document for _, document in rows]),
        feature_names=tuple(runs),
        notes=notes,
    )
