"""svmlight and LETOR files: ``label [qid:list] index:value ... [# comment]``, one row a line."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io import ideal
from rerank.io.atomic import together
from rerank.io.bounded import within_memory
from rerank.io.labels import OR_ADD, SIGNS_NOTE, grades_of_signs
from rerank.io.lines import Path, named, no_number, number, numbered_lines, spelled, writing_lines, wrong
from rerank.io.table import Floats, Table, check_written, words

Indices = NDArray[np.int64]

# A dense table of doubles: one gigabyte.
MAX_CELLS = 2**27
SPARSE = 1_000  # columns above which those that no row holds are left out, where they are most of the columns

_NAME = re.compile(r"f(\d{1,18})")
_DOCID = re.compile(r"(?:docid\s*=\s*)?(\S+)")


@within_memory
def read_svmlight(
    path: Path, *, n_features: int | None = None, zero_based: bool = False, features: Sequence[str] | None = None
) -> Table:
    """Read a svmlight file, graded labels and ``qid:`` included, as a dense table.

    Features are called ``f1, f2, ...`` after their index in the file. Indices that a row does not have are 0. A file
    with more columns than entries, and more than a thousand, gives those columns alone that some row holds: no fit uses
    one in which all rows are equal.
    When every row ends in a comment, its first word (after ``docid =``, as LETOR writes) is the row's name.

    Parameters
    ----------
    path : path
        UTF-8; ``.gz`` is read through gzip. Grades of relevant documents that are no rows are read from
        ``<path>.ideal.json`` if it exists (:mod:`rerank.io.ideal`).
    n_features : int, optional
        Columns of the table; by default up to the largest index in the file. Give it to read a second file
        like the first.
    zero_based : bool
        The file counts features from 0. By default from 1, as svmlight and LETOR do.
    features : sequence of str, optional
        The columns, by names such as ``f7``; others are left out, and there need be none of them in the file. Give it
        to read a second file like one that gave some columns alone.

    Raises
    ------
    InputError
        With the line: no label, a negative label, no ``index:value`` pair, an index that is out of range or
        comes twice, a value that is no finite number, ``qid:`` in some rows only, a table of more than 2**27
        cells, an empty file.
    """
    rows = _Rows(path, 0 if zero_based else 1, n_features)
    for line, text in numbered_lines(path):
        rows.take(line, text)
    if not rows.labels:
        raise InputError(f"{path} is empty; pass a file with at least one row.")
    rows.check_finite()
    grades = rows.grades()
    notes = [] if grades is rows.y else [SIGNS_NOTE]
    wanted = rows.wanted(features)
    if features is None and rows.is_sparse:
        last = rows.places.max() + rows.base
        notes.append(f"Feature indices go up to {last}; the {wanted.size} that some row has are read.")
    table = Table(
        X=rows.table(wanted),
        y=grades.copy(),
        qid=words(rows.qids) if rows.qids else None,
        ids=words(rows.names) if len(rows.names) == grades.size else None,
        feature_names=tuple(f"f{j}" for j in (wanted + rows.base).tolist()),
        notes=tuple(notes),
    )
    return ideal.joined(path, table)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What the lines of a file hold: the rows one after the other, and of each its entries."""

    path: Path
    base: int  # the index of the first feature
    n_features: int | None  # where the caller says it
    labels: "array[float]" = field(default_factory=lambda: array("d"))
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))  # of each row, in what follows
    columns: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    qids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def take(self, line: int, text: str) -> None:
        """Add the row of a line; one of spaces or a comment alone adds none."""
        body, _, comment = text.partition("#")
        label, *pairs = body.split() or [""]
        if not label:
            return
        try:
            self.labels.append(number(label))
        except ValueError:
            raise no_number(self.path, line, "'label'", label) from None
        if pairs and pairs[0].startswith("qid:"):
            if len(pairs[0]) == 4:
                raise wrong(self.path, line, "'qid:' names no list", "write it as qid:7")
            self.qids.append(pairs.pop(0)[4:])
        if self.qids and len(self.qids) != len(self.labels):
            raise wrong(self.path, line, "some rows have a qid and others have none", "give every row its qid")
        self._take_pairs(line, pairs)
        if match := _DOCID.match(comment.strip()):
            self.names.append(match.group(1))
        self.ends.append(len(self.columns))
        self.lines.append(line)

    def _take_pairs(self, line: int, pairs: list[str]) -> None:
        path, base, columns, start = self.path, self.base, self.columns, len(self.columns)
        for pair in pairs:
            index, colon, value = pair.partition(":")
            if not colon or not (index.isascii() and index.isdigit() and len(index) < 18):
                raise wrong(path, line, f"{pair[:40]!r} is not index:value", "correct it")
            columns.append(int(index) - base)
            if columns[-1] < 0:
                advice = "pass zero_based=True in Python if the file counts from 0, or add 1 to each"
                raise wrong(path, line, "there is a feature index 0", advice)
            if self.n_features is not None and columns[-1] >= self.n_features:
                beyond = f"the feature index {index} is beyond the {self.n_features} features that are wanted"
                raise wrong(path, line, beyond, "pass the file that belongs to the model, or a larger n_features")
            try:
                self.values.append(number(value))
            except ValueError:
                raise no_number(path, line, index, value) from None
        if len(set(columns[start:])) < len(columns) - start:
            raise wrong(path, line, "a feature index comes twice", "keep one value for it")

    @cached_property
    def y(self) -> Floats:
        """The label of each row."""
        return np.frombuffer(self.labels)

    @cached_property
    def places(self) -> Indices:
        """The column of each entry, from 0."""
        return np.frombuffer(self.columns, np.int64)

    @cached_property
    def counts(self) -> Indices:
        """Entries of each row."""
        return np.asarray(np.diff(np.frombuffer(self.ends, np.int64), prepend=0), dtype=np.int64)

    @property
    def is_sparse(self) -> bool:
        """Whether only columns with an entry are read."""
        return self.n_features is None and bool(self.places.max(initial=-1) >= max(SPARSE, self.places.size))

    def check_finite(self) -> None:
        """Refuse a label or a value that is not finite, with its line."""
        lines = np.frombuffer(self.lines, np.int64)
        entries = np.frombuffer(self.values), np.repeat(lines, self.counts)
        for name, checked, where in (("'label'", self.y, lines), ("'value'", *entries)):
            if (bad := np.flatnonzero(~np.isfinite(checked))).size:
                raise no_number(self.path, int(where[bad[0]]), name, str(checked[bad[0]]))

    def grades(self) -> Floats:
        """The labels as grades; the labels themselves where they are."""
        grades = grades_of_signs(self.y)
        if grades is None:
            row = int(np.argmax(self.y < 0))
            said = f"the label is {self.y[row]:g}, but labels are 0/1, -1/1 or grades from 0 upwards"
            raise wrong(self.path, self.lines[row], said, f"recode it{OR_ADD}")
        return grades

    def wanted(self, features: Sequence[str] | None) -> Indices:
        """The columns of the table, as many as memory holds."""
        some = None
        if features is not None:
            some = np.array([_index(name) - self.base for name in features], dtype=np.int64)
        elif self.is_sparse:
            some = np.unique(self.places)
        every = int(self.places.max(initial=-1)) + 1 if self.n_features is None else self.n_features
        d = every if some is None else some.size
        if d == 0:
            raise InputError(f"{self.path} has no feature in any row; pass a file with index:value pairs.")
        if self.y.size * d > MAX_CELLS:
            raise InputError(
                f"{self.path} has {self.y.size} rows and {d} features: over {MAX_CELLS} cells as a dense table; choose "
                "fewer columns before reading it."
            )
        return np.arange(d) if some is None else some

    def table(self, wanted: Indices) -> Floats:
        """The values of these columns, 0 where a row has none."""
        X = np.zeros((self.y.size, wanted.size))
        order = np.argsort(wanted)
        column = order[np.minimum(np.searchsorted(wanted, self.places, sorter=order), wanted.size - 1)]
        there = wanted[column] == self.places
        X[np.repeat(np.arange(self.y.size), self.counts)[there], column[there]] = np.frombuffer(self.values)[there]
        return X


