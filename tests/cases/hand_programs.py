"""Programs built by hand, without Pyomo: what the tests of files and solvers solve."""

import numpy as np
import pytest
from scipy import sparse

from formulations.compile import Program
from rerank.solvers.commands import SOLVERS

INF = np.inf


def need(solver):
    """Fail with how to install a solver that tests compare others with."""
    outside = SOLVERS.get({"COIN_CMD": "cbc", "GLPK_CMD": "glpk"}.get(solver.upper(), solver))
    if outside is not None and outside.find() is None:
        pytest.fail(f"{solver} is missing, and the tests need it: {outside.install}")


def program(
    name, cost, matrix, row_lower, row_upper, lower, upper, integer, constant=0.0, columns=None, rows=None, weights=()
):
    table = sparse.csr_array(matrix if sparse.issparse(matrix) else np.atleast_2d(np.asarray(matrix, float)))
    m, n = table.shape
    sides = {"row_lower": row_lower, "row_upper": row_upper, "lower": lower, "upper": upper}
    return Program(
        name=name,
        cost=np.asarray(cost, float),
        constant=float(constant),
        matrix=table,
        **{side: np.asarray(values, float) for side, values in sides.items()},
        integer=np.asarray(integer, dtype=bool),
        columns=tuple(columns or (f"x{j}" for j in range(n))),
        rows=tuple(rows or (f"r{i}" for i in range(m))),
        weights=np.asarray(weights, dtype=np.intp),
    )


def every_bound():
    """Each kind of bound and row, negative and infinite sides, a column in no row; optimum 5.475, by hand.

    w0 = 1 (its bound), so a = 4.5 (row r1), w1 = 1.5 (row r2), z = 0, n0 = 2 (its bound), n1 = 9 - n0 = 7 at cost 0:
    m0 = -2.5 (its bound): 2 + .3 * 4.5 + 1.5 - .25 * 2.5 + 1.25 = 5.475.
    """
    return program(
        "every_bound",
        cost=[2.0, -1.0, 0.1 + 0.2, 1.0, 0.0, 0.25, 0.0],
        matrix=[
            [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 0.0],
            [-1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0],
        ],
        row_lower=[-INF, -2.0, 0.5, 9.0],
        row_upper=[1.5, 2.5, 0.5, INF],
        lower=[-1.0, 0.0, -INF, 0.0, 2.0, -INF, -3.0],
        upper=[1.0, 1.0, INF, 7.5, INF, -2.5, INF],
        integer=[0, 1, 0, 0, 1, 0, 1],
        constant=1.25,
        columns=("w0", "z3_7", "a_longer_name_16", "w1", "n0", "m0", "n1"),
        weights=(0, 3),
    )


def auc(n, d, seed=0, epsilon=1e-4, constant=3.5):
    """The pairs of one list: z = 1 only where the weights put a positive above a negative; and those differences."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    signal = X @ rng.normal(size=d)
    order = np.argsort(-signal - rng.normal(size=n) * signal.std())
    positive, negative = order[: n // 3], order[n // 3 :]
    D = (X[positive][:, None] - X[negative][None]).reshape(-1, d)
    M = np.abs(D).sum(axis=1) + epsilon
    return (
        program(
            f"auc_{n}_{d}",
            cost=np.r_[np.zeros(d), np.ones(len(D))],
            matrix=sparse.hstack([sparse.csr_array(-D / M[:, None]), sparse.eye_array(len(D))]),
            row_lower=np.full(len(D), -INF),
            row_upper=1 - epsilon / M,
            lower=np.r_[-np.ones(d), np.zeros(len(D))],
            upper=np.ones(d + len(D)),
            integer=np.r_[np.zeros(d), np.ones(len(D))],
            constant=constant,
            columns=[f"w{j}" for j in range(d)] + [f"z{i}_{k}" for i in positive for k in negative],
            weights=range(d),
        ),
        D,
    )


def point(program, D, w, epsilon=1e-4):
    """The columns of weights ``w`` in :func:`auc`."""
    return np.r_[w, (D @ w >= epsilon).astype(float)]


def knapsack():
    """Ten items, one row; optimum by enumeration of all 1,024 choices."""
    rng = np.random.default_rng(5)
    gain, weight = rng.integers(5, 40, 10).astype(float), rng.integers(5, 40, 10).astype(float)
    room = float(weight.sum() // 2)
    choices = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    best = float((choices @ gain)[choices @ weight <= room].max())
    made = program(
        "knapsack", gain, weight[None], [-INF], [room], np.zeros(10), np.ones(10), np.ones(10), constant=-7.0
    )
    return made, best - 7.0


def mixed_signs():
    """General integers with negative bounds and an equality row; optimum by enumeration of a 9 x 9 grid."""
    grid = [(a, b) for a in range(-4, 5) for b in range(-4, 5)]
    best = max(3 * a - 2 * b + 0.5 * (1.5 - 0.25 * a) for a, b in grid if a + 2 * b >= -3 and a - b <= 5)
    made = program(
        "mixed_signs",
        cost=[3.0, -2.0, 0.5],
        matrix=[[1.0, 2.0, 0.0], [1.0, -1.0, 0.0], [0.25, 0.0, 1.0]],
        row_lower=[-3.0, -INF, 1.5],
        row_upper=[INF, 5.0, 1.5],
        lower=[-4.0, -4.0, -INF],
        upper=[4.0, 4.0, INF],
        integer=[1, 1, 0],
        constant=0.0,
    )
    return made, float(best)


def infeasible():
    """Two binaries that must sum to three."""
    return program("infeasible", [1.0, 1.0], [[1.0, 1.0]], [3.0], [3.0], [0, 0], [1, 1], [1, 1])


def linear():
    """An LP: both rows are full at (3/4, 1/2), worth 11/4."""
    return program(
        "linear", [3.0, 1.0], [[2.0, 1.0], [2.0, -1.0]], [-INF, -INF], [2.0, 1.0], [0, 0], [INF, INF], [0, 0]
    )
