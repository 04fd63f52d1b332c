"""From a problem in weight space to one of the mathematical programs, and back from their columns.

This module knows which program may be used for which statistic, how its objective is converted to the unit of the
value, and how small its margin may be, given the tolerance of the solver.
"""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from formulations.errors import FormulationError
from formulations.program import Program
from rerank.errors import InputError, nearest, unknown
from rerank.errors.compiling import load_modules
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.problem.scaling import ends_of
from rerank.ranks.positions import affine
from rerank.reranker.solution import BOUNDING
from rerank.search.domain import allowed, sides_of
from rerank.statistics import RankStatistic

SIZES = ("rows", "columns", "integer_columns", "nonzeros")
FORMULATIONS = ("auto", "subrank", "resolved_rank", "mixed", "auc", "pairwise", "pos_top")

OWN = {"signs": "positive", "corrections": "radius", "rows": "constraints", "by_sum": "normalise", "epsilon": "margin"}
DATA = ("units", "preferences", "constant", "scaled_from")
"""What the estimator calls options of a builder that a fit sets, and those that hold its rows."""


def chosen_formulation(name: str, statistic: RankStatistic) -> str:
    """The program for a formulation asked for: "auto" is that of AUC, of pairs and of Pos@Top, else ``mixed``. The
    optimum of each is that of the problem itself, so the solver's bound is one on the value. They also measured best
    (``docs/modelling.md``). One whose objective is not the statistic is refused.
    """
    if name not in FORMULATIONS:
        raise unknown("formulation", name, FORMULATIONS)
    if name in ("auc", "pairwise") and not statistic.counts_pairs:
        raise InputError(
            f"formulation={name!r} counts pairs, which is stat='auc', not {statistic.name!r}; use stat='auc', or "
            "formulation='auto'."
        )
    if name not in ("auto", "pairwise") and statistic.by_order:
        raise InputError(
            f"formulation={name!r} ranks the rows of a list once, and {statistic.name!r} compares each pair of labels; "
            "use formulation='pairwise' or 'auto'."
        )
    if name == "pos_top" and not statistic.alone:
        raise InputError(
            f"formulation='pos_top' counts relevant rows above all others, which is stat='pos@top', not "
            f"{statistic.name!r}; use stat='pos@top', or formulation='auto'."
        )
    if name not in ("auto", "pos_top") and statistic.weighs_hits:
        raise InputError(
            f"formulation={name!r} adds up what relevant rows earn by their own ranks, and {statistic.name!r} looks at "
            "several of them at once; use formulation='auto'."
        )
    if name != "auto":
        return name
    if statistic.by_order:
        return "pairwise"
    return "pos_top" if statistic.alone else "auc" if statistic.counts_pairs else "mixed"


def has_program(problem: Problem) -> bool:
    """Whether a program states the problem: what a place earns does not depend on the relevant rows above it."""
    return not problem.weighs_hits or all(item.alone for item in problem.lists)


def shares_optimum(name: str, statistic: RankStatistic) -> bool:
    """Whether the program's optimum is the problem's, so that its bound bounds the value."""
    return name in BOUNDING and (name not in ("auc", "pairwise") or statistic.counts_pairs)


def unstated() -> str | None:
    """Why no program can be stated here, as half a sentence; None where one can."""
    if sys.flags.optimize < 2:
        return None
    return "Pyomo, which states programs, cannot be imported without docstrings (python -OO, PYTHONOPTIMIZE=2)"


def check_stated() -> None:
    """Refuse to go on where no program can be stated."""
    if why := unstated():
        raise InputError(f"{why}; run Python without that option; only solver='search' needs no program.")


