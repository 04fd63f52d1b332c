"""A fit of score fusion as text and as a piece of a page."""

import pytest

from rerank.errors import InputError
from rerank.fusion import ScoreFusion
from rerank.reranker.fit import LATE
from rerank.reranker.selection import held_out
from tests.fusion import naive


@pytest.fixture(scope="module")
def case():
    return naive.made(12, (1.2, 0.4), seed=0)


def test_it_shows_weights_runs_nulls_and_bound(case):
    runs, qrels = case
    est = ScoreFusion(cv=3, random_state=0, time_limit=20.0)
    assert str(est) == repr(est) and "<style>" in est._repr_mimebundle_()["text/html"]
    est.fit(runs, qrels)
    text, page = str(est), est._repr_html_()
    assert text.startswith(est.report()) and est.result_.message in text
    for name, weight in est.weights_.items():
        assert f"{weight:.4f}" in text and f">{weight:.4f}<" in page and name in page
    for name, value in (*est.runs_.items(), *est.nulls_.items()):
        line = next(line for line in text[len(est.report()) :].splitlines() if line.startswith(name))
        assert float(line.split()[-1]) == pytest.approx(value, abs=1e-6)
    assert f"gap {est.result_.gap:.9f}".rstrip("0").rstrip(".") in text


def test_the_picture_has_a_line_for_every_option(case):
    pytest.importorskip("matplotlib").use("Agg")
    est = ScoreFusion(cv=3, random_state=0, time_limit=20.0).fit(*case)
    ax = est.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == len(est.cv_results_["params"]) == len(set(names))
    assert sum(name.endswith(", chosen") for name in names) == (not est.null_kept_)
    marks = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert marks == pytest.approx(est.cv_results_["lead"])
    assert ax.get_xlabel() == "lead over RRF, ndcg@10"
    assert [text.get_text() for text in ax.texts] == ["RRF, kept" if est.null_kept_ else "RRF"]


def test_without_folds_there_is_no_report_in_it_and_no_picture(case):
    est = ScoreFusion(cv=None, normalise="minmax", random_state=0, time_limit=20.0).fit(*case)
    assert str(est).startswith("Weights of the scores normalised by minmax:")
    with pytest.raises(InputError, match="no folds"):
        est.plot()


def test_names_of_runs_are_no_html(case):
    runs, qrels = case
    evil = {f"<b>{name}": run for name, run in runs.items()}
    page = ScoreFusion(cv=None, random_state=0, time_limit=20.0).fit(evil, qrels)._repr_html_()
    assert "<b>r0" not in page and "&lt;b&gt;r0" in page


def test_without_time_no_option_is_tried_no_fold_is_fitted_and_that_is_said(case, monkeypatch):
    pd = pytest.importorskip("pandas")
    fits, real = [], held_out.fit
    monkeypatch.setattr(held_out, "fit", lambda *given: fits.append(1) or real(*given))
    est = ScoreFusion(cv=3, random_state=0, time_limit=0.0).fit(*case)
    assert est.null_kept_ and not fits and pd.DataFrame(est.cv_results_).value.isna().all()
    assert est.result_.message == (
        "RRF is kept: no option had the time to be tried on held-out queries; raise time_limit."
    )
    assert any("ran out of time at the prior" in note for note in est.notes_) and not est.evidence_.guarded
    assert any(f"this fit had 0 s: {LATE}" in note for note in est.result_.notes)
    more = ScoreFusion(cv=3, random_state=0, time_limit=60.0).fit(*case)  # what the message asks for
    assert fits and all(value == value for value in more.cv_results_["value"])
    assert not any("ran out of time" in note for note in (*more.notes_, *more.result_.notes))
    assert more.evidence_.guarded == more.null_kept_
    assert "ranks give way only to one that leads them by a standard error" in more.report()
