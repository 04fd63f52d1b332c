"""What a type checker tells a user of the public names: mypy reads this file, and pytest runs it.

A name that mypy knows nothing of would pass as ``Any``, which ``assert_type`` refuses.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import rerank
from rerank import Reranker, RerankerCV, datasets, load, search
from rerank.certificate import Certificate, verify_proof
from rerank.fusion import FusionModel, ScoreFusion
from rerank.fusion import load as load_fusion
from rerank.io import Table
from rerank.latent import LatentRoBiRank, split_log
from rerank.metrics import ndcg
from rerank.perturb import duplicates
from rerank.problem import Problem, Proof, problem_of
from rerank.ranks import evaluate
from rerank.reranker.result import Result
from rerank.scorers import MonotoneTransform, RankSVM, TopPush
from rerank.statistics import DCG, RankStatistic, parse

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def small() -> tuple[Floats, Places]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    return X, (X @ [1.0, -0.5, 0.2] + rng.normal(size=40) > 1.0).astype(np.intp)


def test_a_reranker(tmp_path: Path) -> None:
    X, y = small()
    est = assert_type(Reranker("dcg@5", solver="search", n_candidates=12, proof=True).fit(X, y), Reranker)
    assert assert_type(est.decision_function(X), Floats).shape == (40,)
    assert assert_type(est.rank(X), Places).min() == 1
    assert assert_type(est.top(X, 3), NDArray[Any]).size == 3
    assert isinstance(assert_type(est.score(X, y), float), float)
    assert assert_type(est.coef_, Floats).shape == (3,)
    assert isinstance(assert_type(est.threshold_, float), float)
    assert isinstance(assert_type(est.reranks_, bool), bool)
    assert isinstance(assert_type(est.statistic_bound(), float), float)
    est.save(tmp_path / "m.json")
    assert assert_type(load(tmp_path / "m.json"), Reranker).n_features_in_ == 3


def test_a_result() -> None:
    X, y = small()
    result = assert_type(Reranker("auc", solver="search", first_stage=None).fit(X, y).result_, Result)
    assert assert_type(result.value, float) <= assert_type(result.bound, float)
    assert assert_type(result.proved, bool) and assert_type(result.status, str)
    assert assert_type(result.statistic, float) <= 1.0 and assert_type(result.gap, float) <= 1e-9
    certificate = assert_type(result.certificate, Certificate | None)
    assert certificate is not None and isinstance(assert_type(certificate.value, Fraction), Fraction)
    assert assert_type(result.proof, Proof | None) is None


def test_a_choice_by_folds() -> None:
    X, y = small()
    base = Reranker("auc", solver="search", node_limit=0)
    search_ = assert_type(RerankerCV(base, grid={"radius": [0.1]}, cv=2).fit(X, y), RerankerCV)
    assert assert_type(search_.best_estimator_, Reranker).n_features_in_ == 3
    assert assert_type(search_.best_params_, dict[str, Any])["radius"] in (0.0, 0.1)
    assert isinstance(assert_type(search_.first_stage_kept_, bool), bool)
    found = assert_type(search_.cv_results_, dict[str, list[Any]])
    assert set(found) >= {"params", "lead", "error"} and len(found["lead"]) == 1
    assert assert_type(search_.coef_, Floats).shape == (3,)
    assert isinstance(assert_type(search_.result_, Result), Result)
    assert assert_type(search_.rank(X), Places).max() == 40


def test_fusion(tmp_path: Path) -> None:
    runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}, "r": {"d1": 1.0}}, "b": {"q": {"d2": 2.0}, "r": {"d1": 3.0, "d3": 1.0}}}
    fusion = assert_type(ScoreFusion("ndcg@2", cv=None).fit(runs, {"q": {"d2": 1}, "r": {"d1": 1}}), ScoreFusion)
    assert set(assert_type(fusion.weights_, dict[str, float])) == {"a", "b"}
    assert isinstance(assert_type(fusion.null_kept_, bool), bool) and assert_type(fusion.normaliser_, str)
    assert assert_type(fusion.model_, FusionModel).names == ("a", "b")
    fusion.save(tmp_path / "f.json")
    assert assert_type(load_fusion(tmp_path / "f.json"), FusionModel).names == ("a", "b")


def test_first_stages() -> None:
    X, y = small()
    top = assert_type(TopPush(alpha=0.1).fit(X, y), TopPush)
    assert assert_type(top.coef_, Floats).shape == (3,) and assert_type(top.gap_, float) < 1e-3
    assert isinstance(assert_type(top.degenerate_, bool), bool)
    assert assert_type(RankSVM().fit(X, y).decision_function(X), Floats).shape == (40,)
    assert assert_type(MonotoneTransform().fit(X), MonotoneTransform).n_features_in_ == 3


def test_search_and_proof() -> None:
    X, y = small()
    problem = assert_type(problem_of(X, y.astype(np.float64), parse("auc")), Problem)
    found = assert_type(search.solve(problem, proof=True), search.SearchResult)
    assert assert_type(found.weights, Floats).shape == (3,) and assert_type(found.bound, float)
    assert found.proof is not None and assert_type(verify_proof(problem, found.proof).ok, bool)


def test_values_of_lists() -> None:
    y, scores = [1, 0, 1], [3.0, 2.0, 1.0]
    assert assert_type(evaluate("auc", y, scores), float) == 0.5
    assert assert_type(evaluate("auc", y, scores, ties="interval"), tuple[float, float]) == (0.5, 0.5)
    assert assert_type(ndcg(y, scores, at=2), float) < 1.0
    assert assert_type(parse("dcg@3"), RankStatistic) == DCG(3)
    assert assert_type(datasets.load("haberman"), Table).X is not None
    assert assert_type(rerank.__version__, str) and duplicates([[1.0], [2.0]]) == []


def test_latent_models() -> None:
    log = csr_array(np.random.default_rng(0).random((12, 9)) < 0.4)
    train = split_log(log, (0.2,), random_state=0)[0]
    model = assert_type(LatentRoBiRank(4, n_epochs=1, random_state=0).fit(train), LatentRoBiRank)
    assert assert_type(model.n_epochs_, int) >= 0 and assert_type(model.alpha_, float) >= 0.0
    assert assert_type(model.recommend([0], 2)[0], NDArray[np.int64]).shape == (1, 2)
