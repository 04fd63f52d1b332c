"""The classes of a fit: its labels, and the scores from which a row gets each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.labels import TwoLabels
from rerank.problem.lists import Floats

LARGEST = 2**53  # grade up to which doubles count; larger ones are told apart by their gains, and are no classes
WORD = "cuts"  # name of the entries of a model file


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
        return {f"{WORD}.{grade}": cut for grade, cut in zip(self.grades[1:], cuts, strict=True)}


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


def from_flat(found: Mapping[str, Any], labels: TwoLabels | None) -> Classes | None:
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
