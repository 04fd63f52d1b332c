"""The program of a card: one optimum with the search and enumeration, as fractions, whoever solves it."""

import json
import math
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import card as cards
from formulations import mixed, mps
from formulations.compile import compile_model
from formulations.errors import FormulationError, ModelTooLarge
from rerank.errors import InputError, NotSupportedError
from rerank.scorecard import Scorecard
from tests.cases.cards import draw
from tests.cases.refuses import refuses
from tests.oracles.programs import solve
from tests.scorecard import oracle
from tests.scorecard.agreement import check, solved


@pytest.mark.parametrize("seed", range(24))
def test_search_program_enumeration_and_verification_agree(seed, tmp_path):
    check(draw(seed, ruled=seed % 2 == 1, rows=18, most=5), tmp_path, ("highs", "scip") if seed < 4 else ("highs",))


@pytest.mark.parametrize("seed", range(4))
def test_a_limit_of_the_largest_total_is_in_the_program(seed, tmp_path):
    case = draw(seed, rows=18, most=5)
    free = sum(point for point in case.fit().card_.points if point > 0)
    limited = replace(case, asked=case.asked | {"max_total": max(1, free - 1)})
    check(limited, tmp_path, ("highs",))
    assert sum(point for point in limited.fit().card_.points if point > 0) <= max(1, free - 1)


def column_points(card):
    """Points by candidate, 0 for those that the card does not ask."""
    points = dict(zip(card.card_.questions, card.card_.points))
    return [points.get(question, 0) for question in card.questions_]


@pytest.mark.parametrize("seed", range(100, 116))
def test_a_card_is_a_point_of_its_program_and_has_its_value_there(seed):
    case = draw(seed, ruled=True, rows=60, most=12)
    try:
        card = case.fit()
    except InputError:
        pytest.skip("no card keeps the rules")
    model = card.build_model()
    program = compile_model(model)
    x = program.vector(cards.assignment(model, column_points(card)).values)
    assert program.violation(x) < 1e-9
    assert program.objective(x) == pytest.approx(card.result_.value, abs=1e-12)


@pytest.mark.parametrize("ties", ["average", "pessimistic"])
def test_the_model_is_in_the_unit_of_the_statistic_names_its_questions_and_pickles(ties):
    card = draw(2, rows=18, most=5).fit()
    model = pickle.loads(pickle.dumps(card.build_model(ties)))
    assert list(model.rerank_info.columns.values()) == list(map(str, card.questions_))
    for block in model.component_objects((pyo.Var, pyo.Constraint, pyo.Objective)):
        assert block.doc.startswith("ours: "), block.name
    value, x = solve(compile_model(model))
    columns = [data for block in model.component_objects(pyo.Var) for data in block.values()]
    for data, at in zip(columns, x, strict=True):
        data.set_value(at, skip_validation=True)
    assert pyo.value(model.statistic) == pytest.approx(value)
    equal = value == pytest.approx(card.result_.value, abs=1e-6)
    assert equal or (ties == "pessimistic" and value < card.result_.value)


