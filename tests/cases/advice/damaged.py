"""Advice on files that were damaged, changed or made elsewhere, and on files that cannot be written."""

# ruff: noqa: E501 - messages stand here as they are written

import errno
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from rerank import RerankerCV, load, verify
from rerank.certificate import load_proof, proof_file, save_proof
from rerank.certificate.proof_file import FORM
from rerank.io import read_csv
from rerank.io.archive import read_archive, write_archive
from rerank.latent import LatentRoBiRank
from rerank.reranker.files import model_file as files
from rerank.solvers import gateway
from tests.cases.advice import (
    Row,
    X,
    Y,
    command,
    data,
    est,
    fit,
    model_file,
    promised,
    same,
    succeeds,
    table_file,
    write,
)
from tests.cases.advice.rooms import latent
from tests.cases.mutants import signed

WORDS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": np.where(X[:, 1] > 0, "up", "down")})


def with_words():
    return fit(WORDS, first_stage="logistic", features=["a", "b"], n_candidates=20)


def chosen():
    return RerankerCV(est(first_stage="logistic"), grid={"radius": [0.5]}, cv=2).fit(X, Y).best_estimator_


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
    "The model's cuts between classes cannot be used (they are not ascending scores of grades); fit and save it again": Row(
        lambda: load(changed(settings={"cuts.1": "x"})),
        lambda: load(saved()).predict(X).tolist() == fit().predict(X).tolist(),
    ),
    "The model's result cannot be used ({}); fit and save it again": Row(
        lambda: load(changed(saved(chosen()), result={"evidence.safeguard": GONE})),
        lambda: load(saved(chosen())).result_.evidence is not None,
    ),
    "The stored first stage cannot be used (a rule is broken: {}); fit and save it again": Row(
        lambda: load(changed(saved(with_words()), settings={"table.scale.0": {"hex": (-1.0).hex()}})),
        lambda: ranks_as(with_words(), saved(with_words()), WORDS),
    ),
    "and the model states {} of {}); fit and save it again": Row(
        lambda: load(changed(saved(with_words()), settings={"opaque_first_stage": "other"})),
        lambda: ranks_as(with_words(), saved(with_words()), WORDS),
    ),
}


def alone():
    """A model whose first stage is in its file."""
    return fit(first_stage="logistic+squares", solver="none")


MODELS |= {
    **promised(
        lambda: ranks_as_fitted(saved()) and load(model_file("c.json")).result_.value > 0,
        {
            ("it is not JSON ({})", "pass a file written by save or by rerank fit"): lambda: load(table_file()),
            ('"format" is not', "pass a file written by save or by rerank fit"): lambda: load(write("o.json", "{}")),
        },
    ),
    ("schema 4 is not 1 to 3", "use the version of exact-rerank that wrote it"): Row(
        lambda: load(changed(schema=4)), lambda: ranks_as_fitted(changed(schema=2))
    ),
    ("there is no field 'note'", "remove it"): Row(
        lambda: load(changed(sign=False, note="mine")), lambda: ranks_as_fitted(changed(sign=False))
    ),
    **promised(
        lambda: ranks_as_fitted(saved(path="o.json")),
        {
            ("the field 'weights' is missing", "write it again with save"): lambda: load(changed(weights=GONE)),
            ("the field 'weights' is not a list of finite numbers", "write it again with save"): lambda: load(
                changed(weights=["1.0", "0.5"])
            ),
            ("'weights' has 1 entries where 2 are expected", "write it again with save"): lambda: load(
                changed(weights=["0x1.0000000000000p+0"])
            ),
            ("a rule is broken: 'signs' are -1, 0 or 1", "write it again with save"): lambda: load(
                changed(signs=[2, 0])
            ),
        },
    ),
    ("the digest does not match the content", "take an undamaged copy or fit again"): Row(
        lambda: load(changed(sign=False, C="0x1.0000000000000p-1")),
        lambda: ranks_as_fitted(changed(sign=False)) and ranks_as_fitted(saved()),
    ),
    ("its statistic is thinned, which there is no more", "fit it again without thinning"): Row(
        lambda: load(changed(settings={"thinning": 2})), lambda: ranks_as_fitted(saved())
    ),
    "holds a number or a text that cannot be used ({}); take an undamaged copy, or fit again": Row(
        lambda: command("verify", changed(model_file(), epsilon=(1e308).hex()), "t.csv"),
        lambda: succeeds("verify", changed(model_file()), "t.csv"),
    ),
    ("'prior_centre' of the settings is a finite number", "write it again with save"): Row(
        lambda: load(changed(saved(alone()), settings={"prior_centre": "x"})),
        lambda: ranks_as(alone(), changed(saved(alone()))) and ranks_as_fitted(saved()),
    ),
}


