"""Labels: 0 is irrelevant, larger is more relevant; two labels of another kind are mapped to 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TwoLabels:
    """Which label is irrelevant and which is relevant, where they are not 0 and 1."""

    negative: Any
    positive: Any

    def applied(self, y: Any) -> Floats:
        """0 and 1 for the two labels.

        Raises
        ------
        InputError
            Naming a label that is neither.
        """
        values = np.asarray(y)
        relevant = np.asarray(values == self.positive, dtype=bool)
        other = ~relevant & ~np.asarray(values == self.negative, dtype=bool)
        if relevant.shape != values.shape or other.any():
            found = values[other][0] if other.any() else y
            raise InputError(
                f"y holds {found!r}; the labels of this fit are {self.negative!r} and {self.positive!r}."
            )
        return relevant.astype(np.float64)


def read_labels(y: Any, n: int, pos_label: Any = None) -> tuple[Floats, TwoLabels | None]:
    """The labels of a fit as grades, and how two labels were mapped.

    Parameters
    ----------
    y : array-like (n,)
        0/1, booleans, grades from 0 upwards, -1/1, or two labels of any kind with ``pos_label``.
    n : int
        Rows expected.
    pos_label : object, optional
        The label of the relevant rows.

    Returns
    -------
    y : float64 array (n,)
    labels : TwoLabels or None
        None where labels are grades.

    Raises
    ------
    InputError
        For labels whose least is not 0, words without ``pos_label``, and all that :func:`check_labels` refuses.
    """
    values = np.asarray(y)
    words = values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in values.ravel().tolist())
    )
    if pos_label is not None or words:
        labels = _two(values, pos_label)
        return check_labels(labels.applied(values), n), labels
    if values.dtype.kind in "if" and values.size and set(np.unique(values).tolist()) == {-1, 1}:
        labels = TwoLabels(-1, 1)
        return check_labels(labels.applied(values), n), labels
    grades = check_labels(values, n)
    least, most = float(grades.min()), float(grades.max())
    if least != 0:
        raise InputError(
            f"y runs from {least:g} to {most:g}, and 0 is what an irrelevant row is labelled; pass y - {least:g}, or "
            f"pos_label={most:g} where there are two classes."
        )
    return grades, None


def _two(values: NDArray[Any], pos_label: Any) -> TwoLabels:
    known = list(dict.fromkeys(values.ravel().tolist()))
    shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
    if len(known) != 2:
        raise InputError(
            f"y holds {len(known)} labels ({shown}); pos_label takes two, so pass grades from 0."
        )
    if pos_label is not None and pos_label not in known:
        raise InputError(
            f"pos_label is {pos_label!r}, and y holds the labels {shown}; name one of these, or give y as 0 and 1 "
            "without pos_label (cross_val_predict makes such numbers of words)."
        )
    if pos_label is None:
        raise InputError(
            f"y holds the labels {shown}; say which one is to be found, for instance pos_label={known[-1]!r}."
        )
    return TwoLabels(known[1 - known.index(pos_label)], known[known.index(pos_label)])


def labels_of(y: Any, n: int, labels: TwoLabels | None) -> Floats:
    """Labels of rows to be scored, mapped as those of the fit; one class alone is legal."""
    return check_labels(y if labels is None else labels.applied(y), n, one_class=True)
