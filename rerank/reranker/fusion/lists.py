"""Judged queries of runs as training data: one table for each normaliser, with the same rows, lists and grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io import Table
from rerank.io.fusion import COUNTED, Joined, Judged, apart, join, judge, notes_on, unjudged
from rerank.io.runs import qrels_of, run_of
from rerank.ranks.lists import number_lists
from rerank.ranks.row_gains import asks_relevance
from rerank.reranker.data import Data, data_of
from rerank.reranker.estimator import Reranker
from rerank.reranker.fusion.model import FusionModel, within_depth
from rerank.statistics import RankStatistic


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """The documents of the judged queries, and what is said about the others.

    Attributes
    ----------
    joined : Joined
    judged : Judged
    notes : tuple of str
    """

    joined: Joined
    judged: Judged
    notes: tuple[str, ...]

    @property
    def missed(self) -> dict[str, tuple[float, ...]] | None:
        """Grades of relevant documents that no run has, for the queries that have rows."""
        here = set(self.joined.qid.tolist())
        return {query: grades for query, grades in self.judged.missed.items() if query in here} or None

    def table(self, model: FusionModel) -> Table:
        """The rows as a model normalises them."""
        X = model.normalised(self.joined.scores, number_lists(self.joined.qid)[1])
        return Table(X, self.judged.grades, self.joined.qid, self.joined.docid, self.joined.names,
                     ideal_gains=self.missed)  # fmt: skip

    def check_classes(self) -> None:
        """Refuse documents of one grade, of which nothing can be learned."""
        grades = self.judged.grades
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

    def data(self, model: FusionModel, est: Reranker) -> Data:
        """The same, checked, for a reranker."""
        table, options = self.table(model), est.get_params(deep=False)
        assert table.y is not None
        return data_of(table.X, table.y, table.qid, None, None, table.ideal_gains, options, est, table.feature_names)[0]


def judged_runs(runs: Mapping[str, Any], qrels: Any, depth: int | None, statistic: RankStatistic) -> JudgedRuns:
    """Runs and judgements joined, with the rows of the judged queries, and grades as a statistic asks for them.

    Raises
    ------
    InputError
        If there are no runs, or if no query is in both.
    """
    if not isinstance(runs, Mapping) or not runs:
        raise InputError("runs must be a mapping from a name to a run, with at least one; such as {'bm25': 'a.run'}.")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise InputError(f"A run is called {name!r}; give every run a name that is text.")
    read = {name: run_of(runs[name], name) for name in runs}
    grades = qrels_of(qrels)
    joined = within_depth(join(read), depth)
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
    notes = notes_on(known.missed, set(joined.qid.tolist()), use)
    left = len(set(joined.qid[~known.judged].tolist()))
    if left:
        notes = (*notes, f"{left} queries of the runs are not judged; they are left out of the fit.")
    notes = (*notes, *unjudged(joined, known, grades), *apart(joined))
    kept = np.flatnonzero(known.judged)
    judged = replace(known, grades=known.grades[kept], judged=known.judged[kept], known=known.known[kept])
    return JudgedRuns(joined.some(kept), judged, notes)
