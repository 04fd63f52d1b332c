"""Verifies a model file: the fit is made again with the file's weights as its solver, and every entry is compared.

So what a fit computes, a verification recomputes by the same lines.  Nothing is searched: values are exact, a bound is
that of the proof or of the ideal lists, and sums of doubles have to agree to rounding.  Every entry of the file is
compared with the one that follows, or is named in the report: as *open*, if it could be checked with further files, or
as *taken as given*.
"""

import os
import warnings
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from rerank.certificate import load_proof, verify_proof
from rerank.certificate.lists import ideal_value
from rerank.errors import CertificateError, InputError
from rerank.io.bounded import Json
from rerank.io.frames import complete, is_frame, is_sparse
from rerank.io.labels import TwoLabels
from rerank.io.table import Table
from rerank.problem import Problem, Proof
from rerank.ranks.rationals import is_closed, value_down
from rerank.ranks.row_gains import Gain, gain_of, weighted_gains
from rerank.reranker.blend import of_members
from rerank.reranker.clock import Clock
from rerank.reranker.cross_fit import Staged, folds_of
from rerank.reranker.data import Arguments, Data, Weights, checked
from rerank.reranker.files import document as documents
from rerank.reranker.files import model_file
from rerank.reranker.files.model_file import ENCODED, SQUARES, ModelDocument, usable
from rerank.reranker.files.report import Check, Report, Unchecked
from rerank.reranker.first_stage import name_of
from rerank.reranker.fit import concluded
from rerank.reranker.options import KEPT
from rerank.reranker.result import Result
from rerank.reranker.solution import KEEPING, ON_WORD, Solution, status_of
from rerank.reranker.solve.optimise import bounded_by_ideal
from rerank.reranker.solve.verified import meets, verified
from rerank.reranker.state import CUTS, Classes, FittedState, first_stage_kept
from rerank.reranker.training import stated
from rerank.scorecard.files import filed_of, is_card, read_card

__all__ = ["Check", "Report", "Unchecked", "verify"]

RECORD = "a record of how the model was made, which nobody can recompute"
RUN = ("program_value", "program_bound", "formulation", "model_size", "start_value", "start_accepted", "nodes")
"""Figures of a program or a search; where there was none, they have their defaults."""

HOW = ("formulation", "n_jobs", "named_features", "node_limit", "presolve", "solver", "time_limit", "verbose")
RECORDS = {"random_state", "versions", *(f"settings.{name}" for name in (*HOW, *model_file.COLUMNS))}
RECORDS |= {f"result.{name}" for name in (*RUN, "changed", "gave_up", "notes", "note_kinds", "seconds", "solver")}
"""Entries of which only what cannot be is a contradiction."""

STAGE = (
    *("first_stage", "first_stage_coef", "first_stage_intercept"),
    *(f"settings.{name}" for name in ("opaque_first_stage", "prior_centre", "prior_scale", documents.TABLE)),
)
STATISTIC = ("statistic", "coefficients", "settings.window", "settings.list_length")
DIGESTED = ("data_sha256", "max_features", "gain", "epsilon", "C", "signs", "settings.radius", *STATISTIC)
"""Entries of what is fitted, which the digest of the problem determines."""

IDLE = {"none": {*RUN} - {"start_value"}, "search": {*RUN} - {"start_value", "nodes"}}
IDLE |= {"file": {"start_value", "start_accepted"}}
"""Figures that a fit by this solver does not have; others may have all."""

ROUNDED = (
    *(f"result.{name}" for name in ("statistic", "first_stage_statistic", "value", "bound")),
    *(f"settings.{name}" for name in (CUTS, SQUARES, ENCODED)),
)
"""Sums of doubles, whose last bits depend on the machine, but for the value of weights, which is exact."""
KEPT_BY_ROWS = "held-out rows kept the first stage, so that nothing is said of other weights"

CLOSE = 1e-12  # relative difference that two sums of the same doubles may have on two machines


