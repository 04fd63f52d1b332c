"""Fitted score fusion: normalised scores of several runs, weighted, with RRF as the null hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rerank.certificate import save_proof
from rerank.errors import InputError
from rerank.io import Table
from rerank.io.atomic import together
from rerank.io.csv_table import write_csv
from rerank.io.fusion import ranges
from rerank.io.page import Cells, Items, Part, ShownMixin, Words
from rerank.io.paths import unwritable
from rerank.ranks import evaluate
from rerank.reranker.clock import Clock
from rerank.reranker.estimator import Reranker, fit_table
from rerank.reranker.evidence import Evidence
from rerank.reranker.files.document import save as save_document
from rerank.reranker.fit import LATE
from rerank.reranker.fusion.choice import Chosen, chosen_by_folds, untold
from rerank.reranker.fusion.exports import export
from rerank.reranker.fusion.files import save
from rerank.reranker.fusion.fit import RADII, check, in_words, normalisers_of, nulls_of, radii_of, turned
from rerank.reranker.fusion.lists import judged_runs
from rerank.reranker.fusion.model import FusionModel, named_runs
from rerank.reranker.fusion.normalise import Floats, K, curves_of
from rerank.reranker.fusion.nulls import prior_weights, promising
from rerank.reranker.options import FusionOptions
from rerank.reranker.result import Result, number
from rerank.reranker.selection.held_out import took
from rerank.reranker.selection.options import Option
from rerank.reranker.state import FittedState, first_stage_kept
from rerank.statistics import parse

AUDIT_FILES = "table.csv", "model.json", "fit.proof"


class ScoreFusion(FusionOptions, ShownMixin, BaseEstimator):
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
        clock, options = Clock(self.time_limit), self.get_params(deep=False)
        check(options)
        normalisers, radii = normalisers_of(options), radii_of(options)
        statistic = parse(self.stat)
        judged = judged_runs(runs, qrels, self.depth, statistic)
        judged.check_classes()
        names, scores = judged.joined.names, judged.joined.scores
        prior = prior_weights(self.prior, names)
        curves = curves_of(scores) if "sigmoid" in normalisers else None
        plain = FusionModel(names, prior, "none", float(self.k), self.missing, self.depth, curves=curves)
        if self.positive and (prior < 0).any():
            raise InputError("prior holds a weight below 0, and positive is True; set positive=False, or correct it.")
        est = self._reranker(prior, radii[0])
        tables = {
            name: judged.data(replace(plain, normaliser=name), est) for name in dict.fromkeys((*normalisers, "rank"))
        }
        nulls = nulls_of(judged, plain, tables, self.prior, statistic)
        null, dropped = nulls[0], ""
        if self.normalise == "auto" and self.cv is not None:
            hopeful = promising(nulls)
            if left := [name for name in normalisers if name not in hopeful]:
                dropped = f"Not tried: {', '.join(left)}, because equal weights of it are clearly behind {null.name}."
            normalisers = tuple(name for name in normalisers if name in hopeful)
        able = [Option({"normalise": name, "radius": radius}) for name in normalisers for radius in radii]
        choice, before = Chosen(able[0]), clock.spent
        if self.cv is not None:
            able_tables = {name: tables[name] for name in normalisers}
            null_scores = replace(plain, normaliser=null.normaliser).scores(judged.joined)
            est.set_params(n_jobs=None)  # folds share the cores
            choice = chosen_by_folds(able_tables, able, null, null_scores, est, options, clock)
        spent, kept = clock.spent - before, choice.kept
        normaliser, radius = choice.option.params["normalise"], choice.option.params["radius"]
        if kept:
            normaliser, radius = null.normaliser, RADII[-1] if radius is None else radius
        model, data = replace(plain, normaliser=normaliser), tables[normaliser]
        table, proof = judged.table(model), bool(self.proof) and not kept
        est = self._reranker(prior, radius)
        est.set_params(time_limit=clock.least(None, 1), verbose=int(self.verbose > 0), proof=proof)
        with untold():
            fit_table(est, table)
        state = first_stage_kept(est.state_) if kept else est.state_
        first = data.evaluate(statistic, model.scores(judged.joined))
        weights = prior if kept or not np.any(state.coef) else state.coef
        model = replace(model, weights=weights / np.abs(weights).sum())
        # As they rank: scores are rounded, so that rounding breaks no tie.
        own = data.evaluate(statistic, model.scores(judged.joined))
        result = in_words(replace(state.result, statistic=own, first_stage_statistic=first), null, choice)
        if any(LATE in note for note in result.notes) and choice.evidence is not None:
            result = result.noting(took(spent, self.time_limit))
        # Ranks that have 0 where a run lacks the document, whatever the fit takes for it.
        ranks = judged.table(replace(plain, normaliser="rank", missing="zero", k=K)).X.T
        worse = [note for name, own in zip(names, ranks) for note in turned(name, data, statistic, own)]
        notes = tuple(note for note in (statistic.remark, *judged.notes, *worse, dropped, choice.note) if note)
        proved = {"value": result.value, "bound": result.bound, "gap": result.gap}
        about = {
            "stat": statistic.name, "gain": self.gain, "radius": radius, "null": null.name,
            "null_statistic": null.mean, "null_kept": kept, "statistic": result.statistic, "status": result.status,
            "message": result.message, "queries": result.n_lists, "notes": list(notes),
            "ranges": ranges(judged.joined),
            **({"not_taken": proved} if kept else proved),
        }  # fmt: skip
        # Nothing is set before the fit has succeeded, so that all attributes belong to one fit.
        self.model_: FusionModel = replace(model, about=about)
        self.result_: Result = result.noting(*worse)
        self.notes_: tuple[str, ...] = notes
        self.weights_: dict[str, float] = dict(zip(names, model.weights.tolist()))
        self.normaliser_: str = normaliser
        self.null_: str = null.name
        self.null_kept_: bool = kept
        self.nulls_: dict[str, float] = {each.name: each.mean for each in nulls}
        self.runs_: dict[str, float] = {name: data.evaluate(statistic, own) for name, own in zip(names, ranks)}
        self.cv_results_: dict[str, Any] | None = choice.cv_results
        self.evidence_: Evidence | None = choice.evidence
        self._audited: tuple[FittedState, Table] | None = (state, table) if proof else None
        return self

    def _reranker(self, prior: Floats, radius: float | None) -> Reranker:
        """What fits corrections of the prior's score, or free weights without a radius."""
        more: dict[str, Any] = {} if radius is None else {"prior": prior}
        if self.margin is not None:
            more["epsilon" if radius is None else "margin"] = self.margin
        return Reranker(
            self.stat, first_stage=None, solver="search", radius=radius, gain=self.gain, positive=bool(self.positive),
            node_limit=self.node_limit, n_jobs=self.n_jobs, random_state=self.random_state, **more,
        )  # fmt: skip

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
                self.stat, found.judged.grades, scores, found.joined.qid, gain=self.gain,
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
        if self._audited is None:
            raise InputError("The fit recorded no proof; fit again with proof=True.")
        state, table = self._audited
        if state.result.proof is None:
            raise InputError("The search had no part in this fit, so there is no proof to write; nothing was written.")
        where = Path(folder)
        try:
            where.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(where, error, "choose a folder that can be written") from None
        read = {"label_column": "grade", "qid_column": "qid", "id_column": "id"}
        table_path, model_path, proof_path = (where / name for name in AUDIT_FILES)
        with together():
            write_csv(table_path, table, label="grade")
            save_document(replace(state, columns_read=read), model_path)
            save_proof(state.result.proof, proof_path)

    def report(self) -> str:
        """Lead, error and statistic of every option over the null, and what was chosen."""
        self._model()
        if self.evidence_ is None:
            return "\n".join(self.notes_) or "There were no folds."
        return self.evidence_.report()

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every option over the null (:func:`rerank.plots.leads`).

        Raises
        ------
        InputError
            For a fit without folds.
        """
        self._model()
        if self.evidence_ is None:
            raise InputError(f"There were no folds, so no option has a lead. {' '.join(self.notes_)}".rstrip())
        return self.evidence_.plot(ax)

    def _parts(self) -> list[Part] | None:
        if not hasattr(self, "model_"):
            return None
        result = self.result_
        numbers = (("value", number(result.value)), ("bound", number(result.bound)), ("gap", number(result.gap, 9)))
        bounds = f"{', '.join(' '.join(pair) for pair in numbers)}, on the judged queries"
        if self.null_kept_:
            bounds = f"The weights that were fitted and not taken: {bounds}"
        rows = [("", "weight", parse(self.stat).name)]
        rows += [(name, f"{weight:.4f}", number(self.runs_[name])) for name, weight in self.weights_.items()]
        rows += [(name, "", number(value)) for name, value in self.nulls_.items()]
        rows.append(("these weights", "", number(result.statistic)))
        return [
            *([] if self.evidence_ is None else [*self.evidence_.parts(), Words("")]),
            Words(f"Weights of the scores normalised by {self.normaliser_}:"),
            Cells(rows, ("left", "right", "right")),
            Words(result.message, strong=True),
            Words(bounds),
            Items(list(dict.fromkeys((*self.notes_, *result.notes)))),
        ]
