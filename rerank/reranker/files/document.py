"""Fitted states as model documents and back: no bit of a number is lost, and reading a document runs no code."""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import numpy as np

from rerank.certificate import Certificate
from rerank.errors import InputError, NotSupportedError
from rerank.errors.telling import Note
from rerank.io.bounded import MAX_TEXT, Json
from rerank.io.columns import COMPLETE, ColumnKind
from rerank.io.labels import TwoLabels
from rerank.problem import Margin, digest
from rerank.problem.lists import Indices
from rerank.reranker.blend import Blend
from rerank.reranker.columns import Columns
from rerank.reranker.evidence import evidence_of
from rerank.reranker.files import model_file
from rerank.reranker.files.model_file import COLUMNS, ENCODED, SQUARES, ModelDocument, usable
from rerank.reranker.files.stages import asked_as, kinds_of_rules, kinds_of_stage, of_entries
from rerank.reranker.first_stage import FirstStage, of_tables
from rerank.reranker.members import MEMBERS, by_members
from rerank.reranker.options import KEPT, Params, RerankerOptions, values_of
from rerank.reranker.result import Result
from rerank.reranker.solution import KEEPING, SOURCES, STATUSES, ShortlistInfo
from rerank.reranker.solve.program import FORMULATIONS, SIZES
from rerank.reranker.state import CUTS, FittedState, from_flat
from rerank.reranker.task import task_of
from rerank.scorers.encoding import NOT_ASKED
from rerank.statistics import Custom, RankStatistic, fitted_statistic, parse

NUMBERS = ("numpy", "scipy", "scikit-learn", "highspy", "numba")  # packages on which the numbers of a fit depend
OPTIONAL = ("pyomo", "matplotlib", "pandas", "polars", "pyarrow", "lightgbm", "xgboost", "catboost", "ray")
"""Packages that are used where they are installed, for programs, pictures, tables and first stages."""

TABLE = "table"  # entries of the task below this name are the state of a first stage that learned from a table as it is

_SQUARES = ("centre", "scale", "square_of")  # lists of squares that may be empty, and then have no entry
FASTEST = 1e9  # boxes and nodes that no machine explores in a second
UNFITTED = KEEPING[1:]  # statuses of a fit without weights

# Kept elsewhere in the file, or computed from the rest.
_ELSEWHERE = {"weights", "gap", "proved", "statistic_name", "fitted_name", "gain", "epsilon", "C"}
# The part of an annotation before "| None", and what a value of it is; what holds several, and the kind of each.
_KINDS: dict[Any, str] = {float: "a finite number", int: "a whole number from 0", str: "a text", bool: "true or false"}
_SEVERAL: dict[Any, tuple[Any, Any]] = {  # holder in JSON, and the type of what it holds
    Mapping[str, float]: (dict, float),
    Mapping[str, int]: (dict, int),
    tuple[str, ...]: (list, str),
}


def document(state: FittedState) -> ModelDocument:
    """The fitted state as a model document."""
    stage, statistic = state.first_stage, state.task.quoted
    known = state.columns.squares, state.columns.encoded
    if state.columns.transformer not in (None, *known) and not state.task.members:
        raise NotSupportedError(
            "A model whose columns are made by a transformer, other than rerank.scorers.Squares, cannot be written to "
            "a file; transform the table first, and fit on what comes out."
        )
    own = stage if stage is not None and stage.coef is not None else None
    if isinstance(statistic, Custom) and callable(statistic.a):
        raise NotSupportedError(
            "A statistic made of a function cannot be written to a file; give its coefficients a_1..a_n instead."
        )
    chosen = state.columns.chosen
    signs = state.task.signs[np.searchsorted(chosen, state.features)].astype(np.intp)
    certificate = {f"certificate.{name}": value for name, value in state.certificate.items()}
    return ModelDocument(
        statistic=None if isinstance(statistic, Custom) else statistic.name,
        coefficients=np.array(statistic.a) if isinstance(statistic, Custom) else None,
        feature_names=state.columns.inputs,
        reranked=None if chosen.size == len(state.columns.names) else chosen,
        features=state.features,
        low=state.low,
        high=state.high,
        prior_scores=state.prior_scores,
        member_scores=None if state.member_scores is None else state.member_scores.ravel(),
        n_candidates=state.n_candidates,
        weights=state.weights if state.weights.size == state.low.size else np.zeros(state.low.size),
        epsilon=Margin(state.result.epsilon),
        gain=state.task.gain,
        C=state.result.C,
        max_features=state.task.max_features,
        signs=signs,
        first_stage=None if own is None else own.name,
        first_stage_coef=None if own is None else own.coef,
        first_stage_intercept=None if own is None else own.intercept,
        threshold=state.threshold if math.isfinite(state.threshold) else None,
        result=result_to_flat(state.result) | ({} if state.result.certificate is not None else certificate),
        settings=_settings(state, signs),
        versions=versions(),
        data_sha256=_digest_of(state),
        random_state=state.task.random_state,
    )


