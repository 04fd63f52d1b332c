"""Runs and judgements as people hold them: TREC files, dictionaries, data frames; read, and given back.

A dictionary is ``{query: {document: score}}``. A data frame has a column of queries (``qid``, ``q_id``, ``query_id``),
of documents (``docno``, ``doc_id``, ``docid``) and of scores or grades, as ranx, PyTerrier and ir_measures name them. A
sequence holds triples of query, document and number, such as ``ScoredDoc`` and ``Qrel`` of ir_measures.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io import trec
from rerank.io.arrays import held
from rerank.io.frames import column, is_frame, names_of, numbers
from rerank.io.lines import numbered_lines, wrong
from rerank.io.table import Floats, Words, words
from rerank.io.trec import Qrels, Run, RunRows

SCORE = ("score",)
GRADE = ("label", "relevance", "grade", "rel", "score")


def run_of(source: Any, name: str, empty: bool = False) -> Run:
    """A run from a file, a dictionary, a data frame, or another run object that gives a dictionary (``to_dict``).
    ``name`` stands in errors. With ``empty`` a dictionary or a data frame without a document is taken, too: a system
    that found nothing. Refused are missing columns, a document twice in a query, and scores that are no finite numbers.
    """
    if isinstance(source, Run):
        _check((source.qid, source.docid, source.score), f"The run {name!r}", empty=True)
        return source
    if isinstance(source, str | os.PathLike):
        return trec.read_run(source)
    qid, docid, score = _triples(source, f"The run {name!r}", SCORE, empty)
    return Run(qid, docid, score, name)


def qrels_of(source: Any) -> Qrels:
    """Judgements from a file, a dictionary, a data frame, or another object that gives a dictionary. Refused is what is
    refused of runs, and a grade that is no whole number.
    """
    if isinstance(source, Qrels):
        _check((source.qid, source.docid, source.grade), "The table of judgements")
        return source
    if isinstance(source, str | os.PathLike):
        return trec.read_qrels(source)
    qid, docid, grade = _triples(source, "The table of judgements", GRADE)
    broken = trec.no_grades(grade)
    if broken.any():
        row = int(np.argmax(broken))
        raise InputError(
            f"The grade {grade[row]:g} of document {docid[row]!r} is not a whole number up to {trec.LARGEST}; correct "
            "it, or exchange runs and judgements."
        )
    return Qrels(qid, docid, grade.astype(np.int64))


def kinds_of(source: Any) -> dict[str, str]:
    """The kind of each query, from a mapping, or from a file with lines ``QUERY KIND``."""
    if isinstance(source, Mapping):
        return {str(query): str(kind) for query, kind in source.items()}
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"kinds is a {type(source).__name__}; give a mapping from queries to their kinds, or a file.")
    found: dict[str, str] = {}
    for line, text in numbered_lines(source):
        parts = text.split()
        if parts and len(parts) != 2:
            raise wrong(source, line, f"there are {len(parts)} columns, not 2", "write it as: QUERY KIND")
        if parts and found.setdefault(*parts) != parts[1]:
            raise wrong(source, line, f"the query {parts[0]!r} has two kinds", "leave one of them out")
    return found


def run_rows_of(source: Any, name: str) -> RunRows:
    """:func:`run_of` as rows; of a file none becomes an object."""
    if isinstance(source, str | os.PathLike):
        return trec.run_rows(source)
    run = run_of(source, name)
    return RunRows.of(run.qid, run.docid, run.score, run.tag, run.notes)


def qrels_rows_of(source: Any) -> RunRows:
    """:func:`qrels_of` as rows; of a file none becomes an object."""
    if isinstance(source, str | os.PathLike):
        return trec.qrels_rows(source)
    qrels = qrels_of(source)
    return RunRows.of(qrels.qid, qrels.docid, qrels.grade)


def runs_by_name(source: Any) -> dict[str, Any]:
    """Runs by their names: from a mapping of names to runs, from a sequence, or from a run. Of a sequence, and alone, a
    file is called by its stem, another run by its ``name``, else "run", "run 2", ...
    """
    if isinstance(source, Mapping) and not _is_run(source):
        named = list(source.items())
    else:
        several = isinstance(source, Sequence) and not isinstance(source, str) and not _is_triples(source)
        each = list(source) if several else [source]
        named = [(_name_of(run, number), run) for number, run in enumerate(each, 1)]
    if not named:
        raise InputError("runs is empty; give at least one run, such as {'bm25': 'a.run'}.")
    found: dict[str, Any] = {}
    for name, run in named:
        if not isinstance(name, str) or not name:
            raise InputError(f"A run is called {name!r}; give every run a name that is text.")
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give a mapping with a name of its own for each.")
        found[name] = run
    return found


def _is_run(source: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a run and no mapping of runs: its values map documents to numbers."""
    own = next(iter(source.values()), None)
    inner = next(iter(own.values()), None) if isinstance(own, Mapping) else own
    return isinstance(own, Mapping) and not isinstance(inner, Mapping)


def name_of_file(path: str | os.PathLike[str]) -> str:
    """The stem of a file's name, without ``.gz``."""
    return PurePath(PurePath(path).name.removesuffix(".gz")).stem


def _name_of(run: Any, number: int) -> str:
    if isinstance(run, str | os.PathLike):
        return name_of_file(run)
    name = getattr(run, "tag", None) or getattr(run, "name", None)
    return name if isinstance(name, str) and name else "run" if number == 1 else f"run {number}"


