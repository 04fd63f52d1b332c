"""After a fit on several lists, rows without ``qid``: no value of them as one list without a word."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from rerank import Reranker, RerankerCV, load
from rerank.cli import app
from rerank.errors import InputWarning
from rerank.metrics import make_ranking_scorer
from rerank.scorecard import Scorecard
from tests.cases.refuses import refuses

N, LISTS = 90, 9
FOLDS = GroupKFold(3)
BASE = Reranker("ndcg@3", first_stage=None, solver="search", node_limit=20, time_limit=None)
EACH = {
    "reranker": BASE,
    "choice": RerankerCV(BASE, grid={"margin": [1e-4]}, cv=2),
    "card": Scorecard("ndcg@3", 2, 2, validation=None),
}


def table():
    """Rows whose lists differ in level, so that an order across lists is not that within them."""
    rng = np.random.default_rng(5)
    qid = np.repeat(np.arange(LISTS), N // LISTS)
    X = rng.normal(size=(N, 2))
    y = (X[:, 0] + rng.normal(size=N) > 0.7 + qid / 10).astype(int)
    X[:, 1] += 3 * qid
    frame = pd.DataFrame(X, columns=["a", "b"])
    return frame, y, qid, frame.assign(query=qid)


@pytest.mark.parametrize("est", EACH.values(), ids=EACH)
def test_score_refuses_and_takes_one_list_when_told_so(est):
    X, y, qid, listed = table()
    fitted = clone(est).fit(X, y, qid)
    value, one = fitted.score(X, y, qid), fitted.score(X, y, np.zeros(N))
    assert value != one
    refuses(r"9 lists .*give qid.*set_score_request\(qid=True\)", fitted.score, X, y)
    refuses("9 lists", permutation_importance, fitted, X, y, n_repeats=1)
    assert fitted.score(X, y, qid=0) == one
    by_column = clone(est).fit(listed, y, "query")  # what names the lists is at hand
    assert by_column.score(listed, y) == value == by_column.score(listed, y, "query")
    refuses("9 lists", by_column.score, X, y)
    assert clone(est).fit(X, y).score(X, y) > 0  # a fit on one list has one


@pytest.mark.parametrize("name", ["rank", "list_scores", "top"])
def test_a_ranking_warns_and_is_silent_when_told_so(name):
    X, y, qid, listed = table()
    est, one = clone(BASE).fit(listed, y, "query"), [2] * (name == "top")
    ranked = getattr(est, name)
    with pytest.warns(InputWarning, match="9 lists .* all rows count as one list; give qid") as told:
        alone = ranked(X, *one)
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(ranked(X, *one, qid=0), alone)
        assert np.array_equal(ranked(listed, *one), ranked(X, *one, qid=qid))
        est.decision_function(X)


def test_a_picture_is_of_one_list():
    X, y, qid, listed = table()
    est = clone(BASE).fit(listed, y, "query")
    for draw in (lambda table, **lists: est.plot(table, y, **lists), est.plot_contributions):
        with pytest.warns(InputWarning, match="9 lists"):
            draw(X)
        draw(X, qid=0)
        refuses("of one list, and X holds 9", draw, listed)


def test_tools_of_scikit_learn_refuse_or_have_the_lists():
    X, y, qid, listed = table()
    right = [clone(BASE).fit(X.iloc[a], y[a], qid[a]).score(X.iloc[b], y[b], qid[b]) for a, b in FOLDS.split(X, y, qid)]
    own = {"cv": FOLDS, "groups": qid, "error_score": "raise"}
    assert cross_val_score(BASE, listed, y, params={"qid": "query"}, **own).tolist() == right
    refuses("6 lists", cross_val_score, BASE, X, y, params={"qid": qid}, **own)
    scorer = make_ranking_scorer("ndcg@3")
    refuses("6 lists", cross_val_score, BASE, X, y, params={"qid": qid}, scoring=scorer, **own)
    pipe = make_pipeline(StandardScaler(), clone(BASE)).fit(X, y, reranker__qid=qid)
    search = GridSearchCV(clone(BASE), {"C": [0.0]}, cv=[(np.arange(N), np.arange(N))], scoring=lambda *_: 0.0)
    search.fit(X, y, qid=qid)
    for fitted in (pipe, search, EACH["card"].fit(X, y, qid)):
        refuses("9 lists", scorer, fitted, X, y)
    assert scorer(clone(BASE).fit(X, y), X, y) > 0


def test_the_command_says_so_once(tmp_path):
    X, y, _, listed = table()
    model, alone = tmp_path / "m.json", tmp_path / "alone.csv"
    est = clone(BASE).fit(listed, y, "query")
    est.save(model)
    assert load(model).score(listed, y) == est.score(listed, y)
    X.assign(y=y).to_csv(alone, index=False)
    for command in (["rank"], ["score", "--label", "y"]):
        found = CliRunner().invoke(app, [command[0], str(model), str(alone), *command[1:]])
        assert found.exit_code == 0 and found.stderr.count("one list") == 1, found.stderr
