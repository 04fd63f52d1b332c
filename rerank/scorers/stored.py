"""The fitted state of :class:`rerank.scorers.TableLogistic` as plain values and back; reading them runs no code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.scorers.encoding import LONGEST, MOST_LEVELS, REASONS, Numbers, Rule, Texts

PARAMETERS = ("squares", "head", "balanced", "C", "max_iter")
KEYS = (
    *PARAMETERS, "classes", "n_columns", "sparse", "columns", "left_out", "centre", "scale", "square_of", "coef",
    "intercept", "head_model",
)
HEAD = ("threshold", "floor", "coef", "intercept")


def to_dict(fitted: Any) -> dict[str, Any]:
    """Numbers, texts, booleans, None, lists and dicts of these."""
    sparse, head = fitted.rules_ is None, None
    if fitted.head_coef_ is not None:
        head = {
            "threshold": fitted.head_threshold_, "floor": fitted.head_floor_,
            "coef": fitted.head_coef_[0].tolist(), "intercept": float(fitted.head_intercept_[0]),
        }
    return {
        "squares": bool(fitted.squares), "head": None if fitted.head is None else float(fitted.head),
        "balanced": bool(fitted.balanced), "C": float(fitted.C), "max_iter": int(fitted.max_iter),
        "classes": fitted.classes_.tolist(), "n_columns": int(fitted.n_features_in_), "sparse": sparse,
        "columns": [] if sparse else [_rule_out(rule) for rule in fitted.rules_],
        "left_out": [{"at": at, "why": why} for at, why in fitted.left_out_.items()],
        "centre": [] if sparse else fitted.centre_.tolist(), "scale": fitted.scale_.tolist(),
        "square_of": fitted.square_of_.tolist(), "coef": fitted.coef_[0].tolist(),
        "intercept": float(fitted.intercept_[0]), "head_model": head,
    }


def _rule_out(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, Numbers):
        return {"at": rule.at, "fill": rule.fill, "gaps": rule.gaps}
    return {"at": rule.at, "levels": list(rule.levels), "others": rule.others, "gaps": rule.gaps}


def from_dict(kind: type, body: Mapping[str, Any]) -> Any:
    """An estimator of the class ``kind`` with the state; parameters are not checked here.

    Raises
    ------
    InputError
    """
    _keys(body, KEYS, "the state")
    n = _whole(body["n_columns"], "n_columns", 1)
    sparse = _flag(body["sparse"], "sparse")
    rules = [_rule_in(one) for one in _list(body["columns"], "columns")]
    reasons = [_left_out(one) for one in _list(body["left_out"], "left_out")]
    left_out = dict(sorted(reasons))
    _that(list(left_out.items()) == reasons, "columns left out are ascending")
    ats = [rule.at for rule in rules]
    _that(ats == sorted(set(ats)) and all(at < n for at in ats), "columns are ascending numbers of columns")
    _that(
        sparse == (not rules) and not (sparse and left_out)
        and (sparse or sorted([*ats, *left_out]) == list(range(n))),
        "each column is used or left out, and all of sparse rows are used",
    )
    starts = np.cumsum([0, *(rule.width for rule in rules)]).tolist()
    values = [start for start, rule in zip(starts, rules) if isinstance(rule, Numbers)]
    square_of = [_whole(one, "square_of") for one in _list(body["square_of"], "square_of")]
    _that(square_of == sorted(set(square_of) & set(values)), "squares are of columns of numbers, ascending")
    _that(body["squares"] is True or not square_of, "there are squares only with squares=True")
    m = (n if sparse else starts[-1]) + len(square_of)
    classes = _list(body["classes"], "classes")
    plain = (
        len(classes) == 2
        and type(classes[0]) is type(classes[1])
        and type(classes[0]) in (bool, int, float, str)
    )
    _that(plain and classes[0] < classes[1], "there are two classes, ascending")
    _that(type(body["squares"]) is bool, "squares is true or false")
    _that(body["head"] is None or type(body["head"]) is float, "head is null or a number")
    _float(body["C"], "C")
    _whole(body["max_iter"], "max_iter", 1)
    found = kind(**{name: body[name] for name in PARAMETERS})
    found.n_features_in_, found.classes_ = n, np.array(classes)
    found.rules_, found.left_out_ = None if sparse else rules, left_out
    found.square_of_ = np.array(square_of, dtype=np.intp)
    centre = _floats(body["centre"], "centre", 0 if sparse else m)
    found.centre_ = np.zeros(m) if sparse else centre
    found.scale_ = _floats(body["scale"], "scale", m)
    _that(bool(np.all(found.scale_ > 0)), "scale is positive")
    found.coef_, found.intercept_ = _model(body, m)
    head = body["head_model"]
    _that(head is None or body["head"] is not None, "a second model has a share of rows, head")
    found.head_coef_ = found.head_intercept_ = found.head_threshold_ = found.head_floor_ = None
    if head is not None:
        _keys(head, HEAD, "head_model")
        found.head_coef_, found.head_intercept_ = _model(head, m)
        found.head_threshold_, found.head_floor_ = (
            _float(head[name], name) for name in ("threshold", "floor")
        )
    return found


def _rule_in(body: Any) -> Rule:
    texts = isinstance(body, Mapping) and "levels" in body
    _keys(body, ("at", "levels", "others", "gaps") if texts else ("at", "fill", "gaps"), "a column")
    at, gaps = _whole(body["at"], "at"), _flag(body["gaps"], "gaps")
    if not texts:
        return Numbers(at, _float(body["fill"], "fill"), gaps)
    levels = tuple(_list(body["levels"], "levels"))
    short = all(type(level) is str and len(level) <= LONGEST for level in levels)
    _that(
        short and 0 < len(levels) <= MOST_LEVELS and list(levels) == sorted(set(levels)),
        "levels are ascending texts",
    )
    return Texts(at, levels, _flag(body["others"], "others"), gaps)


def _left_out(body: Any) -> tuple[int, str]:
    _keys(body, ("at", "why"), "a column left out")
    _that(body["why"] in REASONS, "a column is left out for a known reason")
    return _whole(body["at"], "at"), body["why"]


def _model(body: Mapping[str, Any], m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return _floats(body["coef"], "coef", m)[None, :], np.array([_float(body["intercept"], "intercept")])


def _that(holds: bool, rule: str) -> None:
    if not holds:
        raise InputError(
            f"The stored first stage cannot be used (a rule is broken: {rule}); fit and save it again."
        )


def _keys(body: Any, wanted: Sequence[str], what: str) -> None:
    there = isinstance(body, Mapping)
    odd = sorted(map(str, set(body) ^ set(wanted)))[:3] if there else []
    _that(
        there and not odd,
        f"{what} has the entries {', '.join(wanted)}" + (f", not {', '.join(odd)[:40]}" if odd else ""),
    )


def _list(value: Any, name: str) -> list[Any]:
    _that(isinstance(value, list), f"{name} is a list")
    return list(value)


def _flag(value: Any, name: str) -> bool:
    _that(type(value) is bool, f"{name} is true or false")
    return bool(value)


def _whole(value: Any, name: str, least: int = 0) -> int:
    _that(type(value) is int and least <= value < 2**31, f"{name} is a whole number from {least}")
    return int(value)


def _float(value: Any, name: str) -> float:
    _that(type(value) is float and math.isfinite(value), f"{name} is a finite number")
    return float(value)


def _floats(value: Any, name: str, size: int) -> NDArray[np.float64]:
    found = [_float(one, name) for one in _list(value, name)]
    _that(len(found) == size, f"{name} has {size} entries, not {len(found)}")
    return np.array(found, dtype=np.float64)
