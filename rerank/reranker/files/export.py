"""Programs out and solutions back: an export holds all that is needed to verify the solution of another solver.

The program that was solved has to be that of the exported problem, or of the model that was given. Its names and
numbers are compared with those of the problem stated again, and the rows that a solution file counts with the rows of
that program: rows or columns of the user's own are refused where nothing says that they are the user's.
"""

import math
import os
import re
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from formulations import mps
from formulations.files import file_bytes
from formulations.program import Program
from formulations.solutions import SolutionFile as FileSolution
from formulations.solutions import parse_solution
from rerank.errors import CertificateError, InputError, SolverError
from rerank.errors.stops import protected
from rerank.io.atomic import is_sidecar, together, writing_bytes
from rerank.io.options import real
from rerank.problem import Problem
from rerank.problem.json import digest, problem_from_json, problem_to_json
from rerank.problem.lists import Floats, Indices
from rerank.problem.quotas import unmet
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, state_of
from rerank.reranker.files.model_file import usable
from rerank.reranker.options import RerankerOptions
from rerank.reranker.result import Result
from rerank.reranker.solution import Moment, history_of, status_of
from rerank.reranker.solve.optimise import INTERRUPTED, check_bound, remarks_of, run, seconds_to_state, solve
from rerank.reranker.solve.own import OwnProgram, check_model, choices_of, own_program
from rerank.reranker.solve.program import build_model, chosen_formulation, normalised, shares_optimum, stated_wrong
from rerank.reranker.solve.program import state as stated_program
from rerank.reranker.solve.verified import VerifiedWeights, outside, polished, summed
from rerank.reranker.state import FittedState
from rerank.reranker.task import Task, task_of
from rerank.search.domain import allowed
from rerank.solvers.outcome import ACCEPTED, AGREE, Progress

AnyPath = str | os.PathLike[str]
Limit = tuple[float, str, str | None]  # a bound, its source, and whose word it is

MOST_SECONDS = 20.0  # a program that takes longer to state is not stated again when a solution of it is read


@dataclass(frozen=True)
class BoundClaim:
    """What is asked for besides the weights."""

    bound: float | None = None  # a solver's, as printed for the program's file: minimised, without the constant
    by: str | None = None  # whose word that is: solver and version
    prove: float | None = None  # seconds for a search that starts from the weights

    def __post_init__(self) -> None:
        if (self.bound is None) != (not self.by):
            raise InputError(
                "A bound on a solver's word needs both the number and the solver; give bound and by, or neither "
                "(--bound and --by)."
            )
        if self.bound is not None and not (isinstance(self.bound, Real) and math.isfinite(self.bound)):
            raise InputError(f"bound is {self.bound!r}; it must be a finite number.")
        if self.prove is not None:
            real("prove", self.prove, 0.0)

    def bounded(self, result: Result, program: Program, bounds: bool) -> Result:
        """The result with the bound on the solver's word, if that program ``bounds`` the value."""
        if self.bound is None or self.by is None:
            return result
        bound, value = program.constant - self.bound, result.value
        result = replace(result, program_bound=bound)
        if not bounds:
            return result.noting(
                f"{self.by} bounds the {result.formulation} program, as it was stated, by {bound:.9g}; that program "
                "asks more than the problem, so this is no bound on the value."
            )
        self.check(bound, value, program.constant)
        if is_closed(result.bound - max(bound, value), value):
            return result.noting(
                f"The bound that the model had, {result.bound:.9g}, is kept: that of {self.by} is not smaller."
            )
        return replace(result, bound=max(bound, value), bound_source="solver", bound_solver=self.by)

    def check(self, bound: float, value: float, constant: float) -> None:
        """Refuse a bound on the value below the value; ``constant`` is what the program's file lacks of it."""
        if bound < value - AGREE * max(1.0, abs(value)):
            raise InputError(
                f"A bound of {self.bound:.9g} by {self.by} would mean that no value exceeds {bound:.9g}, and these "
                f"weights are worth {value:.9g}; give the bound as {self.by} prints it for the program's file, in "
                f"which they are worth {constant - value:.9g}."
            )

    def proved(self, result: Result, problem: Problem, task: Task) -> Result:
        """The result after a search from its weights; better weights take their place, and that is said."""
        if self.prove is None:
            return result
        clock = Clock(self.prove)
        asked = replace(task, solver="search", presolve=True, node_limit=None, checkpoint=None, judged=False)
        found = solve(problem, asked, clock, result.weights)
        check_bound(problem, result.value, found.bound, "search")
        more, seconds = found.value - result.value, clock.report()
        result = replace(result, seconds=seconds, nodes=found.nodes, proof=found.proof, gave_up=found.gave_up)
        result = result.noting(*found.notes)
        if not is_closed(more, result.value, summed(problem)) and found.certificate is not None:
            note = f"The search found weights that are worth {more:.6g} more than those of the file; they are taken."
            exact = found.certificate
            result = replace(result, weights=found.weights, value=found.value, certificate=exact).noting(note)
            result = replace(result, statistic=float(exact.statistic))
        bound = max(found.bound, result.value)
        if is_closed(bound - result.bound, bound, summed(problem)):
            result = replace(result, bound=bound, bound_source=found.bound_source, bound_solver=None)
        end = Moment(clock.spent, result.value, result.bound)
        return replace(result, history=history_of([*found.history, end], *end[1:]))


