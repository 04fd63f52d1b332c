"""CSV with a header row: label, list, name and weight by column name, the other numbers as features."""

import csv
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.telling import Note
from rerank.io import ideal
from rerank.io.atomic import together
from rerank.io.bounded import within_memory
from rerank.io.columns import COMPLETE, ColumnKind, FileColumns, Kinds, choose_columns, distinct
from rerank.io.frames import joined
from rerank.io.labels import POSITIVE, label_to_find, word_to_find
from rerank.io.levels import number_of
from rerank.io.lines import (
    MISSING,
    TRUTH,
    Path,
    is_number,
    named,
    no_number,
    number,
    numbered_lines,
    spelled,
    writing_lines,
    wrong,
)
from rerank.io.meant import MEANT, note_on_texts
from rerank.io.table import Floats, Table, check_written, words

# Signs with which a spreadsheet begins a formula, those of full width among them, behind any apostrophes.
_FORMULA = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
FEW = 20
"""A column whose entries are words in at most one of so many holds numbers, and its words are gaps."""
# What is no number, and a word like others in a column of texts.
_WORD = frozenset({"none", "-", "#n/a", "<na>", "\\n"})


@within_memory
def read_csv(
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
    delimiter: str = ",",
    kinds: Kinds | None = None,
    positive: str | None = None,
) -> Table:
    """Read a table from a CSV file whose first line names the columns.

    Parameters
    ----------
    path : path
        UTF-8; ``.gz`` is read through gzip. Grades of relevant documents that are no rows are read from
        ``<path>.ideal.json`` if it exists (:mod:`rerank.io.ideal`).
    label, qid, id, weight, groups, people : str, optional
        Columns of the label (0/1, -1/1 or grades), the list, the row's name, its weight, what rows belong together, and
        what kind a row is of.
    features : sequence of str, optional
        Columns of the features. By default all others that hold numbers, or True and False (1 and 0); those
        that hold text in every row are left out and named in `Table.notes`, and so is a saved index: columns
        called ``Unnamed: 0`` or without a name, which get such a name.
    pos_label : str, optional
        The label of the rows to find, when labels are words; all other labels become 0.
    delimiter : str
        One character.
    kinds : mapping of column to ColumnKind, optional
        With it, also an empty one, columns that hold text or miss values are features, too, and `Table.X` is a data
        frame if there are any. Of a column that it does not name the entries tell: numbers, with words as gaps in at
        most one entry of 20, else texts.
    positive : str, optional
        The older name of ``pos_label``.

    Raises
    ------
    InputError
        With line and column: no such column (nearest names offered), a name used twice, text in a numeric
        column, a missing or infinite value, a row of another length, a negative label or weight, an empty
        file, a column called like a list id (``qid``, ``query_id``, ``session`` ...) that has no role.
    """
    rows = csv_rows(path, delimiter)
    names = read_header(path, rows, delimiter)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} has a header but no rows; pass a file with data.")
    _check_length(path, names, *first)

    def numeric(column: int) -> bool:
        if kinds is not None:
            return True  # every column is a feature
        # Whether the column is a number or a text cannot be told from a missing first cell, and guessing
        # would drop a feature without a word.
        cell = first[1][column].strip()
        if cell.lower() in MISSING:
            raise no_number(path, first[0], named(names[column]), cell)
        return cell in TRUTH or is_number(cell)

    roles = {"label": label, "qid": qid, "id": id, "weight": weight, "groups": groups, "people": people}
    columns = choose_columns(path, names, roles, features, label_to_find(pos_label, positive), numeric, "text")
    collected = _Doubles(columns, delimiter, kinds)
    for line, cells in chain([first], rows):
        collected.add(line, cells)
    return ideal.joined(path, collected.table())


