"""Parquet files row group by row group: tables that are read in parts, as often as they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
from rerank.io.columns import saved_index
from rerank.io.frames import arrow_numeric
from rerank.io.parquet import _opened, _Reader, parquet_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowGroup:
    """One row group; calling it reads its columns and its gains.

    Attributes
    ----------
    path : Path
    number : int
    columns : tuple of str
        Columns of the table, in this order.
    gains : str or None
        Column of the gains; None for rows without, whose gains are 0.
    """

    path: Path
    number: int
    columns: tuple[str, ...]
    gains: str | None

    def __call__(self) -> tuple[Floats, Floats]:
        """Table (n, d) and gains (n,) of its rows.

        Raises
        ------
        InputError
            For a file that cannot be read, an entry that is no finite number, or a negative gain.
        """
        with _opened(self.path) as opened:
            wanted = list(dict.fromkeys(_all(self.columns, self.gains)))
            group = opened.read_row_group(self.number, columns=wanted, use_threads=False)
            return read_batches(self.path, group.to_batches(), self.columns, self.gains)


def read_batches(
    source: str | Path, batches: Iterable[Any], columns: Sequence[str], gains: str | None
) -> tuple[Floats, Floats]:
    """Table (n, d) and gains (n,) of batches of pyarrow.

    Parameters
    ----------
    source : str or path
        Where they come from, for errors.
    batches : iterable of RecordBatch
    columns : sequence of str
        Columns of the table, in this order.
    gains : str or None
        Column of the gains; None for rows without, whose gains are 0.

    Raises
    ------
    InputError
        For an entry that is no finite number, or a negative gain.
    """
    place = {} if gains is None else {"label": len(columns)}
    # The labels of one part do not tell whether -1 and 1 are all labels of the list.
    read = _Reader(source, _all(columns, gains), place, list(range(len(columns))), None, signs=False)
    for batch in batches:
        read.add(batch)
    if not read.rows:
        return np.empty((0, len(columns))), np.empty(0)
    table = read.table()
    return table.X, np.zeros(read.rows) if table.y is None else table.y


def _all(columns: Sequence[str], gains: str | None) -> list[str]:
    return [*columns] if gains is None else [*columns, gains]


def numeric_columns(path: str | Path) -> tuple[list[str], list[str]]:
    """Names of the columns of a Parquet file that hold numbers, and of a saved index; errors as :func:`row_groups`."""
    with _opened(Path(path)) as opened:
        schema = opened.schema_arrow
        return numeric_fields(schema.names, schema.types, schema)


def numeric_fields(names: Sequence[str], types: Sequence[Any], schema: Any) -> tuple[list[str], list[str]]:
    """Names of the columns with types of numbers that are no saved index, and of a saved index."""
    index = [names[place] for place in saved_index(names, schema)]
    return [name for name, kind in zip(names, types) if arrow_numeric(kind) and name not in index], index


def row_groups(
    paths: str | Path | Sequence[str | Path], columns: Sequence[str], gains: str | None
) -> list[RowGroup]:
    """The row groups of Parquet files, file after file.

    Parameters
    ----------
    paths : path or sequence of paths
    columns : sequence of str
        Columns of the table, for an anchored problem the given score first.
    gains : str or None
        Column of the gains, 0 for an irrelevant row; None for rows without.

    Raises
    ------
    InputError
        For a file that cannot be read, and for a column that it does not have.
    """
    found = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        file = Path(path)
        names = parquet_columns(file)
        for name in _all(columns, gains):
            if name not in names:
                raise InputError(f"{file} has no column {name!r}; did you mean {nearest(name, names)!r}?")
        with _opened(file) as opened:
            number = opened.num_row_groups
        found += [RowGroup(file, i, tuple(columns), gains) for i in range(number)]
    return found