NOTHING = BoundClaim()


def export(
    state: FittedState, formulation: str, path: AnyPath, choices: dict[str, Any], model: Any = None
) -> tuple[str, str, dict[str, int]]:
    """Write the program of the fit, or of a user's ``model``, and a sidecar; both paths, and the program's sizes."""
    problem = state.known_problem()
    beside = mps.sidecar_path(path)
    if beside.exists() and not is_sidecar(beside):
        raise InputError(
            f"{beside} exists and is no sidecar of a program; export under another name than {Path(path).name}."
        )
    more: dict[str, Any] = {}
    if model is None:
        stated = stated_program(problem, formulation, **choices)
    else:
        own = program_of(model, problem, choices)
        stated, formulation, choices = own.stated, own.base.formulation, choices_of(model)
        more = {"own": own.titles}
    data = {
        "model": model_file.to_dict(document(state)),
        "problem": problem_to_json(problem),
        "formulation": formulation,
        "choices": {choice: np.asarray(value).tolist() for choice, value in choices.items()},
        "constant": (0.0).hex(),  # the offset holds all of it; in files of earlier versions it is a part
        **more,
    }
    with stated_wrong():
        written = mps.contents(stated.program, path, data)
    with together():
        for target, content in written:
            with writing_bytes(target) as file:
                file.write(content)
    return str(written[0][0]), str(written[1][0]), stated.size


def program_of(model: Any, problem: Problem, choices: dict[str, Any]) -> OwnProgram:
    """The program of a user's model, beside that of the problem; ``choices`` are for a model yet to be built."""
    from formulations.compile import compile_model

    if choices:
        raise InputError(
            f"{next(iter(choices))} was given beside a model, which is built already; give it to build_model()."
        )
    check_model(model, problem)
    with stated_wrong():
        program = compile_model(model)
    return own_program(problem, model.rerank_info.kind, program, choices_of(model), dict(program.titles))


def _run_as(state: FittedState, options: RerankerOptions) -> Task:
    """What was asked of a fit, with the solver of now and how it is run."""
    solver = "highs" if options.solver in ("search", "none") else options.solver
    given = replace(
        state.task.given,
        time_limit=options.time_limit,
        node_limit=options.node_limit,
        n_jobs=options.n_jobs,
        verbose=options.verbose,
        solver_options=options.solver_options,
        solver=solver,
    )
    return replace(task_of(given, state.task.signs.size), random_state=state.task.random_state)


