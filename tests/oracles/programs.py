"""Slow answers to the programs' questions, from the definitions alone; nothing of ``formulations`` is used here.

``best_over_vertices`` lists the vertices of the arrangement of all hyperplanes on which a value can change (a
difference at the margin, at 0 or at the limit of the literal form; a weight at 0 or at its bound).  Each value is
attained on a closed polytope cut out by some of them, so the best vertex is an optimum.
"""

from itertools import combinations

import numpy as np

TOLERANCE = 1e-9


def differences(X, w):
    score = X @ w
    return score[:, None] - score[None, :]


def problem_value(X, units, w, epsilon):
    """V(w): each positive's lost negatives, sorted; the j-th best stands at place j + lost."""
    won = differences(X, w) >= epsilon - TOLERANCE
    total = 0.0
    for unit in units:
        lost = sorted(sum(not won[i, k] for k in unit.negative) for i in unit.positive)
        m = len(unit.positive) + len(unit.negative)
        total += unit.factor * sum(unit.coefficients[m - (j + 1 + lost_j)] for j, lost_j in enumerate(lost))
    return total


def subrank_value(X, units, w, epsilon):
    won = differences(X, w) >= epsilon - TOLERANCE
    total = 0.0
    for unit in units:
        rows = [*unit.positive, *unit.negative]
        total += unit.factor * sum(unit.coefficients[sum(won[i, k] for k in rows)] for i in unit.positive)
    return total


def resolved_value(X, units, w, epsilon):
    """Order by score; at equal score lower gain is higher, then the later row. None where the gap is entered."""
    difference = differences(X, w)
    rows = np.unique(np.concatenate([[*unit.positive, *unit.negative] for unit in units]))
    lists = {tuple(sorted([*unit.positive, *unit.negative])) for unit in units}
    for mates in lists:
        part = difference[np.ix_(mates, mates)]
        if ((part > TOLERANCE) & (part < epsilon - TOLERANCE)).any():
            return None
    grade = {int(i): sum(i in unit.positive for unit in units) for i in rows}
    total = 0.0
    for unit in units:
        mates = [*unit.positive, *unit.negative]
        for i in unit.positive:
            below = sum(
                difference[i, k] > TOLERANCE
                or (abs(difference[i, k]) <= TOLERANCE and (grade[int(k)], -k) > (grade[int(i)], -i))
                for k in mates
                if k != i
            )
            total += unit.factor * unit.coefficients[below]
    return total


def pairwise_value(X, pairs, weights, w, epsilon):
    won = differences(X, w) >= epsilon - TOLERANCE
    return sum(weight for (i, k), weight in zip(pairs, weights) if won[i, k])


def vertices(X, epsilon, box=None, levels=(0.0,), more=()):
    """Points of the box where d of the hyperplanes meet, without repetitions; ``more`` are further (normal, side)."""
    d = X.shape[1]
    lower, upper = (-np.ones(d), np.ones(d)) if box is None else map(np.asarray, box)
    n = len(X)
    normals = [X[i] - X[k] for i in range(n) for k in range(n) if i != k]
    normals = [v for v in {tuple(v) for v in normals} if any(v)]
    planes = [(np.array(v), side) for v in normals for side in (epsilon, *levels)]
    for j in range(d):
        planes += [(np.eye(d)[j], side) for side in {lower[j], upper[j], 0.0}]
    planes += [(np.asarray(normal, float), side) for normal, side in more]
    A, b = np.array([p for p, _ in planes]), np.array([s for _, s in planes])
    chosen = np.array(list(combinations(range(len(planes)), d)))
    M, r = A[chosen], b[chosen]
    regular = np.abs(np.linalg.det(M)) > 1e-10
    points = np.linalg.solve(M[regular], r[regular][..., None])[..., 0]
    points = points[((points >= lower - 1e-12) & (points <= upper + 1e-12)).all(axis=1)]
    points[np.abs(points) < 1e-12] = 0.0
    return np.unique(np.vstack([np.round(points, 13), np.zeros((1, d))]), axis=0) if _holds(lower, upper) else points


def _holds(lower, upper):
    return bool(((lower <= 0) & (upper >= 0)).all())


def best_over_vertices(
    value, X, epsilon, C=0.0, max_features=None, signs=None, box=None, unit_pairs=None, unit_both=False
):
    """Largest ``value(w) - C |w|_0`` over the vertices that the limits allow; ``value`` may say None."""
    levels = (0.0,) if unit_pairs is None else (0.0, epsilon - 1, 1.0)
    best, where = -np.inf, None
    for w in vertices(X, epsilon, box, levels):
        if max_features is not None and np.count_nonzero(w) > max_features:
            continue
        if signs is not None and (np.asarray(signs) * w < 0).any():
            continue
        if unit_pairs is not None:
            difference = differences(X, w)
            listed = np.array([difference[i, k] for i, k in unit_pairs])
            if (listed < epsilon - 1 - TOLERANCE).any() or (unit_both and (listed > 1 + TOLERANCE).any()):
                continue
        found = value(w)
        if found is not None and found - C * np.count_nonzero(w) > best:
            best, where = found - C * np.count_nonzero(w), w
    return best, where


def on_surface(value):
    """The value of weights with ``max|w_j| = 1`` and of ``w = 0``, None of others."""
    return lambda w: value(w) if not w.any() or np.abs(w).max() == 1 else None


def solve(program, seconds=60.0):
    """Optimum of a compiled program by HiGHS, through its arrays; the column vector and the proved bound."""
    import highspy

    # HiGHS 1.16 refuses another number of threads than the thread's scheduler has, from whoever ran it before.
    highspy.Highs.resetGlobalScheduler(True)
    solver = highspy.Highs()
    for option, setting in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0), ("threads", 1)):
        solver.setOptionValue(option, setting)
    solver.setOptionValue("time_limit", seconds)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.cost.size, program.row_lower.size
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.offset_ = program.cost, program.constant
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = program.matrix.indptr, program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(whole)] for whole in program.integer]
    solver.passModel(lp)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return -np.inf, None
    assert status == highspy.HighsModelStatus.kOptimal, solver.modelStatusToString(status)
    return solver.getInfo().objective_function_value, np.array(solver.getSolution().col_value)