@pytest.mark.parametrize("seed", range(1, 28, 2))
def test_the_rows_allow_what_the_rules_allow(seed):
    """Of all cards of a small table, those that break a rule included; allowed ones have their value in the program."""
    case = draw(seed, ruled=True, rows=16, most=4)
    try:
        card = case.fit()
    except InputError:
        pytest.skip("no card keeps the rules")
    model, rows = card.build_model(), oracle.of_case(case)
    program, allowed = compile_model(model), oracle.cards_of(case, card.questions_)
    for members, points in oracle.cards_of(replace(case, asked={"n_questions": 3, "points": 3}), card.questions_):
        w = np.zeros(len(card.questions_))
        w[list(members)] = points
        values = cards.assignment(model, w).values
        kept = values is not None and program.violation(program.vector(values)) < 1e-9
        assert kept == ((members, points) in allowed), (members, points)
        if kept:
            worth = float(oracle.value("auc", allowed[members, points], rows))
            assert program.objective(program.vector(values)) == pytest.approx(worth, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stat", ["precision@3", "dcg@4", "auc"])
def test_with_pessimistic_ties_the_optimum_is_that_of_enumeration(seed, stat, tmp_path):
    case = draw(seed, ruled=seed % 2 == 1, rows=14, most=4)
    case.given.pop("qid", None)
    case.given.pop("query_weight", None)
    case.given.pop("sample_weight", None)
    case.asked.pop("constraints", None)
    try:
        card = case.fit(stat=stat)
    except InputError:
        pytest.skip("no card keeps the rules")
    n, relevant = len(case.y), int(case.y.sum())
    pays = {
        "precision@3": [1.0] * 3 + [0.0] * n,
        "dcg@4": [1 / math.log2(place + 2) for place in range(4)] + [0.0] * n,
        "auc": [n - 1.0 - place for place in range(n)],
    }[stat]

    def shown(total):
        inside = relevant * (relevant - 1) / 2
        return (total - inside) / (relevant * (n - relevant)) if stat == "auc" else total

    worth = oracle.pessimistic(case.y, pays)
    best = shown(oracle.best_of(case, card.questions_, worth))
    path, _ = card.export_mps(tmp_path / "card.mps", ties="pessimistic")
    points, objective = solved(path, "highs")
    assert objective == pytest.approx(best, abs=1e-6)
    totals = points @ np.array([oracle.answers(one, oracle.of_case(case).X) for one in card.questions_])
    assert shown(worth(totals)) == pytest.approx(best, abs=1e-12)


def test_pessimistic_ties_with_lists_and_weights():
    X = np.array([[1.0], [0.0], [1.0], [0.0], [0.0], [1.0]])
    y, qid = [1, 0, 0, 1, 0, 1], ["a", "a", "a", "b", "b", "b"]
    card = Scorecard("dcg@1", n_questions=1, points=1, validation=None).fit(
        X, y, qid=qid, sample_weight=[2, 1, 1, 1, 2, 1], query_weight=[3, 3, 3, 1, 1, 1]
    )
    # List a, three of the four groups: a relevant row ties with another one, which comes first. List b: b's first.
    value, _ = solve(compile_model(card.build_model(ties="pessimistic")))
    assert value == pytest.approx(1 / 4)


def test_the_file_says_what_its_columns_mean(tmp_path):
    card = draw(3).fit()
    path, beside = card.export_mps(tmp_path / "card.mps", name="a_card")
    program = mps.read(path)
    own = compile_model(card.build_model(name="a_card"))
    assert program.columns == own.columns and (program.matrix != own.matrix).nnz == 0 and program.name == "a_card"
    assert [program.columns[j] for j in program.weights] == [f"w{j}" for j in range(len(card.questions_))]
    assert program.integer.all()
    data = json.loads(Path(beside).read_text())["data"]
    assert data == {"questions": list(map(str, card.questions_)), "statistic": "auc", "ties": "average"}


def test_a_file_of_another_kind_beside_the_program_stays(tmp_path):
    (tmp_path / "card.json").write_text("[1]")
    refuses("cannot be exported", draw(3).fit().export_mps, tmp_path / "card.mps")
    assert (tmp_path / "card.json").read_text() == "[1]" and not (tmp_path / "card.mps").exists()


def test_every_family_of_a_model_is_stated_in_the_docstring():
    rng = np.random.default_rng(0)
    X, y, people = rng.integers(0, 2, (20, 4)), rng.integers(0, 2, 20), rng.integers(0, 2, 20)
    some = {"points": [[-2, 1, 5], [-1, 1], [1], [-1, 2]], "size": 3, "columns": [0, 0, 1, 1], "max_columns": 1}
    rules = {"needs": [([0], [1]), ([1], [0]), (None, [0, 2])], "apart": [(0, 2)]}
    built = set()
    for one, total in ((True, None), ("monotone", 4)):
        own = cards.CardRules(**rules, one_per_column=one, max_total=total, **some)
        model = cards.build(X, y, own, people=people, least_area=0.1)
        program = compile_model(model)
        assert all(re.fullmatch(r"[A-Za-z]{1,2}[\d_a-z]*", name) for name in program.columns + program.rows)
        built |= {block.name for block in model.component_objects(pyo.Constraint) if len(block)}
    terms = re.findall(r"^(``.*)\n    ", cards.__doc__, re.MULTILINE)
    stated = {name for line in terms for name in re.findall(r"``(\w+)``", line)}
    assert built == stated


def test_the_number_of_non_zeros_is_bounded_before_building():
    for seed in range(5):
        case = draw(seed, rows=40, most=8)
        X = np.column_stack([oracle.answers(one, oracle.of_case(case).X) for one in case.fit().questions_])
        y = case.y
        model = cards.build(X, y, people=np.arange(len(y)) % 2, least_area=0.4)
        pairs = sum(
            row.body.nargs()
            for block in (
                model.above,
                model.not_below,
                model.win_asked,
                model.above_if,
                model.not_below_if,
                model.area_inside,
            )
            for row in block.values()
        )
        assert pairs <= cards.most_nonzeros(X, y, people=np.arange(len(y)) % 2, least_area=0.4)
        with pytest.raises(ModelTooLarge, match="above the limit of 10"):
            cards.build(X, y, max_nonzeros=10)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"X": [[0.5], [1.0]]}, "neither 0 nor 1"),
        ({"y": [1, 2]}, "y 1 or 0"),
        ({"y": [1, 1]}, "no pair to win"),
        ({"weight": [1.0, -1.0]}, "not negative"),
        ({"qid": [1]}, "qid has shape"),
        ({"query_weight": [1.0, 2.0]}, "query_weight has shape"),
        ({"card": cards.CardRules(points=[[0]])}, "other than 0"),
        ({"card": cards.CardRules(columns=[1, 2])}, "columns has shape"),
        ({"card": cards.CardRules(needs=[(None, [4])])}, "A rule names"),
        ({"card": cards.CardRules(size=0)}, "at least one question"),
    ],
)
def test_what_cannot_be_stated_is_refused(changes, sentence):
    with pytest.raises(FormulationError, match=sentence):
        cards.build(**({"X": [[0.0], [1.0]], "y": [1, 0]} | changes))