def checked(table: Any, path: str = "m.json"):
    return verify(path, table)


def of_lists(**options: Any) -> Any:
    """The verification of a fit of two lists, of which one counts three times."""
    text = "q,hit,a,b\n" + "".join(
        f"{k % 2},{int(y)},{a!r},{b!r}\n" for k, (y, (a, b)) in enumerate(zip(Y, X.tolist()))
    )
    table = read_csv(write("q.csv", text), label="hit", qid="q")
    rows = pd.DataFrame(table.X, columns=["a", "b"])
    weighted = fit(rows, table.y, qid=table.qid, query_weight={"0": 3.0})
    return verify(saved(weighted), table, **options)


def own_table(**options: Any):
    return read_csv(table_file(), **{"label": "hit", **options})


def stated() -> Any:
    """A fit whose program is stated, with eight candidates of a first stage."""
    return fit(stat="dcg@5", n_candidates=8, first_stage="logistic")


def solved_elsewhere(**entries: Any) -> Any:
    """A program, whose sidecar may state other results of its model, and the solution of a solver."""
    stated().export_mps("p.mps")
    gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    body = json.loads(Path("p.json").read_text())
    inner = body["data"]["model"]
    inner["result"] |= entries
    body["data"]["model"] = signed(inner)
    write("p.json", json.dumps(body))
    return command("import", "p.mps", "p.sol", "--model", "new.json")


TABLES = {
    "The table has no labels; name the column that holds them": Row(
        lambda: checked(own_table(label=None, features=["a", "b"]), model_file()),
        lambda: checked(own_table(), model_file()).holds,
    ),
    "The table has {} columns and {} was fitted on {}; give the table of the fit": Row(
        lambda: checked(own_table(features=["a"]), model_file()), lambda: checked(own_table(), model_file()).holds
    ),
    "which no table holds; give query_weight to rerank.verify": Row(
        of_lists, lambda: of_lists(query_weight={"0": 3.0}).holds
    ),
    "model is a {}; give a fitted Reranker, or the path of a model file": Row(
        lambda: verify({}, own_table()), lambda: verify(model_file(), own_table()).holds
    ),
    "table is a {}; give a rerank.io.Table, as read_table makes it of a file": Row(
        lambda: verify(model_file(), WORDS), lambda: verify(model_file(), own_table()).holds
    ),
    "another shortlist follows from it; give that one": Row(
        lambda: command("export", model_file(), write("n.csv", "hit,a,b\n1,2,3\n0,4,5\n"), "p.mps"),
        lambda: succeeds("export", model_file(), "t.csv", "p.mps"),
    ),
    "one of the two is wrong, so neither is used; fit the model again": Row(
        lambda: solved_elsewhere(bound={"hex": (0.5).hex()}, value={"hex": (0.25).hex()}),
        lambda: solved_elsewhere().exit_code == 0,
    ),
}


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


def without_seconds(path):
    """The checkpoint of a search without the time that it took."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["header.json"])
    del header["seconds"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in content.items():
            archive.writestr(name, json.dumps(header) if name == "header.json" else body)
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
            ),
            ("can be used ('seconds')", "delete it to begin anew, or choose another path"): lambda: (
                resumes("c"),
                resumes(without_seconds("c")),
            ),
        },
    ),
}


def program_file(path="p.mps", **changes):
    """A program whose sidecar holds other data."""
    stated().export_mps(path)
    body = json.loads(Path("p.json").read_text())
    write("p.json", json.dumps({**body, "data": left({**body["data"], **changes})}))
    return path


def data_of_program():
    stated().export_mps("q.mps")
    return json.loads(Path("q.json").read_text())["data"]


def import_solution(path):
    """Solve a program and read the solution, which is written beside it."""
    command("solve", path)
    return command("import", path, Path(path).with_suffix(".sol"), "--model", "i.json")


def imports(path) -> bool:
    assert import_solution(path).exit_code in (0, 3)
    return load("i.json").result_.value > 0


def moved(problem):
    """A sidecar's problem with another value in the table."""
    return {**problem, "X": [(1.5).hex(), *problem["X"][1:]]}


