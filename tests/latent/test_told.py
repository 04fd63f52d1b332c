"""A trained model as text and as a piece of a page."""

import numpy as np
import pytest
import scipy.sparse
from sklearn import config_context

from rerank.latent import LatentRoBiRank
from rerank.latent.recommender import ENDS


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