def _settings(state: FittedState, signs: Indices) -> Json:
    """The entries of a document that the schema does not name; ``signs`` are those of the used columns."""
    task, stage, labels = state.task, state.first_stage, state.labels
    squares, encoded = state.columns.squares, None if state.task.members else state.columns.encoded
    positive = task.given.positive if isinstance(task.given.positive, bool) else "signs"
    if signs.size:  # one value for all used columns, or a sign for each
        positive = bool(signs[0]) if np.all(signs == signs[0]) and signs[0] >= 0 else "signs"
    opaque = stage if stage is not None and stage.coef is None else None
    table = None if opaque is None else of_tables(opaque.estimator)
    # The entry ``epsilon`` holds the margin of free weights, and what "auto" is.
    chosen = task.given.margin != "auto" and not (task.radius is None and task.normalise is None)
    return {
        **{name: value for name, value in values_of(task.given).items() if name in KEPT},
        "margin": task.given.margin if chosen else None,
        "positive": positive,
        **({"quota": "\n".join(map(str, task.quota))} if task.quota else {}),
        "reranks": bool(state.reranks),
        "opaque_first_stage": None if opaque is None else opaque.name,
        **({} if opaque is None else {"prior_centre": opaque.centre, "prior_scale": opaque.scale}),
        "weighted_lists": state.weighted_lists,
        **({} if task.normalise is None else {"normalise": task.normalise}),
        **{f"constraint.{number}": text for number, text in enumerate(task.constraints)},
        **({} if table is None else flattened(table.to_dict(), TABLE)),
        **({} if squares is None else flattened(squares.to_dict(), SQUARES)),
        **({} if encoded is None else flattened(encoded.to_dict(), ENCODED)),
        **({"features": MEMBERS} if task.members else {}),
        **({} if labels is None else {"label_negative": labels.negative, "label_positive": labels.positive}),
        **({} if state.classes is None else state.classes.to_flat()),
        "named_features": state.columns.frame,
        **({"qid_column": state.columns.lists} if state.columns.lists else {}),
        **state.columns_read,
    }


def _digest_of(state: FittedState) -> str | None:
    """The digest of the data of the fit; None if no column varies."""
    if state.result.certificate is not None:
        return str(state.result.certificate.data_sha256)
    return state.data_sha256 if state.problem is None else digest(state.problem)


def versions(names: Sequence[str] = ("exact-rerank", *NUMBERS)) -> dict[str, str]:
    """Versions of installed packages: this one and those on which its numbers depend."""
    from rerank import __version__

    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = __version__ if name == "exact-rerank" else version(name)
    return found


def write_state(state: FittedState, path: str | os.PathLike[str]) -> None:
    """Write the model file."""
    model_file.write(path, document(state))


def read_state(path: str | os.PathLike[str], first_stage: Any = None) -> FittedState:
    """The fitted state of a model file."""
    return state_of(model_file.read(path), first_stage, str(path))


def quoted_statistic_of(doc: ModelDocument) -> RankStatistic:
    """The user's own statistic."""
    return parse(doc.statistic) if doc.coefficients is None else Custom(tuple(doc.coefficients.tolist()))


def statistic_of(doc: ModelDocument) -> RankStatistic:
    """The fitted statistic: window and list length included."""
    options = (doc.settings.get(name) for name in ("window", "list_length"))
    return fitted_statistic(quoted_statistic_of(doc), *options)


