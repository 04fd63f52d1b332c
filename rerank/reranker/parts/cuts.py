"""The classes of a list in parts: one more pass, which holds no more scores than there are relevant rows.

The cut of a grade lies between the m-th largest score, where m rows have the grade or a higher one, and the next lower
score. So the largest scores, one for each relevant row, and one below them are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.problem.passes import Part, Run, answers, largest
from rerank.reranker.classes import Classes, classes_by
from rerank.reranker.columns import Rows
from rerank.reranker.parts.given import read
from rerank.reranker.state import FittedState

Floats = NDArray[np.float64]


def classes_of_parts(parts: Sequence[Part], state: FittedState, n_relevant: int, run: Run) -> Classes | None:
    """The classes of a list in parts, as of the same rows in memory; None if a grade is no whole number.

    Parameters
    ----------
    parts : sequence of callables
        Each reads the columns of the fit, and labels.
    state : FittedState
        What scores the rows.
    n_relevant : int
        Rows with a label above 0.
    run : callable
    """
    rows_of: Counter[float] = Counter()
    best = np.empty(0)
    for some in answers(parts, run, _seen, state, n_relevant):
        for grades, counts, scores in some:
            rows_of.update(dict(zip(grades.tolist(), counts.tolist(), strict=True)))
            best = first_scores(np.concatenate([best, scores]), n_relevant)
    ascending = sorted(rows_of)
    above = np.cumsum([rows_of[grade] for grade in reversed(ascending)])[::-1]
    return classes_by(np.array(ascending), above[1:], state.labels, best[::-1])


def alone(state: FittedState) -> FittedState:
    """The state that scores rows, without what other processes do not need."""
    return replace(state, training=None, prior_scores=None, result=replace(state.result, proof=None))


def labelled_scores(part: Part, state: FittedState) -> tuple[Floats, Floats]:
    """Scores of the rows of a part as :meth:`FittedState.row_scores` has them, and labels."""
    X, y = read(part, state.columns)
    return (state.row_scores(Rows(X, state.columns)) if len(X) else np.empty(0)), y


def first_scores(scores: Floats, most: int) -> Floats:
    """The largest scores, descending, and the largest one below all of these, if there is one."""
    first = largest(scores, most)
    return np.append(first, largest(scores[scores < first[-1]], 1)) if first.size else first


def _seen(part: Part, state: FittedState, most: int) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Grades of a part, how many rows have each, and its first scores."""
    scores, y = labelled_scores(part, state)
    return *np.unique(y, return_counts=True), first_scores(state.in_one_unit(scores), most)
