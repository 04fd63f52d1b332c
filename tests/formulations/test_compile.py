"""From a Pyomo model to arrays: every number and name where it belongs, for our models and for extended ones."""

from types import SimpleNamespace

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import strategies as st
from pyomo.dae import ContinuousSet
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements
from pyomo.network import Port

from formulations import mixed, pairwise, subrank
from formulations.compile import Program, compile_model, variables_of
from formulations.errors import FormulationError
from rerank.solvers import highs
from tests.cases.examples import examples
from tests.cases.programs import draw
from tests.oracles import programs as oracle

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


def small():
    model = pyo.ConcreteModel("small")
    model.w = pyo.Var([0, 1, 2], bounds=(-1, 1))
    model.n = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.free = pyo.Var()
    model.total = pyo.Objective(expr=2 * model.w[0] - model.n + 5, sense=pyo.maximize)
    model.below = pyo.Constraint(expr=model.w[0] + 3 * model.n <= 4)
    model.above = pyo.Constraint(expr=model.w[0] - model.free + 1 >= 2)
    model.equal = pyo.Constraint(expr=model.n == 2 * model.free)
    model.between = pyo.Constraint(expr=(-1, model.w[0] + model.free, 1))
    return model


def test_a_small_model_by_hand():
    p = compile_model(small())
    assert p.columns == ("x0", "x1", "x2", "x3", "x4") and p.weights.tolist() == [0, 1, 2]
    assert p.cost.tolist() == [2, 0, 0, -1, 0] and p.constant == 5.0
    assert p.matrix.toarray().tolist() == [
        [1, 0, 0, 3, 0],
        [1, 0, 0, 0, -1],
        [0, 0, 0, 1, -2],
        [1, 0, 0, 0, 1],
        [1, 0, 0, 0, 1],
    ]
    # The row with two sides is two rows, because files carry it so.
    assert p.row_lower.tolist() == [-np.inf, 1, 0, -np.inf, -1]
    assert p.row_upper.tolist() == [4, np.inf, 0, 1, np.inf]
    assert p.lower.tolist() == [-1, -1, -1, 0, -np.inf] and p.upper.tolist() == [1, 1, 1, np.inf, np.inf]
    assert p.integer.tolist() == [False, False, False, True, False]


def test_fixed_and_unused_columns_keep_their_place():
    model = small()
    model.w[0].fix(0.5)
    p = compile_model(model)
    assert (p.lower[0], p.upper[0], p.cost[0]) == (0.5, 0.5, 0.0) and p.constant == 6.0
    assert p.row_upper[0] == 3.5 and len(p.columns) == 5


@pytest.mark.parametrize("count", [0, 2])
def test_a_program_has_one_objective(count):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    for number in range(count):
        model.add_component(f"o{number}", pyo.Objective(expr=model.x))
    with pytest.raises(FormulationError, match=f"{count} active objectives"):
        compile_model(model)


@examples(25, st.integers(0, 10_000), st.integers(0, 2**32 - 1))
def test_arrays_say_what_the_model_says(seed, stream):
    """Slow twin: Pyomo evaluates its own expressions at a random point."""
    case = draw(seed)
    rng = np.random.default_rng(stream)
    for name in case.names:
        model = case.build(name)
        p = compile_model(model)
        variables = [data for block in model.component_objects(pyo.Var) for data in block.values()]
        x = rng.normal(size=len(variables))
        for data, value in zip(variables, x, strict=True):
            data.set_value(value, skip_validation=True)
        assert p.objective(x) == pytest.approx(pyo.value(model.statistic))
        rows = [c for block in model.component_objects(pyo.Constraint) for c in block.values()]
        assert len(rows) == len(p.rows)
        activity = p.matrix @ x
        # Both sides add up the same terms in another order: n terms differ by n units of rounding of their sizes.
        sizes = np.diff(p.matrix.tocsr().indptr) * (abs(p.matrix) @ abs(x)) * np.finfo(float).eps
        for row, found, low, high, size in zip(rows, activity, p.row_lower, p.row_upper, sizes, strict=True):
            shift = pyo.value(row.body) - found
            close = max(1e-12, 2 * float(size))
            for ours, theirs, none in ((low, row.lower, -np.inf), (high, row.upper, np.inf)):
                wanted = none if theirs is None else pyo.value(theirs)
                assert ours + shift == pytest.approx(wanted, abs=close)


