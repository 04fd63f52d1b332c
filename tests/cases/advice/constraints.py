"""Advice on constraints: how they are written, which numbers they may hold, and rows that clash."""

# ruff: noqa: E501 - messages stand here as they are written

import numpy as np

from rerank.certificate import certify
from rerank.problem import problem_of
from rerank.statistics import ideal, parse
from tests.cases.advice import FRAME, Row, X, Y, fit, proved


def kept(*texts, table=FRAME, **more):
    """Whether a fit is proved, and names its constraints."""
    found = fit(table, constraints=texts, **more)
    return proved(found) is not False and found.state_.task.constraints == texts


def stated(rows=X, gains=Y, statistic="dcg"):
    return problem_of(rows, np.asarray(gains, dtype=float), parse(statistic)).X.shape == X.shape


ROWS = {
    "gains go up to {}, and sums of them overflow; divide them all": Row(
        lambda: stated(gains=Y * 1.5e308), lambda: stated(gains=Y * 1.5e308 / 1e20)
    ),
    "in row {}, but gains are {}; correct it.": Row(lambda: stated(gains=Y - 0.5), lambda: stated(gains=Y * 0.5)),
    "The gains are so large that their sum is no double; divide them all by a number": Row(
        lambda: ideal(parse("dcg"), 3, [1.5e308] * 3), lambda: ideal(parse("dcg"), 3, [1.5e288] * 3) > 0
    ),
    "leaves out its own limit; write '<=' or '>='": Row(
        lambda: fit(FRAME, constraints=["a > b"]), lambda: kept("a >= b")
    ),
    "which gets no weight because of what it holds; leave the constraint out, or give the column as numbers": Row(
        lambda: fit(FRAME.assign(a=[f"id {k}" for k in FRAME.index]), constraints=["a >= b"]), lambda: kept("a >= b")
    ),
    "write 0 on one side, set normalise='sum' for weights of sum 1, or give a radius, with which weights are in units of the first stage's score": Row(
        lambda: fit(FRAME, constraints=["a >= 0.1"]),
        lambda: [kept("a >= 0"), kept("a >= 0.1", radius=1.0), kept("a >= 0.1", normalise="sum")],
    ),
    "All weights are 0, and no multiple of them has the sum 1; give others.": Row(
        lambda: certify(problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True), [0.0, 0.0]),
        lambda: certify(problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True), [1.0, 0.0]).value,
    ),
}
