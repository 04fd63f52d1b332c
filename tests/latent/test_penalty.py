"""The default penalty: at which penalties factors vanish, by the objective itself; and what a sparse log gets."""

import numpy as np
import pytest

from rerank.latent import LatentRoBiRank, evaluate, split_log
from rerank.latent.engines.interface import Settings
from rerank.latent.log import log_of
from rerank.latent.penalty import penalty_of, vanishing
from tests.cases.latent import clustered_log, random_log, sums_over_others


def objective(log, u, v, alpha):
    """The documented sum for vectors of one factor."""
    n, records = log.shape[1], log.tocoo()
    others = [np.mean(np.delete(v, y) ** 2) for y in range(n)]
    spread = [u[x] ** 2 + v[y] ** 2 / 2 + others[y] for x, y in zip(records.row, records.col)]
    return np.log2(sums_over_others(log, u[:, None], v[:, None])).sum() + alpha / 2 * sum(spread)


def curvature(log, alpha, step=1e-3):
    """Second derivatives of the objective at zero vectors, by differences."""
    n_users, n_items = log.shape

    def at(*moves):
        w = np.zeros(n_users + n_items)
        for place in moves:
            w[place] += step
        return objective(log, w[:n_users], w[n_users:], alpha)

    zero, one = at(), [at(i) for i in range(n_users + n_items)]
    H = np.diag([2 * (value - zero) / step**2 for value in one])
    for x in range(n_users):
        for y in range(n_users, n_users + n_items):
            H[x, y] = H[y, x] = (at(x, y) - one[x] - one[y] + zero) / step**2
    return H


def test_so_many_factors_grow_from_zero_below_the_penalty_at_which_they_vanish():
    log = random_log(7, 9, 0.4, seed=3)
    log = log[np.diff(log.indptr) > 0]
    for k in (1, 3):
        edge = vanishing(log_of(log), k, np.random.default_rng(0))
        grow = [int((np.linalg.eigvalsh(curvature(log, share * edge)) < 0).sum()) for share in (0.97, 1.03)]
        assert grow == [k, k - 1]


def test_few_records_of_each_user_have_a_penalty_below_collapse_that_is_better_than_a_fixed_one():
    train, test = split_log(clustered_log(1000, 400, 8, 8), (0.75,), 0)
    fixed, found = (
        LatentRoBiRank(8, alpha=alpha, n_epochs=30, n_negatives=50, random_state=0).fit(train) for alpha in (0.15, None)
    )
    assert 0.15 < found.alpha_ < vanishing(log_of(train), 8, np.random.default_rng(1))
    better, before = (evaluate(one.score_items, test, 10, train).means()["precision"] for one in (found, fixed))
    assert better > before


@pytest.mark.parametrize("n_factors", [2, 40])
def test_logs_with_fewer_factors_than_asked_for_have_the_plain_penalty(n_factors):
    everything = log_of(np.ones((9, 20)))
    assert penalty_of(everything, Settings(n_factors)) == 0.15


def test_warp_has_the_plain_penalty():
    assert penalty_of(log_of(clustered_log(1000, 400, 8, 8)), Settings(8, loss="warp")) == 0.15
