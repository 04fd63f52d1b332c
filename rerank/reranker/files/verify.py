"""A model file and its training data: everything recomputed from the two files, in exact arithmetic where it counts.

Nothing here searches or solves.  The shortlist follows from the first stage's stored numbers, the problem from the
shortlist, and the certificate from the problem and the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.certificate import certify, digest, ideal_value
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem
from rerank.ranks.lists import weighted_gains
from rerank.reranker.files.document import restore, statistic_of
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.fit import Fit, fitted_scores
from rerank.reranker.result import CLOSED, Result
from rerank.reranker.shortlist import number_lists
from rerank.reranker.training import Data, Training, prepare

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.problem.proof import Proof
    from rerank.reranker.estimator import Reranker

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """One claim of the file: what it states, what was recomputed, whether that agrees."""

    name: str
    stated: str
    recomputed: str
    holds: bool


@dataclass(frozen=True)
class Report:
    """All checks, and what no check can say."""

    checks: tuple[Check, ...]
    remarks: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every check agrees."""
        return all(check.holds for check in self.checks)


def training_of(
    doc: ModelDocument, table: Table, where: str
) -> tuple[Reranker, Data, Training, Floats | None]:
    """The estimator, the training data and the problem that the document was fitted on.

    Raises
    ------
    InputError
        For a table without labels, or a model whose first stage is not in the file.
    """
    if table.y is None:
        raise InputError("The table has no labels; name the column that holds them.")
    if doc.settings.get("weighted_lists"):
        raise InputError(
            f"{where} was fitted with weights of lists, which no table holds; verify it from Python."
        )
    est = restore(doc, where=where)
    gains = weighted_gains(table.y, doc.gain, table.sample_weight)  # type: ignore[arg-type]
    lists = None if table.qid is None else number_lists(table.qid)[1]
    data = Data(table.X, table.y, gains, lists, None, doc.feature_names)
    scores = None if est._stage is None else est._stage.scores(table.X)
    training = prepare(
        data, statistic_of(doc), scores, None if scores is None else doc.n_candidates,
        epsilon=doc.epsilon, C=doc.C, max_features=doc.max_features, signs=_signs(doc),
    )  # fmt: skip
    return est, data, training, scores


def _signs(doc: ModelDocument) -> NDArray[np.int8]:
    signs = np.zeros(len(doc.feature_names), np.int8)
    if doc.signs is not None:
        signs[doc.features] = doc.signs
    return signs


def refitted(doc: ModelDocument, table: Table, where: str) -> Reranker:
    """The estimator with its problem, as right after the fit.

    Raises
    ------
    InputError
        Where the table is not the one the model was fitted on.
    """
    est, _, training, _ = training_of(doc, table, where)
    problem = training.problem
    if problem is None or not _same_scaling(doc, training):
        raise InputError(
            f"The table is not the one {where} was fitted on: another shortlist follows from it; give that one."
        )
    est._fit = Fit(est._stage, training, doc.weights, est.reranks_, est.result_)
    return est


