"""TREC runs and judgements (qrels), in and out.

A run line is ``query Q0 document rank score tag``, a judgement line ``query 0 document grade``. The rank of a run is
never trusted: the evaluators of the field sort by score, and so do we. Both may have three columns, as BEIR and many
run files do: query, document, and score or grade; where the third column of a run counts 1, 2, 3, ... in every query,
it is a rank, as MS MARCO has it, and a note says so. Blank lines, lines that begin with ``#`` and a line of column
names are left out.
"""

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.bounded import within_memory
from rerank.io.lines import (
    MAX_LINE,
    Path,
    is_number,
    lines_of,
    no_number,
    number,
    read_beginning,
    read_whole,
    spelled,
    writing_lines,
    wrong,
)
from rerank.io.table import Floats, Words, numbered, within, words
from rerank.io.texts import Indices, Texts, padded

LARGEST = 1000  # grades are at most this in size

# Names of columns, in files and data frames.
QUERY = ("qid", "q_id", "query_id", "query-id")
DOCUMENT = ("docno", "doc_id", "docid", "document_id", "corpus-id", "corpus_id")

_BLOCK = 2**19  # bytes that are cut into columns at a time: they stay in the cache
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_LONGEST = 48  # signs of a number that is read with others at once
_TENS = np.array([float(10**k) for k in range(16)])  # doubles, as are whole numbers of 15 digits
_BLANK = bytes(byte in b" \t\n\r\v\f" for byte in range(256))
_FIRST_LINE = re.compile(rb"^[ \t\r\v\f]*([^#\s][^\n]*)\n?", re.MULTILINE)


@dataclass(frozen=True)
class LineFormat:
    """The columns of a file: their number, where the number stands that counts, and what they are called."""

    kind: str
    width: int
    place: int
    value: str
    line: str

    def columns(self, width: int) -> tuple[int, int, int]:
        """Where query, document and number stand in a file of this width or of three columns."""
        return (0, 1, 2) if width == 3 else (0, 2, self.place)


RUN = LineFormat("a run", 6, 4, "score", "query Q0 document rank score tag")
QRELS = LineFormat("judgements", 4, 3, "grade", "query 0 document grade")


@dataclass(frozen=True, eq=False)
class Run:
    """The scores of one system: `qid` and `docid` (object arrays of str), `score` (float64); `notes` say what the
    reader decided.
    """

    qid: Words
    docid: Words
    score: Floats
    tag: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Qrels:
    """The judgements: `qid` and `docid` (object arrays of str), `grade` (int64, as in the file)."""

    qid: Words
    docid: Words
    grade: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RunRows:
    """A run or judgements without an object for each row."""

    queries: tuple[str, ...]  # in order of first appearance
    query: Indices  # (n,): the query of each row, by its place among them
    documents: Texts
    values: Floats
    tag: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, qid: Words, docid: Words, values: NDArray[np.generic], *others: Any) -> "RunRows":
        """The rows of a record that has objects."""
        return cls(*numbered(qid), Texts.of(docid.tolist()), np.asarray(values, dtype=np.float64), *others)

    def words(self) -> tuple[Words, Words]:
        """Query and document of each row."""
        return words(list(self.queries))[self.query], words(self.documents.tolist())


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


def read_run(path: Path) -> Run:
    """Read a TREC run; anything but six or three columns, a finite score, and each document once is refused."""
    rows = run_rows(path)
    return Run(*rows.words(), rows.values, rows.tag, rows.notes)


def read_qrels(path: Path) -> Qrels:
    """Read judgements; anything but four or three columns, a whole grade, and each document once is refused."""
    rows = qrels_rows(path)
    return Qrels(*rows.words(), rows.values.astype(np.int64))


def reads_as(path: Path) -> str:
    """What the number of columns of the first line says: "a run", "judgements", or nothing."""
    try:
        line = _FIRST_LINE.search(read_beginning(path).removeprefix(_MARK))
        parts = [] if line is None else line[1].decode("utf-8").split()
        return next((of.kind for of in (RUN, QRELS) if len(parts) == of.width and is_number(parts[of.place])), "")
    except (InputError, ValueError):
        return ""


