r"""Check of a proof in exact arithmetic, by code that shares nothing with the search.

Over a box with centre ``c`` and half-widths ``h`` the scaled score difference of a pair reaches ``c.D + h.|D|`` at
most.  A pair that stays below epsilon is lost everywhere in the box.  With the lost counts of a list's items
sorted, the j-th best stands at place ``j + lost_(j)`` or lower.  So each leaf has a bound, the leaves cover all
admissible weights, and the claim holds if no leaf's bound exceeds the claimed one.  Circuits show a bound without
boxes (:mod:`rerank.certificate.check.circuits`).

Doubles decide what their rounding cannot change: a sum of ``2k`` products errs by at most
``gamma_2k = 2k u / (1 - 2k u)`` of the sum of their sizes, in any order of summation [Higham2002, sec. 3.1].
Coefficients of places are summed as integers that were rounded up.  A leaf that stays open is decided again in
rationals.
"""

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rerank.certificate.certificate import check_weights
from rerank.certificate.check.circuits import CircuitCheck
from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.leaves import LeafCheck, Seen
from rerank.certificate.check.tree import UnprovenError, ends, families, trees
from rerank.certificate.lists import check_quotas, exact_scores, meets_quotas
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, Proof, digest
from rerank.problem.proof import COORDINATE, LINE, VERSION, Circuits
from rerank.problem.rows import broken

CLOSE = Fraction(1, 10**12)  # by how much a claimed value may be off, relative to what was summed up


@dataclass(frozen=True)
class Verdict:
    """What the check of a proof found.

    Attributes
    ----------
    ok : bool
        Whether every claim of the proof holds.
    bound_checked : float
        The bound that was claimed; if ``ok``, no admissible weights are worth more.
    value : Fraction or None
        What the proof's weights are worth, exactly; None where they are not admissible.
    leaves : int
        Number of leaves that passed.
    exact_leaves : int
        Those among them that took rational arithmetic.
    seconds : float
    message : str
        One sentence: what holds, or the first claim that does not.
    """

    ok: bool
    bound_checked: float
    value: Fraction | None
    leaves: int
    exact_leaves: int
    seconds: float
    message: str


def verify_proof(problem: Problem, proof: Proof, seen: Seen | None = None) -> Verdict:
    """Check every claim of a proof against a problem, in rational arithmetic.

    Parameters
    ----------
    problem : Problem
        The data, lists, margin, penalty and limits that the claim is about.
    proof : Proof
        What the search recorded, or :func:`rerank.certificate.load_proof` read.
    seen : callable, optional
        Told of leaves that passed; :func:`rerank.certificate.leaf_boxes` collects them.

    Returns
    -------
    Verdict

    Raises
    ------
    InputError
        For a problem on which no value is defined.
    """
    return _Checker(problem, proof, seen).verdict()


