"""Advice on constraints: how they are written, which numbers they may hold, and rows that clash."""

# ruff: noqa: E501 - messages stand here as they are written

from fractions import Fraction

import numpy as np

from rerank import Reranker
from rerank.certificate import certify
from rerank.problem import Problem, WeightRow, problem_of
from rerank.search import solve
from rerank.statistics import ideal, parse
from tests.cases.advice import FRAME, Row, X, Y, fit, proved


def kept(*texts, table=FRAME, **more):
    """Whether a fit is proved, and names its constraints."""
    found = fit(table, constraints=texts, **more)
    return proved(found) is not False and found.state_.task.constraints == texts


def limited(side, limits) -> Problem:
    """A problem in which the second weight is at least so much."""
    rows = [WeightRow((Fraction(0), Fraction(1)), Fraction(side), None, "b")]
    return problem_of(X, Y.astype(float), parse("precision@5"), limits=limits, rows=rows)


def stated(rows=X, gains=Y, statistic="dcg"):
    return problem_of(rows, np.asarray(gains, dtype=float), parse(statistic)).X.shape == X.shape


def seen(**options):
    return Reranker("dcg", radius=0.1, **options).fit([[1.0], [1.0], [-1.0]], [3, 0, 1], qid=["v", "u", "u"])


WIDE = FRAME.assign(**{"blood sugar": -FRAME["b"]})
ROWS = {
    "gains holds {} in row {}, but gains are {}; correct it": Row(lambda: stated(gains=-Y), stated),
    "gains has the shape {} and the type {}; give a number for each row": Row(
        lambda: problem_of(X, ["u"] * len(Y), parse("dcg")), stated
    ),
    "and there are {} gains; give a row for each": Row(lambda: stated(X[1:]), stated),
    "gains go up to {}, and sums of them overflow; divide them all": Row(
        lambda: stated(gains=Y * 1.5e308), lambda: stated(gains=Y * 1.5e308 / 1e20)
    ),
    "The gains are so large that their sum is no double; divide them all by a number": Row(
        lambda: ideal(parse("dcg"), 3, [1.5e308] * 3), lambda: ideal(parse("dcg"), 3, [1.5e288] * 3) > 0
    ),
    "no column whose weight could change; give X at least one that varies": Row(
        lambda: solve(problem_of(X[:, :0], Y, parse("dcg"))), lambda: solve(problem_of(X, Y, parse("dcg"))).closed
    ),
    "scores are of rows that it has seen; more rows, or cross_fit=False, leave this out": Row(
        lambda: seen(), lambda: seen(cross_fit=False).result_.value > 0
    ),
    "it must be a list of texts such as 'age >= 2 * income', by column names": Row(
        lambda: fit(FRAME, constraints=3), lambda: kept("a >= 2 * b")
    ),
    "is no text; write one such as 'age >= 2 * income'": Row(
        lambda: fit(FRAME, constraints=[""]), lambda: kept("a >= 2 * b")
    ),
    "write columns by name, in backquotes where a name has spaces, as in 'age >= 2 * income' or '`blood sugar` <= 0'": Row(
        lambda: fit(WIDE, constraints=["blood-sugar! <= 0"]), lambda: kept("`blood sugar` <= 0", table=WIDE)
    ),
    "characters is too long; write several short ones": Row(
        lambda: fit(FRAME, constraints=["a" + " + 0 * b" * 20_000 + " >= 0"]), lambda: kept("a >= 0")
    ),
    "put the columns into one (such as their sum) before the fit, or allow a range with '<=' and '>='": Row(
        lambda: fit(FRAME, constraints=["a = b"]), lambda: kept("a >= 0.9 * b", "a <= 1.1 * b")
    ),
    "leaves out its own limit; write '<=' or '>='": Row(
        lambda: fit(FRAME, constraints=["a > b"]), lambda: kept("a >= b")
    ),
    "which is not among the columns with a weight; did you mean {}": Row(
        lambda: fit(FRAME.rename(columns={"a": "age"}), constraints=["agee >= 0"]),
        lambda: kept("age >= 0", table=FRAME.rename(columns={"a": "age"})),
    ),
    "which holds no numbers or misses some, so that it gets no weight; fill its gaps, or leave the constraint out": Row(
        lambda: fit(FRAME.assign(a=FRAME["a"].mask(FRAME.index < 3)), constraints=["a >= b"]), lambda: kept("a >= b")
    ),
    "write 0 on one side, set normalise='sum' for weights of sum 1, or give a radius, with which weights are in units of the first stage's score": Row(
        lambda: fit(FRAME, constraints=["a >= 0.1"]),
        lambda: [kept("a >= 0"), kept("a >= 0.1", radius=1.0), kept("a >= 0.1", normalise="sum")],
    ),
    "leave no weights with room to move within {}; loosen or leave out one of them": Row(
        lambda: fit(FRAME, constraints=["a >= b", "b >= a"]), lambda: kept("a >= b")
    ),
    "leaves no weights with room to move within {}; loosen it or leave it out": Row(
        lambda: fit(FRAME, constraints=["a <= 0"], positive=True), lambda: kept("a <= b", positive=True)
    ),
    "do not vary on the shortlist, so that nothing corrects them; leave it out": Row(
        lambda: fit(FRAME.assign(c=1.0), Y, constraints=["c >= 0.5"], radius=1.0),
        lambda: proved(fit(FRAME.assign(c=1.0), Y, radius=1.0)),
    ),
    "coefficients and, without limits, sides of 0; free weights have no scale that another number could be measured in": Row(
        lambda: limited(1, None), lambda: limited(0, None).rows and limited(1, ([1, 0], [1, 2])).rows
    ),
    "and a radius corrects those of a first stage; leave one of them out": Row(
        lambda: fit(FRAME, normalise="sum", radius=1.0), lambda: proved(fit(FRAME, normalise="sum"))
    ),
    "takes no weight below 0, and positive asks for one; leave positive out": Row(
        lambda: fit(FRAME, normalise="sum", positive=[-1, 0]), lambda: proved(fit(FRAME, normalise="sum"))
    ),
    "it must be None, or 'sum' for weights from 0 on with sum 1": Row(
        lambda: fit(FRAME, normalise="max"), lambda: abs(fit(FRAME, normalise="sum").coef_.sum() - 1) < 1e-12
    ),
    "A box is one of weights whose largest is 1, and here their sum is; use constraints instead.": Row(
        lambda: fit(FRAME, normalise="sum").build_model(box=([0, 0], [1, 0.5])),
        lambda: kept("b <= 0.5", normalise="sum"),
    ),
    "Weights of sum 1 are none below 0 and have no limits; leave signs and limits out.": Row(
        lambda: problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True, signs=[-1, 0]),
        lambda: problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True).by_sum,
    ),
    "All weights are 0, and no multiple of them has the sum 1; give others.": Row(
        lambda: certify(problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True), [0.0, 0.0]),
        lambda: certify(problem_of(X, Y.astype(float), parse("precision@5"), by_sum=True), [1.0, 0.0]).value,
    ),
    "The weights break the constraint {}, recounted exactly; fit again.": Row(
        lambda: certify(limited(0, None), [1.0, -1.0]),
        lambda: certify(limited(0, None), fit(FRAME, constraints=["b >= 0"]).state_.weights).value > 0,
    ),
}