class _Doubles:
    """Collects the columns in flat arrays of doubles: about as many bytes as the file has."""

    def __init__(self, columns: FileColumns, delimiter: str, kinds: Kinds | None) -> None:
        self.columns, self.delimiter, self.path = columns, delimiter, columns.path
        self.texts: dict[str, list[str]] = {role: [] for role in columns.worded}
        self.amounts = [role for role in columns.roles if role not in self.texts]
        own = [COMPLETE if kinds is None else kinds.get(columns.names[column]) for column in columns.features]
        told = dict(zip(columns.features, own)) | {columns.roles[role]: COMPLETE for role in self.amounts}
        self.kinds: dict[int, ColumnKind] = {column: kind for column, kind in told.items() if kind is not None}
        self.numbers = {column: array("d") for column, kind in self.kinds.items() if not kind.texts}
        self.words: dict[int, list[str | None]] = {column: [] for column, kind in self.kinds.items() if kind.texts}
        # Cells up to the first entry, which tells what a column holds.
        self.waiting: dict[int, list[str]] = {column: [] for column, kind in told.items() if kind is None}
        self.guessed = set(self.waiting)
        self.known: dict[str, str] = {}
        self.lines = array("q")
        self.features = frozenset(columns.features)
        self.padded: dict[int, str] = {}  # columns with a number that begins with zeros, and the first of them
        self.long: dict[int, str] = {}  # columns with a whole number that is no double
        # Columns of numbers with words in them: line and word of the first, and how many.
        self.odd: dict[int, tuple[int, str, int]] = {}
        self.mixed: list[str] = []  # notes on columns that hold both

    def add(self, line: int, cells: list[str]) -> None:
        """Take one row; its length and its numbers are checked."""
        columns = self.columns
        _check_length(self.path, columns.names, line, cells)
        for column, values in self.numbers.items():
            try:
                values.append(_value(cells[column]))
                if len(cells[column]) > 1 and column in self.features:
                    self._remember(column, cells[column].strip())
            except ValueError:
                values.append(self._gap(line, column, cells[column]))
        for column, taken in self.words.items():
            taken.append(self._text(line, column, cells[column]))
        for column in list(self.waiting):
            self.waiting[column].append(cells[column])
            if cells[column].strip().lower() not in MISSING:
                self._decide(line, column)
        for column in columns.left_out:
            if is_number(cells[column]):
                found = f"column {columns.name(column)} holds the number {cells[column].strip()[:40]} after text"
                raise wrong(self.path, line, found, "correct the column, or name the columns to use as features")
        for role, named_so in self.texts.items():
            word = name_in(cells[columns.roles[role]])
            # Equal words share one object: a list id stands in many rows.
            named_so.append(self.known.setdefault(word, word))
        self.lines.append(line)

    def _remember(self, column: int, cell: str) -> None:
        """What a number loses that is a code in truth."""
        if cell[:1] == "0" and cell.isdecimal() and len(cell) > 1:
            self.padded.setdefault(column, cell)
        elif len(cell) > 15 and isinstance(number_of(cell), int):
            self.long.setdefault(column, cell)

    def _notes(self) -> list[str]:
        """What the user is told of such columns."""
        told = (self.padded, "begins with 0 and is read as a number"), (self.long, "is rounded to a double")
        notes = [
            Note(
                f"Column {self.columns.name(column)} holds {cell[:40]!r}, which {what}; if these are names, read them "
                "as texts (--texts).",
                MEANT,
            )
            for columns, what in told
            for column, cell in columns.items()
            if column in self.numbers
        ]
        texts = sorted(self.guessed & self.words.keys())
        found = [note_on_texts(self.columns.name(column), self.words[column]) for column in texts]
        return [*notes, *self.mixed, *filter(None, found)]

    def _decide(self, line: int, column: int) -> None:
        """Take the cells up to the first entry of a column as what this one is."""
        cells = self.waiting.pop(column)
        first = cells[-1].strip()
        self.kinds[column] = kind = ColumnKind(texts=not (first in TRUTH or is_number(first)))
        if kind.texts:
            self.words[column] = [self._text(line, column, cell) for cell in cells]
        else:
            self.numbers[column] = array("d", [math.nan] * (len(cells) - 1) + [_value(first)])
            self._remember(column, first)

    def _gap(self, line: int, column: int, cell: str) -> float:
        """NaN for a missing number."""
        if self.kinds[column].gaps and cell.strip().lower() in MISSING:
            return math.nan
        if self.kinds[column].gaps and column in self.features:
            first, word, count = self.odd.get(column, (line, cell.strip(), 0))
            self.odd[column] = first, word, count + 1
            return math.nan
        raise self._no_number(line, column, cell)

    def _text(self, line: int, column: int, cell: str) -> str | None:
        """The text in a cell, None where it is missing."""
        known = self.kinds[column].known
        word = cell if cell in known else cell.strip()
        if word not in known and word.lower() in MISSING - _WORD:
            return None
        return self.known.setdefault(word, word)

    def _settle(self) -> None:
        """Columns that hold numbers and words become numbers with gaps or texts, whatever their first entry is."""
        for column, (line, word, count) in self.odd.items():
            entries = count + int(np.isfinite(np.frombuffer(self.numbers[column])).sum())
            if self._few(column, word, count, entries):
                continue
            if column not in self.guessed:
                found = f"column {self.columns.name(column)} of numbers holds {word[:40]!r}, and words in {count} rows"
                raise wrong(self.path, line, found, "correct the column, or fit the model anew")
            del self.numbers[column]
            self.kinds[column] = ColumnKind(texts=True)
            rows = islice(csv_rows(self.path, self.delimiter), 1, None)
            self.words[column] = [self._text(line, column, cells[column]) for line, cells in rows]
        for column in sorted(self.guessed & self.words.keys() - self.odd.keys()):
            each = [None if word is None or word.lower() in MISSING else word for word in self.words[column]]
            names = [word for word in each if word is not None and not is_number(word)]
            entries = len(each) - each.count(None)
            if names and len(names) < entries and self._few(column, names[0], len(names), entries):
                del self.words[column]
                self.kinds[column] = ColumnKind(texts=False)
                values = (number(word) if word is not None and is_number(word) else math.nan for word in each)
                self.numbers[column] = array("d", values)

    def _few(self, column: int, word: str, count: int, entries: int) -> bool:
        """Whether words among numbers are gaps, which is said."""
        few, name = FEW * count <= entries, self.columns.name(column)
        of = f"in {count} of {entries} entries"
        told = f"Column {name} holds {word[:40]!r} or the like {of} and numbers in the others, so "
        told += "these are read as gaps; --texts reads all of it as names." if few else "all of it is read as names."
        self.mixed.append(Note(told, MEANT))
        return few

    def _no_number(self, line: int, column: int, cell: str) -> InputError:
        word, name = cell.strip(), self.columns.name(column)
        if column != self.columns.roles.get("label") or word.lower() in MISSING:
            return no_number(self.path, line, name, cell)
        # Advice by the labels of the whole file, which is read again.
        rows = islice(csv_rows(self.path, self.delimiter), 1, None)
        labels = dict.fromkeys(cells[column].strip()[:40] for _, cells in rows if column < len(cells))
        found = f"column {name} holds {word[:40]!r} where a number is expected"
        advice = f"if labels are words, name the one to find: {word_to_find(list(labels)[:6], POSITIVE)}"
        return wrong(self.path, line, found, advice)

    def table(self) -> Table:
        """The table of all rows, every number finite, labels and weights not negative."""
        self._settle()
        columns, lines = self.columns, np.frombuffer(self.lines, dtype=np.int64)
        numbers = {column: np.frombuffer(values) for column, values in self.numbers.items()}
        self._check_finite(numbers, lines)
        columns.notes.extend(notes := self._notes())
        found: dict[int, Any] = {column: np.full(len(lines), math.nan) for column in self.waiting}
        found |= numbers | {column: words(taken) for column, taken in self.words.items()}
        return columns.table(
            joined({columns.names[column]: found[column] for column in columns.features}, notes),
            self.texts,
            {role: found[columns.roles[role]] for role in self.amounts},
            lambda row: (f"{self.path}, line {lines[row]}: ", ""),
        )

    def _check_finite(self, numbers: Mapping[int, Floats], lines: NDArray[np.int64]) -> None:
        """Refuse the first number that is infinite, or NaN where none may be missing."""
        first: tuple[int, int] | None = None
        for column, values in numbers.items():
            bad = np.isinf(values) if self.kinds[column].gaps else ~np.isfinite(values)
            if bad.any() and (first is None or int(bad.argmax()) < first[0]):
                first = int(bad.argmax()), column
        if first is not None:
            row, column = first
            raise no_number(self.path, int(lines[row]), self.columns.name(column), str(numbers[column][row]))


