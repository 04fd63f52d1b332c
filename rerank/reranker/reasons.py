"""Which columns moved a row most: its distance from the mean of the list, times the weight, in units of the score."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Indices
from rerank.ranks.lists import rows_by_list
from rerank.reranker.columns import Rows
from rerank.reranker.shortlist import list_heads
from rerank.reranker.state import FittedState


class Reason(NamedTuple):
    """A row's score, in the unit of the weights, and the columns that moved it most, with what each adds, largest
    first.

    The score is that of the first stage where that alone has placed the row. No columns where the score is no sum over
    columns, or the row is below the shortlist.
    """

    score: float
    columns: tuple[tuple[str, float], ...] | None


MOST = 3  # columns that are told of a row


def reasons(
    state: FittedState, rows: Rows, lists: NDArray[np.generic] | None, which: Indices, most: int = MOST
) -> list[Reason]:
    """Score of the rows ``which``, and what moved them: weight x (value - mean of the reranked rows of the list).

    ``rows`` are all rows of the lists. Of a first stage that is corrected the weights are the corrections alone: they
    moved the row from its place.
    """
    stage, moved = state.first_stage, np.ones(rows.n, dtype=bool)
    first = state.first(rows)
    if state.reranks:
        used, table = state.features, rows.reranked(state.features)
        weights = state.corrections if state.anchored else state.coef[used]
        names = [state.columns.names[j] for j in used]
        if first is not None:
            by_list = not state.by_threshold
            moved = list_heads(first, lists, state.n_candidates)[0] if by_list else first >= state.threshold
    else:
        coef = np.zeros(0) if stage is None or stage.coef is None else stage.coef
        used = np.flatnonzero(coef)
        weights, table, names = coef[used], rows.inputs(used), [state.columns.inputs[j] for j in used]
    scores = state.head_scores(rows.some(which))
    if first is not None:
        scores = np.where(moved[which], scores, first[which])
    added, asked = np.zeros((rows.n, used.size)), np.isin(np.arange(rows.n), which)
    for _, own in rows_by_list(lists, rows.n):
        told = own[(moved & asked)[own]]
        if told.size:
            added[told] = (table[told] - table[own[moved[own]]].mean(axis=0)) * weights
    order = np.argsort(-np.abs(added[which]), axis=1, kind="stable")[:, :most]
    found = []
    for score, row, best in zip(scores, which, order):
        columns = tuple((names[j], float(added[row, j])) for j in best if added[row, j] != 0)
        found.append(Reason(float(score), columns if moved[row] and used.size else None))
    return found
