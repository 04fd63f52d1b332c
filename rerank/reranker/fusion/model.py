"""A fitted fusion as plain numbers, names of the runs, one normaliser, one weight for each run; and its JSON file."""

import hashlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, InputWarning, nearest, unknown
from rerank.io.atomic import writing
from rerank.io.bounded import parsed_json, plain, read_bytes
from rerank.io.frames import is_frame
from rerank.io.fusion import Joined, apart, elsewhere, first_documents, join
from rerank.io.options import real, whole
from rerank.io.runs import as_dict, as_frame, kinds_of, run_of
from rerank.ranks.lists import number_lists
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS, Floats, K, cut, normalised

PLACES = 40  # binary places of a fused score, counted from the largest of its query

FORMAT = "exact-rerank fusion"
SCHEMA = 1
MOST_BYTES = 2**24
FIELDS = ("format", "schema", "runs", "normalise", "k", "missing", "depth", "about", "digest")
SOMETIMES, KINDS = "sigmoid", "kinds"
"""Entries of models with that normaliser (centre and width of each run's scores) and with weights by kind of query."""


@dataclass(frozen=True, eq=False)
class FusionModel:
    """Fuses runs: the weighted sum of their normalised scores.

    Attributes
    ----------
    names : tuple of str
        Names of the runs.
    weights : float64 array (runs,)
        Weight of each run's normalised score.
    normaliser : {"none", "minmax", "l2", "z", "rank", "sigmoid"}
    k : float
        Constant of "rank".
    missing : {"lowest", "zero", "impute"}
        What a document gets that a run does not have; see :func:`rerank.reranker.fusion.normalise.normalised`.
    depth : int or None
        First documents of each run's list that are looked at; None for all.
    about : mapping
        What the fit said, in JSON's types.
    curves : float64 array (runs, 2), or None
        Centre and width of each run's sigmoid, those of the scores that were fitted; None for 0 and 1.
    kinds : mapping of str to float64 array (runs,)
        Weights of kinds of queries that have their own.

    Notes
    -----
    Scores are rounded to 40 binary places, counted from the largest of the query, so that rounding does not break ties.
    """

    names: tuple[str, ...]
    weights: Floats
    normaliser: str
    k: float = K
    missing: str = "lowest"
    depth: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    curves: Floats | None = None
    kinds: Mapping[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Weights as arrays; a sentence for what fuses nothing, or contradicts itself."""
        for what, given, known in (("normaliser", self.normaliser, NORMALISERS), ("missing", self.missing, MISSING)):
            if not isinstance(given, str) or given not in known:
                raise unknown(what, given, known)
        names = tuple(self.names)
        if isinstance(self.names, str) or not names or len(set(names)) < len(names) or not _texts(names):
            raise InputError(f"names is {self.names!r:.80}; give a different text for each run, one at least.")
        real("k", self.k, 0.0)
        if self.depth is not None:
            whole("depth", self.depth)
        if not isinstance(self.kinds, Mapping):
            raise InputError(f"kinds is {self.kinds!r:.80}; give a mapping of kinds to weights of the runs.")
        weights = self._weights(self.weights, "weights")
        kinds = {kind: self._weights(own, f"kinds[{kind!r}]") for kind, own in self.kinds.items()}
        curves = None if self.curves is None else _numbers(self.curves, (len(names), 2))
        if self.curves is not None and (curves is None or (curves[:, 1] <= 0).any()):
            raise InputError(f"curves is {self.curves!r:.80}; give a centre and a positive width for each run.")
        _check_told(self.about, names)
        checked: dict[str, Any] = {"names": names, "weights": weights, "kinds": kinds, "curves": curves}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _weights(self, given: Any, what: str) -> Floats:
        """A weight of each run, in the order of the names, which a mapping has, too, and no other."""
        told = given
        if isinstance(given, Mapping):
            told = [given[name] for name in self.names] if given.keys() == set(self.names) else None
        found = _numbers(told, (len(self.names),))
        if found is None or not found.any():
            raise InputError(
                f"{what} is {given!r:.80}; give a finite number for each of the runs {', '.join(map(str, self.names))} "
                "that are not all 0."
            )
        return found

    def of_kind(self, kind: str) -> Self:
        """The model of the queries of a kind alone; that of all queries for a kind without weights of its own."""
        return replace(self, weights=self.kinds.get(kind, self.weights), kinds={})

    def normalised(self, scores: Floats, qid: NDArray[np.intp]) -> Floats:
        """Normalised scores (n, runs) of scores (n, runs), NaN where missing; ``qid`` numbers the lists from 0."""
        made = np.empty_like(scores)
        for rows, block in blocks(scores, qid, self.depth):
            made[rows] = self._normalised(block).transpose(1, 2, 0)
        return made

    def _normalised(self, block: Floats, absent: NDArray[np.bool_] | None = None) -> Floats:
        """Normalised scores of a block (runs, queries, documents)."""
        if self.normaliser == "sigmoid" and self.curves is not None:
            centre, width = self.curves.T[:, :, None, None]
            with np.errstate(over="ignore"):
                block = (block - centre) / width
        return normalised(block, self.normaliser, self.k, self.missing, absent)

    def fuse_arrays(self, scores: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Fused scores, larger is better; the fast path.

        Parameters
        ----------
        scores : float array (n, runs)
            A row for each document, a column for each run in the order of ``names``, NaN where a run does not have it.
        qid : array (n,), optional
            Query of each row, in any order; one query without it.

        Returns
        -------
        float64 array (n,)
            NaN for a document that no run has within ``depth``.

        Raises
        ------
        InputError
            For another number of columns, or scores that are infinite.
        """
        table = np.asarray(scores, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise InputError(
                f"scores has shape {table.shape}; give a row for each document and a column for each of the "
                f"{len(self.names)} runs: {', '.join(self.names)}."
            )
        if not table.shape[0]:
            return np.empty(0)
        if np.isinf(table).any():
            raise InputError("scores holds inf; give finite numbers, and NaN where a run does not have the document.")
        if qid is None:
            block = np.ascontiguousarray(table.T)[:, None, :]
            return self._fused(block if self.depth is None else cut(block, self.depth))[0]
        found = np.empty(table.shape[0])
        for rows, block in blocks(table, number_lists(qid)[1], self.depth):
            found[rows] = self._fused(block)
        return found

    def _fused(self, block: Floats) -> Floats:
        """Scores (queries, documents) of a block (runs, queries, documents)."""
        absent = np.isnan(block)
        values = self._normalised(block, absent)
        with np.errstate(over="ignore", invalid="ignore"):
            total = values[0] * self.weights[0]
            for weight, own in zip(self.weights[1:].tolist(), values[1:]):
                total += weight * own
        total = rounded(total)
        total[absent.all(axis=0)] = np.nan
        return total

    def joined(self, runs: Mapping[str, Any]) -> Joined:
        """The documents of runs given by name, in the order of ``names``, without those beyond the depth."""
        return join({name: first_documents(run, self.depth) for name, run in named_runs(runs, self.names).items()})

    def fuse(self, runs: Mapping[str, Any], kinds: Any = None) -> Any:
        """The fused run; a warning tells what is most likely not meant (:meth:`notes`).

        Parameters
        ----------
        runs : mapping of str to path, dict, data frame or Run
            A run under each of ``names``; see :mod:`rerank.io.runs`.
        kinds : mapping of query to kind, or path, optional
            A query without a kind, or of one without weights of its own, is fused by ``weights``.

        Returns
        -------
        data frame or dict
            A frame as the first run's if all runs are data frames, else ``{query: {document: score}}``. Best document
            first, equal scores by document id, descending.

        Raises
        ------
        InputError
            For an unknown or missing run, and for runs that cannot be read.
        """
        joined = self.joined(runs)
        for note in self.notes(joined):
            warnings.warn(note, InputWarning, stacklevel=2)
        scores = self.scores(joined, kinds)
        given = list(runs.values())
        if all(is_frame(run) for run in given):
            return as_frame(joined.qid, joined.docid, scores, given[0])
        return as_dict(joined.qid, joined.docid, scores)

    def notes(self, joined: Joined) -> tuple[str, ...]:
        """What is said of ranks in place of scores, of runs that share no query or document, and of scores that are not
        those of the fit.
        """
        return *joined.notes, *apart(joined), *elsewhere(joined, self.about.get("ranges"))

    def scores(self, joined: Joined, kinds: Any = None) -> Floats:
        """Fused score of each row, by the weights of the kind of its query."""
        given = self.given(joined)
        found = self.fuse_arrays(given, joined.qid)
        known = {} if kinds is None else kinds_of(kinds)
        for kind in self.kinds:
            rows = np.flatnonzero([known.get(query) == kind for query in joined.qid.tolist()])
            found[rows] = self.of_kind(kind).fuse_arrays(given[rows], joined.qid[rows])
        return found

    def given(self, joined: Joined) -> Floats:
        """What is normalised: scores, or places with a minus, by which no two documents of a list are equal."""
        return -joined.places if self.normaliser == "rank" else joined.scores


def rounded(total: Floats) -> Floats:
    """Scores (queries, documents) rounded in place to ``PLACES`` binary places, from the largest of the query."""
    size = np.abs(total).max(axis=-1, keepdims=True, initial=0.0)
    if not np.isfinite(size).all():
        raise InputError("The scores are too large to be added up; divide them, or fit with another normaliser.")
    step = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - PLACES, -1022))
    total /= step
    np.rint(total, out=total)
    total *= step
    return total


