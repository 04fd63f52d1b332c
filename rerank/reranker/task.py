"""What is asked for: the parameters of :class:`rerank.Reranker`, as they were given and checked once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, unknown
from rerank.io.margin import margin_of
from rerank.io.options import one_of, real, seed, whole
from rerank.problem import Margin, Quota
from rerank.problem.quotas import quotas_of
from rerank.ranks.row_gains import Gain
from rerank.reranker.constraints import texts_of
from rerank.reranker.first_stage import is_auto
from rerank.reranker.members import by_members
from rerank.reranker.options import RerankerOptions, copied
from rerank.reranker.solve.program import chosen_formulation
from rerank.solvers.commands import names
from rerank.solvers.outcome import Options
from rerank.statistics import RankStatistic, fitted_statistic, parse

MOST = 2**62  # largest count that a model file holds
SOLVERS = (*names(), "search", "none")


WHOLE_LIST, LEAST_HEAD = 2000, 50
"""Rows up to which a list is reranked as a whole by default, and the least rows that are reranked of a longer one."""

WHOLE_ANCHORED = 500_000  # the same for anchored problems, whose boxes lose most rows at once
FOLDS = 5  # parts of the training rows for out-of-fold scores


@dataclass(eq=False, repr=False, kw_only=True)
class Task(RerankerOptions):
    """The parameters of :class:`rerank.Reranker`, checked, and what follows from them. Nobody changes one."""

    given: RerankerOptions  # as they were given
    quoted: RankStatistic  # the user's own statistic
    statistic: RankStatistic  # what is fitted: the same, with window and list length
    signs: NDArray[np.int8]  # of each column: 1 for a weight >= 0, -1 for one <= 0, 0 for a free one
    by_score: bool  # whether the margin is in units of the score of normalised weights
    members: bool = False  # whether the scores of a blend's members are what is reranked
    judged: bool = False  # held-out rows judge the weights and nothing else is used: no value is recomputed exactly
    # What checking makes of another kind.
    margin: Margin | None  # None for the automatic margin
    gain: Gain
    quota: tuple[Quota, ...]  # without rows
    constraints: tuple[str, ...]
    cross_fit: int | str  # folds, 0 for none
    solver_options: Mapping[str, Any]
    n_jobs: int  # workers, at least 1
    random_state: int

    def candidates(self, longest_list: int) -> int | None:
        """K; "auto" is None for lists that are not long, or where every place counts in the statistic."""
        if not isinstance(self.n_candidates, str):
            return self.n_candidates
        depth, own = self.statistic.depth, self.radius is None and not self.members
        whole_list = WHOLE_LIST if own else WHOLE_ANCHORED
        return None if depth is None or longest_list <= whole_list else max(2 * depth, LEAST_HEAD)


def task_of(given: RerankerOptions, n_features: int) -> Task:
    """The parameters of an estimator, checked; an error names the parameter, what it is and what it may be."""
    quoted = parse(given.stat)
    statistic = fitted_statistic(quoted, given.window, given.list_length)
    solver, verbose, members = given.solver, given.verbose, by_members(given.features)
    if solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    formulation = chosen_formulation(given.formulation, statistic)
    radius = _radius(given, formulation)
    one_of("gain", given.gain, ("exponential", "linear"))
    if not (statistic.alone or not statistic.weighs_hits or given.presolve or solver in ("search", "none")):
        raise InputError(
            f"presolve=False asks for a program alone, and no program states {statistic.name!r}; leave presolve at "
            "True, or use solver='search'."
        )
    normalise, margin = _normalise(given, radius), _margin(given.margin)
    return Task(
        given=copied(given),
        stat=given.stat,
        quoted=quoted,
        window=given.window,
        list_length=given.list_length,
        statistic=statistic,
        n_candidates=_candidates(given.n_candidates),
        formulation=formulation,
        solver=solver,
        presolve=_truth("presolve", given.presolve),
        time_limit=given.time_limit,
        margin=margin,
        by_score=normalise is not None and margin is not None,
        C=real("C", given.C, 0.0),
        max_features=_count("max_features", given.max_features),
        positive=given.positive,
        signs=_signs(given.positive, n_features, members),
        gain=given.gain,
        pos_label=given.pos_label,
        n_jobs=jobs_of(given.n_jobs),
        random_state=seed(given.random_state),
        first_stage="logistic" if is_auto(given.first_stage) else given.first_stage,
        proof=_truth("proof", given.proof),
        verbose=int(verbose) if isinstance(verbose, bool | np.bool_) else whole("verbose", verbose, 0),
        node_limit=_count("node_limit", given.node_limit, 0),
        checkpoint=_checkpoint(given.checkpoint, solver, bool(given.presolve)),
        radius=radius,
        prior=_prior(given.prior, given.first_stage, radius),
        cross_fit=_folds(given.cross_fit),
        solver_options=_solver_options(given.solver_options, solver),
        quota=_quotas(given, statistic),
        constraints=texts_of(given.constraints),
        normalise=normalise,
        features=given.features,
        members=members,
    )


def _radius(given: RerankerOptions, formulation: str) -> float | None:
    """The largest correction, if the program can have one."""
    if given.radius is None:
        return None
    if formulation == "resolved_rank":
        raise InputError(
            "formulation is 'resolved_rank', which forbids scores closer than the margin, and with a radius the first "
            "stage's scores are given; use 'auto', 'mixed' or 'subrank'."
        )
    return real("radius", given.radius, 0.0, 1e100)


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_ | Real) and value in (0, 1):
        return bool(value)
    raise InputError(f"{name} is {value!r}; it must be True or False.")


def _quotas(given: RerankerOptions, statistic: RankStatistic) -> tuple[Quota, ...]:
    """The quotas, if what solves the problem can keep them."""
    found, name = quotas_of(given.quota), given.formulation
    if found and statistic.by_order:
        raise InputError(
            f"quota counts the first rows of a list, and {statistic.name!r} is stated as several lists of two classes; "
            "use stat='auc' with a quota."
        )
    alone = not given.presolve and given.solver not in ("search", "none")
    if found and name != "resolved_rank" and (name != "auto" or alone):
        raise InputError(
            f"formulation={name!r} states a program that has no place for irrelevant rows, and a quota counts those, "
            "too; use formulation='resolved_rank', or leave formulation and presolve out."
        )
    return found


def _normalise(given: RerankerOptions, radius: float | None) -> str | None:
    """How weights are normalised in the table's own units, None for not at all."""
    normalise = given.normalise
    if normalise not in (None, "sum"):
        raise InputError(f"normalise is {normalise!r}; it must be None, or 'sum' for weights from 0 on with sum 1.")
    if normalise is None:
        return None
    if radius is not None:
        raise InputError(
            "normalise='sum' fits weights of its own, and a radius corrects those of a first stage; leave one of them "
            "out."
        )
    if np.any(np.asarray(given.positive) == -1):
        raise InputError("normalise='sum' takes no weight below 0, and positive asks for one; leave positive out.")
    return str(normalise)


