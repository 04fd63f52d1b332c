"""Runs of a search engine, judged: a value for every query and measure, and the difference of two runs.

The measures are those of :func:`rerank.ranks.evaluate`, in the conventions of trec_eval: every judged query counts,
with 0 if the run has nothing for it or nothing is relevant; documents without a judgement are irrelevant; relevant ones
that were not retrieved count in what a value is divided by; precision is a share of the places.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from rerank.errors import InputError, InputWarning
from rerank.errors.telling import Note, of_kind
from rerank.io.bounded import Json
from rerank.io.options import one_of, whole
from rerank.io.page import Cells, Part, Readable, Words
from rerank.io.runs import qrels_rows_of, run_rows_of, runs_by_name
from rerank.io.trec import RunRows
from rerank.ranks.field import JudgedPool, Measure, Placed, RunTies, chance_of, measure_of, values_of
from rerank.ranks.row_gains import Floats, Gain, asks_relevance
from rerank.statistics import RankStatistic

MEASURES = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")  # what is measured unless one says


@dataclass(frozen=True, eq=False)
class RunValues:
    """Values of a run."""

    measures: tuple[str, ...]
    queries: tuple[str, ...]  # the judged ones, in the order of the judgements
    values: Floats  # (queries, measures)
    n_missing: int  # judged queries for which the run has no document
    n_unjudged: int  # queries of the run without a judgement, which count nowhere
    n_known: int  # documents of the run that were judged
    # What makes values look wrong: no document of the run was judged, no grade is large enough, or a measure that may
    # be taken for another.
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
    run: Any,
    qrels: Any,
    measures: Sequence[object] = MEASURES,
    *,
    gain: Gain = "linear",
    level: int = 1,
    ties: RunTies = "trec",
    precision: Literal["double", "single"] = "double",
    strangers: bool = False,
) -> RunValues:
    """Value of a run for every judged query; the parameters are those of :func:`evaluate_runs`.

    With ``strangers`` a run of whose documents none was judged is taken, with a note; it is refused by default, as its
    ids are most likely not those of the judgements.
    """
    terms = Terms(measures, gain, level, ties, precision, strangers)
    return _judged("the run", run_rows_of(run, "run"), JudgedPool(qrels_rows_of(qrels)), terms)[0]


class Terms:
    """What all runs are judged by; the parameters are those of :func:`evaluate_runs`."""

    def __init__(
        self, measures: Sequence[object], gain: Gain, level: int, ties: RunTies, precision: str, strangers: bool = False
    ) -> None:
        one_of("ties", ties, ("trec", "pessimistic", "optimistic", "average"))
        one_of("gain", gain, ("linear", "exponential"))
        one_of("precision", precision, ("double", "single"))
        self.gain, self.level, self.ties = gain, whole("level", level), ties
        self.single, self.strangers = precision == "single", strangers
        each = [measures] if isinstance(measures, str) else measures
        self.measures: list[Measure] = [measure_of(name) for name in each]
        if not self.measures:
            raise InputError("measures is empty; name at least one, such as 'ndcg@10'.")


def _judged(name: str, run: RunRows, pool: JudgedPool, terms: Terms) -> tuple[RunValues, Placed]:
    """Values of a run, and where its documents stand."""
    own = np.array([pool.numbers.get(query, -1) for query in run.queries], dtype=np.intp)
    if not (own >= 0).any():
        raise InputError(
            f"No query of {name} is judged: the run has {next(iter(run.queries), 'none')!r:.40}, and the judgements "
            f"have {pool.queries[0]!r:.40}; give the judgements of these queries."
        )
    query, documents, scores = own[run.query], run.documents, run.values
    if (own < 0).any():
        rows = np.flatnonzero(query >= 0)
        query, documents, scores = query[rows], documents.some(rows), scores[rows]
    if terms.single:
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite there, too
            scores = scores.astype(np.float32)
    placed = Placed(pool, query, documents, scores)
    notes = [*run.notes, *(measure.remark for measure in terms.measures if measure.remark)]
    if not placed.judged.size:
        stranger = _stranger(name, pool, query, documents)
        if not terms.strangers:
            raise InputError(f"{stranger}; give runs and judgements of the same documents, with the same ids.")
        notes.append(f"{stranger}; check that their ids are spelled alike.")
    kinds = [measure.kind for measure in terms.measures]
    binary = any(not isinstance(kind, RankStatistic) or asks_relevance(kind) for kind in kinds)
    if binary and not (pool.grade >= terms.level).any():
        notes.append(f"No document has a grade of {terms.level} or more, so measures of relevant documents are all 0.")
    values = np.array([values_of(measure, placed, terms.gain, terms.level, terms.ties) for measure in terms.measures]).T
    first = terms.measures[0]
    chance = chance_of(first, placed, terms.gain, terms.level)
    if chance is not None:
        chance[placed.lengths == 0] = np.nan
        notes += worse_than_chance(name.removeprefix("the "), first.name, values[:, 0], chance)
    names, said = tuple(measure.name for measure in terms.measures), tuple(dict.fromkeys(notes))
    missing, unjudged = int((placed.lengths == 0).sum()), int((own < 0).sum())
    return RunValues(names, pool.queries, values, missing, unjudged, int(placed.judged.size), said), placed


def _stranger(name: str, pool: JudgedPool, query: Any, documents: Any) -> str:
    """What is said of a run whose ids are not those of the judgements, with the two that are most alike."""
    there = np.flatnonzero(np.isin(pool.query, query))
    number = pool.query[there[0]]
    ours = documents.some(np.flatnonzero(query == number)).tolist()
    theirs = pool.documents.some(there[pool.query[there] == number]).tolist()
    pairs = ((a, b) for b in theirs[:100] for a in ours[:1000] if a in b or b in a)
    mine, judged = next(pairs, (ours[0], theirs[0]))
    return (
        f"0 of {there.size:,} judged documents occur in {name}: ids look like {mine!r:.40} in the run and "
        f"{judged!r:.40} in the judgements"
    )


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
    from scipy.special import stdtrit

    n = apart.size
    if n < 2:
        return float(apart.mean()), math.nan
    return float(apart.mean()), float(stdtrit(n - 1, 0.975)) / math.sqrt(n) * float(apart.std(ddof=1))


def differences(run: RunValues, base: RunValues) -> list[Difference]:
    """What a run has more than ``base``, measure by measure, with Student's interval over the queries of both."""
    if (run.measures, run.queries) != (base.measures, base.queries):
        raise InputError("The runs were judged by other measures or queries; judge both in the same way.")
    each = zip(run.measures, (run.values - base.values).T)
    return [Difference(name, *_interval(own), int((own > 0).sum()), int((own < 0).sum())) for name, own in each]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Readable):
    """Several runs by the same judgements.

    Attributes
    ----------
    runs : dict of str to RunValues
        The first one is the base.
    differences : dict of str to list of Difference
        What each other run has more than the base.
    notes : tuple of str
        What is said about the runs.
    """

    runs: dict[str, RunValues]
    differences: dict[str, list[Difference]]
    notes: tuple[str, ...]

    @property
    def base(self) -> str:
        """Name of the first run."""
        return next(iter(self.runs))

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """``{run: {measure: mean over the judged queries}}``."""
        return {name: dict(zip(own.measures, own.means.tolist())) for name, own in self.runs.items()}

    @property
    def table(self) -> list[Json]:
        """A record for each run and measure, such as for ``pandas.DataFrame``: value, and lead over the base."""
        records = []
        for name, own in self.runs.items():
            leads = self.differences.get(name, [None] * len(own.measures))
            for measure, value, lead in zip(own.measures, own.means.tolist(), leads):
                record = {"run": name, "measure": measure, "value": value}
                if lead is not None:
                    ends = {"low": lead.mean - lead.half, "high": lead.mean + lead.half}
                    record |= {"difference": lead.mean, **ends, "wins": lead.wins, "losses": lead.losses}
                records.append(record)
        return records

    @property
    def per_query(self) -> list[Json]:
        """A record for each run and judged query with the value of every measure."""
        return [
            {"run": name, "query": query, **dict(zip(own.measures, values))}
            for name, own in self.runs.items()
            for query, values in zip(own.queries, own.values.tolist())
        ]

    def parts(self) -> Iterator[Part]:
        """What a person reads."""
        first = self.runs[self.base]
        rows = [["measure", *self.runs]]
        for k, measure in enumerate(first.measures):
            rows.append([measure, *(f"{own.means[k]:.4f}" for own in self.runs.values())])
        yield Cells(rows, ["left", *("right" for _ in self.runs)], named=True)
        several, clear = len(first.queries) > 1, False
        for name, apart in self.differences.items():
            yield Words(f"{name} against {self.base}, mean over {len(first.queries)} queries:")
            lines = []
            for side in apart:
                far = abs(side.mean) > side.half
                clear = clear or far
                reach, count = f"+- {side.half:.4f}" if several else "", f"{side.wins} won, {side.losses} lost"
                lines.append([f"  {side.measure}", f"{side.mean:+.4f}", reach, count, "*" if far else ""])
            yield Cells(lines, ["left", "right", "right", "left", "left"])
        if several and clear:
            yield Words("* The 95 % interval does not hold 0. Of many comparisons one in twenty is so by chance.")

    __repr__ = Readable.__str__


