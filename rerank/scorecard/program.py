"""The program of a card, for whoever trusts only their own solver: see :mod:`formulations.card`."""

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.errors import InputError, NotSupportedError
from rerank.io.options import spelled
from rerank.scorecard.kernels import NO_CUT
from rerank.scorecard.likelihood import LogLoss
from rerank.scorecard.problem import CardProblem
from rerank.scorecard.rows import Rows
from rerank.scorecard.statement import NO_LIMIT, measure
from rerank.statistics import AUC, RankStatistic, presentation


def model_of(
    problem: CardProblem, stat: Any, answers: Any, rows: Rows, one_per_column: bool, ties: str, **choices: Any
) -> Any:
    """The Pyomo model of a card; ``answers`` are those of the rows to the candidates, (questions, n)."""
    from formulations import card
    from formulations.errors import FormulationError

    if ties not in ("average", "pessimistic"):
        raise InputError(f"ties is {spelled(ties)}; it must be 'average' or 'pessimistic'.")
    statistic, rate = measure(stat)
    if isinstance(statistic, LogLoss):
        raise NotSupportedError("No program states log loss; use stat='auc' or another rank statistic.")
    limits, rules = problem.limits, problem.rules
    if limits.cut != NO_CUT or limits.first > 0:
        raise NotSupportedError(
            "No program states limits at a cut or among the first rows; leave cut and these constraints out, or use "
            "fit and verify, which keep them."
        )
    pairs = zip(rules.asked, rules.needed)
    needs = [(None if asked.all() else np.flatnonzero(asked), np.flatnonzero(needed)) for asked, needed in pairs]
    allowed = card.CardRules(
        problem.domains,
        min(problem.size, len(problem.domains)),
        needs,
        [(j, i) for j, i in np.argwhere(np.triu(rules.clash)).tolist()],
        rules.places[:-1],
        "monotone" if limits.one_sign else one_per_column,
        int(rules.places[-1]),
        limits.total if limits.total < NO_LIMIT else None,
    )
    X = np.asarray(answers, np.float64).T
    try:
        if ties == "pessimistic":
            repeated, units, constant = _pessimistic(statistic, rate, rows)
            return card.build_pessimistic(X[repeated], units=units, card=allowed, constant=constant, **choices)
        if rate is not None or not isinstance(statistic, AUC):
            raise NotSupportedError(
                f"No program states {spelled(stat)} with tied rows in expectation; pass ties='pessimistic', which is "
                f"another value, or stat='auc'."
            )
        return card.build(
            X,
            rows.relevant,
            allowed,
            weight=rows.weight,
            qid=rows.lists,
            query_weight=rows.list_weight,
            people=rows.people,
            least_area=limits.area,
            **choices,
        )
    except FormulationError as error:
        raise InputError(str(error)) from error


def _pessimistic(statistic: RankStatistic, rate: float | None, rows: Rows) -> tuple[Any, list[Any], float]:
    """The rows, each so often as its weight says, the lists that count as units, and what is added to their sum."""
    from formulations.data import Unit

    counts, unit = rows.units
    if rate is not None:
        raise NotSupportedError("No program states a partial area up to a false positive rate; use fit and verify.")
    if unit != 1:
        raise NotSupportedError("No program states weights of rows that are no whole numbers; round them.")
    repeated = np.repeat(np.arange(rows.n), counts)
    found = []
    for of, weight in enumerate(rows.list_weight.tolist()):
        own = np.flatnonzero(rows.lists[repeated] == of)
        relevant = rows.relevant[repeated[own]]
        offset, scale = presentation(statistic, own.size, np.sort(relevant.astype(np.float64)))
        if relevant.any() and scale > 0 and weight > 0:
            places = statistic.coefficients(own.size)
            found.append((weight, offset / scale, weight / scale, Unit(own[relevant], own[~relevant], places)))
    total = math.fsum(weight for weight, *_ in found)
    units = [replace(unit, factor=factor / total) for _, _, factor, unit in found]
    return repeated, units, -math.fsum(weight * offset for weight, offset, *_ in found) / total


def export(model: Any, path: str | os.PathLike[str], data: dict[str, Any]) -> tuple[str, str]:
    """Write a model as a portable file with a sidecar that holds ``data``; both paths."""
    from formulations import mps
    from formulations.compile import compile_model
    from formulations.errors import FormulationError

    try:
        beside = mps.sidecar_path(path)
        if beside.exists():
            mps.read_sidecar(path)  # a file of another kind is not replaced
        program, sidecar = mps.write(compile_model(model), path, data)
    except FormulationError as error:
        raise InputError(f"The program cannot be exported: {error}") from error
    return str(program), str(sidecar)
