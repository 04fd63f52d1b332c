"""svmlight and LETOR files: ``label [qid:list] index:value ... [# comment]``, one row a line."""

import re
from array import array

import numpy as np

from rerank.errors import InputError
from rerank.io import ideal
from rerank.io.atomic import together
from rerank.io.bounded import within_memory
from rerank.io.labels import SIGNS_NOTE, grades_of_signs
from rerank.io.lines import Path, no_number, number, numbered_lines, spelled, writing_lines, wrong
from rerank.io.table import Table, check_written, words

# A dense table of doubles: one gigabyte.
MAX_CELLS = 2**27

_DOCID = re.compile(r"(?:docid\s*=\s*)?(\S+)")


@within_memory
def read_svmlight(path: Path, *, n_features: int | None = None, zero_based: bool = False) -> Table:
    """Read a svmlight file, graded labels and ``qid:`` included, as a dense table.

    Features are called ``f1, f2, ...`` after their index in the file. Indices that a row does not have are 0.
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

    Raises
    ------
    InputError
        With the line: no label, a negative label, no ``index:value`` pair, an index that is out of range or
        comes twice, a value that is no finite number, ``qid:`` in some rows only, a table of more than 2**27
        cells, an empty file.
    """
    rows = _Rows(path, 0 if zero_based else 1, n_features)
    for line, text in numbered_lines(path):
        body, mark, comment = text.partition("#")
        parts = body.split()
        if parts:
            rows.add(line, parts, comment.strip() if mark else "")
    return ideal.joined(path, rows.table())


class _Rows:
    """Collects the pairs in flat arrays, and spreads them when the number of columns is known."""

    def __init__(self, path: Path, base: int, n_features: int | None) -> None:
        self.path, self.base, self.n_features = path, base, n_features
        self.labels, self.values = array("d"), array("d")
        self.lines, self.ends, self.columns = array("q"), array("q"), array("q")
        self.qids: list[str] = []
        self.names: list[str] = []

    def add(self, line: int, parts: list[str], comment: str) -> None:
        """Take one row."""
        try:
            self.labels.append(number(parts[0]))
        except ValueError:
            raise no_number(self.path, line, "'label'", parts[0]) from None
        pairs = parts[1:]
        if pairs and pairs[0].startswith("qid:"):
            if len(pairs[0]) == 4:
                raise wrong(self.path, line, "'qid:' names no list", "write it as qid:7")
            self.qids.append(pairs.pop(0)[4:])
        if self.qids and len(self.qids) != len(self.labels):
            raise wrong(self.path, line, "some rows have a qid and others have none", "give every row its qid")
        start = len(self.columns)
        for pair in pairs:
            self._pair(line, pair)
        if len(set(self.columns[start:])) < len(self.columns) - start:
            raise wrong(self.path, line, "a feature index comes twice", "keep one value for it")
        if match := _DOCID.match(comment):
            self.names.append(match.group(1))
        self.ends.append(len(self.columns))
        self.lines.append(line)

    def _pair(self, line: int, pair: str) -> None:
        index, colon, value = pair.partition(":")
        if not colon or not (index.isascii() and index.isdigit() and len(index) < 18):
            raise wrong(self.path, line, f"{pair[:40]!r} is not index:value", "correct it")
        column = int(index) - self.base
        if column < 0:
            advice = "pass zero_based=True in Python if the file counts from 0, or add 1 to each"
            raise wrong(self.path, line, "there is a feature index 0", advice)
        if self.n_features is not None and column >= self.n_features:
            found = f"the feature index {index} is beyond the {self.n_features} features that are wanted"
            raise wrong(self.path, line, found, "pass the file that belongs to the model, or a larger n_features")
        try:
            self.values.append(number(value))
        except ValueError:
            raise no_number(self.path, line, index, value) from None
        self.columns.append(column)

    def table(self) -> Table:
        """Return the dense table."""
        n = len(self.labels)
        if n == 0:
            raise InputError(f"{self.path} is empty; pass a file with at least one row.")
        lines, columns, ends = (np.frombuffer(a, np.int64) for a in (self.lines, self.columns, self.ends))
        labels, values = (np.frombuffer(a, np.float64) for a in (self.labels, self.values))
        counts = np.asarray(np.diff(ends, prepend=0), dtype=np.int64)
        for name, numbers, where in (("'label'", labels, lines), ("'value'", values, np.repeat(lines, counts))):
            if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
                raise no_number(self.path, int(where[bad[0]]), name, str(numbers[bad[0]]))
        grades = grades_of_signs(labels)
        if grades is None:
            row = int(np.argmax(labels < 0))
            found = f"the label is {labels[row]:g}, but labels are 0/1, -1/1 or grades from 0 upwards"
            raise wrong(self.path, int(lines[row]), found, "recode it")
        d = self.n_features if self.n_features is not None else int(columns.max(initial=-1)) + 1
        if d == 0:
            raise InputError(f"{self.path} has no feature in any row; pass a file with index:value pairs.")
        if n * d > MAX_CELLS:
            raise InputError(
                f"{self.path} has {n} rows and feature indices up to {d - 1 + self.base}: over {MAX_CELLS} "
                "cells as a dense table; choose fewer columns before reading it."
            )
        X = np.zeros((n, d))
        X[np.repeat(np.arange(n), counts), columns] = values
        return Table(
            X=X,
            y=grades.copy(),
            qid=words(self.qids) if self.qids else None,
            ids=words(self.names) if len(self.names) == n else None,
            feature_names=tuple(f"f{j + self.base}" for j in range(d)),
            notes=() if grades is labels else (SIGNS_NOTE,),
        )


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