class _Checker:
    """One check, claim by claim."""

    def __init__(self, problem: Problem, proof: Proof, seen: Seen | None) -> None:
        self.began = time.perf_counter()
        self.problem, self.proof, self.seen = problem, proof, seen
        self.exact = ExactProblem(problem)
        self.value: Fraction | None = None
        self.leaves = self.exact_leaves = 0

    def verdict(self) -> Verdict:
        try:
            self._statement()
            self._weights()
            self._without_boxes()
            if self.proof.circuits is None:
                self._boxes()
            else:
                self._circuits(self.proof.circuits)
        except UnprovenError as reason:
            return self._result(False, str(reason))
        gap = Fraction(self.proof.bound) - (self.value or 0)
        return self._result(
            True,
            f"No admissible weights are worth more than {float(self.proof.bound)!r}, "
            f"{float(gap):.3g} above the value of the weights given.",
        )

    def _result(self, ok: bool, message: str) -> Verdict:
        seconds = time.perf_counter() - self.began
        return Verdict(ok, float(self.proof.bound), self.value, self.leaves, self.exact_leaves, seconds, message)

    def _statement(self) -> None:
        """Whether the proof is about this problem at all."""
        proof, d = self.proof, self.problem.n_features
        if proof.version != VERSION:
            raise UnprovenError(f"The proof has version {proof.version}, but this checker reads version {VERSION}.")
        if proof.fingerprint != digest(self.problem):
            raise UnprovenError("The proof is about other data or options: the fingerprints differ.")
        if not (np.isfinite(proof.bound) and np.isfinite(proof.value)):
            raise UnprovenError(
                f"The proof claims a value of {proof.value!r} and a bound of {proof.bound!r}, not finite numbers."
            )
        if proof.flip.tolist() != [-1 if scale < 0 else 1 for scale in self.exact.scale]:
            raise UnprovenError(f"The proof's signs do not fit a problem of {d} features.")
        if d > LINE - COORDINATE:
            raise UnprovenError(f"The problem has {d} features, but a proof holds at most {LINE - COORDINATE}.")

    def _weights(self) -> None:
        """Whether the weights are admissible and worth what is claimed, and no more than the bound."""
        proof, w = self.proof, self.proof.weights
        try:
            check_weights(self.problem, w)
            check_quotas(self.problem, exact_scores(self.problem, w)[0])
        except (CertificateError, InputError) as error:
            raise UnprovenError(str(error)) from None
        self.value = self.exact.value(w)
        price = self.exact.price * self.problem.used(w)
        size = abs(self.exact.ideal()) + 2 * abs(self.exact.constant) + price
        if abs(Fraction(proof.value) - self.value) > CLOSE * size:
            raise UnprovenError(f"The weights are worth {float(self.value)!r}, but the proof says {proof.value!r}.")
        if self.value > Fraction(proof.bound):
            raise UnprovenError(
                f"The proof's weights are worth {float(self.value)!r}, above its bound of {proof.bound!r}."
            )

    def _without_boxes(self) -> None:
        """The bound at weights that change nothing and for the supports that were left out."""
        exact, bound = self.exact, Fraction(self.proof.bound)
        w = self.problem.unchanged
        begin = exact.value(w)
        if begin > bound and broken(self.problem.rows, w) is None and meets_quotas(self.problem, w):
            alone = "The given score alone is" if self.problem.anchored else "The first column alone is"
            what = "All weights 0 are" if self.problem.directions_count else alone
            raise UnprovenError(f"{what} worth {float(begin)!r}, above the bound of {self.proof.bound!r}.")
        left_out = self.proof.left_out
        if left_out is not None and (left_out < 1 or exact.ideal() - exact.price * left_out > bound):
            raise UnprovenError(
                f"Supports of {left_out} features were left out, but they could be worth more than the bound."
            )

    def _circuits(self, circuits: Circuits) -> None:
        """What the circuits leave, without any tree."""
        proof = self.proof
        if proof.codes.size or proof.supports or proof.lines:
            raise UnprovenError("The proof has both circuits and trees; it must have one of them.")
        most = CircuitCheck(self.exact, circuits).bound()
        if most > Fraction(proof.bound):
            raise UnprovenError(f"The circuits leave {float(most)!r}, above the bound of {proof.bound!r}.")

    def _boxes(self) -> None:
        """The trees of all faces of all supports, support by support."""
        proof = self.proof
        expected, count = families(self.problem, proof.left_out)
        if len(proof.supports) != count or len(proof.lines) != count:
            raise UnprovenError(
                f"{count} supports must be treated, but the proof has {len(proof.supports)} "
                f"(with {len(proof.lines)} sets of lines)."
            )
        count_of_roots = 0
        for given, wanted in zip(proof.supports, expected):
            if tuple(given.tolist()) != wanted:
                raise UnprovenError(f"Where the support {wanted} belongs the proof has {tuple(given.tolist())}.")
            count_of_roots += len(self.exact.roots(given)[0])
        codes = np.ascontiguousarray(proof.codes, dtype=np.uint16)
        ends_of = ends(codes, count_of_roots)
        words = np.ascontiguousarray(proof.multipliers, dtype=np.int64)
        check = LeafCheck(self.exact, codes, ends_of, Fraction(proof.bound), self.seen, words)
        first = 0
        for features, lines in zip(proof.supports, proof.lines):
            boxes, first = trees(*self.exact.roots(features), first, ends_of)
            if lines.size and not (lines.ndim == 2 and lines.shape[1] == 2 and np.isin(lines, self.exact.used).all()):
                raise UnprovenError("A line is given by rows that stand in no list.")
            check.support(features, lines.reshape(-1, 2), boxes)
            self.leaves, self.exact_leaves = check.leaves, check.exact_leaves
