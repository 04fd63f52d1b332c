"""Searches under quotas against an enumeration of all orders; ``python -m tests.search.quota_agreement 2000``."""

import sys
import time
from contextlib import nullcontext
from fractions import Fraction

import numpy as np

from rerank.certificate import certify, verify_proof
from rerank.problem import Problem
from rerank.search import solve
from tests.cases.quotas import with_quotas
from tests.cases.search import by_rows
from tests.oracles.oracle import objective_at
from tests.oracles.quotas import best, meets

WAYS = ("pairs", "rows", "proof")


def drawn(seed: int) -> Problem:
    """Problems of up to two columns and nine rows; every tenth has three columns and at most five rows."""
    return with_quotas(seed, n_max=5, d_max=3) if seed % 10 == 0 else with_quotas(seed, n_max=12 if seed % 5 else 7)


def check(problem: Problem, way: str) -> str:
    """What came of one search; an AssertionError where it contradicts the enumeration."""
    most, _ = best(problem)
    with by_rows() if way == "rows" else nullcontext():
        found = solve(problem, time_limit=10.0, n_jobs=1, proof=way == "proof")
    if found.value == -np.inf:
        assert most is None or not found.closed, f"none were said to meet the quotas, but {float(most)} is reached"
        assert found.closed == (found.bound == -np.inf) and found.proof is None
        return "none meets them, closed" if found.closed else "open"
    w = tuple(found.weights.tolist())
    assert meets(problem, w), "weights that do not meet a quota"
    assert most is not None
    exact = objective_at(problem, tuple(map(Fraction, w)))
    assert exact == certify(problem, found.weights).value
    assert abs(float(exact) - found.value) < 1e-9 * max(1.0, abs(found.value))
    assert exact <= most <= Fraction(found.bound), f"{float(exact)}, {float(most)}, {found.bound}"
    if found.proof is not None:
        verdict = verify_proof(problem, found.proof)
        assert verdict.ok, verdict.message
    if found.closed:
        room = 1e-9 * max(1.0, float(abs(most)))
        assert float(most - exact) < room, f"closed at {float(exact)}, not {float(most)}"
        return "closed"
    return "exact, open" if exact == most else "open"


def main(count: int, first: int = 0) -> None:
    """Check so many instances in turn by pairs, by rows and with a proof, and print what came of them."""
    began, kinds, wrong = time.process_time(), {}, 0
    for seed in range(first, first + count):
        way = WAYS[seed % 3]
        try:
            kind = check(drawn(seed), way)
        except AssertionError as error:
            wrong, kind = wrong + 1, "wrong"
            print(f"seed {seed}, {way}: {error}", flush=True)
        if not kind.endswith("closed"):
            print(f"seed {seed}, {way}: {kind}", flush=True)
        kinds[kind] = kinds.get(kind, 0) + 1
    print(f"{count} instances in {time.process_time() - began:.0f} CPU s: {kinds}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
