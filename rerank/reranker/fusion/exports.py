"""A fitted fusion in the words of search engines: what to paste, or one sentence on what they cannot express.

Elasticsearch has a ``linear`` retriever, whose normalisers are none, minmax and l2_norm, and an ``rrf`` retriever,
whose parts have weights since 9.2. OpenSearch has pipelines with a ``normalization-processor`` (min_max and l2) and a
``score-ranker-processor`` (rrf, with weights since 3.1). Vespa has ``normalize_linear`` and ``reciprocal_rank`` in the
global phase, Weaviate ``alpha`` for two runs, MongoDB aggregations. None has the standard scores of this package:
those of OpenSearch are cut below and divide by n - 1. ``python -m benchmarks.fusion.engines`` computes what the engines
document, in single precision, and compares the orders.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rerank.errors import NotSupportedError, unknown
from rerank.io.lines import spelled
from rerank.reranker.fusion.model import FusionModel

WINDOW = 100  # documents that an engine fuses where the model has no depth
SUB_QUERIES = 5  # of a hybrid query of OpenSearch

MEANINGS = {
    "none": "the score itself",
    "minmax": "(score - lowest) / (highest - lowest) of the run in the query, 1 where all scores are equal",
    "l2": "score / sqrt(sum of the squared scores) of the run in the query",
    "z": "(score - mean) / deviation of the run in the query, 0 where all scores are equal",
    "rank": "1 / (k + place) in the run's list",
    "sigmoid": "1 / (1 + exp(-x))",
}
GAPS = {
    "zero": "0",
    "lowest": "the lowest normalised score that the run gives in the query",
    "impute": "the mean of the normalised scores that the run gives in the query",
}


def export(model: FusionModel, target: str) -> str:
    """The text for a target.

    For a model with weights by kind of query it has a part for each: in JSON ``{"common": ..., "kinds": {kind: ...}}``,
    else one after the other, each below a line that names its queries.

    Parameters
    ----------
    model : FusionModel
    target : {"elasticsearch", "opensearch", "vespa", "weaviate", "mongodb", "formula"}

    Raises
    ------
    InputError
        For another target.
    NotSupportedError
        If the target cannot express the model; Qdrant never can.
    """
    if target == "qdrant":
        # Its weighted RRF is 1 / (k + (r + 1) / w - 1), r from 0 and k = 2 by default.
        raise _cannot("Qdrant", "these weights: in its RRF a weight divides the rank", "fuse in your own service")
    if target not in TARGETS:
        raise unknown("target", target, list(TARGETS))
    told = TARGETS[target](replace(model, kinds={}))
    kinds = {kind: TARGETS[target](model.of_kind(kind)) for kind in model.kinds}
    if not isinstance(told, str):
        return json.dumps({"common": told, "kinds": kinds} if kinds else told, indent=2)
    if not kinds:
        return told
    parts = {"other kinds": told} | {f"the kind {json.dumps(kind)}": own for kind, own in kinds.items()}
    return "\n\n".join(f"# Queries of {which}\n{text}" for which, text in parts.items())


def expressible(target: str, normalisers: Sequence[str], model: FusionModel) -> tuple[str, ...]:
    """Those of the normalisers with which a target can express such a model; an error if there is none."""
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
    normalizer = _plain(model, "Elasticsearch", {"none": "none", "minmax": "minmax", "l2": "l2_norm", "rank": ""})
    inner = []
    for run, weight in zip(model.names, model.weights.tolist()):
        entry = {"retriever": {"standard": {"_name": run, "query": {"match_all": {}}}}, "weight": weight}
        inner.append(entry | {"normalizer": normalizer} if normalizer else entry)
    body: dict[str, Any] = {"retrievers": inner, "rank_window_size": model.depth or WINDOW}
    return {"retriever": {"linear" if normalizer else "rrf": body | _constant(model, "Elasticsearch")}}


def opensearch(model: FusionModel) -> dict[str, Any]:
    """A search pipeline for a ``hybrid`` query, whose sub-queries stand in the order of the runs."""
    technique = _plain(model, "OpenSearch", {"minmax": "min_max", "l2": "l2", "rank": ""})
    if len(model.names) > SUB_QUERIES:
        raise _cannot("OpenSearch", f"{len(model.names)} runs, of a hybrid query of {SUB_QUERIES}", "fuse fewer runs")
    weights = (model.weights / model.weights.sum()).tolist()
    combination = {"technique": "arithmetic_mean" if technique else "rrf", "parameters": {"weights": weights}}
    processor = {"normalization-processor": {"normalization": {"technique": technique}, "combination": combination}}
    if not technique:
        processor = {"score-ranker-processor": {"combination": combination | _constant(model, "OpenSearch")}}
    told = f"sub-queries in this order: {', '.join(map(_word, model.names))}; pagination_depth {model.depth or WINDOW}"
    return {"description": told, "phase_results_processors": [processor]}


def weaviate(model: FusionModel) -> str:
    """The ``alpha`` of a hybrid search; two runs alone have one."""
    _plain(model, "Weaviate", {"minmax": "relativeScoreFusion"})
    if len(model.names) != 2:
        raise _cannot("Weaviate", f"{len(model.names)} runs", "fuse one search by keywords and one by vectors")
    first, second = (model.weights / model.weights.sum()).tolist()
    keywords, vectors = map(_word, model.names)
    return (
        f"# fusionType relativeScoreFusion, limit {model.depth or WINDOW}; alpha is the weight of the vector search.\n"
        f"# If that is {vectors}: alpha = {second!r}\n# If that is {keywords}: alpha = {first!r}"
    )


def mongodb(model: FusionModel) -> list[dict[str, Any]]:
    """The stages of an aggregation; put your own search in the place of each ``$search``, and your collection's name.

    ``$scoreFusion`` is not used: its ``minMaxScaler`` gives 0 where all scores of a run are equal, and takes no name
    that has a dot or begins with a dollar sign.
    """
    _plain(model, "MongoDB", {"minmax": ""})
    span = {"$subtract": ["$high", "$low"]}
    share = {"$cond": [{"$eq": [span, 0]}, 1, {"$divide": [{"$subtract": ["$score", "$low"]}, span]}]}
    ends = {"low": {"$min": "$score"}, "high": {"$max": "$score"}}
    runs: list[list[dict[str, Any]]] = [
        [
            {"$search": {}},
            {"$limit": model.depth or WINDOW},
            {"$project": {"run": {"$literal": name}, "score": {"$meta": "searchScore"}}},
            {"$setWindowFields": {"output": ends}},
            {"$project": {"part": {"$multiply": [weight, share]}}},
        ]
        for name, weight in zip(model.names, model.weights.tolist())
    ]
    first, *others = runs
    joined = [{"$unionWith": {"coll": "YOUR COLLECTION", "pipeline": pipeline}} for pipeline in others]
    return [*first, *joined, {"$group": {"_id": "$_id", "fused": {"$sum": "$part"}}}, {"$sort": {"fused": -1}}]


def _plain(model: FusionModel, engine: str, names: Mapping[str, str]) -> str:
    """The engine's word for the normaliser, if it gives a missing document 0 and weights of at least 0 as the model."""
    if model.normaliser not in names:
        *others, last = [repr(name) for name in names if name != "none"]
        among = f"{', '.join(others)} or {last}" if others else last
        raise _cannot(engine, f"the normaliser {model.normaliser!r}", f"fit with normalise={among}")
    if model.missing == "impute" or (model.normaliser == "none" and model.missing != "zero"):
        what = f"missing={model.missing!r} after {model.normaliser!r}: it gives a missing document 0"
        raise _cannot(engine, what, "fit with missing='zero'")
    if (model.weights < 0).any():
        raise _cannot(engine, "weights below 0", "fit with positive=True")
    return names[model.normaliser]


