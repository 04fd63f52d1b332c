"""Parquet files row group by row group: tables that are read in parts, as often as they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
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
    gains : str
        Column of the gains.
    """

    path: Path
    number: int
    columns: tuple[str, ...]
    gains: str

    def __call__(self) -> tuple[Floats, Floats]:
        """Table (n, d) and gains (n,) of its rows.

        Raises
        ------
        InputError
            For a file that cannot be read, an entry that is no finite number, or a negative gain.
        """
        with _opened(self.path) as opened:
            wanted = list(dict.fromkeys([*self.columns, self.gains]))
            group = opened.read_row_group(self.number, columns=wanted, use_threads=False)
            return read_batches(self.path, group.to_batches(), self.columns, self.gains)


def read_batches(
    source: str | Path, batches: Iterable[Any], columns: Sequence[str], gains: str
) -> tuple[Floats, Floats]:
    """Table (n, d) and gains (n,) of batches of pyarrow.

    Parameters
    ----------
    source : str or path
        Where they come from, for errors.
    batches : iterable of RecordBatch
    columns : sequence of str
        Columns of the table, in this order.
    gains : str
        Column of the gains.

    Raises
    ------
    InputError
        For an entry that is no finite number, or a negative gain.
    """
    read = _Reader(source, [*columns, gains], {"label": len(columns)}, list(range(len(columns))), None)
    for batch in batches:
        read.add(batch)
    if not read.rows:
        return np.empty((0, len(columns))), np.empty(0)
    table = read.table([])
    assert table.y is not None
    return table.X, table.y


def row_groups(paths: str | Path | Sequence[str | Path], columns: Sequence[str], gains: str) -> list[RowGroup]:
    """The row groups of Parquet files, file after file.

    Parameters
    ----------
    paths : path or sequence of paths
    columns : sequence of str
        Columns of the table, for an anchored problem the given score first.
    gains : str
        Column of the gains, 0 for an irrelevant row.

    Raises
    ------
    InputError
        For a file that cannot be read, and for a column that it does not have.
    """
    found = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        file = Path(path)
        names = parquet_columns(file)
        for name in (*columns, gains):
            if name not in names:
                raise InputError(f"{file} has no column {name!r}; did you mean {nearest(name, names)!r}?")
        with _opened(file) as opened:
            number = opened.num_row_groups
        found += [RowGroup(file, i, tuple(columns), gains) for i in range(number)]
    return found
