"""Labels: 0 is irrelevant, larger is more relevant; two labels of another kind are mapped to 0 and 1."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, InputWarning
from rerank.io.arrays import check_labels, plain_numbers

Floats = NDArray[np.float64]

# Words, in small letters, that people use for the rows to be found.
FOUND = frozenset({"yes", "y", "true", "t", "1", "1.0", "+1", "+", "positive", "pos", "relevant"})
SIGNS = frozenset({-1.0, 1.0})


@dataclass(frozen=True)
class TwoLabels:
    """Which label is irrelevant and which is relevant, where they are not 0 and 1."""

    negative: Any
    positive: Any

    def applied(self, y: Any) -> Floats:
        """0 and 1 for the two labels; InputError names a label that is neither."""
        values = plain_numbers(y)
        if self.by_grades(values):
            return values.astype(np.float64)
        relevant = np.asarray(values == self.positive, dtype=bool)
        other = ~relevant & ~np.asarray(values == self.negative, dtype=bool)
        if relevant.shape != values.shape or other.any():
            found = values[other][0] if other.any() else y
            raise InputError(f"y holds {found!r}; the labels of this fit are {self.negative!r} and {self.positive!r}.")
        return relevant.astype(np.float64)

    def by_grades(self, values: NDArray[np.generic]) -> bool:
        """Whether the values are 0 and 1 already, as tables of files have them for words and for -1 and 1."""
        words = isinstance(self.negative, str) and isinstance(self.positive, str)
        signs = (self.negative, self.positive) == (-1, 1) and bool(np.any(values == 0))
        return (words or signs) and values.dtype.kind in "bif" and bool(np.isin(values, (0, 1)).all())


def grades_of_signs(labels: Floats) -> Floats | None:
    """Labels -1 and 1 as 0 and 1; None where a label is negative otherwise, and the labels where none is."""
    if not np.any(labels < 0):
        return labels
    return (labels > 0).astype(np.float64) if set(np.unique(labels).tolist()) <= SIGNS else None


POSITIVE = "pos_label={0!r} (--pos-label {0!r})"  # how readers and commands are told the label to be found
SIGNS_NOTE = "The labels -1 and 1 are read as 0 and 1."
# What else to do about a label below 0 in a file.
OR_ADD = "; where only their order counts (pairs), add a constant to all labels"


def word_to_find(words: Iterable[Any], option: str) -> str:
    """Advice on which of the labels is to be found: the one that most people mean, or all where none is such a word.
    ``option`` is how it is given, such as ``"pos_label={!r}"``.
    """
    known = list(dict.fromkeys(words))
    meant = [word for word in known if str(word).strip().lower() in FOUND]
    return " or ".join(option.format(word) for word in (meant if len(meant) == 1 else known[:5]))


def read_labels(y: Any, n: int, pos_label: Any = None, utilities: bool = False) -> tuple[Floats, TwoLabels | None]:
    """The labels of a fit as grades (n,), and how two labels were mapped; None where they are grades.

    ``y`` holds 0/1, booleans, grades from 0 upwards, -1/1, or two labels of any kind with ``pos_label``, the label of
    the relevant rows; without it that of two words is relevant which sorts last, as in scikit-learn, with an
    `InputWarning` that names both. With ``utilities`` numbers are taken as they are. Refused are labels whose least is
    not 0, and all that :func:`check_labels` refuses.
    """
    values = plain_numbers(y)
    mixed = values.ravel().tolist() if values.dtype.kind == "O" else ()
    words = values.dtype.kind in "US" or any(isinstance(value, (str, bytes)) for value in mixed)
    signs = not utilities and values.dtype.kind in "if" and values.size and set(np.unique(values).tolist()) == SIGNS
    if pos_label is not None or words or signs:
        labels = _two(values, pos_label) if pos_label is not None or words else TwoLabels(-1, 1)
        return check_labels(labels.applied(values), n), labels
    grades = check_labels(values, n, utilities=utilities)
    if utilities:
        return grades, None
    least, most = float(grades.min()), float(grades.max())
    if least != 0:
        raise InputError(
            f"y runs from {least:g} to {most:g}, and 0 is what an irrelevant row is labelled; pass y - {least:g}, or "
            f"pos_label={most:g} (--pos-label {most:g}) where there are two classes."
        )
    return grades, None


def _two(values: NDArray[np.generic], pos_label: Any) -> TwoLabels:
    known = list(dict.fromkeys(values.ravel().tolist()))
    shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
    if len(known) != 2:
        raise InputError(f"y holds {len(known)} labels ({shown}); pos_label takes two, so pass grades from 0.")
    if pos_label is not None and pos_label not in known:
        raise InputError(
            f"pos_label is {pos_label!r}, and y holds the labels {shown}; name one of these, or give y as 0 and 1 "
            "without pos_label (cross_val_predict makes such numbers of words)."
        )
    if pos_label is None:
        try:
            other, pos_label = sorted(known)
        except TypeError:
            advice = word_to_find(known, "pos_label={!r}")
            raise InputError(f"y holds the labels {shown}; say which one is to be found: {advice}.") from None
        warnings.warn(
            f"{pos_label!r} is taken as the label to be found and {other!r} as the other, because it sorts last; "
            f"pos_label={pos_label!r} or pos_label={other!r} says which.",
            InputWarning,
            stacklevel=6,
        )
    return TwoLabels(known[1 - known.index(pos_label)], known[known.index(pos_label)])


def label_to_find(pos_label: str | None, positive: str | None) -> str | None:
    """The label that is to be found; ``positive`` is the older name of ``pos_label``."""
    if positive is None:
        return pos_label
    if pos_label not in (None, positive):
        raise InputError(f"positive={positive!r} is the older name of pos_label={pos_label!r}; leave it out.")
    warnings.warn("positive is now called pos_label; the older name will go.", FutureWarning, stacklevel=4)
    return positive


def labels_of(y: Any, n: int, labels: TwoLabels | None, utilities: bool = False) -> Floats:
    """Labels of rows to be scored, mapped as those of the fit; one class alone is legal."""
    return check_labels(y if labels is None else labels.applied(y), n, one_class=True, utilities=utilities)
