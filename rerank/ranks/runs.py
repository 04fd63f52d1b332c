"""Runs of a search engine, judged: a value for every query and measure, and the difference of two runs.

The measures are those of :func:`rerank.ranks.evaluate`, in the conventions of trec_eval: every judged query counts,
with 0 if the run has nothing for it or nothing is relevant; documents without a judgement are irrelevant; relevant ones
that were not retrieved count in what a value is divided by; precision is a share of the places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.options import one_of, whole
from rerank.io.trec import Qrels, Run
from rerank.ranks.evaluator import Ties, value_of
from rerank.ranks.row_gains import Floats, Gain, asks_relevance, gain_of, weighted_gains
from rerank.statistics import Precision, RankStatistic, parse

RunTies = Literal["trec", "pessimistic", "optimistic", "average"]
MEASURES = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")
"""What is measured unless one says."""


@dataclass(frozen=True, eq=False)
class RunValues:
    """Values of a run.

    Attributes
    ----------
    measures : tuple of str
    queries : tuple of str
        The judged ones, in the order of the judgements.
    values : float64 array (queries, measures)
    n_missing : int
        Judged queries for which the run has no document.
    n_unjudged : int
        Queries of the run without a judgement, which count nowhere.
    """

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    n_missing: int
    n_unjudged: int

    @property
    def means(self) -> Floats:
        """Mean over the judged queries, one for each measure."""
        return self.values.mean(axis=0)


@dataclass(frozen=True)
class Difference:
    """What one run has more than another: mean over queries, half the width of its 95 % interval, and a count."""

    measure: str
    mean: float
    half: float
    wins: int
    losses: int


def run_values(
    run: Run, qrels: Qrels, measures: Sequence[object] = MEASURES, *,
    gain: Gain = "linear", level: int = 1, ties: RunTies = "trec",
) -> RunValues:  # fmt: skip
    """Value of a run for every judged query.

    Parameters
    ----------
    run : Run
    qrels : Qrels
    measures : sequence of str or RankStatistic
        See :func:`rerank.statistics.parse`; those that the gain of a list does not depend on take documents of
        ``level`` and above as relevant.
    gain : {"linear", "exponential"}
        Gain of grade g: g, as trec_eval has it, or ``2^g - 1``. Grades below 0 count as 0.
    level : int
        Least grade of a relevant document, at least 1.
    ties : {"trec", "pessimistic", "optimistic", "average"}
        "trec": scores in single precision, equal ones by document id, descending. The others as in
        :func:`rerank.ranks.evaluate`, scores as they are.

    Raises
    ------
    InputError
        For an unknown measure, and where no query of the run is judged.
    """
    one_of("ties", ties, ("trec", "pessimistic", "optimistic", "average"))
    one_of("gain", gain, ("linear", "exponential"))
    least = whole("level", level)
    statistics = [parse(one) for one in measures]
    judged: dict[str, dict[str, int]] = {}
    for query, document, grade in zip(qrels.qid.tolist(), qrels.docid.tolist(), qrels.grade.tolist()):
        judged.setdefault(query, {})[document] = grade
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(run.qid.tolist()):
        rows.setdefault(query, []).append(row)
    if not rows.keys() & judged.keys():
        raise InputError(
            f"No query of the run is judged: the run has {next(iter(rows))!r:.40}, and the judgements have "
            f"{next(iter(judged))!r:.40}; give the judgements of these queries."
        )
    coefficients = [cache(one.coefficients) for one in statistics]
    values = np.zeros((len(judged), len(statistics)))
    for number, (query, grades) in enumerate(judged.items()):
        own = rows.get(query)
        if own is None:
            continue
        documents = [run.docid[row] for row in own]
        scores: NDArray[np.float64] = run.score[own]
        if ties == "trec":
            scores = _strict(documents, scores)
        found = np.array([grades.get(document, 0) for document in documents], dtype=np.float64)
        retrieved = set(documents)
        missed = np.array([g for document, g in grades.items() if document not in retrieved], dtype=np.float64)
        for k, statistic in enumerate(statistics):
            gains, rest = (_gains(each, statistic, gain, least) for each in (found, missed))
            rule: Ties = "pessimistic" if ties == "trec" else ties
            value = value_of(statistic, coefficients[k], gains, rest, scores, rule) or 0.0
            values[number, k] = value / statistic.at if type(statistic) is Precision else value
    missing = sum(query not in rows for query in judged)
    unjudged = sum(query not in judged for query in rows)
    return RunValues(tuple(one.name for one in statistics), tuple(judged), values, missing, unjudged)


def differences(run: RunValues, base: RunValues) -> list[Difference]:
    """What a run has more than ``base``, measure by measure, with Student's interval over the queries of both.

    Raises
    ------
    InputError
        If measures or queries differ.
    """
    if (run.measures, run.queries) != (base.measures, base.queries):
        raise InputError("The runs were judged by other measures or queries; judge both in the same way.")
    from scipy.stats import t as student

    apart = run.values - base.values
    n = len(run.queries)
    reach = float(student.ppf(0.975, n - 1)) / math.sqrt(n) if n > 1 else math.nan
    spread = apart.std(axis=0, ddof=1) if n > 1 else np.full(len(run.measures), math.nan)
    return [
        Difference(
            name, float(apart[:, k].mean()), reach * float(spread[k]), int((apart[:, k] > 0).sum()),
            int((apart[:, k] < 0).sum()),
        )
        for k, name in enumerate(run.measures)
    ]  # fmt: skip


def _gains(grades: Floats, statistic: RankStatistic, gain: Gain, level: int) -> Floats:
    if asks_relevance(statistic):
        return (grades >= level).astype(np.float64)
    return weighted_gains(np.maximum(grades, 0), gain_of(statistic, gain, None), None)


def _strict(documents: Sequence[str], scores: Floats) -> Floats:
    """Scores without ties that order documents as trec_eval does."""
    with np.errstate(over="ignore"):  # what single precision cannot hold is infinite there, too
        single = scores.astype(np.float32)
    order = sorted(range(len(documents)), key=lambda k: documents[k], reverse=True)
    order.sort(key=lambda k: -single[k])
    places = np.empty(len(documents))
    places[order] = np.arange(len(documents), 0, -1)
    return places