def verify(
    model: Any,
    table: Table | None = None,
    proof: Proof | str | os.PathLike[str] | None = None,
    *,
    first_stage: Any = None,
    query_weight: Weights = None,
    without_data: bool = False,
    where: str | None = None,
) -> Report:
    """Recompute a model's claims from the table of its fit, in rational arithmetic, and its bound with the proof.

    Parameters
    ----------
    model : path, fitted Reranker, RerankerCV or Scorecard, or ModelDocument
        A model file, a file of a card, or what their ``save`` would write.
    table : Table, optional
        The rows of the fit, as :func:`rerank.io.read_table` reads them.
    proof : Proof or path, optional
        ``result_.proof`` of a fit with ``proof=True``, or the file that holds it.
    first_stage : fitted estimator, optional
        That of a model which does not hold its own; without it only the file is checked.
    query_weight : mapping or array-like, optional
        Weights of lists, as they were given to ``fit``; no table holds them.
    without_data : bool
        The table may be missing, or the digest of the model's data: the report names what was not checked.
    where : str, optional
        The model's name in messages.

    Returns
    -------
    Report
        ``holds``, ``complete``, ``outcome``, ``checks`` and ``not_looked_at``. It prints itself.

    Raises
    ------
    InputError
        For a file that is no model, or a table that cannot be the one of the fit.
    """
    if not (table is None or isinstance(table, Table)):
        raise InputError(
            f"table is a {type(table).__name__}; give a rerank.io.Table, as read_table makes it of a file."
        )
    where = where or (str(model) if isinstance(model, str | os.PathLike) else "the model")
    proof = load_proof(proof) if isinstance(proof, str | os.PathLike) else proof
    if hasattr(model, "card_") or (isinstance(model, str | os.PathLike) and is_card(model)):
        if proof is not None:
            raise InputError("The proof of a card is made again from the rows of its fit; leave proof out.")
        from rerank.reranker.files.card import verified_card

        filed = read_card(model) if isinstance(model, str | os.PathLike) else filed_of(model.card_, model.result_)
        return verified_card(filed, table, where, query_weight, without_data)
    doc = _document_of(model)
    if table is None and not without_data:
        raise InputError(
            "There is no table to recompute the model from; give the one it was fitted on, or ask for a check "
            "of the file alone: without_data=True, --without-data."
        )
    with usable(where), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the fit had to say, it has said
        opaque, findings, named = documents.missing_first_stage(doc), _Findings(doc, proof), None
        if table is not None and (opaque is None or first_stage is not None):
            state, data, first = refit(doc, table, where, first_stage, query_weight)
            again = _fitted_again(findings, state, data, first, table)
            named = name_of(first_stage) if opaque is not None else None
            _check_columns(findings, table)
            if again is not None:
                findings.given |= _given(findings, state, data, first, table)
                if doc.data_sha256 is None and without_data and state.problem is not None:
                    findings.open |= dict.fromkeys(DIGESTED, "the file states no digest of its data")
        else:
            stand_in = object() if first_stage is None and opaque is not None else first_stage
            state = documents.state_of(doc, stand_in, where)
            lacking = "the table of the fit" if table is None else f"the first stage {opaque}, which is not in the file"
            again = _checked_alone(findings, state, lacking)
        if again is not None:
            findings.compare(again, named)
        return findings.report()


def _document_of(model: Any) -> ModelDocument:
    """What is verified, as the document that a file holds."""
    if isinstance(model, str | os.PathLike):
        return model_file.read(model)
    if isinstance(model, ModelDocument):
        return model
    if not hasattr(model, "get_params"):
        raise InputError(f"model is a {type(model).__name__}; give a fitted Reranker, or the path of a model file.")
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "result_")
    return documents.document(model.state_)


