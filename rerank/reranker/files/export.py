"""Programs out and solutions back: an export holds all that is needed to verify the solution of another solver."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.certificate import digest
from rerank.errors import CertificateError, InputError
from rerank.io.atomic import together, writing_bytes
from rerank.io.bounded import read_bytes
from rerank.problem import Problem
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.ranks.rationals import is_closed
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, state_of
from rerank.reranker.files.model_file import usable
from rerank.reranker.files.own_rows import check_claim, check_point, check_program, check_rows
from rerank.reranker.result import status_of
from rerank.reranker.solve.by_program import seconds_to_state
from rerank.reranker.solve.program import chosen_formulation, normalised, shares_optimum
from rerank.reranker.solve.program import state as stated_program
from rerank.reranker.solve.verified import outside, polished, summed
from rerank.reranker.state import FittedState
from rerank.search.domain import allowed

MOST_SECONDS = 20.0
"""A program that takes longer to state is not stated again when a solution of it is read."""


def export(
    state: FittedState, formulation: str, path: str | os.PathLike[str], choices: dict[str, Any]
) -> tuple[str, str, dict[str, int]]:
    """Write the program of the fitted problem with a sidecar from which :func:`imported` rebuilds the state.

    Returns both paths and the program's rows, columns, integer columns and non-zeros.
    """
    from formulations import mps
    from formulations.errors import FormulationError

    problem = state.known_problem()
    beside = mps.sidecar_path(path)
    if beside.exists() and not _is_sidecar(beside):
        raise InputError(
            f"{beside} exists and is no sidecar of a program; export under another name than {Path(path).name}."
        )
    stated = stated_program(problem, formulation, **choices)
    data = {
        "model": model_file.to_dict(document(state)),
        "problem": problem_to_json(problem),
        "formulation": formulation,
        "choices": choices,
        "constant": stated.constant.hex(),
    }
    try:
        written = mps.contents(stated.program, path, data)
    except FormulationError as error:
        raise InputError(str(error)) from error
    with together():
        for target, content in written:
            with writing_bytes(target) as file:
                file.write(content)
    return str(written[0][0]), str(written[1][0]), stated.size


def _is_sidecar(path: Path) -> bool:
    """Whether a file is a sidecar, which an export may replace."""
    try:
        return b'"exact-rerank program"' in read_bytes(path, 2**28)
    except InputError:
        return False


def load_solution(
    state: FittedState,
    formulation: str,
    path: str | os.PathLike[str],
    dialect: str | None,
    choices: dict[str, Any],
) -> FittedState:
    """The state with the weights of a solution file for its program."""
    problem = state.known_problem()
    stated = stated_program(problem, formulation, **choices)
    return _solved_by_file(state, formulation, problem, stated.program, stated.constant, path, dialect, choices)


def imported(
    model: str | os.PathLike[str], solution: str | os.PathLike[str], dialect: str | None = None
) -> FittedState:
    """A fitted state from an exported program, its sidecar and a solution file, without the data."""
    from formulations import mps
    from formulations.errors import FormulationError

    where = f"the sidecar of {model}"
    with usable(where):
        try:
            program = mps.read(model, sidecar=True)
            data = mps.read_sidecar(model).get("data")
        except FormulationError as error:
            raise InputError(str(error)) from error
        state, problem, stated = _contents(data, where)
        _check_problem(state, problem, where)
        if seconds_to_state(problem, stated["formulation"], MOST_SECONDS) <= MOST_SECONDS:
            own = stated_program(problem, stated["formulation"], **stated["choices"])
            check_program(program, own.program, str(model))
            if abs(own.constant - stated["constant"]) > 1e-9 * max(1.0, abs(own.constant)):
                raise InputError(f"{where} states another constant than its problem has; export it again.")
        return _solved_by_file(
            state, stated["formulation"], problem, program, stated["constant"], solution, dialect, stated["choices"]
        )


def _contents(data: Any, where: str) -> tuple[FittedState, Problem, dict[str, Any]]:
    """State and problem of a sidecar, and how the program was stated."""
    if not isinstance(data, dict) or not {"model", "problem", "constant", "formulation", "choices"} <= set(
        data
    ):
        raise InputError(
            f"{where} holds no estimator; export the program with Reranker.export_mps or rerank export."
        )
    state = state_of(model_file.from_dict(data["model"], where), where=where)
    problem = problem_from_json(data["problem"], where)
    try:
        constant = float.fromhex(data["constant"])
    except (TypeError, ValueError, OverflowError):
        constant = math.nan
    if not math.isfinite(constant):
        raise InputError(f"{where} holds no constant; export it again.")
    chosen_formulation(data["formulation"], state.task.statistic)
    if not isinstance(data["choices"], dict):
        raise InputError(f"{where} does not say how its program was stated; export it again.")
    return state, problem, {**data, "constant": constant}


def _check_problem(state: FittedState, problem: Problem, where: str) -> None:
    """Whether the problem of a sidecar is that of its model."""
    doc = document(state)
    sides = (
        (doc.data_sha256, digest(problem)), (doc.epsilon.text, problem.epsilon.text),
        (doc.C.hex(), problem.C.hex()),
        (doc.low.tolist(), problem.low.tolist()), (doc.high.tolist(), problem.high.tolist()),
        # Anchored problems hold signs as limits, which are part of the digest.
        (None if doc.signs is None or problem.anchored else doc.signs.tolist(),
         None if doc.signs is None or problem.anchored else problem.signs.tolist()),
    )  # fmt: skip
    if any(stated != found for stated, found in sides):
        raise InputError(
            f"{where} contradicts itself: its problem is not that of its model; export it again."
        )


def _inside(
    w: NDArray[np.float64], box: tuple[NDArray[np.float64], NDArray[np.float64]] | None, name: str
) -> NDArray[np.float64]:
    """The weights, which a box of their program must hold once their largest size is 1."""
    j = None if box is None else outside(w, box)
    if box is not None and j is not None:
        raise InputError(
            f"The weights of {name} leave the box of their program once their largest size is 1, as models keep it: "
            f"w[{j}] = {w[j]:.6g} lies outside [{box[0][j]:g}, {box[1][j]:g}]; give a box that fixes a weight at 1 "
            "or -1."
        )
    return w if box is None else np.clip(w, *box)


def _solved_by_file(
    state: FittedState, formulation: str, problem: Problem, program: Any, constant: float,
    path: str | os.PathLike[str], dialect: str | None, choices: dict[str, Any],
) -> FittedState:  # fmt: skip
    from formulations.errors import FormulationError
    from formulations.solutions import parse_solution

    counted, name = check_rows(path, program), Path(path).name
    try:
        solution = parse_solution(path, program, dialect)
        x = program.vector(solution.values)
    except FormulationError as error:
        raise InputError(str(error)) from error
    check_point(solution, x, program, name)
    claim = program.objective(x) + constant
    given = np.clip(x[program.weights], *(problem.limits or (-1.0, 1.0)))
    box = (program.lower[program.weights], program.upper[program.weights]) if "box" in choices else None
    best = polished(problem, allowed(problem, _inside(normalised(given, problem.limits), box, name)), claim, box)
    old = state.result
    # The weights of the model are a point of any program that asks no more than the problem.
    asks_more = box is not None or choices.get("big_m", "pair") != "pair"
    if shares_optimum(formulation, state.task.statistic) and not asks_more:
        check_claim(solution, claim, max(old.value, best.value), name)
    known = old.certificate is not None or old.bound < problem.ideal
    bound, source = (old.bound, old.bound_source) if known else (problem.ideal, "ideal")
    if not is_closed(best.value - bound, bound, summed(problem)):
        raise CertificateError(
            f"The weights of {name} are worth {best.value:.12g} when recomputed exactly, above the bound "
            f"{bound:.12g} of the model: one of the two is wrong, so neither is used; fit the model again."
        )
    other = old.fitted_name != old.statistic_name
    told = [f"The weights were read from {name}."]
    if other:
        told.append(f"The statistic is that of {old.fitted_name}, which the file's program maximises.")
    if not (counted or np.array_equal(best.weights, given)):
        told.append(
            f"{name} does not say which rows its program had; rows of your own need not hold for these weights, which "
            "were scaled and polished."
        )
    if best.value < old.value and not is_closed(old.value - best.value, old.value, summed(problem)):
        told.append(f"The weights that the model had are worth more: {old.value:.9g}, and these {best.value:.9g}.")
    result = replace(
        old,
        weights=best.weights, value=best.value, certificate=best.certificate,
        statistic=float(best.certificate.statistic), bound=max(bound, best.value), bound_source=source,
        bound_solver=old.bound_solver if source == "solver" else None,
        gave_up=False,
        program_value=claim, program_bound=None, formulation=formulation, solver="file", start_value=None,
        start_accepted=None, evidence=None, notes=tuple(told),
    ).within_bound()  # fmt: skip
    # "auto" stays what was asked for where it stands for this program.
    asked = {} if formulation == state.task.formulation else {"formulation": formulation}
    return replace(
        state, task=replace(state.task, given={**state.task.given, **asked}), weights=best.weights, reranks=True,
        classes=None if state.classes is None else replace(state.classes, cuts=None),  # there is no table
        result=replace(result, status=status_of(result)),
    )  # fmt: skip
