"""What engines make of an export, in single precision: ``python -m benchmarks.fusion.engines [--data FOLDER]``.

Each engine is emulated from its documentation and source, with code that shares nothing with the package, and reads
the text that :mod:`rerank.reranker.fusion.exports` writes. The first ten documents are compared with those of the
package, on the runs that ship with the examples and, with ``--data``, on the shared runs. Queries in which the package
has equal scores among the first eleven are left out, since every engine orders those in its own way.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import folder
from rerank.fusion import FusionModel, export
from rerank.io.runs import run_of

Run = Mapping[str, Mapping[str, float]]
Lists = Mapping[str, list[tuple[str, float]]]
"""What an engine has for one query: the documents of each run, best first."""

f4 = np.float32


def elastic_scores(name: str, scores: Sequence[float]) -> list[np.float32]:
    """Elasticsearch's ``ScoreNormalizer``: minmax gives 1 where highest and lowest differ by less than 1e-6."""
    own = [f4(one) for one in scores]
    if name == "minmax":
        low, high = min(own), max(own)
        return [f4(1)] * len(own) if abs(high - low) < f4(1e-6) else [f4((one - low) / (high - low)) for one in own]
    if name == "l2_norm":
        length = f4(np.sqrt(f4(sum(f4(one * one) for one in own))))
        return own if length < f4(1e-6) else [f4(one / length) for one in own]
    return own


def elasticsearch(text: str, lists: Lists) -> dict[str, float]:
    """Scores of a ``linear`` or ``rrf`` retriever; a document that a retriever does not have gets 0 of it."""
    (kind, body), total = next(iter(json.loads(text)["retriever"].items())), dict[str, np.float32]()
    for part in body["retrievers"]:
        found = lists[part["retriever"]["standard"]["_name"]][: body["rank_window_size"]]
        if kind == "rrf":
            worth = [f4(1) / f4(body["rank_constant"] + place) for place in range(1, len(found) + 1)]
        else:
            worth = elastic_scores(part["normalizer"], [score for _, score in found]) if found else []
        for (doc, _), one in zip(found, worth):
            total[doc] = f4(total.get(doc, f4(0)) + f4(part["weight"]) * one)
    return {doc: float(score) for doc, score in total.items()}


def opensearch(text: str, lists: Lists) -> dict[str, float]:
    """Scores of the two processors: min_max gives 1 to equal scores and .001 for 0, rrf keeps ten decimal places."""
    pipeline = json.loads(text)
    window = int(re.findall(r"pagination_depth (\d+)", pipeline["description"])[0])
    ((kind, body),) = pipeline["phase_results_processors"][0].items()
    weights, total = body["combination"]["parameters"]["weights"], dict[str, np.float32]()
    assert len(weights) <= 5 and abs(sum(weights) - 1) < 0.01 and all(0 <= one <= 1 for one in weights)
    for found, weight in zip(lists.values(), weights):
        found = found[:window]
        own = [f4(score) for _, score in found]
        if kind == "score-ranker-processor":
            constant = body["combination"]["rank_constant"]
            worth = [
                f4((Decimal(1) / Decimal(constant + place)).quantize(Decimal("1e-10"), ROUND_HALF_UP))
                for place in range(1, len(found) + 1)
            ]
        elif body["normalization"]["technique"] == "l2":
            length = f4(np.sqrt(f4(sum(f4(one * one) for one in own))))
            worth = [f4(one / length) if length else f4(0) for one in own]
        else:
            low, high = (min(own), max(own)) if own else (f4(0), f4(0))
            worth = [f4(1) if low == high else max(f4((one - low) / (high - low)), f4(0)) or f4(0.001) for one in own]
        for (doc, _), one in zip(found, worth):
            total[doc] = f4(total.get(doc, f4(0)) + one * f4(weight))
    return {doc: float(score) for doc, score in total.items()}