class _Findings:
    """The report in the making: checks, remarks, and by entry why it is open or taken as given."""

    def __init__(self, doc: ModelDocument, proof: Proof | None) -> None:
        self.doc, self.result, self.proof = doc, documents.result_of(doc), proof
        self.checks: list[Check] = []
        self.remarks: list[str] = []
        self.open: dict[str, str] = {}
        self.given = dict.fromkeys(RECORDS, RECORD)
        self.compared = False

    def check(self, name: str, stated: Any, recomputed: Any, holds: bool) -> None:
        """Note a check."""
        self.checks.append(Check(name, _as_text(stated), _as_text(recomputed), bool(holds)))

    def compare(self, again: FittedState, named: str | None) -> None:
        """Check every entry of the file against the state that follows, as it would be saved."""
        stated, follows = dict(_entries(self.doc)), dict(_entries(documents.document(again)))
        if again.training is None and self.result.certificate is not None and again.result.certificate is not None:
            weights = {f"weights.{j}": float(w).hex() for j, w in enumerate(self.doc.weights)}
            rest = {"epsilon": self.doc.epsilon.text, "C": self.doc.C.hex(), "data_sha256": self.doc.data_sha256}
            follows |= {f"result.certificate.{name}": value for name, value in (weights | rest).items()}
        impossible = _impossible(self.doc, self.result, named)
        follows |= impossible
        usual = {f"settings.{name}": value for name, value in KEPT.items()}
        usual |= {f"result.{each.name}": each.default for each in fields(Result) if each.default is not MISSING}
        groups: dict[str, list[str]] = {}
        for name in (*stated, *(follows.keys() - stated.keys())):
            groups.setdefault(_top(name), []).append(name)
        self.compared = True
        for top, names in groups.items():
            if top in self.open and all(stated.get(name) is None for name in names):
                continue  # what the file lacks
            exact = top not in ROUNDED or (top == "result.value" and again.result.status not in documents.UNFITTED)
            wrong = [
                name
                for name in names
                if name in impossible
                or not _same(stated.get(name, usual.get(name, _ABSENT)), follows.get(name, _ABSENT), exact)
            ]
            known = any(stated.get(name) is not None or follows.get(name) is not None for name in names)
            if wrong:
                self.check(wrong[0], stated.get(wrong[0], "-"), follows.get(wrong[0], "-"), False)
            elif known and top not in self.open and top not in self.given:
                more = "" if len(names) == 1 else f" and {len(names) - 1} more"
                self.check(top, _as_text(stated.get(names[0], "-")) + more, "the same", True)

    def report(self) -> Report:
        """The report: what is neither checked, nor open or given for a reason of its own, stays open."""
        left, whys = [], self.given | self.open
        for name in dict.fromkeys([*(_top(name) for name, _ in _entries(self.doc)), *self.open]):
            if why := whys.get(name, "" if self.compared else "no check determines it"):
                left.append(Unchecked(name, why, name in self.open or name not in self.given))
        left += [Unchecked("versions", RECORD, False)] if self.doc.versions else []
        left.sort(key=lambda each: (not each.open, each.why == RECORD, each.name))
        return Report(tuple(self.checks), tuple(self.remarks), tuple(left))


def _check_columns(findings: _Findings, table: Table) -> None:
    """Check what the file says of columns and of the label to find against how the table was read. A column that is
    not in the table may have been renamed.
    """
    given, read = findings.doc.settings, table.read
    same_file = given.get("label_column") in table.header
    for entry in model_file.COLUMNS:
        role, name = entry.removesuffix("_column").removesuffix("_label"), given.get(entry)
        if role == "positive":
            compared = name is not None and role in read
        else:
            compared = role != "id" and (name in table.header or (name is None and entry in given and same_file))
        if compared and name != read.get(role):
            findings.check(f"settings.{entry}", name, f"{read.get(role)}, as the table was read", False)


def _checked_alone(findings: _Findings, state: FittedState, lacking: str) -> FittedState:
    """The state of which the statements of the file follow from each other."""
    result = findings.result
    if result.status in documents.UNFITTED:
        again = replace(result, bound=result.value, bound_source="ideal", certificate=None)
        state = replace(state, certificate={})
    else:
        kept = result.status == "first_stage_kept" and result.solver not in ("none", "file") and not result.changed
        again = replace(result, status="first_stage_kept" if kept else status_of(result))
        if result.certificate is not None:
            again = replace(again, value=value_down(result.certificate.value))
        if kept and result.first_stage_statistic is not None:
            again = replace(again, statistic=result.first_stage_statistic)
    reranks = state.first_stage is None or again.status not in ("first_stage_kept", *documents.UNFITTED)
    known = {"result.status", "result.message", "settings.reranks", "result.certificate", *RECORDS}
    findings.open |= dict.fromkeys({_top(name) for name, _ in _entries(findings.doc)} - known, f"it takes {lacking}")
    findings.remarks.append(f"Only the file itself was checked: {lacking} was not given.")
    findings.remarks += [] if findings.proof is None else ["The proof was not looked at."]
    return replace(state, reranks=reranks, result=again)