def verify(doc: ModelDocument, table: Table, where: str = "the model", proof: Proof | None = None) -> Report:
    """Recompute a model's claims from its training table, and with the search's proof its bound too.

    Parameters
    ----------
    doc : ModelDocument
    table : Table
    where : str
        Name of the model in messages.
    proof : Proof, optional
        What the search recorded; see :mod:`rerank.problem.proof`.
    """
    est, data, training, scores = training_of(doc, table, where)
    result, problem = est.result_, training.problem
    statistic = statistic_of(doc)
    checks: list[Check] = []

    def compare(name: str, stated: Any, found: Any, holds: bool) -> None:
        checks.append(Check(name, _shown(stated), _shown(found), bool(holds)))

    compare(
        "columns used",
        doc.features.tolist(),
        training.features.tolist(),
        np.array_equal(doc.features, training.features),
    )
    threshold = est.threshold_
    compare("threshold", threshold, training.shortlist.threshold, threshold == training.shortlist.threshold)
    if (
        problem is None
        or result.status in ("already_ideal", "nothing_to_find")
        or not _same_scaling(doc, training)
    ):
        if problem is not None:
            compare("scaling of the shortlist", "as stored", "other", _same_scaling(doc, training))
        ranking = scores if scores is not None else np.zeros(data.y.size)
        found = data.evaluate(statistic, ranking)
        compare("statistic", result.statistic, found, abs(found - result.statistic) <= CLOSED)
        remarks = ("No weights were fitted: the first stage's order is the answer.",)
        return Report(tuple(checks), remarks if proof is None else (*remarks, "The proof was not looked at."))
    compare("scaling of the shortlist", "as stored", "the same", True)
    if doc.data_sha256 is not None:
        compare(
            "digest of the problem",
            doc.data_sha256[:16],
            digest(problem)[:16],
            digest(problem) == doc.data_sha256,
        )
    try:
        certificate = certify(problem, doc.weights)
    except CertificateError as error:
        compare("weights allowed", "yes", str(error), False)
        return Report(tuple(checks), ())
    value = certificate.value_down
    compare(
        "value",
        result.value,
        value,
        Fraction(result.value) <= certificate.value and abs(value - result.value) <= CLOSED,
    )
    ranked = fitted_scores(data, training, scores, doc.weights) if est.reranks_ else scores
    assert ranked is not None
    found = data.evaluate(statistic, ranked)
    compare("statistic of the ranking", result.statistic, found, abs(found - result.statistic) <= CLOSED)
    stated = result.certificate
    if stated is not None:
        same = replace(certificate, data_sha256=stated.data_sha256) == stated
        compare("certificate, every entry", "as stored", "the same" if same else "other", same)
    compare("bound not below the value", result.bound, value, Fraction(result.bound) >= certificate.value)
    proved = () if proof is None else _proved(problem, proof, result, compare)
    if result.bound_source == "ideal":
        exact = float(ideal_value(problem))
        compare("bound is the ideal list's value", result.bound, exact, abs(result.bound - exact) <= CLOSED)
        return Report(tuple(checks), proved)
    if proof is not None and result.bound_source == "search":
        return Report(tuple(checks), proved)
    who = (
        "the search's proof, which fit --proof writes"
        if result.bound_source == "search"
        else "trusting the solver that gave it"
    )
    return Report(
        tuple(checks),
        (
            f"That nothing exceeds the bound {result.bound:.9g} cannot be recomputed from these two files: it "
            f"takes {who}.",
            *proved,
        ),
    )


def _proved(
    problem: Problem, proof: Proof, result: Result, compare: Callable[[str, Any, Any, bool], None]
) -> tuple[str, ...]:
    """Check the proof's tree of boxes, and that it bears out the model's bound where the search gave that."""
    from rerank.certificate.check import verify

    verdict = verify(problem, proof)
    found = f"true of all {verdict.leaves} boxes" if verdict.ok else verdict.message
    compare("proof", f"nothing is worth more than {proof.bound:.12g}", found, verdict.ok)
    if not verdict.ok:
        return ()
    if result.bound_source == "search":
        compare("bound is the proof's", result.bound, float(proof.bound), proof.bound <= result.bound)
    exactly = f", {verdict.exact_leaves} of them in rationals throughout" if verdict.exact_leaves else ""
    return (f"Proof: {verdict.message} ({verdict.leaves} boxes in {verdict.seconds:.1f} s{exactly})",)


def _same_scaling(doc: ModelDocument, training: Training) -> bool:
    problem = training.problem
    if problem is None:
        return doc.low.size == 0
    return (
        np.array_equal(doc.features, training.features)
        and np.array_equal(doc.low, problem.low)
        and np.array_equal(doc.high, problem.high)
    )


def _shown(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