def weaviate(text: str, lists: Lists) -> dict[str, float]:
    """Scores of relativeScoreFusion, the second run being the vector search."""
    keywords, vectors = lists
    alpha = float(re.findall(rf"If that is {re.escape(vectors)}: alpha = (\S+)", text)[0])
    limit, total = int(re.findall(r"limit (\d+)", text)[0]), dict[str, np.float32]()
    for name, weight in ((keywords, 1 - alpha), (vectors, alpha)):
        found = lists[name][:limit]
        own = [f4(score) for _, score in found]
        for (doc, _), one in zip(found, own):
            low, high = min(own), max(own)
            share = f4(1) if high == low else f4((one - low) / (high - low))
            total[doc] = f4(total.get(doc, f4(0)) + f4(weight) * share)
    return {doc: float(score) for doc, score in total.items()}


def mongodb(text: str, lists: Lists) -> dict[str, float]:
    """The aggregation in doubles, stage by stage, as the server documents them."""

    def value(of: Any, row: Mapping[str, Any]) -> Any:
        if isinstance(of, str):
            return row[of.removeprefix("$")] if of.startswith("$") else of
        if not isinstance(of, dict):
            return of
        (operator, given), *_ = of.items()
        if operator in ("$literal", "$meta"):
            return given if operator == "$literal" else row["meta"][given]
        known: dict[str, Callable[..., Any]] = {
            "$subtract": lambda a, b: a - b,
            "$multiply": lambda a, b: a * b,
            "$eq": lambda a, b: a == b,
        }
        if operator == "$cond":
            return value(given[1] if value(given[0], row) else given[2], row)
        one, other = (value(part, row) for part in given)
        return one / other if operator == "$divide" else known[operator](one, other)

    def of_stages(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = [named["$project"]["run"]["$literal"] for named in stages if "run" in named.get("$project", {})]
        rows: list[dict[str, Any]] = []
        for ((operator, given),) in (stage.items() for stage in stages):
            if operator == "$search":
                rows = [{"_id": doc, "meta": {"searchScore": score}} for doc, score in lists[names[0]]]
            elif operator == "$limit":
                rows = rows[:given]
            elif operator == "$project":
                rows = [{"_id": row["_id"]} | {name: value(of, row) for name, of in given.items()} for row in rows]
            elif operator == "$setWindowFields":
                for name, of in given["output"].items():
                    ((least, field),) = of.items()
                    found = [row[field.removeprefix("$")] for row in rows]
                    for row in rows:
                        row[name] = (min if least == "$min" else max)(found)
            elif operator == "$unionWith":
                rows += of_stages(given["pipeline"])
            elif operator == "$group":
                total: dict[str, float] = {}
                for row in rows:
                    total[row["_id"]] = total.get(row["_id"], 0.0) + row["part"]
                rows = [{"_id": doc, "fused": fused} for doc, fused in total.items()]
        return rows

    return {row["_id"]: row["fused"] for row in of_stages(json.loads(text))}


def vespa(text: str, lists: Lists) -> dict[str, float]:
    """Scores of a global phase over documents that all runs have, since Vespa computes every function for every hit."""
    scores = {f"score_{name}": {doc: f4(score) for doc, score in found} for name, found in lists.items()}
    docs = [doc for doc, _ in next(iter(lists.values())) if all(doc in own for own in scores.values())]

    def normalize_linear(own: Any) -> Any:
        return (own - own.min()) / (own.max() - own.min()) if np.ptp(own) else np.zeros_like(own)

    def reciprocal_rank(own: Any, k: float) -> Any:
        place = np.argsort(np.argsort(-own, kind="stable"))
        return f4(1) / (f4(k) + 1 + place.astype(f4))

    known: dict[str, Any] = {name: np.array([own[doc] for doc in docs], dtype=f4) for name, own in scores.items()}
    known |= {"normalize_linear": normalize_linear, "reciprocal_rank": reciprocal_rank}
    total = eval(re.findall(r"expression: (.*)", text)[0], {"__builtins__": {}}, known) if docs else []
    return {doc: float(score) for doc, score in zip(docs, total)}


def of_all(runs: Mapping[str, Run], depth: int | None) -> Mapping[str, Run]:
    """The documents that all runs have within the depth, of queries in which no two of a run have equal scores."""
    tops = {name: {query: dict(own[:depth]) for query, own in as_listed(run).items()} for name, run in runs.items()}
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in runs}
    for query in set.intersection(*(set(run) for run in tops.values())):
        docs = set.intersection(*(set(run[query]) for run in tops.values()))
        own = {name: {doc: score for doc, score in run[query].items() if doc in docs} for name, run in tops.items()}
        if all(len({f4(score) for score in one.values()}) == len(docs) for one in own.values()):
            for name, one in own.items():
                found[name][query] = one
    return found