def evaluate_runs(
    runs: Any,
    qrels: Any,
    measures: Sequence[object] = MEASURES,
    *,
    gain: Gain = "linear",
    level: int = 1,
    ties: RunTies = "trec",
    precision: Literal["double", "single"] = "double",
) -> Evaluation:
    """Judge runs of a search engine, and compare each with the first one, query by query.

    Values are those of trec_eval: every judged query counts, with 0 if a run has nothing for it; documents that were
    not judged are irrelevant.

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, or a run
        A run is a path, ``{query: {document: score}}``, a data frame as of PyTerrier or ir_measures, a run of ranx, or
        a sequence of ``ScoredDoc``. Of a sequence, files are named by their stem, and runs of ranx by their names.
    qrels : path, dict, data frame, qrels of ranx or sequence of ``Qrel``
    measures : sequence of str, RankStatistic, or measures of ir_measures
        See :mod:`rerank.ranks.field`; those that ask only whether a document is relevant take documents of ``level``
        and above.
    gain : {"linear", "exponential"}
        Gain of grade g: g, as trec_eval has it, or ``2^g - 1``. Grades below 0 count as 0.
    level : int
        Least grade of a relevant document, at least 1.
    ties : {"trec", "pessimistic", "optimistic", "average"}
        "trec": equal scores by document id, descending. The others as in :func:`rerank.ranks.evaluate`.
    precision : {"double", "single"}
        Of scores: "double" as trec_eval 10, "single" as trec_eval 9, pytrec_eval and ir_measures have them.

    Returns
    -------
    Evaluation
        Prints as a table with the differences and Student's 95 % intervals; ``table`` and ``per_query`` are records.

    Warns
    -----
    InputWarning
        For what is most likely not meant: a run worse than a random order, runs without a common query or judged
        document, judged queries for which a run has nothing.

    Raises
    ------
    InputError
        For what cannot be used, and for a run in which no judged document occurs.

    Examples
    --------
    >>> from rerank import evaluate_runs
    >>> runs = {"bm25": {"q": {"d1": 2.0, "d2": 1.0}}, "dense": {"q": {"d2": 0.9, "d1": 0.4}}}
    >>> print(evaluate_runs(runs, {"q": {"d2": 1}}, ["ndcg@10", "rr"]))
    measure    bm25   dense
    ndcg@10  0.6309  1.0000
    rr       0.5000  1.0000
    dense against bm25, mean over 1 queries:
      ndcg@10  +0.3691    1 won, 0 lost
      rr       +0.5000    1 won, 0 lost
    """
    found = compare_runs(runs, qrels, Terms(measures, gain, level, ties, precision))
    for note in found.notes:
        if note not in of_kind(found.notes, IDLE):
            warnings.warn(note, InputWarning, stacklevel=2)
    return found


