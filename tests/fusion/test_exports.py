"""Exports beside emulations of the engines' documented arithmetic, which read the text that is pasted."""

import numpy as np
import pytest

from benchmarks.fusion.engines import ENGINES, NORMALISERS, same_orders
from rerank.fusion import FusionModel
from rerank.reranker.fusion.exports import TARGETS
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
