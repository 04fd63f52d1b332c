"""What must hold between search, certificate, programs and the oracle on one problem."""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rerank.problem import Problem
from tests.cases.instances import ON_GRID, Instance
from tests.oracles import quotas
from tests.oracles.oracle import allowed, best, objective_at, optimum
from tests.oracles.vertices import Rule

Oracle = Callable[[Problem], Fraction | None]

TOLERANCE = 1e-12
"""Rounding allowed in a value, relative to the largest value or 1."""

BLUR = 1e-8
"""Change of the margin up to which a search in doubles may fail to tell won from lost."""

SLACK = 4e-6
"""By how much a solver may miss the margin: its tolerance on a row and on a binary, 3 features wide."""

RULES: dict[str, Rule] = {"subrank": "subrank", "resolved_rank": "resolved", "mixed": "value", "auc": "value"}
"""The oracle's rule that each program solves."""


@dataclass(frozen=True)
class Verdict:
    """What was wrong (nothing, if all is well), and what was seen on the way."""

    failures: tuple[str, ...]
    seen: tuple[str, ...] = ()


def check_search(problem: Problem, oracle: Oracle | None = None, **options: Any) -> Verdict:
    """Search and certificate against an oracle of the exact optimum (enumeration if omitted).

    Asked always: weights are allowed, the value is theirs, the bound is at least the optimum as rationals, a closed
    search holds the optimum, and a proof is verified.  A search may stay open only where rounding decides: where a
    margin :data:`BLUR` smaller or larger changes the optimum; then its bound and value lie within those two.  Under
    rows on the weights it may also give up, and under quotas, which no weights may meet, time may end.
    """
    from rerank.certificate import certify, verify_proof
    from rerank.search import solve

    most = (oracle or _optimum)(problem)
    found = solve(problem, **{"time_limit": 5.0, "random_state": 0, "n_jobs": 1, **options})
    if found.value == -np.inf:
        wrong = (
            found.proof is not None or found.closed != (found.bound == -np.inf) or (found.closed and most is not None)
        )
        said = f"said that none meet the quotas, bound {found.bound!r}, optimum {most!r}"
        return Verdict((said,) if wrong else (), ("closed, none meet them" if found.closed else "open",))
    w = np.asarray(found.weights, dtype=np.float64)
    if most is None:
        return Verdict((f"weights {w.tolist()}, though none are allowed",))
    mine, theirs = objective_at(problem, _of_size_one(problem, w)), certify(problem, w).value
    room = _room(most)
    bad = [f"weights {w.tolist()} {what}" for what in _broken_rules(problem, w)]
    if mine != theirs:
        bad.append(f"certificate says {float(theirs)!r}, the definition {float(mine)!r}")
    if mine > most:
        bad.append(f"weights {w.tolist()} are worth {float(mine)!r}, above the oracle's {float(most)!r}")
    if Fraction(found.value) > mine + room:
        bad.append(f"value {found.value!r} overstates {float(mine)!r}")
    if Fraction(found.value) < mine - 1000 * room:
        bad.append(f"value {found.value!r} understates {float(mine)!r}")
    if Fraction(found.bound) < most:
        below = float(most - Fraction(found.bound))
        bad.append(f"bound {found.bound!r} is below the optimum {float(most)!r} by {below:.3g}")
    if found.closed and mine < most - room:
        bad.append(f"closed at {float(mine)!r}, but the optimum is {float(most)!r}")
    if found.proof is not None and not (verdict := verify_proof(problem, found.proof)).ok:
        bad.append(f"its proof fails: {verdict.message}")
    if problem.rows and not (found.closed or found.gave_up):
        bad.append("neither closed nor given up")
    if not found.closed and not (problem.rows or problem.quotas):
        low, high = _blurred(problem, oracle or _optimum)
        state = f"value {found.value!r}, bound {found.bound!r}, optimum {float(most)!r}, {found.nodes} nodes"
        if low == high:
            bad.append(f"not closed: {state}")
        elif mine < low - room or Fraction(found.bound) > high + _room(high):
            bad.append(f"open by more than rounding ({float(low)!r} .. {float(high)!r}): {state}")
    seen = ("closed" if found.closed else "open where rounding decides", "equal" if mine == most else "not equal")
    return Verdict(tuple(bad), seen)


def _room(value: Fraction) -> Fraction:
    return Fraction(TOLERANCE) * max(Fraction(1), abs(value))


def _blurred(problem: Problem, oracle: Oracle) -> tuple[Fraction, Fraction]:
    """Optima at a margin :data:`BLUR` larger and smaller."""
    smaller = max(problem.epsilon - BLUR, problem.epsilon / 1000)
    larger = problem.epsilon + BLUR
    return oracle(replace(problem, epsilon=larger)), oracle(replace(problem, epsilon=smaller))


