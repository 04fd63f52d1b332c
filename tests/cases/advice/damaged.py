"""Advice on files that were damaged, changed or made elsewhere, and on files that cannot be written."""

# ruff: noqa: E501 - messages stand here as they are written

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from rerank import RerankerCV, load
from rerank.certificate import proof_file
from rerank.certificate.proof_file import FORM, load_proof, save_proof
from rerank.io import read_csv
from rerank.io.archive import read_archive, write_archive
from rerank.latent import LatentRoBiRank
from rerank.reranker.files import model_file
from rerank.reranker.files.verify import verify
from rerank.solvers import gateway
from tests.cases.advice import command, data, est, row, succeeds, table_file, write
from tests.cases.advice import model_file as fitted_file
from tests.cases.advice.rooms import latent
from tests.cases.mutants import signed

X, Y = data()
WORDS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": np.where(X[:, 1] > 0, "up", "down")})


def with_words():
    return est(first_stage="logistic", features=["a", "b"], n_candidates=20).fit(WORDS, Y)


def chosen():
    return RerankerCV(est(first_stage="logistic"), grid={"radius": [0.5]}, cv=2).fit(X, Y).best_estimator_


def saved(reranker: Any = None, path: str = "m.json") -> str:
    (est().fit(X, Y) if reranker is None else reranker).save(path)
    return path


def changed(part: str, reranker: Any = None, **entries: Any) -> str:
    """A model file with other entries in one part and a digest that fits; None removes an entry."""
    path = saved(reranker)
    body = json.loads(Path(path).read_text())
    removed = {name for name, value in entries.items() if value is None}
    body[part] = {name: value for name, value in (body[part] | entries).items() if name not in removed}
    return write(path, json.dumps(signed(body)))


MODELS = [
    row("The model's cuts between classes cannot be used (they are not ascending scores of grades); fit and save it again",
        lambda: load(changed("settings", **{"cuts.1": "x"})),
        lambda: load(saved()).predict(X).tolist() == est().fit(X, Y).predict(X).tolist()),
    row("The model's result cannot be used ({}); fit and save it again",
        lambda: load(changed("result", chosen(), **{"evidence.safeguard": None})),
        lambda: load(saved(chosen())).result_.evidence is not None),
    row("The stored first stage cannot be used (a rule is broken: {}); fit and save it again",
        lambda: load(changed("settings", with_words(), **{"table.scale.0": {"hex": (-1.0).hex()}})),
        lambda: load(saved(with_words())).rank(WORDS).tolist() == with_words().rank(WORDS).tolist()),
    row("and the model states {} of {}); fit and save it again",
        lambda: load(changed("settings", with_words(), opaque_first_stage="other")),
        lambda: load(saved(with_words())).rank(WORDS).tolist() == with_words().rank(WORDS).tolist()),
]  # fmt: skip


def checked(table: Any, path: str = "m.json"):
    return verify(model_file.read(path), table, path)


def own_table(**options: Any):
    return read_csv(table_file(), **{"label": "hit", **options})


def solved_elsewhere(**entries: Any) -> Any:
    """A program, whose sidecar may state other results of its model, and the solution of a solver."""
    est(stat="dcg@5", first_stage="logistic", n_candidates=8).fit(X, Y).export_mps("p.mps")
    gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    body = json.loads(Path("p.json").read_text())
    inner = body["data"]["model"]
    inner["result"] |= entries
    body["data"]["model"] = signed(inner)
    write("p.json", json.dumps(body))
    return command("import", "p.mps", "p.sol", "--model", "new.json")