def write_csv(path: Path, table: Table, *, label: str = "target", delimiter: str = ",", raw_ids: bool = False) -> None:
    """Write a table so that :func:`read_csv` gives back the same doubles.

    Names, lists and weights go to the columns ``id``, ``qid`` and ``weight``, when there are any; grades of
    relevant documents that are no rows go to ``<path>.ideal.json``. Names that a spreadsheet would take for formulas
    get an apostrophe before them, which :func:`read_csv` takes away; with ``raw_ids`` those of rows and lists do not.

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
    texts: dict[str, Any] = {"column name": names, **words}
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
            cells = [spreadsheet_cell(str(values[row]), raw_ids) for values in words.values()]
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


def read_header(path: Path, rows: Iterator[tuple[int, list[str]]], delimiter: str) -> list[str]:
    """Take the first row as the names of the columns: present, not numbers, each once."""
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty; pass a CSV file whose first line names the columns.")
    if all(is_number(name_in(name)) for name in first[1]):
        raise wrong(path, first[0], "there are numbers where the column names should be", "add a header line")
    names = header_names(first[1])
    other = next((mark for mark in ",;\t|" if mark != delimiter and mark in names[0]), None)
    if len(names) == 1 and other:
        found = f"there is one column, {named(names[0][:40])}, that holds {other!r}"
        option = "tab" if other == "\t" else repr(other)
        raise wrong(path, first[0], found, f"pass delimiter={other!r} (--delimiter {option})")
    distinct(path, names)
    return names


def header_names(cells: Sequence[str]) -> list[str]:
    """The names in a header; a column without one is called as pandas calls it, after its place from 0."""
    names = [name_in(cell) for cell in cells]
    taken = set(names)
    for place, name in enumerate(names):
        if not name:
            called = f"Unnamed: {place}"
            while called in taken:
                called += ".1"
            names[place] = called
            taken.add(called)
    return names


def spreadsheet_cell(text: str, raw: bool = False) -> str:
    """A name as a cell that no spreadsheet takes for a formula: an apostrophe goes before what looks like one. It also
    goes before what looks so behind apostrophes, so that :func:`name_in` gives back every name. ``raw``: as it is.
    """
    return f"'{text}" if not raw and _FORMULA.match(text) and not is_number(text) else text


def name_in(cell: str) -> str:
    """The name in a cell, without the apostrophe that :func:`spreadsheet_cell` puts before a formula."""
    name = cell.strip()
    return name[1:] if name.startswith("'") and spreadsheet_cell(name[1:]) == name else name


def _value(cell: str) -> float:
    """The number in a cell, 1 and 0 for True and False; anything else is a `ValueError`."""
    try:
        return number(cell)
    except ValueError:
        if (truth := TRUTH.get(cell.strip())) is None:
            raise
        return truth


def _check_length(path: Path, names: Sequence[str], line: int, cells: list[str]) -> None:
    if len(cells) != len(names):
        found = f"there are {len(cells)} cells under {len(names)} column names"
        raise wrong(path, line, found, "complete the row, or quote cells that hold the delimiter")