def columns_like(names: Sequence[str]) -> dict[str, Any]:
    """The option with which :func:`read_svmlight` reads the columns of a fit, of which ``names`` are the names."""
    first = tuple(f"f{j}" for j in range(1, len(names) + 1))
    by_name = tuple(names) != first and len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))
    return {"features": names} if by_name else {"n_features": len(names)}


def _index(name: str) -> int:
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"There is no feature {named(name)} in a svmlight file; name its features f1, f2 and so on.")
    return int(match[1])


def write_svmlight(path: Path, table: Table) -> None:
    """Write a table as svmlight, features counted from 1, zeros left out, the rows' names as comments.

    The last feature is written in the first row even when it is 0, so that reading gives as many columns
    back. Grades of relevant documents that are no rows go to ``<path>.ideal.json``.

    Raises
    ------
    InputError
        A qid that is no whole number (other readers of the format refuse it), a name or a number that is not read
        back, or the file cannot be written.
    """
    check_written(table)
    last = table.X.shape[1] - 1
    with together(), writing_lines(path) as file:
        for row in range(len(table)):
            parts = [spelled(float(table.y[row])) if table.y is not None else "0"]
            if table.qid is not None:
                qid = str(table.qid[row])
                if not (qid.isascii() and qid.isdigit()):
                    advice = "write CSV instead"
                    raise InputError(f"The qid {qid[:40]!r} is no whole number, as svmlight asks; {advice}.")
                parts.append(f"qid:{qid}")
            wanted = set(np.flatnonzero(table.X[row]).tolist()) | ({last} if row == 0 else set())
            parts += [f"{j + 1}:{spelled(float(table.X[row, j]))}" for j in sorted(wanted)]
            if table.ids is not None:
                name = str(table.ids[row])
                if _DOCID.fullmatch(name) is None or _DOCID.fullmatch(name)[1] != name or "\0" in name:  # type: ignore[index]
                    advice = "write CSV instead"
                    raise InputError(f"The name {name[:40]!r} is not one word, as a comment needs; {advice}.")
                parts.append(f"# {name}")
            file.write(" ".join(parts) + "\n")
        ideal.write(path, table.ideal_gains)
