"""Parquet tables, read through pyarrow: label, list, name and weight by column name, the other numbers as features."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io import ideal
from rerank.io.bounded import open_regular, within_memory
from rerank.io.columns import COMPLETE, FileColumns, Kinds, choose_columns, distinct
from rerank.io.frames import arrow_numeric, entries, joined, numbers
from rerank.io.labels import POSITIVE, label_to_find, word_to_find
from rerank.io.lines import Path
from rerank.io.meant import note_on
from rerank.io.svmlight import MAX_CELLS
from rerank.io.table import Floats, Table

BATCH = 2**16


@within_memory
def read_parquet(
    path: Path,
    *,
    label: str | None = None,
    qid: str | None = None,
    id: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
    people: str | None = None,
    features: Sequence[str] | None = None,
    pos_label: str | None = None,
    kinds: Kinds | None = None,
    positive: str | None = None,
) -> Table:
    """Read a table from a Parquet file; the options are those of :func:`rerank.io.read_csv`.

    Columns of integers, floating-point numbers, decimals and booleans are numbers, also where they are encoded as a
    dictionary; all others are left out unless they have a role, and are named in `Table.notes`. So is a saved index,
    which the file's metadata of pandas names. Rows are counted from 0 in errors. Refused are a file that is no Parquet
    file or damaged, a column that does not exist, a value that is missing or infinite, a column of features without
    numbers, a negative label or weight, and a table of more than 2**27 cells.
    """
    with _opened(path) as opened:
        schema = opened.schema_arrow
        names = list(schema.names)
        distinct(path, names)
        roles = {"label": label, "qid": qid, "id": id, "weight": weight, "groups": groups, "people": people}
        numeric = [arrow_numeric(field.type) for field in schema]
        useful = [kinds is not None or own for own in numeric]
        columns = choose_columns(
            path, names, roles, features, label_to_find(pos_label, positive), useful.__getitem__, "no numbers", schema
        )
        for column in columns.features:
            if not numeric[column] and _complete_numbers(kinds, names[column]):
                name = columns.name(column)
                raise InputError(f"{path}: column {name} holds no numbers; convert it, or leave it out.")
        rows = opened.metadata.num_rows
        for column in columns.roles.values():
            if schema.field(column).type.num_fields:
                raise InputError(f"{path}: column {columns.name(column)} holds lists or records; name another one.")
        worded = {*columns.roles.values(), *(column for column in columns.features if not numeric[column])}
        # A text takes about as much memory as eight numbers, and each of its bytes, which are held up to five times, as
        # five eighths of one.
        texts = 8 * rows * len(worded) + 5 * _size(opened) // 8 if worded else 0
        if rows * len(columns.features) + texts > MAX_CELLS:  # too much for all columns, so each is looked at
            sizes = _sizes(opened)
            texts = sum(max(8 * rows, 5 * sizes.get(names[column], 0) // 8) for column in worded)
        if rows * len(columns.features) + texts > MAX_CELLS:
            raise InputError(
                f"{path} has {rows} rows of {len(columns.features)} features, with texts over {MAX_CELLS} cells; "
                "choose fewer columns with features, or write the rows that count, or a sample, to a file of their own."
            )
        return ideal.joined(path, _table(opened, columns, kinds))


def _is_text(kind: Any) -> bool:
    """Whether a type of pyarrow is one of texts or bytes, which a file may hold as a dictionary."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _size(opened: Any) -> int:
    """Bytes of all columns, unpacked. pyarrow ends the process over a damaged record of a column, which this spares."""
    metadata = opened.metadata
    return sum(max(0, metadata.row_group(number).total_byte_size) for number in range(metadata.num_row_groups))


def _sizes(opened: Any) -> dict[str, int]:
    """Bytes of each flat column, unpacked; texts that are in many rows are held once, and so counted once."""
    sizes: dict[str, int] = {}
    for number in range(opened.metadata.num_row_groups):
        group = opened.metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            sizes[column.path_in_schema] = sizes.get(column.path_in_schema, 0) + column.total_uncompressed_size
    return sizes


