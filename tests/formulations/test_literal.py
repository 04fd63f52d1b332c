"""The paper's (11)-(30), written out by hand for a small instance and compared row by row with the literal programs."""

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from scipy.optimize import Bounds, LinearConstraint, milp

from formulations import auc, mixed, resolved_rank, subrank
from formulations.compile import compile_model
from rerank.solvers import highs

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")

X = np.array([[0.0, 0.5], [0.25, 0.25], [0.5, 0.0], [0.25, 0.25], [0.125, 0.375]])
Y, POSITIVE, NEGATIVE = [1, 0, 1, 0, 1], (0, 2, 4), (1, 3)
N, D, EPSILON, C = 5, 2, 1 / 64, 0.1
A = {"dcg@3": [0.0, 0.0, 0.5, 0.63, 1.0], "mrr": [0.2, 0.25, 1 / 3, 0.5, 1.0], "auc": [1.0, 2.0, 3.0, 4.0, 5.0]}
LITERAL = {"big_m": "unit", "linking": "paper", "cuts": False}


def at_most(side, *terms):
    """A row ``sum of coefficient * variable <= side``; terms of one variable add up."""
    row = defaultdict(float)
    for coefficient, variable in terms:
        row[variable] += coefficient
    return frozenset((name, round(value, 12)) for name, value in row.items() if value), round(side, 12)


def score(i, k, sign):
    """``sign * w.(x_i - x_k)``."""
    return [(sign * float(X[i, j] - X[k, j]), f"w[{j}]") for j in range(D)]


def z(i, k):
    return f"z[{i},{k}]"


def t(i, level):
    return f"t[{i},{level}]"


def levels(a):
    return [l for l in range(2, N + 1) if a[l - 1] > a[l - 2]]


def printed_resolved_rank(a):
    """Families (12)-(20)."""
    every = [(i, k) for i in range(N) for k in range(N) if i != k]
    up = [(POSITIVE, "(18)"), (NEGATIVE, "(19)")]
    return {
        "(12)": [at_most(1 - EPSILON, (1, z(i, k)), *score(i, k, -1)) for i, k in every],
        "(13)": [at_most(0, (-1, z(i, k)), *score(i, k, 1)) for i, k in every],
        "(14)": [at_most(0, (-1, f"gamma[{j}]"), (1, f"w[{j}]")) for j in range(D)],
        "(15)": [at_most(0, (-1, f"gamma[{j}]"), (-1, f"w[{j}]")) for j in range(D)],
        "(16)": [at_most(N - 1, (-1, f"r[{i}]"), (1, f"r[{k}]"), (N, z(i, k))) for i, k in every],
        "(17)": [at_most(-1, (1, f"r[{i}]"), (-1, f"r[{k}]"), (-N, z(i, k))) for i in POSITIVE for k in NEGATIVE],
        **{
            number: [
                at_most(-1, (1, f"r[{i}]"), (-1, f"r[{k}]"), (-N, z(i, k)), (-N, z(k, i)))
                for i in rows
                for k in rows
                if i < k
            ]
            for rows, number in up
        },
        "(20)": [at_most(0, (l - 1, t(i, l)), (-1, f"r[{i}]")) for i in POSITIVE for l in levels(a)],
    }


def printed_subrank(a):
    """Families (23)-(26) and (28)."""
    beaten = {i: [(-1, z(i, k)) for k in range(N) if k != i] for i in POSITIVE}  # (30): no z_ii
    return {
        "(23)": [at_most(0, (l - 1, t(i, l)), *beaten[i]) for i in POSITIVE for l in levels(a)],
        "(24)": [at_most(1 - EPSILON, (1, z(i, k)), *score(i, k, -1)) for i in POSITIVE for k in range(N) if i != k],
        "(25)": [at_most(0, (-1, f"gamma[{j}]"), (1, f"w[{j}]")) for j in range(D)],
        "(26)": [at_most(0, (-1, f"gamma[{j}]"), (-1, f"w[{j}]")) for j in range(D)],
        "(28)": [at_most(0, (1, t(i, high)), (-1, t(i, low))) for i in POSITIVE for low, high in pairwise(levels(a))],
    }


def stated(model):
    """The inequalities of a model by the equation in their ``doc``; ``s_i`` written out by its own equation."""
    sums = {}
    if hasattr(model, "win_count"):
        for i, row in model.win_count.items():
            found = generate_standard_repn(row.body)
            terms = dict(zip((v.name for v in found.linear_vars), found.linear_coefs))
            assert terms.pop(f"s[{i}]") == 1 and pyo.value(row.upper) == 0
            sums[f"s[{i}]"] = terms
    families = {}
    for family in model.component_objects(pyo.Constraint):
        if family.name == "win_count":
            continue
        for index, row in family.items():
            found = generate_standard_repn(row.body)
            terms = []
            for coefficient, variable in zip(found.linear_coefs, found.linear_vars):
                terms += [(-coefficient * c, name) for name, c in sums.get(variable.name, {}).items()]
                terms += [] if variable.name in sums else [(coefficient, variable.name)]
            sign = 1 if row.has_ub() else -1
            side = pyo.value(row.upper if row.has_ub() else row.lower) - found.constant
            number = family.doc.split(":")[0].split(" ")[0]
            if family.doc.startswith("(18)"):
                number = "(18)" if index[0] in POSITIVE else "(19)"
            families.setdefault(number, []).append(at_most(sign * side, *((sign * c, name) for c, name in terms)))
    return families