def fit_model(state: FittedState, model: Any, options: RerankerOptions) -> FittedState:
    """The state with the best weights of a user's model, whose variables are set; ``options`` are those of now."""
    from formulations.compile import variables_of

    problem, clock, task = state.known_problem(), Clock(options.time_limit), _run_as(state, options)
    with clock.phase("build"):
        own = program_of(model, problem, {})
    began, course = clock.spent, list[Progress]()
    limit = clock.share(1.0, reserve=0.3)
    outcome = run(own.stated, task, clock, limit, own.start(state.weights), progress=course.append)
    if outcome.x is None and outcome.stop == "finished":
        if not own.changed and problem.quotas:
            raise unmet(problem.quotas, proved=False)
        raise SolverError(
            f"{outcome.who} says that no weights keep your rows together ({own.listed}); leave one of them out, or "
            f"give it more room{ROOM_INSIDE if own.two_sided else ''}."
        )
    if outcome.x is None:
        raise SolverError(
            f"{outcome.who} found no point of the program with your rows ({outcome.stop}); raise time_limit."
        )
    ours, columns = own.maximises_value, variables_of(model)
    _set(columns, outcome.x)  # which stays where no weights near it keep the rows
    with clock.phase("certificate"):
        held = "; the variables of your model have the values of the solver"
        asked = outcome.x, own.claim(outcome.x) if ours else None, outcome.who, held
        (found, point, remarks), interrupted = protected(lambda: own.inside(*asked))
    _set(columns, point)
    bound = own.in_value(outcome.bound) if ours else math.inf
    moments = [
        Moment(began + now.seconds, own.in_value(now.incumbent), own.in_value(now.bound))
        for now in course
        if own.bounds_value
    ]
    notes = [*remarks, *remarks_of(outcome), *([INTERRUPTED] if interrupted else [])]
    if task.solver != options.solver:
        notes.append(f"solver={options.solver!r} knows no rows of a program, so HiGHS solved it.")
    if task.proof or task.checkpoint is not None:
        notes.append(
            "A search does not know what was added to a program: it proved nothing here, recorded no proof and used no "
            "checkpoint."
        )
    if not ours:
        words = "calls optimal" if outcome.holds == "optimal" else f"bounds by {outcome.bound:.9g}"
        notes.append(own.objective_remark(point, f"which {outcome.who} {words}"))
    reported = {
        "program_value": own.in_value(outcome.objective) if ours and outcome.objective is not None else None,
        "program_bound": bound if math.isfinite(bound) else None,
        "solver": task.solver,
        "model_size": own.stated.size,
        "start_accepted": outcome.start_accepted,
        "nodes": max(0, int(outcome.nodes)),
        "seconds": clock.report(),
        "history": (*moments, Moment(clock.spent, found.value, bound)) if moments else (),
    }
    return _kept(replace(state, task=task), own, found, point, notes, bound, outcome.who, **reported)


def _set(variables: list[Any], x: Floats) -> None:
    """Give the variables of a model the values of a point (n,)."""
    for variable, value in zip(variables, x.tolist(), strict=True):
        variable.set_value(value, skip_validation=True)


ROOM_INSIDE = "; its two sides also forbid leads within the margin, of which a smaller one has fewer"


