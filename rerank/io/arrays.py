"""What arrays may enter: each check returns the array as the toolkit wants it, or says which entry is wrong.

Rows and columns are counted from 0, as NumPy does; the readers in `rerank.io` report lines of the file.
"""

import os
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from rerank.errors import InputError

HEAVIEST = 2.0**1000  # largest weight, and one over the least that the largest may be


def check_matrix(X: Any, feature_names: Sequence[str] | None = None) -> np.ndarray:
    """Return the features (an array or a data frame) as a C-contiguous float64 array (n, d), every entry finite.
    ``feature_names`` name the column in messages; those of a data frame are taken when absent.
    """
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix, but a dense array is needed; pass X.toarray().")
    X, names = held(X), feature_names
    if names is None and hasattr(X, "columns"):
        names = [str(column) for column in X.columns]
    array = np.asarray(X)
    check_shape(array.shape)
    result = as_float(array, names)
    refuse_gaps(result, range(array.shape[1]), names, "fill or drop them before fitting")
    return result


def refuse_gaps(table: np.ndarray, columns: Sequence[int], names: Sequence[str] | None, advice: str) -> None:
    """Refuse a table with an entry that is NaN or infinite; ``columns`` are the numbers by which columns are known."""
    bad = ~np.isfinite(table)
    if bad.any():
        row, place = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"X holds {_spelled(table[row, place])} in row {row}, {_column(columns[place], names)}, "
            f"one of {int(bad.sum())} entries that are NaN or inf; {advice}."
        )


def held(X: Any) -> Any:
    """The table in memory: a lazy frame of polars collected, batches, readers and datasets of pyarrow as one table."""
    package = type(X).__module__.partition(".")[0]
    if isinstance(X, str | os.PathLike):
        raise InputError(f"X is {str(X)!r:.80}; pass the table of a file, such as pyarrow.dataset.dataset(path).")
    if package == "ray":
        raise InputError(f"X is a {type(X).__name__} of Ray, whose rows are not in memory; pass X.to_pandas().")
    try:
        if package == "polars" and hasattr(X, "collect"):
            return X.collect()
        if package == "pyarrow" and (read := getattr(X, "to_table", None) or getattr(X, "read_all", None)):
            return read()
        if package == "pyarrow" and type(X).__name__ == "RecordBatch":
            import pyarrow

            return pyarrow.Table.from_batches([X])
    except MemoryError:
        raise InputError(
            f"A {type(X).__name__} needs more memory than there is; read the rows and columns that count, with a "
            "filter, or a sample."
        ) from None
    except Exception as error:  # what a query meets when it runs: files, networks, its own mistakes
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise InputError(
            f"A {type(X).__name__} cannot be read ({reason}); mend it, or pass the table in memory."
        ) from error
    return X


def check_shape(shape: Sequence[int]) -> None:
    """Refuse a table that has not two dimensions, no rows or no columns."""
    if len(shape) != 2:
        raise InputError(
            f"X has {len(shape)} dimension(s), but a table of rows and columns is needed. Reshape your data: "
            "X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is a single row."
        )
    for count, what in zip(shape, ("sample", "feature")):
        if count == 0:
            raise InputError(
                f"X has 0 {what}(s) (shape={tuple(shape)}) while a minimum of 1 is required; "
                "pass a table that is not empty."
            )


def check_labels(y: Any, n: int | None = None, *, one_class: bool = False, utilities: bool = False) -> np.ndarray:
    """Return the labels as float64 of shape (n,): 0/1, booleans or grades from 0 upwards, at least two different.
    ``one_class`` accepts labels that are all equal: to score a list, not to fit one. ``utilities`` accepts any real
    numbers: only their order is asked for.
    """
    advice = "but labels are 0/1 or grades from 0 upwards; recode them, with 0 for the irrelevant rows"
    labels = _vector(y, n, "y", "label", None if utilities else advice)
    if not one_class and labels.size and labels.min() == labels.max():
        raise InputError(
            f"y holds one class only ({labels[0]:g} in all {labels.size} rows), so there is nothing to tell "
            "apart; pass rows of at least two classes or grades."
        )
    return labels


