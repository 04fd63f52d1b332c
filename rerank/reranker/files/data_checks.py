"""The checks that need the table: shortlist, problem, weights and bound are recomputed and compared with the model.

The numbers of the problem, the value of the weights and the bound are exact. Statistics of rankings are sums of doubles
and may differ in their last digits from one machine to another; they have to agree to ``bound_checks.CLOSE``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from rerank.certificate import certify, digest
from rerank.errors import CertificateError
from rerank.io.frames import is_frame, is_sparse
from rerank.problem import Margin, Problem
from rerank.ranks.rationals import is_closed
from rerank.ranks.row_gains import Gain, gain_of, weighted_gains
from rerank.reranker.columns import Rows, columns_of
from rerank.reranker.cross_fit import folds_of
from rerank.reranker.files.bound_checks import CLOSE, check_bound, close
from rerank.reranker.files.document import TABLE, quoted_statistic_of, statistic_of
from rerank.reranker.files.label_checks import check_cuts, check_labels
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.files.refit import Refit, same_scaling
from rerank.reranker.files.report import Checks
from rerank.reranker.files.result_json import UNFITTED, certificate_entries, gathered
from rerank.reranker.first_stage import of_tables
from rerank.reranker.learners import name_of
from rerank.reranker.training import fitted_scores, theorem_of

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.problem import Proof


def _left_out(rows: Rows, doc: ModelDocument) -> tuple[str, ...]:
    """Columns that hold no numbers or miss some, if all others can be reranked; else columns were named."""
    table = rows.given
    if doc.reranked is None or is_sparse(table) or not (is_frame(table) or table.dtype.kind == "f"):
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said what an array lacks
        found = columns_of(table).columns
    return found.left_out if np.array_equal(found.chosen, doc.reranked) else ()


class DataChecks:
    """The checks of one model that need its table."""

    def __init__(
        self, checks: Checks, doc: ModelDocument, table: Table, found: Refit, proof: Proof | None,
        without_digest: bool,
    ) -> None:  # fmt: skip
        self.checks, self.doc, self.table, self.found, self.proof = checks, doc, table, found, proof
        self.without_digest = without_digest
        self.result = found.state.result
        self.statistic, self.quoted = statistic_of(doc), quoted_statistic_of(doc)

    def run(self) -> None:
        """All checks; after a check that shows another problem, those that depend on the problem are left out."""
        self._columns()
        self._shortlist()
        training, result = self.found.training, self.result
        if not same_scaling(self.doc, training):
            self.checks.compare("scaling of the shortlist", "as stored", "other", False)
            self.checks.remark("Another problem follows from the table, so the rest was not recomputed.")
            return
        self.checks.compare("scaling of the shortlist", "as stored", "the same", True, "low", "high")
        self._problem(training.problem)
        before = self._first_stage()
        check_cuts(self.checks, self.doc, self.found)
        if result.status in UNFITTED:
            self._unfitted(before)
        elif training.problem is None or training.nothing:
            self.checks.compare("status", result.status, training.nothing or "nothing_to_reorder", False)
        else:
            self._fitted(training.problem, before)

    def _close(self, name: str, stated: float | None, found: float | None, *fields: str) -> None:
        holds = stated is found if stated is None or found is None else close(stated, found)
        self.checks.compare(name, stated, found, holds, *fields)

    def _columns(self) -> None:
        """Names, labels, lists."""
        doc, data, checks = self.doc, self.found.data, self.checks
        named = doc.feature_names == tuple(self.table.feature_names)
        checks.compare("names of the columns", len(doc.feature_names), "the same" if named else "others", named,
                       "feature_names")  # fmt: skip
        chosen = data.rows.columns.chosen
        used, wanted = doc.features.tolist(), chosen[self.found.training.features].tolist()
        checks.compare("columns used", used, wanted, used == wanted, "features", "reranked")
        left, none = self.result.left_out, _left_out(data.rows, doc)
        checks.compare("columns left out", left, none, left in ((), none))
        if left == none:
            checks.determined("result.left_out")
        checks.given("columns to rerank may have been named, and then none is left out", "result.left_out")
        weighted, found = doc.settings.get("weighted_lists"), data.list_weight is not None
        checks.compare("weights of lists", weighted, found, weighted is found, "settings.weighted_lists")
        check_labels(checks, self.found.state.labels, data.labels, self.table.labels)

    def _shortlist(self) -> None:
        """Threshold, counts, and what the corrected theorem says."""
        training, result, checks = self.found.training, self.result, self.checks
        stated, threshold = self.found.state.threshold, training.shortlist.threshold
        checks.compare("threshold", stated, threshold, stated == threshold, "threshold")
        checks.same("shortlist", vars(result.shortlist), vars(training.info), "result.shortlist")
        asked, used = self.doc.n_candidates, training.info.n_candidates
        checks.compare("candidates", asked, used, asked == used, "n_candidates")
        for name in ("n_lists", "n_empty_lists"):
            number, found = getattr(result, name), getattr(training, name)
            checks.compare(
                f"{name[2:].replace('_', ' ')} in the table", number, found, number == found, f"result.{name}"
            )
        self._out_of_fold()
        theorem = theorem_of(training.problem)
        checks.compare("theorem", result.theorem, theorem, result.theorem == theorem, "result.theorem")

    def _out_of_fold(self) -> None:
        """How many parts the training rows were cut into for the first stage's scores."""
        settings, stated, checks = self.found.state.settings, self.result.folds, self.checks
        wanted = 0 if self.doc.prior_scores is None else folds_of(self.found.data, settings)
        # Groups, which no table holds, may leave fewer of them.
        holds = stated == wanted or (self.result.grouped and 2 <= stated < wanted)
        checks.compare("folds of the first stage", stated, wanted, holds, "result.folds")
        checks.given("that rows of a group were kept in one fold is taken as given", "result.grouped")
        if wanted:
            checks.given(
                "out-of-fold scores are taken as given; what follows from them was recomputed", "prior_scores"
            )
        else:
            checks.determined("prior_scores")
        checks.given("how many folds were asked for", "settings.cross_fit")

    def _problem(self, problem: Problem | None) -> None:
        """The digest of the problem, and the options that it determines."""
        doc, checks = self.doc, self.checks
        named = self.result.status != "nothing_to_find"
        fitted: tuple[str, ...] = ("statistic", "coefficients", "settings.window")
        if self.quoted.counts_pairs:
            checks.given("the statistic is the same in lists of every length", "settings.list_length")
        else:
            fitted = (*fitted, "settings.list_length")
        statistic = fitted if named else ()
        checks.given("nothing can be found, whatever the statistic", *fitted)
        options = ("epsilon", "C", "signs", *statistic)
        margin, radius = (doc.settings.get(name) for name in ("margin", "radius"))
        if margin == 0:
            checks.given("a margin of 0 is the smallest, as it is without one", "settings.margin")
        else:
            margin = None if margin is None else float(Margin(margin))
            stated = margin if margin is None else doc.epsilon
            checks.compare("margin", margin, stated, margin == stated, "settings.margin")
        if radius is None or (problem is not None and problem.anchored):
            options = (*options, "settings.radius")  # the limits of the weights are part of the digest
        checks.given("the first stage's scores are equal, so that nothing depends on it", "settings.radius")
        if problem is None:
            checks.compare(
                "digest of the data",
                doc.data_sha256,
                None,
                doc.data_sha256 is None,
                "data_sha256",
                *statistic,
            )
            checks.given(
                "no column varies on the shortlist, so nothing depends on it", "epsilon", "C", "signs", "max_features",
                "gain", "settings.positive",
            )  # fmt: skip
            return
        sha = digest(problem)
        if doc.data_sha256 is None and self.without_digest:
            why = "the file states no digest of its data"
            checks.open(why, "data_sha256", "max_features", "gain", *options)
            return
        checks.compare(
            "digest of the data",
            str(doc.data_sha256)[:16],
            sha[:16],
            doc.data_sha256 == sha,
            "data_sha256",
            *options,
        )
        if problem.max_features is not None:
            checks.determined("max_features")  # by the digest
        checks.given("there are not more columns than that, so it limits nothing", "max_features")
        other: Gain = "linear" if doc.gain == "exponential" else "exponential"
        weight = self.found.weights
        labels = self.found.data.y
        if other == "linear" or labels.max() <= 1000:
            same = weighted_gains(labels, gain_of(self.statistic, other), weight)
            if np.array_equal(same, self.found.data.gains):
                checks.given("the labels are worth the same by both gains", "gain")
                return
        checks.determined("gain")  # by the digest

    def _first_stage(self) -> float | None:
        """The first stage's statistic, from its stored numbers or the estimator given."""
        checks, stage = self.checks, self.found.state.first_stage
        names = (
            "first_stage", "first_stage_coef", "first_stage_intercept", "settings.opaque_first_stage",
            "settings.prior_centre", "settings.prior_scale", f"settings.{TABLE}",
        )  # fmt: skip
        scores = self.found.scores
        before = None if scores is None else self.found.data.evaluate(self.statistic, scores)
        quoted = None if scores is None else self.found.data.evaluate(self.quoted, scores)
        self._close(
            "first stage's statistic", self.result.first_stage_statistic, quoted, "result.first_stage_statistic",
            *(names if stage is None else ()),
        )  # fmt: skip
        if stage is None:
            return None
        if stage.estimator is not None and of_tables(stage.estimator) is None:
            kind = name_of(stage.estimator)
            checks.compare("first stage", stage.name, kind, stage.name == kind, *names)
        elif stage.estimator is None:
            checks.determined("settings.opaque_first_stage")  # the first stage is in the file, by its weights
        checks.given("the first stage is taken as given; what follows from it was recomputed", *names)
        return before

    def _unfitted(self, before: float | None) -> None:
        """Checks of a fit without weights: no order of the shortlist has a larger statistic than the first stage's."""
        data, training, result, checks = self.found.data, self.found.training, self.result, self.checks
        equal = np.zeros(data.y.size)
        found = before if before is not None else data.evaluate(self.statistic, equal)
        quoted = data.evaluate(self.quoted, equal if self.found.scores is None else self.found.scores)
        self._close("statistic", result.statistic, quoted, "result.statistic")
        self._close("value and bound", result.value, found, "result.value", "result.bound")
        ideal = is_closed(data.evaluate(self.statistic, data.gains) - found, found)
        if not training.nothing and training.problem is not None and before is not None:
            # The shortlist may be ideal where the whole list is not.
            ideal = ideal or before >= training.problem.ideal - 10 * CLOSE * max(
                1.0, abs(training.problem.ideal)
            )
        status = "already_ideal" if ideal else training.nothing or "weights can be fitted"
        checks.compare(
            "status", result.status, status, result.status == status, "result.status", "result.bound_source"
        )
        checks.remark("No weights were fitted: the first stage's order is the answer.")
        if self.proof is not None:
            checks.remark("The proof was not looked at.")

    def _fitted(self, problem: Problem, before: float | None) -> None:
        """Value, statistic and certificate of the weights; whether the first stage is kept; the bound."""
        checks, result, doc = self.checks, self.result, self.doc
        try:
            certificate = certify(problem, doc.weights)
        except CertificateError as error:
            checks.compare("weights allowed", "yes", str(error), False)
            return
        value = certificate.value_down
        checks.compare("value", result.value, value, result.value == value, "result.value")
        checks.same(
            "certificate, every entry", gathered(doc.result, "certificate"), certificate_entries(certificate),
            "result.certificate", "weights",
        )  # fmt: skip
        scores = fitted_scores(self.found.data, self.found.training, self.found.scores, doc.weights)
        after = self.found.data.evaluate(self.statistic, scores)
        kept = result.status == "first_stage_kept"
        told = self.found.scores if kept and self.found.scores is not None else scores
        quoted = self.found.data.evaluate(self.quoted, told)
        self._close("statistic of the ranking", result.statistic, quoted, "result.statistic")
        if result.evidence is not None and result.evidence.chosen is None:
            checks.compare("first stage kept", "yes" if kept else "no", "by held-out rows, as given", kept)
        elif before is not None and result.solver not in ("none", "file"):
            holds = kept == (before >= after) or close(before, after)
            checks.compare(
                "first stage kept",
                "yes" if kept else "no",
                f"it has {before:.12g}, the weights {after:.12g}",
                holds,
            )
        else:
            checks.compare("first stage kept", "yes" if kept else "no", "no", not kept)
        checks.determined("result.status")  # by value, bound and what is kept
        check_bound(checks, result, problem, certificate.value, self.proof)
