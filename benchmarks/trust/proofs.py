"""Proofs of the search hold, and altered proofs, proof files and model files are refused.

Each mutant states something false, or no longer fits the problem, so that accepting it is an error of the checker: a
bound below the exact optimum (by enumeration) with the tree changed in any way, weights that are not worth the value
stated, a tree that is not complete, a problem that is not the proof's.

Printed by ``python -m benchmarks.trust --proofs`` and ``--mutants``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust.draws import mixed
from benchmarks.trust.summary import Case, Summary, over_seeds
from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.errors import InputError
from rerank.problem import Problem, Proof
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED, Circuits
from rerank.search import solve
from rerank.search.domain import Domain
from rerank.search.tables import tolerance
from rerank.search.top.demands import Demands
from tests.cases.proofs import below, random_tree
from tests.oracles.anchored import best
from tests.oracles.oracle import objective_at

PER_PROOF = 30
"""Mutants made of one proof, about."""

Mutant = tuple[str, Problem, Proof]


def proofs(size: int, first: int, jobs: int) -> Summary:
    """The proofs of ``size`` searches are verified, and their bounds are not below the optimum by enumeration."""
    return over_seeds("proofs", verified, size, first, jobs)


def mutants(size: int, first: int, jobs: int) -> Summary:
    """At least ``size`` altered proofs and proof files must be refused."""
    summary = over_seeds("proofs altered", altered, -(-size // PER_PROOF), first, jobs)
    refused = summary.seen.total() - summary.seen["damage without effect"] - len(summary.failures)
    summary.text = f"{refused} mutants refused, of {summary.text}"
    return summary


def models(size: int, first: int, jobs: int) -> Summary:
    """Every ``size``-th altered model file of every kind of fit must be refused, contradicted or listed as open."""
    from tests.cases.models import CASES, PROVED, surviving

    summary = Summary(f"every {size}th of the altered files of {len(CASES)} models")
    for case, proved in [*((case, False) for case in CASES), *((case, True) for case in PROVED)]:
        found, counted = surviving(case, proved, size)
        summary.add(Case(f"{case}, proof {proved}", tuple(f"{field}: {change}" for field, change in found)))
        summary.seen.update(counted)
    return summary


def verified(seed: int) -> Case:
    """The proof of the search for a seed."""
    instance = mixed(seed)
    proof = _searched(instance.problem)
    verdict = verify_proof(instance.problem, proof)
    most = best(instance.problem).value
    bad = [] if verdict.ok else [verdict.message]
    if Fraction(verdict.bound_checked) < most:
        bad.append(f"bound {verdict.bound_checked!r} is below the optimum {float(most)!r}")
    if not _same_after_a_file(proof):
        bad.append("the proof changed in its file")
    return Case(str(instance), tuple(bad), (instance.kind,))


def altered(seed: int) -> Case:
    """About :data:`PER_PROOF` mutants of the proof of a seed; ``seen`` counts them by kind."""
    instance = mixed(seed)
    rng = np.random.default_rng([20261124, seed])
    proof = _searched(instance.problem)
    bad, seen = [], []
    for what, problem, mutant in _mutants(rng, instance.problem, proof):
        seen.append(what)
        if verify_proof(problem, mutant).ok:
            bad.append(f"accepted: {what}")
    for what, accepted in _damaged_files(rng, proof, 5):
        seen.append(what)
        if accepted:
            bad.append(f"read: {what}")
    return Case(str(instance), tuple(bad), tuple(seen))


def _searched(problem: Problem) -> Proof:
    found = solve(problem, time_limit=5.0, proof=True).proof
    assert isinstance(found, Proof)
    return found


def _mutants(rng: np.random.Generator, problem: Problem, proof: Proof) -> Iterator[Mutant]:
    for what, mutant in (
        *_too_low(rng, problem, proof),
        *_by_circuits(rng, problem, proof),
        *_false(rng, problem, proof),
        *_incomplete(rng, proof),
    ):
        yield what, problem, mutant
    for what, other in (
        ("another margin", problem.with_epsilon(float(np.nextafter(problem.epsilon, np.inf)))),
        ("another price", replace(problem, C=problem.C + 2.0**-30)),
        ("another row", replace(problem, X=_nudged(rng, problem))),
    ):
        yield what, other, proof


def _too_low(rng: np.random.Generator, problem: Problem, proof: Proof) -> Iterator[tuple[str, Proof]]:
    """Bounds below the optimum, with worse weights so that the tree alone has to show it, and any tree."""
    low = below(best(problem).value)
    nothing = problem.unchanged
    worse = replace(proof, weights=nothing, value=float(objective_at(problem, nothing)), bound=low)
    yield "bound below the value", replace(proof, bound=below(objective_at(problem, proof.weights)))
    yield "bound below the optimum", worse
    for _ in range(4 if proof.codes.size else 0):
        codes = proof.codes.copy()
        for at in rng.integers(codes.size, size=int(rng.integers(1, 4))):
            leaf = codes[at] < COORDINATE
            codes[at] = rng.choice([LEAF, LISTED]) if leaf else COORDINATE + rng.integers(problem.n_features)
        yield "bound below the optimum, codes changed", replace(worse, codes=codes)
    for lines, kinds in ((0, (LEAF,)), (1, (LEAF, LISTED)), (3, (LISTED,))):
        yield "bound below the optimum, any tree", random_tree(problem, low, rng, lines, kinds)


def _by_circuits(rng: np.random.Generator, problem: Problem, proof: Proof) -> Iterator[tuple[str, Proof]]:
    """Bounds below the optimum by circuits of the problem with numbers changed."""
    if len(problem.units) != 1 or not problem.units[0].negative.size:
        return
    demands = Demands(problem, problem.units[0], Domain.of(problem), tolerance(problem))
    for j in range(1, demands.positives + 1):
        demands.decided([(j, 0)], np.inf)
    known, nothing = demands.recorded(np.zeros(0, np.int64)), problem.unchanged
    low = replace(
        proof,
        weights=nothing,
        value=float(objective_at(problem, nothing)),
        bound=below(best(problem).value),
        supports=(),
        lines=(),
        codes=proof.codes[:0],
    )
    most = demands.negatives
    for _ in range(6 if known.sizes.size else 0):
        changed = Circuits(*(part.copy() for part in vars(known).values()))
        changed.multipliers[rng.random(changed.multipliers.size) < 0.1] //= rng.integers(1, 4)
        changed.pairs[rng.random(changed.pairs.shape) < 0.05] = rng.choice(problem.lists[0].rows)
        least = np.sort(rng.integers(0, most + 1, rng.integers(demands.positives + 1)))
        yield "bound below the optimum, circuits changed", replace(low, circuits=replace(changed, least=least))


def _false(rng: np.random.Generator, problem: Problem, proof: Proof) -> Iterator[tuple[str, Proof]]:
    """Statements about value, weights, bound and options that are false."""
    size = max(1.0, abs(problem.ideal), 2 * abs(problem.constant))
    yield "value too large", replace(proof, value=proof.value + 1e-6 * size)
    yield "value not a number", replace(proof, value=float("nan"))
    yield "bound not finite", replace(proof, bound=float(rng.choice([np.inf, -np.inf, np.nan])))
    yield "fingerprint", replace(proof, fingerprint=proof.fingerprint[::-1])
    yield "version", replace(proof, version=proof.version + 1)
    yield "flip", replace(proof, flip=-proof.flip)
    outside = proof.weights.copy()
    outside[rng.integers(outside.size)] = float(rng.choice([3.0, -3.0, np.nan, np.inf]))
    yield "weights outside their limits", replace(proof, weights=outside)
    yield "weights too few", replace(proof, weights=proof.weights[1:])
    other = rng.choice([-1.0, 0.0, 1.0], size=problem.n_features)
    if abs(objective_at(problem, other) - Fraction(proof.value)) > 1e-6 * size:
        yield "weights of another value", replace(proof, weights=other)


def _incomplete(rng: np.random.Generator, proof: Proof) -> Iterator[tuple[str, Proof]]:
    """Trees and supports that do not cover all weights."""
    codes = proof.codes
    if not codes.size:  # all supports cost too much
        return
    at = int(rng.integers(codes.size))
    yield "a code missing", replace(proof, codes=np.delete(codes, at))
    yield "a code more", replace(proof, codes=np.insert(codes, at, LEAF))
    yield "no codes", replace(proof, codes=codes[:0])
    swapped = codes.copy()
    swapped[at] = COORDINATE if codes[at] < COORDINATE else LEAF
    yield "leaf and split exchanged", replace(proof, codes=swapped)
    for code in (COORDINATE + 5, 999, LINE + 999, 65535):
        if (codes >= COORDINATE).any():
            changed = codes.copy()
            changed[rng.choice(np.flatnonzero(codes >= COORDINATE))] = code
            yield "a split that is not there", replace(proof, codes=changed)
    yield "a support missing", replace(proof, supports=proof.supports[1:], lines=proof.lines[1:])
    yield (
        "a support twice",
        replace(proof, supports=(*proof.supports, proof.supports[-1]), lines=(*proof.lines, proof.lines[-1])),
    )
    yield "another feature", replace(proof, supports=tuple(s + 1 for s in proof.supports))
    rows = tuple(np.array([[0, 10**6]]) for _ in proof.lines)
    yield "lines of no rows", replace(proof, lines=rows)


def _nudged(rng: np.random.Generator, problem: Problem) -> np.ndarray:
    """The rows with the last bit of one entry in a list changed."""
    X = problem.X.copy()
    at = int(rng.choice(problem.lists[0].rows)), int(rng.integers(X.shape[1]))
    X[at] = np.nextafter(X[at], 0.0 if X[at] else 1.0)
    return X


def _damaged_files(rng: np.random.Generator, proof: Proof, count: int) -> Iterator[tuple[str, bool]]:
    """Files of the proof with bytes changed or cut off; damage without effect on what is read is no mutant."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        save_proof(proof, path)
        body = path.read_bytes()
        for _ in range(count):
            damaged = bytearray(body)
            for at in rng.integers(len(body), size=int(rng.integers(1, 4))):
                damaged[at] = rng.integers(256)
            cut = int(rng.integers(1, len(body))) if rng.random() < 0.3 else 0
            path.write_bytes(bytes(damaged[: len(body) - cut]))
            try:
                read = load_proof(path)
            except InputError:
                yield "damaged file refused", False
            else:
                same = _same(read, proof)
                yield "damage without effect" if same else "damaged file", not same


def _same_after_a_file(proof: Proof) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        save_proof(proof, Path(folder) / "proof.npz")
        return _same(load_proof(Path(folder) / "proof.npz"), proof)


def _same(a: Proof, b: Proof) -> bool:
    def parts(value: object) -> tuple[Any, ...]:
        if isinstance(value, Circuits):
            return tuple(vars(value).values())
        return value if isinstance(value, tuple) else (value,)

    pairs = [(parts(getattr(a, f.name)), parts(getattr(b, f.name))) for f in fields(Proof)]
    return all(len(p) == len(q) and all(map(np.array_equal, p, q)) for p, q in pairs)
