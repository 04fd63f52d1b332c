"""Blends: first stages whose scores are added, by weights from 0 on that are learned from out-of-fold scores.

The weights are those of the logistic regression of relevance on the members' standardised scores, averaged with equal
weights: few relevant rows say little of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rerank.errors import NotSupportedError
from rerank.io.bounded import Json
from rerank.problem.lists import Floats, Indices
from rerank.reranker.columns import Columns, TableRows
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage, of_tables, unique
from rerank.reranker.members import called

POOL, POOL_ROWS = 10, 50
"""Lists, or relevant rows of one list, that equal weights stand for."""
RIDGE = 0.01
"""Of logistic regression, for columns of deviation 1: weights stay finite where one column ranks without an error."""
STEPS, FLAT, CLOSE, DIGITS = 100, 1e-10, 1e-16, 10
"""Most steps of its fit, what is added to the curvature, which may be 0 in doubles, the decrease of the loss for each
row that is too small to go on, and the digits of weights that are exact then.
"""


@dataclass(frozen=True, eq=False)
class Blend:
    """A fitted blend: the sum of its members' scores, each of deviation 1, times weights that sum to 1."""

    columns: Columns
    members: tuple[FirstStage, ...]  # scaled: of mean 0 and deviation 1 on the training rows
    weights: Floats
    takes_tables = True

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return [member.name for member in self.members]

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Names of the members' scores, of a column of scores its own."""
        return called(self.names)

    @property
    def is_given(self) -> bool:
        """Whether all members were ready when they came, so that they score every row alike."""
        return all(member.frozen for member in self.members)

    @property
    def named_weights(self) -> dict[str, float]:
        """Weight of each member, by its name."""
        return dict(zip(self.names, self.weights.tolist()))

    @property
    def name(self) -> str:
        """The blend in words: members with a weight, the largest first."""
        order = [k for k in np.argsort(-self.weights, kind="stable") if round(self.weights[k], 2) > 0]
        return "blend of " + ", ".join(f"{self.names[k]} {self.weights[k]:.2f}" for k in order)

    def of(self, scores: Floats) -> Floats:
        """The score of each row from the members' scores (n, m), summed one by one, so that a row has its own bits."""
        total = np.zeros(len(scores))
        for weight, own in zip(self.weights, scores.T):
            total += weight * own
        return total

    def decision_function(self, X: Any) -> Floats:
        """Score of each row of ``X`` (n, d), larger is better."""
        return self.of(self.transform(X))

    def transform(self, X: Any) -> Floats:
        """The members' scores (n, m)."""
        rows = TableRows(X, self.columns)
        return np.column_stack([member.scores(rows) for member in self.members])

    def unseen(self, X: Any, input_features: Sequence[str]) -> list[str]:
        """A sentence for each column of ``X`` (n, d) with texts that no row of the fit had."""
        tables = [table for member in self.members if (table := of_tables(member.estimator)) is not None]
        return unique(said for table in tables for said in table.unseen(X, input_features))

    def to_dict(self) -> Json:
        """Members and weights as numbers and texts; an error for a member that is neither."""
        return {"members": [_entries(member, float(weight)) for member, weight in zip(self.members, self.weights)]}


def _entries(stage: FirstStage, weight: float) -> Json:
    found: Json = {"name": stage.name, "weight": weight}
    if stage.coef is not None:
        return found | {"coef": stage.coef.tolist(), "intercept": float(stage.intercept)}
    if (table := of_tables(stage.estimator)) is None:
        raise NotSupportedError(
            f"The member {stage.name} of the blend is no file of numbers, so that the model cannot be written; blend "
            "first stages by name, linear models and columns of scores."
        )
    return found | {"centre": float(stage.centre), "scale": float(stage.scale), "state": table.to_dict()}


def of_members(data: Data, stage: FirstStage, scores: Floats | None) -> Data:
    """The same rows with the members' ``scores`` (n, m) as the columns to rerank; members that learned nothing from
    these rows have those that they give.
    """
    blend, rows = stage.estimator, TableRows(data.rows.given, data.rows.columns, data.rows.there)
    if scores is None or blend.is_given:
        scores = blend.transform(rows.given)
    rows = replace(rows, columns=replace(rows.columns, transformer=blend), _made={"table": scores})
    return replace(data, rows=rows, X=scores)


