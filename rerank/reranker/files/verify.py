"""Verifies a model file with its training data: recomputes what follows from both, values in exact arithmetic.

Nothing here searches or solves.  The shortlist follows from the first stage's stored numbers, the problem from the
shortlist, and the certificate from the problem and the weights.  The fields that no check covers are listed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rerank.errors import InputError
from rerank.reranker.data import Weights
from rerank.reranker.files.data_checks import DataChecks
from rerank.reranker.files.document import missing_first_stage, result_of
from rerank.reranker.files.file_checks import check_file
from rerank.reranker.files.model_fields import usable
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.files.refit import refit
from rerank.reranker.files.report import Check, Checks, Report, Unchecked

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.problem import Proof

__all__ = ["Check", "Report", "Unchecked", "verify"]


def verify(
    doc: ModelDocument,
    table: Table | None = None,
    where: str = "the model",
    proof: Proof | None = None,
    *,
    first_stage: Any = None,
    query_weight: Weights = None,
    without_data: bool = False,
) -> Report:
    """Recompute a model's claims from its training table, and check its bound with the search's proof.

    Parameters
    ----------
    doc : ModelDocument
    table : Table, optional
        The one of the fit.
    where : str
        Name of the model in messages.
    proof : Proof, optional
        What the search recorded; see :mod:`rerank.problem.proof`.
    first_stage : fitted estimator, optional
        The model's first stage, if it is not in the file. Without it only the file is checked.
    query_weight : mapping or array, optional
        Weights of lists as they were given to ``fit``.
    without_data : bool
        Allow a missing table, or a model that states no digest of its data. The report names what was not checked.

    Raises
    ------
    InputError
        If the model or the table cannot be used, or if the table is missing.
    """
    if table is None and not without_data:
        raise InputError(
            "There is no table to recompute the model from; give the one it was fitted on, or ask for a check "
            "of the file alone: without_data=True, --without-data."
        )
    with usable(where):
        return _report(doc, table, where, proof, first_stage, query_weight, without_data)


def _report(
    doc: ModelDocument, table: Table | None, where: str, proof: Proof | None, first_stage: Any, query_weight: Weights,
    without_data: bool,
) -> Report:  # fmt: skip
    checks = Checks(doc)
    opaque = missing_first_stage(doc)
    stand_in = object() if first_stage is None and opaque is not None else first_stage
    result = result_of(doc)
    check_file(checks, doc, result, stand_in, where)
    missing = ""
    if table is None:
        missing = "it takes the table of the fit"
    elif opaque is not None and first_stage is None:
        missing = f"it takes the first stage {opaque}, which is not in the file"
    if not missing:
        assert table is not None
        found = refit(doc, table, where, first_stage, query_weight)
        DataChecks(checks, doc, table, found, proof, without_data).run()
        return checks.report()
    checks.remark(f"Only the file itself was checked: {missing.removeprefix('it takes ')} was not given.")
    if proof is not None:
        checks.remark("The proof was not looked at.")
    return checks.report(missing)