@within_memory
def run_rows(path: Path) -> RunRows:
    """The rows of :func:`read_run`."""
    rows, width = _rows(path, RUN)
    # Where the numbers of each query are 1, 2, 3, ... as its lines come, and some query has two, they are ranks.
    places = within(rows.query, np.argsort(rows.query, kind="stable")) if width == 3 else np.ones(1)
    if places.max() == 1 or (rows.values != places).any():
        return rows
    note = (
        f"The third column of {path} counts 1, 2, 3, ... in each query, so it is read as ranks, 1 the best; if these "
        f"are scores, write the lines with a column of scores: {RUN.line}."
    )
    return replace(rows, values=-rows.values, notes=(note,))


@within_memory
def qrels_rows(path: Path) -> RunRows:
    """The rows of :func:`read_qrels`."""
    return _rows(path, QRELS)[0]


def _rows(path: Path, layout: LineFormat) -> tuple[RunRows, int]:
    """Rows of a file and its width. Files are cut at once; where anything is odd, line by line, to say what."""
    raw = read_whole(path).removeprefix(_MARK)
    line = _FIRST_LINE.search(raw)
    if line is None:
        return _by_lines(path, raw, 0, layout.width, layout), layout.width  # what is no text is refused first
    head = line[1].decode("utf-8", "replace").split()
    width, start = len(head), 0
    if width not in (3, layout.width):
        raise _no_layout(path, 1 + raw.count(b"\n", 0, line.start(1)), width, layout)
    query, document, value = (head[k].lower() for k in layout.columns(width))
    if query in QUERY and document in DOCUMENT and not is_number(value):
        start = line.end()
    found = _at_once(raw, start, width, layout)
    return found or _by_lines(path, raw, start, width, layout), width


def _no_layout(path: Path, line: int, width: int, layout: LineFormat) -> InputError:
    said, advice = f"there are {width} columns, not {layout.width}", f"write it as: {layout.line}"
    for other in (RUN, QRELS):
        if width == other.width != layout.width:
            said += f"; this looks like {other.kind}, not like {layout.kind}"
            advice = f"exchange the files, or {advice}"
    return wrong(path, line, said, advice)


def _at_once(raw: bytes, start: int, width: int, layout: LineFormat) -> RunRows | None:
    """The rows of a file that has nothing to refuse; None where a look at each line is needed."""
    try:
        if b"\0" in raw or not (raw.isascii() or raw.decode("utf-8")):
            return None
    except UnicodeDecodeError:
        return None
    buffer, names, parts = padded(raw), list[str](), list[Any]()
    last, tag = start, ""
    while last < len(raw):
        end = raw.find(b"\n", last + _BLOCK) + 1 or len(raw)
        cut = _cut(raw[last:end], width)
        if cut is None:
            return None
        if len(cut):
            query, documents, value = (
                Texts(buffer, cut[:, 2 * k] + last, cut[:, 2 * k + 1] - cut[:, 2 * k]) for k in layout.columns(width)
            )
            values = _numbers(value)
            if values is None or (layout is QRELS and no_grades(values).any()):
                return None
            first = query.changes()
            names += query.some(first).tolist()
            parts.append((np.diff(first, append=len(query)), documents.start, documents.size.astype(np.int32), values))
            tag = raw[last + cut[-1, -2] : last + cut[-1, -1]].decode("utf-8")
        last = end
    if not names:
        return None
    counts, starts, sizes, numbers = map(np.concatenate, zip(*parts))
    queries, codes = numbered(words(names))
    codes, documents = np.repeat(codes, counts), Texts(buffer, starts, sizes)
    keys = documents.keys(codes)
    keys.sort()
    if (keys[1:] == keys[:-1]).any():  # most likely a document twice
        return None
    return RunRows(queries, codes, documents, numbers, tag if width == RUN.width else "")


def _cut(block: bytes, width: int) -> Indices | None:
    """Where the columns of whole lines begin and end, (lines, 2 width); None if a line has another width."""
    if not block.endswith(b"\n"):
        block += b"\n"
    blank = np.frombuffer(block.translate(_BLANK), dtype=bool)
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    if not blank[0]:
        edges = np.concatenate([[0], edges])
    bytes_ = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(bytes_ == 10)
    if np.diff(ends, prepend=-1).max() > MAX_LINE:
        return None
    if edges.size == 2 * width * ends.size and b"#" not in block:
        cut = edges.reshape(-1, 2 * width)
        if (cut[:, -1] <= ends).all() and (cut[1:, 0] > ends[:-1]).all():
            return cut
    begins = edges[::2]
    line = np.searchsorted(ends, begins)
    count = np.bincount(line, minlength=ends.size)
    kept = count > 0
    kept[kept] = bytes_[begins[(np.cumsum(count) - count)[kept]]] != ord("#")
    if (count[kept] != width).any():
        return None
    return edges.reshape(-1, 2)[kept[line]].reshape(-1, 2 * width)