def _kept(
    state: FittedState,
    own: OwnProgram,
    found: VerifiedWeights,
    point: Floats,
    notes: list[str],
    bound: float,
    who: str,
    **reported: Any,
) -> FittedState:
    """The state with a ``point`` (n,) of a user's program and the least bound that holds; ``bound`` is by ``who``."""
    old, problem, value = state.result, own.problem, found.value
    limit, source, by = _known_bound(old, problem)
    _check_bound(value, limit, problem, who)
    told: list[str] = []
    claim = own.claim(point) if own.maximises_value else None
    if claim is not None and own.counts and not is_closed(value - claim, value, summed(problem)):
        told.append(
            f"The weights are worth {value:.9g}, and your program counts {claim:.9g} of that: your rows ask for less "
            "than they earn."
        )
    if own.bounds_value and math.isfinite(bound):
        if not is_closed(value - bound, bound, summed(problem)):
            told.append(f"{who} says that no weights have more than {bound:.9g}: its claim is refused.")
        elif not is_closed(limit - bound, limit, summed(problem)):
            told.append(f"The bound is of the program with your rows; without them it is {limit:.9g}.")
            limit, source, by = max(bound, value), "rows" if own.changed else "solver", who
    elif claim is not None and math.isfinite(bound):
        why = "may count less than weights earn" if own.changed else "asks more than the problem"
        told.append(
            f"{who} bounds the objective of your program by {bound:.9g}. That program {why}, so the bound {limit:.9g} "
            "is that of all weights, with or without your rows."
        )
    told += [*own.remarks(point), *own.scale_remarks(found), *notes]
    own_figures = {"changed": True, "formulation": own.base.formulation, "proof": None, **reported}
    result = _taken(old, found, (limit, source, by), told, **own_figures).within_bound()
    return _with_weights(state, replace(result, history=history_of(result.history, value, result.bound)))


def _known_bound(old: Result, problem: Problem) -> Limit:
    """The bound of a fit, of all weights, its source and whose word it is; of ideal lists where it has none."""
    if old.bound_source == "rows" or not (old.certificate is not None or old.bound < problem.ideal):
        return problem.ideal, "ideal", None
    return old.bound, old.bound_source, old.bound_solver if old.bound_source == "solver" else None


def _check_bound(value: float, bound: float, problem: Problem, name: str) -> None:
    """Refuse weights that contradict the bound of a fit."""
    if not is_closed(value - bound, bound, summed(problem)):
        raise CertificateError(
            f"The weights of {name} are worth {value:.12g} when recomputed exactly, above the bound "
            f"{bound:.12g} of the model: one of the two is wrong, so neither is used; fit the model again."
        )


def _taken(old: Result, best: VerifiedWeights, limit: Limit, told: list[str], **reported: Any) -> Result:
    """The result with other weights, a bound, and what is told and reported."""
    bound, source, by = limit
    figures = best.figures | {"statistic": float(best.certificate.statistic), "bound": max(bound, best.value)}
    figures |= {"gave_up": False, "start_value": None, "evidence": None, "history": (), **reported}
    return replace(old, bound_source=source, bound_solver=by, notes=tuple(told), **figures)


def _with_weights(state: FittedState, result: Result) -> FittedState:
    """The state with the weights of a result."""
    # "auto" stays what was asked for where it stands for this program.
    given, name = state.task.given, result.formulation
    asked = given.formulation if name is None or name == state.task.formulation else name
    task = replace(state.task, given=replace(given, formulation=asked))
    if result.ties == "average" and state.training is not None:
        result = replace(result, statistic=state.training.average(result.weights))
    classes = None if state.classes is None else replace(state.classes, cuts=None)  # there is no table
    result = replace(result, status=status_of(result))
    return replace(state, task=task, weights=result.weights, reranks=True, classes=classes, result=result)


def named_model(state: FittedState, formulation: str, choices: dict[str, Any]) -> Any:
    """The Pyomo model of the fitted problem, with the labels of the table's rows and the names of its columns."""
    model = build_model(state.known_problem(), formulation, **choices)
    from formulations.common import name_table

    assert state.training is not None
    score = "of the first stage's score, for one unit of the column" if state.anchored else "of the column"
    doc = f"ours: weights per unit {score}; w divided by the column's range"
    name_table(model, state.training.rows, state.problem_columns, state.weight_units, doc)
    return model


Solved = tuple[AnyPath, str | None, BoundClaim]  # a solution file, its dialect, what is asked for besides its weights


def load_solution(
    state: FittedState, formulation: str, solved: Solved, choices: dict[str, Any], model: Any = None
) -> FittedState:
    """The state with the weights of a solution file for its program, or for a user's model of it."""
    problem = state.known_problem()
    if model is not None:
        return _own_by_file(state, program_of(model, problem, choices), solved)
    stated = stated_program(problem, formulation, **choices)
    if _of_ones_own(choices):
        return _own_by_file(state, own_program(problem, formulation, stated.program, choices, {}), solved)
    return _solved_by_file(state, formulation, problem, stated.program, solved, choices)