ENGINES: dict[str, Callable[[str, Lists], dict[str, float]]] = {
    "elasticsearch": elasticsearch,
    "opensearch": opensearch,
    "weaviate": weaviate,
    "mongodb": mongodb,
    "vespa": vespa,
}

NORMALISERS = {
    "elasticsearch": ("minmax", "l2", "rank"),
    "opensearch": ("minmax", "l2", "rank"),
    "weaviate": ("minmax",),
    "mongodb": ("minmax",),
    "vespa": ("minmax", "rank"),
}


def as_listed(run: Run) -> dict[str, list[tuple[str, float]]]:
    """The documents of each query, best first; equal scores as they come."""
    return {query: sorted(own.items(), key=lambda one: -one[1]) for query, own in run.items()}


def same_orders(model: FusionModel, engine: str, runs: Mapping[str, Run]) -> tuple[int, int]:
    """Queries whose first ten documents the engine puts in the package's order, and queries without equal scores."""
    text = export(model, engine)
    if engine == "vespa":
        runs, model = of_all(runs, model.depth), replace(model, depth=None)
    fused = model.fuse(runs)
    listed = {name: as_listed(run) for name, run in runs.items()}
    same = compared = 0
    for query, ours in fused.items():
        first = sorted(ours.values(), reverse=True)[:11]
        if len(set(first)) < len(first):
            continue
        theirs = ENGINES[engine](text, {name: own.get(query, []) for name, own in listed.items()})
        order = sorted(theirs, key=lambda doc: (-theirs[doc], -ours.get(doc, 0.0)))
        compared += 1
        same += order[:10] == sorted(ours, key=lambda doc: -ours[doc])[:10]
    return same, compared


def sets_of(where: Path | None) -> Iterator[tuple[str, dict[str, Run]]]:
    """Pairs and a set of six of the shared runs, and those that ship."""
    shipped = Path(__file__).parents[2] / "examples" / "runs"
    files = {"examples": sorted(shipped.glob("judged.*.run.gz"))}
    if where is not None:
        for name in ("dl20", "robust03"):
            kept = sorted(path for path in (where / "runs" / name).iterdir() if "qrels" not in path.name)
            files[name] = [path for path in kept if path.suffix in (".gz", ".run", ".res", ".txt")]
    for name, paths in files.items():
        runs = {f"r{number}": _read(path) for number, path in enumerate(paths)}
        for pair in list(combinations(runs, 2))[:3]:
            yield f"{name} {'+'.join(pair)}", {one: runs[one] for one in pair}
        if len(runs) >= 5:
            yield f"{name} 5 runs", dict(list(runs.items())[:5])


def _read(path: Path) -> Run:
    read, found = run_of(path, path.name), dict[str, dict[str, float]]()
    for query, doc, score in zip(read.qid.tolist(), read.docid.tolist(), read.score.tolist()):
        found.setdefault(query, {})[doc] = score
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each set, engine and normaliser; the exit code is 1 where fewer than 99 % are alike."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion.engines", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    where, missed = folder(parser.parse_args(arguments).data), 0
    for name, runs in sets_of(where):
        drawn = np.random.default_rng(0).uniform(0.2, 1.0, len(runs))
        for engine, normalisers in NORMALISERS.items():
            if engine == "weaviate" and len(runs) != 2:
                continue
            for normaliser in normalisers:
                model = FusionModel(tuple(runs), drawn / drawn.sum(), normaliser, depth=100)
                same, compared = same_orders(model, engine, runs)
                missed += same < 0.99 * compared
                print(f"{name:24} {engine:14} {normaliser:7} {same} of {compared}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
