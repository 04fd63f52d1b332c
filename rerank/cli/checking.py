"""``rerank verify`` and ``rerank doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rerank.cli.common import (
    FAILED,
    AsJson,
    Data,
    Label,
    Model,
    Positive,
    Qid,
    Weight,
    answer,
    read_for,
    working,
)


def verify(
    model: Model,
    data: Data,
    label: Label = None,
    qid: Qid = None,
    weight: Weight = None,
    positive_label: Positive = None,
    proof: Annotated[
        Path | None,
        typer.Option(help="Proof written by fit --proof: checks the bound too.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a model's numbers from the files alone, in exact rational arithmetic."""
    from rerank.reranker.files.verify import verify as check

    doc, table = read_for(
        model, data, label=label, qid=qid, weight=weight, positive=positive_label, need_label=True
    )
    if proof is None:
        report = check(doc, table, str(model))
    else:
        from rerank.certificate import load_proof

        record = load_proof(proof)
        with working(f"Checking {proof.name} ..."):
            report = check(doc, table, str(model), record)
    if as_json:
        answer(
            {
                "holds": report.holds,
                "checks": [vars(check) for check in report.checks],
                "open": list(report.remarks),
            }
        )
    else:
        from rerank.cli.report import print_checks

        print_checks(report)
    raise typer.Exit(0 if report.holds else FAILED)


def doctor(as_json: AsJson = False) -> None:
    """Say which solvers and libraries this installation finds."""
    from rerank.reranker.files.document import versions
    from rerank.solvers import gateway

    with working("Asking the solvers for their versions ..."):
        solvers = gateway.available()
    if as_json:
        answer({"versions": versions(), "solvers": solvers})
        return
    from rerank.cli.report import print_doctor

    print_doctor(versions(), solvers)