@dataclass(frozen=True, eq=False)
class StatedProgram:
    """A problem stated as a Pyomo model, and its arrays. Its objective is the value."""

    problem: Problem
    formulation: str
    model: Any
    program: Program

    @property
    def size(self) -> dict[str, int]:
        """Rows, columns, integer columns and non-zeros."""
        p = self.program
        return dict(zip(SIZES, (len(p.rows), len(p.columns), int(p.integer.sum()), int(p.matrix.nnz))))

    def point(self, w: Floats) -> tuple[Floats | None, str | None]:
        """The column vector of weights ``w``, or the row they violate."""
        w = self.problem.of_norm_one(w)
        assigned = load_modules(f"formulations.{self.formulation}").assignment(self.model, w)
        if assigned.values is None:
            return None, assigned.violated
        return self.program.vector(assigned.values), None

    def weights(self, x: Floats) -> Floats:
        """The weights among the columns, of largest size 1 or cut to limits, moved to keep their rows exactly."""
        limits = self.problem.limits
        return allowed(self.problem, normalised(np.clip(x[self.program.weights], *(limits or (-1.0, 1.0))), limits))


def normalised(w: Floats, limits: tuple[Floats, Floats] | None = None) -> Floats:
    """``w`` by its largest size, or within ``limits`` as it is; weights below 1e-9 of that are 0."""
    if limits is not None:
        return np.where(np.abs(w) > 1e-9 * np.abs(limits).max(axis=0), w, 0.0)
    size = float(np.max(np.abs(w), initial=0.0))
    return np.zeros_like(w) if size <= 1e-9 else np.where(np.abs(w) > 1e-9 * size, w / size, 0.0)


def build_model(problem: Problem, formulation: str, box: Any = None, **choices: Any) -> Any:
    """The Pyomo model of a problem, with further options of the builder such as ``linking`` or ``max_nonzeros``."""
    from formulations.options import BuilderOptions

    if box is not None and problem.by_sum:
        raise InputError("A box is one of weights whose largest is 1, and here their sum is; use constraints instead.")
    module, given = _arguments(problem, formulation)
    free = [*(field.name for field in fields(BuilderOptions) if field.init and field.name not in given), "name"]
    for name in choices:
        if name in given:
            again = f"with Reranker({OWN.get(name, name)}=...)" if name not in DATA else "on other rows"
            raise InputError(f"{name} belongs to the fitted problem and is no option of a program; fit again {again}.")
        if name not in free:
            raise InputError(
                f"{name!r} is no option of a program; did you mean {nearest(name, free)!r}? Known: box, "
                f"{', '.join(name for name in free if name != 'box')}."
            )
    with stated_wrong():
        return module.build(problem.scaled, **given, box=box, **choices)


@contextmanager
def stated_wrong() -> Iterator[None]:
    """What a program or its files refuse is wrong input here."""
    try:
        yield
    except FormulationError as error:
        raise InputError(str(error)) from error


def counted_pairs(problem: Problem, formulation: str) -> int:
    """Pairs of rows that the builder of a program looks at, counted without forming them."""
    if formulation == "pairwise":
        return int(sum(u.positive.size * u.negative.size for u in problem.units))
    lists = [problem.lists[number] for number in {u.list_index for u in problem.units}]
    if formulation == "resolved_rank":
        return sum(item.rows.size**2 for item in lists)
    return sum(int(np.count_nonzero(item.gains > 0)) * item.rows.size for item in lists)


def estimated_size(problem: Problem, formulation: str) -> int:
    """Upper bound on the non-zeros of the program's matrix, known without building it."""
    module, given = _arguments(problem, formulation)
    return int(module.most_nonzeros(problem.scaled, **given))


def state(problem: Problem, formulation: str, box: Any = None, **choices: Any) -> StatedProgram:
    """Build the model and compile it to arrays."""
    model = build_model(problem, formulation, box, **choices)
    from formulations.compile import compile_model

    return StatedProgram(problem, formulation, model, compile_model(model))


def _arguments(problem: Problem, formulation: str) -> tuple[Any, dict[str, Any]]:
    """Module of the builder, and what it gets from the problem: what is ranked, and options."""
    if not has_program(problem):
        raise InputError("No program states a measure such as 'ap'; use solver='search', which needs none.")
    check_stated()
    constant = problem.constant
    if formulation == "pairwise":
        # That program counts pairs won.  The q positives of a unit have ranks that sum to those pairs and q (q + 1)
        # / 2, and the coefficient of each rank is the rank plus the number of places below the shortlist.
        constant += sum(
            u.factor * u.positive.size * ((u.positive.size + 1) / 2 + u.coefficients[0] - 1) for u in problem.units
        )
    ranked = {"preferences": _preferences(problem)} if formulation == "pairwise" else {"units": problem.units}
    return load_modules(f"formulations.{formulation}"), {
        **ranked,
        "C": problem.C,
        "max_features": problem.max_features,
        "signs": problem.signs,
        "by_sum": problem.by_sum,
        "quotas": problem.quotas,
        "epsilon": problem.epsilon.exact,
        "constant": float(constant),
        "corrections": problem.limits,
        "scaled_from": (problem.X, problem.low, problem.high),
        "rows": sides_of(problem),
    }