def _numbers(texts: Texts) -> Floats | None:
    """The numbers; None where a text is not the digits of a finite one."""
    packed = texts.padded(_LONGEST)
    if packed is None:
        return None
    if (plain := _decimals(packed)) is not None:
        return plain
    if b"_" in packed.tobytes():  # which Python reads as part of a number
        return None
    try:
        with np.errstate(over="ignore"):
            values = packed.astype(np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _decimals(packed: NDArray[np.bytes_]) -> Floats | None:
    """Numbers of at most 15 digits and a point, each rounded once [Clinger1990, sec. 2]; None if some are others."""
    signs = np.ascontiguousarray(packed.view(np.uint8).reshape(packed.size, -1).T)
    minus = signs[0] == ord("-")
    whole, digits, behind = np.zeros(packed.size), np.zeros(packed.size, np.int8), np.zeros(packed.size, np.int8)
    point, plain = np.zeros(packed.size, dtype=bool), np.ones(packed.size, dtype=bool)
    for k, sign in enumerate(signs):
        if not sign.any():
            break
        value, here = sign - ord("0"), sign == ord(".")
        digit = value < 10  # of unsigned numbers
        plain &= digit | (sign == 0) | (here & ~point) | (minus if k == 0 else False)
        np.multiply(whole, 10.0, out=whole, where=digit)
        np.add(whole, value, out=whole, where=digit)
        digits += digit
        behind += digit & point
        point |= here
    if not (plain & (digits > 0) & (digits <= 15)).all():
        return None
    return np.where(minus, -whole, whole) / _TENS[behind]


def _by_lines(path: Path, raw: bytes, start: int, width: int, layout: LineFormat) -> RunRows:
    """The rows of a file by a look at each line, which finds the first thing to refuse."""
    seen: dict[tuple[str, str], int] = {}
    values, parts = list[float](), list[str]()
    query, document, place = layout.columns(width)
    header = raw.count(b"\n", 0, start)
    for line, text in lines_of(path, io.BytesIO(raw)):
        found = [each.decode("utf-8") for each in text.encode("utf-8").split()]
        if not found or found[0].startswith("#") or line <= header:
            continue
        parts = found
        if len(parts) != width:
            said = f"there are {len(parts)} columns, and 3 in the lines above"
            alike = wrong(path, line, said, "write every line alike")
            raise _no_layout(path, line, len(parts), layout) if width == layout.width else alike
        pair = parts[query], parts[document]
        if (first := seen.setdefault(pair, line)) != line:
            said = f"the document {pair[1][:40]!r} of query {pair[0][:40]!r} already stands in line {first}"
            raise wrong(path, line, said, "keep one of them")
        values.append(number(parts[place]) if is_number(parts[place]) else np.nan)
        if not np.isfinite(values[-1]):
            raise no_number(path, line, repr(layout.value), parts[place])
        if layout is QRELS and no_grades(values[-1]):
            said = f"the grade {parts[place]!r} is not a whole number up to {LARGEST}"
            cure = "correct it, or exchange the files if this is a run" if width == 3 else "correct it"
            raise wrong(path, line, said, cure)
    if not seen:
        raise InputError(f"{path} is empty; pass a file with lines such as: {layout.line}.")
    queries, documents = (words([pair[side] for pair in seen]) for side in (0, 1))
    return RunRows.of(queries, documents, np.array(values), parts[5] if width == RUN.width else "")


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
    order = best_first(words(queries), words(documents), values)
    with writing_lines(path) as file:
        for query, own in groupby(order.tolist(), key=queries.__getitem__):
            rows = list(own)
            for place, row in enumerate(rows, start=1):
                score = spelled(float(values[row])) if ranks is None else str(len(rows) - place + 1)
                file.write(f"{query} Q0 {documents[row]} {place} {score} {tag}\n")


def best_first(qid: Words, docid: Words, scores: Floats) -> Indices:
    """Rows list by list, best first; equal scores by document id, descending, as trec_eval has it."""
    by_id = np.array(sorted(range(docid.size), key=docid.__getitem__, reverse=True), dtype=np.intp)
    return by_id[np.lexsort((-scores[by_id], numbered(qid)[1][by_id]))]


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
    if what == "query id" and word[0] == "#":
        raise InputError(f"The query id {word[:40]!r} begins with '#', as remarks of TREC files do; rename it.")
    return word