def _fitted_again(
    findings: _Findings, state: FittedState, data: Data, first: Staged | None, table: Table
) -> FittedState | None:
    """The fit of this table that has the file's weights; None if they belong to another problem."""
    doc, result, training = findings.doc, findings.result, state.training
    if training is None or not same_scaling(doc, state):
        findings.check("scaling of the shortlist", "as stored", "another", False)
        findings.remarks.append("Another problem follows from the table, so the rest was not recomputed.")
        return None
    solver = "file" if result.solver == "file" or result.changed else state.task.solver
    task = replace(state.task, solver=solver)
    try:
        again = concluded(data, task, Clock(), first, training, partial(_of_file, findings), result.ties)
    except CertificateError as error:
        findings.check("weights", "allowed", error, False)
        return None
    if again.result.status in documents.UNFITTED:
        findings.remarks.append("No weights were fitted: the first stage's order is the answer.")
        findings.remarks += [] if findings.proof is None else ["The proof was not looked at."]
    if result.evidence is not None and result.evidence.chosen is None:
        again = first_stage_kept(again)
    columns = again.columns.called(tuple(table.feature_names))
    if columns.squares is not None:
        from sklearn.base import clone

        columns = replace(columns, transformer=clone(columns.squares).fit(data.rows.given))
    elif columns.encoded is not None and not again.task.members:
        known, used = columns.encoded.left_out_, [rule.at for rule in columns.encoded.rules_]
        made = type(columns.encoded)(used).fit(data.rows.given, None, data.sample_weight)
        # A model does not read the columns that it leaves out.
        made.left_out_ = {j: known.get(j, why) for j, why in made.left_out_.items()}
        columns = replace(columns, transformer=made)
    return replace(
        again,
        columns=columns,
        columns_read=state.columns_read,
        labels=_labels(state.labels, data.labels, table.labels),
        classes=_classes(findings, state, again, solver),
        result=_as_recorded(again.result, result, _left_out(doc, result, data)),
    )


def _classes(findings: _Findings, state: FittedState, again: FittedState, solver: str) -> Classes | None:
    """The classes that follow; weights of a file meet no table, and files of earlier versions hold no cuts."""
    classes = again.classes
    if classes is not None and solver == "file":
        return replace(classes, cuts=None)
    if classes is None or classes.cuts is None or (state.classes is not None and state.classes.cuts is not None):
        return classes
    findings.open[f"settings.{CUTS}"] = "files of earlier versions lack it"
    return state.classes


def _as_recorded(again: Result, stated: Result, left_out: tuple[str, ...]) -> Result:
    """The result that follows, with what only the file knows of its fit."""
    # Groups, which no table holds, may leave fewer folds.
    fewer = stated.grouped and 2 <= stated.folds < again.folds
    return replace(
        again,
        folds=stated.folds if fewer else again.folds,
        left_out=left_out,
        evidence=stated.evidence,
        notes=stated.notes,
        seconds=stated.seconds,
        grouped=stated.grouped,
        solver=stated.solver if stated.changed else again.solver,
    )


def _left_out(doc: ModelDocument, stated: Result, data: Data) -> tuple[str, ...]:
    """The columns of the table that are not reranked; none where columns were named."""
    given = data.rows.given
    if data.rows.columns.encoded is not None:
        return data.rows.columns.left_out
    plain = not is_sparse(given) and (is_frame(given) or given.dtype.kind == "f")
    if not (plain and stated.left_out and doc.reranked is not None):
        return ()
    every, left_out = complete(given)  # files before schema 4 take no column with a gap
    return left_out if np.array_equal(every, doc.reranked) else ()


