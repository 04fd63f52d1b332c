"""The weights of a fit as a picture: their value, and what a proof says of all others."""

from typing import Any

import numpy as np

from rerank.certificate.leaf_boxes import boxes_by_set, leaf_boxes
from rerank.errors import InputError, NotSupportedError
from rerank.problem import Problem, Proof
from rerank.reranker.state import FittedState

MOST = 3  # columns of weights in a picture of them, the score that is corrected included


def weights_drawn(state: FittedState, proof: Proof | None = None, every: bool = False, ax: Any = None) -> Any:
    """The value of the weights that a fit could have, with the boxes of a proof that has some."""
    from rerank.plots import cells

    problem = _problem(state)
    best = state.weights if proof is None else proof.weights
    columns = columns_drawn(problem, best, proof)
    boxes = leaf_boxes(problem, proof, columns) if proof is not None and proof.supports else None
    unit = state.result.fitted_name
    of = "scaled correction of" if problem.anchored else "scaled weight of"
    told = ["weight of the first stage"] * problem.anchored + [f"{of} {state.columns.names[j]}" for j in state.features]
    names, mark = [told[j] for j in columns], best if best.any() else None
    return cells(problem, mark, features=columns, boxes=boxes, names=names, unit=unit, every=every, ax=ax)


def proof_drawn(state: FittedState, proof: Proof, ax: Any = None) -> Any:
    """The weights with the boxes of a proof; for more than a picture shows, the bounds of the boxes."""
    from rerank.plots import box_bounds

    problem = _problem(state)
    if 2 <= len(columns_drawn(problem, proof.weights, proof)) <= MOST:
        return weights_drawn(state, proof, every=True, ax=ax)
    if not proof.supports:
        raise NotSupportedError("The proof has no boxes: it shows its bound by circuits.")
    shares, bounds = [], []
    for boxes in boxes_by_set(problem, proof).values():
        widths = boxes.upper - boxes.lower
        sizes = np.where(widths > 0, widths, 1.0).prod(axis=1)
        shares.append(sizes / sizes.sum())  # all sets of features count the same
        bounds.append(boxes.bounds)
    unit = f"{state.result.fitted_name}, or a bound on it"
    return box_bounds(np.concatenate(shares), np.concatenate(bounds), proof.value, proof.bound, unit=unit, ax=ax)


def columns_drawn(problem: Problem, best: Any, proof: Proof | None) -> list[int]:
    """The first set of the proof that holds the best weights; without one all columns, or those with a weight."""
    used = set(np.flatnonzero(best).tolist())
    every = list(range(problem.n_features)) if problem.n_features <= MOST else sorted(used)
    supports = [] if proof is None else [own.tolist() for own in proof.supports]
    return next((own for own in supports if used <= set(own)), every)


def _problem(state: FittedState) -> Problem:
    if state.problem is None:
        raise InputError(
            "There are no weights to draw: the model was read from a file, which holds no rows, or no column varies on "
            "the shortlist; fit it, or use rerank verify --proof --plot."
        )
    return state.problem
