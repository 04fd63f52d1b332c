"""A fitted reranker as one frozen object: it ranks rows, files store it, export and verify read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.labels import TwoLabels
from rerank.problem import Problem
from rerank.problem.scaling import snapped_scores
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.result import Result
from rerank.reranker.settings import Settings
from rerank.reranker.shortlist import list_heads, stack
from rerank.reranker.training import Training

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedState:
    """All that is known after a fit.

    Attributes
    ----------
    options : mapping of str to object
        The parameters of the estimator, as they were given.
    settings : Settings
        The same, checked.
    feature_names : tuple of str, length d
        All input columns.
    frame : bool
        Whether the names came with a data frame.
    named : bool
        Whether the user knows the columns by name: from a data frame, or from a file.
    first_stage : FirstStage or None
    threshold : float
        Least first-stage score of the head, for single rows; ``-inf`` if every row is in the head.
    reranks : bool
        False if the first stage's order is kept.
    features : intp array (p,)
        Columns that the problem uses, ascending.
    low, high, weights : float64 arrays (p,)
        Scaling of these columns, and their weights in scaled space.
    result : Result
    labels : TwoLabels or None
        How two labels were mapped to 0 and 1.
    weighted_lists : bool
        Whether lists had weights; a table does not hold these.
    columns_read : mapping of str to str
        Names of the columns that a command read: label, list, id, weight.
    training : Training or None
        Shortlist and problem; None after reading a file.
    """

    options: Mapping[str, Any]
    settings: Settings
    feature_names: tuple[str, ...]
    first_stage: FirstStage | None
    threshold: float
    reranks: bool
    features: NDArray[np.intp]
    low: Floats
    high: Floats
    weights: Floats
    result: Result
    labels: TwoLabels | None = None
    weighted_lists: bool = False
    frame: bool = False
    named: bool = False
    columns_read: Mapping[str, Any] = field(default_factory=dict)
    training: Training | None = None

    @property
    def problem(self) -> Problem | None:
        """The problem of the fit; None after reading a file, or if there was nothing to order."""
        return None if self.training is None else self.training.problem

    def known_problem(self) -> Problem:
        """The problem of the fit, for programs and solutions.

        Raises
        ------
        InputError
            If there is none.
        """
        if self.problem is None:
            raise InputError(
                "There is no program: the model was read from a file, or no feature varies on the shortlist; fit it "
                "on data that leave something to order."
            )
        return self.problem

    @property
    def coef(self) -> Floats:
        """Weights (d,) in original units: of the head, or of the first stage if that is kept and affine."""
        coef = np.zeros(len(self.feature_names))
        if self.reranks:
            coef[self.features] = self.weights / (self.high - self.low)
        elif self.first_stage is not None and self.first_stage.coef is not None:
            coef = self.first_stage.coef.copy()
        return coef

    def named_weights(self) -> dict[str, float]:
        """Non-zero weights in original units, by column name."""
        return {name: float(w) for name, w in zip(self.feature_names, self.coef, strict=True) if w != 0}

    @property
    def n_candidates(self) -> int | None:
        """K; None for all rows."""
        return None if isinstance(self.settings.n_candidates, str) else self.settings.n_candidates

    @property
    def by_threshold(self) -> bool:
        """Whether the threshold decides if a new row is in the head: so after a fit on one list.

        After a fit on several lists, the K best rows of each new list are reranked.
        """
        return self.result.n_lists == 1

    def row_scores(self, table: Floats) -> Floats:
        """Scores of single rows: the threshold decides between head and tail."""
        first = self._first(table)
        if first is None or not self.reranks:
            return self._head(table) if first is None else first
        return stack(first, self._head(table), first >= self.threshold, self.threshold, self.weights.size)

    def list_scores(self, table: Floats, lists: NDArray[np.intp] | None) -> Floats:
        """Scores that order each list; without ``lists`` all rows are one list."""
        first = self._first(table)
        if self.by_threshold or first is None or not self.reranks:
            return self.row_scores(table)
        is_head, _ = list_heads(first, lists, self.n_candidates)
        return joined(first, self._head(table), is_head, self.weights.size)

    def _first(self, table: Floats) -> Floats | None:
        return None if self.first_stage is None else self.first_stage.scores(table)

    def _head(self, table: Floats) -> Floats:
        return snapped_scores(table[:, self.features], self.low, self.high, self.weights)


def joined(first: Floats, head: Floats, is_head: NDArray[np.bool_], size: int) -> Floats:
    """One score for each row: all head rows above all tail rows."""
    tail = first[~is_head]
    return stack(first, head, is_head, float(tail.max()) if tail.size else -math.inf, size)
