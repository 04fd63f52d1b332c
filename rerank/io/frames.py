"""Tables of other packages as they are: names, single columns as numbers, some of the rows.

A table is a NumPy array, a SciPy sparse matrix, a pandas or polars data frame, or a pyarrow table. Nothing is copied
but the columns that are asked for. None of these packages is imported here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isnan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
from rerank.io.arrays import as_float, check_matrix, check_shape, held, refuse_gaps
from rerank.io.bounded import repeated
from rerank.io.columns import saved_index

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of a file that holds texts or gaps, where no package of data frames is needed."""

    columns: dict[str, NDArray[Any]]  # numbers, NaN where one is missing; or objects, None where one is missing
    notes: tuple[str, ...] = ()  # what columns may mean otherwise than they were read

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(next(iter(self.columns.values()), ())), len(self.columns)

    def to_series(self, j: int) -> NDArray[Any]:
        """One column, as polars calls it."""
        return list(self.columns.values())[j]

    def __getitem__(self, rows: Any) -> Self:
        return replace(self, columns={name: values[rows] for name, values in self.columns.items()})


def joined(columns: Mapping[str, NDArray[np.generic]], notes: Iterable[str] = ()) -> Floats | Frame:
    """One array of float64 if all columns are complete numbers, else a data frame."""
    if all(values.dtype.kind == "f" and not np.isnan(values).any() for values in columns.values()):
        return np.column_stack(list(columns.values()))
    return Frame(dict(columns), tuple(notes))


def with_columns(X: Floats | Frame, names: Sequence[str], wanted: Sequence[str]) -> Frame:
    """The table with the columns that are ``wanted``; those that are not among its ``names`` hold nothing."""
    there, nothing = Frame(dict(zip(names, X.T))) if isinstance(X, np.ndarray) else X, np.full(X.shape[0], None)
    return replace(there, columns={name: there.columns.get(name, nothing) for name in wanted})


def is_frame(X: Any) -> bool:
    """Whether the columns have names."""
    return hasattr(X, "columns") or hasattr(X, "column_names")


def is_sparse(X: Any) -> bool:
    """Whether it is a SciPy sparse matrix or array."""
    return hasattr(X, "toarray") and hasattr(X, "tocsc")


def names_of(X: Any) -> tuple[str, ...]:
    """Names of the columns; ``x0``, ``x1``, ... where they have none."""
    if is_frame(X):
        named = hasattr(type(X), "column_names")  # not X: a column of a pandas frame may be called so
        return tuple(str(name) for name in (X.column_names if named else X.columns))
    return tuple(f"x{j}" for j in range(X.shape[1]))


def as_table(X: Any) -> Any:
    """The table in memory, or a nested sequence as an array: two dimensions, rows, columns, and no name twice."""
    X = held(X)
    if hasattr(X, "to_frame") and not is_frame(X):
        raise InputError("X is a single column, but a table of rows and columns is needed; pass X.to_frame().")
    table: Any = X if is_frame(X) or is_sparse(X) else np.asarray(X)
    kinds = {isinstance(name, str) for name in table.columns} if hasattr(table, "iloc") else set()
    if len(kinds) > 1:
        raise InputError(
            "X has names of columns that are texts and others that are none; make all of them texts: "
            "X.columns = X.columns.astype(str)."
        )
    shape = getattr(table, "shape", ())
    if is_frame(table) and not (isinstance(shape, tuple) and all(isinstance(size, int) for size in shape)):
        raise InputError(
            f"X is a {type(X).__name__} whose rows are not in memory; pass the frame that it computes (X.compute())."
        )
    check_shape(shape)
    if is_frame(table):
        names = names_of(table)
        if len(set(names)) < len(names):
            raise InputError(f"X has two columns {repeated(names)!r}; give every column its own name.")
    return table


def place_of(X: Any, name: str) -> int:
    """Number of a column; InputError names the nearest one if there is none of that name."""
    return _place(names_of(X), name)


def _place(names: Sequence[str], name: str, places: Mapping[str, int] | None = None) -> int:
    found = {name: j for j, name in enumerate(names)} if places is None else places
    if name not in found:
        raise InputError(f"X has no column {name!r}; did you mean {nearest(name, names)!r}?")
    return found[name]


def column(X: Any, j: int) -> Any:
    """One column, as the package has it; dense if the table is sparse."""
    if is_sparse(X):
        return X.tocsc()[:, [j]].toarray()[:, 0]
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    if hasattr(X, "to_series"):
        return X.to_series(j)
    return X.column(j) if hasattr(X, "column_names") else X[:, j]


