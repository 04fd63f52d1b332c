"""What a model file says of itself: each statement that follows from other ones in the file, compared with them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from rerank.ranks.rationals import is_closed, value_down
from rerank.reranker.files.document import KEPT, document, state_of
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.files.report import Checks
from rerank.reranker.files.result_json import UNFITTED, gathered, own_message
from rerank.reranker.result import Result, status_of


def check_file(checks: Checks, doc: ModelDocument, result: Result, first_stage: Any, where: str) -> None:
    """Compare the statements of a document with each other; no data are needed.

    Parameters
    ----------
    checks : Checks
    doc : ModelDocument
    result : Result
        That of the document.
    first_stage : object or None
        What stands for a first stage that is not in the file.
    where : str
        Name of the model in messages.
    """
    entries = gathered(doc.result, "certificate")
    if result.status in UNFITTED:
        _unfitted(checks, doc, result, entries)
    else:
        _fitted(checks, doc, result)
        _certificate(checks, doc, result, entries)
        _bound(checks, result)
    word = result.bound_source == "solver"
    named = (result.bound_solver is not None) == word
    checks.compare("bound on the word of", result.bound_solver, "a solver" if word else None, named,
                   *(() if word else ("result.bound_solver",)))  # fmt: skip
    message = own_message(result)
    same = result.message == message
    checks.compare("message", result.message, "the same" if same else message, same, "result.message")
    if result.evidence is not None and result.evidence.chosen is None:
        reranks = doc.settings.get("reranks")
        kept = "no" if reranks else "yes"
        checks.compare("first stage kept, as held-out rows have it", kept, "yes", reranks is False)
    checks.given("held-out rows were ranked by other fits, which are not repeated here", "result.evidence")
    _solver(checks, doc, result)
    _form(checks, doc, first_stage, where)


def _unfitted(checks: Checks, doc: ModelDocument, result: Result, entries: dict[str, Any]) -> None:
    """The first stage's order is the answer: no weights, nothing between value and bound, no certificate."""
    checks.compare(
        "no certificate, as no weights were fitted", len(entries), 0, not entries, "result.certificate"
    )
    used = int(np.count_nonzero(doc.weights[doc.weights.size - doc.features.size :]))
    checks.compare("weights", f"{used} are not 0", "0", used == 0, "weights")
    checks.compare("bound is the value", result.bound, result.value, result.bound == result.value)
    if result.statistic_name == result.fitted_name:
        checks.compare(
            "value is the statistic", result.value, result.statistic, result.value == result.statistic
        )
    checks.compare("bound by", result.bound_source, "ideal", result.bound_source == "ideal")
    reranks = doc.settings.get("reranks")
    wanted = doc.first_stage is None and doc.settings.get("opaque_first_stage") is None
    checks.compare("reranks", reranks, wanted, reranks is wanted, "settings.reranks")


def _fitted(checks: Checks, doc: ModelDocument, result: Result) -> None:
    """Weights, and the order of value, bound and start; whether the first stage is kept."""
    own = doc.weights[doc.weights.size - doc.features.size :]
    largest = float(np.max(np.abs(own), initial=0.0))
    signs = np.zeros(own.size) if doc.signs is None else doc.signs
    if own.size < doc.weights.size:
        # Signs are those of the total weights, which the problem's limits hold.
        allowed = largest <= float(doc.settings["radius"])
    else:
        allowed = largest in (0.0, 1.0) and not np.any(own * signs < 0)
    used = int(np.count_nonzero(own))
    allowed = allowed and (doc.max_features is None or used <= doc.max_features)
    checks.compare("weights allowed", f"{used} weights up to {largest:.12g}", "by signs and limit", allowed)
    if result.start_value is not None:
        ahead = result.value - result.start_value
        checks.compare(
            "value not below the start", result.value, result.start_value, is_closed(-ahead, ahead)
        )
    kept = result.status == "first_stage_kept"
    status = status_of(result)
    found = "first_stage_kept" if kept and result.solver not in ("none", "file") else status
    checks.compare("status follows from value and bound", result.status, found, result.status == found)
    before = result.first_stage_statistic
    if kept:
        holds = before is not None and before == result.statistic
        checks.compare("the kept first stage's statistic", result.statistic, before, holds)
    reranks = doc.settings.get("reranks")
    checks.compare("reranks", reranks, not kept, reranks is not kept, "settings.reranks")


