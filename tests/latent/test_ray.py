"""Ray on two cores, one for all tests that need it: the bits of this process, also after lost workers and Ctrl-C."""

import os
import signal

import joblib
import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import clone

from rerank import Reranker, RerankerCV
from rerank.errors import InputError, SolverError
from rerank.latent import LatentRoBiRank, split_log
from rerank.search import solve
from tests.cases.examples import examples
from tests.cases.latent import clustered_log
from tests.cases.search import noisy_problem
from tests.latent.test_checkpoint import OPTIONS as OF_CHECKPOINTS
from tests.latent.test_checkpoint import same

ray = pytest.importorskip("ray")

from rerank.latent.engines import ray_engine  # noqa: E402

OPTIONS = {**OF_CHECKPOINTS, "visit_size": 4, "block_bytes": 4 * 4 * 5, "n_epochs": 6}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """A Ray of two cores, started as the engine starts one, and ended."""
    if ray.is_initialized():
        pytest.fail("a test before this one has left its Ray behind")
    assert ray_engine.connect(400 * 2**20, 2)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def logs():
    return split_log(clustered_log(60, 40), (0.25,), 0)[::-1]


@pytest.fixture
def engines(monkeypatch):
    """Ray engines made by a test."""
    made = []
    init = ray_engine.RayEngine.__init__
    monkeypatch.setattr(
        ray_engine.RayEngine, "__init__", lambda self, *a, **k: (made.append(self), init(self, *a, **k))[1]
    )
    return made


def fitted(engine, logs, **options):
    return LatentRoBiRank(**{**OPTIONS, "engine": engine, **options}).fit(*logs)


@pytest.mark.parametrize(("p", "loss"), [(1, "robirank"), (2, "warp"), (4, "robirank")])
def test_the_bits_of_the_local_engine(logs, engines, p, loss):
    options = dict(n_shards=p, loss=loss, patience=9)
    assert same(fitted("local", logs, **options), fitted("ray", logs, **options))
    assert engines[0].n_lost == 0 and ray.is_initialized()


def killing(monkeypatch, at, kill):
    """``kill`` an actor of the engine while the shards work on a step of ``at``, each time it is submitted."""
    submit = ray_engine.RayEngine._submit

    def submitting(self, step, renew):
        submit(self, step, renew)
        if step in at:
            kill(self._actors[len(self._actors) - 1], step)

    monkeypatch.setattr(ray_engine.RayEngine, "_submit", submitting)


def test_workers_that_are_killed_in_an_epoch_change_no_bit(logs, engines, monkeypatch):
    done = []

    def kill(actor, step):
        if step in done:
            return
        done.append(step)
        if step.epoch == 3:
            _, process = ray.get(actor.node.remote())
            os.kill(process, signal.SIGKILL)
        else:
            ray.kill(actor, no_restart=True)

    whole = fitted("local", logs)
    killing(monkeypatch, [(3, 0), (6, 1)], kill)
    with pytest.warns(RuntimeWarning, match="set up anew"):
        found = fitted("ray", logs)
    assert len(done) == 2 and engines[0].n_lost >= 2
    assert same(whole, found)


def test_workers_lost_again_and_again_end_the_run_and_another_engine_goes_on(logs, engines, monkeypatch, tmp_path):
    monkeypatch.setattr(ray_engine, "LOSSES", 2)
    with monkeypatch.context() as patch:
        killing(patch, [(3, 0)], lambda actor, step: ray.kill(actor, no_restart=True))
        with pytest.warns(RuntimeWarning), pytest.raises(SolverError) as caught:
            fitted("ray", logs, checkpoint=tmp_path / "c", n_shards=1)
    assert "2 times in a row" in str(caught.value) and str(tmp_path / "c") in str(caught.value)
    assert not engines[0]._actors
    found = fitted("local", logs, checkpoint=tmp_path / "c", n_shards=1)
    assert same(fitted("local", logs, n_shards=1), found) and found.n_epochs_ > 2


