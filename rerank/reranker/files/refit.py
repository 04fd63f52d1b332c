"""The shortlist and the problem that follow from a model and the table of its fit. Nothing is solved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.ranks.row_gains import gain_of
from rerank.reranker.cross_fit import Staged, folds_of
from rerank.reranker.data import Arguments, Data, Weights, checked
from rerank.reranker.files.document import columns_of, state_of, statistic_of
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.fit import stated
from rerank.reranker.state import FittedState

if TYPE_CHECKING:
    from rerank.io import Table

Floats = NDArray[np.float64]


def refit(
    doc: ModelDocument, table: Table, where: str, first_stage: Any = None, query_weight: Weights = None
) -> tuple[FittedState, Data, Staged | None]:
    """The state with its problem, as right after the fit; the training data, and the first stage.

    Parameters
    ----------
    where : str
        Name of the model in messages.
    first_stage : fitted estimator, optional
        Needed if the model's first stage is not in the file.
    query_weight : mapping or array, optional
        Weights of lists as they were given to ``fit``.

    Raises
    ------
    InputError
        For a table without labels or with other columns, or a model whose first stage is not in the file.
    """
    if table.y is None:
        raise InputError("The table has no labels; name the column that holds them.")
    if table.X.shape[1] != len(doc.feature_names):
        raise InputError(
            f"The table has {table.X.shape[1]} columns and {where} was fitted on {len(doc.feature_names)}; give the "
            "table of the fit."
        )
    if doc.settings.get("weighted_lists") and query_weight is None:
        raise InputError(
            f"{where} was fitted with weights of lists, which no table holds; verify it from Python, with query_weight."
        )
    state = state_of(doc, first_stage, where)
    if state.task.quotas and table.people is None:
        raise InputError(f"{where} keeps quotas on kinds of rows; name the column that holds these with --people.")
    # A table holds grades: words, and -1 and 1 in a file, are 0 and 1 there, two other numbers are what they were.
    labels = state.labels
    positive = None if labels is None or labels.by_grades(table.y) else labels.positive
    gain = gain_of(statistic_of(doc), state.task.gain, table.sample_weight)
    people = table.people if state.task.quotas else None
    given = replace(Arguments.of_file(table), query_weight=query_weight, groups=None, people=people).present()
    rows = state.columns.rows(given.X)
    data = checked(rows, given, gain, positive)
    scores = doc.prior_scores if doc.prior_scores is not None else state.first(rows)
    if scores is not None and scores.size != rows.n:
        raise InputError(
            f"{where} holds out-of-fold scores of {scores.size} rows, and the table has {rows.n}; give the "
            "table of the fit."
        )
    task, first = replace(state.task, epsilon=state.task.epsilon or doc.epsilon), None
    if state.first_stage is not None and scores is not None:
        folds = 0 if doc.prior_scores is None else folds_of(data, task)
        first = Staged(state.first_stage, scores, folds)
    task, training = stated(data, task, first)
    return replace(state, task=task, training=training), data, first


def refitted(doc: ModelDocument, table: Table, where: str) -> FittedState:
    """The state with its problem, as right after the fit.

    Raises
    ------
    InputError
        If the table is not the one on which the model was fitted.
    """
    state, _, _ = refit(doc, table, where)
    if state.problem is None or not same_scaling(doc, state):
        raise InputError(
            f"The table is not the one {where} was fitted on: another shortlist follows from it; give that one."
        )
    return state


def same_scaling(doc: ModelDocument, state: FittedState) -> bool:
    """Whether columns and ranges of the shortlist are those of the document."""
    training = state.training
    if training is None or (problem := training.problem) is None:
        return doc.low.size == 0
    return (
        np.array_equal(doc.features, columns_of(doc).chosen[training.features])
        and np.array_equal(doc.low, problem.low)
        and np.array_equal(doc.high, problem.high)
    )