TABLES = [
    row("The table has no labels; name the column that holds them",
        lambda: checked(own_table(label=None, features=["a", "b"]), fitted_file()),
        lambda: checked(own_table(), fitted_file()).holds),
    row("The table has {} columns and {} was fitted on {}; give the table of the fit",
        lambda: checked(own_table(features=["a"]), fitted_file()),
        lambda: checked(own_table(), fitted_file()).holds),
    row("another shortlist follows from it; give that one",
        lambda: command("export", fitted_file(), write("n.csv", "hit,a,b\n1,2,3\n0,4,5\n"), "p.mps"),
        lambda: succeeds("export", fitted_file(), "t.csv", "p.mps")),
    row("one of the two is wrong, so neither is used; fit the model again",
        lambda: solved_elsewhere(bound={"hex": (0.5).hex()}, value={"hex": (0.25).hex()}),
        lambda: solved_elsewhere().exit_code == 0),
]  # fmt: skip


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


PROOFS = [
    row("Its bound adds up shares of pairs, which is no longer checked; fit again with proof=True",
        lambda: load_proof(with_shares()),
        lambda: save_proof(recorded(), "p.proof") is None
            and load_proof("p.proof").bound == recorded().bound),
    row("The proof cannot be written to {}: {}; set a node_limit, or lower max_features",
        lambda: written(), lambda: written(node_limit=1).bound > 0 and written(max_features=1).supports),
]  # fmt: skip


def refused_by_system(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def kept(save: Callable[[], Any], most: int = 1_000_000, size: int = 1 << 26) -> Any:
    """A model that is saved and read where a file holds so many entries of a field, and bytes."""
    with patch.object(model_file, "MAX_ENTRIES", most), patch.object(model_file, "MAX_BYTES", size):
        return load(saved(save()))


def rows_of(n: int = 100, d: int = 2, **options: Any) -> Callable[[], Any]:
    """A fit with scores of held-out rows in its file."""
    return lambda: est(**{"radius": 1.0, "first_stage": "logistic", "n_candidates": 20, **options}).fit(*data(n, d))


def named(name: str) -> Callable[[], Any]:
    return lambda: est().fit(pd.DataFrame(X, columns=[name, "b"]), Y)


def without_rights(path: str, mode: int, **_: Any) -> bool:
    return mode != os.W_OK | os.X_OK or Path(path).name == "open"


def fit_into(folder: str) -> Any:
    """A fit by the command line on a system where one folder can be written."""
    os.makedirs(folder, exist_ok=True)
    with patch.object(os, "access", without_rights):
        own = ("--label", "hit", "--solver", "search", "--first-stage", "none")
        return command("fit", table_file(), "--model", f"{folder}/m.json", *own)


def on_a_full_disk(full: bool) -> Any:
    with patch.object(os, "fsync", refused_by_system if full else lambda descriptor: None):
        return load(saved())


WRITTEN = [
    row("Cannot make the folder {}: {}; choose another path",
        lambda: (write("file", ""), latent().save("file/model"))[1],
        lambda: latent().save("folder/model") is None and LatentRoBiRank.load("folder/model")),
    row("The folder of {} cannot be written; write elsewhere",
        lambda: fit_into("closed"),
        lambda: fit_into("open").exit_code in (0, 3) and Path("open/m.json").exists()),
    row("make room or choose another path",
        lambda: on_a_full_disk(True),
        lambda: on_a_full_disk(False).result_.value == est().fit(X, Y).result_.value),
    row("The model's {} cannot be saved ({}); give {}",
        lambda: saved(named("a" * 10_001)()),
        lambda: load(saved(named("a" * 10_000)())).result_.value == est().fit(X, Y).result_.value),
    row("entries, and a file holds at most {}; fit it {}",
        lambda: kept(rows_of(), most=90),
        lambda: kept(rows_of(60), most=90) and kept(rows_of(cross_fit=False), most=90)),
    row("fit it on fewer columns, or on fewer rows where it holds a score of each (cross_fit)",
        lambda: kept(rows_of(d=40), size=6_500),
        lambda: kept(rows_of(d=2), size=6_500) and kept(rows_of(20, d=2), size=6_500)),
]  # fmt: skip

ROWS = MODELS + TABLES + PROOFS + WRITTEN