def columns_of(doc: ModelDocument) -> Columns:
    """The columns of a document's table, all of them numbers."""
    names, lists, frame = doc.feature_names, doc.settings.get("qid_column"), doc.settings.get("named_features", True)
    every = np.arange(len(names), dtype=np.intp)
    made: Any = None
    left_out: tuple[str, ...] = ()
    chosen = every if doc.reranked is None else doc.reranked
    if entries := gathered(doc.settings, SQUARES):
        from rerank.scorers import Squares

        made = Squares.from_dict({each: [] for each in _SQUARES} | nested(entries))
        if made.n_features_in_ != len(names):
            raise _unusable(f"it has squares of {made.n_features_in_} columns, and {len(names)} columns")
        if frame:
            made.feature_names_in_ = np.array(names, dtype=object)
        chosen = np.arange(doc.n_made, dtype=np.intp)
    elif entries := gathered(doc.settings, ENCODED):
        from rerank.scorers.table_columns import TableColumns

        made = TableColumns.from_dict({"left_out": []} | nested(entries))
        if made.n_features_in_ != len(names):
            raise _unusable(f"it encodes {made.n_features_in_} columns, and there are {len(names)}")
        made.feature_names_in_ = np.array(names, dtype=object)
        left_out = tuple(names[j] for j, why in made.left_out_.items() if why != NOT_ASKED)
        chosen = np.arange(doc.n_made, dtype=np.intp)
    elif by_members(doc.settings.get("features")):
        made = _blend_of(doc, Columns(names, frame, names, every, every))
        chosen = np.arange(doc.n_made, dtype=np.intp)
    lists = lists if isinstance(lists, str) else ""
    beside: Json = {"transformer": made, "lists": lists, "aside": (lists,) if lists else ()}
    return Columns(names, frame, names, chosen, every, left_out, **beside).called(names)


def kinds_of(doc: ModelDocument) -> dict[str, ColumnKind]:
    """What the columns of a table hold for this model, in their order, without those that it never looks at."""
    columns = columns_of(doc)
    names, stage = doc.feature_names, _stage_of(doc, None, columns)
    if by_members(doc.settings.get("features")):
        own: dict[int, ColumnKind] = {}
    elif columns.encoded is not None:
        own = kinds_of_rules(columns.encoded.rules_)
    else:
        complete = columns.chosen if columns.squares is None else columns.squares.columns_
        own = dict.fromkeys(complete.tolist(), COMPLETE)
    found = own | ({} if stage is None else kinds_of_stage(stage, columns))
    found |= {at: kind for at, kind in own.items() if kind is COMPLETE}
    return {names[j]: found[j] for j in sorted(found)}


def _asked_for(columns: Columns) -> list[int] | None:
    """The columns that were named of those encoded; None for all."""
    left_out = {} if columns.encoded is None else columns.encoded.left_out_
    named = NOT_ASKED in left_out.values()
    return [j for j in range(len(columns.inputs)) if left_out.get(j) != NOT_ASKED] if named else None


def result_of(doc: ModelDocument) -> Result:
    """The result of a document."""
    quoted = quoted_statistic_of(doc)
    body: Json = {"seconds": {}} | nested(doc.result)
    certificate, evidence, short = (body.pop(name, {}) for name in ("certificate", "evidence", "shortlist"))
    if not isinstance(body.pop("message", None), str):
        raise _unusable("it has no message")
    kinds = body.pop("note_kinds", None)
    body = _typed(Result, body, "")
    if kinds is not None:
        body["notes"] = _with_kinds(body.get("notes", ()), kinds)
    try:
        result = Result(
            **body,
            weights=doc.weights,
            gain=doc.gain,
            epsilon=doc.epsilon,
            C=doc.C,
            statistic_name=quoted.name,
            fitted_name=statistic_of(doc).name,
            certificate=_certificate(certificate),
            evidence=evidence_of(evidence, quoted.name) if evidence else None,
            shortlist=ShortlistInfo(**_typed(ShortlistInfo, short, "shortlist.")),
        )
    except (TypeError, ValueError) as error:
        raise (error if isinstance(error, InputError) else _unusable(str(error)[:160])) from None
    for name, known in (("status", STATUSES), ("bound_source", SOURCES)):
        if body[name] not in known:
            raise _unusable(f"the {name} {body[name][:40]!r} is unknown")
    if result.ties not in ("pessimistic", quoted.ties):  # earlier versions counted every tie as a loss
        raise _unusable(f"ties are {str(result.ties)[:40]!r}, which are none of {quoted.name}")
    if broken := next((rule for rule, holds in _of_records(result).items() if not holds), None):
        raise _unusable(f"a rule is broken: {broken}")
    return result


def _with_kinds(notes: tuple[str, ...], kinds: Any) -> tuple[Note, ...]:
    """Notes with their kinds, which files of earlier versions lack."""
    if not isinstance(kinds, list) or len(kinds) != len(notes):
        raise _unusable(f"note_kinds is {str(kinds)[:40]!r}, not a kind for each of {len(notes)} notes")
    for kind in kinds:
        _check_kind(str, "note_kinds", kind)
    return tuple(Note(note, kind) for note, kind in zip(notes, kinds))


