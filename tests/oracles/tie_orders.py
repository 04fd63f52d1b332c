"""All orders of tied items, one after the other: the slow truth behind every rule for ties."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby, permutations, product

import numpy as np
from hypothesis import strategies as st

STATISTICS = ("auc", "pauc@2", "pauc@9", "wta", "precision@2", "mrr", "dcg", "dcg@3", "ndcg", "ndcg@2", "pnorm@3")
BY_HITS = ("pairs", "pos@top", "ap", "ap@2", "rr", "rr@2", "recall@1", "recall@9", "success@2", "rbp@0.7")
"""Statistics to which grades say only which of two rows is better, or whether a row is relevant."""

few_scores = st.sampled_from([0.0, 1.0, 2.5])
"""So few scores that ties are the rule."""


@st.composite
def labelled_scores(draw: st.DrawFn, largest_grade: int = 3, most: int = 6):
    """Grades and scores of a list with a gain and an item without."""
    n = draw(st.integers(2, most))
    y = draw(st.lists(st.integers(0, largest_grade), min_size=n, max_size=n).filter(lambda y: 0 in y and any(y)))
    return y, draw(st.lists(few_scores, min_size=n, max_size=n))


def orders(scores: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Every order of the items, best first, in which no item is above one of a higher score."""
    ranked = sorted(range(len(scores)), key=lambda i: -scores[i])
    blocks = [tuple(block) for _, block in groupby(ranked, key=lambda i: scores[i])]
    for choice in product(*(permutations(block) for block in blocks)):
        yield tuple(i for block in choice for i in block)


def over_all_orders(scores: Sequence[float], measure: Callable[[tuple[int, ...]], float]) -> dict[str, float]:
    """Worst, best and mean value of a measure of an order."""
    values = [measure(order) for order in orders(scores)]
    return {
        "pessimistic": min(values),
        "optimistic": max(values),
        "average": float(sum(map(Fraction, values)) / len(values)),
    }


def pairs_won(gains: Sequence[float], order: tuple[int, ...]) -> float:
    """Share of the pairs of different gain in the right order, each counted by its difference."""
    place = {i: k for k, i in enumerate(order)}
    pairs = [(i, k) for i in place for k in place if gains[i] > gains[k]]
    won = sum(gains[i] - gains[k] for i, k in pairs if place[i] < place[k])
    return won / sum(gains[i] - gains[k] for i, k in pairs)


def by_definition(name: str, y: Sequence[int], order: tuple[int, ...]) -> float:
    """A statistic of one order, written from its textbook definition (gain 2^g - 1)."""
    gains = [2.0**g - 1 for g in y]
    kind, _, at = name.partition("@")
    n = len(y)
    if kind == "pairs":
        won = [order.index(i) < order.index(k) for i in order for k in order if y[i] > y[k]]
        return sum(won) / len(won)
    if kind == "pairs":
        won = [order.index(i) < order.index(k) for i in order for k in order if y[i] > y[k]]
        return sum(won) / len(won)
    if name in BY_HITS or kind in ("ap", "rr", "recall", "success"):
        hits = [place for place, i in enumerate(order, start=1) if y[i]]
        top = hits if at in ("", "top", "0.7") else [place for place in hits if place <= int(at)]
        return {
            "pos": sum(place == k for k, place in enumerate(hits, start=1)) / len(hits),
            "ap": sum(k / place for k, place in enumerate(top, start=1)) / len(hits),
            "rr": max((1 / place for place in top), default=0.0),
            "recall": len(top) / len(hits),
            "success": float(bool(top)),
            "rbp": sum(0.3 * 0.7 ** (place - 1) for place in hits),
        }[kind]
    top = order[: int(at)] if kind in ("pauc", "precision", "dcg", "ndcg") and at else order
    if kind == "auc":
        return pairs_won(gains, order)
    if kind == "pauc":
        return sum(gains[i] * (n - k) for k, i in enumerate(top))
    if kind == "wta":
        return gains[order[0]]
    if kind == "precision":
        return sum(gains[i] for i in top)
    if kind == "mrr":
        return sum(gains[i] / (k + 1) for k, i in enumerate(order))
    if kind == "pnorm":
        return sum(gains[i] * ((n - k) / n) ** float(at) for k, i in enumerate(order))
    discounts = [1 / np.log2(k + 2) for k in range(len(top))]
    dcg = sum(gains[i] * discount for i, discount in zip(top, discounts))
    if kind == "dcg":
        return dcg
    return dcg / sum(gain * discount for gain, discount in zip(sorted(gains, reverse=True), discounts))