def _preferences(problem: Problem) -> tuple[Indices, Floats]:
    """Pairs of rows of one list in which the first has the larger gain, and the weight of each pair in the AUC."""
    pairs = [np.stack(np.meshgrid(u.positive, u.negative, indexing="ij"), -1).reshape(-1, 2) for u in problem.units]
    return np.concatenate(pairs), np.repeat([u.factor for u in problem.units], [len(own) for own in pairs])


SMALLEST_DEFAULT = 1e-4
SMALLEST_BY_SUM = 1e-10  # far above the rounding of scores, 2^-40

FEASIBILITY_TOLERANCE, SAFETY = 1e-6, 10.0
"""Amount by which solvers may violate a row of the program they get, and how many times that a margin is at least.

At a ratio of 1, solvers claimed pairs they had not won in all of 60 random programs; at 10 in none.
"""


def safe_epsilon(problem: Problem, asked: float | None = None) -> float:
    """The margin asked for, or an error if solvers cannot keep it; if none is, the default, or the least safe one. A
    binary off by the tolerance moves its row by the tolerance times its big-M: the largest difference of two rows.
    """
    least = least_epsilon(problem)
    if asked is None:
        return max(SMALLEST_DEFAULT, least)
    # A margin of exactly ten tolerances passes, whichever way it was rounded.
    if asked < least * (1 - 1e-9):
        raise InputError(
            f"Margin {asked:g} is too close to the solver's feasibility tolerance {FEASIBILITY_TOLERANCE:g}; "
            f"use at least {least:.3g}, or tighten feasibility_tolerance. margin='auto' does the first; "
            "solver='search' has no tolerance."
        )
    return asked


def least_epsilon(problem: Problem) -> float:
    """The least margin that solvers of programs can keep."""
    return SAFETY * FEASIBILITY_TOLERANCE * max(1.0, largest_difference(problem))


def smallest_by_sum(widths: Floats) -> float:
    """The default margin of weights of sum 1, in the widest of the columns' ranges (p,): the smallest range has the
    share that each range has elsewhere, since weights cannot make up for it.
    """
    return max(SMALLEST_DEFAULT * float(widths.min() / widths.max()), SMALLEST_BY_SUM)


SHORT, MOST_AT_ONCE = 64, 4_000_000
"""Rows of a list whose pairs are formed together with those of other lists, and pairs at a time."""


MOST_NEAR = 200_000  # pairs of rows that are compared to find those closer than the margin: a twentieth of a second


def notes_on_near_rows(problem: Problem) -> tuple[str, ...]:
    """A sentence on pairs that the margin loses by any weights; corrected scores have wide margins on purpose."""
    near = None if problem.anchored else pairs_within_margin(problem)
    if not near:
        return ()
    return (
        f"{near} pair(s) of rows with different gains are closer than the margin {problem.epsilon:g} by any weights, "
        "and count as lost; a smaller margin may win them.",
    )


def notes_on_exact_pairs(problem: Problem) -> tuple[str, ...]:
    """A sentence on pairs that differ by just the margin in one column, as on a grid: boxes cannot tell these apart."""
    count, ends = 0, (problem.epsilon + 1e-12, problem.epsilon - 1e-12)
    short, long = ([], []) if problem.anchored else _by_length(problem)
    for rows in short:
        for column in (problem.scaled[rows, j] for j in range(problem.n_features)):
            least = (int(np.count_nonzero(column[:, None, :] < column[:, :, None] + end)) for end in ends)
            count += next(least) - next(least)
    for own in long:
        for values in np.sort(problem.scaled[own], axis=0).T:
            below = np.searchsorted(values, values + ends[0])
            some = below > 0
            some[some] = values[below[some] - 1] >= values[some] + ends[1]
            count += int((below[some] - np.searchsorted(values, values[some] + ends[1])).sum())
    if not count:
        return ()
    return (
        f"{count} pair(s) of rows differ by just the margin {problem.epsilon:g} in a column, which can keep a gap open "
        f"for any time: try a slightly smaller margin, such as margin={0.999 * problem.epsilon:.6g}.",
    )


