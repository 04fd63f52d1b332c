"""The pictures: what is drawn is what was given, and no difference is left to colour alone."""

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from rerank import plots
from rerank.errors import InputError
from rerank.solvers.outcome import Progress

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


def test_without_matplotlib_the_way_to_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(InputError, match=r"pip install 'exact-rerank\[plots\]'"):
        plots.before_after([1.0], [2.0], ["a"])


def test_two_lists_count_what_stands_above_the_rule():
    before, after = list("abcdef"), list("cabdfe")
    names = {row: row * 3 for row in before}
    ax = drawn(plots.two_lists(before, after, relevant="cf", top=2, titles=("old", "new"), names=names))
    assert texts(ax)[0] == "old\n0 found in 2" and "new\n1 found in 2" in texts(ax)
    assert [text for text in texts(ax) if len(text) == 3 and text.isalpha()] == ["ccc", "aaa"]
    moves = {
        line.get_ydata()[0]: line
        for line in ax.lines
        if line.get_marker() == "None" and line.get_xdata()[1] == 1
    }
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
    with pytest.raises(InputError, match="different rows"):
        plots.two_lists(before, after, [], top=1)


def test_before_after_dashes_what_fell():
    ax = drawn(plots.before_after([1.0, 3.0, 2.0], [2.0, 1.0, 2.0], ["a", "b", "c"], unit="dcg"))
    rows = {line.get_ydata()[0]: line for line in ax.lines if len(set(line.get_ydata())) == 1}
    assert [rows[k].is_dashed() for k in range(3)] == [False, True, False]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    hollow, filled = (line for line in ax.lines if line.get_marker() == "o")
    assert hollow.get_markerfacecolor() == "white" and filled.get_markerfacecolor() == "black"
    np.testing.assert_array_equal(filled.get_xdata(), [2.0, 1.0, 2.0])
    with pytest.raises(InputError, match="3 values before, 2 after and 3 names"):
        plots.before_after([1.0, 3.0, 2.0], [2.0, 1.0], ["a", "b", "c"])


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
        assert [sum(line.is_dashed() is dashed for line in lines) for dashed in (False, True)] == [
            tied,
            single,
        ]
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
    with pytest.raises(InputError, match="2 names, 1 leads"):
        plots.leads(["a", "b"], [0.1], [0.1])


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
    with pytest.raises(InputError, match=r"shape \(3, 2\), the bounds \(2,\)"):
        plots.weight_space(lower, upper, [3.0, 1.0], [0, 0])
    with pytest.raises(InputError, match=r"best weights have shape \(3,\); give 2"):
        plots.weight_space(lower, upper, [3.0, 1.0, 2.0], [0, 0, 1])


def test_boxes_with_one_bound_can_be_drawn():
    drawn(plots.weight_space([[0, 0]], [[1, 1]], [2.0], [0.5, 0.5]))


def test_a_statistic_by_an_option_shows_both_kinds_of_rows():
    ax = plots.by_option(
        [0.03, 0.1, "free"], [1.0, 2.0, 3.0], [0.9, 1.1, 0.5], errors=[0.1, np.nan, 0.2], first_stage=(0.8, 0.95),
        name="radius", unit="dcg",
    )  # fmt: skip
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
    alone = drawn(plots.by_option([20, 100], [1.0, 2.0], name="n_candidates"))
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["training rows"]


def test_a_statistic_by_an_option_needs_as_many_of_each():
    with pytest.raises(InputError, match="2 values of K and 1 fitted values"):
        plots.by_option([1, 2], [1.0], name="K")
    with pytest.raises(InputError, match="2 values of radius and 3 held-out"):
        plots.by_option([1, 2], [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="no held-out values"):
        plots.by_option([1, 2], [1.0, 2.0], errors=[1.0, 2.0])
