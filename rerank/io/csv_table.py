"""CSV with a header row: label, list, name and weight by column name, the other numbers as features."""

import csv
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io import ideal
from rerank.io.atomic import together
from rerank.io.bounded import within_memory
from rerank.io.columns import distinct, index_note, roles_of, some
from rerank.io.csv_header import (
    choose_features,
    is_number,
    name_in,
    read_header,
    spreadsheet_cell,
    two_words,
    value_of,
)
from rerank.io.labels import POSITIVE, SIGNS_NOTE, grades_of_signs, word_to_find
from rerank.io.lines import (
    MISSING,
    Path,
    first_bad,
    named,
    no_number,
    numbered_lines,
    spelled,
    writing_lines,
    wrong,
)
from rerank.io.table import Floats, Table, Words, check_written, words


@within_memory
def read_csv(
    path: Path,
    *,
    label: str | None = None,
    qid: str | None = None,
    id: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
    features: Sequence[str] | None = None,
    positive: str | None = None,
    delimiter: str = ",",
) -> Table:
    """Read a table from a CSV file whose first line names the columns.

    Parameters
    ----------
    path : path
        UTF-8; ``.gz`` is read through gzip. Grades of relevant documents that are no rows are read from
        ``<path>.ideal.json`` if it exists (:mod:`rerank.io.ideal`).
    label, qid, id, weight, groups : str, optional
        Columns of the label (0/1, -1/1 or grades), the list, the row's name, its weight, and what rows belong together.
    features : sequence of str, optional
        Columns of the features. By default all others that hold numbers, or True and False (1 and 0); those
        that hold text in every row are left out and named in `Table.notes`, and so is a saved index: columns
        called ``Unnamed: 0`` or without a name, which get such a name.
    positive : str, optional
        The label of the rows to find, when labels are words; all other labels become 0.
    delimiter : str
        One character.

    Raises
    ------
    InputError
        With line and column: no such column (nearest names offered), a name used twice, text in a numeric
        column, a missing or infinite value, a row of another length, a negative label or weight, an empty
        file, a column called like a list id (``qid``, ``query_id``, ``session`` ...) that has no role.
    """
    rows = csv_rows(path, delimiter)
    names = read_header(path, rows, delimiter)
    place = roles_of(path, names, {"label": label, "qid": qid, "id": id, "weight": weight, "groups": groups})
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} has a header but no rows; pass a file with data.")
    _check_length(path, names, *first)
    chosen, text, index = choose_features(path, names, features, place, first)
    if not chosen:
        raise InputError(f"{path} has no numeric column left for features; its columns are {some(names)}.")
    columns = _Columns(path, names, chosen, text, place, positive, delimiter)
    if index:
        columns.notes.append(index_note([names[column] for column in index]))
    columns.add(*first)
    for line, cells in rows:
        columns.add(line, cells)
    return ideal.joined(path, columns.table())