def imported(
    model: AnyPath, solution: AnyPath, dialect: str | None = None, support: BoundClaim = NOTHING
) -> FittedState:
    """A fitted state from an exported program, its sidecar and a solution file, without the data."""
    where, solved = f"the sidecar of {model}", (solution, dialect, support)
    with usable(where):
        with stated_wrong():
            program = mps.read(model, sidecar=True)
            data: Any = mps.read_sidecar(model).get("data")
        state, problem, stated = _contents(data, where)
        program = replace(program, constant=program.constant + stated["constant"])
        if "own" in data or _of_ones_own(stated["choices"]):
            titles = data.get("own", {})
            if not isinstance(titles, dict) or not all(isinstance(text, str) for text in titles.values()):
                raise InputError(f"{where} does not say what its user added; export it again.")
            users = own_program(problem, stated["formulation"], program, stated["choices"], titles)
            if "own" not in data:
                check_program(program, users.base.program, str(model))
            return _own_by_file(state, users, solved)
        if seconds_to_state(problem, stated["formulation"], MOST_SECONDS) <= MOST_SECONDS:
            own = stated_program(problem, stated["formulation"], **stated["choices"])
            check_program(program, own.program, str(model))
            if abs(own.program.constant - program.constant) > 1e-9 * max(1.0, abs(program.constant)):
                raise InputError(f"{where} states another constant than its problem has; export it again.")
    return _solved_by_file(state, stated["formulation"], problem, program, solved, stated["choices"])


def _of_ones_own(choices: dict[str, Any]) -> bool:
    """Whether choices of a program ask more of the weights than the problem, as rows of the user's own would."""
    return "box" in choices or bool(choices.get("two_sided"))


def _contents(data: Any, where: str) -> tuple[FittedState, Problem, dict[str, Any]]:
    """State and problem of a sidecar, and how the program was stated."""
    if not isinstance(data, dict) or not {"model", "problem", "constant", "formulation", "choices"} <= set(data):
        raise InputError(f"{where} holds no estimator; export the program with Reranker.export_mps or rerank export.")
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
    doc = document(state)
    # Anchored problems hold signs as limits, which are part of the digest.
    signed = doc.signs is None or problem.anchored or np.array_equal(doc.signs, problem.signs)
    same = np.array_equal(doc.low, problem.low) and np.array_equal(doc.high, problem.high)
    stated, found = ((of.epsilon.text, of.C.hex()) for of in (doc, problem))
    if not (signed and same) or stated != found or doc.data_sha256 != digest(problem):
        raise InputError(f"{where} contradicts itself: its problem is not that of its model; export it again.")
    return state, problem, {**data, "constant": constant}


def _by_direction(w: Floats, problem: Problem, name: str) -> Floats:
    """Weights that stand alone, divided by their largest size where only their direction counts."""
    if problem.limits is None:
        return w / max(1.0, float(np.abs(w).max(initial=0.0)))
    if (j := outside(w, problem.limits)) is not None:
        low, high = (float(side[j]) for side in problem.limits)
        raise InputError(
            f"{name} gives w{j} = {w[j]:.6g}, and the model allows {low:g} to {high:g}; weights are those of the "
            "program, in scaled units."
        )
    return w


