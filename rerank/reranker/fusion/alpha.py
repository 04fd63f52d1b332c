"""The statistic of two runs by the weight of the second: exact steps, the best interval, and held-out queries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io.page import Cells, Part, Readable, Words
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import OneList
from rerank.reranker.data import Data
from rerank.reranker.fusion.choice import held_out, lead_of
from rerank.reranker.fusion.model import PLACES, FusionModel
from rerank.reranker.fusion.normalise import Floats
from rerank.reranker.selection.folds import Split
from rerank.reranker.selection.options import Lead

CLOSE = 2.0**-40  # alphas of two crossings that are no further apart are one: fused scores have so many binary places
EQUAL = 1e-12  # means that differ by no more are equal: they are sums over queries
POINTS = 101  # alphas of the table and of the picture
Steps = tuple[Floats, Floats]  # lower ends of intervals from 0 to 1, and the value on each


@dataclass(frozen=True, eq=False)
class AlphaCurve(Readable):
    """Mean statistic of ``(1 - alpha) * first + alpha * second``, the normalised scores of two runs.

    Between two alphas at which documents change places the mean is constant, and at them equal scores count against the
    relevant document. So the best of the steps is the best of all alphas. Steps no wider than 2^-40 are left out: there
    scores are equal as they are rounded.
    """

    statistic: str
    runs: tuple[str, str]  # the first, and the second, whose weight alpha is
    normaliser: str
    queries: int  # judged queries that have a value
    alphas: Floats  # (101,), from 0 to 1
    means: Floats  # (101,), as the runs rank by each
    ends: Floats  # (steps + 1,), alphas at which the mean changes, with 0 and 1
    steps: Floats  # (steps,), the mean between two ends
    value: float  # the largest mean of all alphas
    best: tuple[float, float]  # ends of the widest interval with this mean
    fitted: float | None  # alpha of the fitted weights; None where one is below 0
    fitted_mean: float | None
    chosen: Lead | None  # held-out statistic of the kind of weights that was chosen and of alpha .5; None without folds
    tuned: Lead | None  # the same for the alpha that is best on the other folds, the middle of its widest interval

    @property
    def table(self) -> list[dict[str, float]]:
        """Alpha and mean of each point, as a data frame takes them."""
        points = zip(self.alphas.tolist(), self.means.tolist())
        return [{"alpha": alpha, self.statistic: mean} for alpha, mean in points]

    def plot(self, ax: Any = None) -> Any:
        """The steps, the best interval, the fitted alpha (:func:`rerank.plots.by_alpha`)."""
        from rerank.plots import by_alpha

        return by_alpha(
            self.ends, self.steps, self.best, runs=self.runs, fitted=self.fitted, unit=self.statistic, ax=ax
        )

    def parts(self) -> list[Part]:
        """What a person reads."""
        first, second = self.runs
        low, high = self.best
        rows = [("alpha", self.statistic), ("0", f"{self.means[0]:.4f}"), ("0.5", f"{self.means[POINTS // 2]:.4f}")]
        rows.append(("1", f"{self.means[-1]:.4f}"))
        if self.fitted is not None:
            rows.append((f"{self.fitted:.4f}, fitted", f"{self.fitted_mean:.4f}"))
        rows.append((f"{low:.6g} to {high:.6g}, best", f"{self.value:.4f}"))
        both = (("the kind of weights that was chosen", self.chosen), ("alpha best on the other folds", self.tuned))
        told = [(words, lead) for words, lead in both if lead is not None]
        what = f"{self.statistic} of {self.queries} judged queries by alpha, the weight of {second}"
        most = math.ceil((self.value - EQUAL) * 1e6) / 1e6  # rounded up: it is a bound
        return [
            Words(f"{what}; {first} has the rest. Scores are normalised by {self.normaliser}."),
            Cells(rows, ("left", "right"), named=True),
            Words(f"No alpha has more than {most:.6f} on these queries.", strong=True),
            *(Words(f"Held-out queries, {words}: {_lead_in_words(lead)}.") for words, lead in told),
        ]


def _lead_in_words(lead: Lead) -> str:
    """A held-out value, that of alpha .5, and the lead with its interval."""
    ends = "" if (two := lead.interval) is None else f" (95 % interval {two[0]:+.4f} to {two[1]:+.4f})"
    return f"{lead.value:.4f}, alpha 0.5 {lead.alone:.4f}, a lead of {lead.lead:+.4f}{ends}"


class Values:
    """Statistic of each list of two runs by alpha, equal scores as lost."""

    def __init__(self, data: Data, evaluator: Evaluator) -> None:
        assert data.qid is not None
        self.X, self.qid, self.evaluator = data.X, data.qid, evaluator
        self.lists = np.flatnonzero([scale > 0 for _, scale in evaluator.scales])
        self._known: dict[int, Floats] = {}

    def of(self, weights: Floats) -> Floats:
        """Values (lists,) by two weights, of scores as a fused run rounds them; NaN where there is none."""
        total = self.X @ weights
        size = np.zeros(len(self.evaluator.lists))
        np.maximum.at(size, self.qid, np.abs(total))
        step = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - PLACES, -1022))[self.qid]
        return np.array(self.evaluator.values(np.rint(total / step) * step, "pessimistic"), dtype=np.float64)

    def of_places(self, number: int, gains: Floats, places: NDArray[np.intp]) -> Floats:
        """Values (orders,) of a list whose rows of these gains have these places (orders, rows), 1 on top."""
        statistic, (offset, scale) = self.evaluator.statistic, self.evaluator.scales[number]
        size = self.evaluator.lists[number].rows.size
        if not (statistic.weighs_hits or statistic.alone or statistic.by_order):
            earned = self._known.setdefault(size, statistic.coefficients(size)[::-1])
            return np.asarray((earned[places - 1] @ gains - offset) / scale)
        ranked, found = self.evaluator.lists[number], np.empty(len(places))
        for order, own in enumerate(places):
            by_place = np.zeros(size)
            by_place[own - 1] = gains
            ordered = OneList(ranked.name, np.arange(size), by_place, ranked.weight, ranked.missed)
            found[order] = Evaluator(statistic, [ordered]).values(-np.arange(size), "pessimistic")[0]
        return found


def alpha_curve(model: FusionModel, values: Values, folds: Sequence[tuple[Split, Floats]]) -> AlphaCurve:
    """The curve of two runs; ``folds`` are splits, each with the weights that were chosen, fitted on its others."""
    weights, (first, second), lists = model.weights, model.names, values.lists
    steps = {number: steps_of(values, number) for number in lists.tolist()}
    ends, means = _joined(list(steps.values()))
    value, best = _best(ends, means)
    alphas = np.linspace(0.0, 1.0, POINTS)
    by_list = np.array([values.of(np.array([1.0 - alpha, alpha])) for alpha in alphas])
    fitted = mean = None
    if (weights >= 0).all() and weights.any():
        fitted, mean = float(weights[1] / weights.sum()), float(values.of(weights)[lists].mean())
    chosen = tuned = None
    if folds:
        half, alone = by_list[POINTS // 2], [(split, _tuned(values.qid, steps, split)) for split, _ in folds]
        chosen, tuned = (lead_of(held_out(values.of, values.qid, own), half) for own in (folds, alone))
    what = values.evaluator.statistic.name, (first, second), model.normaliser, lists.size
    exact = ends, means, value, best
    return AlphaCurve(*what, alphas, by_list[:, lists].mean(axis=1), *exact, fitted, mean, chosen, tuned)


def _tuned(qid: NDArray[np.intp], steps: dict[int, Steps], split: Split) -> Floats:
    """The weights that are best on the training lists, those of the middle of the widest interval."""
    some = [steps[number] for number in np.unique(qid[split.train]).tolist() if number in steps]
    alpha = sum(_best(*_joined(some))[1]) / 2 if some else 0.5
    return np.array([1.0 - alpha, alpha])


def steps_of(values: Values, number: int) -> Steps:
    """The value of a list by alpha, exact between crossings of two documents. Row i changes places with row j where
    ``(1 - alpha) d_1 + alpha d_2 = 0`` for the differences ``d`` of their scores, so at ``d_1 / (d_1 - d_2)``, which is
    rounded by a few units in the last place as the signs of ``d`` differ.
    """
    ranked = values.evaluator.lists[number]
    x, gains = values.X[ranked.rows], ranked.gains
    earning = np.flatnonzero(gains > 0)
    first, second = (x[None, :, k] - x[earning, None, k] for k in range(2))
    more = gains[None, :] - gains[earning, None]
    before = (more < 0) | ((more == 0) & (np.arange(gains.size) < earning[:, None]))  # where both scores are equal
    ahead = (first > 0) | ((first == 0) & ((second > 0) | ((second == 0) & before)))
    leaves, comes = (first > 0) & (second < 0), (first < 0) & (second > 0)
    at = np.divide(first, first - second, out=np.zeros_like(first), where=leaves | comes)
    crossings = np.unique(np.concatenate([[0.0], at[leaves | comes], [1.0]]))
    wide = np.diff(crossings) > CLOSE
    low, middle = crossings[:-1][wide], (crossings[:-1] + crossings[1:])[wide] / 2
    places = np.empty((low.size, earning.size), dtype=np.intp)
    for k in range(earning.size):
        gone, come = (np.searchsorted(np.sort(at[k][side[k]]), middle) for side in (leaves, comes))
        places[:, k] = 1 + np.count_nonzero(ahead[k]) - gone + come
    orders, which = np.unique(places, axis=0, return_inverse=True)
    found = values.of_places(number, gains[earning], orders)[which.reshape(-1)]
    changed = np.append(True, found[1:] != found[:-1])
    low = low[changed]
    low[0] = 0.0
    return low, found[changed]


def _joined(steps: Sequence[Steps]) -> Steps:
    """Ends of the intervals on which the mean over lists is constant, with 0 and 1, and the means."""
    start = math.fsum(levels[0] for _, levels in steps)
    low, place = np.unique(np.concatenate([low[1:] for low, _ in steps]), return_inverse=True)
    jumps = np.concatenate([np.diff(levels) for _, levels in steps])
    totals = start + np.append(0.0, np.cumsum(np.bincount(place.reshape(-1), jumps, minlength=low.size)))
    ends = np.concatenate([[0.0], low, [1.0]])
    wide = np.diff(ends) > CLOSE
    lower = ends[:-1][wide]
    lower[0] = 0.0
    return np.append(lower, 1.0), totals[wide] / len(steps)


def _best(ends: Floats, means: Floats) -> tuple[float, tuple[float, float]]:
    """The largest mean, and the ends of the widest interval that has it."""
    value = float(means.max())
    on = np.concatenate([[0], means >= value - EQUAL, [0]]).astype(int)
    starts, stops = np.flatnonzero(np.diff(on) > 0), np.flatnonzero(np.diff(on) < 0)
    k = int(np.argmax(ends[stops] - ends[starts]))
    return value, (float(ends[starts[k]]), float(ends[stops[k]]))