def numbers(values: Any) -> Floats | None:
    """One column as float64, NaN where a value is missing; None if it does not hold numbers or booleans. Text is
    refused even where it reads as a number: digits in quotes are often a code, not a size.
    """
    if type(values).__module__.startswith("pyarrow"):
        return _of_arrow(values) if arrow_numeric(values.type) else None
    if type(values).__module__.startswith("polars"):
        if str(values.dtype) == "Object":
            return _of_objects(np.array(values.to_list(), dtype=object))
        numeric = values.dtype.is_numeric() or str(values.dtype) == "Boolean"
        return np.array(values.cast(float).to_numpy(), dtype=np.float64) if numeric else None
    kind = getattr(values.dtype, "kind", "O")
    if hasattr(values.dtype, "pyarrow_dtype"):  # pandas holds decimals and encoded numbers so, of kind O
        import pyarrow

        return numbers(pyarrow.chunked_array(pyarrow.array(values)))
    if hasattr(values, "to_numpy") and not isinstance(values.dtype, np.dtype):
        # pandas: nullable and Arrow types tell their kind, categories do not.
        if kind not in "biuf" or str(values.dtype) == "category":
            return None
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    array = np.asarray(values)
    if kind in "biuf":
        return array.astype(np.float64)
    return _of_objects(array) if kind == "O" else None


def arrow_numeric(kind: Any) -> bool:
    """Whether a type of pyarrow is one of numbers or booleans; what encodes values as a dictionary is like them."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return arrow_numeric(kind.value_type)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(number or types.is_boolean(kind))


def _of_arrow(values: Any) -> Floats:
    """A column of :func:`arrow_numeric` type; decimals are rounded to the nearest double, as their digits read."""
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):
        return _of_arrow(values.cast(kind.value_type))
    if types.is_decimal(kind):
        return np.array([np.nan if value is None else float(value) for value in values.to_pylist()], dtype=np.float64)
    if types.is_boolean(kind):
        values = values.cast("int8")
    if not types.is_floating(kind):
        values = values.cast("float64", safe=False)
    many = hasattr(values, "chunks")
    return np.asarray(values.to_numpy() if many else values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _of_objects(array: NDArray[np.generic]) -> Floats | None:
    found = np.empty(array.size)
    for row, entry in enumerate(array):
        missing = entry is None or type(entry).__name__ == "NAType"
        no_number = isinstance(entry, str | bytes | complex | np.timedelta64 | np.datetime64)
        if no_number or not (missing or hasattr(entry, "__float__")):
            return None
        try:
            found[row] = np.nan if missing else float(entry)
        except (TypeError, ValueError, OverflowError):
            return None
    return found


def some_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some of the rows, in the order given, as a table of the same kind."""
    if is_sparse(X):
        return X.tocsr()[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "column_names") else X[rows]


def frame_like(X: Any, columns: Mapping[str, NDArray[np.generic]]) -> Any:
    """A data frame of the package of another one, with its index if it has one."""
    if hasattr(X, "iloc"):
        return type(X)(dict(columns), index=X.index)
    return type(X).from_pydict(dict(columns)) if hasattr(X, "column_names") else type(X)(dict(columns))


def index_of(X: Any) -> list[str]:
    """Names of the columns that are a saved index (:func:`rerank.io.columns.saved_index`)."""
    if not is_frame(X) or isinstance(X, Frame):  # a reader has left them out, unless they were named
        return []
    names = names_of(X)
    return [names[place] for place in saved_index(names, getattr(X, "schema", None))]


def without(X: Any, *names: str) -> Any:
    """The table without some columns, those of them that it has."""
    dropped = [name for name in names_of(X) if name in names] if is_frame(X) else []
    if not dropped:
        return X
    if isinstance(X, Frame):
        return replace(X, columns={name: values for name, values in X.columns.items() if name not in dropped})
    if hasattr(X, "iloc"):
        return X.loc[:, [str(name) not in dropped for name in X.columns]]
    return X.drop(dropped)


def _listed(names: Sequence[str]) -> str:
    """The first names of some columns."""
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"the {f'{len(names)} columns' if len(names) > 1 else 'column'} {shown}"


def by_name(X: Any, wanted: Sequence[str], named: bool) -> Any:
    """The columns of a fit, in their order, from a data frame that may have others; as it is if names are no texts.
    Without ``named`` the fit was on numbers of a file or an array, and a table of as many columns, none of which is
    called like one of the fit's, is taken in its own order.
    """
    own, found = list(X.column_names if hasattr(X, "column_names") else X.columns), dict.fromkeys(names_of(X))
    if list(found) == list(wanted) or not all(isinstance(name, str) for name in own):
        return X
    missing = [name for name in wanted if name not in found]
    if missing and not named and len(found) == len(wanted) == len(missing):
        return X
    if missing:
        raise InputError(f"X lacks {_listed(missing)} of the fit; add what is missing, under the name it had.")
    if isinstance(X, Frame):
        return replace(X, columns={name: X.columns[name] for name in wanted})
    return X[list(wanted)] if hasattr(X, "iloc") else X.select(list(wanted))