def _solved_by_file(
    state: FittedState, formulation: str, problem: Problem, program: Any, solved: Solved, choices: dict[str, Any]
) -> FittedState:
    path, dialect, support = solved
    counted, name = check_rows(path, program), Path(path).name
    solution, given, x = _read(path, program, program.weights, dialect)
    claim, alone = None if x is None else program.objective(x), x is None
    given = _by_direction(given, problem, name) if alone else given
    given = np.clip(given, *(problem.limits or (-1.0, 1.0)))
    best = polished(problem, allowed(problem, normalised(given, problem.limits)), claim, nearly=alone)
    old = state.result
    # The weights of the model are a point of any program that asks no more than the problem.
    bounds = shares_optimum(formulation, state.task.statistic) and choices.get("big_m", "pair") == "pair"
    if bounds and claim is not None:
        check_claim(solution, claim, max(old.value, best.value), name)
    known = _known_bound(old, problem)
    _check_bound(best.value, known[0], problem, name)
    if old.status == "already_ideal":  # then no weights are fitted, as verify repeats it
        note = f"No weights have a larger value than the first stage's order, so that stays, and not those of {name}."
        return replace(state, result=old.noting(note))
    told = [f"The weights were read from {name}{', which holds nothing else' if alone else ''}."]
    if old.fitted_name != old.statistic_name:
        told.append(f"The statistic is that of {old.fitted_name}, which the file's program maximises.")
    if not (alone or counted or np.array_equal(best.weights, given)):
        told.append(
            f"{name} does not say which rows its program had; rows of your own need not hold for these weights, which "
            "were scaled and polished."
        )
    if best.value < old.value and not is_closed(old.value - best.value, old.value, summed(problem)):
        told.append(f"The weights that the model had are worth more: {old.value:.9g}, and these {best.value:.9g}.")
    of_file = {"program_value": claim, "program_bound": None, "formulation": formulation, "start_accepted": None}
    result = _taken(old, best, known, told, changed=False, solver="file", **of_file)
    result = support.bounded(result, program, bounds)
    return _with_weights(state, support.proved(result, problem, state.task).within_bound())


def _own_by_file(state: FittedState, own: OwnProgram, solved: Solved) -> FittedState:
    """The state with the weights of a solution file for a user's program."""
    path, dialect, support = solved
    name, ours = Path(path).name, own.maximises_value
    if support.prove is not None:
        raise InputError(
            f"prove searches all weights that the model allows, and the program of {name} has rows, a box or two "
            "sides of its own; leave prove out, and give the solver's bound on its word."
        )
    solution, given, x = _read(path, own.program, own.weights, dialect)
    if x is None:
        x, claim, more = own.completed(given, name), None, ", which holds nothing else"
    else:
        claim, more = own.claim(x) if ours else None, ", which calls them optimal" if solution.optimal else ""
    found, point, remarks = own.inside(x, claim, name)
    told = [f"The weights were read from {name}{more}.", *remarks]
    bound, who = math.inf, name
    if not ours:
        told.append(own.objective_remark(point, f"by {name}"))
    elif support.bound is not None and support.by is not None:
        bound, who = own.in_value(own.program.constant - support.bound), support.by
        support.check(bound, found.value, own.in_value(own.program.constant))
    figures = {"program_value": claim, "program_bound": bound if math.isfinite(bound) else None}
    return _kept(state, own, found, point, told, bound, who, solver="file", start_accepted=None, **figures)


def _read(
    path: AnyPath, program: Program, weights: Indices, dialect: str | None
) -> tuple[FileSolution, Floats, Floats | None]:
    """A solution file, its weights and its point of the program; None where the file holds weights alone."""
    with stated_wrong():
        solution = parse_solution(path, program, dialect, weights_alone=True)
        if len(solution.values) < len(program.columns):
            return solution, np.array([solution.values[program.columns[j]] for j in weights]), None
        x = program.vector(solution.values)
    check_point(solution, x, program, Path(path).name)
    return solution, x[weights], x


ADVICE = "for rows, columns or bounds of your own give the model, as in load_solution(path, model=m), or export_mps"

# How many rows the program had, in the solution files of HiGHS and GLPK; those of other solvers do not say.
_COUNTS = (
    re.compile(rb"^# Rows (\d{1,12})\s*$", re.M),
    re.compile(rb"\A\s*\d{1,12} (\d{1,12}) : Number of columns and rows"),
    re.compile(rb"^s (?:mip|bas|ipt) (\d{1,12}) \d{1,12} ", re.M),
    re.compile(rb"\AProblem:[^\n]*\nRows: +(\d{1,12})\s*$", re.M),
)
GAP = 1e-3  # relative gap at which no solver calls a point optimal unless it was asked to; 1e-4 is a common default
# Sums of the same doubles, on another machine.
_CLOSE = 1e-9


