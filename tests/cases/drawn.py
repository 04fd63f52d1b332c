"""Tables that many tests draw, of normal columns and noise, and fits of them in files."""

import numpy as np

from rerank import load, verify
from rerank.io import Table


def drawn(n=60, d=3, seed=0, cut=0.7, steps=1.0):
    """The table and labels 0 and 1; each column is ``steps`` times as large as the one before."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * steps ** np.arange(d)
    return X, (X[:, 0] + rng.normal(size=n) > cut).astype(int)


def as_table(est, X, y, qid=None, **more):
    """The rows of a fit as a verification takes them."""
    lists = None if qid is None else np.asarray(qid).astype(str).astype(object)
    return Table(X, np.asarray(y, dtype=float), lists, None, est.state_.columns.inputs, **more)


def read_back(est, folder, X, y, qid=None, **more):
    """A fit as its file gives it: with the same weights and places of all rows, and the file verifies."""
    path = folder / "m.json"
    est.save(path)
    again = load(path, first_stage=more.get("first_stage"))
    np.testing.assert_array_equal(again.coef_, est.coef_)
    np.testing.assert_array_equal(again.rank(X, qid), est.rank(X, qid))
    report = verify(path, as_table(est, X, y, qid), **more)
    assert report.holds, [check for check in report.checks if not check.holds]
    return again