def _of_records(result: Result) -> dict[str, bool]:
    """What holds of the figures of a run, which nobody can recompute."""
    size, seconds = result.model_size or dict.fromkeys(SIZES, 0), result.seconds
    known = size.keys() == set(SIZES)
    return {
        "seconds are not negative": all(spent >= 0 for spent in seconds.values()),
        "'model_size' counts " + ", ".join(SIZES): known,
        "no program has more integer columns than columns": not known or size["integer_columns"] <= size["columns"],
        "no program has more non-zeros than cells": not known or size["nonzeros"] <= size["rows"] * size["columns"],
        "'formulation' is a program": result.formulation in (None, *FORMULATIONS[1:]),
        "the nodes can be counted in the seconds": result.nodes <= FASTEST * max(1.0, sum(seconds.values())),
    }


def missing_first_stage(doc: ModelDocument) -> str | None:
    """Name of the first stage, if it is not in the document."""
    opaque = doc.settings.get("opaque_first_stage")
    return None if opaque is None or gathered(doc.settings, TABLE) else str(opaque)


def _stage_of(doc: ModelDocument, first_stage: Any, columns: Columns) -> FirstStage | None:
    """The first stage of a document; ``first_stage`` is one that is not in it."""
    if doc.first_stage_coef is not None:
        intercept = float(doc.first_stage_intercept or 0.0)
        return FirstStage(str(doc.first_stage), None, doc.first_stage_coef, intercept)
    name, entries = doc.settings.get("opaque_first_stage"), gathered(doc.settings, TABLE)
    if name is None and not entries:
        return None
    if by_members(doc.settings.get("features")):
        first_stage = columns.transformer  # the blend itself
    elif entries:
        first_stage = of_entries(str(name), nested(entries), columns)
    centre, scale = (float(doc.settings.get(f"prior_{each}", usual)) for each, usual in (("centre", 0), ("scale", 1)))
    return FirstStage(str(name), first_stage, None, centre=centre, scale=scale)


def _blend_of(doc: ModelDocument, columns: Columns) -> Blend:
    """The blend whose members' scores are reranked."""
    found = of_entries(str(doc.settings.get("opaque_first_stage")), nested(gathered(doc.settings, TABLE)), columns)
    if not isinstance(found, Blend):
        raise _unusable("it reranks the scores of members, and holds no blend")
    return found


def state_of(doc: ModelDocument, first_stage: Any = None, where: str = "the model") -> FittedState:
    """The fitted state that a document describes, without its training data."""
    opaque = missing_first_stage(doc)
    if opaque is not None and first_stage is None:
        raise InputError(
            f"{where} was fitted with the first stage {opaque}, which is no file of numbers; pass the fitted "
            "estimator as rerank.load(path, first_stage=...)."
        )
    with usable(where):
        columns = columns_of(doc)
        constraints = sorted(gathered(doc.settings, "constraint").items(), key=lambda item: int(item[0]))
        positive = doc.settings.get("positive", False)
        if positive == "signs":
            signs = np.zeros(columns.chosen.size, np.int8)  # 0 is free
            if doc.signs is not None:
                signs[np.searchsorted(columns.chosen, doc.features)] = doc.signs
            positive = signs.tolist()
        stage = _stage_of(doc, first_stage, columns)
        if stage is not None and opaque is None and stage.estimator is not None:
            first_stage = asked_as(stage)
        by_epsilon = doc.settings.get("radius") is None and doc.settings.get("normalise") is None
        margin = doc.epsilon if by_epsilon else doc.settings.get("margin")
        kept: Params = {name: doc.settings.get(name, usual) for name, usual in KEPT.items()}
        options = RerankerOptions(
            n_candidates=doc.n_candidates,
            C=doc.C,
            max_features=doc.max_features,
            gain=doc.gain,
            random_state=doc.random_state,
            stat=doc.statistic if doc.coefficients is None else np.array(doc.coefficients),
            first_stage=doc.first_stage or first_stage,
            positive=positive,
            features=columns.squares or _asked_for(columns) or doc.settings.get("features"),
            constraints=[text for _, text in constraints],
            normalise=doc.settings.get("normalise"),
            quota=doc.settings.get("quota"),
            **kept | {"margin": "auto" if margin is None else margin},
        )
        pair = [doc.settings[name] for name in ("label_negative", "label_positive") if name in doc.settings]
        labels = TwoLabels(*pair) if len(pair) == 2 else None
        return FittedState(
            features=doc.features,
            low=doc.low,
            high=doc.high,
            weights=doc.weights,
            prior_scores=doc.prior_scores,
            member_scores=None if doc.member_scores is None else doc.member_scores.reshape(-1, columns.chosen.size),
            data_sha256=doc.data_sha256,
            task=task_of(options, columns.chosen.size),
            columns=columns,
            named=True,
            first_stage=stage,
            threshold=-math.inf if doc.threshold is None else doc.threshold,
            reranks=bool(doc.settings.get("reranks", True)) or stage is None,
            result=result_of(doc),
            labels=labels,
            classes=from_flat(gathered(doc.settings, CUTS), labels),
            weighted_lists=bool(doc.settings.get("weighted_lists", False)),
            columns_read={key: doc.settings[key] for key in COLUMNS if key in doc.settings},
            certificate=gathered(doc.result, "certificate"),
        )


