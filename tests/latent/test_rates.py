"""The loop in random order that the steps are compared with, and the log on which both are timed."""

import numpy as np
import pytest

from benchmarks.latent.log import drawn_log, read, shape, write
from benchmarks.latent.naive import naive
from rerank.latent.kernels.primitives import draw
from tests.cases.latent import random_factors


def formula(x, y, others, weight, U, V, GU, GV, rate):
    """One record's step by the derivatives of ``weight sum_j log2(1 + 2^(f_j - f))``."""
    t = U[x] @ (V[y] - V[others]).T
    a = weight / (1 + 2.0**t)
    gradient = {("V", y): -a.sum() * U[x]} | {("V", z): a[j] * U[x] for j, z in enumerate(others)}
    gradient["U", x] = -(a[:, None] * (V[y] - V[others])).sum(axis=0)
    for (name, i), g in gradient.items():
        M, G = (U, GU) if name == "U" else (V, GV)
        G[i] += (g**2).mean()
        M[i] -= rate * g / np.sqrt(G[i] + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_loop_takes_the_step_of_the_formula(seed):
    f = random_factors(5, 400, 7, seed=seed)
    U, V, GU, GV = (M.astype(np.float64) for M in (f.U, f.V, f.GU, f.GV))
    state = np.array([seed], dtype=np.uint64)
    others = [draw(state, 400) for _ in range(4)]
    y = next(y for y in range(400) if y not in others)
    assert len(set(others)) == 4  # A repeated item would step twice.
    formula(2, y, np.array(others), 0.5, U, V, GU, GV, 0.1)
    one = np.array([2], np.int32), np.array([y], np.int32), np.array([0.5], np.float32)
    assert naive(*one, f.U, f.V, f.GU, f.GV, np.float32(0.1), 4, np.uint64(seed)) == 4
    for found, wanted in ((f.U, U), (f.V, V), (f.GU, GU), (f.GV, GV)):
        np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_the_drawn_log_has_the_shape_asked_for_and_survives_its_files(tmp_path):
    log = drawn_log(0.002)
    users, items, records = shape(0.002)
    assert log.shape == (users, items) and log.nnz == records
    assert log.has_canonical_format and (log.data == 1).all()
    write(tmp_path, log)
    again = read(tmp_path)
    assert again.shape == log.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))
