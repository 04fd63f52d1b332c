"""What a search reports, while it runs and at its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.problem import Problem, values_at
from rerank.problem.proof import Proof
from rerank.search.domain import Domain

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the search found.

    Attributes
    ----------
    value : float
        ``V(w) - C |w|_0`` of ``weights``, never overstated by more than rounding of the last place.
    bound : float
        No weights have a larger value, margin and penalty included.
    weights : float64 (d,)
        In scaled space; ``max|w_j| = 1`` or all zero.
    closed : bool
        Whether every box is fathomed, so that ``bound`` is ``value`` up to rounding.
    boxes : int
        Number of boxes explored (``nodes`` is the same).
    seconds : float
        With a checkpoint, those of earlier processes are added.
    start_value : float
        Value after the first line searches.
    root_bound : float
        Bound before any box is split.
    interrupted : bool
        Whether Ctrl-C ended the search.
    proof : Proof or None
        With ``proof=True``: the record of splits, a :class:`rerank.problem.Proof`.
    box : tuple of float64 (d,) or None
        Lower and upper ends of a box that holds every point that could still beat ``value``.
    note : str
        Why the search did not begin, why its checkpoint was not written, or why it gave up; else ``""``.
    gave_up : bool
        Whether it ended open with time left: more time changes nothing.
    exact : bool
        Whether it gave up because the bound is exact, and only weights that are no doubles seem to reach it.
    """

    value: float
    bound: float
    weights: Floats
    closed: bool
    boxes: int
    seconds: float
    start_value: float
    root_bound: float
    interrupted: bool = False
    proof: Proof | None = None
    box: tuple[Floats, Floats] | None = None
    note: str = ""
    gave_up: bool = False
    exact: bool = False

    @property
    def nodes(self) -> int:
        """Number of boxes."""
        return self.boxes

    @property
    def gap(self) -> float:
        """Bound minus value."""
        return max(self.bound - self.value, 0.0)


@dataclass(frozen=True)
class Progress:
    """State of a running search, given to the ``progress`` callback."""

    seconds: float
    value: float
    bound: float
    boxes: int
    open_batches: int


def without_search(problem: Problem, start: ArrayLike | None, note: str) -> SearchResult:
    """The result of a search that could not begin: the start, or unchanged weights, and the ideal lists' value."""
    domain = Domain.of(problem)
    w = domain.weights(domain.unchanged)
    if start is not None:
        given = given_point(domain, start)
        if problem.max_features is None or domain.used(given) <= problem.max_features:
            w = domain.weights(given)
    value = float(values_at(problem, w[None])[0])
    ends = domain.weights(domain.lower), domain.weights(domain.upper)
    return SearchResult(
        value, max(problem.ideal, value), w, False, 0, 0.0, value, problem.ideal, note=note,
        box=(np.minimum(*ends), np.maximum(*ends)),
    )  # fmt: skip


def given_point(domain: Domain, start: ArrayLike) -> Floats:
    """The coordinates of a start in normal form, those that are not allowed set to what is."""
    w = np.asarray(start, dtype=np.float64)
    if w.shape != (domain.n_features,) or not np.isfinite(w).all():
        raise InputError(
            f"The start holds {w.size} weights; it must hold {domain.n_features} finite numbers, one a feature."
        )
    return domain.normal(w / domain.scale)
