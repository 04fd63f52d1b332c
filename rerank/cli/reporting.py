"""``rerank report``: one page for people who get the list and decide by it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rerank.cli.common import (
    FAILED,
    AsJson,
    Data,
    Delimiter,
    Id,
    Label,
    Model,
    Positive,
    Qid,
    Weight,
    answer,
    ranker,
    read_for,
    say,
    there,
    with_ideal,
    working,
)
from rerank.errors import InputError, RerankError

DIGESTS = ("data_sha256", "result.certificate.data_sha256")
"""The checks that a digest of other data fails, the digest's own first."""

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report


def report(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    label: Label = None,
    qid: Qid = None,
    id: Id = None,
    weight: Weight = None,
    positive_label: Positive = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page on a model and a table.

    The list, what changed, evidence on these rows and on held-out rows, proof, certificate. The page needs no network
    and runs no code. With labels it says how the list does on these rows; if they are those of the fit, the model's
    numbers are recomputed from them. Ends with 5 if the file contradicts itself or these rows.
    """
    from rerank.cli.page import certificate, change, evidence, held_out, proof, question, ranked, the_list
    from rerank.io.atomic import writing
    from rerank.io.page import page
    from rerank.io.paths import check_outputs

    if output.suffix not in (".html", ".htm"):
        raise InputError(f"{output} is no name of a page; let it end in .html.")
    check_outputs([model, *with_ideal(data)], {"--output": output})
    doc, table = read_for(
        model, data, label=label, qid=qid, id=id, weight=weight, positive=positive_label, delimiter=delimiter,
        take_label=True,
    )  # fmt: skip
    table = there(table)
    est = ranker(doc, model)
    with working(f"Ranking {len(table)} rows, and checking the model's numbers ..."):
        found, (checked, recomputed) = ranked(est, table), _checked(doc, table, str(model))
        sections = [
            question(found), the_list(found), change(found), evidence(found, recomputed), held_out(est),
            proof(est, recomputed and table.sample_weight is None), certificate(doc, checked, recomputed),
        ]  # fmt: skip
    title = f"The list of {data.name} by {est.result_.statistic_name}"
    with writing(output) as file:
        file.write(page(title, sections))
    if as_json:
        answer({"page": str(output), "sections": [title for title, _ in sections]})
    else:
        say(f"Written to {output}.")
    if not checked.holds:
        failed = ", ".join(check.name for check in checked.checks if not check.holds)
        say(f"{checked.outcome} What does not hold: {failed}.")
        raise typer.Exit(FAILED)


def _checked(doc: ModelDocument, table: Table, where: str) -> tuple[Report, bool]:
    """The report of the verification, and whether the table was that of the fit; of another one the file's alone.

    A table from which all follows but the stated digest is that of the fit, too.
    """
    from rerank.reranker.files.verify import verify

    with suppress(RerankError):
        found = verify(doc, table, where) if table.y is not None else None
        digest = [] if found is None else [check.holds for check in found.checks if check.name in DIGESTS[:1]]
        failed = set() if found is None else {check.name for check in found.checks if not check.holds}
        if found is not None and digest and (digest == [True] or failed <= set(DIGESTS)):
            return found, True
    return verify(doc, None, where, without_data=True), False
