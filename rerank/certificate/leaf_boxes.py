"""The boxes of a proof with their bounds, for a look at what the proof says; a verdict needs none of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.certificate.check.tree import Boxes
from rerank.certificate.proof_check import verify_proof
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, Proof
from rerank.problem.lists import Floats, Indices
from rerank.problem.problem import coordinates


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """Boxes of weights that a proof does not split further.

    Attributes
    ----------
    lower, upper : float64 (m, k)
        Least and largest weight of each feature in a box, in scaled space, within rounding.
    bounds : float64 (m,)
        No weights in the box are worth more, within rounding; at most the bound of the proof.
    """

    lower: Floats
    upper: Floats
    bounds: Floats


def leaf_boxes(problem: Problem, proof: Proof, features: Sequence[int] | None = None) -> LeafBoxes:
    """Check a proof, and return the boxes that it covers the weights with.

    A box that the proof splits by a line may stand there once for each side.

    Parameters
    ----------
    problem : Problem
    proof : Proof
        One by boxes.
    features : sequence of int, optional
        The set of features, in ascending order, whose boxes are wanted; the first set of the proof without it.

    Raises
    ------
    InputError
        For a proof by circuits, which has no boxes, and for features that are no set of the proof.
    CertificateError
        If the proof does not hold.
    """
    if not proof.supports:
        raise InputError("The proof has no boxes: it shows its bound by circuits, or without any; draw another proof.")
    wanted = proof.supports[0] if features is None else np.asarray(features)
    if not any(np.array_equal(wanted, own) for own in proof.supports):
        raise InputError(f"The proof has no boxes on features {wanted.tolist()}; name one of its sets of features.")
    return boxes_by_set(problem, proof)[tuple(wanted.tolist())]


def boxes_by_set(problem: Problem, proof: Proof) -> dict[tuple[int, ...], LeafBoxes]:
    """Check a proof, and return the boxes of every set of features; no set for a proof by circuits. CertificateError if
    the proof does not hold.
    """
    found: dict[tuple[int, ...], list[tuple[Boxes, Floats]]] = {tuple(own.tolist()): [] for own in proof.supports}

    def seen(own: Indices, boxes: Boxes, bounds: Floats) -> None:
        found[tuple(own.tolist())].append((boxes, bounds))

    verdict = verify_proof(problem, proof, seen)
    if not verdict.ok:
        raise CertificateError(verdict.message)
    return {own: _joined(coordinates(problem)[0][list(own)], parts) for own, parts in found.items()}


def _joined(scale: Floats, parts: list[tuple[Boxes, Floats]]) -> LeafBoxes:
    boxes = Boxes.join([each for each, _ in parts])
    ends = np.array([scale * (boxes.centres - boxes.halves), scale * (boxes.centres + boxes.halves)])
    return LeafBoxes(ends.min(axis=0), ends.max(axis=0), np.concatenate([bounds for _, bounds in parts]))
