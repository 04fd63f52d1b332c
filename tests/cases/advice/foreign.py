"""Advice on files that are damaged, were changed, or are of another version: models, proofs, programs, checkpoints."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

from rerank import load
from rerank.certificate import load_proof, save_proof
from tests.cases.advice import (
    command,
    data,
    est,
    fitted,
    model_file,
    promised,
    row,
    succeeds,
    table_file,
    write,
)
from tests.cases.mutants import signed

X, Y = data()


def saved(path="m.json", **options):
    fitted(**options).save(path)
    return path


def ranks_as_fitted(path="m.json", **options) -> bool:
    return bool((load(path).rank(X) == fitted(**options).rank(X)).all())


def changed(path="o.json", sign=True, **fields):
    """A copy of a saved model with other fields; None leaves one out."""
    body = {**json.loads(Path(saved()).read_text()), **fields}
    body = {name: value for name, value in body.items() if value != "left out"}
    return write(path, json.dumps(signed(body) if sign else body))


def with_setting(path="o.json", **settings):
    own = json.loads(Path(saved()).read_text())["settings"]
    return changed(path, settings={**own, **settings})


MODELS = [
    *promised(lambda: ranks_as_fitted(saved()) and load(model_file("c.json")).result_.value > 0,
        (("it is not JSON ({})", "pass a file written by save or by rerank fit"), lambda: load(table_file())),
        (('"format" is not', "pass a file written by save or by rerank fit"),
         lambda: load(write("o.json", "{}")))),
    row(("schema 3 is not 1 or 2", "use the version of exact-rerank that wrote it"),
        lambda: load(changed(schema=3)), lambda: ranks_as_fitted(changed(schema=2))),
    row(("there is no field 'note'", "remove it"),
        lambda: load(changed(sign=False, note="mine")), lambda: ranks_as_fitted(changed(sign=False))),
    *promised(lambda: ranks_as_fitted(saved("o.json")),
        (("the field 'weights' is missing", "write it again with save"),
         lambda: load(changed(weights="left out"))),
        (("the field 'weights' is not a list of finite numbers", "write it again with save"),
         lambda: load(changed(weights=["1.0", "0.5"]))),
        (("'weights' has 1 entries where 2 are expected", "write it again with save"),
         lambda: load(changed(weights=["0x1.0000000000000p+0"]))),
        (("a rule is broken: 'signs' are -1, 0 or 1", "write it again with save"),
         lambda: load(changed(signs=[2, 0])))),
    row(("the digest does not match the content", "take an undamaged copy or fit again"),
        lambda: load(changed(sign=False, C="0x1.0000000000000p-1")),
        lambda: ranks_as_fitted(changed(sign=False)) and ranks_as_fitted(saved())),
    row(("its statistic is thinned, which there is no more", "fit it again without thinning"),
        lambda: load(with_setting(thinning=2)), lambda: ranks_as_fitted(saved())),
]  # fmt: skip


def of_command(**changes):
    """A model that the command line wrote, with other fields."""
    body = json.loads(Path(model_file()).read_text())
    return write("o.json", json.dumps(signed({**body, **changes})))


def of_table(**settings):
    """A model whose first stage is in its file, with other settings."""
    est(first_stage="logistic+squares", solver="none").fit(X, Y).save("m.json")
    body = json.loads(Path("m.json").read_text())
    return write("o.json", json.dumps(signed({**body, "settings": {**body["settings"], **settings}})))


MODELS += [
    row("holds a number or a text that cannot be used ({}); take an undamaged copy, or fit again",
        lambda: command("verify", of_command(epsilon=(1e308).hex()), "t.csv"),
        lambda: succeeds("verify", of_command(), "t.csv")),
    row("holds a number or a text that cannot be used ({}); take an undamaged copy, or fit again",
        lambda: load(of_table(prior_centre="x")),
        lambda: len(load(of_table()).rank(X)) == 40 and ranks_as_fitted(saved())),
]  # fmt: skip


def proof_file(path="p.proof"):
    save_proof(fitted(proof=True).result_.proof, path)
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
    return fitted(checkpoint=path).result_.value == fitted().result_.value


ARCHIVES = [
    row("write it again with save_proof",
        lambda: load_proof(cut_short(proof_file())),
        lambda: load_proof(proof_file()).bound == fitted(proof=True).result_.bound),
    *promised(lambda: (os.remove("c"), resumes("c"), resumes("d"))[1:] == (True, True),
        ("delete it to begin anew, or choose another path", lambda: resumes(write("c", "x"))),
        ("delete it to begin anew, or choose another path",
         lambda: (resumes("c"), resumes(without_seconds("c"))))),
]  # fmt: skip


def anchored(**options):
    """A fit whose program is stated, with eight candidates of a first stage."""
    return est(stat="dcg@5", n_candidates=8, first_stage="logistic", **options).fit(X, Y)


def program_file(path="p.mps", **changes):
    """A program whose sidecar holds other data; None leaves an entry out."""
    anchored().export_mps(path)
    body = json.loads(Path("p.json").read_text())
    data = {name: value for name, value in {**body["data"], **changes}.items() if value is not None}
    write("p.json", json.dumps({**body, "data": data}))
    return path


def data_of_program():
    anchored().export_mps("q.mps")
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


PROGRAMS = [
    row("holds no estimator; export the program with Reranker.export_mps or rerank export",
        lambda: import_solution(program_file(model=None)),
        lambda: imports(program_file()) and succeeds("export", model_file(table=table_file(n=8)), "t.csv",
            "r.mps") and imports("r.mps")),
    *promised(lambda: imports(program_file()),
        ("holds a number or a text that cannot be used ({}); take an undamaged copy, or fit again",
         lambda: import_solution(program_file(choices={"box": "x"}))),
        ("holds no constant; export it again", lambda: import_solution(program_file(constant="x"))),
        ("holds no constant; export it again", lambda: import_solution(program_file(constant="nan"))),
        ("does not say how its program was stated; export it again",
         lambda: import_solution(program_file(choices=[]))),
        ("holds no problem that can be used ({}); export it again",
         lambda: import_solution(program_file(problem={}))),
        ("contradicts itself: its problem is not that of its model; export it again",
         lambda: import_solution(program_file(problem=moved(data_of_program()["problem"])))),
        ("states another constant than its problem has; export it again",
         lambda: import_solution(program_file(constant=(5.0).hex())))),
]  # fmt: skip


ROWS = MODELS + ARCHIVES + PROGRAMS