class _Columns:
    """Collects the rows in flat arrays of doubles: about as many bytes as the file has."""

    def __init__(
        self,
        path: Path,
        names: list[str],
        chosen: list[int],
        text: list[int],
        place: dict[str, int],
        positive: str | None,
        delimiter: str,
    ) -> None:
        self.delimiter, self.notes = delimiter, list[str]()
        self.path, self.names, self.chosen, self.text, self.positive = path, names, chosen, text, positive
        self.place = place
        worded = {"qid", "id", "groups"} | ({"label"} if positive is not None else set())
        self.words: dict[str, list[str]] = {role: [] for role in place if role in worded}
        self.known: dict[str, str] = {}
        self.rest = [role for role in ("label", "weight") if role in place and role not in worded]
        self.numeric = chosen + [place[role] for role in self.rest]
        self.values, self.lines = array("d"), array("q")

    def add(self, line: int, cells: list[str]) -> None:
        """Take one row; its length and its numbers are checked."""
        _check_length(self.path, self.names, line, cells)
        for column in self.numeric:
            try:
                self.values.append(value_of(cells[column]))
            except ValueError:
                raise self._no_number(line, column, cells[column]) from None
        for column in self.text:
            if is_number(cells[column]):
                found = f"column {named(self.names[column])} holds the number {cells[column].strip()[:40]} after text"
                raise wrong(
                    self.path, line, found, "correct the column, or name the columns to use as features"
                )
        for role, taken in self.words.items():
            word = name_in(cells[self.place[role]])
            if not word:
                raise wrong(
                    self.path, line, f"column {named(self.names[self.place[role]])} is empty", "fill it in"
                )
            # Equal words share one object: a list id stands in many rows.
            taken.append(self.known.setdefault(word, word))
        self.lines.append(line)

    def _no_number(self, line: int, column: int, cell: str) -> InputError:
        word = cell.strip()
        if column != self.place.get("label") or word.lower() in MISSING:
            return no_number(self.path, line, named(self.names[column]), cell)
        found = f"column {named(self.names[column])} holds {word[:40]!r} where a number is expected"
        return wrong(self.path, line, found, f"if labels are words, name the one to find: {self._word_to_find()}")

    def _word_to_find(self) -> str:
        """Advice by the labels of the whole file, which is read again."""
        column, seen = self.place["label"], dict.fromkeys(["header"])
        for _, cells in csv_rows(self.path, self.delimiter):
            if column < len(cells) and len(seen) < 8:
                seen.setdefault(cells[column].strip()[:40])
        return word_to_find(list(seen)[2:], POSITIVE)

    def table(self) -> Table:
        """Return the table of all rows, every number finite, labels and weights not negative."""
        lines = np.frombuffer(self.lines, dtype=np.int64)
        block = np.frombuffer(self.values, dtype=np.float64).reshape(len(lines), len(self.numeric))
        if bad := first_bad(np.any(~np.isfinite(block), axis=1), lines):
            j = int(np.argmin(np.isfinite(block[bad[0]])))
            raise no_number(self.path, bad[1], named(self.names[self.numeric[j]]), str(block[bad[0], j]))
        d = len(self.chosen)
        rest = dict(zip(self.rest, block.T[d:]))
        if "label" in rest and (signed := grades_of_signs(rest["label"])) is not None:
            self.notes += [SIGNS_NOTE] if signed is not rest["label"] else []
            rest["label"] = signed
        for role, values in rest.items():
            if bad := first_bad(values < 0, lines):
                name = self.names[self.place[role]]
                found = f"column {named(name)} holds {values[bad[0]]:g}, but a {role} is 0 or more"
                raise wrong(self.path, bad[1], found, "correct it")
        if self.text:
            self.notes.append(f"Left out because they hold text: {some([self.names[c] for c in self.text])}.")
        return Table(
            X=np.ascontiguousarray(block[:, :d]),
            y=self._worded_label() if "label" in self.words else _copy(rest.get("label")),
            qid=self._words("qid"),
            ids=self._words("id"),
            feature_names=tuple(self.names[c] for c in self.chosen),
            sample_weight=_copy(rest.get("weight")),
            notes=tuple(self.notes),
            groups=self._words("groups"),
            labels=two_words(self.words["label"], str(self.positive)) if "label" in self.words else None,
        )

    def _words(self, role: str) -> Words | None:
        return words(self.words[role]) if role in self.words else None

    def _worded_label(self) -> Floats:
        seen = self.words["label"]
        if self.positive not in seen:
            column = self.names[self.place["label"]]
            raise InputError(
                f"{self.path}: no row has {named(str(self.positive))} in column {named(column)}; it holds {some(seen)}."
            )
        return np.array([word == self.positive for word in seen], dtype=np.float64)


def write_csv(path: Path, table: Table, *, label: str = "target", delimiter: str = ",") -> None:
    """Write a table so that :func:`read_csv` gives back the same doubles.

    Names, lists and weights go to the columns ``id``, ``qid`` and ``weight``, when there are any; grades of
    relevant documents that are no rows go to ``<path>.ideal.json``. Names that a spreadsheet would take for formulas
    get an apostrophe before them, which :func:`read_csv` takes away.

    Raises
    ------
    InputError
        Two columns would have the same name, :func:`read_csv` would not read a name or a number back, or the file
        cannot be written.
    """
    check_written(table)
    words = {name: column for name, column in (("id", table.ids), ("qid", table.qid)) if column is not None}
    optional = (("weight", table.sample_weight), (label, table.y))
    numbers = {name: column for name, column in optional if column is not None}
    names = [*words, *table.feature_names, *numbers]
    distinct(path, names)
    texts: dict[str, Any] = {"column name": names} | words
    for what, column in texts.items():
        for word in map(str, column):
            if word.strip() != word or not word or any(mark in word for mark in "\r\0\ufeff"):
                raise InputError(
                    f"The {what} {word[:40]!r} is empty, or has spaces at an end or a control character, which CSV "
                    "does not keep; rename it."
                )
    with together(), writing_lines(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(map(spreadsheet_cell, names))
        for row in range(len(table)):
            cells = [spreadsheet_cell(str(values[row])) for values in words.values()]
            cells += [spelled(float(value)) for value in table.X[row]]
            writer.writerow(cells + [spelled(float(values[row])) for values in numbers.values()])
        ideal.write(path, table.ideal_gains)


def csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (last line of the row, its cells), without blank rows."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InputError(
            f"The delimiter {delimiter!r} is not one character that separates; pass ',' or ';' for instance."
        )
    reader = csv.reader((text for _, text in numbered_lines(path)), delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise wrong(path, reader.line_num, f"the line is not CSV ({error})", "check its quotes") from None
        if cells is None:
            return
        if cells:
            yield reader.line_num, cells


def _check_length(path: Path, names: list[str], line: int, cells: list[str]) -> None:
    if len(cells) != len(names):
        found = f"there are {len(cells)} cells under {len(names)} column names"
        raise wrong(path, line, found, "complete the row, or quote cells that hold the delimiter")


def _copy(values: Floats | None) -> Floats | None:
    return None if values is None else np.ascontiguousarray(values)