def _constant(model: FusionModel, engine: str) -> dict[str, int]:
    """The constant of "rank"."""
    if model.normaliser != "rank":
        return {}
    if not float(model.k).is_integer() or model.k < 1:
        raise _cannot(engine, f"k = {model.k:g}", "fit with a whole k of at least 1")
    return {"rank_constant": int(model.k)}


def vespa(model: FusionModel) -> str:
    """A global phase for a rank profile that has a function for each run."""
    if model.normaliser in ("z", "l2"):
        raise _cannot("Vespa", f"the normaliser {model.normaliser!r}", "fit with normalise='minmax' or 'rank'")
    functions = []
    for name in model.names:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise _cannot("Vespa", f"the name {name!r}", "name runs with letters, digits and underscores")
        functions.append(f"score_{name}")
    wrapped = {
        "none": "{}",
        "minmax": "normalize_linear({})",
        "rank": f"reciprocal_rank({{}}, {model.k!r})",
        "sigmoid": "sigmoid({})",
    }[model.normaliser]
    terms = _sum(model, [wrapped.format(name) for name in _curved(model, functions)])
    return (
        f"# {', '.join(functions)} are functions of your rank profile, one for each run.\n"
        "# Vespa computes each of them for every hit, so no score is missing there.\n"
        f"global-phase {{\n    rerank-count: {model.depth or WINDOW}\n    expression: {terms}\n}}"
    )


def formula(model: FusionModel) -> str:
    """The fused score as a sum, and what its parts mean."""
    name = model.normaliser
    runs = _curved(model, list(map(_word, model.names)))
    terms = _sum(model, [run if name == "none" else f"{name}({run})" for run in runs])
    meaning = MEANINGS[name].replace("k +", f"{spelled(float(model.k))} +")
    gap = "0" if name in ("minmax", "rank") and model.missing == "lowest" else GAPS[model.missing]
    gap += ", and at most 0" if name == "l2" and model.missing == "lowest" else ""
    gap += "" if gap == "0" else ", or 0 if that is none"
    depth = "" if model.depth is None else f"\nOnly the first {model.depth} documents of each run count."
    argument = "x" if name == "sigmoid" else "run"
    said = f"{name}({argument}) is {meaning}." if name != "none" else "The scores are not normalised."
    return f"fused = {terms}\n{said}\nA document that a run does not have gets {gap}.{depth}"


def _word(name: str) -> str:
    """The name of a run as one word of one line: quoted if it is more than a word."""
    return name if re.fullmatch(r"[\w.-]+", name) else json.dumps(name)


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


TARGETS: dict[str, Callable[[FusionModel], Any]] = {
    each.__name__: each for each in (elasticsearch, opensearch, vespa, weaviate, mongodb, formula)
}