def test_ctrl_c_between_the_calls_to_two_shards_keeps_whole_steps(logs, monkeypatch):
    block_of, count = ray_engine.block_of, []

    def interrupted(q, step, p):
        if (q, step) == (1, (3, 1)):
            count.append(step)
            if len(count) == 1:  # the first shard has its pieces, the second not
                raise KeyboardInterrupt
        return block_of(q, step, p)

    monkeypatch.setattr(ray_engine, "block_of", interrupted)
    stopped = fitted("ray", logs[:1], n_epochs=50, evaluate_every=10)
    assert len(count) > 1 and stopped.stopped_ == "interrupted"
    whole = fitted("local", logs[:1], n_epochs=3)
    for a, b in zip(vars(whole._factors).values(), vars(stopped._factors).values()):
        np.testing.assert_array_equal(a, b)


def test_the_fifth_loss_is_the_last(monkeypatch):
    """As the documentation says: after five losses in a row there is an error."""
    engine = ray_engine.RayEngine()
    monkeypatch.setattr(ray_engine, "quiet", lambda on: None)
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="set up anew"):
            engine._lost(ConnectionError())
    with pytest.raises(SolverError, match="5 times in a row"):
        engine._lost(ConnectionError())


def fitting(cores, share):
    """How many actors fit, placed one after the other."""
    left, placed = [round(c * 10_000) for c in cores], 0
    for c in left:
        while c >= share:
            c -= share
            placed += 1
    return placed


@examples(60, cores=st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0, 7.25]), max_size=4), n=st.integers(1, 12))
def test_shares_of_a_core_are_enough_for_all_on_machines_of_any_size(cores, n):
    share = round(ray_engine.share_for(cores, n) * 10_000)
    if share:
        assert fitting(cores, share) >= n
    assert share == 10_000 or fitting(cores, share + 1) < n
    # Adding up the cores would give 2/3 for three shards on two machines, and the third would wait forever.
    assert ray_engine.share_for([1.0, 1.0], 3) == 0.5


def test_workers_that_find_no_place_are_an_error_and_not_for_ever(logs, monkeypatch):
    monkeypatch.setattr(ray_engine, "WAIT", 1.5)
    monkeypatch.setattr(ray_engine, "share_for", lambda cores, n: 3.0)
    with pytest.raises(SolverError, match="did not start 2 workers of 3 cores"):
        fitted("ray", logs)


def test_bad_input_is_named_before_an_actor_is_started(logs, engines):
    with pytest.raises(InputError, match="n_shards=21"):
        fitted("ray", logs, n_shards=21)
    assert engines == []


def test_a_cluster_with_an_address_is_joined_and_left(monkeypatch):
    asked = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: asked.append(options))
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert ray_engine.connect(2**20, 2)
    monkeypatch.delenv("RAY_ADDRESS")
    assert ray_engine.connect(2**20, 2)
    assert "num_cpus" not in asked[0] and asked[1]["num_cpus"] == 2 and not asked[1]["include_dashboard"]


def test_a_search_whose_jobs_go_to_ray_takes_the_same_steps():
    """Here because this file has started a Ray; see rerank/search/workers.py."""
    from ray.util.joblib import register_ray

    register_ray()
    problem = noisy_problem(60, 6, "mrr", 0.35, 0)
    here = solve(problem, time_limit=None, n_jobs=1)
    with joblib.parallel_config("ray", n_jobs=2):
        there = solve(problem, time_limit=None)
    assert (there.value, there.bound, there.boxes) == (here.value, here.bound, here.boxes)
    assert there.closed and np.array_equal(there.weights, here.weights)


def test_folds_on_ray_choose_as_folds_in_this_process():
    """Ray starts its processes anew for each of the three rounds: joblib's, a first stage's and an option's."""
    from ray.util.joblib import register_ray

    register_ray()
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = (X @ [1, 0.5, 0.2] + rng.normal(size=120) > 1).astype(int)
    chosen = RerankerCV(
        Reranker("precision@12", solver="search", time_limit=None, node_limit=50), cv=2, grid={"radius": [0.3]}
    )
    here = clone(chosen).fit(X, y)
    with joblib.parallel_config("ray", n_jobs=2):
        there = clone(chosen).fit(X, y)
    assert there.cv_results_ == here.cv_results_ and here.cv_results_["error"][0] > 0
    assert there.best_params_ == here.best_params_ and np.array_equal(there.rank(X), here.rank(X))
