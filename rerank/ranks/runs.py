"""Runs of a search engine, judged: a value for every query and measure, and the difference of two runs.

The measures are those of :func:`rerank.ranks.evaluate`, in the conventions of trec_eval: every judged query counts,
with 0 if the run has nothing for it or nothing is relevant; documents without a judgement are irrelevant; relevant ones
that were not retrieved count in what a value is divided by; precision is a share of the places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.errors import InputError
from rerank.io.options import one_of, whole
from rerank.io.runs import best_first, qrels_of, run_of
from rerank.io.table import Words, numbered
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import OneList, rows_by_list
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
    n_known : int
        Documents of the run that were judged.
    notes : tuple of str
        What makes values look wrong: no document of the run was judged, no grade is large enough, or a measure that
        may be taken for another.
    """

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    n_missing: int
    n_unjudged: int
    n_known: int
    notes: tuple[str, ...] = ()

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
    run: Any, qrels: Any, measures: Sequence[object] = MEASURES, *,
    gain: Gain = "linear", level: int = 1, ties: RunTies = "trec", strangers: bool = False,
) -> RunValues:  # fmt: skip
    """Value of a run for every judged query.

    Parameters
    ----------
    run : Run, path, dict or data frame
        See :func:`rerank.io.runs.run_of`.
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
    strangers : bool
        Take a run of whose documents none was judged, with a note; it is refused by default, as its ids are most likely
        not those of the judgements.

    Raises
    ------
    InputError
        For an unknown measure, for runs and judgements that cannot be used, where no query of the run is judged, and
        where no document is.
    """
    run, qrels = run_of(run, "run"), qrels_of(qrels)
    one_of("ties", ties, ("trec", "pessimistic", "optimistic", "average"))
    one_of("gain", gain, ("linear", "exponential"))
    least = whole("level", level)
    statistics = [parse(one) for one in measures]
    if not statistics:
        raise InputError("measures is empty; name at least one, such as 'ndcg@10'.")
    queries = numbered(qrels.qid)[0]
    place = {query: number for number, query in enumerate(queries)}
    judged = [row for row, query in enumerate(run.qid.tolist()) if query in place]
    if not judged:
        raise InputError(
            f"No query of the run is judged: the run has {next(iter(run.qid), 'none')!r:.40}, and the judgements have "
            f"{queries[0]!r:.40}; give the judgements of these queries."
        )
    qid, docid, scores = run.qid[judged], run.docid[judged], run.score[judged]
    left = dict(zip(zip(qrels.qid.tolist(), qrels.docid.tolist()), qrels.grade.tolist()))
    found = [left.pop(pair, None) for pair in zip(qid.tolist(), docid.tolist())]
    n_known = sum(grade is not None for grade in found)
    notes = [one.remark for one in statistics if one.remark]
    if not n_known:
        of_both = set(qid.tolist())
        first = next(query for query in queries if query in of_both)
        ours, theirs = docid[qid == first][0], qrels.docid[qrels.qid == first][0]
        stranger = (
            f"No document of the run is judged: for query {first!r:.40} the run has {ours!r:.40}, and the judgements "
            f"have {theirs!r:.40}"
        )
        if not strangers:
            raise InputError(f"{stranger}; give runs and judgements of the same documents, with the same ids.")
        notes.append(f"{stranger}; check that their ids are spelled alike.")
    if not (qrels.grade >= least).any() and any(map(asks_relevance, statistics)):
        notes.append(f"No document has a grade of {least} or more, so measures of relevant documents are all 0.")
    grades = np.array([grade or 0 for grade in found], dtype=np.float64)
    missed: dict[str, list[int]] = {}
    for (query, _), grade in left.items():
        missed.setdefault(query, []).append(grade)
    parts = list(rows_by_list(qid, qid.size))
    numbers = [place[query] for query, _ in parts]
    rule: Ties = "pessimistic" if ties == "trec" else ties
    if ties == "trec":
        scores = _without_ties(docid, scores)
    values, chance = np.zeros((len(queries), len(statistics))), np.full(len(queries), np.nan)
    for k, statistic in enumerate(statistics):
        lists = [
            OneList(
                query, rows, _gains(grades[rows], statistic, gain, least), 1.0,
                _gains(np.array(missed.get(query, ()), dtype=np.float64), statistic, gain, least),
            )
            for query, rows in parts
        ]  # fmt: skip
        judge = Evaluator(statistic, lists)
        places = statistic.at if type(statistic) is Precision else 1
        values[numbers, k] = [(value or 0.0) / places for value in judge.values(scores, rule)]
        if not k:
            chance[numbers] = [(value or 0.0) / places for value in judge.values(np.zeros(qid.size), "average")]
    notes += worse_than_chance("run", statistics[0].name, values[:, 0], chance)
    unjudged = len(set(run.qid) - place.keys())
    return RunValues(
        tuple(one.name for one in statistics), queries, values, len(queries) - len(parts), unjudged, n_known,
        tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def worse_than_chance(name: str, measure: str, values: Floats, chance: Floats) -> list[str]:
    """A note on a run whose documents stand in a worse order than a random one, as sorted by a distance.

    ``chance`` holds the means over all orders, NaN for a query that counts nowhere. Worse is clear where Student's 95 %
    interval of the mean difference lies below 0.
    """
    there = ~(np.isnan(values) | np.isnan(chance))
    if there.sum() < 2:
        return []
    mean, half = _interval((values - chance)[there])
    if not mean + half < 0:
        return []
    return [
        f"The {name} alone is worse than a random order of its documents: {measure} {values[there].mean():.4f} against "
        f"{chance[there].mean():.4f} over {there.sum()} queries; if its scores are distances (small is near), give "
        "-score in place of each score."
    ]


def _interval(apart: Floats) -> tuple[float, float]:
    """Mean, and half the width of Student's 95 % interval; NaN for one value."""
    from scipy.stats import t as student

    n = apart.size
    if n < 2:
        return float(apart.mean()), math.nan
    return float(apart.mean()), float(student.ppf(0.975, n - 1)) / math.sqrt(n) * float(apart.std(ddof=1))


def differences(run: RunValues, base: RunValues) -> list[Difference]:
    """What a run has more than ``base``, measure by measure, with Student's interval over the queries of both.

    Raises
    ------
    InputError
        If measures or queries differ.
    """
    if (run.measures, run.queries) != (base.measures, base.queries):
        raise InputError("The runs were judged by other measures or queries; judge both in the same way.")
    apart = (run.values - base.values).T
    return [
        Difference(name, *_interval(own), int((own > 0).sum()), int((own < 0).sum()))
        for name, own in zip(run.measures, apart)
    ]


def _gains(grades: Floats, statistic: RankStatistic, gain: Gain, level: int) -> Floats:
    if asks_relevance(statistic):
        return (grades >= level).astype(np.float64)
    return weighted_gains(np.maximum(grades, 0), gain_of(statistic, gain, None), None)


def _without_ties(docid: Words, scores: Floats) -> Floats:
    """Scores without ties that order documents as trec_eval does: in single precision, equal ones by their ids."""
    with np.errstate(over="ignore"):  # what single precision cannot hold is infinite there, too
        order = best_first(docid, scores.astype(np.float32))
    places = np.empty(docid.size)
    places[order] = np.arange(docid.size, 0, -1)
    return places