def _of_file(findings: _Findings, problem: Problem, *_: Any) -> Solution:
    """The file's weights with their exact value; its bound, or that of the ideal lists or of the proof."""
    doc, result, proof = findings.doc, findings.result, findings.proof
    best, bound, source = verified(problem, doc.weights, result.changed), result.bound, result.bound_source
    if problem.quotas:
        findings.check("quotas", "kept", "by the order of the scores", meets(problem, doc.weights))
    findings.check("bound not below the value", bound, best.value, Fraction(bound) >= best.certificate.value)
    if proof is not None:
        verdict = verify_proof(problem, proof)
        parts = f"{verdict.leaves} boxes" if proof.circuits is None else f"{proof.circuits.sizes.size} circuits"
        told = f"true of all {parts}" if verdict.ok else verdict.message
        findings.check("proof", f"no value exceeds {proof.bound:.12g}", told, verdict.ok)
        if verdict.ok:
            exactly = f", {verdict.exact_leaves} of them in rationals throughout" if verdict.exact_leaves else ""
            findings.remarks.append(f"Proof: {verdict.message} ({parts} in {verdict.seconds:.1f} s{exactly})")
    if source == "ideal":
        exact = ideal_value(problem)
        findings.check("bound not below the ideal lists' value", bound, float(exact), Fraction(bound) >= exact)
        bound = problem.ideal
    elif source == "search" and proof is not None:
        bound = max(float(proof.bound), best.value)
        findings.check("bound is the proof's", result.bound, bound, result.bound == bound)
    elif result.evidence is not None and result.evidence.guarded:
        findings.given |= dict.fromkeys(("result.bound", "result.bound_source"), KEPT_BY_ROWS)
    else:
        searched = source == "search"
        who = "the search's proof, which fit --proof writes" if searched else "trusting the solver that gave it"
        findings.remarks.append(
            f"That nothing exceeds the bound {bound:.9g} cannot be recomputed from these two files: it takes {who}."
        )
        why = f"it takes {who}" if searched else "taken on the solver's word"
        names = ("result.bound", "result.bound_source", *(() if searched else ("result.bound_solver",)))
        findings.open |= dict.fromkeys(names, why)
    solution = Solution(
        **best.figures,
        bound=bound,
        bound_source=source,
        bound_solver=result.bound_solver,
        program_value=result.program_value,
        program_bound=result.program_bound,
        formulation=result.formulation,
        model_size=result.model_size,
        start_value=result.start_value,
        start_accepted=result.start_accepted,
        nodes=result.nodes,
        gave_up=result.gave_up,
        changed=result.changed,
        statistic_bound=result.statistic_bound,
    )
    return bounded_by_ideal(problem, solution).within_bound()


def _impossible(doc: ModelDocument, result: Result, named: str | None) -> Json:
    """Entries that cannot stand beside the others of the file, with what would have to stand there."""
    fitted, asked = result.status not in documents.UNFITTED, doc.settings.get("solver")
    found: Json = {}
    if result.evidence is None and any(name.startswith("evidence.") for name in doc.result):
        found["result.evidence"] = None
    if fitted and not any(name.startswith("certificate.") for name in doc.result):
        found["result.certificate"] = "one is needed"
    if result.solver not in (asked, "file"):
        found["result.solver"] = asked
    if named is not None and doc.settings.get("opaque_first_stage") != named:
        found["settings.opaque_first_stage"] = named
    found |= _impossible_bounds(result, fitted)
    same = result.statistic_name == result.fitted_name and result.ties == "pessimistic"
    # Where the first stage's score is a point of the problem, margin and penalty may cost some of its value.
    if not fitted and same and result.value > result.statistic:
        found["result.value"] = result.statistic
    return found | _impossible_run(result, fitted)


def _impossible_bounds(result: Result, fitted: bool) -> Json:
    """Of the bounds, and of whom they were taken from."""
    found: Json = {}
    if result.bound < result.value:
        found["result.bound"] = f"at least {result.value:.12g}"
    if (result.bound_solver is None) == (result.bound_source in ON_WORD):
        found["result.bound_solver"] = "a solver" if result.bound_solver is None else None
    if fitted and result.bounds_too_little:
        found["result.program_bound"] = "not below the value, or below what the program has"
    if fitted and result.bound_source in ON_WORD and result.solver != "file":
        wanted = None if result.program_bound is None else max(result.program_bound, result.value)
        found |= {"result.bound": wanted} if result.bound != wanted else {}
    top = result.statistic_bound
    if top is not None and (not fitted or result.ties == "pessimistic"):
        found["result.statistic_bound"] = None
    elif top is not None and result.status not in KEEPING and not is_closed(result.statistic - top, top):
        found["result.statistic_bound"] = f"at least {result.statistic:.12g}"
    return found


