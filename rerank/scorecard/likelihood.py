"""Log loss of a card: the risk of a total is logistic in it, with the slope and the intercept that fit best.

The slope is not negative, so that a larger total is a larger risk. Where totals separate the classes, it is as large as
doubles need it. It shares no code with the search (see :func:`.kernels.likeliest`), so that it may check that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ENOUGH = 1e-13  # what a further step may gain, per row
STEPS = 100


class LogLoss:
    """Minus the mean log loss of the rows: it has no places."""

    name = "logloss"
    counts_pairs = True  # all rows count, not the first ones
    weighs_hits = False


def likelihoods(x: Floats, p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The weights (problems, m) of answers ``x`` (problems, groups, m) that make ``p`` relevant and ``q`` other rows of
    each group (problems, groups) likeliest, by Newton's steps; and their log-likelihood, rounded up.
    """
    rows = p + q
    many = np.maximum(rows.sum(axis=1), 1.0)
    w, step = np.zeros((len(x), x.shape[2])), np.zeros((len(x), x.shape[2]))
    best, gain = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for _ in range(STEPS):
        eta = np.einsum("sgm,sm->sg", x, w + step)
        value = -(rows * np.log1p(np.exp(-np.abs(eta))) + q * np.maximum(eta, 0) + p * np.maximum(-eta, 0)).sum(axis=1)
        better = value >= best
        w[better] += step[better]
        step[~better] *= 0.5  # too far
        best = np.where(better, value, best)
        if better.any():
            risk = 1 / (1 + np.exp(-np.clip(eta[better], -700, 700)))
            own, spread = x[better], (rows[better] * risk * (1 - risk))[:, :, None]
            slope = np.einsum("sgm,sg->sm", own, p[better] - rows[better] * risk)
            bend = np.einsum("sgm,sgn->smn", own * spread, own)
            bend += (1e-12 * many[better])[:, None, None] * np.eye(x.shape[2])
            step[better] = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
            gain[better] = (slope * step[better]).sum(axis=1)
        if (gain <= ENOUGH * many).all() or not np.abs(step).max() > 1e-300:
            break
    return w, np.minimum(0.0, best + np.maximum(gain, 0.0))


def link_of(totals: Any, relevant: Any, other: Any) -> tuple[float, float]:
    """Intercept and slope of the risk by total, for rows that stand for so many relevant and other ones."""
    levels, number = np.unique(np.asarray(totals), return_inverse=True)
    p, q = (np.bincount(number, side, levels.size).astype(np.float64) for side in (relevant, other))
    x = np.column_stack([np.ones(levels.size), levels])
    ((a, b),), _ = likelihoods(x[None], p[None], q[None])
    return (float(a), float(b)) if b > 0 else (float(np.log(p.sum() / q.sum())), 0.0)


def value_at(link: tuple[float, float], totals: Any, relevant: Any, other: Any) -> float:
    """Minus the mean log loss of rows by a link."""
    eta = link[0] + link[1] * np.asarray(totals, np.float64)
    loss = (relevant + other) * np.log1p(np.exp(-np.abs(eta)))
    loss += other * np.maximum(eta, 0) + relevant * np.maximum(-eta, 0)
    return -float(loss.sum() / (relevant + other).sum())


def of_points(points: Any, p: Floats, q: Floats) -> Floats:
    """Log-likelihoods of groups by the totals of vectors of points (v, k), rounded up."""
    v, k = points.shape
    totals = points @ ((np.arange(1 << k)[:, None] >> np.arange(k)) & 1).T
    x = np.stack([np.ones_like(totals), totals], axis=2).astype(np.float64)
    w, best = likelihoods(x, np.tile(p, (v, 1)), np.tile(q, (v, 1)))
    P, Q = p.sum(), q.sum()
    return np.where(w[:, 1] > 0, best, P * np.log(P / (P + Q)) + Q * np.log(Q / (P + Q)))


def of_sets(p: Floats, q: Floats) -> Floats:
    """What no weights of the k questions exceed that put rows into 2^k groups (sets, 2^k)."""
    size = p.shape[1]
    bits = (np.arange(size)[:, None] >> np.arange(size.bit_length() - 1)) & 1
    x = np.column_stack([np.ones(size), bits])
    return likelihoods(np.broadcast_to(x, (len(p), *x.shape)), p, q)[1]
