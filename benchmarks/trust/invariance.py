"""What must not change an answer: order of rows, units of columns, batches, threads and ways to start processes.

Scaling and shifting by powers of two is exact, so that every bit of the answer has to stay; other factors round, so
that value and bound stay up to rounding. Rows in another order are summed in another order: the value stays.

Printed by ``python -m benchmarks.trust --invariance``.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.trust.draws import with_score
from benchmarks.trust.shortlists import Table, drawn
from benchmarks.trust.summary import Case, Summary, over_seeds
from rerank import Reranker
from rerank.errors import InputError
from rerank.problem import Problem
from rerank.search import SearchResult, solve
from tests.cases.instances import draw
from tests.oracles.oracle import objective_at

ROOM = 1e-9


def invariance(size: int, first: int, jobs: int) -> Summary:
    """Searches of ``size`` problems, a fifth as many whole fits, and new processes for a few of them."""
    return (
        over_seeds("problems moved and permuted", moved, size, first, jobs)
        + over_seeds("fits in other batches and units", refitted, max(1, size // 5), first, jobs)
        + _processes(first)
    )


def moved(seed: int) -> Case:
    """The search on the problem of a seed in other units, in another order, on two threads."""
    instance = draw(seed) if seed % 3 else with_score(draw(seed))
    problem, rng = instance.problem, np.random.default_rng([20261125, seed])
    plain = _search(problem)
    bad = []
    for what, other, exact in _moved(rng, problem):
        found = _search(other)
        if exact and _bits(found) != _bits(plain):
            bad.append(f"{what}: {_bits(found)} instead of {_bits(plain)}")
        elif plain.closed and found.closed and abs(found.value - plain.value) > ROOM * max(1, abs(plain.value)):
            bad.append(f"{what}: {found.value!r} instead of {plain.value!r}")
        elif plain.closed != found.closed and instance.kind != "tiny":
            bad.append(f"{what}: closed {found.closed} instead of {plain.closed}")
    two = _search(problem, n_jobs=2)
    if plain.closed and two.closed and _bits(two) != _bits(plain):
        bad.append(f"two threads: {_bits(two)} instead of {_bits(plain)}")
    return Case(str(instance), tuple(bad), ("closed" if plain.closed else "open",))


def _moved(rng: np.random.Generator, p: Problem) -> Iterator[tuple[str, Problem, bool]]:
    """The problem in other units or another order, and whether every bit has to stay."""
    d, n = p.n_features, p.X.shape[0]
    powers = 2.0 ** rng.integers(-20, 21, size=d)
    if np.abs(p.X).max() < 1e200 and np.abs(p.X[p.X != 0]).min(initial=1.0) > 1e-200:
        yield "columns scaled by powers of two", _of(p, p.X * powers), True
        shift = 2.0 ** np.ceil(np.log2(np.abs(p.X).max(axis=0) + 1)) * rng.choice([1.0, -1.0], size=d)
        shifted = p.X + shift
        if (shifted - shift == p.X).all():
            # A deviation, the unit of an anchored problem, is a rounded number.
            yield "columns shifted without rounding", _of(p, shifted), not p.anchored
        factor = rng.uniform(0.1, 10, size=d)
        if _tells_apart(p):
            yield "columns scaled by other factors", _of(p, p.X * factor), False
    order = rng.permutation(n)
    place = np.argsort(order)
    lists = [replace(q, rows=place[q.rows]) for q in p.lists]
    yield "rows permuted", _of(replace(p, lists=tuple(lists)), p.X[order]), False


def _tells_apart(p: Problem) -> bool:
    """Whether an optimum does not hinge on rounding: a margin a little smaller or larger has the same value."""
    values = [_search(p.with_epsilon(p.epsilon * (1 + shift))).value for shift in (-1e-9, 1e-9)]
    return values[0] == values[1]


def _of(p: Problem, X: np.ndarray) -> Problem:
    return Problem.build(
        X, p.lists, epsilon=p.epsilon, C=p.C, max_features=p.max_features, signs=p.signs, limits=p.limits
    )


def _search(problem: Problem, n_jobs: int = 1) -> SearchResult:
    return solve(problem, time_limit=10.0, n_jobs=n_jobs)


def _bits(found: SearchResult) -> tuple[Any, ...]:
    return found.value.hex(), found.bound.hex(), [float(w).hex() for w in found.weights], found.closed


def refitted(seed: int) -> Case:
    """A whole fit: scores by parts, rows in another order, columns in other units, all in binary factors."""
    table = drawn(seed)
    options = {**table.options, "first_stage": None}
    described = f"fit seed {seed}: {options}"
    try:
        plain = fit(table, options)
    except InputError as error:
        return Case(described, (), (f"refused: {str(error)[:40]}",))
    bad = []
    scores = plain.decision_function(table.X)
    parts = np.concatenate([plain.decision_function(rows) for rows in np.array_split(table.X, 3)])
    single = np.concatenate([plain.decision_function(row[None]) for row in table.X])
    if not (scores.tobytes() == parts.tobytes() == single.tobytes()):
        bad.append("scores of parts differ from the scores of the whole")
    powers = 2.0 ** np.random.default_rng(seed).integers(-20, 21, size=table.X.shape[1])
    other = fit(replace(table, X=table.X * powers), options)
    for what in ("value", "bound", "statistic"):
        old, new = getattr(plain.result_, what), getattr(other.result_, what)
        if old.hex() != new.hex():
            bad.append(f"{what} {new!r} instead of {old!r} with columns scaled by powers of two")
    if scores.tobytes() != other.decision_function(table.X * powers).tobytes():
        bad.append("scores differ with columns scaled by powers of two")
    two = fit(table, {**options, "n_jobs": 2})
    if (two.result_.value, two.coef_.tobytes()) != (plain.result_.value, plain.coef_.tobytes()):
        bad.append("two threads give other weights")
    return Case(described, tuple(bad), (plain.result_.status,))


def fit(table: Table, options: dict[str, Any]) -> Any:
    """A fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reranker(solver="search", time_limit=10.0, **options).fit(table.X, table.y, table.qid)


def _processes(first: int, count: int = 3) -> Summary:
    """The same bits in processes that were forked and spawned."""
    summary = Summary(f"{count} problems each in forked and spawned processes")
    here = [_answer(seed) for seed in range(first, first + count)]
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            try:
                there = pool.map_async(_answer, range(first, first + count)).get(timeout=120.0)
            except multiprocessing.TimeoutError:
                there = ["no answer within 120 s"] * count
        for seed, (a, b) in enumerate(zip(here, there), start=first):
            summary.add(Case(f"seed {seed} in a process by {way}", () if a == b else (f"{b} instead of {a}",)))
    return summary


def _answer(seed: int) -> str:
    problem = draw(seed).problem
    found = _search(problem)
    return f"{_bits(found)} {float(Fraction(objective_at(problem, found.weights))).hex()}"
