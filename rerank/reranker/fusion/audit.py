"""Files by which others check the bound of a fusion: a table of normalised scores, a model of it, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rerank.certificate import save_proof
from rerank.errors import InputError
from rerank.io import Table
from rerank.io.atomic import together
from rerank.io.csv_table import write_csv
from rerank.io.paths import unwritable
from rerank.reranker.files.document import save
from rerank.reranker.state import FittedState

FILES = TABLE, MODEL, PROOF = "table.csv", "model.json", "fit.proof"
LABEL = "grade"


@dataclass(frozen=True, eq=False)
class Audit:
    """What was fitted: a reranker of a table whose columns are the normalised scores of the runs.

    Attributes
    ----------
    state : FittedState
        Its weights are those of the fusion, up to their sum.
    table : Table
    """

    state: FittedState
    table: Table

    def save(self, folder: Any) -> None:
        """Write ``table.csv``, ``model.json`` and ``fit.proof`` for ``rerank verify``; the folder is made if need be.

        Raises
        ------
        InputError
            If the search recorded no proof, the proof is too large, or the folder cannot be written.
        """
        record = self.state.result.proof
        if record is None:
            raise InputError("The search had no part in this fit, so there is no proof to write; nothing was written.")
        where = Path(folder)
        try:
            where.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(where, error, "choose a folder that can be written") from None
        read = {"label_column": LABEL, "qid_column": "qid", "id_column": "id"}
        with together():
            write_csv(where / TABLE, self.table, label=LABEL)
            save(replace(self.state, columns_read=read), where / MODEL)
            save_proof(record, where / PROOF)