def optimum(rows, a, whole):
    """Optimum of printed rows by another solver's interface, from the rows alone."""
    names = sorted({name for family in rows.values() for terms, _ in family for name, _ in terms})
    place = {name: j for j, name in enumerate(names)}
    matrix, sides = np.zeros((sum(map(len, rows.values())), len(names))), []
    for row, (terms, side) in zip(matrix, (one for family in rows.values() for one in family)):
        for name, value in terms:
            row[place[name]] = value
        sides.append(side)
    gain = np.zeros(len(names))
    for i in POSITIVE:
        for l in levels(a):
            gain[place[t(i, l)]] = a[l - 1] - a[l - 2]
    gain[[place[f"gamma[{j}]"] for j in range(D)]] = -C
    low = np.array([-1.0 if name.startswith("w") else 0.0 for name in names])
    high = np.array([N - 1.0 if name.startswith("r") else 1.0 for name in names])
    integer = np.array([name[0] in whole for name in names])
    answer = milp(
        -gain,
        constraints=LinearConstraint(matrix, ub=sides),
        bounds=Bounds(low, high),
        integrality=integer,
        options={"mip_rel_gap": 0},
    )
    return -answer.fun + len(POSITIVE) * a[0]


CASES = [(resolved_rank, printed_resolved_rank, {}), (subrank, printed_subrank, {"extra_cuts": True})]


@pytest.mark.parametrize("statistic", A)
@pytest.mark.parametrize(("module", "printed", "more"), CASES)
def test_every_inequality_is_there_as_printed(module, printed, more, statistic):
    a = A[statistic]
    model = module.build(X, Y, a, epsilon=EPSILON, C=C, **LITERAL, **more)
    rows, found = printed(a), stated(model)
    half = found.pop("half", [])  # (27), where ties are allowed
    assert {number for number in rows if rows[number]} == set(found)
    for number, wanted in rows.items():
        assert Counter(found.get(number, [])) == Counter(wanted), number
    assert half == (
        []
        if module is resolved_rank
        else [at_most(1, (1, z(i, k)), (1, z(k, i))) for i in POSITIVE for k in POSITIVE if i < k]
    )
    # (21), (30): domains, and no z_ii.
    assert all(v.bounds == (-1, 1) for v in model.w.values()) and all(i != k for i, k in model.z)
    for name, domain, bounds in (("z", pyo.Binary, (0, 1)), ("t", pyo.Binary, (0, 1)), ("r", pyo.Reals, (0, N - 1))):
        for data in getattr(model, name, {}).values():
            assert data.domain is domain and data.bounds == bounds
    value = highs.solve(compile_model(model)).objective
    assert value == pytest.approx(optimum(rows, a, "gzt"), abs=1e-6)
    assert pyo.value(model.statistic.expr, exception=False) is None and compile_model(model).constant == 3 * a[0]


def test_the_optional_rows_that_are_not_offered_are_two_lines():
    """(27) as an equality and (29): by hand, as docs/mathematics.md has them."""
    a = A["dcg@3"]
    model = subrank.build(X, Y, a, epsilon=EPSILON, **LITERAL, extra_cuts=True)
    before = highs.solve(compile_model(model)).objective
    both = [(i, k) for i, k in model.one_above]
    model.eq27 = pyo.Constraint(both, rule=lambda m, i, k: m.z[i, k] + m.z[k, i] == 1)
    model.eq29 = pyo.Constraint(expr=sum((a[l - 1] - a[l - 2]) * model.t[i, l] for i, l in model.t) <= sum(a))
    assert len(model.eq27) == 3 and highs.solve(compile_model(model)).objective == pytest.approx(before)


PAGE = (Path(__file__).parents[2] / "docs" / "mathematics.md").read_text(encoding="utf-8")
SIZES = re.findall(r"^\| `(\w+)`(, literal)? \| `(d \+[^`]*)` \| `([^`]*)` \| `([^`]*)` \|$", PAGE, re.MULTILINE)
MODULES = {"auc": auc, "mixed": mixed, "subrank": subrank, "resolved_rank": resolved_rank}


@pytest.mark.parametrize(("p", "q", "places", "d"), [(5, 8, 3, 2), (7, 6, 4, 3), (4, 10, 1, 2)])
def test_the_page_says_how_large_programs_are(p, q, places, d):
    assert len(SIZES) == 6
    n = p + q
    X, a = np.random.default_rng(0).random((n, d)), np.zeros(n)
    a[-places:] = 1 / np.log2(np.arange(places, 0, -1) + 1)
    for name, literal, *formulas in SIZES:
        paid = None if name == "auc" else a
        program = compile_model(MODULES[name].build(X, [1] * p + [0] * q, paid, **(LITERAL if literal else {})))
        found = [len(program.columns), int(program.integer.sum()), len(program.rows)]
        values = {"p": p, "q": q, "n": n, "d": d, "N": places}
        assert found == [eval(formula, {}, values) for formula in formulas], (name, literal)
