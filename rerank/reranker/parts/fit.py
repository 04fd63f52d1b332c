"""A fit of a list in parts: two passes leave the rows that can matter, one confirms the weights, one finds the cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.certificate import certify
from rerank.errors import CertificateError, InputError, RerankError, nearest
from rerank.problem import reduced
from rerank.problem.partitions import at_weights
from rerank.problem.passes import Part, Run, Seen, spread_of
from rerank.problem.reduced import Reduced, depth_of, first_look, reduced_problem
from rerank.ranks.row_gains import gain_of
from rerank.reranker.anchored import anchor_of
from rerank.reranker.clock import Clock
from rerank.reranker.columns import Columns, Rows
from rerank.reranker.cross_fit import Staged, taken_at_its_word
from rerank.reranker.first_stage import (
    FirstStage,
    fit_first_stage,
    is_own_name,
    linear_stage,
    refuse_quoted_none,
)
from rerank.reranker.fit import Fit, concluded
from rerank.reranker.learners import is_fitted, name_of
from rerank.reranker.parts.cuts import alone, classes_of_parts
from rerank.reranker.parts.given import Parts, ScoredPart, read
from rerank.reranker.parts.left import left_rows, training_of
from rerank.reranker.settings import Settings, check
from rerank.reranker.solve.margin import SMALLEST_DEFAULT
from rerank.reranker.state import FittedState

ALONE: dict[str, str] = {
    "list_length": "looks at every place, so that no row can be left out; fit the statistic for lists of this length",
    "pos_label": "is for labels that are no grades; write the labels as 0 and 1",
}
"""Parameters that fit no list in parts, and why."""


def fit_parts(given: Parts, options: Mapping[str, Any], clock: Clock) -> FittedState:
    """Fit on a list in parts.

    Parameters
    ----------
    given : Parts
    options : mapping
        The estimator's parameters as given.
    clock : Clock

    Raises
    ------
    InputError
        For parameters or data that such a fit does not take.
    CertificateError
        If the whole list gives the weights another value than the rows that were left.
    """
    columns = replace(_columns(given.names, options["features"]), index=given.index)
    _refuse(options)
    settings = replace(check(options, columns.chosen.size), n_candidates=None)
    for statistic in (settings.quoted, settings.statistic):
        depth_of(statistic)
    with given.running(settings.n_jobs) as run:
        state = _fitted(given.parts, columns, settings, options, clock, run)
    return replace(state, named=True, result=replace(state.result, seconds=clock.report()))


def _fitted(
    given: Sequence[Part], columns: Columns, settings: Settings, options: Mapping[str, Any], clock: Clock, run: Run
) -> FittedState:
    with clock.phase("first_stage"):
        stage = _stage(settings, given, columns)
        kind = gain_of(options["stat"], options["gain"])
        parts = [ScoredPart(part, stage, columns, kind) for part in given]
        seen = first_look(parts, settings.statistic, run, settings.quoted)
        _check(seen, stage)
        left, seen, features = _left(parts, seen, columns, settings, stage, run)
    clock.set_out()  # a pass takes as long as the list is, and cannot be cut short
    data = left_rows(left.problem, seen, columns, features)
    notes = () if settings.first_stage is None else (taken_at_its_word(stage),)
    found = Staged(stage, left.problem.X[:, 0], notes=notes)
    state = concluded(Fit(data, settings, options, clock, found, training_of(data, left.problem, features)))
    if state.result.certificate is not None:
        with clock.phase("certificate"):
            chosen = np.concatenate([[0], features + 1])
            _confirm([replace(part, chosen=chosen) for part in parts], left, state, run)
    with clock.phase("cuts"):
        return replace(state, classes=classes_of_parts(given, alone(state), seen.n_relevant, run))


def _columns(names: tuple[str, ...], features: Any) -> Columns:
    """The columns of the parts, and which of them are reranked."""
    d = len(names)
    every = np.arange(d)
    if features is None:
        return Columns(names, True, names, every, every)
    if callable(features) or hasattr(features, "transform"):
        raise InputError(
            "features makes or chooses columns of a table, and parts are read one by one; name columns that the parts "
            "hold."
        )
    wanted: list[Any] = [features] if isinstance(features, str) else list(features)
    if len(wanted) == d and all(isinstance(one, bool | np.bool_) for one in wanted):
        wanted = np.flatnonzero(wanted).tolist()
    for one in wanted:
        if isinstance(one, str) and one not in names:
            raise InputError(f"The parts have no column {one!r}; did you mean {nearest(one, names)!r}?")
    numbers = [names.index(one) if isinstance(one, str) else one for one in wanted]
    if not numbers or len(set(numbers)) < len(numbers) or not all(-d <= j < d for j in numbers):
        raise InputError(f"features is {features!r:.80}; name each column to rerank once, of {', '.join(names)}.")
    return Columns(names, True, names, np.array(sorted(j % d for j in numbers), dtype=np.intp), every)


def _refuse(options: Mapping[str, Any]) -> None:
    """Refuse parameters that no list in parts allows."""
    if options["radius"] is None:
        raise InputError(
            "radius is None, and free weights may bring any row to the top, so that no row can be left out of a list "
            "in parts; give a radius, or fit on a sample in memory."
        )
    if options["n_candidates"] not in ("auto", None):
        raise InputError(
            f"n_candidates is {options['n_candidates']!r}, and of a list in parts every row is a candidate; leave it "
            "at 'auto' or None."
        )
    for name, why in ALONE.items():
        if options[name] is not None:
            raise InputError(f"{name} is {options[name]!r}, which {why}, and leave {name} out.")


def _stage(settings: Settings, parts: Sequence[Part], columns: Columns) -> FirstStage:
    """A first stage that scores each part by itself: it is ready, and nothing is fitted here."""
    given, prior = settings.first_stage, settings.prior
    advice = (
        "would take the whole list in memory; give the name of a column of scores, a fitted estimator in "
        "sklearn.frozen.FrozenEstimator, a function, or weights as prior."
    )
    if given is None and isinstance(prior, str):
        raise InputError(f"prior is {prior!r}, and the deviations that it takes {advice}")
    word = isinstance(given, str)
    if word and (is_own_name(given) or given not in columns.inputs):
        refuse_quoted_none(given)
        hint = "" if is_own_name(given) else f" is no column (did you mean {nearest(given, columns.inputs)!r}?), and"
        raise InputError(f"first_stage is {given!r}, which{hint} to fit {advice}")
    if isinstance(given, np.ndarray | list | tuple) or type(given).__name__ == "Series":
        raise InputError(f"first_stage is an array of scores, which {advice}")
    if not word and given is not None and (isinstance(given, type) or not is_fitted(given)):
        raise InputError(f"first_stage is {name_of(given)}, which is not fitted, and to fit it {advice}")
    table, y = next((one for part in parts if len((one := read(part, columns))[0])), (None, None))
    if table is None or y is None:
        raise InputError("The parts hold no row; give at least one that does.")
    rows = Rows(table, columns)
    if given is None:
        return linear_stage(prior, rows)[0]
    try:
        found = fit_first_stage(given, rows, y)
    except RerankError:
        raise
    except Exception as error:
        raise InputError(
            f"The first stage {name_of(given)} cannot score a part, which is an array of the columns "
            f"{', '.join(columns.inputs):.200} ({str(error).splitlines()[0]:.100}); give a function of such an array."
        ) from error
    assert found is not None
    return found[0]


def _check(seen: Seen, stage: FirstStage) -> None:
    """Refuse a list with nothing to find or to correct."""
    if not seen.n_relevant:
        raise InputError("No row has a label above 0: there is nothing to find; mark relevant rows in y.")
    if seen.n_relevant == seen.n:
        raise InputError("Every row has a label above 0, and 0 is what an irrelevant row is labelled; correct y.")
    if not seen.high[0] > seen.low[0]:
        raise InputError(
            f"The first stage, {stage.name}, gives all rows the same score, so there is nothing to correct; give "
            "another."
        )
    if not np.any(seen.high[1:] > seen.low[1:]):
        raise InputError("Each column to rerank is constant in all parts; give one that varies.")


def _left(
    parts: Sequence[ScoredPart], seen: Seen, columns: Columns, settings: Settings, stage: FirstStage, run: Run
) -> tuple[Reduced, Seen, np.ndarray]:
    """The problem of the rows that are left, and the columns that it corrects by, as of a list in memory."""
    spread = spread_of(seen)
    features = np.flatnonzero((seen.low + spread > seen.low)[1:])
    chosen = np.concatenate([[0], features + 1])
    anchor = anchor_of(columns, settings, stage)
    assert anchor is not None
    seen, spread = seen.some(chosen), spread[chosen]
    limits = anchor.limits(settings.signs[features], features, spread)
    left = reduced_problem(
        [replace(part, chosen=chosen) for part in parts], seen, seen.low, seen.low + spread, settings.statistic,
        limits, run=run, most_rows=reduced.MOST_ROWS,
        epsilon=settings.epsilon or SMALLEST_DEFAULT, C=settings.C, max_features=settings.max_features,
    )  # fmt: skip
    return left, seen, features


def _confirm(parts: Sequence[Part], left: Reduced, state: FittedState, run: Run) -> None:
    """One more pass: the exact value of the weights on the rows that stand near the first places at them."""
    certificate, weights = state.result.certificate, state.weights
    assert certificate is not None
    near = at_weights(parts, replace(left, problem=state.known_problem()), weights, run=run)
    value = certify(near.problem, weights).value
    if value != certificate.value:
        raise CertificateError(
            f"The weights are worth {float(certificate.value):.12g} on the rows that were left and {float(value):.12g} "
            "on the whole list, so the parts are not the same in each pass; give parts that do not change, or report "
            "this."
        )
