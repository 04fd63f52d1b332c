"""The parameters of :class:`rerank.Reranker`, checked once at the start of a fit."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.ranks.lists import Gain
from rerank.reranker.solve.program import check_formulation
from rerank.statistics import RankStatistic, parse
from rerank.statistics.thinned import Thinned

SOLVERS = ("highs", "search", "none", "cbc", "scip", "glpk", "gurobi", "cplex", "xpress", "copt", "mosek")


@dataclass(frozen=True, eq=False)
class Settings:
    """Checked parameters; ``signs`` has one entry a feature, ``epsilon`` None means automatic."""

    statistic: RankStatistic
    n_candidates: int | None
    formulation: str
    solver: str
    presolve: bool
    epsilon: float | None
    C: float
    max_features: int | None
    signs: NDArray[np.int8]
    gain: Gain
    n_jobs: int
    seed: int


def check(estimator: Any, n_features: int) -> Settings:
    """The estimator's parameters as :class:`Settings`.

    Raises
    ------
    InputError
        Naming the parameter, what it is and what it may be.
    """
    statistic = parse(estimator.stat)
    if estimator.thinning is not None:
        statistic = Thinned(statistic, estimator.thinning)
    check_solver(estimator.solver)
    check_formulation(estimator.formulation, statistic)
    if estimator.gain not in ("exponential", "linear"):
        raise InputError(f"gain is {estimator.gain!r}; it must be 'exponential' or 'linear'.")
    epsilon = estimator.epsilon
    if isinstance(epsilon, str):
        if epsilon != "auto":
            raise InputError(f"epsilon is {epsilon!r}; it must be 'auto' or a positive number.")
        epsilon = None
    else:
        epsilon = _number("epsilon", epsilon, above=0.0)
    return Settings(
        statistic=statistic,
        n_candidates=_count("n_candidates", estimator.n_candidates),
        formulation=estimator.formulation,
        solver=estimator.solver,
        presolve=bool(estimator.presolve),
        epsilon=epsilon,
        C=_number("C", estimator.C, least=0.0),
        max_features=_count("max_features", estimator.max_features),
        signs=_signs(estimator.positive, n_features),
        gain=estimator.gain,
        n_jobs=_jobs(estimator.n_jobs),
        seed=_seed(estimator.random_state),
    )


def check_solver(name: Any) -> None:
    """Refuse what is no name of a solver.

    Raises
    ------
    InputError
    """
    if name not in SOLVERS:
        import difflib

        near = difflib.get_close_matches(str(name), SOLVERS, n=1, cutoff=0.0)[0]
        raise InputError(f"Unknown solver {name!r}; did you mean {near!r}? Known: {', '.join(SOLVERS)}.")


def _number(name: str, value: Any, least: float = -math.inf, above: float = -math.inf) -> float:
    wanted = "a positive number" if above == 0 else f"a number of at least {least:g}"
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}; it must be {wanted}.")
    number = float(value)
    if not (math.isfinite(number) and number >= least and number > above):
        raise InputError(f"{name} is {value!r}; it must be {wanted}.")
    return number


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_) or value < 1:
        raise InputError(f"{name} is {value!r}; it must be None or a whole number of at least 1.")
    return int(value)


def _signs(positive: Any, n_features: int) -> NDArray[np.int8]:
    if isinstance(positive, bool | np.bool_):
        return np.full(n_features, int(positive), dtype=np.int8)
    if isinstance(positive, Sequence | np.ndarray) and not isinstance(positive, str):
        signs = np.asarray(positive)
        if signs.shape == (n_features,) and np.isin(signs, (-1, 0, 1)).all():
            return signs.astype(np.int8)
    raise InputError(
        f"positive is {positive!r}; it must be True, False, or one of -1, 0, 1 for each of the {n_features} features."
    )


def _jobs(n_jobs: Any) -> int:
    count = 1 if n_jobs is None else n_jobs
    if not isinstance(count, numbers.Integral) or count == 0:
        raise InputError(
            f"n_jobs is {n_jobs!r}; it must be None, a whole number of at least 1, or -1 for all cores."
        )
    cores = os.cpu_count() or 1
    number = int(count)
    return number if number > 0 else max(1, cores + 1 + number)


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        seed = int(random_state)
        if not 0 <= seed < 2**31:
            raise InputError(f"random_state is {seed}; it must be from 0 to {2**31 - 1}.")
        return seed
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InputError(
            f"random_state is {random_state!r}; it must be None, a whole number or a RandomState."
        ) from None