def test_short_names_say_which_pair_and_level():
    p = compile_model(subrank.build([[0.0], [0.5], [1.0]], [0, 1, 0], [0.0, 1.0, 3.0], C=0.1, name="three"))
    assert p.name == "three"
    assert p.columns == ("w0", "g0", "z1_0", "z1_2", "s1", "t1_2", "t1_3")
    assert p.rows == ("U0", "D0", "M1_0", "M1_2", "S1", "R1", "O1_3")


def test_pair_rows_are_divided_by_their_big_m():
    p = compile_model(pairwise.build([[0.0, 1.0], [1.0, 0.75]], ([[0, 1]], [1.0]), epsilon=0.25))
    # M = 1.25 + .25: z - w.(x_0 - x_1) / 1.5 <= 1.25 / 1.5
    assert p.matrix.toarray()[0] == pytest.approx([1 / 1.5, -0.25 / 1.5, 1.0])
    assert p.row_upper.tolist() == pytest.approx([1.25 / 1.5])


def test_a_limit_on_features_shortens_the_big_m():
    X = [[0.0, 0.0, 0.0], [1.0, -0.5, 0.25]]
    p = compile_model(pairwise.build(X, ([[0, 1]], [1.0]), epsilon=0.25, max_features=2))
    row = p.rows.index("M0_1")
    assert p.row_upper[row] == pytest.approx(1.5 / 1.75)


def test_a_weight_that_cannot_be_zero_uses_up_the_limit():
    X = [[0.0, 0.0, 0.0], [1.0, -0.5, 0.25]]
    box = ([-1.0, 0.25, -1.0], [1.0, 1.0, 1.0])
    p = compile_model(pairwise.build(X, ([[0, 1]], [1.0]), epsilon=0.25, max_features=1, box=box))
    # Only w_1 may differ from 0, so w.(x_0 - x_1) lies between .125 and .5.
    assert p.matrix.toarray()[p.rows.index("M0_1")].tolist()[:3] == pytest.approx([4.0, -2.0, 1.0])
    assert p.row_upper[p.rows.index("M0_1")] == pytest.approx(0.0)


def test_a_model_extended_by_its_user_still_compiles():
    model = subrank.build([[0.0, 0.1], [0.5, 0.2], [1.0, 0.9]], [0, 1, 0], [1.0, 2.0, 3.0])
    model.share = pyo.Var(["a", "b"], bounds=(0, 1))
    model.balance = pyo.Constraint(expr=model.w[0] + model.w[1] == model.share["a"] - model.share["b"])
    model.heavy = pyo.Constraint(expr=model.w[1] >= 0.9)
    model.inner = pyo.Block()
    model.inner.z = pyo.Var([(1, 0)], domain=pyo.Binary)
    model.inner.cap = pyo.Constraint(expr=model.inner.z[1, 0] + model.share["a"] <= 1)
    p = compile_model(model)
    # A component of a sub-block does not take the name of one of ours.
    numbered = [name for name in p.columns if name.startswith("x")]
    assert len(set(p.columns)) == len(p.columns) and len(numbered) == 3 and "z1_0" in p.columns
    assert [name for name in p.rows if name.startswith("c")] == [f"c{len(p.rows) - k}" for k in (3, 2, 1)]
    # Without the new rows w = (1, -1) would win both pairs.
    assert oracle.solve(p)[0] == pytest.approx(2.0)


def test_indices_too_long_for_a_file_are_numbered():
    model = subrank.build([[0.0], [1.0]], [0, 1], [1.0, 2.0])
    model.t2 = pyo.Var([123456789012345678], bounds=(0, 1))
    model.t2_row = pyo.Constraint(expr=model.t2[123456789012345678] <= model.w[0])
    model.rerank_info.short["t2"] = "t"
    assert compile_model(model).columns[-1] == "x4"


