"""Fusion by definition, one document at a time: shares no code with the package."""

import math
import random

NORMALISERS = ("none", "minmax", "l2", "z", "rank", "sigmoid")
MISSING = ("lowest", "zero", "impute")


def value(name, scores, at, k=60.0):
    """The normalised score of a document, number ``at`` of the scores that the run has for the query."""
    score, low, high = scores[at], min(scores), max(scores)
    if name == "none":
        return score
    if name == "minmax":
        return 1.0 if low == high else (score - low) / (high - low)
    if name == "l2":
        length = math.sqrt(math.fsum(one * one for one in scores))
        return score / length if length else 0.0
    if name == "z":
        if low == high:
            return 0.0
        mean = math.fsum(scores) / len(scores)
        return (score - mean) / math.sqrt(math.fsum((one - mean) ** 2 for one in scores) / len(scores))
    if name == "rank":
        return 1 / (k + 1 + sum(one > score for one in scores) + scores[:at].count(score))
    return 1 / (1 + math.exp(-score)) if score > -700 else 0.0


def filled(name, rule, scores, k=60.0):
    """What a document gets that the run does not have."""
    if not scores or rule == "zero":
        return 0.0
    values = [value(name, scores, at, k) for at in range(len(scores))]
    if rule == "impute":
        return math.fsum(values) / len(values)
    return 0.0 if name in ("minmax", "rank") else min(*values, 0.0) if name == "l2" else min(values)


def within(scores, depth):
    """The first documents of ``{document: score}``, equal scores in their order."""
    first = sorted(scores, key=lambda doc: -scores[doc])[:depth]  # stable
    return {doc: s for doc, s in scores.items() if doc in first}


def fused(runs, weights, name, rule="lowest", depth=None, k=60.0):
    """``{query: {document: fused score}}``."""
    found = {}
    for query in {query for run in runs.values() for query in run}:
        cut = {run: within(runs[run].get(query, {}), depth) for run in runs}
        for doc in {doc for own in cut.values() for doc in own}:
            total = 0.0
            for run, own in cut.items():
                scores = list(own.values())
                part = value(name, scores, list(own).index(doc), k) if doc in own else filled(name, rule, scores, k)
                total += weights[run] * part
            found.setdefault(query, {})[doc] = total
    return found


def ndcg(ranked, grades, depth=10):
    """nDCG of one list, equal scores against the relevant documents; the ideal has all judged."""
    order = sorted(ranked, key=lambda doc: (-ranked[doc], grades.get(doc, 0)))
    gain = [max(grades.get(doc, 0), 0) for doc in order[:depth]]
    best = sorted((max(g, 0) for g in grades.values()), reverse=True)[:depth]
    worth = [sum(g / math.log2(place + 2) for place, g in enumerate(some)) for some in (gain, best)]
    return worth[0] / worth[1] if worth[1] else 0.0


def mean_ndcg(fused_run, qrels, depth=10):
    """Mean over the judged queries."""
    return math.fsum(ndcg(fused_run.get(query, {}), grades, depth) for query, grades in qrels.items()) / len(qrels)


def made(queries, quality, seed=0, length=30, kept=20, scale=1.0, relevant=0.15):
    """Runs and judgements: a run's scores are grades times its quality plus noise, cut to the best."""
    rng = random.Random(seed)
    runs = {f"r{j}": {} for j in range(len(quality))}
    qrels = {}
    for number in range(queries):
        query = f"q{number}"
        grades = {f"d{i}": rng.choice((1, 2)) if rng.random() < relevant else 0 for i in range(length)}
        grades["d0"] = 1  # something to find in every query
        qrels[query] = grades
        for j, good in enumerate(quality):
            scores = {doc: scale * (good * g + rng.gauss(0, 1)) for doc, g in grades.items()}
            best = sorted(scores, key=scores.get, reverse=True)[:kept]
            runs[f"r{j}"][query] = {doc: scores[doc] for doc in best}
    return runs, qrels