def _certificate(checks: Checks, doc: ModelDocument, result: Result, entries: dict[str, Any]) -> None:
    """The certificate against what stands elsewhere in the file; without one nothing ties value and weights."""
    checks.compare("certificate", f"{len(entries)} entries", "one is needed", entries)
    certificate = result.certificate
    elsewhere: dict[str, Any] = {f"weights.{j}": float(w).hex() for j, w in enumerate(doc.weights)}
    elsewhere |= {"epsilon": doc.epsilon.text, "C": doc.C.hex(), "data_sha256": doc.data_sha256}
    checks.same(
        "certificate of these weights, margin and data",
        {key: entries.get(key) for key in elsewhere},
        elsewhere,
    )
    if certificate is None:
        return
    value = value_down(certificate.value)
    checks.compare("value is the certificate's", result.value, value, result.value == value)


def _bound(checks: Checks, result: Result) -> None:
    """The bound against the value, and against the solver that is said to have given it."""
    checks.compare("bound not below the value", result.bound, result.value, result.bound >= result.value)
    if result.program_value is not None:
        claim = "not above the bound"
        checks.compare("value of the program", result.program_value, claim, not result.claims_too_much)
    if result.bound_source != "solver" or result.solver == "file":
        return
    own = result.program_bound
    wanted = None if own is None else max(own, result.value)
    checks.compare("bound is the program's", result.bound, wanted, result.bound == wanted)


def _solver(checks: Checks, doc: ModelDocument, result: Result) -> None:
    """What cannot be there: figures of a program where none was solved, another solver than the one asked."""
    solver = doc.settings.get("solver")
    checks.compare("solver", result.solver, solver, result.solver in (solver, "file"))
    idle: dict[str, Any] = {field.name: field.default for field in fields(Result) if field.name in _RUN}
    if result.status in UNFITTED:
        names = set(_RUN)
    elif result.solver == "none":
        names = set(_RUN) - {"start_value"}
        start = result.start_value
        checks.compare(
            "value is the start's", result.value, start, result.value == start, "result.start_value"
        )
    elif result.solver == "search":
        names = set(_RUN) - {"nodes", "start_value"}
    elif result.solver == "file":
        names = {"program_bound", "start_value", "start_accepted"}
    else:
        return
    found = {name: getattr(result, name) for name in sorted(names)}
    wanted = {name: idle[name] for name in found}
    checks.same(
        "figures of a program that was not solved here", found, wanted, *(f"result.{name}" for name in names)
    )


_RUN = (
    "program_value", "program_bound", "formulation", "model_size", "start_value", "start_accepted", "nodes",
)  # fmt: skip


def _form(checks: Checks, doc: ModelDocument, first_stage: Any, where: str) -> None:
    """The document as it would be saved again: no entry more, none less, each in its own spelling.

    An entry that is missing may have its usual value: files of earlier versions know fewer of them.
    """
    again = document(state_of(doc, first_stage, where))
    usual = {f"settings.{name}": value for name, value in KEPT.items()}
    usual |= {
        f"result.{field.name}": field.default for field in fields(Result) if field.default is not MISSING
    }
    stated = _entries(doc)
    saved = {
        name: value
        for name, value in _entries(again).items()
        if name in stated or name not in usual or value != usual[name]
    }
    positive = ("settings.positive",) if doc.features.size else ()
    checks.same("the file as save writes it", stated, saved, *positive)


def _entries(doc: ModelDocument) -> dict[str, Any]:
    """Every entry of a document by name; arrays as lists."""
    found: dict[str, Any] = {}
    for name, value in vars(doc).items():
        if name in ("result", "settings"):
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        elif name != "versions":
            found[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return found