def test_names_that_collide_beyond_repair_are_refused():
    model = pyo.ConcreteModel()
    model.w = pyo.Var([0, 3], bounds=(0, 1))
    model.o = pyo.Objective(expr=model.w[0] + model.w[3])
    model.other = pyo.Var([7, 8], bounds=(0, 1))
    # Columns 2 and 3 have no short name and are numbered, but x3 is already the name of a weight.
    model.rerank_info = SimpleNamespace(short={"w": "x"})
    with pytest.raises(FormulationError, match="collide with its numbered names"):
        compile_model(model)


def test_violation_finds_the_worst_of_rows_bounds_and_integrality():
    p = compile_model(small())
    inside = np.array([0.5, 0.0, 0.0, 0.0, 0.0])
    # Only w0 - free >= 1 is missed, by 1/2.
    assert p.violation(inside) == 0.5
    inside[4] = -0.5
    assert p.violation(inside) == 1.0  # now n == 2 free is missed by 1
    assert p.violation([0.5, 0.0, -1.25, 0.0, 0.0]) == 0.5
    assert p.violation([0.5, 0.0, -1.75, 0.0, 0.0]) == 0.75
    assert p.violation([1.0, 0.0, 0.0, 0.375, 0.0]) == 0.375
    empty = np.empty(0)
    sides, none = (empty,) * 4, empty.astype(bool)
    nothing = Program("none", empty, 0.0, p.matrix[:0, :0], *sides, none, (), (), p.weights[:0])
    assert nothing.violation(empty) == 0.0


def test_bounds_can_be_exchanged_and_must_fit():
    p = compile_model(small())
    q = p.with_bounds(p.lower + 0.5, p.upper)
    assert q.lower[0] == -0.5 and p.lower[0] == -1.0 and q.matrix is p.matrix
    with pytest.raises(FormulationError, match="give 5 of each"):
        p.with_bounds(p.lower[:2], p.upper)


def test_values_by_name_make_a_vector():
    p = compile_model(small())
    assert p.vector({"x3": 2.0, "x0": 1.0}).tolist() == [1.0, 0.0, 0.0, 2.0, 0.0]
    with pytest.raises(FormulationError, match="'y9' is no column of 'small'"):
        p.vector({"y9": 1.0})


def fixed_at_nothing_on_a_block_that_is_off(model):
    model.b = pyo.Block()
    model.b.z = pyo.Var(bounds=(0, 1))
    model.c = pyo.Constraint(expr=model.x + model.b.z <= 1)
    model.b.deactivate()
    model.b.z.fix(None, skip_validation=True)


def other_model(model):
    stranger = pyo.ConcreteModel()
    stranger.z = pyo.Var(bounds=(0, 1))
    model.c = pyo.Constraint(expr=model.x + stranger.z <= 1)


def unset_parameter(model):
    model.p = pyo.Param(mutable=True)
    model.c = pyo.Constraint(expr=model.p * model.x <= 1)


def unset_bound(model):
    model.p = pyo.Param(mutable=True)
    model.z = pyo.Var(bounds=(0, model.p))


def not_a_number(model):
    model.p = pyo.Param(mutable=True, initialize=float("nan"), within=pyo.Any)
    model.row = pyo.Constraint(expr=model.p * model.x <= 1)


def complementarity(model):
    model.z = pyo.Var(bounds=(0, 1))
    model.pair = Complementarity(expr=complements(model.x >= 0, model.z >= 0))


def logical(model):
    model.yes = pyo.BooleanVar()
    model.must = pyo.LogicalConstraint(expr=model.yes)


def add(name, made):
    return lambda model: model.add_component(name, made(model))


def fixed(value, **options):
    def change(model):
        model.z = pyo.Var(**options)
        model.z.fix(value, skip_validation=True)

    return change


def domain(*values):
    def change(model):
        model.points = pyo.Set(initialize=values)
        model.z = pyo.Var(domain=model.points)

    return change


