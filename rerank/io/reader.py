"""The reader that chooses the format by the file's name."""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rerank.errors import InputError
from rerank.io.columns import place_of
from rerank.io.csv_table import csv_rows, header_names, read_csv
from rerank.io.parquet import parquet_cells, parquet_columns, read_parquet
from rerank.io.svmlight import read_svmlight
from rerank.io.table import Table

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = {".parquet", ".pq"}
# LETOR, the usual collection of graded lists, calls its svmlight files .txt.
TEXT = ".txt"
SVMLIGHT = {".svm", ".svmlight", ".libsvm", ".letor", TEXT}


def read_table(path: str | os.PathLike[str], **options: Any) -> Table:
    """Read a CSV, svmlight or Parquet file. The suffix before ``.gz`` says which; options go to its reader.

    Raises
    ------
    InputError
        Another suffix, an option the format does not have, or anything its reader refuses.
    """
    suffix = suffix_of(path)
    given = {key: value for key, value in options.items() if value is not None}
    if suffix in DELIMITERS:
        return read_csv(path, **{"delimiter": DELIMITERS[suffix], **given})
    if suffix in PARQUET and not str(path).lower().endswith(".gz"):
        if "delimiter" in given:
            raise InputError(f"{path} is a Parquet file, which has no delimiter; leave that option out.")
        return read_parquet(path, **given)
    if suffix in SVMLIGHT:
        if not given.get("kinds"):
            given.pop("kinds", None)  # all of it is complete numbers
        for key in given.keys() - {"n_features", "zero_based", "features"}:
            what = {"delimiter": key, "kinds": "column of texts"}.get(key, f"{key} column by name")
            raise InputError(f"{path} is svmlight, which has no {what}; leave that option out.")
        return read_svmlight(path, **given)
    known = ", ".join([*DELIMITERS, ".parquet", *sorted(SVMLIGHT)])
    what = f"has the suffix {suffix!r}, which names no" if suffix else "has no suffix that names a"
    raise InputError(f"{path} {what} format that is read; save the table in one of {known}.")


def column_names(path: str | os.PathLike[str], delimiter: str | None = None) -> list[str]:
    """Names of the columns of a CSV or Parquet file; [] where the format has none."""
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        _, names = next(csv_rows(path, delimiter or DELIMITERS[suffix]), (0, []))
        return header_names(names)
    return parquet_columns(path) if suffix in PARQUET else []


def cells_of(
    path: str | os.PathLike[str], names: Sequence[str], rows: Iterable[int], delimiter: str | None = None
) -> dict[str, list[str]]:
    """The cells of some columns of a CSV or Parquet file in some rows, counted from 0, in their order, as texts.

    Raises
    ------
    InputError
        For a column that is not there.
    """
    suffix, wanted = suffix_of(path), list(rows)
    places = {name: place for place, name in enumerate(column_names(path, delimiter))}
    columns = {name: place_of(path, places, name) for name in names}
    if suffix in PARQUET:
        return parquet_cells(path, list(columns), wanted)
    last, needed, found = max(wanted, default=-1), set(wanted), dict[int, list[str]]()
    lines = islice(csv_rows(path, delimiter or DELIMITERS[suffix]), 1, last + 2) if columns else ()
    for row, (_, cells) in enumerate(lines):
        if row in needed:
            found[row] = [cells[place].strip() for place in columns.values()]
    return {name: [found[row][k] for row in wanted] for k, name in enumerate(columns)}


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the suffix is one that tables alone have; LETOR's ``.txt`` may be a run as well."""
    return suffix_of(path) in {*DELIMITERS, *PARQUET, *SVMLIGHT} - {TEXT}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that names the format, in small letters, without ``.gz``."""
    return Path(Path(path).name.removesuffix(".gz")).suffix.lower()
