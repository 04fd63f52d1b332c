"""What a search reports, while it runs and at its end, where its splits make a proof: the tree of boxes in preorder."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.problem import Problem, digest
from rerank.problem.lists import Floats, Indices
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED, PRICED, Circuits, Proof
from rerank.problem.values import values_at
from rerank.search.boxes.open import OpenBoxes
from rerank.search.domain import Domain
from rerank.search.quotas import ExactQuotas


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the search found.

    Attributes
    ----------
    value : float
        ``V(w) - C |w|_0`` of ``weights``, never overstated by more than rounding of the last place; minus infinity
        where no weights were found whose order meets the quotas.
    bound : float
        No weights have a larger value, margin and penalty included; minus infinity where none meet the quotas.
    weights : float64 (d,)
        In scaled space; ``max|w_j| = 1`` or all zero. Whole numbers beyond 1, the margin multiplied by the largest,
        where dividing by it would lose value.
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
        Whether it gave up because the bound is exact, and no weights that it tried reach it.
    begun : bool
        False if the time was over before it could begin.
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
    begun: bool = True

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
    w = domain.weights(domain.begin)
    if start is not None:
        given = given_point(domain, start)
        if problem.max_features is None or domain.used(given) <= problem.max_features:
            w = domain.weights(given)
    met = ExactQuotas.of(problem, domain).meets(w / domain.scale)
    value = float(values_at(problem, w[None])[0]) if met else -np.inf
    ends = domain.weights(domain.lower), domain.weights(domain.upper)
    box, bound = (np.minimum(*ends), np.maximum(*ends)), max(problem.ideal, value)
    return SearchResult(value, bound, w, False, 0, 0.0, value, problem.ideal, note=note, box=box, begun=False)


def given_point(domain: Domain, start: ArrayLike) -> Floats:
    """The coordinates of a start in normal form, those that are not allowed set to what is."""
    w = np.asarray(start, dtype=np.float64)
    if w.shape != (domain.n_features,) or not np.isfinite(w).all():
        raise InputError(
            f"The start holds {w.size} weights; it must hold {domain.n_features} finite numbers, one a feature."
        )
    return domain.normal(w / domain.scale)


def proof_of(
    problem: Problem, boxes: OpenBoxes, left_out: int | None, claim: tuple[float, float, Floats], shown: Circuits | None
) -> Proof:
    """Assemble the proof of a value, a bound and weights from the splits; circuits that show the bound are enough."""
    flip = np.where(boxes.domain.scale < 0, -1, 1).astype(np.int8)
    if shown is not None:
        none = np.empty(0, np.uint16)
        return Proof(*claim, flip, (), left_out, none, (), digest(problem), circuits=shown)
    splits, listed = boxes.recorded()
    sizes = np.array([c.size for c in boxes.columns], dtype=np.intp)
    roots = np.array([len(boxes.domain.part(c).roots()[0]) for c in boxes.columns], dtype=np.intp)
    codes, multipliers = _preorder(
        np.concatenate([np.empty((0, 3), np.int64), *splits]), np.repeat(sizes, roots), listed
    )
    lines = []
    for s in range(len(boxes.columns)):
        t = boxes.axes.pairs(s)
        guide = boxes.axes.antiparallel[s].guide if s in boxes.axes.antiparallel else np.empty(0, np.int32)
        lines.append(np.column_stack([t.upper[guide], t.lower[guide]]).astype(np.int64))
    proof = Proof(*claim, flip, tuple(boxes.columns), left_out, codes, tuple(lines), digest(problem))
    return replace(proof, multipliers=multipliers)


def _preorder(
    splits: NDArray[np.int64], widths: Indices, listed: set[int]
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Codes of the trees of all roots, and multipliers; ``widths`` are the numbers of features of each root's support.
    A box that is fathomed by multipliers stands among the splits, with them in place of a child.
    """
    at, codes, words = {name: i for i, name in enumerate(splits[:, 0].tolist())}, list[int](), list[int]()
    for root, width in enumerate(widths.tolist()):
        stack = [root]
        while stack:
            node = stack.pop()
            if node in at:
                w, first = splits[at[node], 1:].tolist()
                if w < 0:
                    codes.append(PRICED)
                    words.append(first)
                    continue
                codes.append(COORDINATE + w if w < width else LINE + w - (width - 1))
                stack += [first + 1, first]
            else:
                codes.append(LISTED if node in listed else LEAF)
    return np.array(codes, np.uint16), np.array(words, np.int64)
