"""Fitted score fusion: normalised scores of several runs, weighted, with RRF as the null hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError
from rerank.io.page import Part, ShownMixin
from rerank.ranks import evaluate
from rerank.reranker.evidence import Evidence
from rerank.reranker.fusion.exports import export
from rerank.reranker.fusion.files import save
from rerank.reranker.fusion.fit import Fitted, fit
from rerank.reranker.fusion.lists import judged_runs
from rerank.reranker.fusion.model import FusionModel, named_runs
from rerank.reranker.fusion.told import drawn, folds_of, parts
from rerank.reranker.result import Result
from rerank.statistics import parse

Floats = NDArray[np.float64]


class ScoreFusion(ShownMixin, BaseEstimator):
    """Fuses runs by weights that are fitted to judgements, unless RRF does as well on held-out queries.

    Parameters
    ----------
    stat : str or RankStatistic
        As of :class:`rerank.Reranker`, but "precision@k", like P@k, asks only whether the grade is above 0. It counts
        hits, where ``rerank evaluate`` divides by k.
    normalise : "auto", str or sequence of str
        "none", "minmax", "z", "rank" or "sigmoid"; of several the folds choose. "auto" is minmax, z and rank. Without
        ``cv`` the first of them.
    prior : "equal", "rrf" or mapping of run to weight
        The weights that a fit corrects: equal ones of the normalised scores, RRF (equal weights of "rank"), or your
        own, with one normaliser.
    radius : "auto", float or None
        Largest correction of a weight, in deviations of the prior for each deviation of the normalised score. By "auto"
        the folds choose from .1, .3 and 1; without ``cv`` it is .3. None fits free weights exactly.
    cv : int or None
        Folds of whole queries that choose and guard; None fits without a guard.
    rule : {"mean", "strict"}
        A fit must lead the null on held-out queries by the mean, or by ``safeguard`` standard errors.
    safeguard : float
    positive : bool
        No weight below 0.
    gain : {"exponential", "linear"}
        Gain of a grade g: ``2^g - 1`` or ``g``.
    missing : {"lowest", "zero", "impute"}
        What a document gets that a run does not have: the lowest normalised score that the run gives in the query (0
        after "minmax" and "rank"), 0, or the mean of those that it gives.
    depth : int or None
        Documents of each run that are looked at, and those that share the score at the cut.
    k : float
        Constant of "rank" and RRF: ``1 / (k + rank)``.
    margin : float or None
        Deviations of the prior by which a relevant document has to lead in the fit; with ``radius=None`` of the scaled
        score.
    time_limit : float or None
        Seconds for everything.
    node_limit : int or None
        Boxes of the search on all queries; 0 is for good weights soon, without a bound of worth.
    proof : bool
        Record the search on all queries, for ``save_audit``.
    n_jobs : int or None
        Folds at a time, and cores of the search.
    random_state : int, RandomState, Generator or None
    verbose : int
        1 for progress on standard error.

    Attributes
    ----------
    model_ : FusionModel
        What ranks: names, normaliser, weights.
    weights_ : dict of str to float
        Of the normalised scores; their sizes sum to 1.
    normaliser_ : str
    null_ : str
        Name of the null that had to be led.
    null_kept_ : bool
    result_ : Result
        Statistic, value, bound, gap and status of the fit on all judged queries; ``first_stage_statistic`` is that of
        the prior. The bound holds for the normaliser and the radius of this fit. Where a null is kept, value, bound
        and gap are those of the weights that were fitted and not taken.
    nulls_ : dict of str to float
        Mean statistic on the judged queries of RRF, or the prior given, and of equal weights of each normaliser.
    runs_ : dict of str to float
        The same of each run alone, documents that it does not have last.
    cv_results_ : dict or None
        As of :class:`rerank.RerankerCV`, with ``first_stage`` for what had to be led; None without folds.
    evidence_ : Evidence or None
        The same as it is told and drawn, and what was chosen.
    notes_ : tuple of str
        What was left out, and why.
    """

    def __init__(
        self,
        stat: Any = "ndcg@10",
        *,
        normalise: Any = "auto",
        prior: Any = "equal",
        radius: float | str | None = "auto",
        cv: int | None = 5,
        rule: str = "mean",
        safeguard: float = 1.0,
        positive: bool = True,
        gain: str = "exponential",
        missing: str = "lowest",
        depth: int | None = None,
        k: float = 60.0,
        margin: float | None = None,
        time_limit: float | None = 60.0,
        node_limit: int | None = None,
        proof: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.stat = stat
        self.normalise = normalise
        self.prior = prior
        self.radius = radius
        self.cv = cv
        self.rule = rule
        self.safeguard = safeguard
        self.positive = positive
        self.gain = gain
        self.missing = missing
        self.depth = depth
        self.k = k
        self.margin = margin
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.proof = proof
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, runs: Mapping[str, Any], qrels: Any) -> ScoreFusion:
        """Choose and fit on the judged queries of the runs.

        Parameters
        ----------
        runs : mapping of str to path, dict, data frame or Run
            Names serve later runs of the same systems. See :mod:`rerank.io.runs`.
        qrels : path, dict, data frame or Qrels
            Documents that are not judged count as irrelevant. Relevant documents that no run has count in the ideal
            list, and are never candidates.

        Raises
        ------
        InputError
            For runs, judgements or parameters that cannot be used.
        """
        return self._adopt(fit(self.get_params(deep=False), runs, qrels))

    def _adopt(self, found: Fitted) -> ScoreFusion:
        self.model_: FusionModel = found.model
        self.result_: Result = found.result
        self.notes_: tuple[str, ...] = found.notes
        self.weights_: dict[str, float] = dict(zip(found.model.names, found.model.weights.tolist()))
        self.normaliser_: str = found.model.normaliser
        self.null_: str = found.null.name
        self.null_kept_: bool = found.null_kept
        self.nulls_: dict[str, float] = {null.name: null.mean for null in found.nulls}
        self.runs_: dict[str, float] = found.alone
        self.cv_results_: dict[str, Any] | None = found.cv_results
        self.evidence_: Evidence | None = found.evidence
        self._audit = found.audit
        return self

    def _model(self) -> FusionModel:
        check_is_fitted(self, "model_")
        return self.model_

    def fuse(self, runs: Mapping[str, Any]) -> Any:
        """The fused run of runs under the names of the fit; see :meth:`FusionModel.fuse`."""
        return self._model().fuse(runs)

    def fuse_arrays(self, scores: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Fused scores of arrays; see :meth:`FusionModel.fuse_arrays`."""
        return self._model().fuse_arrays(scores, qid)

    def score(self, runs: Mapping[str, Any], qrels: Any) -> float:
        """The statistic of the fused run: the mean over judged queries, equal scores against the relevant documents."""
        model = self._model()
        found = judged_runs(named_runs(runs, model.names), qrels, model.depth, parse(self.stat))
        scores = model.scores(found.joined)
        return float(
            evaluate(
                self.stat, found.judged.grades, scores, found.joined.qid, gain=self.gain,  # type: ignore[call-overload]
                ideal_gains=found.missed,
            )
        )  # fmt: skip

    def export(self, target: str) -> str:
        """A snippet for "elasticsearch" or "vespa", or the "formula"; see :mod:`rerank.reranker.fusion.exports`."""
        return export(self._model(), target)

    def save(self, path: Any) -> None:
        """Write the model as JSON; :func:`rerank.fusion.load` reads it as a :class:`FusionModel`."""
        save(self._model(), path)

    def save_audit(self, folder: Any) -> None:
        """Write what others need to check the bound: ``table.csv``, ``model.json`` and ``fit.proof`` in a folder.

        ``rerank verify model.json table.csv --proof fit.proof`` recomputes value and bound in exact arithmetic.

        Raises
        ------
        InputError
            If a null was kept, which has no bound; if ``proof`` was False; if the search had no part in the fit, its
            proof is too large, or the folder cannot be written.
        """
        self._model()
        if self.null_kept_:
            raise InputError(f"{self.null_} is kept, and the bound is about fitted weights; there is nothing to audit.")
        if self._audit is None:
            raise InputError("The fit recorded no proof; fit again with proof=True.")
        self._audit.save(folder)

    def report(self) -> str:
        """Lead, error and statistic of every option over the null, and what was chosen."""
        self._model()
        return folds_of(self)

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every option over the null (:func:`rerank.plots.leads`).

        Raises
        ------
        InputError
            For a fit without folds.
        """
        self._model()
        return drawn(self, ax)

    def _parts(self) -> list[Part] | None:
        return parts(self) if hasattr(self, "model_") else None
