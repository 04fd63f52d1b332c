"""Judged queries of runs as training data: one table for each normaliser, with the same rows, lists and grades."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io import Table
from rerank.io.fusion import COUNTED, Joined, Judged, apart, first_documents, join, judge, notes_on, unjudged
from rerank.io.runs import qrels_of, run_of, runs_by_name
from rerank.io.table import words
from rerank.ranks.lists import number_lists
from rerank.ranks.row_gains import asks_relevance
from rerank.reranker.fusion.model import FusionModel
from rerank.statistics import RankStatistic


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """The documents of the judged queries, and what is said about the others."""

    joined: Joined  # with a row without a score for each judged query of which no run has a document
    judged: Judged
    notes: tuple[str, ...]
    cut: bool = False  # whether a run had documents beyond the depth

    @property
    def missed(self) -> dict[str, tuple[float, ...]] | None:
        """Grades of relevant documents that no run has, and one of a query without any, which counts 0 like others."""
        return dict(self.judged.missed) or None

    def scores(self, model: FusionModel, kinds: Any = None) -> NDArray[np.float64]:
        """Fused scores, 0 of the rows that no run has."""
        return np.nan_to_num(model.scores(self.joined, kinds))

    def table(self, model: FusionModel) -> Table:
        """The rows as a model normalises them."""
        X, joined = model.normalised(model.given(self.joined), number_lists(self.joined.qid)[1]), self.joined
        return Table(X, self.judged.grades, joined.qid, joined.docid, joined.names, ideal_gains=self.missed)

    def check_classes(self) -> None:
        """Refuse documents of one grade, of which nothing can be learned."""
        grades = self.judged.grades[~np.isnan(self.joined.scores).all(axis=1)]
        if not grades.any():
            raise InputError(
                "No run has a relevant document of a judged query, so there is nothing to learn; check that the "
                f"document ids of runs and judgements are the same (the runs have {self.joined.docid[0]!r:.40})."
            )
        if (grades == grades[0]).all():
            raise InputError(
                f"All {grades.size} documents of the judged queries have the grade {grades[0]:g}, so there is nothing "
                "to tell apart; give runs with other documents, too, or a larger depth."
            )


def judged_runs(runs: Any, qrels: Any, depth: int | None, statistic: RankStatistic) -> JudgedRuns:
    """Runs and judgements joined, with the rows of the judged queries, and grades as a statistic asks for them."""
    read = {name: run_of(run, name) for name, run in runs_by_name(runs).items()}
    grades = qrels_of(qrels)
    tops = {name: first_documents(run, depth) for name, run in read.items()}
    joined = join(tops)
    known = judge(joined, grades)
    if asks_relevance(statistic):
        known = known.relevance()
    if not known.judged.any():
        have = repr(joined.qid[0]) if len(joined) else "no document"
        raise InputError(
            f"No judged query is in the runs: these have {have}, the judgements {grades.qid[0]!r}; give runs and "
            "judgements of the same queries, with the same ids."
        )
    use = COUNTED if statistic.normalised or statistic.per_relevant else ""
    here, queries = set(joined.qid.tolist()), dict.fromkeys(grades.qid.tolist())
    notes = (*joined.notes, *notes_on(known.missed, set(queries), use))
    if absent := [query for query in queries if query not in here]:
        none = f"{len(absent)} judged queries have no document in any run, {absent[0]!r} first"
        notes = (*notes, f"{none}; they count 0.")
    left = len(set(joined.qid[~known.judged].tolist()))
    if left:
        notes = (*notes, f"{left} queries of the runs are not judged; they are left out of the fit.")
    notes = (*notes, *unjudged(joined, known, grades), *apart(joined))
    kept = np.flatnonzero(known.judged)
    zeros, nothing = np.zeros(len(absent)), np.full((len(absent), len(read)), np.nan)
    joined = joined.some(kept)
    ids = np.append(joined.qid, words(absent)), np.append(joined.docid, words([""] * len(absent)))
    scores, places = (np.vstack([side, nothing]) for side in (joined.scores, joined.places))
    joined = Joined(*ids, scores, joined.names, places)
    found = set(grades.qid[grades.grade > 0].tolist())
    known = replace(
        known,
        grades=np.append(known.grades[kept], zeros),
        judged=np.append(known.judged[kept], zeros == 0),
        known=np.append(known.known[kept], zeros > 0),
        missed={**known.missed, **{query: (1.0,) for query in queries if query not in found}},
    )
    return JudgedRuns(joined, known, notes, any(tops[name].score.size < run.score.size for name, run in read.items()))