@pytest.mark.parametrize(
    ("asked", "ties", "sentence"),
    [
        ({"stat": "dcg@3"}, "average", "in expectation"),
        ({"stat": "pauc_fpr@0.3"}, "pessimistic", "partial area"),
        ({"constraints": "flagged <= 60%"}, "average", "limits at a cut"),
        ({"constraints": "1 of 0 among the first 5"}, "average", "limits at a cut"),
    ],
)
def test_what_no_program_states_is_said_in_a_sentence(asked, ties, sentence):
    case = draw(12)
    card = Scorecard(n_questions=2, validation=None, **asked).fit(case.X, case.y, people=case.X[:, 0])
    with pytest.raises(NotSupportedError, match=sentence):
        card.build_model(ties)


def test_other_words_are_refused():
    card = draw(12).fit()
    refuses("ties is 'half'", card.build_model, "half")
    refuses("max_nonzeros", card.build_model, max_nonzeros=3)


@pytest.mark.parametrize("options", [{"points": 0}, {"points": 1.5}, {"points": 2, "corrections": ([1], [1])}])
def test_whole_number_weights_need_a_whole_number(options):
    with pytest.raises(FormulationError, match=r"points is .*; give a whole number"):
        mixed.build([[0.0], [1.0]], [1, 0], [1.0, 2.0], **options)
    with pytest.raises(FormulationError, match=r"inside \[-2, 2\]"):
        mixed.build([[0.0], [1.0]], [1, 0], [1.0, 2.0], points=2, box=([-3], [1]))