def _margin(value: Any) -> Margin | None:
    """The margin that is written; None for the smallest, which "auto" and 0 ask for."""
    none = isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_) and value == 0
    if value is None or none or (isinstance(value, str) and value in ("auto", "0")):
        return None
    return margin_of("margin", str(value) if isinstance(value, Decimal) else value, "'auto' or a number, at least 0")


def _prior(prior: Any, first_stage: Any, radius: float | None) -> Any:
    """Weights of the score to correct, where no first stage gives one."""
    if isinstance(prior, str) and prior not in ("auto", "equal"):
        raise InputError(f"prior is {prior!r}; it must be 'auto', 'equal', or one weight for each column.")
    if not (isinstance(prior, str) and prior == "auto") and (first_stage is not None or radius is None):
        raise InputError(
            "prior gives the weights of a score to correct in place of a first stage; set first_stage=None and a "
            "radius, or leave prior out."
        )
    return prior


def _folds(cross_fit: Any) -> int | str:
    """Number of folds, 0 for none, or ``"auto"``."""
    if isinstance(cross_fit, str) and cross_fit == "auto":
        return "auto"
    if isinstance(cross_fit, bool | np.bool_):
        return FOLDS if cross_fit else 0
    if isinstance(cross_fit, Integral) and int(cross_fit) > 1:
        return int(cross_fit)
    raise InputError(f"cross_fit is {cross_fit!r}; it must be 'auto', True, False or a number of folds from 2 on.")


def _checkpoint(path: Any, solver: str, presolve: bool) -> str | os.PathLike[str] | None:
    """The path, if there is a search whose state it can hold."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError(f"checkpoint is {path!r}; it must be None or the path of a file.")
    if solver == "none" or (solver != "search" and not presolve):
        what = "solver='none'" if solver == "none" else "presolve=False"
        raise InputError(
            f"checkpoint holds the state of a search, and with {what} there is none; leave one of them out."
        )
    return path


def _solver_options(given: Any, solver: str) -> Mapping[str, Any]:
    """Options of a solver by name, of which the search takes the start alone."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        raise InputError(
            f"solver_options is {given!r}; it must be None or a mapping from names to values, such as {{'threads': 2}}."
        )
    if solver in ("search", "none") and (idle := sorted(given.keys() - {"start"})):
        raise InputError(
            f"solver_options hold {idle[0]!r}, and with solver={solver!r} no solver gets it; use n_jobs, node_limit "
            "and random_state for the search, or choose a solver."
        )
    Options().chosen(given)
    return given


def _candidates(n_candidates: Any) -> int | str | None:
    if isinstance(n_candidates, str) and n_candidates == "auto":
        return n_candidates
    counted = isinstance(n_candidates, Integral) and not isinstance(n_candidates, bool)
    if n_candidates is None or (counted and int(n_candidates) > 0):
        return _count("n_candidates", n_candidates)
    raise InputError(
        f"n_candidates is {n_candidates!r}; it must be 'auto', None for all rows (on the command line: "
        "--candidates 0), or a whole number, at least 1."
    )


def _count(name: str, value: Any, least: int = 1) -> int | None:
    if isinstance(value, Integral) and int(value) > MOST:
        return whole(name, value, least, MOST)
    return None if value is None else whole(name, value, least)


def _signs(positive: Any, n_features: int, members: bool = False) -> NDArray[np.int8]:
    """The sign of each weight; without signs of its own a blend has weights from 0 on."""
    if isinstance(positive, bool | np.bool_):
        return np.full(n_features, int(positive or members), dtype=np.int8)
    if (isinstance(positive, Sequence) and not isinstance(positive, str)) or hasattr(positive, "__array__"):
        signs = np.asarray(positive)
        if signs.shape == (n_features,) and np.isin(signs, (-1, 0, 1)).all():
            return signs.astype(np.int8)
    raise InputError(
        f"positive is {positive!r}; it must be True, False, or one of -1, 0, 1 for each of the {n_features} features."
    )


def jobs_of(n_jobs: Any) -> int:
    """Number of workers; -1 stands for all cores, -2 for all but one."""
    count = 1 if n_jobs is None else n_jobs
    if not isinstance(count, Integral) or count == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; it must be None, a whole number of at least 1, or -1 for all cores.")
    number = int(count)
    return number if number > 0 else max(1, (os.cpu_count() or 1) + 1 + number)