IDLE = "idle"  # kind of a note that is no reason to look again


def compare_runs(runs: Any, qrels: Any, terms: Terms) -> Evaluation:
    """:func:`evaluate_runs` without warnings."""
    pool, found = JudgedPool(qrels_rows_of(qrels)), dict[str, RunValues]()
    placed: dict[str, tuple[Any, Any]] = {}
    for name, run in runs_by_name(runs).items():
        found[name], own = _judged(f"the run {name}", run_rows_of(run, name), pool, terms)
        placed[name] = own.lengths > 0, own.judged
    notes = []
    for name, run in found.items():
        if run.n_missing:
            notes.append(f"{name} has nothing for {run.n_missing} of {len(run.queries)} judged queries, which count 0.")
        if run.n_unjudged:
            notes.append(Note(f"{name} has {run.n_unjudged} queries without a judgement, which do not count.", IDLE))
        notes += run.notes
    for (a, (queries, documents)), (b, (others, more)) in combinations(placed.items(), 2):
        common = int((queries & others).sum())
        if not common or (common > 1 and not np.isin(documents, more).any()):
            what = "judged document in any query" if common else "judged query"
            notes.append(f"The runs {a} and {b} share no {what}; check that they are of the same collection.")
    base, *others_ = found
    ahead = {name: differences(found[name], found[base]) for name in others_}
    return Evaluation(found, ahead, tuple(dict.fromkeys(notes)))
