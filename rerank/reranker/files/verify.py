"""A model file and its training data: everything recomputed from the two files, in exact arithmetic where it counts.

Nothing here searches or solves.  The shortlist follows from the first stage's stored numbers, the problem from the
shortlist, and the certificate from the problem and the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.certificate import Certificate, certify, digest, ideal_value
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem
from rerank.ranks.lists import number_lists, weighted_gains
from rerank.ranks.rationals import is_closed
from rerank.reranker.files.document import signs_of, state_of, statistic_of
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.fit import fitted_scores
from rerank.reranker.state import FittedState
from rerank.reranker.training import Data, Training, prepare

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.problem import Proof

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


@dataclass(frozen=True, eq=False)
class Refit:
    """A model's state and training data, with the problem that follows from them."""

    state: FittedState
    data: Data
    training: Training
    scores: Floats | None


def refit(doc: ModelDocument, table: Table, where: str) -> Refit:
    """The training data and the problem that the document was fitted on; nothing is solved.

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
    state = state_of(doc, where=where)
    gains = weighted_gains(table.y, doc.gain, table.sample_weight)  # type: ignore[arg-type]
    lists = None if table.qid is None else number_lists(table.qid)[1]
    data = Data(table.X, table.y, gains, lists, None, doc.feature_names)
    scores = None if state.first_stage is None else state.first_stage.scores(table.X)
    training = prepare(
        data, statistic_of(doc), scores, None if scores is None else doc.n_candidates,
        epsilon=doc.epsilon, C=doc.C, max_features=doc.max_features, signs=signs_of(doc),
    )  # fmt: skip
    return Refit(state, data, training, scores)


def refitted(doc: ModelDocument, table: Table, where: str) -> FittedState:
    """The state with its problem, as right after the fit.

    Raises
    ------
    InputError
        Where the table is not the one the model was fitted on.
    """
    found = refit(doc, table, where)
    if found.training.problem is None or not _same_scaling(doc, found.training):
        raise InputError(
            f"The table is not the one {where} was fitted on: another shortlist follows from it; give that one."
        )
    return replace(found.state, training=found.training)


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
    return _Verifier(doc, refit(doc, table, where), proof).report()


class _Verifier:
    """The claims of one model file, checked one after the other."""

    def __init__(self, doc: ModelDocument, found: Refit, proof: Proof | None) -> None:
        self.doc, self.found, self.proof = doc, found, proof
        self.result = found.state.result
        self.checks: list[Check] = []

    def compare(self, name: str, stated: Any, recomputed: Any, holds: bool) -> None:
        self.checks.append(Check(name, _shown(stated), _shown(recomputed), bool(holds)))

    def report(self) -> Report:
        doc, training = self.doc, self.found.training
        problem, same = training.problem, _same_scaling(self.doc, self.found.training)
        used, wanted = doc.features.tolist(), training.features.tolist()
        self.compare("columns used", used, wanted, used == wanted)
        stated, threshold = self.found.state.threshold, training.shortlist.threshold
        self.compare("threshold", stated, threshold, stated == threshold)
        if problem is not None:
            self.compare("scaling of the shortlist", "as stored", "the same" if same else "other", same)
        if problem is None or not same or self.result.status in ("already_ideal", "nothing_to_find"):
            return self._unfitted()
        if doc.data_sha256 is not None:
            sha = digest(problem)
            self.compare("digest of the problem", doc.data_sha256[:16], sha[:16], sha == doc.data_sha256)
        try:
            certificate = certify(problem, doc.weights)
        except CertificateError as error:
            self.compare("weights allowed", "yes", str(error), False)
            return Report(tuple(self.checks), ())
        self._weights(certificate)
        remarks = self._bound(problem, certificate)
        return Report(tuple(self.checks), remarks)

    def _unfitted(self) -> Report:
        """A model that ranks as its first stage does, because there was nothing to order."""
        data, scores = self.found.data, self.found.scores
        ranking = scores if scores is not None else np.zeros(data.y.size)
        self._statistic("statistic", data.evaluate(statistic_of(self.doc), ranking))
        remarks = ("No weights were fitted: the first stage's order is the answer.",)
        unread = () if self.proof is None else ("The proof was not looked at.",)
        return Report(tuple(self.checks), remarks + unread)

    def _statistic(self, name: str, found: float) -> None:
        stated = self.result.statistic
        self.compare(name, stated, found, is_closed(abs(found - stated), stated))

    def _weights(self, certificate: Certificate) -> None:
        """Value, statistic and certificate of the weights."""
        result, found = self.result, self.found
        value = certificate.value_down
        holds = Fraction(result.value) <= certificate.value and is_closed(abs(value - result.value), value)
        self.compare("value", result.value, value, holds)
        ranked = found.scores
        if found.state.reranks:
            ranked = fitted_scores(found.data, found.training, found.scores, self.doc.weights)
        assert ranked is not None
        self._statistic("statistic of the ranking", found.data.evaluate(statistic_of(self.doc), ranked))
        stated = result.certificate
        if stated is not None:
            same = replace(certificate, data_sha256=stated.data_sha256) == stated
            self.compare("certificate, every entry", "as stored", "the same" if same else "other", same)

    def _bound(self, problem: Problem, certificate: Certificate) -> tuple[str, ...]:
        """The bound, as far as it can be recomputed; returns remarks."""
        result = self.result
        above = Fraction(result.bound) >= certificate.value
        self.compare("bound not below the value", result.bound, certificate.value_down, above)
        proved = () if self.proof is None else self._proved(problem, self.proof)
        if result.bound_source == "ideal":
            exact = float(ideal_value(problem))
            holds = is_closed(abs(result.bound - exact), exact)
            self.compare("bound is the ideal list's value", result.bound, exact, holds)
            return proved
        searched = result.bound_source == "search"
        if self.proof is not None and searched:
            return proved
        who = (
            "the search's proof, which fit --proof writes" if searched else "trusting the solver that gave it"
        )
        return (
            f"That nothing exceeds the bound {result.bound:.9g} cannot be recomputed from these two files: it takes "
            f"{who}.",
            *proved,
        )

    def _proved(self, problem: Problem, proof: Proof) -> tuple[str, ...]:
        """Check the proof's tree of boxes, and that it shows the model's bound where the search gave that."""
        from rerank.certificate import verify_proof

        verdict = verify_proof(problem, proof)
        found = f"true of all {verdict.leaves} boxes" if verdict.ok else verdict.message
        self.compare("proof", f"nothing is worth more than {proof.bound:.12g}", found, verdict.ok)
        if not verdict.ok:
            return ()
        stated = self.result.bound
        if self.result.bound_source == "search":
            self.compare("bound is the proof's", stated, float(proof.bound), proof.bound <= stated)
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
