"""Cards by enumeration on the rows: every set of questions, every vector of points, every rule in plain words."""

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np


def answers_of(case, questions):
    """Answers (questions, n) to texts such as ``x1 >= 2`` and ``x0 = 1``."""
    found = []
    for text in map(str, questions):
        name, sign, value = text.split()
        column = case.X[:, int(name[1:])]
        found.append({">=": column >= float(value), "=": column == float(value)}[sign])
    return np.array(found)


def points_of(case, text):
    """Points that a question may have, by what was asked."""
    asked = case.asked
    found = set(range(-asked["points"], asked["points"] + 1)) - {0}
    for name, own in asked.get("bounds", {}).items():
        if text == name:
            found = set(range(own[0], own[1] + 1) if isinstance(own, tuple) else own) - {0}
    for name, sign in asked.get("signs", {}).items():
        if name in (text, text.split()[0]):
            found = {point for point in found if point * sign > 0}
    return sorted(found)


def keeps_rules(case, texts, points):
    """Whether a card keeps every rule that was asked for."""
    asked, columns = case.asked, [text.split()[0] for text in texts]

    def there(one):
        return one in texts or one in columns

    if len(texts) > asked["n_questions"] or not all(map(there, asked.get("must", []))):
        return False
    if any(one in texts for one in asked.get("never", [])):
        return False
    if asked.get("at_least_one") and not any(map(there, asked["at_least_one"])):
        return False
    if sum(one in texts for one in asked.get("not_both", [])) > 1:
        return False
    pair = [one in texts for one in asked.get("together", [])]
    if any(pair) and not all(pair):
        return False
    if len(set(columns)) > (asked.get("max_columns") or 10):
        return False
    if asked.get("one_per_column") is True and len(set(columns)) < len(columns):
        return False
    if asked.get("one_per_column") == "monotone":
        signs = {(column, point > 0) for column, point in zip(columns, points)}
        return len(signs) == len(set(columns))
    return True


def area(totals, relevant, weight):
    """AUC of totals, a tie one half; None without a pair."""
    p, q = weight * relevant, weight * ~relevant
    twice = (np.sign(totals[:, None] - totals[None, :]) + 1) * p[:, None] * q[None, :]
    pairs = 2 * int(p.sum()) * int(q.sum())
    return Fraction(int(twice.sum()), pairs) if pairs else None


def value(case, totals):
    """AUC, for lists the weighted mean of theirs."""
    relevant = case.y > 0
    weight = np.asarray(case.given.get("sample_weight", np.ones(len(case.y)))).astype(int)
    lists = case.given.get("qid", np.zeros(len(case.y), int))
    shares = case.given.get("query_weight", np.ones(len(case.y)))
    total = parts = Fraction(0)
    for of in np.unique(lists):
        own = lists == of
        found = area(totals[own], relevant[own], weight[own])
        if found is not None:
            share = Fraction(float(shares[own][0]))
            total, parts = total + share * found, parts + share
    return total / parts


def keeps_people(case, totals):
    """Whether the AUC among each kind of people is as large as asked."""
    if not case.asked.get("constraints"):
        return True
    least = Fraction(case.asked["constraints"][0].split()[-1])
    weight = np.asarray(case.given.get("sample_weight", np.ones(len(case.y)))).astype(int)
    for kind in np.unique(case.given["people"]):
        own = case.given["people"] == kind
        found = area(totals[own], (case.y > 0)[own], weight[own])
        if found is not None and found < least:
            return False
    return True


def cards(case, questions):
    """Every card: its texts, points and totals."""
    texts, answers = list(map(str, questions)), answers_of(case, questions).astype(int)
    sizes = range(1, min(case.asked["n_questions"], len(texts)) + 1)
    for members in chain.from_iterable(combinations(range(len(texts)), k) for k in sizes):
        chosen = [texts[j] for j in members]
        for points in product(*(points_of(case, text) for text in chosen)):
            if keeps_rules(case, chosen, points):
                yield chosen, points, np.array(points) @ answers[list(members)]


def best(case, questions, worth=value):
    """The largest value of a card that keeps rules and limits, None if none does."""
    known, found = {}, None
    for _, _, totals in cards(case, questions):
        key = np.unique(totals, return_inverse=True)[1].tobytes()
        if key not in known:
            known[key] = worth(case, totals) if keeps_people(case, totals) else None
        if known[key] is not None and (found is None or known[key] > found):
            found = known[key]
    return found


def pessimistic(coefficients):
    """Sum over the relevant rows of what their places pay, from the top, tied relevant rows last."""

    def worth(case, totals):
        order = np.lexsort((case.y, -totals))
        return sum(pay for pay, row in zip(coefficients, order) if case.y[row])

    return worth