WRONG = {
    "halves": (domain(-0.5, 0.5), "'z' has the domain 'points'"),
    "even": (add("z", lambda m: pyo.Var(domain=pyo.RangeSet(0, 10, 2))), "'z' has the domain"),
    "any": (add("z", lambda m: pyo.Var(domain=pyo.Any)), "'z' has the domain 'Any'"),
    "union": (add("z", lambda m: pyo.Var(domain=pyo.RangeSet(0, 1, 0) | pyo.RangeSet(5, 6, 0))), "'z' has the domain"),
    "crossed": (add("z", lambda m: pyo.Var(bounds=(2, 1))), "'z' has no value between its bounds"),
    "nothing whole": (add("z", lambda m: pyo.Var(domain=pyo.Integers, bounds=(0.25, 0.75))), "'z' has no value"),
    "fixed at a half": (fixed(0.5, domain=pyo.Binary), "'z' is fixed at 0.5"),
    "fixed at nothing": (fixed(None), "'z' is fixed at None"),
    "no value on a block that is off": (fixed_at_nothing_on_a_block_that_is_off, "no linear program: .*'b.z'"),
    "another model": (other_model, "'z' stands in the program, but on no active block"),
    "unset parameter": (unset_parameter, "no linear program: .*Param"),
    "unset bound": (unset_bound, "'z' has no bounds: .*Param"),
    "not a number": (not_a_number, "no linear program: .*'p' evaluated to"),
    "square": (add("c", lambda m: pyo.Constraint(expr=m.x**2 <= 1)), r"\(c\) contains nonlinear"),
    "complementarity": (complementarity, "'pair' is a Complementarity"),
    "logical": (logical, "'yes' is a BooleanVar, .* or delete it"),
    "piecewise": (
        add("p", lambda m: pyo.Piecewise(m.x, m.x, pw_pts=[0, 1, 2], f_rule=[0, 2, 1], pw_constr_type="EQ")),
        "'p.*' is a SOSConstraint",
    ),
}


def one_variable():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 2))
    model.o = pyo.Objective(expr=model.x, sense=pyo.maximize)
    return model


