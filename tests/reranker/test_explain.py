"""First rows, contributions, pictures and words of a fitted model."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import pytest
from lightgbm import LGBMClassifier

from rerank import Reranker, describe
from rerank.errors import InputError, NotSupportedError
from rerank.reranker.describe import corrections_in_words
from tests.cases.refuses import refuses

pd = pytest.importorskip("pandas")


def drawn(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 20, 0.1, 3] + [0, 50, 0, 1]
    return X, (X[:, 0] + X[:, 1] / 20 + rng.normal(size=n) > 4).astype(int)


FITS = {
    "free": dict(first_stage=None),
    "kept": dict(radius=0.0),
    "corrected, affine": dict(radius=0.1, margin=0.01),
    "corrected, trees": dict(first_stage=LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1), radius=0.1, margin=0.01),
    "equal weights": dict(first_stage=None, radius=0.3),
}


def fitted(name, X, y):
    options = dict(solver="search", n_candidates=None, time_limit=None, node_limit=200)
    return Reranker("precision@10", **options, **FITS[name]).fit(X, y)


def corrected():
    """A table whose first stage is corrected, and the fit."""
    every = ((X, y, fitted("corrected, affine", X, y)) for X, y in map(drawn, range(20)))
    return next(one for one in every if one[-1].reranks_)


@pytest.mark.parametrize("name", FITS)
def test_contributions_add_up_to_the_score(name) -> None:
    X, y = drawn()
    est = fitted(name, X, y)
    new = drawn(1)[0]
    parts = est.contributions(new)
    np.testing.assert_allclose(parts.sum(axis=1), est.decision_function(new), rtol=1e-9, atol=1e-9)
    assert parts.shape[1] == est.features_.size + 1 + int(est.prior_weight_)


def test_columns_may_be_called_as_what_is_added() -> None:
    X, y = drawn()
    names = ["constant", "constant_", "first stage", "b"]
    parts = fitted("corrected, trees", pd.DataFrame(X, columns=names), y).contributions(pd.DataFrame(X, columns=names))
    plain = fitted("corrected, trees", X, y).contributions(X)
    np.testing.assert_array_equal(parts.to_numpy(), plain)
    assert parts.columns[0] == "first stage_" and parts.columns[-1] == "constant__"


def test_contributions_of_the_head_order_it_and_change_with_their_column_alone() -> None:
    X, y = drawn()
    est = Reranker("precision@10", solver="search", n_candidates=30, node_limit=200).fit(X, y)
    assert est.reranks_ and np.isfinite(est.threshold_)
    head = est.first_stage_scores(X) >= est.threshold_
    parts = est.contributions(X)
    sums = parts.sum(axis=1)[head]
    np.testing.assert_array_equal(np.argsort(-sums), np.argsort(-est.decision_function(X)[head]))
    moved = X.copy()
    j = int(est.features_[0])
    moved[:, j] += 2.0
    change = est.contributions(moved) - parts
    np.testing.assert_allclose(change[:, 0], 2.0 * est.coef_[j])
    assert not change[:, 1:].any()


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_contributions_of_a_frame_are_a_frame_with_names(package) -> None:
    X, y = drawn()
    given = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=np.arange(500, 620))
    if package == "polars":
        given = pytest.importorskip("polars").from_pandas(given)
    if package == "pyarrow":
        given = pytest.importorskip("pyarrow").Table.from_pandas(given, preserve_index=False)
    est = fitted("corrected, trees", given, y)
    parts = est.contributions(given)
    names = list(parts.column_names if package == "pyarrow" else parts.columns)
    assert type(parts) is type(given) and names == ["first stage", *est.features_, "constant"]
    assert package != "pandas" or parts.index.equals(given.index)


def test_top_is_the_beginning_of_the_ranking() -> None:
    X, y = drawn()
    est = fitted("corrected, affine", X, y)
    assert np.array_equal(est.top(X, 7), np.argsort(est.rank(X))[:7])
    assert np.array_equal(est.top(X[:3], 7), np.argsort(est.rank(X[:3])))
    with pytest.raises(InputError):
        est.top(X, 0)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_top_gives_the_rows_themselves_with_all_of_their_columns(kind: str) -> None:
    X, y = drawn()
    columns = {name: X[:, j] for j, name in enumerate("abc")} | {"who": np.array([f"p{k}" for k in range(y.size)])}
    made = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    table = X if kind == "numpy" else getattr(pytest.importorskip(kind), made[kind])(columns)
    est = Reranker("precision@3", features=None if kind == "numpy" else list("abc"), node_limit=50)
    if kind != "numpy":
        est.set_params(first_stage="a")
    rows = est.fit(table, y).top(table, 4, return_rows=True)
    places = np.argsort(est.rank(table))[:4]
    assert type(rows) is type(table) and (
        np.array_equal(rows, X[places]) if kind == "numpy" else list(map(str, rows["who"])) == [f"p{k}" for k in places]
    )


def test_top_of_lists_is_the_beginning_of_each() -> None:
    X, y = drawn()
    qid = np.array(["b", "a", "c"])[np.arange(120) % 3]
    est = Reranker("precision@3", solver="search", first_stage=None, node_limit=50).fit(X, y, qid)
    rows, places = est.top(X, 2, qid), est.rank(X, qid)
    assert places[rows].tolist() == [1, 2] * 3 and len(set(rows.tolist())) == 6
    assert qid[rows].tolist() == [qid[rows[0]]] * 2 + [qid[rows[2]]] * 2 + [qid[rows[4]]] * 2


def test_the_picture_counts_as_the_statistic_does() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y, est = corrected()
    axes = est.plot(X, y)
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown[1] == f"fitted: {est.score(X, y):.0f} of the first 10"
    kept = Reranker("precision@10", radius=0.0, solver="search").fit(X, y)
    before = kept.score(X, y)
    assert shown[2] == f"first stage: {before:.0f} of the first 10"
    axes.figure.canvas.draw()
    _, *once = [text.get_text() for text in kept.plot(X, y).get_legend().get_texts()]
    assert once == [f"fitted, as the first stage: {before:.0f} of the first 10"]


def test_the_picture_of_corrections_has_a_bar_for_each_column() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y, est = corrected()
    axes = est.plot_corrections()
    widths = {text.get_text(): bar.get_width() for text, bar in zip(axes.get_yticklabels(), axes.patches)}
    stage = est.first_stage_scores(X)
    changes = est.coef_ - np.linalg.lstsq(np.column_stack([X, np.ones(120)]), stage, rcond=None)[0][:4]
    moved = {name: width * stage.std() for name, width in widths.items()}
    assert {f"x{j}" for j in range(4)} == set(moved)
    ratio = [changes[j] * X[:, j].std() / moved[f"x{j}"] for j in range(4) if abs(moved[f"x{j}"]) > 1e-9]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    for name in ("free", "kept"):
        with pytest.raises(NotSupportedError, match="corrects no score"):
            fitted(name, X, y).plot_corrections()


@pytest.mark.parametrize("name", ["free", "corrected, trees"])
def test_the_picture_of_contributions_adds_up(name) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = drawn()
    est = fitted(name, X, y)
    ax = est.plot_contributions(X, 4, [f"row {k}" for k in range(120)])
    scores, top = est.contributions(X).sum(axis=1), est.top(X, 4)
    sums = next(line for line in ax.lines if line.get_label() == "sum").get_xdata()
    np.testing.assert_allclose(sums, scores[top] - scores.mean(), atol=1e-9)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"row {k}" for k in top]


def test_the_picture_of_weights_is_that_of_the_fit() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = drawn()
    est = Reranker("precision@10", solver="search", n_candidates=None, radius=0.3, margin=0.01, proof=True)
    ax = est.fit(X[:, :2], y).plot_weights()
    (ring, _) = (line for line in ax.lines if line.get_marker() == "o")
    assert ring.get_xydata()[0].tolist() == est.result_.proof.weights[1:].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("scaled correction of x0", "scaled correction of x1")
    assert len(ax.collections) == 1  # the boxes of the proof
    ax.figure.canvas.draw()
    refuses("picture shows one or two", fitted("corrected, affine", X, y).plot_weights)


def test_an_estimator_is_shown_as_its_record_with_the_details_folded() -> None:
    X, y = drawn()
    est = Reranker("precision@10", first_stage=None, solver="search", node_limit=200)
    assert str(est) == repr(est) and "<style>" in est._repr_mimebundle_()["text/html"]
    est.fit(X, y)
    page, record = est._repr_mimebundle_()["text/html"], describe(est)
    assert str(est) == str(record) and repr(est).startswith("Reranker(") and record._repr_html_() in page
    shown, folded = page.split("<details><summary>Details</summary>")
    assert escape(record.answer) in shown and "seconds" not in str(est) and ">seconds<" in folded


def test_nothing_in_a_result_is_read_as_html() -> None:
    X, y = drawn()
    evil = replace(fitted("free", X, y).result_, said="<script>alert(1)</script>", notes=("<b>",))
    page = evil._repr_html_()
    assert "<script>" not in page and "<b>&lt;script" in page and "<li>&lt;b&gt;" in page


def test_corrections_are_told_in_round_steps():
    told = corrections_in_words(["age", "income", "flag"], np.array([0.03, -0.1, 0.0]), np.array([12.0, 45_000.0, 0.3]))
    assert told.endswith("-0.044 per 20000 of income, +0.025 per 10 of age.")
    assert corrections_in_words(["a"], np.zeros(1), np.ones(1)) == ""
    many = corrections_in_words([f"x{j}" for j in range(9)], np.linspace(0.1, 0.9, 9), np.ones(9))
    assert many.endswith("and 3 smaller ones.") and "x8" in many and "x0" not in many


@pytest.mark.parametrize("spread, step", [(1.0, "1"), (4.99, "2"), (0.05, "0.05"), (999.0, "500"), (1e-9, "1e-09")])
def test_steps_are_1_2_or_5_times_a_power_of_ten(spread, step):
    assert f"per {step} of x" in corrections_in_words(["x"], np.array([0.1]), np.array([spread]))