PROGRAMS = {
    "holds no estimator; export the program with Reranker.export_mps or rerank export": Row(
        lambda: import_solution(program_file(model=GONE)),
        lambda: (
            imports(program_file())
            and succeeds("export", model_file(table=table_file(n=8)), "t.csv", "r.mps")
            and imports("r.mps")
        ),
    ),
    **promised(
        lambda: imports(program_file()),
        {
            "holds a number or a text that cannot be used ({}); take an undamaged copy, or fit again": lambda: (
                import_solution(program_file(choices={"box": "x"}))
            ),
            "holds no constant; export it again": lambda: import_solution(program_file(constant="nan")),
            "does not say how its program was stated; export it again": lambda: import_solution(
                program_file(choices=[])
            ),
            "holds no problem that can be used ({}); export it again": lambda: import_solution(
                program_file(problem={})
            ),
            "contradicts itself: its problem is not that of its model; export it again": lambda: import_solution(
                program_file(problem=moved(data_of_program()["problem"]))
            ),
            "states another constant than its problem has; export it again": lambda: import_solution(
                program_file(constant=(5.0).hex())
            ),
        },
    ),
}


def refused_by_system(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def kept(save: Callable[[], Any], most: int = 1_000_000, size: int = 1 << 26) -> Any:
    """A model that is saved and read where a file holds so many entries of a field, and bytes."""
    with patch.object(files, "MAX_ENTRIES", most), patch.object(files, "MAX_BYTES", size):
        return load(saved(save()))


def rows_of(n: int = 100, d: int = 2, **options: Any) -> Callable[[], Any]:
    """A fit with scores of held-out rows in its file."""
    return lambda: est(**{"radius": 1.0, "first_stage": "logistic", "n_candidates": 20, **options}).fit(*data(n, d))


def named(name: str) -> Callable[[], Any]:
    return lambda: fit(pd.DataFrame(X, columns=[name, "b"]))


def without_rights(path: str, mode: int, **_: Any) -> bool:
    return mode != os.W_OK | os.X_OK or Path(path).name == "open"


def fit_into(folder: str) -> Any:
    """A fit by the command line on a system where one folder can be written."""
    os.makedirs(folder, exist_ok=True)
    with patch.object(os, "access", without_rights):
        own = ("--label", "hit", "--solver", "search", "--first-stage", "none")
        return command("fit", table_file(), "--free", "--model", f"{folder}/m.json", *own)


def on_a_full_disk(full: bool) -> Any:
    with patch.object(os, "fsync", refused_by_system if full else lambda descriptor: None):
        return load(saved())


WRITTEN = {
    "Cannot make the folder {}: {}; choose another path": Row(
        lambda: (write("file", ""), latent().save("file/model"))[1],
        lambda: latent().save("folder/model") is None and LatentRoBiRank.load("folder/model"),
    ),
    "The folder of {} cannot be written; write elsewhere": Row(
        lambda: fit_into("closed"), lambda: fit_into("open").exit_code in (0, 3) and Path("open/m.json").exists()
    ),
    "make room or choose another path": Row(lambda: on_a_full_disk(True), lambda: same(on_a_full_disk(False))),
    "The model's {} cannot be saved ({}); give {}": Row(
        lambda: saved(named("a" * 10_001)()), lambda: same(load(saved(named("a" * 10_000)())))
    ),
    "entries, and a file holds at most {}; fit it {}": Row(
        lambda: kept(rows_of(), most=90), lambda: kept(rows_of(60), most=90) and kept(rows_of(cross_fit=False), most=90)
    ),
    "fit it on fewer columns, or on fewer rows where it holds a score of each (cross_fit)": Row(
        lambda: kept(rows_of(d=40), size=6_500),
        lambda: kept(rows_of(d=2), size=6_500) and kept(rows_of(20, d=2), size=6_500),
    ),
}

ROWS = MODELS | TABLES | PROOFS | ARCHIVES | PROGRAMS | WRITTEN