@pytest.mark.parametrize("name", WRONG)
def test_what_no_linear_program_holds_is_refused_by_name(name):
    model = one_variable()
    change, words = WRONG[name]
    change(model)
    with pytest.raises(FormulationError, match=words) as caught:
        compile_model(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", [None, "part"])
def test_a_variable_in_the_place_of_ours_is_refused_by_name(part):
    """Rows still hold the one that was replaced, also in a model that is a block of another."""
    model = program = mixed.build([[0.0, 0.1], [0.5, 0.2], [1.0, 0.9]], [0, 1, 0], [1.0, 2.0, 3.0])
    if part:
        model = one_variable()
        program.statistic.deactivate()
        model.part = program
    program.del_component("c")
    program.c = pyo.Var(bounds=(0, 1))
    program.c = pyo.Var(bounds=(0, 1))
    with pytest.raises(FormulationError, match="'c' is a Var of yours, .* give yours another name"):
        compile_model(model)


@pytest.mark.parametrize(("name", "value"), [("w", 0.5), ("z", 0.0)])
def test_a_variable_that_is_fixed_makes_the_program_that_bounds_make(name, value):
    made = [subrank.build([[0.0, 0.1], [0.5, 0.2], [1.0, 0.9]], [0, 1, 0], [1.0, 2.0, 3.0]) for _ in "12"]
    first, second = (next(iter(model.component(name).values())) for model in made)
    first.fix(value)
    second.setlb(value)
    second.setub(value)
    fixed, bounded = map(compile_model, made)
    assert first.fixed and fixed.lower.tolist() == bounded.lower.tolist()
    assert (fixed.matrix != bounded.matrix).nnz == 0 and fixed.row_upper.tolist() == bounded.row_upper.tolist()
    assert (fixed.cost.tolist(), fixed.constant) == (bounded.cost.tolist(), bounded.constant)


@pytest.mark.parametrize("how", ["bigm", "hull"])
def test_disjuncts_that_were_transformed_are_rows_and_columns(how):
    model = one_variable()
    model.either, model.inner = Disjunct([0, 1]), Disjunct([0, 1])
    model.either[0].local = pyo.Var(bounds=(0, 0.5))
    model.either[0].row = pyo.Constraint(expr=model.x <= model.either[0].local)
    for j, (low, high) in enumerate([(1.0, 1.25), (1.75, 1.8)]):  # one disjunction in the other
        model.inner[j].row = pyo.Constraint(expr=(low, model.x, high))
    model.either[1].which = Disjunction(expr=[model.inner[0], model.inner[1]])
    model.choice = Disjunction(expr=[model.either[0], model.either[1]])
    model.not_last = pyo.Constraint(expr=model.inner[1].binary_indicator_var == 0)
    pyo.TransformationFactory(f"gdp.{how}").apply_to(model)
    program = compile_model(model)
    assert oracle.solve(program)[0] == pytest.approx(1.25) and len(variables_of(model)) == len(program.columns)


OTHER_KINDS = {
    "parameter": lambda model: pyo.Param([0, 1], initialize=3.0, mutable=True),
    "set": lambda model: pyo.Set(initialize=[1, 2]),
    "block": lambda model: pyo.Block(),
    "expression": lambda model: pyo.Expression(expr=2 * model.x),
    "row": lambda model: pyo.Constraint(expr=model.x <= 1),
    "times": lambda model: ContinuousSet(bounds=(0, 1)),
    "port": lambda model: Port(initialize={"flow": model.x}),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_only_variables_named_w_are_weights_and_what_says_nothing_is_taken(kind):
    model = one_variable()
    model.w = OTHER_KINDS[kind](model)
    program = compile_model(model)
    assert (program.columns, program.weights.size) == (("x0",), 0)


@pytest.mark.parametrize("name", ["complementarity", "logical", "piecewise", "square"])
def test_what_was_refused_may_be_deactivated_as_advised(name):
    model = one_variable()
    WRONG[name][0](model)
    for component in list(model.component_objects(descend_into=False)):
        if component.name not in ("x", "o") and hasattr(component, "deactivate"):
            component.deactivate()
        elif component.ctype is pyo.BooleanVar:
            model.del_component(component)
    assert compile_model(model).cost[0] == 1


def test_a_reference_makes_no_columns():
    model = small()
    wanted = compile_model(model)
    model.view, model.part = pyo.Reference(model.w), pyo.Reference(model.w[:])
    model.inner = pyo.Block([1, 2])
    model.inner[1].same = pyo.Reference(model.w)
    model.cap = pyo.Constraint(expr=model.view[0] + model.inner[1].same[1] <= 1)
    found = compile_model(model)
    assert found.columns == wanted.columns and found.weights.tolist() == wanted.weights.tolist()
    assert found.matrix.toarray()[-1].tolist() == [1, 1, 0, 0, 0]
    built = subrank.build([[0.0], [0.5], [1.0]], [0, 1, 0], [0.0, 1.0, 3.0])
    built.view = pyo.Reference(built.w)
    assert [compile_model(built).columns[j] for j in compile_model(built).weights] == ["w0"]


def test_bounds_of_a_whole_number_are_rounded_inwards_and_a_binary_has_its_own():
    model = one_variable()
    model.n = pyo.Var(domain=pyo.Integers, bounds=(-1.5, 2.5))
    model.b = pyo.Var(domain=pyo.Binary, bounds=(-3, 5))
    model.inner = pyo.Block([1])
    model.inner[1].k = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.notes = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    p = compile_model(model)
    assert p.lower.tolist() == [0, -1, 0, 0] and p.upper.tolist() == [2, 2, 1, np.inf]
    assert p.integer.tolist() == [False, True, True, True]


def test_another_objective_has_its_own_sense_and_none_of_our_constant():
    X, y = [[0.0], [0.5], [1.0]], [0, 1, 0]
    model = subrank.build(X, y, [1.0, 2.0, 4.0])
    assert compile_model(model).constant == 1.0 and not compile_model(model).minimises
    model.statistic.deactivate()
    model.least = pyo.Objective(expr=model.w[0] + 2)
    p = compile_model(model)
    outcome = highs.solve(p)
    assert (p.constant, p.minimises) == (-2.0, True)
    assert outcome.objective == outcome.bound == pytest.approx(1.0) and outcome.gap == 0