def named_runs(runs: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The runs read, in the order of ``names``: each of them, and no other."""
    if not isinstance(runs, Mapping):
        raise InputError(f"runs is a {type(runs).__name__}; give a mapping from names to runs.")
    known = ", ".join(names)
    for name in runs:
        if name not in names:
            raise InputError(
                f"There is no run {name!r} in the model; did you mean {nearest(str(name), names)!r}? It has {known}."
            )
    for name in names:
        if name not in runs:
            raise InputError(f"The run {name!r} is missing; the model fuses {known}, and needs each of them.")
    return {name: run_of(runs[name], name, empty=True) for name in names}


def blocks(
    scores: Floats, qid: NDArray[np.intp], depth: int | None = None
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Rows (queries, documents) and scores (runs, queries, documents) of all lists of one length, cut at the depth."""
    across = np.ascontiguousarray(scores.T)
    order, lengths = np.argsort(qid, kind="stable"), np.bincount(qid)
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 0]).tolist():
        rows = order[starts[lengths == length][:, None] + np.arange(length)]
        yield rows, across[:, rows] if depth is None else cut(across[:, rows], depth)


def save(model: FusionModel, path: str | os.PathLike[str]) -> None:
    """Write the model. Weights are plain numbers of the normalised scores; every bit is kept.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    body: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "runs": dict(zip(model.names, model.weights.tolist()))}
    body |= {"normalise": model.normaliser, "k": model.k, "missing": model.missing, "depth": model.depth}
    body["about"] = plain(model.about)
    if model.normaliser == "sigmoid" and model.curves is not None:
        body[SOMETIMES] = model.curves.tolist()
    if model.kinds:
        body[KINDS] = {kind: dict(zip(model.names, own.tolist())) for kind, own in model.kinds.items()}
    text = json.dumps(body | {"digest": _digest(body)}, indent=1, allow_nan=False)
    with writing(path) as file:
        file.write(text + "\n")


def load(path: str | os.PathLike[str]) -> FusionModel:
    """Read a model that :func:`save` wrote.

    Raises
    ------
    InputError
        One sentence, for anything else: another format, a damaged or changed file, values that cannot be.
    """
    raw = read_bytes(path, MOST_BYTES)
    try:
        return _model_of(parsed_json(raw))
    except (ValueError, MemoryError, RecursionError) as error:
        raise InputError(
            f"{path} holds no fusion model that can be used ({str(error)[:120]}); pass a file written by save or by "
            "rerank fuse --model."
        ) from None


def _model_of(body: Any) -> FusionModel:
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ValueError(f'"format" is not {FORMAT!r}')
    if type(body.get("schema")) is not int or body["schema"] != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    if set(body) - {SOMETIMES, KINDS} != set(FIELDS):
        raise ValueError(f"it must have the entries {', '.join(FIELDS)}")
    if body["digest"] != _digest({name: value for name, value in body.items() if name != "digest"}):
        raise ValueError("the digest does not match the content")
    runs, normaliser, curves = body["runs"], body["normalise"], body.get(SOMETIMES)
    if not isinstance(runs, dict) or "" in runs:
        raise ValueError("'runs' must hold a finite weight for each run")
    if SOMETIMES in body and (normaliser != "sigmoid" or curves is None):
        raise ValueError(f"'{SOMETIMES}' stands beside the normaliser {normaliser!r:.40}, or is empty")
    rules = {name: body[name] for name in ("k", "missing", "depth", "about")}
    return FusionModel(tuple(runs), runs, normaliser, **rules, curves=curves, kinds=body.get(KINDS, {}))  # type: ignore[arg-type]


def _numbers(given: Any, shape: tuple[int, ...]) -> Floats | None:
    """Finite numbers of that shape; None for anything else, also for texts and truth values."""
    told = given.tolist() if hasattr(given, "tolist") else given
    if not shape:
        return np.float64(told) if _real(told) else None  # type: ignore[return-value]
    parts = [_numbers(part, shape[1:]) for part in told] if isinstance(told, list | tuple) else []
    return np.array(parts) if len(parts) == shape[0] and all(part is not None for part in parts) else None


def _real(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return number and abs(value) <= sys.float_info.max  # as no NaN is


def _texts(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)


def _known(value: Any) -> bool:
    """A number, or None where a file has no number for an infinite one."""
    return value is None or (isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value))


TOLD: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("stat", "prior", "null", "status", "message"), (lambda own: _texts([own]), "a text")),
    **dict.fromkeys(("null_statistic", "statistic", "value", "bound"), (_known, "a number")),
    **dict.fromkeys(("radius", "gap"), (lambda own: _known(own) and (own is None or own >= 0), "a number, 0 or more")),
    "gain": (lambda own: own in ("linear", "exponential"), "linear or exponential"),
    "null_kept": (lambda own: isinstance(own, bool), "true or false"),
    "queries": (lambda own: type(own) is int and own > 0, "a whole number above 0"),
    "notes": (_texts, "a list of texts"),
    "ranges": (lambda own: isinstance(own, Mapping), "a least and a largest score of runs"),
}
"""What each entry of ``about`` is that a fit writes; others are the caller's."""


def _check_told(about: Any, names: tuple[str, ...]) -> None:
    if not isinstance(about, Mapping):
        raise InputError(f"about is {about!r:.80}; give a mapping.")
    for name, value in about.items():
        right, what = TOLD.get(name, (lambda own: True, ""))
        if not right(value):
            raise InputError(f"about[{name!r}] is {value!r:.80}; it must be {what}.")
    for name, ends in about.get("ranges", {}).items():
        pair = _numbers(ends, (2,))
        if name not in names or pair is None or pair[0] > pair[1]:
            raise InputError(f"about['ranges'] has {name!r:.40} from {ends!r:.80}; it must be {TOLD['ranges'][1]}.")
    value, bound = about.get("value"), about.get("bound")
    if value is not None and bound is not None and value > bound:
        raise InputError(f"about['value'] is {value!r}, above about['bound'], {bound!r}; no value is above its bound.")


def _digest(body: Mapping[str, Any]) -> str:
    canonical = json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
