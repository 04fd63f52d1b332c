"""AUC as the field counts it, a tied pair being one half: where people read it, and in what is said to be proved."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from rerank import Reranker, datasets, describe, load, verify
from rerank.errors import InputError
from rerank.io import Table
from rerank.metrics import make_ranking_scorer
from rerank.ranks import evaluate, list_values
from rerank.reranker.files.document import document
from rerank.scorecard import Scorecard
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cli.commands import answer, run

FREE = {"radius": None, "first_stage": None, "n_candidates": None, "solver": "search"}


def drawn(seed: int, n: int = 60, d: int = 2, values: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """A table of few values, so that rows tie, and both labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, d)).astype(np.float64)
    y = (X[:, 0] + rng.integers(0, values, n) > values).astype(int)
    y[:2], X[0], X[1] = (0, 1), 0.0, values - 1.0
    return X, y


def test_a_statistic_says_how_its_ties_count() -> None:
    assert parse("auc").ties == "average"
    others = ("dcg@3", "ndcg", "ap", "precision@5", "mrr", "pauc@3", "rr")
    assert {parse(name).ties for name in others} == {"pessimistic"}


@examples(100, SEEDS, st.integers(1, 5))
def test_auc_is_that_of_scikit_learn(seed: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 2, 40), [0, 1])
    scores = rng.integers(0, values, y.size) / 7.0
    area = roc_auc_score(y, scores)
    assert evaluate("auc", y, scores) == pytest.approx(area, abs=1e-12)
    assert list_values("auc", y, scores).tolist() == pytest.approx([area], abs=1e-12)
    assert evaluate("auc", y, scores, ties="average") == evaluate("auc", y, scores)
    worst, best = evaluate("auc", y, scores, ties="interval")
    assert 0.5 * (worst + best) == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("first", [None, "logistic"])
def test_fit_score_and_scorer_agree_with_scikit_learn(d: int, first: str | None) -> None:
    X, y = drawn(d)
    options = FREE if first is None else {"first_stage": first, "cross_fit": False}
    est = Reranker("auc", **options).fit(X, y)
    area = roc_auc_score(y, est.decision_function(X))
    assert est.score(X, y) == pytest.approx(area, abs=1e-12)
    assert est.result_.statistic == pytest.approx(area, abs=1e-12) and est.result_.ties == "average"
    assert make_ranking_scorer("auc")(est, X, y) == pytest.approx(area, abs=1e-12)
    if first is not None:
        stage = roc_auc_score(y, est.first_stage_scores(X))
        assert est.result_.first_stage_statistic == pytest.approx(stage, abs=1e-12)


def test_a_card_counts_ties_in_expectation_for_every_statistic() -> None:
    X, y = drawn(3, n=80)
    for stat in ("auc", "precision@7", "dcg@5"):
        card = Scorecard(stat, n_questions=1, points=1).fit(X, y)
        totals = np.asarray(card.total(X), dtype=np.float64)
        assert card.score(X, y) == pytest.approx(evaluate(stat, y, totals, ties="average"), abs=1e-12)


@pytest.mark.parametrize("columns", [[2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("most", [None, 1])
def test_nothing_exceeds_what_is_said_of_the_quoted_auc(columns: list[int], most: int | None) -> None:
    """The proved value of one column is below the AUC of that column; what is said of AUC is not."""
    table = datasets.load("haberman")
    X = table.X[:, columns]
    est = Reranker("auc", max_features=most, **FREE, time_limit=60).fit(X, table.y)
    bound = est.result_.statistic_bound
    assert bound is not None and est.result_.bound < bound
    assert est.result_.statistic <= bound + 1e-12
    rng = np.random.default_rng(0)
    for w in [*np.eye(len(columns)), *-np.eye(len(columns)), *rng.normal(size=(50, len(columns)))]:
        if most is None or np.count_nonzero(w) <= most:
            assert roc_auc_score(table.y, X @ w) <= bound + 1e-12
    assert est.statistic_bound() == pytest.approx(bound, abs=1e-9)
    told = describe(est)
    for said in (est.result_.message, " ".join(told.proof), est.audit()):
        assert "a tied pair as one half" in said and "ties counted as lost" in said
    assert "a tied pair as one half" in str(told.details[0])
    if len(columns) == 1:
        assert bound == pytest.approx(max(roc_auc_score(table.y, s * X[:, 0]) for s in (1, -1)), abs=1e-12)


def test_ties_in_the_tail_of_a_shortlist_count_one_half() -> None:
    X, y = drawn(5, n=120, d=3, values=3)
    y = np.where(np.random.default_rng(1).random(y.size) < 0.3, 1 - y, y)
    options = {"first_stage": "x0", "radius": 0.5, "n_candidates": 30, "cross_fit": False, "solver": "search"}
    est = Reranker("auc", **options, node_limit=500).fit(X, y)
    area = roc_auc_score(y, est.decision_function(X))
    assert est.result_.statistic == pytest.approx(area, abs=1e-12)
    assert area <= est.statistic_bound(1.0) + 1e-12
    training = est.state_.training
    assert training.tied_tails > 0
    assert est.state_.reranks and training.average(est.state_.weights) == pytest.approx(area, abs=1e-9)


def test_a_file_says_how_ties_count_and_one_of_an_earlier_version_is_verified_as_it_was(tmp_path) -> None:
    table = datasets.load("haberman")
    est = Reranker("auc", **FREE).fit(table.X[:, 2:], table.y)
    path = tmp_path / "model.json"
    est.save(path)
    again = load(path)
    assert again.result_.ties == "average" and again.result_.statistic == est.result_.statistic
    assert again.result_.statistic_bound == est.result_.statistic_bound
    assert again.score(table.X[:, 2:], table.y) == est.score(table.X[:, 2:], table.y)
    doc = document(est.state_)
    report = verify(doc, table_of(est, table))
    assert report.holds, report
    assert "result.statistic_bound" in [each.name for each in report.not_looked_at if not each.open]
    lower = {**doc.result, "statistic_bound": est.result_.statistic - 1e-3}
    assert not verify(replace(doc, result=lower), table_of(est, table)).holds
    worst = evaluate("auc", table.y, est.decision_function(table.X[:, 2:]), ties="pessimistic")
    old = replace(est.result_, ties="pessimistic", statistic=worst, statistic_bound=None)
    earlier = document(replace(est.state_, result=old))
    assert not {"ties", "statistic_bound"} & set(earlier.result)
    assert verify(earlier, table_of(est, table)).holds
    forged = {**earlier.result, "ties": "average"}
    assert not verify(replace(earlier, result=forged), table_of(est, table)).holds
    with pytest.raises(InputError, match="ties are 'optimistic'"):
        verify(replace(earlier, result={**forged, "ties": "optimistic"}), table_of(est, table))


def table_of(est: Reranker, table: Table) -> Table:
    """The table of the fit, whose columns have the names that the model knows."""
    return replace(table, X=table.X[:, 2:], feature_names=est.state_.columns.inputs)


def test_score_on_the_command_line_is_the_quoted_area(tmp_path) -> None:
    X, y = drawn(8)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    est = Reranker("auc", **FREE).fit(frame, y)
    est.save(tmp_path / "m.json")
    told = answer(run("score", tmp_path / "m.json", tmp_path / "t.csv", "--label", "label", "--json"))
    assert told["value"] == pytest.approx(roc_auc_score(y, est.decision_function(frame)), abs=1e-12)
