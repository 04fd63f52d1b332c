"""From a problem in weight space to one of the mathematical programs, and back from their columns.

This module knows which program may be used for which statistic, and how its objective is converted to the unit of the
value.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import FormulationError
from formulations.program import Program
from rerank.errors import InputError, nearest, unknown
from rerank.errors.compiling import load
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.search.domain import allowed, sides_of
from rerank.statistics import RankStatistic

FORMULATIONS = ("auto", "subrank", "resolved_rank", "mixed", "auc", "pairwise", "pos_top")

OWN = {"signs": "positive", "corrections": "radius", "rows": "constraints", "by_sum": "normalise"}
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
    return name in ("mixed", "pos_top") or (name in ("auc", "pairwise") and statistic.counts_pairs)


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
class Stated:
    """A problem stated as a Pyomo model, and its arrays. Its objective is the value."""

    problem: Problem
    formulation: str
    model: Any
    program: Program

    @property
    def size(self) -> dict[str, int]:
        """Rows, columns, integer columns and non-zeros."""
        p, names = self.program, ("rows", "columns", "integer_columns", "nonzeros")
        return dict(zip(names, (len(p.rows), len(p.columns), int(p.integer.sum()), int(p.matrix.nnz))))

    def point(self, w: Floats) -> tuple[Floats | None, str | None]:
        """The column vector of weights ``w``, or the row they violate."""
        w = w / w.sum() if self.problem.by_sum else w
        assigned = load(f"formulations.{self.formulation}").assignment(self.model, w)
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
    from formulations.options import Options

    if box is not None and problem.by_sum:
        raise InputError("A box is one of weights whose largest is 1, and here their sum is; use constraints instead.")
    module, given = _arguments(problem, formulation)
    free = [*(field.name for field in fields(Options) if field.init and field.name not in given), "name"]
    for name in choices:
        if name in given:
            again = f"with Reranker({OWN.get(name, name)}=...)" if name not in DATA else "on other rows"
            raise InputError(f"{name} belongs to the fitted problem and is no option of a program; fit again {again}.")
        if name not in free:
            raise InputError(
                f"{name!r} is no option of a program; did you mean {nearest(name, free)!r}? Known: box, "
                f"{', '.join(one for one in free if one != 'box')}."
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


def state(problem: Problem, formulation: str, box: Any = None, **choices: Any) -> Stated:
    """Build the model and compile it to arrays."""
    model = build_model(problem, formulation, box, **choices)
    from formulations.compile import compile_model

    return Stated(problem, formulation, model, compile_model(model))


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
    return load(f"formulations.{formulation}"), {
        **ranked,
        **{name: getattr(problem, name) for name in ("C", "max_features", "signs", "by_sum", "quotas")},
        "epsilon": problem.epsilon.exact,
        "constant": float(constant),
        "corrections": problem.limits,
        "scaled_from": (problem.X, problem.low, problem.high),
        "rows": sides_of(problem),
    }


def _preferences(problem: Problem) -> tuple[NDArray[np.intp], Floats]:
    """Pairs of rows of one list in which the first has the larger gain, and the weight of each pair in the AUC."""
    pairs = [np.stack(np.meshgrid(u.positive, u.negative, indexing="ij"), -1).reshape(-1, 2) for u in problem.units]
    return np.concatenate(pairs), np.repeat([u.factor for u in problem.units], [len(own) for own in pairs])
