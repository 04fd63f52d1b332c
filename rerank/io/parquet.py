"""Parquet tables, read through pyarrow: label, list, name and weight by column name, the other numbers as features."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io import ideal
from rerank.io.bounded import open_regular, within_memory
from rerank.io.columns import (
    distinct,
    index_note,
    named_features,
    refuse_forgotten_list,
    roles_of,
    saved_index,
    some,
)
from rerank.io.csv_header import two_words
from rerank.io.frames import arrow_numeric, numbers
from rerank.io.labels import POSITIVE, SIGNS_NOTE, grades_of_signs, word_to_find
from rerank.io.lines import Path, named
from rerank.io.svmlight import MAX_CELLS
from rerank.io.table import Floats, Table, Words

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
    features: Sequence[str] | None = None,
    positive: str | None = None,
) -> Table:
    """Read a table from a Parquet file; the options are those of :func:`rerank.io.read_csv`.

    Columns of integers, floating-point numbers, decimals and booleans are numbers, also where they are encoded as a
    dictionary; all others are left out unless they have a role, and are named in `Table.notes`. So is a saved index,
    which the file's metadata of pandas names. Rows are counted from 0 in errors.

    Raises
    ------
    InputError
        pyarrow is not installed, the file is no Parquet file or damaged, a column does not exist, a value is
        missing or infinite, a column of features holds no numbers, a label or weight is negative, a table of more
        than 2**27 cells.
    """
    with _opened(path) as opened:
        schema = opened.schema_arrow
        names = list(schema.names)
        distinct(path, names)
        roles = {"label": label, "qid": qid, "id": id, "weight": weight, "groups": groups}
        place = roles_of(path, names, roles)
        chosen, others, index = _features(path, schema, features, place)
        rows = opened.metadata.num_rows
        # A text takes about as much memory as eight numbers.
        if rows * (len(chosen) + 8 * len(place)) > MAX_CELLS:
            raise InputError(
                f"{path} has {rows} rows of {len(chosen)} features, over {MAX_CELLS} cells; "
                "choose fewer columns with features, or write the rows that count, or a sample, to a file of their own."
            )
        read = _Reader(path, names, place, chosen, positive)
        for batch in opened.iter_batches(BATCH, columns=[names[j] for j in read.wanted], use_threads=False):
            read.add(batch)
    return ideal.joined(path, read.table(others, index))


def parquet_columns(path: Path) -> list[str]:
    """Names of the columns of a Parquet file; errors as :func:`read_parquet`."""
    with _opened(path) as opened:
        return list(opened.schema_arrow.names)


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
            yield parquet.ParquetFile(file)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            reason = (str(error).splitlines() or ["damaged"])[0][:120]
            raise InputError(
                f"{path} is no Parquet file that can be read ({reason}); write it again."
            ) from None


def _features(
    path: Path, schema: Any, features: Sequence[str] | None, place: dict[str, int]
) -> tuple[list[int], list[int], list[int]]:
    """The columns used as features, those left out because they hold no numbers, and a saved index left out."""
    names, numeric, index = list(schema.names), [arrow_numeric(field.type) for field in schema], list[int]()
    if features is not None:
        chosen, others = named_features(path, names, features, place), []
    else:
        taken = set(place.values())
        free = [j for j in range(len(names)) if j not in taken]
        refuse_forgotten_list(path, names, free, place)
        index = [j for j in saved_index(names, schema) if j in free]
        free = [j for j in free if j not in index]
        chosen, others = [j for j in free if numeric[j]], [j for j in free if not numeric[j]]
    for j in chosen:
        if not numeric[j]:
            raise InputError(
                f"{path}: column {named(names[j])} holds no numbers; convert it, or leave it out."
            )
    if not chosen:
        raise InputError(f"{path} has no numeric column left for features; its columns are {some(names)}.")
    return chosen, others, index


class _Reader:
    """Collects batches of columns as arrays, every entry checked."""

    def __init__(
        self,
        path: Path,
        names: list[str],
        place: dict[str, int],
        chosen: list[int],
        positive: str | None,
    ) -> None:
        self.notes = list[str]()
        self.path, self.names, self.place, self.chosen, self.positive = path, names, place, chosen, positive
        self.wanted = [*chosen, *place.values()]
        self.blocks: list[Floats] = []
        self.roles: dict[str, list[Any]] = {role: [] for role in place}
        self.rows = 0
        self.known: dict[str, str] = {}

    def add(self, batch: Any) -> None:
        """Take some rows."""
        block = np.empty((batch.num_rows, len(self.chosen)))
        for j, column in enumerate(self.chosen):
            block[:, j] = self._numbers(batch.column(self.names[column]), column)
        self.blocks.append(block)
        for role, column in self.place.items():
            values = batch.column(self.names[column])
            worded = role in ("qid", "id", "groups") or (role == "label" and self.positive is not None)
            self.roles[role].append(self._words(values, column) if worded else self._numbers(values, column))
        self.rows += batch.num_rows

    def _numbers(self, values: Any, column: int) -> Floats:
        self._complete(values, column)
        result = numbers(values)
        if result is None:
            advice = "name another one"
            if column == self.place.get("label"):
                found = word_to_find((str(word)[:40] for word in values.unique().to_pylist()), POSITIVE)
                advice = f"if labels are words, name the one to find: {found}"
            raise InputError(f"{self.path}: column {named(self.names[column])} holds no numbers; {advice}.")
        bad = np.flatnonzero(~np.isfinite(result))
        if bad.size:
            found = f"holds {result[bad[0]]} in row {self.rows + int(bad[0])}, which is not finite"
            raise InputError(
                f"{self.path}: column {named(self.names[column])} {found}; fill it in or drop the row."
            )
        return result

    def _words(self, values: Any, column: int) -> list[str]:
        self._complete(values, column)
        texts = [str(value).strip() for value in values.to_pylist()]
        if "" in texts:
            found = f"is empty in row {self.rows + texts.index('')}"
            raise InputError(f"{self.path}: column {named(self.names[column])} {found}; fill it in.")
        return [self.known.setdefault(text, text) for text in texts]

    def _complete(self, values: Any, column: int) -> None:
        if values.null_count:
            row = self.rows + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(
                f"{self.path}: column {named(self.names[column])} has no value in row {row}; "
                "fill it in or drop the row."
            )

    def table(self, others: Sequence[int] = (), index: Sequence[int] = ()) -> Table:
        """The table of all rows."""
        if not self.rows:
            raise InputError(f"{self.path} has columns but no rows; pass a file with data.")
        if index:
            self.notes.append(index_note([self.names[j] for j in index]))
        if others:
            self.notes.append(f"Left out because they hold no numbers: {some([self.names[j] for j in others])}.")
        y = self._label()
        seen = self._label_words()
        return Table(
            X=np.concatenate(self.blocks),
            y=y,
            qid=self._column("qid"),
            ids=self._column("id"),
            feature_names=tuple(self.names[j] for j in self.chosen),
            sample_weight=self._amounts("weight"),
            notes=tuple(self.notes),
            groups=self._column("groups"),
            labels=None if seen is None or self.positive is None else two_words(seen, self.positive),
        )

    def _column(self, role: str) -> Words | None:
        if role not in self.place:
            return None
        return np.array([word for part in self.roles[role] for word in part], dtype=np.object_)

    def _label_words(self) -> list[str] | None:
        if self.positive is None or "label" not in self.place:
            return None
        return [word for part in self.roles["label"] for word in part]

    def _label(self) -> Floats | None:
        if "label" not in self.place:
            return None
        seen = self._label_words()
        if seen is None:
            labels = np.concatenate(self.roles["label"])
            grades = grades_of_signs(labels)
            if grades is not None and grades is not labels:
                self.notes.append(SIGNS_NOTE)
                return grades
            return self._amounts("label")
        if self.positive not in seen:
            name = self.names[self.place["label"]]
            raise InputError(
                f"{self.path}: no row has {named(str(self.positive))} in column {named(name)}; it holds {some(seen)}."
            )
        return np.array([word == self.positive for word in seen], dtype=np.float64)

    def _amounts(self, role: str) -> NDArray[np.float64] | None:
        if role not in self.place:
            return None
        values = np.concatenate(self.roles[role])
        bad = np.flatnonzero(values < 0)
        if bad.size:
            found = f"holds {values[bad[0]]:g} in row {bad[0]}, but a {role} is 0 or more"
            raise InputError(
                f"{self.path}: column {named(self.names[self.place[role]])} {found}; correct it."
            )
        return values