def _impossible_run(result: Result, fitted: bool) -> Json:
    """Of the figures of a program, a search and the start."""
    found: Json = {}
    if fitted and result.claims_too_much:
        found["result.program_value"] = "not above the bound"
    if fitted and result.fell_behind:
        found["result.program_value"] = f"at least the start's {result.start_value:.12g}"
    if fitted and result.start_value is not None and not is_closed(result.start_value - result.value, result.value):
        found["result.start_value"] = "not above the value"
    unused = IDLE.get(str(result.solver), ()) if fitted else RUN
    usual = {each.name: each.default for each in fields(Result) if each.name in unused}
    found |= {f"result.{name}": value for name, value in usual.items() if getattr(result, name) != value}
    if fitted and result.solver == "none" and result.start_value != result.value:
        found["result.start_value"] = result.value
    return found


def _given(findings: _Findings, state: FittedState, data: Data, first: Staged | None, table: Table) -> dict[str, str]:
    """The entries that are taken as given besides records, with the reason: what changes nothing on these rows."""
    doc, result, problem = findings.doc, findings.result, state.problem
    given = {
        "result.evidence": "held-out rows were ranked by other fits, which are not repeated here",
        "result.grouped": "that rows of a group were kept in one fold is taken as given",
        "result.statistic_bound": "a search of its own found it; no proof file covers a tied pair as one half",
        "settings.cross_fit": "how many folds were asked for",
    }
    if first is not None:
        given |= dict.fromkeys(STAGE, "the first stage is taken as given; what follows from it was recomputed")
    if doc.prior_scores is not None:
        given["prior_scores"] = "out-of-fold scores are taken as given; what follows from them was recomputed"
    if doc.member_scores is not None:
        given["member_scores"] = (
            "out-of-fold scores of the blend's members are taken as given, and what follows from them was recomputed; "
            "rows to come are scored by members fitted on all rows"
        )
    if result.left_out == ():
        given["result.left_out"] = "columns to rerank may have been named, and then none is left out"
    stated = state.labels
    if stated is None or (isinstance(stated.positive, str) and table.labels is None):
        pair = ("settings.label_negative", "settings.label_positive")
        given |= dict.fromkeys(pair, "the table holds grades, not words")
    if documents.quoted_statistic_of(doc).counts_pairs:
        given["settings.list_length"] = "the statistic is the same in lists of every length"
    if doc.settings.get("margin") == 0:
        given["settings.margin"] = "a margin of 0 is the smallest, as it is without one"
    if doc.settings.get("radius") is not None and (problem is None or not problem.anchored):
        given["settings.radius"] = "the first stage's scores are equal, so that nothing depends on it"
    if result.status == "nothing_to_find":
        given |= dict.fromkeys(STATISTIC, "nothing can be found, whatever the statistic")
    if problem is None:
        names = ("epsilon", "C", "signs", "max_features", "gain", "settings.positive")
        return given | dict.fromkeys(names, "no column varies on the shortlist, so nothing depends on it")
    if problem.max_features is None:
        given["max_features"] = "there are not more columns than that, so it limits nothing"
    other: Gain = "linear" if doc.gain == "exponential" else "exponential"
    if other == "linear" or data.y.max() <= 1000:
        gains = weighted_gains(data.y, gain_of(state.task.statistic, other), data.sample_weight)
        if np.array_equal(gains, data.gains):
            given["gain"] = "the labels are worth the same by both gains"
    return given


