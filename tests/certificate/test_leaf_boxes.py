"""The boxes of a proof: they cover all weights, and none holds weights above its bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.certificate import leaf_boxes, verify_proof
from rerank.errors import CertificateError, InputError
from rerank.problem import coordinates, problem_of
from rerank.problem.proof import LEAF, LINE
from rerank.search import solve
from rerank.statistics import parse
from tests.oracles.anchored import anchored
from tests.oracles.oracle import objective_at


def proved(problem):
    return solve(problem, proof=True).proof


@pytest.mark.parametrize("seed", range(6))
def test_no_weights_of_a_box_are_worth_more_than_its_bound(seed):
    problem = anchored(seed)
    proof = proved(problem)
    rng = np.random.default_rng(seed)
    count = 0
    for features in proof.supports:
        boxes = leaf_boxes(problem, proof, features)
        assert boxes.bounds.max() <= proof.bound
        count += len(boxes.bounds)
        limits = [ends[features] for ends in problem.limits]
        assert (boxes.lower.min(axis=0) <= limits[0]).all() and (limits[1] <= boxes.upper.max(axis=0)).all()
        for lower, upper, bound in zip(boxes.lower, boxes.upper, boxes.bounds):
            w = problem.unchanged.copy()
            w[features] = np.clip(rng.uniform(lower, upper), *limits)
            assert objective_at(problem, w) <= bound + 1e-9 * max(1.0, abs(bound))
    assert count == verify_proof(problem, proof).leaves


def test_boxes_cover_each_face_once():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), (rng.random(40) < 0.3).astype(float)
    problem = problem_of(X, y, parse("dcg@5"), epsilon=0.01)
    proof = proved(problem)
    assert (proof.codes < LINE).all()
    boxes = leaf_boxes(problem, proof)
    assert len(boxes.bounds) == verify_proof(problem, proof).leaves > 20
    sides = boxes.upper - boxes.lower
    flat = sides == 0
    assert (flat.sum(axis=1) == 1).all()
    areas = np.where(flat, 1.0, sides).prod(axis=1)
    face = [(j, float(boxes.lower[i, j])) for i, j in enumerate(flat.argmax(axis=1))]
    found = {one: sum(a for a, own in zip(areas, face) if own == one) for one in face}
    assert found == {(j, side): 4.0 for j in range(3) for side in (-1.0, 1.0)}
    points = rng.uniform(-1, 1, (200, 3))
    points /= np.abs(points).max(axis=1, keepdims=True)
    inside = ((boxes.lower <= points[:, None]) & (points[:, None] <= boxes.upper)).all(axis=2)
    assert inside.any(axis=1).all()
    for w, bound in zip(points, np.where(inside, boxes.bounds, np.inf).min(axis=1)):
        assert objective_at(problem, w) <= bound + 1e-9


def test_the_sign_of_a_weight_that_must_not_be_positive_is_kept():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20, 2)), (rng.random(20) < 0.4).astype(float)
    problem = problem_of(X, y, parse("auc"), epsilon=0.01, signs=[-1, 1])
    boxes = leaf_boxes(problem, proved(problem))
    assert coordinates(problem)[0].tolist() == [-1, 1]
    assert (boxes.lower <= boxes.upper).all() and boxes.upper[:, 0].max() == 0 and boxes.lower[:, 1].min() == 0


def test_what_cannot_be_shown_is_refused():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), (rng.random(20) < 0.4).astype(float)
    problem = problem_of(X, y, parse("auc"), epsilon=0.01, max_features=2)
    proof = proved(problem)
    assert len(leaf_boxes(problem, proof, [0, 2]).bounds) < verify_proof(problem, proof).leaves
    with pytest.raises(InputError, match=r"no boxes on features \[1\]"):
        leaf_boxes(problem, proof, [1])
    with pytest.raises(InputError, match="circuits"):
        leaf_boxes(problem, replace(proof, supports=()))
    with pytest.raises(CertificateError, match="not complete|missing"):
        leaf_boxes(problem, replace(proof, codes=np.full(1, LEAF, np.uint16)))
