"""Advice on files that were damaged, changed or made elsewhere, and on files that cannot be written."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from rerank import load
from rerank.certificate import load_proof, proof_file, save_proof
from rerank.certificate.proof_file import FORM
from rerank.io.archive import read_archive, write_archive
from tests.cases.advice import Row, X, command, data, est, fit, promised, same, write
from tests.cases.mutants import signed


def saved(reranker: Any = None, path: str = "m.json") -> str:
    (fit() if reranker is None else reranker).save(path)
    return path


GONE = object()
"""What a field or an entry holds that is left out."""


def left(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not GONE}


def changed(source: str | None = None, sign: bool = True, **fields: Any) -> str:
    """A copy of a model file with other fields, or entries of a field, and a digest that fits."""
    body = json.loads(Path(source or saved()).read_text())
    for name, value in fields.items():
        body[name] = left(body[name] | value) if isinstance(value, dict) else value
    return write("o.json", json.dumps(signed(left(body)) if sign else left(body)))


def ranks_as(reranker: Any, path: str, table: Any = X) -> bool:
    """Whether a model file ranks as the fit does that it was made from."""
    return bool((load(path).rank(table) == reranker.rank(table)).all())


def ranks_as_fitted(path: str) -> bool:
    return ranks_as(fit(), path)


MODELS = {
    ("there is no field 'note'", "remove it"): Row(
        lambda: load(changed(sign=False, note="mine")), lambda: ranks_as_fitted(changed(sign=False))
    ),
    **promised(
        lambda: ranks_as_fitted(saved(path="o.json")),
        {("the field 'weights' is missing", "write it again with save"): lambda: load(changed(weights=GONE))},
    ),
    ("the digest does not match the content", "take an undamaged copy or fit again"): Row(
        lambda: load(changed(sign=False, C="0x1.0000000000000p-1")),
        lambda: ranks_as_fitted(changed(sign=False)) and ranks_as_fitted(saved()),
    ),
}


def stated() -> Any:
    """A fit whose program is stated, with eight candidates of a first stage."""
    return fit(stat="dcg@5", n_candidates=8, first_stage="logistic")


def recorded(**options: Any):
    return est(max_features=1, proof=True, **options).fit(*data(40, 3)).result_.proof


def with_shares() -> str:
    """The file of a proof that earlier versions wrote."""
    save_proof(recorded(), "p.proof")
    header, arrays = read_archive("p.proof", FORM)
    write_archive("p.proof", FORM, header, arrays | {"circuit_shares": np.ones(1)})
    return "p.proof"


def written(**options: Any):
    """The proof of a long search, in a file that may hold little."""
    X, y = data(120, 5)
    proof = est(**{"stat": "auc", "proof": True, "node_limit": 20_000, **options}).fit(X, y[::-1]).result_.proof
    with patch.object(proof_file, "FORM", replace(FORM, most_bytes=60_000)):
        save_proof(proof, "p.proof")
    return load_proof("p.proof")


PROOFS = {
    "Its bound adds up shares of pairs, which is no longer checked; fit again with proof=True": Row(
        lambda: load_proof(with_shares()),
        lambda: save_proof(recorded(), "p.proof") is None and load_proof("p.proof").bound == recorded().bound,
    ),
    "The proof cannot be written to {}: {}; set a node_limit, or lower max_features": Row(
        lambda: written(), lambda: written(node_limit=1).bound > 0 and written(max_features=1).supports
    ),
}


def with_proof(path="p.proof"):
    save_proof(fit(proof=True).result_.proof, path)
    return path


def cut_short(path):
    """The file without its second half."""
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[: len(content) // 2])
    return path


def resumes(path) -> bool:
    """Whether a fit with that checkpoint ends as one without."""
    return same(fit(checkpoint=path))


ARCHIVES = {
    "write it again with save_proof": Row(
        lambda: load_proof(cut_short(with_proof())),
        lambda: load_proof(with_proof()).bound == fit(proof=True).result_.bound,
    ),
    **promised(
        lambda: (os.remove("c"), resumes("c"), resumes("d"))[1:] == (True, True),
        {
            ("it is no archive of a header", "delete it to begin anew, or choose another path"): lambda: resumes(
                write("c", "x")
            )
        },
    ),
}


def program_file(path="p.mps", **changes):
    """A program whose sidecar holds other data."""
    stated().export_mps(path)
    body = json.loads(Path("p.json").read_text())
    write("p.json", json.dumps({**body, "data": left({**body["data"], **changes})}))
    return path


def import_solution(path):
    """Solve a program and read the solution, which is written beside it."""
    command("solve", path)
    return command("import", path, Path(path).with_suffix(".sol"), "--model", "i.json")


def imports(path) -> bool:
    assert import_solution(path).exit_code in (0, 3)
    return load("i.json").result_.value > 0


PROGRAMS = {
    **promised(
        lambda: imports(program_file()),
        {"holds no problem that can be used ({}); export it again": lambda: import_solution(program_file(problem={}))},
    )
}


ROWS = MODELS | PROOFS | ARCHIVES | PROGRAMS