def check_programs(instance: Instance, time_limit: float = 30.0) -> Verdict:
    """Every program that fits the statistic against its own exact optimum and the problem's.

    The solver may count a difference as won that misses the margin by :data:`SLACK`, so its optimum must
    lie between the exact optima at a margin that much larger and smaller.  The inequality with the problem's
    optimum is asked always, and equality of Subrank where some optimal weights keep the relevant items apart.
    """
    from formulations.compile import compile_model
    from rerank.solvers import Options, highs

    problem, bad, seen = instance.problem, [], []
    if not problem.units:
        return Verdict((), ("nothing to order",))  # all gains stand in the fixed tail
    ceiling, most = _optimum(replace(problem, epsilon=problem.epsilon - SLACK)), _optimum(problem)
    kept_apart = optimum(replace(problem, epsilon=problem.epsilon + SLACK), "apart")
    apart = None if kept_apart is None else kept_apart.value
    for name in applicable(instance):
        program = compile_model(stated(name, problem))
        outcome = highs.solve(program, Options(time_limit=time_limit))
        if outcome.holds != "optimal" or outcome.objective is None:
            bad.append(f"{name}: not closed in {time_limit} s")
            continue
        value = outcome.objective + problem.constant
        room = 1e-6 * max(1.0, abs(float(ceiling)))
        if value > float(ceiling) + room:
            bad.append(f"{name}: {value!r} exceeds the problem's optimum {float(ceiling)!r}")
        low, exact, high = (
            float(_optimum(replace(problem, epsilon=problem.epsilon + shift), RULES[name]))
            for shift in (SLACK, 0.0, -SLACK)
        )
        if not low - room <= value <= high + room and (name, instance.kind) != ("resolved_rank", "tiny"):
            bad.append(f"{name}: {value!r}, but its own optimum is {exact!r} ({low!r} .. {high!r} with tolerances)")
        if name == "subrank" and apart == ceiling and abs(value - float(ceiling)) > room:
            bad.append(f"subrank: {value!r}, though optimal weights keep the relevant items apart")
        x = np.asarray(outcome.x)[program.weights]
        if objective_at(problem, x) > most:
            bad.append(f"{name}: weights {x.tolist()} beat the oracle")
        if instance.kind == ON_GRID and abs(value - exact) > room:
            bad.append(f"{name}: {value!r}, but its own optimum is {exact!r} by the margin as it was written")
        whole = abs(exact - float(most)) <= room
        seen.append(f"{name} {'=' if whole else '<'} problem")
    seen.append("apart" if apart == ceiling else "not apart")
    return Verdict(tuple(bad), tuple(seen))


def applicable(instance: Instance) -> tuple[str, ...]:
    """Programs whose objective is the instance's statistic."""
    return ("subrank", "resolved_rank", "mixed", *(["auc"] if instance.statistic == "auc" else []))


def stated(name: str, problem: Problem, **options: Any) -> Any:
    """The program of a name, built from the problem's arrays."""
    from formulations.errors import FormulationWarning

    module = importlib.import_module(f"formulations.{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormulationWarning)  # wide margins are wanted here, also for ResolvedRank
        return module.build(
            problem.scaled,
            units=problem.units,
            epsilon=problem.epsilon.exact,
            scaled_from=(problem.X, problem.low, problem.high),
            C=problem.C,
            max_features=problem.max_features,
            signs=problem.signs,
            quotas=problem.quotas,
            **options,
        )


def _optimum(problem: Problem, rule: Rule = "value") -> Fraction | None:
    if problem.quotas:
        found = quotas.best(problem)
    else:
        found = best(problem) if rule == "value" else optimum(problem, rule)
    return None if found is None else found.value


def _of_size_one(problem: Problem, w: np.ndarray) -> tuple[Fraction, ...]:
    """Free weights whose largest is above 1 divided by it, as the margin counts them."""
    exact = tuple(Fraction(float(v)) for v in w)
    largest = max(map(abs, exact), default=Fraction(0))
    return exact if problem.anchored or problem.by_sum or largest <= 1 else tuple(v / largest for v in exact)


def _broken_rules(problem: Problem, w: np.ndarray) -> list[str]:
    exact, largest = _of_size_one(problem, w), np.abs(w).max(initial=0.0)
    bad = [] if allowed(problem, exact) else ["break a limit, a sign, a row, or have too many non-zeros"]
    whole = 1 < largest <= 2**20 and (w == np.rint(w)).all()
    if not problem.anchored and largest not in (0, 1) and not whole:
        bad.append("are neither on the surface of the cube nor whole numbers")
    return bad if quotas.meets(problem, exact) else [*bad, "miss a quota"]
