"""Cards by enumeration: every set of questions with every vector of points, valued in fractions.

Shares no code with the room: answers, statistics, rules and limits are written down again, as plainly as they can be.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate, combinations, product
from typing import Any

import numpy as np
import pandas as pd

STATS = ("auc", "pauc_fpr@0.3", "precision@5", "recall@4", "dcg@6", "ndcg@5", "mrr", "window2@4", "pnorm@3", "rbp@0.7")


@dataclass(frozen=True)
class Rows:
    """A table with labels; weights are numbers of equal rows."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    query_weight: dict | None = None
    people: np.ndarray | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What a fit is given besides X, y and people."""
        return {"qid": self.qid, "sample_weight": self.weight, "query_weight": self.query_weight}

    @cached_property
    def lists(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, Fraction]]:
        """Rows, labels, weights of rows and weight of each list."""
        qid = np.zeros(len(self.y), int) if self.qid is None else self.qid
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        each = [(one, qid == one) for one in np.unique(qid)]
        return [(own, self.y[own], weight[own], Fraction((self.query_weight or {}).get(one, 1))) for one, own in each]


@dataclass(frozen=True)
class Card:
    """Numbers of questions, points, value, and the place of each row's block, 0 below."""

    members: tuple[int, ...]
    points: tuple[int, ...]
    value: Fraction
    order: tuple[int, ...]


def drawn(seed: int, weights: str = "", lists: int = 0, kinds: int = 0, n: int | None = None) -> Rows:
    """A table of five columns, which give seven questions, with labels that depend on them."""
    r = np.random.default_rng(seed)
    n = n or int(r.integers(8, 41))
    X = pd.DataFrame({**{name: r.integers(0, 3, n) for name in "ab"}, **{name: r.integers(0, 2, n) for name in "cde"}})
    latent = X.to_numpy() @ r.normal(0, 1, 5) + r.normal(0, 1, n)
    y = (latent > np.quantile(latent, r.uniform(0.3, 0.8))).astype(int)
    y[:2] = 0, 1
    X.iloc[:3] = [[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, 2, 0, 1, 0]]
    qid = None if not lists else np.concatenate([[0, 0], r.integers(0, lists, n - 2)])
    return Rows(
        X,
        y,
        {"": None, "whole": r.integers(1, 4, n) * 1.0, "parts": r.integers(1, 8, n) / 4}[weights],
        qid,
        None if not lists else {one: float(r.integers(1, 4)) for one in np.unique(qid)},
        np.array(["A", "B", "C"])[r.integers(0, kinds, n)] if kinds else None,
    )


def answers(question: Any, X: pd.DataFrame) -> np.ndarray:
    """Which rows of complete numbers answer yes."""
    values = X[question.column].to_numpy()
    compare = {">=": np.greater_equal, "<": np.less, "=": np.equal}[question.sign]
    return np.asarray(compare(values, question.value))


def worths(stat: str, n: int) -> list[Fraction]:
    """What a relevant row earns at each place, from the top."""
    name, _, at = stat.partition("@")
    places = range(1, n + 1)
    if name in ("precision", "recall"):
        return [Fraction(int(place <= int(at))) for place in places]
    if name in ("dcg", "ndcg"):
        return [Fraction(1 / math.log2(place + 1)) * (place <= int(at)) for place in places]
    if name == "mrr":
        return [Fraction(1, place) for place in places]
    if name == "window2":
        first, last = Fraction(int(at), 2), 2 * int(at)
        return [min(Fraction(1), max(Fraction(0), (last - place) / (last - first))) for place in places]
    if name == "pnorm":
        return [Fraction(n + 1 - place, n) ** int(at) for place in places]
    if name == "rbp":
        return [(1 - Fraction(at)) * Fraction(at) ** (place - 1) for place in places]
    raise ValueError(stat)


