"""What a fit found, and how far from the best it can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.certificate import Certificate

# Statistics that differ at all differ by far more.
CLOSED = 1e-9


def is_closed(gap: float, value: float) -> bool:
    """Whether a gap counts as closed: below ``CLOSED``, in units of the value where that is above 1."""
    return gap <= CLOSED * max(1.0, abs(value))


STATUSES = (
    "optimal",
    "optimal_by_solver",
    "feasible",
    "first_stage_kept",
    "already_ideal",
    "nothing_to_find",
)


@dataclass(frozen=True)
class ShortlistInfo:
    """The shortlist in numbers: lists, rows reranked, positives among them, ties at the cut, duplicates, features."""

    n_candidates: int | None
    n_rows: int
    n_head: int
    n_positive: int
    n_positive_head: int
    n_tied: int
    n_duplicates: int
    n_conflicts: int
    n_features: int
    constant_features: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Result:
    """The numbers of a fit, never mixed up.

    Attributes
    ----------
    statistic : float
        The fitted ranking's statistic on the training data: no margin, no penalty, equal scores against the positives.
    value : float
        Value of ``weights`` with margin and penalty, recomputed exactly and rounded down; same unit, tail included.
    bound : float
        No weights have a larger value.
    bound_source : {"ideal", "search", "solver"}
        Who says so: the ideal list, the search in weight space (rounding on the safe side), or a solver.
    status : str
        One of ``STATUSES``.
    message : str
        The status in words, with what to do.
    weights : float64 array (features,)
        In the scaled space of the shortlist, ``max|w_j| = 1`` or all 0; empty when nothing was fitted.
    program_value, program_bound : float or None
        The solver's own, for its own program. Diagnostics.
    certificate : Certificate or None
        Exact value, statistic and smallest margin of ``weights``.
    seconds : mapping
        Wall time of each phase.
    model_size : mapping or None
        Rows, columns, non-zeros of the program handed to a solver.
    start_value : float or None
        Value from which search or solver started.
    start_accepted : bool or None
        Whether the solver took the start; None when there was none, or the solver cannot tell.
    first_stage_statistic : float or None
    statistic_name : str
    formulation, solver : str
        The program solved (None when there was none), and who solved it.
    n_lists, n_empty_lists : int
        Lists in the data, and those left out of the mean because nothing in them can be ranked.
    gain : str
    epsilon, C : float
    shortlist : ShortlistInfo
    theorem : str
        Whether Subrank and ResolvedRank provably share their optimum on this data (corrected Theorem 4.2).
    nodes : int
    proof : object or None
        The search's record of splits, where it was asked to keep one.
    notes : tuple of str
        Everything else worth saying, one sentence each.
    """

    statistic: float
    value: float
    bound: float
    bound_source: str
    status: str
    message: str
    weights: NDArray[np.float64]
    statistic_name: str
    gain: str
    epsilon: float
    C: float
    n_lists: int
    n_empty_lists: int
    shortlist: ShortlistInfo
    seconds: Mapping[str, float]
    program_value: float | None = None
    program_bound: float | None = None
    certificate: Certificate | None = None
    model_size: Mapping[str, int] | None = None
    start_value: float | None = None
    start_accepted: bool | None = None
    first_stage_statistic: float | None = None
    formulation: str | None = None
    solver: str | None = None
    theorem: str = ""
    nodes: int = 0
    proof: Any = None
    notes: tuple[str, ...] = field(default=())

    @property
    def gap(self) -> float:
        """``bound - value``: at most this much better a value exists."""
        return max(0.0, self.bound - self.value)

    @property
    def proved(self) -> bool:
        """Whether nothing better exists: the gap is closed, or there was nothing to reorder."""
        return is_closed(self.gap, self.value) or self.status in ("already_ideal", "nothing_to_find")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for ``--json`` and the model file."""
        named = {
            "statistic": self.statistic,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
        }
        skip = {"certificate", "weights", "shortlist", "seconds", "model_size", "proof", "notes", *named}
        rest = {key: value for key, value in vars(self).items() if key not in skip}
        return {
            **named,
            **rest,
            "proved": self.proved,
            "weights": self.weights.tolist(),
            "shortlist": {
                **vars(self.shortlist),
                "constant_features": list(self.shortlist.constant_features),
            },
            "seconds": dict(self.seconds),
            "model_size": None if self.model_size is None else dict(self.model_size),
            "notes": list(self.notes),
        }


def status_of(value: float, bound: float, bound_source: str) -> str:
    """``optimal``, ``optimal_by_solver`` or ``feasible``."""
    if not is_closed(bound - value, value):
        return "feasible"
    return "optimal_by_solver" if bound_source == "solver" else "optimal"


def message_of(result_status: str, gap: float, bound_source: str, statistic_name: str) -> str:
    """One or two sentences: what holds, and what to do about it."""
    name = statistic_name
    how = "the ideal list is reached" if bound_source == "ideal" else "by the search"
    return {
        "optimal": f"Proved optimal ({how}): no weights have a larger {name} on the shortlist, "
        "margin and price included.",
        "optimal_by_solver": f"Optimal on the solver's word: {name} of the weights is recomputed exactly, "
        "the bound is not; presolve=True with more time_limit lets the search prove it.",
        "feasible": f"Stopped with a gap of {gap:.6g} in {name}: a better ranking may exist, none is better by more. "
        "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved.",
        "first_stage_kept": "The first stage is kept: no weights that were found order the training list better "
        f"in {name}.",
        "already_ideal": "The first stage already puts the shortlist in the best possible order for "
        f"{name}; it is kept.",
        "nothing_to_find": "The shortlist holds nothing to order (no relevant row, or nothing else), "
        "so the first stage is kept; raise n_candidates or improve the first stage.",
    }[result_status]
