"""TREC runs and judgements (qrels), in and out.

A run line is ``query Q0 document rank score tag``, a judgement line ``query 0 document grade``. The rank of a
run is never trusted: the evaluators of the field sort by score, and so do we.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.bounded import within_memory
from rerank.io.lines import Path, is_number, no_number, number, numbered_lines, spelled, writing_lines, wrong
from rerank.io.table import Floats, Words, words

LARGEST = 1000
"""Grades are at most this in size."""

LOOKS = {6: "a run", 4: "judgements"}
"""What a number of columns says."""


@dataclass(frozen=True, eq=False)
class Run:
    """The scores of one system: `qid` and `docid` (object arrays of str), `score` (float64)."""

    qid: Words
    docid: Words
    score: Floats
    tag: str


@dataclass(frozen=True, eq=False)
class Qrels:
    """The judgements: `qid` and `docid` (object arrays of str), `grade` (int64, as in the file)."""

    qid: Words
    docid: Words
    grade: NDArray[np.int64]


def no_grades(values: Any) -> Any:
    """Whether numbers are not grades: whole numbers up to ``LARGEST`` in size."""
    return (values != np.round(values)) | ~(np.abs(values) <= LARGEST)


def first_twice(queries: Iterable[str], documents: Iterable[str]) -> tuple[int, int] | None:
    """Places of the first document that a query has before, and of that before; None if there is none."""
    seen: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(queries, documents)):
        if (first := seen.setdefault(pair, row)) != row:
            return row, first
    return None


@within_memory
def read_run(path: Path) -> Run:
    """Read a TREC run; anything but six columns, a finite score, and each document once is refused."""
    qid, docid, score, last = _columns(path, 6, "query Q0 document rank score tag", "score", 4)
    return Run(qid, docid, score, last[5])


def reads_as_run(path: Path) -> bool:
    """Whether the first line that is not blank has the six columns of a run; False for a file that cannot be read."""
    try:
        parts = next((found for _, text in numbered_lines(path) if (found := text.split())), [])
        return len(parts) == 6 and np.isfinite(number(parts[4]))
    except (InputError, ValueError):
        return False


@within_memory
def read_qrels(path: Path) -> Qrels:
    """Read TREC judgements; not four columns, no whole grade, a document twice are an `InputError`."""
    qid, docid, grade, _ = _columns(path, 4, "query 0 document grade", "grade", 3)
    return Qrels(qid, docid, grade.astype(np.int64))


def _columns(path: Path, width: int, layout: str, name: str, place: int) -> tuple[Words, Words, Floats, list[str]]:
    """Queries, documents, the numbers of a column, and the last line of a file of `width` columns."""
    seen: dict[tuple[str, str], int] = {}
    values, parts = array("d"), list[str]()
    for line, text in numbered_lines(path):
        if not (found := text.split()):
            continue
        parts = found
        if len(parts) != width:
            said, advice = f"there are {len(parts)} columns, not {width}", f"write it as: {layout}"
            if (other := LOOKS.get(len(parts))) is not None:
                said += f"; this looks like {other}, not like {LOOKS[width]}"
                advice = f"exchange the files, or {advice}"
            raise wrong(path, line, said, advice)
        if (first := seen.setdefault((parts[0], parts[2]), line)) != line:
            said = f"the document {parts[2][:40]!r} of query {parts[0][:40]!r} already stands in line {first}"
            raise wrong(path, line, said, "keep one of them")
        values.append(number(parts[place]) if is_number(parts[place]) else np.nan)
        if not np.isfinite(values[-1]):
            raise no_number(path, line, repr(name), parts[place])
        if name == "grade" and no_grades(values[-1]):
            said = f"the grade {parts[place]!r} is not a whole number up to {LARGEST}"
            raise wrong(path, line, said, "correct it")
    if not seen:
        raise InputError(f"{path} is empty; pass a file with lines such as: {layout}.")
    return words([query for query, _ in seen]), words([document for _, document in seen]), np.array(values), parts


def write_run(
    path: Path,
    qid: ArrayLike | None,
    docid: ArrayLike,
    scores: ArrayLike,
    *,
    ranks: ArrayLike | None = None,
    tag: str = "exact-rerank",
) -> None:
    """Write a TREC run, best document of each query first.

    Parameters
    ----------
    qid, docid : array-like of str, shape (n,)
        Without qid all rows belong to the query ``1``.
    scores : array-like, shape (n,)
        Higher is better. Equal scores are ordered as trec_eval orders them: by document id, descending.
    ranks : array-like of int, shape (n,), optional
        1 for the top of each list. Given, it decides the order, and the score column holds whole numbers that
        fall by one: evaluators keep scores in single precision, which would tie close ones.
    tag : str
        One word that names the run.
    """
    values = np.asarray(scores if ranks is None else -np.asarray(ranks), dtype=np.float64)
    queries, documents = _keys(qid, docid, len(values))
    _word(tag, "tag")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"The score in row {row} is not finite; a run needs numbers.")
    lists: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        lists.setdefault(query, []).append(row)
    with writing_lines(path) as file:
        for query, rows in lists.items():
            rows.sort(key=lambda row: documents[row], reverse=True)
            rows.sort(key=lambda row: -values[row])
            for place, row in enumerate(rows, start=1):
                score = spelled(float(values[row])) if ranks is None else str(len(rows) - place + 1)
                file.write(f"{query} Q0 {documents[row]} {place} {score} {tag}\n")


def write_qrels(path: Path, qid: ArrayLike | None, docid: ArrayLike, grade: ArrayLike) -> None:
    """Write TREC judgements in the given order; grades are whole numbers. Without qid the query is ``1``."""
    grades = np.asarray(grade, dtype=np.float64)
    queries, documents = _keys(qid, docid, len(grades))
    broken = np.flatnonzero(no_grades(grades))
    if broken.size:
        row = int(broken[0])
        raise InputError(f"The grade {grades[row]:g} in row {row} is not a whole number up to {LARGEST}; correct it.")
    with writing_lines(path) as file:
        for query, document, value in zip(queries, documents, grades):
            file.write(f"{query} 0 {document} {int(value)}\n")


def _keys(qid: ArrayLike | None, docid: ArrayLike, n: int) -> tuple[list[str], list[str]]:
    """Query and document of each row, as words."""
    documents = [_word(word, "document id") for word in np.asarray(docid, dtype=object)]
    given = ["1"] * len(documents) if qid is None else np.asarray(qid, dtype=object)
    queries = [_word(word, "query id") for word in given]
    if not len(documents) == len(queries) == n:
        raise InputError(f"There are {len(queries)} qids and {len(documents)} documents for {n} rows; pass one each.")
    if not n:
        raise InputError("There are no rows to write, and a file without a line is no TREC file; give at least one.")
    if (twice := first_twice(queries, documents)) is not None:
        row, first = twice
        raise InputError(
            f"Rows {first} and {row} are both the document {documents[row][:40]!r} of query {queries[row][:40]!r}; "
            "keep one of them, or give each row an id of its own."
        )
    return queries, documents


def _word(value: Any, what: str) -> str:
    word = str(value)
    if word.split() != [word] or "\0" in word or word[0] == "\ufeff":  # a byte order mark is lost in the first line
        raise InputError(f"The {what} {word[:40]!r} is not one word without spaces, as TREC files need; rename it.")
    return word