@cache
def first_places(stat: str, n: int) -> tuple[int, list[int]]:
    """What relevant rows at all of the first places earn together, for no place to n, in parts of one number."""
    earned = list(accumulate(worths(stat, n), initial=Fraction(0)))
    parts = math.lcm(*(one.denominator for one in earned))
    return parts, [int(one * parts) for one in earned]


def blocks(totals: Any, y: Any, weight: Any) -> tuple[tuple[float, float], ...]:
    """Relevant and other rows of each block of equal totals, from the top; weights are sums of powers of 2."""
    found: dict[Any, list[float]] = {}
    for total, relevant, rows in zip(*(np.asarray(one).tolist() for one in (totals, y, weight))):
        found.setdefault(total, [0.0, 0.0])[not relevant] += rows
    return tuple(tuple(found[total]) for total in sorted(found, reverse=True))


@cache
def of_list(stat: str, floats: Sequence[tuple[float, float]]) -> Fraction | None:
    """Value of one list, in whole numbers of the smallest part of a row; None where it has none."""
    unit = max(number.as_integer_ratio()[1] for one in floats for number in one)
    parts = [(int(p * unit), int(q * unit)) for p, q in floats]
    P, Q = sum(p for p, _ in parts), sum(q for _, q in parts)
    name, _, at = stat.partition("@")
    if name in ("auc", "pauc_fpr"):
        if not P * Q:
            return None
        # Twice the area below the line through the corners of the ROC curve, whose sides are P and Q long.
        end, area, true, false = Fraction(at) * Q if at else Q, Fraction(0), 0, 0
        for p, q in parts:
            wide = min(q, end - false)
            if wide > 0:
                area += wide * (2 * true + (p if wide == q else p * Fraction(wide, q)))
            true, false = true + p, false + q
        return area / (2 * P * Q)
    if not P:
        return None
    shares, earned = first_places(stat, math.ceil((P + Q) / unit))

    def first(place: int) -> int:
        whole, rest = divmod(place, unit)
        return unit * earned[whole] + (rest * (earned[whole + 1] - earned[whole]) if rest else 0)

    value, place, below, sizes = 0, 0, 0, math.lcm(*(p + q for p, q in parts))
    for p, q in parts:
        place += p + q
        above = first(place)
        value += p * (above - below) * (sizes // (p + q))
        below = above
    most = {"ndcg": Fraction(first(P), shares * unit), "recall": Fraction(P, unit)}.get(name, 1)
    return Fraction(value, sizes * shares * unit) / most


def value(stat: str, totals: Sequence[Any], rows: Rows) -> Fraction:
    """Weighted mean over lists."""
    totals = np.asarray(totals)
    each = [(of_list(stat, blocks(totals[own], y, weight)), share) for own, y, weight, share in rows.lists]
    terms = [(found, share) for found, share in each if found is not None]
    return sum((found * share for found, share in terms), Fraction(0)) / sum(share for _, share in terms)


def means(one: Any, question: Any) -> bool:
    """Whether a text of a rule means the question: as a column or itself."""
    return one in (question.column, str(question))


def sets_of(given: Any) -> list[list[Any]]:
    """A rule that is one set, or several."""
    own = list(given)
    return [own] if own and isinstance(own[0], str) else own


def allowed(
    asked: Sequence[Any],
    points: Sequence[int],
    must: Any = (),
    never: Any = (),
    at_least_one: Any = (),
    not_both: Any = (),
    together: Any = (),
    max_columns: Any = None,
    one_per_column: Any = False,
    max_total: Any = math.inf,
) -> bool:
    """Whether a card may ask these questions with these points."""

    def count(one_set: Sequence[Any]) -> int:
        return sum(any(means(one, question) for question in asked) for one in one_set)

    columns = {question.column for question in asked}
    signs = {(question.column, point > 0) for question, point in zip(asked, points)}
    return (
        all(count([one]) for one in must)
        and not count(never)
        and all(count(one) for one in sets_of(at_least_one))
        and all(count(one) <= 1 for one in sets_of(not_both))
        and all(count(one) in (0, len(one)) for one in sets_of(together))
        and len(columns) <= (max_columns or len(columns))
        and sum(max(0, point) for point in points) <= max_total
        and len(columns) >= {True: len(asked), "monotone": len(signs)}.get(one_per_column, 0)
    )


def domain(points: Any) -> list[int]:
    """Points by what a user gives."""
    if isinstance(points, int):
        points = (-points, points)
    return [one for one in (range(points[0], points[1] + 1) if isinstance(points, tuple) else points) if one]


def domains(questions: Sequence[Any], points: Any, bounds: Any = None, signs: Any = None) -> list[list[int]]:
    """Points of each question."""
    found = []
    for question in questions:
        own = domain(points)
        for one, given in (bounds or {}).items():
            own = domain(given) if means(one, question) else own
        for one, sign in (signs or {}).items():
            own = [point for point in own if point * sign > 0] if means(one, question) else own
        found.append(own)
    return found


def cards(
    questions: Sequence[Any],
    X: pd.DataFrame,
    size: int,
    points: Any,
    bounds: Any = None,
    signs: Any = None,
    **rules: Any,
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], np.ndarray]]:
    """Numbers of the questions, points and totals of every card that the rules allow."""
    table = np.array([answers(question, X) for question in questions]).astype(int)
    every = domains(questions, points, bounds, signs)
    for s in range(1, min(size, len(questions)) + 1):
        for members in combinations(range(len(questions)), s):
            asked, answered = [questions[j] for j in members], table[list(members)]
            if allowed(asked, (), **{**rules, "one_per_column": rules.get("one_per_column") is True}):
                for own in product(*(every[j] for j in members)):
                    if allowed(asked, own, **rules):
                        yield members, own, np.array(own) @ answered


