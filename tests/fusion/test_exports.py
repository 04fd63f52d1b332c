"""Exports beside emulations of the engines' documented arithmetic, which read the text that is pasted."""

import re

import numpy as np
import pytest

from benchmarks.fusion.engines import ENGINES, NORMALISERS, same_orders
from rerank.errors import NotSupportedError
from rerank.fusion import FusionModel, export
from rerank.reranker.fusion.exports import TARGETS
from tests.cases.refuses import refuses
from tests.fusion import naive

WAYS = [(engine, name) for engine, names in NORMALISERS.items() for name in names]


@pytest.mark.parametrize(("engine", "name"), WAYS)
def test_an_engine_orders_the_first_ten_documents_as_the_model(engine, name):
    """Scores far apart, negative ones left out, runs with one hit, equal scores, and queries that a run lacks."""
    runs, _ = naive.made(60, (1.0, 0.5), seed=4, scale=3.0)
    for query in (query for each in runs.values() for query in each.values()):
        query.update({doc: 20.0 + score for doc, score in query.items()})
    runs["r0"]["q0"] = {"d1": 21.5}
    runs["r0"]["q1"] = dict.fromkeys(runs["r0"]["q1"], 20.0)
    del runs["r1"]["q2"]
    model = FusionModel(("r0", "r1"), np.array([0.63, 0.37]), name, depth=15)
    same, compared = same_orders(model, engine, runs)
    assert compared >= 50 and same >= 0.99 * compared


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_runs_are_one_word_of_an_export(engine):
    """A comment, a path of fields or a key is not what a name says."""
    for name in ("b\n; alpha = 0.5 #", "a.b", "$c", "x, y", ""):
        given = FusionModel((name, "c"), np.array([0.6, 0.4]), "minmax", depth=7)
        plain = export(FusionModel(("b", "c"), given.weights, "minmax", depth=7), engine)
        if engine == "vespa":
            with pytest.raises(NotSupportedError, match="name runs with letters"):
                export(given, engine)
            continue
        text = export(given, engine)
        assert len(text.splitlines()) == len(plain.splitlines())
        if engine != "weaviate":
            keys = re.compile(r'"([^"]*)":')
            assert keys.findall(text) == keys.findall(plain)


@pytest.mark.parametrize("weights", [[0.6, 0.4], (0.6, 0.4), {"c": 0.4, "a": 0.6}], ids=repr)
def test_weights_may_be_a_sequence_or_by_name(weights):
    given, plain = (FusionModel(["a", "c"], own, "minmax") for own in (weights, np.array([0.6, 0.4])))
    assert all(export(given, engine) == export(plain, engine) for engine in TARGETS)


@pytest.mark.parametrize("weights", [[0, 0], [1], [1, np.nan], ["a", "b"], None, 1.0, {"a": 1}], ids=repr)
def test_weights_that_fuse_nothing_are_refused(weights):
    refuses("weights is .*not all 0", FusionModel, ("a", "c"), weights, "minmax")
    refuses("'code'.*not all 0", FusionModel, ("a", "c"), [1, 1], "minmax", kinds={"code": weights})
    refuses("did you mean 'minmax'", FusionModel, ("a", "c"), [1, 1], "min-max")


def test_one_hit_counts_as_the_best_of_its_run():
    model = FusionModel(("a", "b"), np.array([0.6, 0.4]), "minmax")
    fused = model.fuse({"a": {"q": {"x": 3.0}}, "b": {"q": {"y": 9.0, "x": 1.0, "z": 5.0}}})
    assert list(fused["q"]) == ["x", "y", "z"]


def test_places_follow_the_list_where_scores_are_equal():
    model = FusionModel(("a", "b"), np.array([0.5, 0.5]), "rank", depth=2)
    runs = {"a": {"q": {"x": 1.0, "y": 1.0, "z": 1.0}}, "b": {"q": {"z": 2.0, "x": 2.0, "y": 2.0}}}
    found = model.fuse(runs)["q"]
    wanted = {"x": 0.5 / 61 + 0.5 / 62, "z": 0.5 / 61, "y": 0.5 / 62}
    assert list(found) == list(wanted) and found == pytest.approx(wanted)


def test_every_engine_that_is_emulated_has_an_export():
    assert set(ENGINES) <= set(TARGETS)
