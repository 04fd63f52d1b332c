"""A fitted reranker as one frozen object: it ranks rows, files store it, export and verify read it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, NotSupportedError
from rerank.io.bounded import Json
from rerank.io.labels import TwoLabels
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.problem.scaling import per_unit, snapped_scores
from rerank.ranks.lists import rows_by_list
from rerank.reranker.columns import Columns, TableRows
from rerank.reranker.describe import GIVEN, stage_in_words
from rerank.reranker.files.model_file import Head
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.result import Result
from rerank.reranker.solution import Asked
from rerank.reranker.task import Task
from rerank.reranker.training import Training, joined, list_heads, stack
from rerank.statistics import InLists, Share, Window

NOTABLE = 1e-3  # margins from this size on are told
MOST_TOLD = 3  # columns that are told of a row
LARGEST = 2**53  # grade up to which doubles count; larger ones are told apart by their gains, and are no classes
CUTS = "cuts"  # name of the entries of a model file


@dataclass(frozen=True, eq=False)
class Classes:
    """Labels from irrelevant to most relevant, and the cuts between them where scores are one by one."""

    grades: tuple[int, ...]  # ascending; the first is 0
    labels: TwoLabels | None  # what stands for the grades 0 and 1
    cuts: Floats | None  # (grades - 1,), least score of each grade but the first, ascending

    @property
    def names(self) -> NDArray[Any]:
        """The labels as an array, the most relevant last."""
        if self.labels is None:
            return np.array(self.grades, dtype=np.intp)
        pair = [self.labels.negative, self.labels.positive]
        return np.array(pair, dtype=None if type(pair[0]) is type(pair[1]) else object)

    def of(self, scores: Floats) -> NDArray[Any]:
        """The label of each row by its score; needs cuts."""
        assert self.cuts is not None
        return self.names[np.searchsorted(self.cuts, scores, side="right")]

    def to_flat(self) -> dict[str, float | None]:
        """The entries of a model file: the cut of each grade but the first."""
        cuts = [None] * (len(self.grades) - 1) if self.cuts is None else self.cuts.tolist()
        return {f"{CUTS}.{grade}": cut for grade, cut in zip(self.grades[1:], cuts, strict=True)}


def classes_of(y: Floats, labels: TwoLabels | None, scores: Floats | None) -> Classes | None:
    """The classes of training rows; None where a label is no grade: no whole number from 0 on that doubles count.

    A grade is given from the score on that as many training rows reach as have the grade or a higher one. Equal scores
    are on one side. A cut is halfway to the next lower score, so that rounding moves no training row across it. Without
    scores there are no cuts.
    """
    grades = np.unique(y)
    if np.any(grades != np.floor(grades)) or grades[0] != 0 or grades[-1] > LARGEST:
        return None
    whole = tuple(int(grade) for grade in grades)
    if scores is None:
        return Classes(whole, labels, None)
    above, ordered = y.size - np.searchsorted(np.sort(y), grades[1:]), np.sort(scores)
    reached = ordered[ordered.size - above]
    below = np.searchsorted(ordered, reached, side="left")
    lower = np.where(below > 0, ordered[below - 1], reached)
    cuts = reached / 2 + lower / 2
    return Classes(whole, labels, np.where((lower < cuts) & (cuts <= reached), cuts, reached))


def from_flat(found: Json, labels: TwoLabels | None) -> Classes | None:
    """The classes of a model file by its entries; None if it holds none, as files of earlier versions."""
    if not found:
        return None
    usable = all(
        len(grade) <= len(str(LARGEST)) and grade.isdecimal() and str(int(grade)) == grade != "0" for grade in found
    )
    grades = sorted(int(grade) for grade in found) if usable else []
    values = [found[str(grade)] for grade in grades]
    none = all(value is None for value in values)
    ascending = all(type(value) is float and np.isfinite(value) for value in values) and not np.any(np.diff(values) < 0)
    if not usable or grades[-1] > LARGEST or not (none or ascending) or (labels is not None and grades != [1]):
        raise InputError(
            "The model's cuts between classes cannot be used (they are not ascending scores of grades); fit and save "
            "it again."
        )
    return Classes((0, *grades), labels, None if none else np.array(values, dtype=np.float64))


class Reason(NamedTuple):
    """A row's score in the unit of the weights, or the first stage's where that placed it, and what the columns that
    moved it most add, largest first; None where the score is no sum, or the first stage placed it.
    """

    score: float
    columns: tuple[tuple[str, float], ...] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedState(Head):
    """All that is known after a fit."""

    task: Task
    columns: Columns  # names of the input columns, and which of them can be reranked
    first_stage: FirstStage | None
    threshold: float  # least first-stage score of the head, for single rows; -inf if every row is in the head
    reranks: bool  # False if the first stage's order is kept
    result: Result
    member_scores: Floats | None = None  # (n, m), those of a blend's members, out-of-fold, where these are reranked
    labels: TwoLabels | None = None  # how two labels were mapped to 0 and 1
    classes: Classes | None = None  # labels and their cuts; None if labels were no whole numbers
    weighted_lists: bool = False  # whether lists had weights; a table does not hold these
    named: bool = False  # whether the user knows the columns by name: from a data frame, or from a file
    columns_read: Mapping[str, Any] = field(default_factory=dict)  # names of columns that a command read
    training: Training | None = None  # None after reading a file
    scores: Floats | None = None  # (n,), first-stage scores of the training rows, out-of-fold where there are folds
    certificate: Json = field(default_factory=dict)  # entries of a file's; long fractions are digests
    binary: bool | None = None  # whether every gain is 0 or 1, weights of rows included; None after reading a file

    def __post_init__(self) -> None:
        """The result knows what was asked, so that it can be described by itself."""
        object.__setattr__(self, "result", replace(self.result, asked=self._asked()))

    def _asked(self) -> Asked:
        task, stage, p, limits = self.task, self.first_stage, self.features.size, list[str]()
        name = "the first stage" if stage is None else GIVEN if stage.is_given else stage_in_words(stage.name)
        who = f"weights of {self._reranked}"
        if self.anchored:
            who = f"corrections of {'the prior' if stage is None else name} by {who.removeprefix('weights of ')}"
            limits.append(f"within the radius {task.radius:g}")
        if task.max_features is not None and task.max_features < p:
            limits.append(f"of at most {task.max_features} column{'s' * (task.max_features > 1)} at a time")
        if p and task.signs[self.columns.chosen.searchsorted(self.features)].any():
            limits.append(self._signed)
        if self.task.normalise:
            limits.append("none below 0, with sum 1")
        if task.constraints:
            limits.append("that keep your constraints")
        if task.quota:
            limits.append("that keep your quotas")
        if self.result.bound_source == "rows":
            limits.append("that keep the rows added to the program")
        fitted, smoothed = task.statistic, ""  # what a window fits in place of the statistic
        fitted = fitted.statistic if isinstance(fitted, InLists) else fitted
        if isinstance(fitted, Window) and task.statistic is not task.quoted:
            smoothed = f"count of hits around place {fitted.at:,}"
        elif isinstance(fitted, Share) and isinstance(fitted.statistic, Window):
            smoothed = f"count of hits around the place at {fitted.percent:g} % of the list"
        unit = "standard deviations of the score" if self.anchored else "in the scaled score"
        unit, epsilon = "in the score" if self.task.normalise else unit, self.result.epsilon
        alike = self.binary  # whether hits are known to be rows: labels of two kinds, and no weights
        if alike is None:
            alike = self.two_grades and self.columns_read.get("weight_column", "") is None
        return Asked(
            statistic=task.quoted,
            who=who if p else "allowed weights",
            limits=tuple(limits),
            first_stage=name,
            smoothed=smoothed,
            margin="" if epsilon < NOTABLE else f" by a margin of {epsilon:.4g} {unit}",
            hits=alike and not self.weighted_lists,
            constraints=task.constraints,
            weights=tuple(self.named_weights().items()),
        )

    @property
    def _reranked(self) -> str:
        """The columns of the problem in words."""
        p = self.features.size
        if self.task.members:
            return f"the {'' if self.member_scores is None else 'out-of-fold '}scores of these {p:,} members"
        return "this column" if p == 1 else f"these {p:,} columns"

    @property
    def _signed(self) -> str:
        """The signs of the weights in words."""
        plain = self.task.members and (self.task.signs > 0).all()
        return "none below 0" if plain else "with the signs that were asked for"

    @property
    def two_grades(self) -> bool:
        """Whether rows are relevant or not, and nothing between."""
        return self.classes is not None and self.classes.grades == (0, 1)

    @property
    def problem(self) -> Problem | None:
        """The problem of the fit; None after reading a file, or if there was nothing to order."""
        return None if self.training is None else self.training.problem

    def known_problem(self) -> Problem:
        """The problem of the fit, for programs and solutions; an error if there is none."""
        if self.problem is None:
            raise InputError(
                "There is no program: the model was read from a file, or no feature varies on the shortlist; fit it "
                "on data that leave something to order."
            )
        return self.problem

    @property
    def anchored(self) -> bool:
        """Whether the head's score is the first stage's with corrections."""
        return self.low.size > self.features.size

    @property
    def prior_weight(self) -> float:
        """Weight of the first stage's score in the head's score, beside :attr:`coef`."""
        kept = not self.reranks and self.first_stage is not None
        return 1.0 if (self.anchored or kept) and self._own is None else 0.0

    @property
    def _own(self) -> Floats | None:
        """The first stage's weights of the columns, where it is affine in these."""
        return None if self.first_stage is None else self.first_stage.coef_in(self.columns)

    @property
    def coef(self) -> Floats:
        """Weights in original units: of the head's score, or of the first stage if that is kept and affine. In anchored
        problems the corrections, in units of the first stage's score; with its own weights if it is affine.
        """
        coef, own = np.zeros(len(self.columns.names)), self._own
        if own is not None and (self.anchored or not self.reranks):
            coef = own.copy()
        if self.reranks:
            own = self.corrections if self.anchored else per_unit(self.weights, self.low, self.high)
            coef[self.features] += self.weights / self.weights.sum() if self.task.normalise else own
        return coef

    @property
    def blend_weights(self) -> dict[str, float] | None:
        """Weight of each member of a blend, those that were searched for where these rank; sizes sum to 1."""
        own = None if self.first_stage is None else getattr(self.first_stage.estimator, "named_weights", None)
        size = float(np.abs(self.coef).sum())
        if own is None or not (self.task.members and size > 0):
            return own
        return dict(zip(own, (self.coef / size).tolist()))

    def named_weights(self) -> dict[str, float]:
        """Non-zero weights in original units, by column name."""
        return {name: float(w) for name, w in zip(self.columns.names, self.coef, strict=True) if w != 0}

    @property
    def corrections(self) -> Floats:
        """Corrections (p,) of an anchored problem, in units of the first stage's score for one unit of the column."""
        return self.weights[1:] * self.weight_units[1:]

    @property
    def weight_units(self) -> Floats:
        """What a weight of the problem is multiplied by for the unit of the table; of an anchored one, of its score."""
        alike = self.anchored or self.task.normalise  # by sum all have one range
        spread = self.high[0] - self.low[0] if alike else 1.0
        return per_unit(np.full(self.low.size, spread), self.low, self.high)

    @property
    def problem_columns(self) -> list[str]:
        """Names of the columns of the problem; an anchored one has the first stage before them."""
        first = [free_name("first stage", self.columns.names)] if self.anchored else []
        return first + [self.columns.names[j] for j in self.features]

    @property
    def n_candidates(self) -> int | None:
        """K; None for all rows."""
        return None if isinstance(self.task.n_candidates, str) else self.task.n_candidates

    @property
    def by_threshold(self) -> bool:
        """Whether the threshold makes the head, as after one list; after several it is the K best of each list."""
        return self.result.n_lists == 1

    def row_scores(self, rows: TableRows, first: Floats | None = None) -> Floats:
        """Scores of single rows, by the threshold; ``first`` are the first stage's, where known."""
        first = self.first(rows) if first is None else first
        if first is None or not self.reranks:
            return self._head(rows, first) if first is None else first
        return stack(first, self._head(rows, first), first >= self.threshold, self.threshold, self.weights.size)

    def single_scores(self, rows: TableRows, first: Floats | None = None) -> Floats:
        """Those of :meth:`row_scores`, but in the first stage's unit where whole lists are corrected."""
        scores = self.row_scores(rows, first)
        return self._in_unit(scores) if self.anchored and self.reranks and math.isinf(self.threshold) else scores

    def reasons(
        self, rows: TableRows, lists: NDArray[np.generic] | None, which: Indices, most: int = MOST_TOLD
    ) -> list[Reason]:
        """Score of the rows ``which`` among all rows of the lists, and what moved them: weight x (value - mean of the
        list's reranked rows); of a corrected first stage the corrections alone.
        """
        stage, moved = self.first_stage, np.ones(rows.n, dtype=bool)
        first = self.first(rows)
        if self.reranks:
            used, table = self.features, rows.reranked(self.features)
            weights = self.corrections if self.anchored else self.coef[used]
            names = [self.columns.names[j] for j in used]
            if first is not None:
                by_list = not self.by_threshold
                moved = list_heads(first, lists, self.n_candidates)[0] if by_list else first >= self.threshold
        else:
            coef = np.zeros(0) if stage is None or stage.coef is None else stage.coef
            used = np.flatnonzero(coef)
            weights, table, names = coef[used], rows.inputs(used), [self.columns.inputs[j] for j in used]
        some = rows.some(which)
        scores = self.first(some)
        if self.reranks or scores is None:  # in the unit of ``coef``
            scores = self._in_unit(self._head(some, scores))
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

    def with_classes(self, rows: TableRows, y: Floats, first: Floats | None) -> Self:
        """The state with the classes of the training rows, and cuts by scores; ``first`` are the first stage's."""
        scores = self.single_scores(rows, first) if self.by_threshold else None
        return replace(self, classes=classes_of(y, self.labels, scores))

    def labels_of(self, rows: TableRows) -> NDArray[Any]:
        """Label of each row by its score; an error if there are no cuts between the classes."""
        if not self.by_threshold:
            raise NotSupportedError(
                "The model was fitted on several lists, whose scores are compared within a list only, so no score "
                "makes a row relevant; use rank, or decision_function with qid."
            )
        if self.classes is None or self.classes.cuts is None:
            raise NotSupportedError(
                "The model has no cuts between classes, because labels were no whole numbers or weights were read "
                "from a file; use rank or decision_function."
            )
        return self.classes.of(self.single_scores(rows))

    def list_scores(self, rows: TableRows, lists: Indices | None, first: Floats | None = None) -> Floats:
        """Scores that order each list; without ``lists`` all rows are one list."""
        first = self.first(rows) if first is None else first
        if self.by_threshold or first is None or not self.reranks:
            return self.row_scores(rows, first)
        is_head, _ = list_heads(first, lists, self.n_candidates)
        return joined(first, self._head(rows, first), is_head, self.weights.size)

    def unseen(self, rows: TableRows) -> list[str]:
        """A sentence for each column with texts that no row of the fit had."""
        told = [] if self.first_stage is None else self.first_stage.unseen(rows)
        if (encoded := self.columns.encoded) is not None:
            told = [*told, *encoded.unseen(rows.given, self.columns.inputs)]
        return list(dict.fromkeys(told))

    def first(self, rows: TableRows) -> Floats | None:
        """Scores of the first stage; None if there is none."""
        return None if self.first_stage is None else self.first_stage.scores(rows)

    def _in_unit(self, scores: Floats) -> Floats:
        """Scores of scaled rows in the unit of :attr:`coef`: with a radius that of the first stage's score."""
        if self.anchored:
            return scores * (self.high[0] - self.low[0]) + (self.low[0] + self.corrections @ self.low[1:])
        if self.task.normalise:
            return (scores * (self.high[0] - self.low[0]) + self.weights @ self.low) / self.weights.sum()
        return scores

    def _head(self, rows: TableRows, first: Floats | None) -> Floats:
        table = rows.reranked(self.features)
        if self.anchored:
            assert first is not None
            table = np.column_stack([first, table])
        return snapped_scores(table, self.low, self.high, self.weights)


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores behind until it is not taken."""
    return name if name not in taken else free_name(name + "_", taken)


def first_stage_kept(state: FittedState) -> FittedState:
    """The state with its first stage kept, and the status of that; the message follows from the evidence."""
    result, alone = state.result, state.result.first_stage_statistic
    if alone is None or (not state.reranks and result.status != "first_stage_kept"):
        return state
    return replace(state, reranks=False, result=replace(result, status="first_stage_kept", statistic=alone))