def enumerated(
    questions: Sequence[Any],
    rows: Rows,
    stat: str,
    size: int,
    points: Any,
    *,
    keeps: Callable[[Sequence[int]], bool] = lambda order: True,
    idle: bool = True,
    **rules: Any,
) -> list[Card]:
    """Every card that rules and limits allow; with ``idle=False`` those of which no question can be left out."""
    orders, known, found = {}, {}, []
    for members, own, totals in cards(questions, rows.X, size, points, **rules):
        place = {total: number for number, total in enumerate(sorted(set(totals.tolist())))}
        order = orders[members, own] = tuple(place[total] for total in totals.tolist())
        shorter = ((members[:i] + members[i + 1 :], own[:i] + own[i + 1 :]) for i in range(len(members)))
        if not idle and any(orders.get(one) == order for one in shorter):
            continue
        if order not in known:
            known[order] = value(stat, order, rows) if keeps(order) else None
        if known[order] is not None:
            found.append(Card(members, own, known[order], order))
    return found


def keeper(
    rows: Rows,
    *,
    cut: Any = None,
    sensitivity: Any = 0,
    specificity: Any = 0,
    precision: Any = 0,
    flagged: Any = 1,
    flagged_gap: Any = 1,
    sensitivity_gap: Any = 1,
    auc_inside: Any = 0,
    quota: tuple[int, str, int] | None = None,
) -> Callable[[Sequence[int]], bool]:
    """Whether a card with these totals keeps limits; numbers are texts or fractions."""
    n = len(rows.y)
    y = np.asarray(rows.y)
    weight = np.ones(n) if rows.weight is None else rows.weight
    kinds = np.array(["A"] * n) if rows.people is None else rows.people
    limits = [Fraction(one) for one in (sensitivity, flagged, flagged_gap, sensitivity_gap, auc_inside)]

    def rows_of(which: np.ndarray) -> Fraction:
        return Fraction(weight[which].sum())

    def fits(flags: np.ndarray) -> bool:
        shares = [
            [rows_of(flags & own) / rows_of(own) for own in each if rows_of(own)]
            for each in ([kinds == kind for kind in set(kinds)], [(kinds == kind) & (y == 1) for kind in set(kinds)])
        ]
        return (
            rows_of(flags & (y == 1)) / rows_of(y == 1) >= limits[0]
            and rows_of(~flags & (y == 0)) / rows_of(y == 0) >= Fraction(specificity)
            and rows_of(flags & (y == 1)) >= Fraction(precision) * rows_of(flags)
            and rows_of(flags) / rows_of(y >= 0) <= limits[1]
            and max(shares[0]) - min(shares[0]) <= limits[2]
            and max(shares[1]) - min(shares[1]) <= limits[3]
        )

    def keeps(order: Sequence[int]) -> bool:
        totals = np.asarray(order)
        for kind in set(kinds):
            own = kinds == kind
            area = of_list("auc", blocks(totals[own], y[own], weight[own]))
            if area is not None and area < limits[4]:
                return False
        if quota is not None:
            least, kind, left = quota[0], quota[1], Fraction(quota[2])
            surely = Fraction(0)
            for total in sorted(set(order), reverse=True):
                block = totals == total
                taken = min(left, rows_of(block))
                surely += max(Fraction(0), taken - rows_of(block & (kinds != kind)))
                left -= taken
            if surely < least:
                return False
        cuts = [totals >= total for total in sorted(set(order), reverse=True)]
        if cut is None and limits[:4] == [0, 1, 1, 1] and not (Fraction(specificity) or Fraction(precision)):
            return True
        if cut not in (None, "free"):
            most = Fraction(cut[4:]) if isinstance(cut, str) else Fraction(str(cut)) * rows_of(y >= 0)
            cuts = [flags for flags in cuts if rows_of(flags) <= most][-1:]
        return any(fits(flags) for flags in cuts)

    return keeps