def complete(table: Any) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Columns that hold numbers and miss none, and the names of the others."""
    if is_sparse(table):
        return np.arange(table.shape[1], dtype=np.intp), ()
    if isinstance(table, np.ndarray):
        good = ~np.isnan(as_float(table, None)).any(axis=0)  # text in a plain array is a mistake
    else:
        found = (numbers(column(table, j)) for j in range(table.shape[1]))
        good = np.array([values is not None and not np.isnan(values).any() for values in found])
    names = names_of(table)
    return np.flatnonzero(good).astype(np.intp), tuple(names[j] for j in np.flatnonzero(~good))


def chosen_columns(table: Any, features: Any) -> NDArray[np.intp]:
    """The columns meant by names, numbers or a mask, ascending."""
    if not isinstance(features, Iterable):
        raise InputError(
            f"features is {features!r}; give names or numbers of columns of X, a mask, a callable, or a transformer."
        )
    wanted: list[Any] = [features] if isinstance(features, str) else list(features)
    d = table.shape[1]
    if len(wanted) == d and all(isinstance(column, bool | np.bool_) for column in wanted):
        wanted = np.flatnonzero(wanted).tolist()
    places, names = list[int](), names_of(table)
    known = {name: j for j, name in enumerate(names)}
    for column in wanted:
        if isinstance(column, str):
            places.append(_place(names, column, known))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and -d <= column < d:
            places.append(int(column) % d)
        else:
            raise InputError(
                f"features holds {column!r}; give names or numbers of the {d} columns of X, a mask, a callable, or "
                "a transformer."
            )
    if not places or len(set(places)) < len(places):
        what = "is empty" if not places else "names a column twice"
        raise InputError(f"features {what}; name each column to rerank once.")
    return np.array(sorted(places), dtype=np.intp)


def found_numbers(X: Any, which: Sequence[int] | NDArray[np.intp]) -> Floats:
    """Some columns as one float64 array (n, columns), every entry finite."""
    names, chosen = names_of(X), [int(j) for j in which]
    if not chosen:
        return np.empty((X.shape[0], 0))
    if isinstance(X, np.ndarray):
        every = chosen == list(range(X.shape[1]))
        return check_matrix(X) if every else check_matrix(X[:, chosen], [names[j] for j in chosen])
    table = np.empty((X.shape[0], len(chosen)))
    for place, j in enumerate(chosen):
        values = numbers(column(X, j))
        if values is None:
            own = column(X, j)
            kind = str(getattr(own, "dtype", None) or getattr(own, "type", "")).lower()
            times = kind.startswith(("date", "time", "duration", "month", "period"))
            found, cure = ("dates or times, not", "convert it, to days for instance") if times else ("no", "encode it")
            raise InputError(f"Column {names[j]!r} holds {found} numbers; {cure}, or leave it out with features=[...].")
        table[:, place] = values
    refuse_gaps(table, chosen, names, "fill or drop them, or leave the column out with features=[...]")
    return table


_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)


def _of_dictionary(values: Any) -> list[Any]:
    """A column of pyarrow as Python objects, one for all rows that share an entry of a dictionary."""
    if hasattr(values, "chunks"):
        return [value for chunk in values.chunks for value in _of_dictionary(chunk)]
    if not hasattr(values, "dictionary"):
        found: list[Any] = values.to_pylist()
        return found
    known = values.dictionary.to_pylist()
    return [None if code is None else known[code] for code in values.indices.to_pylist()]


def are_dates(found: Iterable[Any]) -> bool:
    """Whether all of these are dates or times, or texts that are written like a date."""
    return all(
        hasattr(value, "isoformat")
        or type(value).__name__.startswith("timedelta")
        or (isinstance(value, str) and _DATE.fullmatch(value.strip()) is not None)
        for value in found
    )


def entries(values: Any) -> list[Any]:
    """One column as Python objects, None where one is missing: None, NaN, NaT and NA of any package."""
    if hasattr(values, "to_pylist"):
        found = _of_dictionary(values)
    elif type(values).__module__.startswith("polars"):
        found = values.to_list()
    else:
        kind = "O" if hasattr(values, "iloc") else np.asarray(values).dtype.kind
        # Times of NumPy that are finer than a microsecond would become numbers.
        found = list(values) if kind not in "mM" else np.asarray(values).astype(f"{kind}8[us]").tolist()
    kinds = set(map(type, found))
    number = (float, np.floating, Decimal)
    odd = {kind for kind in kinds if issubclass(kind, number) or kind.__name__ in ("NAType", "NaTType")}

    def missing(x: Any) -> bool:
        return type(x) in odd and (not isinstance(x, number) or isnan(x))

    return [None if missing(x) else x for x in found] if odd else found