def _complete_numbers(kinds: Kinds | None, name: str) -> bool:
    """Whether a column of features has to hold numbers, and all of them."""
    return kinds is None or kinds.get(name) == COMPLETE


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some rows of an open file, every entry of a column checked where it is read."""

    columns: FileColumns
    kinds: Kinds | None
    nested: set[str]  # columns that hold neither numbers nor text, which no fit uses
    own: Any  # of pyarrow
    begin: int  # the number of its first row in the file

    def features(self, column: int) -> NDArray[Any]:
        """A column of features."""
        name = self.columns.names[column]
        return self.numbers(column) if _complete_numbers(self.kinds, name) else self._entries(column, name)

    def note(self, column: int) -> str:
        """What a column of features may mean otherwise."""
        name = self.columns.names[column]
        kind = (self.kinds or {}).get(name)
        if name in self.nested or (kind is not None and kind.texts):
            return ""
        return note_on(self.columns.name(column), self.own.column(name))

    def words(self, column: int) -> Iterator[str]:
        """A column of texts, none of them missing, without spaces around them."""
        return (str(value).strip() for value in entries(self._complete(column)))

    def numbers(self, column: int) -> Floats:
        """A column that has to hold numbers."""
        values = self._complete(column)
        if (found := numbers(values)) is not None:
            return self._finite(column, found)
        advice = "name another one"
        if column == self.columns.roles.get("label"):
            words = word_to_find((str(word)[:40] for word in values.unique().to_pylist()), POSITIVE)
            advice = f"if labels are words, name the one to find: {words}"
        raise InputError(f"{self.columns.path}: column {self.columns.name(column)} holds no numbers; {advice}.")

    def _entries(self, column: int, name: str) -> NDArray[Any]:
        """A column that may hold texts or miss values: NaN or None where one is missing."""
        if name in self.nested:
            return np.array([()] * self.own.num_rows + [None], dtype=np.object_)[:-1]
        kind, values = (self.kinds or {}).get(name), self.own.column(name)
        worded = kind is not None and kind.texts
        if not worded and (found := numbers(values)) is not None:
            return self._finite(column, found, gaps=True)
        each = np.empty(self.own.num_rows, dtype=np.object_)
        for place, entry in enumerate(entries(values)):
            each[place] = str(entry) if worded and entry is not None else entry
        return each

    def _complete(self, column: int) -> Any:
        """The values of a column, none of them missing."""
        columns, values = self.columns, self.own.column(self.columns.names[column])
        if values.null_count:
            missing = self.begin + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(
                f"{columns.path}: column {columns.name(column)} has no value in row {missing}; fill it in or drop the "
                "row."
            )
        return values

    def _finite(self, column: int, found: Floats, gaps: bool = False) -> Floats:
        """Numbers of a column, none of them infinite, and none NaN without gaps."""
        infinite, missing = np.isinf(found), np.isnan(found)
        if infinite.any() or (missing.any() and not gaps):
            columns, bad = self.columns, int((infinite if infinite.any() else missing).argmax())
            raise InputError(
                f"{columns.path}: column {columns.name(column)} holds {found[bad]} in row {self.begin + bad}, which is "
                "not finite; fill it in or drop the row."
            )
        return found


def _table(opened: Any, columns: FileColumns, kinds: Kinds | None) -> Table:
    """The table of an open file, read in batches."""
    row, known, said = 0, dict[str, str](), dict[int, str]()
    features: dict[int, list[Any]] = {column: [] for column in columns.features}
    texts: dict[str, list[str]] = {role: [] for role in columns.worded}
    amounts: dict[str, list[Floats]] = {role: [] for role in columns.roles if role not in texts}
    wanted = [columns.names[column] for column in (*columns.features, *columns.roles.values())]
    nested = {field.name for field in opened.schema_arrow if field.type.num_fields}
    read = [name for name in wanted if name not in nested]
    for own in opened.iter_batches(BATCH, columns=read, use_threads=False):
        batch = _Batch(columns, kinds, nested, own, row)
        for column, parts in features.items():
            parts.append(batch.features(column))
            said[column] = said.get(column) or batch.note(column)
        for role, taken in texts.items():
            # Equal words share one object: a list id stands in many rows.
            taken += [known.setdefault(word, word) for word in batch.words(columns.roles[role])]
        for role, parts in amounts.items():
            parts.append(batch.numbers(columns.roles[role]))
        row += own.num_rows
    if not row:
        raise InputError(f"{columns.path} has columns but no rows; pass a file with data.")
    columns.notes.extend(notes := [note for note in said.values() if note])
    X = joined({columns.names[column]: np.concatenate(parts) for column, parts in features.items()}, notes)
    each_amount = {role: np.concatenate(parts) for role, parts in amounts.items()}
    return columns.table(X, texts, each_amount, lambda bad: (f"{columns.path}: ", f" in row {bad}"))


def parquet_columns(path: Path) -> list[str]:
    """Names of the columns of a Parquet file; errors as :func:`read_parquet`."""
    with _opened(path) as opened:
        return list(opened.schema_arrow.names)


def parquet_cells(path: Path, names: Sequence[str], rows: Sequence[int]) -> dict[str, list[str]]:
    """The entries of some columns in some rows, as texts, "" where one is missing; errors as :func:`read_parquet`."""
    with _opened(path) as opened:
        table = opened.read(columns=list(names), use_threads=False).take(list(rows))
        return {name: ["" if entry is None else str(entry) for entry in entries(table.column(name))] for name in names}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A Parquet file while the block runs, with the exceptions of pyarrow turned into ours."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            f"{path} is a Parquet file, which pyarrow reads; pip install 'exact-rerank[parquet]', or save the "
            "table as CSV."
        ) from None
    with open_regular(path) as file:
        try:
            opened = parquet.ParquetFile(file)
            # A text that is in many rows is held once.
            texts = [field.name for field in opened.schema_arrow if _is_text(field.type)]
            yield parquet.ParquetFile(file, read_dictionary=texts) if texts else opened
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            reason = (str(error).splitlines() or ["damaged"])[0][:120]
            raise InputError(f"{path} is no Parquet file that can be read ({reason}); write it again.") from None