def of_case(case: Any) -> Rows:
    """The rows of a case of :mod:`tests.cases.cards`."""
    qid, by_row = case.given.get("qid"), case.given.get("query_weight")
    return Rows(
        pd.DataFrame(case.X, columns=[f"x{j}" for j in range(case.X.shape[1])]),
        case.y,
        case.given.get("sample_weight"),
        qid,
        None if by_row is None else dict(zip(qid, by_row)),
        case.given.get("people"),
    )


def cards_of(case: Any, questions: Sequence[Any]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], np.ndarray]:
    """Totals of every card of a case that keeps its rules and its AUC among each kind of people."""
    asked = {name: own for name, own in case.asked.items() if name not in ("stat", "n_questions", "constraints")}
    least = case.asked.get("constraints", ["auc inside >= 0"])[0].split()[-1]
    rows = of_case(case)
    keeps = keeper(rows, auc_inside=least)
    found = cards(questions, rows.X, case.asked["n_questions"], **asked)
    return {(members, own): totals for members, own, totals in found if keeps(totals)}


def best_of(case: Any, questions: Sequence[Any], worth: Callable[[Any], Any] | None = None) -> Any:
    """The largest value of a card of a case, None if none is allowed."""
    rows = of_case(case)
    worth = worth or (lambda totals: value("auc", totals, rows))
    orders = {
        np.unique(totals, return_inverse=True)[1].tobytes(): totals for totals in cards_of(case, questions).values()
    }
    return max(map(worth, orders.values()), default=None)


def pessimistic(y: Any, coefficients: Sequence[float]) -> Callable[[Any], float]:
    """Sum over the relevant rows of what their places pay, from the top, tied relevant rows last."""

    def worth(totals: Any) -> float:
        order = np.lexsort((y, -np.asarray(totals)))
        return sum(pay for pay, row in zip(coefficients, order) if y[row])

    return worth


def wilson(share, rows):
    """The shares whose own standard error lies 1.96 times between them and this share, by the quadratic formula."""
    z = 1.959963984540054
    ends = np.roots([rows + z * z, -(2 * rows * share + z * z), rows * share * share])
    return np.clip(sorted(ends.real), 0, 1)


def pools(totals):
    """For each total relevant rows and rows of all totals with its risk."""
    return [tuple(sum(one[j] for one in totals if one.risk == own.risk) for j in (1, 2)) for own in totals]