def _labels(stated: TwoLabels | None, found: TwoLabels | None, words: TwoLabels | None) -> TwoLabels | None:
    """What has to stand for irrelevant and relevant, by the grades of the table or the ``words`` of its file."""
    if stated is None or (found is None and stated == TwoLabels(-1, 1)):  # -1 is read as 0 from a file
        return stated
    if not isinstance(stated.positive, str):
        alike = type(stated.negative) is type(stated.positive)  # True is not 1 in a file
        return stated if stated == found and alike else found
    return stated if words is None else words


_ABSENT = object()


def _entries(doc: ModelDocument) -> Iterator[tuple[str, Any]]:
    """Every entry of a document by name, versions aside."""
    for name, value in vars(doc).items():
        if name in ("result", "settings"):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())
        elif name != "versions":
            yield name, value


def _top(name: str) -> str:
    """The name under which an entry is reported, such as ``result.seconds``."""
    return ".".join(name.split(".")[:2])


def _same(left: Any, right: Any, exact: bool) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    if not exact and isinstance(left, float) and isinstance(right, float):
        return left == right or abs(left - right) <= CLOSE * max(1.0, abs(left), abs(right))
    return type(left) is type(right) and bool(left == right)


def _as_text(value: Any) -> str:
    if isinstance(value, np.ndarray | tuple):
        value = f"{len(value)} entries" if len(value) != 1 else "1 entry"
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def refit(
    doc: ModelDocument, table: Table, where: str, first_stage: Any = None, query_weight: Weights = None
) -> tuple[FittedState, Data, Staged | None]:
    """The state with its problem as after the fit, the data, and the first stage; ``where`` is the model's name."""
    if table.y is None:
        raise InputError("The table has no labels; name the column that holds them.")
    if table.X.shape[1] != len(doc.feature_names):
        raise InputError(
            f"The table has {table.X.shape[1]} columns and {where} was fitted on {len(doc.feature_names)}; give the "
            "table of the fit."
        )
    if doc.settings.get("weighted_lists") and query_weight is None:
        raise InputError(
            f"{where} was fitted with weights of lists, which no table holds; give query_weight to rerank.verify."
        )
    state = documents.state_of(doc, first_stage, where)
    if state.task.quota and table.people is None:
        raise InputError(f"{where} keeps quotas on kinds of rows; name the column that holds these with --people.")
    # A table holds grades: words, and -1 and 1 in a file, are 0 and 1 there, two other numbers are what they were.
    labels = state.labels
    positive = None if labels is None or labels.by_grades(table.y) else labels.positive
    gain = gain_of(documents.statistic_of(doc), state.task.gain, table.sample_weight)
    people = table.people if state.task.quota else None
    arguments = replace(Arguments.of_file(table), query_weight=query_weight, groups=None, people=people).present()
    rows = state.columns.rows(arguments.X)
    data = checked(rows, arguments, gain, positive)
    scores = doc.prior_scores if doc.prior_scores is not None else state.first(rows)
    if scores is not None and scores.size != rows.n:
        raise InputError(
            f"{where} holds out-of-fold scores of {scores.size} rows, and the table has {rows.n}; give the "
            "table of the fit."
        )
    task, first = replace(state.task, margin=state.task.margin or doc.epsilon), None
    if state.first_stage is not None and scores is not None:
        folds = 0 if doc.prior_scores is None else folds_of(data, task)
        first = Staged(state.first_stage, scores, folds)
        if task.members:
            data = of_members(data, state.first_stage, state.member_scores)
    task, training = stated(data, task, first)
    return replace(state, task=task, training=training), data, first


def refitted(doc: ModelDocument, table: Table, where: str) -> FittedState:
    """The state with its problem, as right after the fit; an error for a table on which the model was not fitted."""
    state, _, _ = refit(doc, table, where)
    if state.problem is None or not same_scaling(doc, state):
        raise InputError(
            f"The table is not the one {where} was fitted on: another shortlist follows from it; give that one."
        )
    return state


def same_scaling(doc: ModelDocument, state: FittedState) -> bool:
    """Whether columns and ranges of the shortlist are those of the document."""
    if (training := state.training) is None or (problem := training.problem) is None:
        return doc.low.size == 0
    return (
        np.array_equal(doc.features, state.columns.chosen[training.features])
        and np.array_equal(doc.low, problem.low)
        and np.array_equal(doc.high, problem.high)
    )