@dataclass(frozen=True, eq=False)
class Weighing:
    """What weights are learned from: how relevant each training row is, from 0 to 1, and how much rows count."""

    target: Floats
    weight: Floats | None
    lists: Indices | None

    @classmethod
    def of(cls, data: Data) -> Self:
        """That of training data: gains over the largest one; utilities from the least to the largest."""
        gains, weight = data.row_gains, data.sample_weight
        low, high = float(min(gains.min(), 0.0)), float(gains.max())
        return cls((gains / 2 - low / 2) / (high / 2 - low / 2), weight, data.qid)

    def learned(self, scores: Floats, rows: Indices) -> Floats:
        """Weights of members from out-of-fold scores (rows, m) of deviation 1; they sum to 1."""
        m, target = scores.shape[1], self.target[rows]
        weight = None if self.weight is None else self.weight[rows]
        found = logistic(scores, target, weight=weight)
        units = float((target > 0).sum()) if self.lists is None else np.unique(self.lists[rows]).size
        pool = POOL_ROWS if self.lists is None else POOL
        return (pool / m + units * found) / (pool + units)


def of_size_one(weights: Floats) -> Floats:
    """Weights whose sizes sum to 1; equal ones where all are 0."""
    size = float(np.abs(weights).sum())
    return weights / size if size > 0 else np.full(weights.size, 1.0 / weights.size)


def logistic(X: Floats, target: Floats, positive: bool = True, weight: Floats | None = None) -> Floats:
    """Weights of the logistic regression of relevance, from 0 to 1, on scores of one scale; sizes sum to 1.

    By Newton's method, each step to the best allowed weights of the loss's quadratic expansion.
    """
    from scipy.optimize import nnls

    counts = np.ones(len(X)) if weight is None else weight
    m, share = X.shape[1], float(np.average(target, weights=counts))
    scale = float(np.sqrt(X.var(axis=0).mean()))
    if not 0.0 < share < 1.0 or not scale > 0.0:
        return np.full(m, 1.0 / m)
    A = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / scale])
    ridge, earned = np.append(0.0, np.full(m, RIDGE)), counts * target

    def loss(w: Floats) -> float:
        margins = A @ w
        return float(counts @ np.logaddexp(0.0, margins) - earned @ margins + 0.5 * ridge @ w**2)

    w = np.append(np.log(share / (1.0 - share)), np.zeros(m))
    value = loss(w)
    for _ in range(STEPS):
        risk = 0.5 + 0.5 * np.tanh(0.5 * (A @ w))
        slope = A.T @ (counts * risk - earned) + ridge * w
        root = np.linalg.cholesky((A.T * (counts * risk * (1.0 - risk))) @ A + np.diag(ridge + FLAT)).T
        wanted = root @ w - np.linalg.solve(root.T, slope)
        best = nnls(root[1:, 1:], wanted[1:])[0] if positive else np.linalg.solve(root[1:, 1:], wanted[1:])
        step = np.append((wanted[0] - root[0, 1:] @ best) / root[0, 0], best) - w
        least = next((at for at in 0.5 ** np.arange(30) if loss(w + at * step) < value), 0.0)
        if not least or -(slope @ step) < CLOSE * counts.sum():
            break
        w = w + least * step
        value = loss(w)
    return of_size_one(np.round(of_size_one(w[1:]), DIGITS))  # equal columns have equal weights


@dataclass(frozen=True, eq=False)
class Scaled:
    """Members' out-of-fold scores (n, m) of mean 0 and deviation 1, and what they were divided by."""

    scores: Floats
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, raw: Floats) -> Self:
        """Those of scores as members give them; a constant one is divided by 1."""
        centre, scale = raw.mean(axis=0), raw.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        return cls((raw - centre) / scale, centre, scale)

    def blend(self, columns: Columns, stages: Sequence[FirstStage], weights: Floats) -> FirstStage:
        """The first stage that adds members, scaled alike."""
        scaled = [stage.mapped(float(c), float(s)) for stage, c, s in zip(stages, self.centre, self.scale)]
        blend = Blend(columns, tuple(scaled), weights)
        notes = unique(note for stage in stages for note in stage.notes)
        return FirstStage(blend.name, blend, None, notes=tuple(notes))
