"""The model: what it learns and says, that runs can be repeated, continued, stopped and stored, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse as sp
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from rerank.errors import SolverError
from rerank.latent import LatentRoBiRank, evaluate, split_log
from rerank.latent.engines.interface import VALIDATION, seed_of
from rerank.latent.engines.local import LocalEngine
from rerank.latent.log import log_of, some_users
from rerank.latent.model import ENDS
from tests.cases.latent import clustered_log, random_factors, sums_over_others
from tests.cases.refuses import refuses

SMALL = dict(n_factors=8, n_negatives=30, visit_size=4, n_shards=2, block_bytes=8 * 4 * 20, alpha=0.05, random_state=0)


def small(**options):
    return LatentRoBiRank(**{**SMALL, **options})


@pytest.fixture(scope="module")
def logs():
    return split_log(clustered_log(), (0.25,), 0)[::-1]


def same(a, b):
    return (a.user_factors_ == b.user_factors_).all() and (a.item_factors_ == b.item_factors_).all()


@pytest.mark.parametrize("loss", ["robirank", "warp"])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_it_finds_the_groups_of_a_clustered_log(logs, loss, optimizer):
    steps = {"adagrad": {}, "sgd": {"learning_rate": 0.01, "decay": 1e9}}[optimizer]
    train, test = logs
    model = small(loss=loss, optimizer=optimizer, n_epochs=40, alpha=0.01, **steps).fit(train)
    found = evaluate(model.score_items, test, k=5, seen=train).means()
    popular = np.asarray(train.sum(axis=0)).ravel()
    chance = evaluate(lambda users: np.tile(popular, (len(users), 1)), test, k=5, seen=train).means()
    # A fourth of the items is of a user's group, so a model that knows the groups has about four times the precision.
    assert found["precision"] > 2 * chance["precision"]


def test_training_lowers_the_loss_it_reports(logs):
    model = small(n_shards=1, block_bytes=2**20, n_epochs=20, evaluate_every=1, alpha=1e-3, xi="exact").fit(logs[0])
    losses = [entry["loss"] for entry in model.history_]
    assert losses[-1] < losses[10] < losses[0]
    again = small(n_shards=1, block_bytes=2**20, n_epochs=19, alpha=1e-3, xi="exact").fit(logs[0])
    A = sums_over_others(logs[0], again.user_factors_.astype(float), again.item_factors_.astype(float))
    assert losses[-1] == pytest.approx(np.log2(A).mean(), rel=1e-5)


@pytest.mark.parametrize("n_shards", [1, 2, 4])
def test_threads_change_no_bit_and_the_seed_does(logs, n_shards):
    one, two = (small(n_epochs=3, n_shards=n_shards, n_jobs=n_jobs).fit(logs[0]) for n_jobs in (1, 3))
    assert same(one, two)
    assert not same(one, small(n_epochs=3, n_shards=n_shards, random_state=1).fit(logs[0]))


def test_epochs_add_up(logs):
    whole = small(n_epochs=4).fit(logs[0])
    apart = small(n_epochs=1).fit(logs[0]).partial_fit(logs[0], 2).partial_fit(logs[0])
    assert same(whole, apart) and apart.n_epochs_ == 4
    assert same(whole, small().partial_fit(logs[0], 4))


def test_new_users_and_items_come_behind_the_old(logs):
    model = small(n_epochs=5).fit(logs[0])
    more = sp.csr_matrix(sp.block_diag([logs[0], np.ones((3, 4))]))
    model.partial_fit(more, 40)
    assert model.user_factors_.shape == (123, 8) and model.item_factors_.shape == (84, 8)
    # The three new users choose the four new items and nothing else does.
    items, _ = model.recommend([120, 121, 122], k=4, exclude_seen=False)
    assert (np.sort(items, axis=1) == np.arange(80, 84)).all()
    refuses("behind them", model.partial_fit, logs[0])


def test_a_model_lives_on_in_its_folder(logs, tmp_path):
    model = small(n_epochs=2, validation_fraction=0.2).fit(logs[0])
    model.save(tmp_path / "model")
    model.partial_fit(logs[0], 2).save(tmp_path / "model")
    again = LatentRoBiRank.load(tmp_path / "model")
    assert same(model, again) and again.get_params() == model.get_params() and again.history_ == model.history_
    for a, b in zip(model.recommend([0, 5], 7), again.recommend([0, 5], 7)):
        np.testing.assert_array_equal(a, b)
    assert same(model.partial_fit(logs[0]), again.partial_fit(logs[0]))
    # Of the model that was overwritten nothing is left.
    assert len(list((tmp_path / "model").iterdir())) == 7


def test_folders_of_others_are_left_alone(logs, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    refuses("folder of its own", small(n_epochs=1).fit(logs[0]).save, tmp_path)
    refuses("another path", small(n_epochs=1).fit(logs[0]).save, tmp_path / "mine.txt" / "model")


def test_validation_ends_training_and_the_best_factors_are_kept(logs, capsys):
    model = small(n_epochs=500, evaluate_every=1, patience=2, validation_k=5, verbose=1).fit(*logs)
    precisions = [entry["precision"] for entry in model.history_]
    best = int(np.argmax(precisions))
    assert model.stopped_ == "validation" and len(precisions) == best + 3 < 500
    assert model.n_epochs_ == best + 1
    found = evaluate(model.score_items, logs[1], k=5, seen=logs[0]).means()["precision"]
    assert found == pytest.approx(precisions[best])
    out = capsys.readouterr()
    assert out.out == "" and len(out.err.splitlines()) == len(precisions) and "precision" in out.err
    assert {"loss", "pairs_per_second"} <= set(model.history_[0])


def test_an_evaluation_has_one_thread_and_an_unknown_error_is_called_so(logs, monkeypatch, capsys):
    threads = []

    def evaluated(*arguments):
        threads.extend(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")
        return evaluate(*arguments)

    monkeypatch.setattr("rerank.latent.training.evaluate", evaluated)
    with threadpool_limits(2, "blas"):
        model = small(n_epochs=1, validation_k=5, xi_samples=1, verbose=1).fit(*logs)
    assert threads and set(threads) == {1}
    assert model.history_[0]["xi_error"] is None and "error not known" in capsys.readouterr().err


def test_of_many_users_some_are_evaluated(logs):
    train, held_out = logs
    sizes = np.diff(held_out.indptr)
    model = small(n_epochs=2, evaluate_every=2, validation_k=5, validation_users=7).fit(train, held_out)
    kept = some_users(log_of(held_out), 7, seed_of(model._seed, VALIDATION, 1))
    drawn = np.flatnonzero(np.diff(kept.indptr))
    assert drawn.size == 7 and (np.diff(kept.indptr)[drawn] == sizes[drawn]).all()
    full = held_out.copy()
    full.data[np.isin(np.repeat(np.arange(sizes.size), sizes), drawn, invert=True)] = 0
    expected = evaluate(model.score_items, full, k=5, seen=train).means()["precision"]
    assert model.history_[0]["precision"] == pytest.approx(expected)
    assert same(model, small(n_epochs=2).fit(train))
    assert some_users(kept, 7, 0) is kept


def test_a_validation_part_without_records_is_refused(logs):
    one_each = sp.csr_matrix((np.ones(120), np.arange(120) % 80, np.arange(121)), shape=(120, 80))
    for model, given in [
        (small(validation_fraction=0.3), (one_each,)),
        (small(), (logs[0], logs[0] * 0)),
        (small(), (logs[0], sp.csr_matrix(logs[0].shape))),
    ]:
        refuses("validation has no records", model.fit, *given)
    refuses("validation has no records", small(n_epochs=1).fit(logs[0]).partial_fit, logs[0], validation=logs[0] * 0)


def test_what_was_held_out_is_not_recommended_either(logs, tmp_path):
    """Nor are users whose one record was held out left with the vector they began with."""
    single = sp.csr_matrix((np.ones(3), ([0, 1, 2], [5, 6, 7])), shape=(3, 80))
    log = sp.csr_matrix(sp.vstack([logs[0], single]))
    model = small(n_epochs=2, validation_fraction=0.6).fit(log)
    assert model.history_[-1]["precision"] is not None
    twin = small(n_epochs=2).fit(*split_log(log, (0.6,), seed_of(model._seed, VALIDATION))[::-1])
    assert same(model, twin)
    np.testing.assert_allclose(
        model.user_factors_[120:], np.tile(model._factors.U[:120].mean(axis=0), (3, 1)), rtol=1e-4, atol=1e-6
    )
    model.save(tmp_path / "m")
    again = LatentRoBiRank.load(tmp_path / "m")
    assert same(model, again)
    for one in (model, again):
        items, _ = one.recommend(np.arange(123), k=80)
        for x, row in enumerate(items):
            assert sorted(row[row >= 0]) == sorted(set(range(80)) - set(log[x].indices))
    # Later epochs with the whole log learn from all of it.
    again.partial_fit(log).save(tmp_path / "m")
    assert again._held_out.size == 0 and len(list((tmp_path / "m").iterdir())) == 7


def interrupting(monkeypatch, epoch):
    """Ctrl-C in the last sub-epoch of ``epoch``, after its work."""
    run = LocalEngine.sub_epoch

    def sub_epoch(self, step):
        run(self, step)
        if step == (epoch, 1):
            raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "sub_epoch", sub_epoch)


def test_ctrl_c_keeps_what_was_found(logs, monkeypatch):
    whole = small(n_epochs=3).fit(logs[0])
    interrupting(monkeypatch, 3)
    stopped = small(n_epochs=50, evaluate_every=10).fit(logs[0])
    assert stopped.stopped_ == "interrupted" and stopped.n_epochs_ == 3 and same(whole, stopped)


def test_ctrl_c_with_validation_keeps_the_best_factors(logs, monkeypatch):
    interrupting(monkeypatch, 6)
    stopped = small(n_epochs=50, evaluate_every=2, learning_rate=0.01).fit(*logs)
    assert stopped.stopped_ == "interrupted" and stopped.n_epochs_ in (2, 4)


def test_divergence_is_an_error_at_once_and_a_warning_later(logs):
    with pytest.raises(SolverError, match="lower it"):
        small(optimizer="sgd", learning_rate=1e6, n_epochs=10).fit(logs[0])
    model = small(n_epochs=3, evaluate_every=1).fit(logs[0]).set_params(optimizer="sgd", learning_rate=1e6)
    kept = model.user_factors_.copy()
    with pytest.warns(ConvergenceWarning, match="epoch 3 are kept"):
        model.partial_fit(logs[0], 5)
    np.testing.assert_array_equal(model.user_factors_, kept)


@pytest.mark.parametrize("epochs", [1, 2])
def test_divergence_in_the_last_epoch_is_seen(logs, epochs):
    """Each user has one visit an epoch, and vectors are not checked after it."""
    model = small(optimizer="sgd", learning_rate=1e30 if epochs == 1 else 1e16, n_epochs=epochs, visit_size=99)
    with pytest.raises(SolverError, match="lower it"):
        model.set_params(n_shards=1, block_bytes=2**20).fit(logs[0])
    assert not hasattr(model, "user_factors_")


def test_divergence_before_ctrl_c_is_seen(logs, monkeypatch):
    interrupting(monkeypatch, 1)
    with pytest.raises(SolverError, match="lower it"):
        small(optimizer="sgd", learning_rate=1e30, visit_size=99).fit(logs[0])


@pytest.mark.parametrize("spoilt", ["U", "V", "GU", "GV"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_collected_factors_are_checked(spoilt, value):
    factors = random_factors(5, 7, 3)
    assert factors.finite and random_factors(0, 7, 3).finite
    getattr(factors, spoilt).flat[-1] = value
    assert not factors.finite


def test_users_and_items_without_records(logs):
    log = logs[0].tolil()
    log[[3, 50]] = 0
    log[:, [0, 79]] = 0
    model = small(n_epochs=5).fit(sp.csr_matrix(log))
    some = np.delete(np.arange(120), [3, 50])
    np.testing.assert_allclose(
        model.user_factors_[[3, 50]], np.tile(model._factors.U[some].mean(axis=0), (2, 1)), rtol=1e-5, atol=1e-7
    )
    assert np.isfinite(model.item_factors_).all()
    items, _ = model.recommend([3], 80)
    assert sorted(items[0]) == list(range(80))


def test_what_cannot_be_learnt_or_asked_is_named(logs):
    for bad, words in [(sp.csr_matrix((4, 5)), "0 records"), (sp.csr_matrix(np.ones((4, 1))), "two items")]:
        refuses(words, small(n_epochs=1, n_shards=1).fit, bad)
    refuses("random_state", split_log, logs[0], (0.5,), -1)
    model = small(n_epochs=1)
    with pytest.raises(NotFittedError):
        model.recommend([0])
    model.fit(logs[0])
    for users, words in [([120], "0 to 119"), ([-1], "holds -1"), ([0.5], "whole numbers")]:
        refuses(words, model.recommend, users)
    refuses("80 items", model.recommend, [0], k=81)
    assert model.recommend([], 3)[0].shape == (0, 3)


WRONG = {
    "loss": ["hinge", ["warp"]],
    "alpha": [-1.0, np.nan, True],
    "n_factors": [0],
    "popular": [1.0],
    "n_shards": [0, True],
    "n_jobs": [1.0],
    "xi": ["guess"],
    "engine": ["spark"],
    "n_epochs": [2.5, True],
    "learning_rate": [0.0, "a"],
    "decay": [0.0, 1j],
    "validation_fraction": [1.0],
    "init_scale": ["1"],
    "validation_k": [2.0],
    "block_bytes": [2**26 + 1],
    "random_state": [-1, 2**32],
}


@pytest.mark.parametrize("name", WRONG)
def test_options_out_of_range_are_named(logs, name):
    for value in WRONG[name]:
        refuses(name, small(**{name: value}).fit, logs[0])


def test_numbers_of_any_type_are_numbers(logs):
    plain = dict(n_factors=8, block_bytes=640, n_shards=2, n_epochs=2, visit_size=4, validation_users=50, n_jobs=1)
    wide = {name: np.uint32(value) for name, value in plain.items()} | dict(alpha=np.float64(0.05), patience=np.int8(3))
    one, two = (small(**options).fit(*logs) for options in (plain, wide))
    assert same(one, two) and type(two.alpha_) is float and type(two.n_epochs_) is int
    for a, b in zip(one.recommend([0], 7), two.recommend([0], np.uint8(7))):
        np.testing.assert_array_equal(a, b)
    assert one.partial_fit(logs[0], np.int64(2)).n_epochs_ == 4


@pytest.mark.parametrize("wrong", [1.0, "3", None, True, 0])
def test_counts_given_to_methods_are_checked(logs, wrong):
    model = small(n_epochs=1).fit(logs[0])
    refuses("n_epochs is", model.partial_fit, logs[0], n_epochs=wrong)
    for ask in (model.recommend, model.similar_items):
        refuses("k is", ask, [0], k=wrong)
    refuses("k is", evaluate, model.score_items, logs[1], k=wrong)
    assert model.n_epochs_ == 1


def test_what_training_has_fixed_cannot_be_changed_on_the_way(logs):
    model = small(n_epochs=1).fit(logs[0])
    for options in (dict(n_factors=6), dict(n_shards=1)):
        refuses("call fit to begin anew", small(n_epochs=1).fit(logs[0]).set_params(**options).partial_fit, logs[0])
    model.set_params(n_shards=None).partial_fit(logs[0])
    assert same(model, small(n_epochs=2).fit(logs[0]))


def test_similar_items_are_of_the_same_group(logs):
    model = small(n_epochs=40).fit(logs[0])
    items, cosines = model.similar_items(np.arange(80), k=5)
    assert (items != np.arange(80)[:, None]).all() and (np.diff(cosines, axis=1) <= 0).all()
    assert (items // 20 == np.arange(80)[:, None] // 20).mean() > 0.8


def test_the_penalty_is_found_from_the_log_where_none_is_given(logs):
    whole = small(n_epochs=3, alpha=None).fit(logs[0])
    assert 0.15 <= whole.alpha_ < 5 * 120 / logs[0].nnz
    assert small(n_epochs=1, alpha=None).fit(np.ones((9, 60))).alpha_ == pytest.approx(5 / 60)
    parts = small(alpha=None).partial_fit(logs[0], 2).partial_fit(logs[0], 1)
    assert same(whole, parts) and same(whole, small(n_epochs=3, alpha=None, n_jobs=1).fit(logs[0]))
    assert same(whole, small(n_epochs=3, alpha=whole.alpha_).fit(logs[0]))
    strong = small(n_epochs=3, alpha=10.0).fit(logs[0])
    assert np.linalg.norm(strong.item_factors_) < np.linalg.norm(whole.item_factors_)


@pytest.fixture
def log():
    return scipy.sparse.csr_matrix((np.random.default_rng(0).random((60, 40)) < 0.2).astype(float))


def test_it_says_its_sizes_its_end_and_its_evaluations(log):
    model = LatentRoBiRank(4, n_epochs=6, evaluate_every=2, validation_fraction=0.2, patience=99, random_state=0)
    assert str(model) == repr(model)
    assert "<style>" in model._repr_mimebundle_()["text/html"]  # the page of scikit-learn before the fit
    model.fit(log)
    text, page = str(model), model._repr_mimebundle_()["text/html"]
    assert text.startswith("60 users, 40 items, 4 factors") and ENDS["epochs"] in text
    assert page == model._repr_html_() and page.count("<tr>") == 1 + 3
    for entry in model.history_:
        for shown in (f"{entry['loss']:.4f}", f"{entry['precision']:.4f}"):
            assert shown in text and f">{shown}<" in page
    starred = [line for line in text.splitlines() if " * " in line]
    assert len(starred) == 1 and starred[0].startswith(f"{model.n_epochs_} *")
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_without_a_validation_part_there_is_no_precision(log):
    model = LatentRoBiRank(4, n_epochs=2, evaluate_every=1, random_state=0).fit(log)
    assert "precision" not in str(model) and model.stopped_ in ENDS


def test_only_the_last_evaluations_are_shown(log):
    model = LatentRoBiRank(2, n_epochs=12, evaluate_every=1, random_state=0).fit(log)
    assert len(model.history_) == 12 and str(model).count("\n") == 1 + 8
