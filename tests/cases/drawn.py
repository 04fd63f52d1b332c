"""Tables that many tests draw: normal columns, of which the first tells the label, and noise."""

import numpy as np

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
