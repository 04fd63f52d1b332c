"""A fitted fusion in the words of search engines: what to paste, or one sentence on what they cannot express.

Elasticsearch has a ``linear`` retriever, whose normalisers are none, minmax and l2_norm, and an ``rrf`` retriever,
whose parts have weights since 9.2. Vespa has ``normalize_linear`` and ``reciprocal_rank`` in the global phase. Neither
has standard scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rerank.errors import NotSupportedError, unknown
from rerank.io.lines import spelled
from rerank.reranker.fusion.model import FusionModel

TARGETS = ("elasticsearch", "vespa", "formula")

WINDOW = 100
"""Documents that an engine fuses where the model has no depth."""

MEANINGS = {
    "none": "the score itself",
    "minmax": "(score - lowest) / (highest - lowest) of the run in the query, 0.5 where all scores are equal",
    "z": "(score - mean) / deviation of the run in the query, 0 where all scores are equal",
    "rank": "1 / (k + rank) in the run, equal scores with equal ranks",
    "sigmoid": "1 / (1 + exp(-x))",
}
GAPS = {
    "zero": "0",
    "lowest": "the lowest normalised score that the run gives in the query",
    "impute": "the mean of the normalised scores that the run gives in the query",
}


def export(model: FusionModel, target: str) -> str:
    """The text for a target.

    Parameters
    ----------
    model : FusionModel
    target : {"elasticsearch", "vespa", "formula"}

    Raises
    ------
    InputError
        For another target.
    NotSupportedError
        If the target cannot express the model.
    """
    if target == "elasticsearch":
        return json.dumps(elasticsearch(model), indent=2)
    if target == "vespa":
        return vespa(model)
    if target == "formula":
        return formula(model)
    raise unknown("target", target, TARGETS)


def expressible(target: str, normalisers: Sequence[str], model: FusionModel) -> tuple[str, ...]:
    """Those of the normalisers with which a target can express such a model.

    Raises
    ------
    InputError
        For an unknown target.
    NotSupportedError
        If there is none.
    """
    found, why = [], None
    for name in normalisers:
        try:
            export(replace(model, normaliser=name), target)
            found.append(name)
        except NotSupportedError as error:
            why = why or error
    if why is not None and not found:
        raise why
    return tuple(found)


def elasticsearch(model: FusionModel) -> dict[str, Any]:
    """The ``retriever`` of a search; put your own query in the place of each ``match_all``."""
    name = model.normaliser
    if name not in ("none", "minmax", "rank"):
        raise _cannot("Elasticsearch", f"the normaliser {name!r}", "fit with normalise='minmax' or 'rank'")
    if model.missing == "impute" or (name == "none" and model.missing != "zero"):
        what = f"missing={model.missing!r} after {name!r}: it gives a missing document 0"
        raise _cannot("Elasticsearch", what, "fit with missing='zero'")
    if (model.weights < 0).any():
        raise _cannot("Elasticsearch", "weights below 0", "fit with positive=True")
    inner = []
    for run, weight in zip(model.names, model.weights.tolist()):
        entry = {"retriever": {"standard": {"_name": run, "query": {"match_all": {}}}}, "weight": weight}
        inner.append(entry if name == "rank" else entry | {"normalizer": name})
    body: dict[str, Any] = {"retrievers": inner, "rank_window_size": model.depth or WINDOW}
    if name != "rank":
        return {"retriever": {"linear": body}}
    if not float(model.k).is_integer() or model.k < 1:
        raise _cannot("Elasticsearch", f"k = {model.k:g}", "fit with a whole k of at least 1")
    return {"retriever": {"rrf": body | {"rank_constant": int(model.k)}}}


def vespa(model: FusionModel) -> str:
    """A global phase for a rank profile that has a function for each run."""
    if model.normaliser == "z":
        raise _cannot("Vespa", "the normaliser 'z'", "fit with normalise='minmax' or 'rank'")
    functions = []
    for name in model.names:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise _cannot("Vespa", f"the name {name!r}", "name runs with letters, digits and underscores")
        functions.append(f"score_{name}")
    wrapped = {
        "none": "{}", "minmax": "normalize_linear({})", "rank": f"reciprocal_rank({{}}, {model.k!r})",
        "sigmoid": "sigmoid({})",
    }[model.normaliser]  # fmt: skip
    terms = _sum(model, [wrapped.format(name) for name in _curved(model, functions)])
    return (
        f"# {', '.join(functions)} are functions of your rank profile, one for each run.\n"
        "# Vespa computes each of them for every hit, so no score is missing there.\n"
        f"global-phase {{\n    rerank-count: {model.depth or WINDOW}\n    expression: {terms}\n}}"
    )


def formula(model: FusionModel) -> str:
    """The fused score as a sum, and what its parts mean."""
    name = model.normaliser
    terms = _sum(model, [run if name == "none" else f"{name}({run})" for run in _curved(model, model.names)])
    meaning = MEANINGS[name].replace("k +", f"{spelled(float(model.k))} +")
    gap = "0" if name in ("minmax", "rank") and model.missing == "lowest" else GAPS[model.missing]
    gap += "" if gap == "0" else ", or 0 if that is none"
    depth = "" if model.depth is None else f"\nOnly the first {model.depth} documents of each run count."
    argument = "x" if name == "sigmoid" else "run"
    said = f"{name}({argument}) is {meaning}." if name != "none" else "The scores are not normalised."
    return f"fused = {terms}\n{said}\nA document that a run does not have gets {gap}.{depth}"


def _curved(model: FusionModel, names: Sequence[str]) -> list[str]:
    """The scores of the runs, those of a fitted sigmoid from its centre and by its width."""
    if model.normaliser != "sigmoid" or model.curves is None:
        return list(names)
    signs = ("+" if centre < 0 else "-" for centre, _ in model.curves)
    return [
        f"({name} {sign} {abs(centre)!r}) / {width!r}"
        for name, sign, (centre, width) in zip(names, signs, model.curves.tolist())
    ]


def _sum(model: FusionModel, parts: list[str]) -> str:
    """The weighted sum of the parts, in the order of the runs."""
    first, *others = [(weight, f"{abs(weight)!r} * {part}") for weight, part in zip(model.weights.tolist(), parts)]
    text = f"-{first[1]}" if first[0] < 0 else first[1]
    return text + "".join(f" {'-' if weight < 0 else '+'} {term}" for weight, term in others)


def _cannot(target: str, what: str, advice: str) -> NotSupportedError:
    return NotSupportedError(f"{target} cannot express {what}; {advice}, or export the formula.")
