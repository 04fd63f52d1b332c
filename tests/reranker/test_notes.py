"""Notes have kinds, which survive copies and files: nothing reads a sentence for what it means."""

import copy
import json
import pickle

import numpy as np
import pytest

from rerank import Reranker, load
from rerank.errors import InputError
from rerank.errors.telling import Note, of_kind
from rerank.reranker.solution import CORRECTIONS
from tests.cases.fuzz_fitted import with_digest


def test_a_note_is_its_text_and_keeps_its_kind_in_copies():
    note = Note("Nothing was left.", "late")
    for again in (copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
        assert again == "Nothing was left." and of_kind(["another", again], "late") == [note]
    assert of_kind([note], "unused") == []


def test_a_model_file_keeps_the_kinds_of_notes(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = (X @ [1.0, 0.3] + rng.normal(size=80) > 1).astype(int)
    est = Reranker("dcg@10", radius=0.5, solver="search", time_limit=5).fit(X, y)
    words = of_kind(est.result_.notes, CORRECTIONS)
    assert len(words) == 1 and "per" in words[0]
    est.save(tmp_path / "m.json")
    assert of_kind(load(tmp_path / "m.json").result_.notes, CORRECTIONS) == words
    body = json.loads((tmp_path / "m.json").read_text())
    kinds = {name: value for name, value in body["result"].items() if name.startswith("note_kinds")}
    older = body | {"result": {name: value for name, value in body["result"].items() if name not in kinds}}
    (tmp_path / "older.json").write_text(json.dumps(with_digest(older)))
    assert kinds and of_kind(load(tmp_path / "older.json").result_.notes, CORRECTIONS) == []
    body["result"] |= dict.fromkeys(list(kinds)[:1], 3)
    (tmp_path / "forged.json").write_text(json.dumps(with_digest(body)))
    with pytest.raises(InputError, match="note_kinds"):
        load(tmp_path / "forged.json")