def _by_length(problem: Problem) -> tuple[list[Indices], list[Indices]]:
    """Rows of short lists of one length (lists, rows), so many that their pairs fit into memory; rows of each other."""
    lists: dict[int, list[Indices]] = {}
    for item in problem.lists:
        lists.setdefault(item.rows.size, []).append(item.rows)
    short, long = [], []
    for size, rows in lists.items():
        if size <= SHORT:
            short += np.array_split(np.array(rows), math.ceil(len(rows) * size * size / MOST_AT_ONCE))
        else:
            long += rows
    return short, long


def pairs_within_margin(problem: Problem) -> int | None:
    """Pairs of different gains in a list, not equal, whose columns differ by less than the margin in sum, so that no
    weights win them. None where more than ``MOST_NEAR`` pairs have sums of columns that close.
    """
    rows = np.concatenate([item.rows for item in problem.lists])
    gains = np.concatenate([item.gains for item in problem.lists])
    lists = np.repeat(np.arange(len(problem.lists)), [item.rows.size for item in problem.lists])
    sums = affine(problem.scaled, np.ones(problem.n_features))[rows]
    # Of n rows in m cells as wide as the margin the fewest pairs in a cell are there where all hold n / m.
    cells = len(problem.lists) * (1 + math.floor(np.ptp(sums) / problem.epsilon))
    if rows.size * (rows.size / cells - 1) > 2 * MOST_NEAR:
        return None
    X = problem.scaled[rows]
    # One sorted line of all lists, with gaps between them. The slack covers the rounding of its numbers.
    line = sums + lists * (np.ptp(sums) + 2 * problem.epsilon)
    slack = 1e-14 * (1 + np.abs(line).max() * X.shape[1])
    order = np.argsort(line, kind="stable")
    line, X, gains, lists = line[order], X[order], gains[order], lists[order]
    upper = np.arange(rows.size)
    near = np.searchsorted(line, line + problem.epsilon + slack) - upper - 1
    if near.sum() > MOST_NEAR:
        return None
    lower = np.arange(near.sum()) - np.repeat(np.cumsum(near) - near - upper - 1, near)
    upper = np.repeat(upper, near)
    chosen = (gains[upper] != gains[lower]) & (lists[upper] == lists[lower])
    upper, lower = upper[chosen], lower[chosen]
    apart = np.zeros(upper.size)
    for column in X.T:
        apart += np.abs(column[upper] - column[lower])
    # Just below the margin is left out: rounding does not say on which side such a pair is.
    return int(np.sum((apart > 0) & (apart < problem.epsilon * (1 - 1e-9))))


def largest_difference(problem: Problem) -> float:
    """Largest ``sum_j |w_j| |x_ij - x_kj|`` in scaled units between two rows of one list, over allowed weights."""
    from scipy.spatial.distance import pdist

    X = problem.scaled if problem.limits is None else problem.scaled * np.abs(problem.limits).max(axis=0)
    largest, (short, long) = 0.0, _by_length(problem)
    for some in short:
        columns = (X[some, j] for j in range(X.shape[1]))
        apart = sum(np.abs(column[:, :, None] - column[:, None, :]) for column in columns)
        largest = max(largest, float(np.max(apart, initial=0.0)))
    for own in long:
        least, most = ends_of(X, own)
        ranges = float((most - least).sum())
        if ranges > largest:
            # All pairs of a few thousand rows take a second; the box around more rows gives an upper bound.
            within = own.size <= 3000
            largest = max(largest, float(pdist(X[own], "cityblock").max()) if within else ranges)
    return largest