def check_weights(weights: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """Return weights as float64 of shape (n,): finite, none negative, not all zero."""
    values = _vector(weights, n, name, "weight", "but a weight cannot be negative; use 0 to leave a row out")
    if values.size and not values.any():
        raise InputError(f"{name} is 0 in every row: with all weights zero nothing counts; raise one above 0.")
    check_size(values, name)
    return values


def check_size(weights: np.ndarray, name: str) -> None:
    """Refuse weights whose sums are infinite, or are all so small that they are inexact."""
    largest = float(weights.max(initial=0.0))
    if weights.size and not 1 / HEAVIEST <= largest <= HEAVIEST:
        raise InputError(
            f"The largest {name} is {largest:g}, and sums of such numbers are inexact or infinite; divide all of them "
            "by a constant."
        )


def check_qid(qid: Any, n: int, name: str = "qid") -> np.ndarray:
    """Return ids of lists, or of groups, as one array of shape (n,), one a row, in any order; any hashable will do."""
    ids = np.asarray(qid)
    if ids.ndim != 1:
        raise InputError(f"{name} has {ids.ndim} dimension(s), but one id a row is needed; pass shape ({n},).")
    if ids.shape[0] != n:
        advice = "pass one id a row"
        if ids.dtype.kind in "iu" and ids.shape[0] < n and int(ids.sum()) == n:
            advice = "these look like group sizes; pass np.repeat(np.arange(len(sizes)), sizes)"
        raise InputError(f"{name} has {ids.shape[0]} entries for {n} rows; {advice}.")
    missing: list[int] = []
    if ids.dtype.kind == "f":
        missing = np.flatnonzero(~np.isfinite(ids)).tolist()
    elif ids.dtype.kind in "mM":
        missing = np.flatnonzero(np.isnat(ids)).tolist()
    elif ids.dtype.kind == "O":  # NA of pandas is not compared, but refuses to be
        missing = [row for row, q in enumerate(ids) if q is None or type(q).__name__ == "NAType" or q != q]
    if missing:
        raise InputError(f"{name} is missing (None, NaN or inf) in row {missing[0]}; give every row an id.")
    return ids


def plain_numbers(values: Any) -> np.ndarray:
    """The values as an array; objects that are all numbers or booleans, such as decimals, as float64."""
    array = np.asarray(held(values))
    if array.dtype.kind != "O" or not all(isinstance(value, Real | Decimal) for value in array.ravel().tolist()):
        return array
    try:
        return array.astype(np.float64)
    except OverflowError:
        return array  # refused where the entry is named


def _vector(values: Any, n: int | None, name: str, what: str, least: str | None) -> np.ndarray:
    """A float64 vector without negative entries, if ``least`` says so, or an error that names the entry."""
    array = np.asarray(held(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimension(s), not one; pass one {what} a row.")
    if n is not None and array.shape[0] != n:
        raise InputError(f"{name} has {array.shape[0]} entries for {n} rows of X; pass one {what} a row.")
    result = as_float(array[:, None], [name])[:, 0]
    if (bad := np.flatnonzero(~np.isfinite(result))).size:
        raise InputError(
            f"Input {name} contains {_spelled(result[bad[0]])} in row {bad[0]}, "
            f"but every {what} must be a finite number; fill or drop that row."
        )
    if least is not None and (bad := np.flatnonzero(result < 0)).size:
        raise InputError(f"{name} holds {result[bad[0]]:g} in row {bad[0]}, {least}.")
    return result


def as_float(array: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """The two-dimensional array as float64; the first entry that is no number is named."""
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: pass real numbers.")
    if array.dtype.kind in "biuf":
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind in "mM":
        raise InputError(f"{_column(0, names)} holds dates, not numbers; convert them, to days for instance.")
    result = np.empty(array.shape, dtype=np.float64)
    for (row, column), entry in np.ndenumerate(array):
        try:
            # Text is refused even when it reads as a number: digits in quotes are often a code, not a size.
            if isinstance(entry, (str, bytes)):
                raise TypeError
            result[row, column] = np.nan if entry is None else float(entry)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"Row {row}, {_column(column, names)} holds {str(entry)[:40]!r}, "
                "but every entry must be a number; convert, encode or drop that column."
            ) from None
    return result


def _column(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f"column {column} ({names[column]!r})"


def _spelled(value: float) -> str:
    return "NaN" if np.isnan(value) else "inf" if value > 0 else "-inf"