def check_program(read: Program, own: Program, source: str) -> None:
    """Refuse a program of a file that is not the problem's own, stated again: another row, column or number."""
    for kind, there, wanted in (("rows", read.rows, own.rows), ("columns", read.columns, own.columns)):
        if there == wanted:
            continue
        odd = sorted(set(there) ^ set(wanted)) or ["their order"]
        raise InputError(
            f"{source} has {len(there)} {kind} where the problem's program has {len(wanted)}; they differ in "
            f"{odd[0][:40]!r}: {ADVICE}."
        )
    pairs = zip(_arrays(read), _arrays(own), strict=True)
    if not all(a.shape == b.shape and np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE) for a, b in pairs):
        raise InputError(f"{source} holds other numbers than the program of its problem: {ADVICE}.")


def _arrays(program: Program) -> list[Any]:
    of, matrix = program, program.matrix
    rows = [of.row_lower, of.row_upper, matrix.indptr, matrix.indices, matrix.data]
    return [of.cost, of.lower, of.upper, of.integer, of.weights, *rows]


def check_rows(solution: AnyPath, own: Program) -> bool:
    """Refuse a file of a program with other rows, or beside such a program; whether anything counted the rows."""
    name = Path(solution).name
    with stated_wrong():
        content = file_bytes(solution)
        beside = Path(solution).with_suffix(".mps")
        there = beside.is_file() and beside != Path(solution)
        program = mps.read(beside, sidecar=False) if there else None
        ours = mps.read(beside) if there and mps.sidecar_path(beside).is_file() else None
    split = np.isfinite(own.row_lower) & np.isfinite(own.row_upper) & (own.row_lower < own.row_upper)
    # A file states a row with two sides as two; a solution that was written from arrays counts it once.
    wanted = (len(own.rows) + int(split.sum()), len(own.rows))
    found = [(name, int(match.group(1))) for match in (count.search(content) for count in _COUNTS) if match]
    if program is not None:
        found.append((beside.name, len(program.rows)))
    for source, count in found:
        if count not in wanted:
            raise InputError(
                f"{source} is of a program with {count} rows where the problem's has {wanted[0]}: {ADVICE}."
            )
    if ours is not None:
        check_program(ours, own, beside.name)
    return bool(found)


def check_point(solution: FileSolution, x: Floats, own: Program, source: str) -> None:
    """Refuse a point that violates the problem's program, and an objective that is not the point's."""
    violated = own.violation(x)
    if not violated <= ACCEPTED:
        raise InputError(
            f"The point of {source} violates the problem's program by {violated:.3g}, and {ACCEPTED:g} is allowed: it "
            f"is of another program; {ADVICE}."
        )
    paid = float(own.cost @ x)
    # A file minimises the negated cost; a model in memory is maximised, with or without its constant.
    fits = (-paid, paid, paid + own.constant)
    near = AGREE * max(1.0, float(np.abs(own.cost) @ np.abs(x)) + abs(own.constant))
    if solution.objective is not None and min(abs(solution.objective - fit) for fit in fits) > near:
        raise InputError(
            f"{source} states the objective {solution.objective:.9g}, and its columns are worth {-paid:.9g} in the "
            f"problem's program: it is of another program; {ADVICE}."
        )


def check_claim(solution: FileSolution, claim: float, known: float, source: str) -> None:
    """Refuse the optimum of a program whose optimum is the problem's, if a better value is known."""
    if solution.optimal and known - claim > GAP * max(1.0, abs(known)):
        raise InputError(
            f"{source} calls {claim:.9g} optimal, and weights worth {known:.9g} are known, which the problem's program "
            f"admits: it is of another program; {ADVICE}."
        )
