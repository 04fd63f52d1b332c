"""The pictures: what is drawn is what was given, and no difference is left to colour alone."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from rerank import plots
from rerank.certificate import LeafBoxes
from rerank.errors import InputError
from rerank.problem import Problem, problem_of
from rerank.problem.values import values_at
from rerank.solvers import Progress
from rerank.statistics import parse
from tests.cases.refuses import refuses

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax):
    """Draw for real: labels that matplotlib cannot place or read fail here."""
    ax.figure.canvas.draw()
    return ax


def test_matplotlib_waits_for_the_first_picture():
    code = "import sys, rerank.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_two_lists_count_what_stands_above_the_rule():
    before, after = list("abcdef"), list("cabdfe")
    names = {row: row * 3 for row in before}
    ax = drawn(plots.two_lists(before, after, relevant="cf", top=2, titles=("old", "new"), names=names))
    assert texts(ax)[0] == "old\n0 found in 2" and "new\n1 found in 2" in texts(ax)
    assert [text for text in texts(ax) if len(text) == 3 and text.isalpha()] == ["ccc", "aaa"]
    lines = [line for line in ax.lines if line.get_marker() == "None"]
    moves = {line.get_ydata()[0]: line for line in lines if line.get_xdata()[1] == 1}
    # Row c goes from 3 to 1, row f from 6 to 5; b is not relevant and falls from 2 to 3.
    assert tuple(moves[3].get_ydata()) == (3, 1) and tuple(moves[6].get_ydata()) == (6, 5)
    assert moves[3].get_linewidth() > moves[2].get_linewidth()


def test_a_relevant_row_that_falls_is_dashed():
    ax = plots.two_lists([0, 1], [1, 0], relevant=[0, 1], top=1)
    rises = {tuple(line.get_ydata()): line for line in ax.lines if line.get_marker() == "None"}
    assert rises[1, 2].is_dashed() and not rises[2, 1].is_dashed()
    assert rises[1, 2].get_color() != rises[2, 1].get_color()


@pytest.mark.parametrize(
    ("before", "after"),
    [([1, 2], [1, 3]), ([1, 2], [1]), ([1, 1], [1, 1])],
    ids=["another row", "another length", "a row twice"],
)
def test_two_lists_must_hold_the_same_rows(before, after):
    refuses("different rows", plots.two_lists, before, after, [], top=1)


def test_before_after_dashes_what_fell():
    ax = drawn(plots.before_after([1.0, 3.0, 2.0], [2.0, 1.0, 2.0], ["a", "b", "c"], unit="dcg"))
    rows = {line.get_ydata()[0]: line for line in ax.lines if len(set(line.get_ydata())) == 1}
    assert [rows[k].is_dashed() for k in range(3)] == [False, True, False]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    hollow, filled = (line for line in ax.lines if line.get_marker() == "o")
    assert hollow.get_markerfacecolor() == "white" and filled.get_markerfacecolor() == "black"
    np.testing.assert_array_equal(filled.get_xdata(), [2.0, 1.0, 2.0])


def test_a_bound_over_time_starts_where_it_is_known():
    trace = [Progress(0.1, -np.inf, np.inf, 0), Progress(0.2, -np.inf, 5.0, 1), Progress(0.4, 3.0, 4.0, 9)]
    ax = drawn(plots.bound_over_time({"a": trace, "b": trace, "nothing": []}, best=3.5, unit="dcg"))
    bound, found = ax.lines[:2]
    np.testing.assert_array_equal(bound.get_xydata(), [(0.2, 5.0), (0.4, 4.0)])
    np.testing.assert_array_equal(found.get_xydata(), [(0.4, 3.0)])
    assert bound.is_dashed() and not found.is_dashed()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "nothing"]
    assert len({line.get_marker() for line in ax.lines[:6]}) == 3 and " optimum" in texts(ax)


def test_structure_marks_every_entry_in_its_family():
    from formulations import mixed
    from formulations.compile import compile_model

    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.2], [0.3, 0.9]])
    program = compile_model(mixed.build(X, [1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0], C=0.1))
    ax = drawn(plots.structure(program))
    entries = [line for line in ax.lines if line.get_marker() in ("s", "o")]
    assert sum(line.get_xdata().size for line in entries) == program.matrix.nnz
    assert len({line.get_marker() for line in entries}) == 2
    families = [label.get_text() for label in ax.get_xticklabels()]
    assert families == list(dict.fromkeys(name.rstrip("0123456789_") for name in program.columns))
    # A column's marks stand where its family is, with as many as the matrix has.
    at_w = sum(np.count_nonzero(line.get_xdata() < 2) for line in entries)
    assert at_w == program.matrix[:, program.weights].nnz


def test_the_plane_joins_tied_rows_and_no_others():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    for w, tied, single in (([1.0, 0.0], 2, 0), ([1.0, 0.5], 0, 4), ([1.0, 1.0], 1, 2)):
        ax = drawn(plots.plane(X, [True, True, False, False], w, list("abcd"), title="t"))
        lines = [line for line in ax.lines if line.get_marker() == "None"]
        assert [sum(line.is_dashed() is dashed for line in lines) for dashed in (False, True)] == [tied, single]
        # Each line is a level set of the score.
        assert all(np.ptp(line.get_xydata() @ w) < 1e-9 for line in lines)
        fills = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
        assert fills == ["black", "black", "white", "white"]


def test_preferences_point_to_the_better_side():
    rows = [("up", 2.0, 1.0, True), ("even", 1.0, 1.0, True), ("down", 2.0, 1.0, False)]
    ax = drawn(plots.preferences(rows, ("one", "two")))
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    assert [(np.sign(arrow.xy[0]), arrow.xy[1]) for arrow in arrows] == [(-1, 0), (1, 2)]
    bold = [(text.get_text(), text.get_position()[1]) for text in ax.texts if text.get_weight() == "bold"]
    assert bold == [("2", 0), ("1", 2), ("one", -1), ("two", -1)]
    assert [line.get_ydata()[0] for line in ax.lines] == [1.5]


def test_a_picture_can_be_put_among_others(tmp_path):
    figure, (left, right) = plt.subplots(1, 2)
    assert plots.before_after([1.0], [2.0], ["a"], ax=left) is left
    assert plots.two_lists([0, 1], [1, 0], [1], top=1, ax=right) is right
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 1000


def test_dollar_signs_in_the_names_of_columns_are_no_formulas():
    names = ["price ($)_in_($)", "cost $x_$"]
    ax = drawn(plots.corrections(names, [0.2, 0.1], 0.3))
    assert {label.get_text() for label in ax.get_yticklabels()} == set(names)


def test_leads_mark_the_option_that_was_chosen():
    ax = drawn(plots.leads(["radius 0.1", "radius 0.3"], [0.5, -0.2], [0.2, np.inf], 0))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["radius 0.1, chosen", "radius 0.3"]
    intervals = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) > 0]
    np.testing.assert_allclose(intervals, [[0.5 - 1.96 * 0.2, 0.5 + 1.96 * 0.2]])
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert [mark.get_markerfacecolor() == "white" for mark in marks] == [False, True]
    kept = drawn(plots.leads(["radius 0.1"], [-0.5], [0.2]))
    assert "first stage, kept" in texts(kept)
    assert "RRF, kept" in texts(drawn(plots.leads(["radius 0.1"], [-0.5], [0.2], null="RRF")))


def test_boxes_of_weights_are_shaded_by_their_bounds():
    lower, upper = [[-1, -1], [0, -1], [0, 0]], [[0, 1], [1, 0], [1, 1]]
    names = ("of a", "of b")
    ax = drawn(plots.weight_space(lower, upper, [3.0, 1.0, 2.0], [-0.5, 0.25], names=names, unit="dcg"))
    (boxes,) = ax.collections
    found = sorted(
        (float(bound), *path.get_extents().extents.tolist())
        for bound, path in zip(boxes.get_array(), boxes.get_paths())
    )
    assert found == [(1, 0, -1, 1, 0), (2, 0, 0, 1, 1), (3, -1, -1, 0, 1)]
    # The larger bound is darker, and drawn later.
    shades = boxes.get_facecolor()[:, :3].mean(axis=1)
    assert (np.diff(boxes.get_array()) > 0).all() and (np.diff(shades) < 0).all()
    assert {tuple(line.get_xydata()[0]) for line in ax.lines} == {(-0.5, 0.25)}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim(), ax.get_ylim()) == (*names, (-1, 1), (-1, 1))
    assert ax.figure.axes[1].get_ylabel() == "dcg" and ax.figure.axes[1].get_ylim() == (1, 3)
    drawn(plots.weight_space([[0, 0]], [[1, 1]], [2.0], [0.5, 0.5]))  # one bound has no range of shades


def test_a_statistic_by_an_option_shows_both_kinds_of_rows():
    ax = plots.by_option(
        [0.03, 0.1, "free"],
        [1.0, 2.0, 3.0],
        [0.9, 1.1, 0.5],
        errors=[0.1, np.nan, 0.2],
        first_stage=(0.8, 0.95),
        name="radius",
        unit="dcg",
    )
    fitted, held_out = (line for line in drawn(ax).lines if line.get_marker() in ("o", "s"))
    np.testing.assert_array_equal(fitted.get_xydata(), [(0, 1.0), (1, 2.0), (2, 3.0)])
    np.testing.assert_array_equal(held_out.get_xydata(), [(0, 0.9), (1, 1.1), (2, 0.5)])
    assert held_out.is_dashed() and not fitted.is_dashed() and held_out.get_markerfacecolor() == "white"
    flat = [line for line in ax.lines if line.get_marker() == "None" and list(line.get_xdata()) == [0, 1]]
    lines = {line.get_ydata()[0]: line.get_linestyle() for line in flat}
    assert lines == {0.8: ":", 0.95: "-."}
    (bars,) = ax.collections
    ends = [path.vertices[:, 1] for path in bars.get_paths() if np.isfinite(path.vertices).all() and path.vertices.size]
    np.testing.assert_allclose(ends, [[0.9 - 0.196, 0.9 + 0.196], [0.5 - 0.392, 0.5 + 0.392]])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.03", "0.1", "free"]
    assert len(ax.get_legend().get_texts()) == 4 and (ax.get_xlabel(), ax.get_ylabel()) == ("radius", "dcg")
    with pytest.raises(InputError, match="2 values of radius and 3 held-out"):
        plots.by_option([1, 2], [1.0, 2.0], [1.0, 2.0, 3.0], name="radius")
    bounded = drawn(plots.by_option(["1", "2", "3"], [1.0, 2.0, 2.5], bounds=[1.0, 2.4, np.inf]))
    (bars,) = bounded.collections
    ends = [path.vertices[:, 1] for path in bars.get_paths() if np.isfinite(path.vertices).all() and path.vertices.size]
    np.testing.assert_allclose(ends, [[1.0, 1.0], [2.0, 2.4]])
    alone = drawn(plots.by_option([20, 100], [1.0, 2.0], name="n_candidates"))
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["training rows"]


def free(d, n=30):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, d)), (rng.random(n) < 0.3).astype(float)
    return problem_of(X, y, parse("dcg@5"), epsilon=0.01)


def anchored(d):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, d + 1)), (rng.random(30) < 0.3).astype(float)
    lists, radius = problem_of(X, y, parse("dcg@5")).lists, np.append(1.0, np.full(d, 0.5))
    return Problem.build(X, lists, epsilon=0.01, limits=(np.append(1.0, -radius[1:]), radius))


def rings(ax):
    marked = [line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() == "none"]
    return {tuple(line.get_xydata()[0].tolist()) for line in marked}


def surface():
    """Boxes that cover the cube: four on the face where the second weight is -1, one on each of the others."""
    lower, upper = [], []
    for j in range(3):
        for side in (-1.0, 1.0):
            ends = np.array([[-1.0] * 3, [1.0] * 3])
            ends[:, j] = side
            quarters = [ends]
            if (j, side) == (1, -1.0):
                parts = ((-1.0, 0.0), (0.0, 1.0))
                quarters = [np.array([[a, -1, b], [c, -1, e]]) for a, c in parts for b, e in parts]
            lower += [one[0] for one in quarters]
            upper += [one[1] for one in quarters]
    return np.array(lower), np.array(upper), np.arange(1.0, 10.0)


def test_boxes_of_three_weights_stand_on_the_face_of_the_best_weights():
    lower, upper, bounds = surface()
    ax = drawn(plots.weight_space(lower, upper, bounds, [0.25, -1.0, 0.5], names=("a", "b", "c")))
    (boxes,) = ax.collections
    assert boxes.get_array().tolist() == [3, 4, 5, 6] and rings(ax) == {(0.25, 0.5)}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("a", "c", "b = -1")
    refuses("on no face", plots.weight_space, lower, upper, bounds, [0.25, -0.5, 0.5])


def test_every_face_of_the_cube_has_a_panel():
    lower, upper, bounds = surface()
    figure, ax = plt.subplots()
    assert plots.weight_space(lower, upper, bounds, [0.25, -1.0, 0.5], names=("a", "b", "c"), every=True, ax=ax) is ax
    drawn(ax)
    panels = {own.get_title(): own for own in figure.axes if own.get_title()}
    assert set(panels) == {f"{name} = {side}" for name in "abc" for side in (1, -1)}
    shown = [own.collections[0].get_array() for own in panels.values()]
    assert sorted(np.concatenate(shown)) == bounds.tolist()
    assert {name: rings(own) for name, own in panels.items() if rings(own)} == {"b = -1": {(0.25, 0.5)}}
    # One scale for all panels.
    assert len({own.collections[0].get_clim() for own in panels.values()}) == 1
    # Axes with a place of their own, and no grid, are divided too.
    alone = plt.figure().add_axes([0, 0, 1, 1])
    assert len(drawn(plots.weight_space(lower, upper, bounds, [0, -1, 0], every=True, ax=alone)).figure.axes) == 8


def test_boxes_of_one_weight_are_steps():
    """Two free weights are intervals, and so is one correction, with the column of its score or without."""
    score, ends = np.ones((2, 1)), np.array([[[-0.5], [0.0]], [[0.0], [0.5]]])
    for given in (ends, np.concatenate([np.stack([score, score]), ends], axis=2)):
        best = [1.0, 0.25][2 - given.shape[2] :]
        ax = drawn(plots.weight_space(*given, [1.0, 2.0], best, unit="dcg"))
        segments = np.array(ax.collections[0].get_segments())
        assert segments.tolist() == [[[-0.5, 1], [0, 1]], [[0, 2], [0.5, 2]]] and ax.get_ylabel() == "dcg"
        assert 0.25 in [line.get_xdata()[0] for line in ax.lines if line.is_dashed()]
    corner = [[1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], [[1.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
    ax = drawn(plots.weight_space(*corner, [1.0, 2.0, 3.0, 4.0], [0.5, -1.0]))
    assert np.array(ax.collections[0].get_segments()).tolist() == [[[-1, 4], [1, 4]]]


def test_cells_have_the_value_of_their_weights():
    problem, best = free(3), np.array([0.25, -1.0, 0.5])
    ax = drawn(plots.cells(problem, best, points=20, names=("a", "b", "c"), unit="dcg@5"))
    (image,) = ax.images
    # Row 4, column 15: middles of equal parts of -1 .. 1.
    weights = np.array([[-1 + 2 * 15.5 / 20, -1.0, -1 + 2 * 4.5 / 20]])
    assert image.get_array()[4, 15] == values_at(problem, weights)[0]
    assert image.get_extent() == pytest.approx((-1, 1, -1, 1)) and rings(ax) == {(0.25, 0.5)}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("a", "c", "b = -1")
    every = plots.cells(problem, points=8)
    assert len([own for own in drawn(every).figure.axes if own.images]) == 6
    positive = problem_of(problem.X, problem.lists[0].gains, parse("auc"), epsilon=0.01, signs=[1, 1, 0])
    axes = [own for own in plots.cells(positive, points=8).figure.axes if own.images]
    assert len(axes) == 4 and axes[0].get_xlim() == (0, 1)


def test_cells_of_corrections_are_one_rectangle_or_one_interval():
    problem = anchored(2)
    boxes = LeafBoxes(np.array([[1, -0.5, -0.5], [1, 0, -0.5]]), np.array([[1, 0, 0.5], [1, 0.5, 0.5]]), np.ones(2))
    ax = drawn(plots.cells(problem, [1.0, 0.1, -0.2], boxes=boxes, points=10))
    assert ax.images[0].get_extent() == pytest.approx((-0.5, 0.5, -0.5, 0.5)) and rings(ax) == {(0.1, -0.2)}
    outlines = [path.get_extents().extents.tolist() for path in ax.collections[0].get_paths()]
    assert outlines == [[-0.5, -0.5, 0, 0.5], [0, -0.5, 0.5, 0.5]]
    problem = anchored(1)
    boxes = LeafBoxes(np.array([[1, -0.5]]), np.array([[1, 0.5]]), np.array([3.0]))
    ax = drawn(plots.cells(problem, [1.0, 0.25], boxes=boxes, points=5))
    line = next(line for line in ax.lines if line.get_label() == "value")
    assert line.get_ydata() == pytest.approx(values_at(problem, np.column_stack([np.ones(50), line.get_xdata()])))
    assert rings(ax) == {(0.25, values_at(problem, [[1.0, 0.25]])[0])}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["value", "bounds of the boxes"]


def test_a_correction_that_may_not_move_is_left_out():
    problem = anchored(2)
    problem = Problem.build(problem.X, problem.lists, epsilon=0.01, limits=([1, -0.5, 0], [1, 0.5, 0]))
    ax = drawn(plots.cells(problem, [1.0, 0.25, 0.0], points=5))
    assert ax.get_xlabel() == "weight of feature 1" and not ax.images
    ax = drawn(plots.weight_space([[1, -0.5, 0]], [[1, 0.5, 0]], [2.0], [1.0, 0.25, 0.0]))
    assert ax.get_xlabel() == "weight of feature 1" and ax.get_xlim() == (-0.5, 0.5)


def test_weights_that_no_picture_shows_are_refused():
    refuses("3 weights can vary at a time", plots.cells, free(4))
    refuses("features that are not drawn", plots.cells, free(4), [1, 1, 1, 1], features=[0, 1, 2])
    refuses("begin with 0", plots.cells, anchored(3), features=[1, 2])
    refuses("1 names for 3 weights", plots.cells, free(3), names=["a"])
    refuses(r"shape \(2,\); give 3", plots.cells, free(3), [1, 0])


def test_bounds_of_boxes_by_the_share_of_the_weights():
    ax = drawn(plots.box_bounds([2, 1, 1], [1.0, 3.0, 2.0], 2.5, 3.0, unit="dcg"))
    steps = next(line for line in ax.lines if line.get_label() == "bounds of the boxes")
    assert steps.get_xydata().tolist() == [[0.25, 3], [0.25, 3], [0.5, 2], [1, 1]]
    heights = {line.get_ydata()[0]: line.is_dashed() for line in ax.lines if len(line.get_ydata()) == 2}
    assert heights == {3.0: True, 2.5: False} and ax.get_ylabel() == "dcg"


def test_contributions_add_up():
    values = np.array([[2.0, -1.0, 0.5], [-1.0, -2.0, 1.0]])
    ax = drawn(plots.contributions(["x", "y"], ["a ($)", "b", "c"], values))
    bars = {(round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width()) for bar in ax.patches}
    assert bars == {(0, 0, 2), (0, 0, -1), (0, 2, 0.5), (1, 0, -1), (1, -1, -2), (1, 0, 1)}
    assert next(line for line in ax.lines if line.get_label() == "sum").get_xdata().tolist() == [1.5, -2.0]
    assert len({bar.get_hatch() for bar in ax.patches}) == 3
    many = drawn(plots.contributions(["x"], list("abcdefgh"), [np.arange(8.0)]))
    told = {text.get_text() for text in many.get_legend().get_texts()}
    assert told == {"sum", *"hgfed", "3 more"} and {0.0 + 1 + 2} <= {bar.get_width() for bar in many.patches}


def card_totals(*rows):
    from rerank.scorecard import Total

    return [
        Total(total, p, q, p / (p + q), max(0, p / (p + q) - 0.1), min(1, p / (p + q) + 0.1)) for total, p, q in rows
    ]


def test_the_risks_of_a_card_are_points_with_intervals_over_bars_of_rows():
    totals = card_totals((5, 9, 1), (2, 5, 15), (-1, 1, 9))
    ax = drawn(plots.card_risks(totals, 2))
    (behind,) = (other for other in ax.figure.axes if other is not ax)
    assert sorted((bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in behind.patches) == [
        (-1, 10),
        (2, 20),
        (5, 10),
    ]
    marks = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(marks.get_xydata(), [(5, 0.9), (2, 0.25), (-1, 0.1)])
    ends = [tuple(line.get_ydata()) for line in ax.lines if line.get_marker() == "None" and not line.is_dashed()]
    np.testing.assert_allclose(ends, [(one.low, one.high) for one in totals])
    cut = next(line for line in ax.lines if line.is_dashed())
    assert -1 < cut.get_xdata()[0] < 2 and texts(ax) == ["flagged from 2"]
    assert not any(line.is_dashed() for line in plots.card_risks(totals).lines)


def test_many_risks_are_a_band_and_a_cut_above_all_totals_is_in_sight():
    totals = card_totals(*((k, k + 1, 50 - k) for k in range(40, 0, -1)))
    ax = drawn(plots.card_risks(totals, 45))
    assert len(ax.collections) == 1 and {line.get_marker() for line in ax.lines} == {"None"}
    assert ax.get_xlim()[0] < 1 and ax.get_xlim()[1] > 44.5
    with pytest.raises(InputError, match="no totals"):
        plots.card_risks([])


def test_one_total_is_drawn():
    assert len(drawn(plots.card_risks(card_totals((3, 1, 1)), None)).lines) == 2


def test_a_card_on_paper_has_a_line_for_each_question_and_the_risks_below():
    names = ["age >= 60", "a $x$ = _b_ " * 9, "line\nend is missing"]
    ax = drawn(plots.card_picture(names, [3, -2, 1], card_totals((4, 95, 5), (3, 3, 7), (-2, 1, 99)), 3))
    said = texts(ax)
    assert [said.count(points) for points in ("+3", "-2", "+1")] == [1, 2, 1]  # -2 is a total, too
    assert "age >= 60" in said and "line end is missing" in said
    assert any(text.startswith("a $x$ = _b_") and "\n" in text for text in said)
    at = {text.get_text(): text.get_position() for text in ax.texts}
    assert at["age >= 60"][1] == at["+3"][1] < at["+1"][1] < at["95.0 %"][1]
    assert at["4"][0] == at["95.0 %"][0] > at["3"][0] == at["30 %"][0] > at["1.0 %"][0]
    filled = [patch for patch in ax.patches if patch.get_facecolor()[3] > 0]
    assert len(filled) == 4 and "filled cells: flagged, from 3 on" in said
    assert len(ax.patches) == 3 + 1 + 6


def test_the_risks_of_a_card_share_cells_where_there_are_many_but_not_across_the_cut():
    totals = card_totals(*((k * 7, 1 + k, 80 - k) for k in range(60, -1, -1)))
    for cut in (None, 70, 7 * 60):
        ax = drawn(plots.card_picture(["a >= 1"], [1], totals, cut))
        cells = [text for text in texts(ax) if " to " in text or text.lstrip("-").isdigit()]
        ends = [(int(cell.split(" to ")[0]), int(cell.split(" to ")[-1])) for cell in cells]
        assert 2 <= len(ends) <= 12 and (ends[0][0], ends[-1][1]) == (0, 420)
        assert all(after[0] == own[1] + 7 for own, after in pairwise(ends))
        assert cut is None or any(own[0] == cut for own in ends)
        # No text leaves its cell.
        renderer = ax.figure.canvas.get_renderer()
        width = ax.patches[2].get_window_extent(renderer).width
        assert all(text.get_window_extent(renderer).width <= width for text in ax.texts if " to " in text.get_text())


def test_a_card_by_hand_has_no_risks_and_needs_points_for_each_question():
    ax = drawn(plots.card_picture(["a"], [2]))
    assert "risk" not in texts(ax) and "total" in texts(ax)
    for given in ((["a"], []), ([], [])):
        with pytest.raises(InputError, match="give one of each"):
            plots.card_picture(*given)


def test_a_scorecard_draws_its_card():
    from rerank.scorecard import Scorecard

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    est = Scorecard(n_questions=2, points=1, validation=None).fit(X, X[:, 0] + rng.normal(size=60) > 0)
    marks = next(line for line in drawn(est.plot()).lines if line.get_marker() == "o")
    assert marks.get_xdata().tolist() == [one.total for one in est.card_.totals]
    assert all(str(question) in texts(est.card_.plot()) for question in est.card_.questions)


def test_the_pictures_of_a_validator_hold_the_numbers():
    totals = card_totals((5, 9, 1), (2, 5, 15), (-1, 1, 9))
    ax = drawn(plots.totals_by_class(totals, 2))
    heights = sorted(bar.get_height() for bar in ax.patches)
    np.testing.assert_allclose(heights, [-15 / 25, -9 / 25, -1 / 25, 1 / 15, 5 / 15, 9 / 15])
    ax = drawn(plots.roc_curve(totals, 2))
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [(0, 0), (1 / 25, 9 / 15), (16 / 25, 14 / 15), (1, 1)])
    np.testing.assert_allclose(ax.lines[2].get_xydata(), [(16 / 25, 14 / 15)])
    ax = drawn(plots.calibration([0.1, 0.8], [0.2, 0.7], [(0.1, 0.3), (0.5, 0.9)], [10, 30]))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [(0.1, 0.2), (0.8, 0.7)])
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[1:]], [(0.1, 0.3), (0.5, 0.9)])
    ax = drawn(plots.decision_curve([0.0, 0.5], [0.3, 0.1], [0.3, -0.4]))
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[1:]], [(0.3, -0.4), (0.3, 0.1)])
