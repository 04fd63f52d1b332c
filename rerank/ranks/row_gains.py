"""What each row of a list is worth: gains of labels, weighted rows, and relevant items that are no rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.options import one_of
from rerank.statistics import Precision, RankStatistic, parse

Floats = NDArray[np.float64]
Gain = Literal["exponential", "linear", "binary", "order"]
IdealGains = Mapping[Any, Sequence[float]] | None
KINDS = ("exponential", "linear")  # what a user may ask for; "binary" and "order" are what a statistic may ask for
LARGEST = 2.0**1000  # gain of a label of 1000, the largest: sums over rows stay finite


def gain_of(stat: object, gain: Gain, sample_weight: ArrayLike | None = None) -> Gain:
    """The gain that a statistic counts: the one given, but where it asks only whether a row is relevant ("binary"), or
    which of two rows has the larger label ("order").
    """
    one_of("gain", gain, KINDS)
    statistic = parse(stat)
    if (statistic.weighs_hits or statistic.by_order) and sample_weight is not None:
        other = ~np.isin(weights := _numbers(sample_weight, "sample_weight"), (0.0, 1.0))
        if other.any():
            raise InputError(
                f"The sample_weight of row {int(np.argmax(other))} is {weights[np.argmax(other)]}, and "
                f"{statistic.name} counts whole rows; give 0 and 1 alone, or weigh lists with query_weight."
            )
    return "order" if statistic.by_order else "binary" if statistic.binary else gain


def asks_relevance(statistic: RankStatistic) -> bool:
    """Whether the measure that search knows by this name asks only whether a document is relevant.

    That holds for P@k, too, though ``precision@k`` counts gains where labels are utilities.
    """
    return statistic.binary or isinstance(getattr(statistic, "statistic", statistic), Precision)


def gains(y: ArrayLike, kind: Gain = "exponential") -> Floats:
    """Gain of each label: ``2^g - 1`` ("exponential"), the label itself ("linear"), 1 if it is above 0 ("binary"), or
    how many smaller labels there are ("order").

    Labels 0 and 1 stay 0 and 1 under all.

    Parameters
    ----------
    y : array (n,)
        Labels or grades, finite and, but for "order", not negative; 0 is irrelevant.
    kind : {"exponential", "linear", "binary", "order"}

    Returns
    -------
    float64 array (n,)

    Raises
    ------
    InputError
        Naming the first row whose label is missing, negative or too large.
    """
    if kind == "order":
        return np.unique(_numbers(y, "label", signed=True), return_inverse=True)[1].astype(np.float64)
    if kind == "binary":
        return (_numbers(y, "label") > 0).astype(np.float64)
    one_of("gain", kind, KINDS)
    grades = _numbers(y, "label")
    if kind == "linear":
        _refuse(grades > LARGEST, grades, "label", f"numbers of at most {LARGEST:.3g}")
        return grades
    _refuse(grades > 1000, grades, "label", "numbers of at most 1000; use gain='linear' for larger ones")
    whole = grades.astype(np.int64)
    # ldexp is exact for whole grades, where the last bit of exp2 depends on the C library.
    return np.where(grades == whole, np.ldexp(1.0, whole), np.exp2(grades)) - 1.0


def weighted_gains(y: ArrayLike, kind: Gain = "exponential", sample_weight: ArrayLike | None = None) -> Floats:
    """Gains, each multiplied by the weight of its row."""
    plain = gains(y, kind)
    if sample_weight is None:
        return plain
    weights = _numbers(sample_weight, "sample_weight")
    if weights.shape != plain.shape:
        raise InputError(f"There are {plain.size} labels and {weights.size} sample weights; give one per row.")
    with np.errstate(over="ignore"):
        found = plain * weights
    _refuse(found > LARGEST, weights, "sample_weight", f"smaller ones: times the gain it is above {LARGEST:.3g}")
    return found


def missed_gains(ideal_gains: IdealGains, names: Sequence[Any], gain: Gain) -> list[Floats]:
    """Gains of the relevant items that are not among the rows of each list; the only list is called 0 without ``qid``.

    Lists that have no rows here are left out, and a mapping that names no list with rows is refused.
    """
    if not ideal_gains:
        return [np.empty(0)] * len(names)
    if not any(name in ideal_gains for name in names):
        raise InputError(
            f"ideal_gains names lists such as {next(iter(ideal_gains))!r}, and none of them is in qid, which has "
            f"{names[0]!r}; give the same ids."
        )
    none = np.empty(0)
    return [gains(list(ideal_gains[name]), gain) if name in ideal_gains else none for name in names]


def _numbers(values: ArrayLike, what: str, signed: bool = False) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Every {what} must be a number; 0 is irrelevant, larger is better.") from None
    if numbers.ndim != 1:
        raise InputError(f"The {what} column has shape {numbers.shape}; give one number per row.")
    _refuse(~np.isfinite(numbers), numbers, what, "finite numbers")
    _refuse((numbers < 0) & (not signed), numbers, what, "numbers >= 0 (write 0 for an irrelevant item, not -1)")
    return numbers


def _refuse(bad: NDArray[np.bool_], numbers: Floats, what: str, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"The {what} of row {row} is {numbers[row]}; give {expected}.")