def _is_triples(source: Sequence[Any]) -> bool:
    return bool(source) and isinstance(source[0], tuple) and len(source[0]) >= 3


def as_dict(qid: Words, docid: Words, scores: Floats) -> dict[str, dict[str, float]]:
    """``{query: {document: score}}``, best document of each query first; equal scores by id, descending."""
    found: dict[str, dict[str, float]] = {query: {} for query in qid.tolist()}
    order = trec.best_first(qid, docid, scores)
    for query, document, score in zip(qid[order].tolist(), docid[order].tolist(), scores[order].tolist()):
        found[query][document] = score
    return found


def as_frame(qid: Words, docid: Words, scores: Floats, like: Any) -> Any:
    """A data frame of the package and with the column names of ``like``, best document of each query first."""
    order = trec.best_first(qid, docid, scores)
    queries, documents = (_named(like, known) for known in (trec.QUERY, trec.DOCUMENT))
    columns = {queries: qid[order].tolist(), documents: docid[order].tolist(), "score": scores[order]}
    if type(like).__module__.partition(".")[0] == "pyarrow":
        import pyarrow

        return pyarrow.table(columns)
    return type(like)(columns)


class _Sides(NamedTuple):
    """Queries, documents and numbers as they were given, in the order of the rows."""

    queries: Sequence[Any]
    documents: Sequence[Any]
    numbers: Any


def _triples(source: Any, what: str, values: tuple[str, ...], empty: bool = False) -> tuple[Words, Words, Floats]:
    sides = _sides(source, what, values)
    qid, docid = (words([_id(entry, what) for entry in each]) for each in (sides.queries, sides.documents))
    try:
        scores = np.array(sides.numbers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        scores = np.empty((0, 0))
    if scores.ndim != 1:  # lists and arrays of one length make a table
        raise InputError(f"{what} holds a score that is no number; give finite numbers.")
    _check((qid, docid, scores), what, empty)
    return qid, docid, scores


def _sides(source: Any, what: str, values: tuple[str, ...]) -> _Sides:
    """The rows of any object that holds a run or judgements; ``values`` are names of its column of numbers."""
    source = list(source) if isinstance(source, Iterator) else held(source)  # such as the readers of ir_measures
    if hasattr(source, "shape") and is_frame(source):  # a frame that is not computed yet has no shape
        return _of_frame(source, what, values)
    if not isinstance(source, Mapping) and hasattr(source, "to_dict"):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return _of_mapping(source, what)
    if isinstance(source, list | tuple) and (_is_triples(source) or not source):
        if not all(isinstance(entry, tuple) and len(entry) >= 3 for entry in source):
            raise InputError(f"{what} holds something that is no triple; give (query, document, score) for each row.")
        # Qrel of ir_measures has more behind its three.
        return _Sides(*([entry[k] for entry in source] for k in range(3)))
    raise InputError(
        f"{what} is a {type(source).__name__}; give a path, a dictionary {{query: {{document: score}}}}, a data "
        "frame, or triples of query, document and score."
    )


def _of_frame(source: Any, what: str, values: tuple[str, ...]) -> _Sides:
    names, columns = names_of(source), list[Any]()
    for kind, known in (("queries", trec.QUERY), ("documents", trec.DOCUMENT), ("scores", values)):
        if not (name := _named(source, known)):
            wanted = " or ".join(map(repr, known))
            raise InputError(f"{what} has no column of {kind}; name one of its columns {wanted}.")
        columns.append(column(source, names.index(name)))
    queries, documents, score = *(own.to_numpy().tolist() for own in columns[:2]), numbers(columns[2])
    if score is None:
        raise InputError(f"{what} holds scores that are no numbers; give finite numbers.")
    return _Sides(queries, documents, score)


def _of_mapping(source: Mapping[Any, Any], what: str) -> _Sides:
    queries: list[str] = []
    for query, own in source.items():
        if not isinstance(own, Mapping):
            raise InputError(
                f"{what} has a {type(own).__name__} for query {query!r}; give {{query: {{document: score}}}}."
            )
        queries += [_id(query, what)] * len(own)
    documents = [document for own in source.values() for document in own]
    return _Sides(queries, documents, [value for own in source.values() for value in own.values()])


def _check(found: tuple[Words, Words, NDArray[np.generic]], what: str, empty: bool = False) -> None:
    """Refuse what no file could hold: a score that is not finite, no document, a document twice in a query."""
    qid, docid, score = found
    bad = ~np.isfinite(score)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{what} has no finite number for document {docid[row]!r} of query {qid[row]!r}; give one.")
    if not (score.size or empty):
        raise InputError(f"{what} is empty; give at least one document.")
    if (twice := trec.first_twice(qid.tolist(), docid.tolist())) is not None:
        row = twice[0]
        raise InputError(f"{what} has document {docid[row]!r} of query {qid[row]!r} twice; keep one of them.")


def _named(frame: Any, known: tuple[str, ...]) -> str:
    """The first of the known names that the frame has, or nothing."""
    return next((name for name in known if name in names_of(frame)), "")


def _id(value: Any, what: str) -> str:
    """An id as text: texts are kept as they are, whole numbers are spelled."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"{what} has the id {value!r}; ids must be texts or whole numbers.")
