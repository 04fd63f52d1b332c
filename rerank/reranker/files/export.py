"""Programs out and solutions back: exported with all that is needed to judge what another solver finds for them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import InputError
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, restore
from rerank.reranker.result import message_of, status_of
from rerank.reranker.solve.program import normalised, state
from rerank.reranker.solve.verified import polished

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker


def export(est: Reranker, path: str | os.PathLike[str], choices: dict[str, Any]) -> tuple[str, str]:
    """Write the program of the fitted problem with a sidecar from which :func:`imported` rebuilds the estimator."""
    from formulations import mps
    from formulations.errors import FormulationError

    problem = est._problem()
    beside = mps.sidecar_path(path)
    if beside.exists() and not _is_sidecar(beside):
        raise InputError(
            f"{beside} exists and is no sidecar of a program; export under another name than {Path(path).name}."
        )
    stated = state(problem, est.formulation, **choices)
    data = {
        "model": model_file.to_dict(document(est)),
        "problem": problem_to_json(problem),
        "formulation": est.formulation,
        "constant": stated.constant.hex(),
    }
    try:
        written = mps.write(stated.program, path, data)
    except FormulationError as error:
        raise InputError(str(error)) from error
    return str(written[0]), str(written[1])


def _is_sidecar(path: Path) -> bool:
    """Whether a file is one that an export may replace."""
    try:
        with open(path, encoding="utf-8") as file:
            return '"exact-rerank program"' in file.read()
    except (OSError, UnicodeDecodeError):
        return False


def load_solution(
    est: Reranker, path: str | os.PathLike[str], dialect: str | None, choices: dict[str, Any]
) -> Reranker:
    """Take the weights of a solution file for the program of ``est``."""
    stated = state(est._problem(), est.formulation, **choices)
    return _take(est, est._problem(), stated.program, stated.constant, path, dialect)


def imported(
    model: str | os.PathLike[str], solution: str | os.PathLike[str], dialect: str | None = None
) -> Reranker:
    """A fitted estimator from an exported program, its sidecar and a solution file, without the data."""
    from formulations import mps
    from formulations.errors import FormulationError

    try:
        program = mps.read(model, sidecar=True)
        data = mps.read_sidecar(model).get("data")
    except FormulationError as error:
        raise InputError(str(error)) from error
    if not isinstance(data, dict) or not {"model", "problem", "constant", "formulation"} <= set(data):
        raise InputError(
            f"The sidecar of {model} holds no estimator; export it with Reranker.export_mps or rerank export."
        )
    doc = model_file.from_dict(data["model"], f"the sidecar of {model}")
    est = restore(doc, where=f"the sidecar of {model}")
    problem = problem_from_json(data["problem"], f"the sidecar of {model}")
    if problem.n_features != doc.features.size:
        raise InputError(
            f"The sidecar of {model} contradicts itself in the number of features; export it again."
        )
    try:
        constant = float.fromhex(data["constant"])
    except (TypeError, ValueError):
        raise InputError(f"The sidecar of {model} holds no constant; export it again.") from None
    est.formulation = str(data["formulation"])
    return _take(est, problem, program, constant, solution, dialect)


def _take(
    est: Reranker,
    problem: Any,
    program: Any,
    constant: float,
    path: str | os.PathLike[str],
    dialect: str | None,
) -> Reranker:
    from formulations import mps
    from formulations.errors import FormulationError

    try:
        values = mps.read_solution(path, program, dialect)
        x = program.vector(values)
    except FormulationError as error:
        raise InputError(str(error)) from error
    claim = program.objective(x) + constant
    best = polished(problem, normalised(np.clip(x[program.weights], -1.0, 1.0)), claim)
    old = est.result_
    bound, source = (
        (old.bound, old.bound_source)
        if old.certificate or old.bound < problem.ideal
        else (problem.ideal, "ideal")
    )
    bound = max(bound, best.value)
    status = status_of(best.value, bound, source)
    est._weights = best.weights
    est._publish(
        est._stage,
        est.threshold_,
        True,
        replace(
            old,
            statistic=float(best.certificate.statistic), value=best.value, bound=bound, bound_source=source,
            status=status, message=message_of(status, bound - best.value, source, old.statistic_name),
            weights=best.weights, program_value=claim, program_bound=None, certificate=best.certificate,
            formulation=est.formulation, solver="file", start_value=None, start_accepted=None,
            notes=(f"The weights were read from {Path(path).name}.",),
        ),
    )  # fmt: skip
    return est
