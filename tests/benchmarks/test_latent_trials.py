"""Successive halving: who trains for how long, and who is taken."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.latent.methods import Method
from benchmarks.latent.trials import tuned

USERS = 10


def method(limit):
    """A trial of quality q puts the right item of q users first, after three looks of one user less at a time."""

    def steps(train, options, seed):
        look = 0
        while True:
            look += 1
            right = options["quality"] - max(0, 3 - look)
            yield lambda users, right=right: (np.asarray(users) < right)[:, None] * np.arange(3.0, 0.0, -1.0)

    return Method({"quality": 3}, lambda rng: {"quality": int(rng.integers(3, USERS))}, steps, limit)


@pytest.fixture
def split():
    log = sp.csr_matrix((np.ones(USERS), (np.arange(USERS), np.zeros(USERS, int))), shape=(USERS, 30))
    return sp.csr_matrix(log.shape), log, log


def test_the_best_eight_get_four_looks_and_the_best_four_go_on(split, monkeypatch):
    # Precision of a trial at a look, without a model: a tenth of the users it gets right.
    class Found:
        def __init__(self, scores):
            self.scores = scores

        def means(self):
            return {"precision": float((self.scores(np.arange(USERS))[:, 0] > 0).mean())}

    monkeypatch.setattr("benchmarks.latent.trials.evaluate", lambda scores, *rest: Found(scores))
    best, every = tuned(method(12), split, 20)
    lengths = [len(trial.looks) for trial in every]
    # Three looks raise it and three more bring nothing.
    assert sorted(lengths, reverse=True) == [6] * 4 + [4] * 4 + [2] * 12
    qualities = [trial.options["quality"] for trial in every]
    assert best is every[0] and best.options["quality"] == max(qualities)
    assert min(qualities[:4]) >= max(qualities[4:])
    assert min(qualities[4:8]) >= max(qualities[8:])
    assert best.looks[best.best][1] == pytest.approx(max(qualities) / USERS)
