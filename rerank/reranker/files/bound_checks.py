"""The bound of a model: recomputed from the ideal lists, checked with a proof, or left open."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rerank.certificate import ideal_value, verify_proof
from rerank.problem import Problem
from rerank.reranker.files.report import Checks
from rerank.reranker.result import Result

if TYPE_CHECKING:
    from rerank.problem import Proof

CLOSE = 1e-12
"""Relative difference that two sums of the same doubles may have on two machines."""


def close(left: float, right: float) -> bool:
    """Whether two sums of the same doubles agree."""
    return abs(left - right) <= CLOSE * max(1.0, abs(left), abs(right))


def check_bound(
    checks: Checks, result: Result, problem: Problem, value: Fraction, proof: Proof | None
) -> None:
    """Compare the bound and its source with what the table and the proof show.

    Parameters
    ----------
    checks : Checks
    result : Result
    problem : Problem
        The one that follows from model and table.
    value : Fraction
        Exact value of the weights.
    proof : Proof or None
        What the search recorded.
    """
    bound, source = result.bound, result.bound_source
    fields = ("result.bound", "result.bound_source")
    checks.compare("bound not below the exact value", bound, result.value, Fraction(bound) >= value)
    proved = proof is not None and _proved(checks, problem, proof)
    exact = ideal_value(problem)
    if source == "ideal":
        wanted = max(problem.ideal, result.value)
        holds = Fraction(bound) >= exact and close(bound, wanted)
        checks.compare("bound is the ideal lists' value", bound, wanted, holds, *fields)
        return
    checks.compare("bound below the ideal lists' value", bound, float(exact), bound < problem.ideal)
    if source == "search" and proof is not None:
        wanted = max(float(proof.bound), result.value)
        checks.compare("bound is the proof's", bound, wanted, proved and bound == wanted, *fields)
        return
    searched = source == "search"
    who = "the search's proof, which fit --proof writes" if searched else "trusting the solver that gave it"
    checks.remark(
        f"That nothing exceeds the bound {bound:.9g} cannot be recomputed from these two files: it takes {who}."
    )
    checks.open(
        f"it takes {who}" if searched else "taken on the solver's word", *fields, "result.bound_solver"
    )


def _proved(checks: Checks, problem: Problem, proof: Proof) -> bool:
    """Check the proof's boxes or circuits."""
    verdict = verify_proof(problem, proof)
    means = f"{verdict.leaves} boxes" if proof.circuits is None else f"{proof.circuits.sizes.size} circuits"
    found = f"true of all {means}" if verdict.ok else verdict.message
    checks.compare("proof", f"no value exceeds {proof.bound:.12g}", found, verdict.ok)
    if verdict.ok:
        exactly = f", {verdict.exact_leaves} of them in rationals throughout" if verdict.exact_leaves else ""
        checks.remark(f"Proof: {verdict.message} ({means} in {verdict.seconds:.1f} s{exactly})")
    return verdict.ok