def result_to_flat(result: Result) -> Json:
    """Numbers, texts, booleans and None by dotted name."""
    # Older files have no entry of these.
    new = {name for name, value in (("gave_up", result.gave_up), ("changed", result.changed)) if not value}
    body = {key: value for key, value in result.to_dict().items() if key not in _ELSEWHERE | new}
    for name, (kind, *_) in _hints(Result).items():
        if kind is float and body.get(name) is not None:
            body[name] = float(body[name])
    if result.certificate is not None:
        # With hundreds of lists its fractions are too long for a file.
        entries = flattened(result.certificate.to_dict())
        body["certificate"] = {name: _shortened(value) for name, value in entries.items()}
    kinds = [note.kind if isinstance(note, Note) else "" for note in result.notes]
    body |= {"note_kinds": kinds} if any(kinds) else {}
    return flattened({**body, "message": _shortened(result.message)})


def _shortened(text: Any) -> Any:
    """A text that the file can hold: its SHA-256 where it is too long, enough to compare it with a recomputed one."""
    return text if len(str(text)) <= MAX_TEXT else "sha256:" + hashlib.sha256(str(text).encode()).hexdigest()


def _certificate(entries: Json) -> Any:
    """The certificate of a file; None if there is none, or if its fractions were too long for the file."""
    if not entries or any(str(value).startswith("sha256:") for value in entries.values()):
        return None
    weights = entries.get("weights", [])
    try:
        return Certificate.from_dict({**entries, "weights": weights if isinstance(weights, list) else None})
    except InputError:
        raise _unusable("its certificate lacks an entry, or one is no number") from None


def flattened(body: Any, prefix: str = "") -> Json:
    """Values by dotted name; entries of a sequence are numbered."""
    if not isinstance(body, Mapping | list):
        return {prefix: body}
    return {
        name: value
        for key, inner in (body.items() if isinstance(body, Mapping) else enumerate(body))
        for name, value in flattened(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }


def gathered(flat: Json, prefix: str) -> Json:
    """The entries below a dotted name."""
    return {key[len(prefix) + 1 :]: value for key, value in flat.items() if key.startswith(prefix + ".")}


def nested(flat: Json) -> Json:
    """The mapping that was flattened; a sequence is numbered from 0, and empty ones are not there."""
    tree: Json = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise _unusable(f"{key[:40]} is below a value")
        if last in node:
            raise _unusable(f"{key[:40]} is a value and a mapping")
        node[last] = value
    return {key: _sequences(value) for key, value in tree.items()}


def _sequences(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    inner = {key: _sequences(value) for key, value in node.items()}
    numbered = [str(number) for number in range(len(inner))]
    return [inner[key] for key in numbered] if set(inner) == set(numbered) else inner


def _hints(kind: type) -> dict[str, tuple[Any, ...]]:
    """The types that a class declares for each entry."""
    hints = get_type_hints(kind)
    return {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints.items()}


def _typed(kind: type, body: Json, prefix: str) -> Json:
    """The entries, each of the type that the class declares; sequences as tuples."""
    found = dict(body)
    for name, (declared, *others) in _hints(kind).items():
        if name not in body or (body[name] is None and NoneType in others):
            continue
        value, several = body[name], _SEVERAL.get(declared)
        if declared in _KINDS:
            _check_kind(declared, prefix + name, value)
        elif several is not None:
            holder, inner = several
            if not isinstance(value, holder):
                raise _unusable(f"{prefix + name} is {str(value)[:40]!r}, not several entries")
            found[name] = value if holder is dict else tuple(value)
            for entry in value.values() if holder is dict else value:
                _check_kind(inner, prefix + name, entry)
    return found


def _check_kind(kind: type, name: str, value: Any) -> None:
    in_range = math.isfinite(value) if type(value) is float else type(value) is not int or value >= 0
    in_range |= (name, value) == ("value", -math.inf)  # of weights that meet no quota
    if type(value) is not kind or not in_range:
        raise _unusable(f"{name} is {str(value)[:40]!r}, not {_KINDS[kind]}")


def _unusable(found: str) -> InputError:
    return InputError(f"The model's result cannot be used ({found}); fit and save it again.")
