import json
import os
import pickletools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.reranker.files import model_file
from rerank.reranker.files.model_file import ModelDocument
from tests.cases.mutants import mutants, signed
from tests.cases.refuses import refuses

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def document(**changes):
    values = dict(
        statistic="dcg@10",
        feature_names=("age", "year", "größe"),
        features=np.array([0, 2]),
        low=np.array([30.0, 0.1]),
        high=np.array([83.0, 1 / 3]),
        weights=np.array([-1.0, 5e-324]),
        epsilon=1e-4,
        signs=np.array([0, 1]),
        first_stage="logistic",
        first_stage_coef=np.array([0.1, -0.2, 0.3]),
        first_stage_intercept=-0.7,
        threshold=0.25,
        n_candidates=50,
        result={"value": 1 / 3, "bound": np.inf, "status": "feasible", "nodes": 2, "proved": True, "x": None},
        settings={"solver": "search", "time_limit": 60.0},
        versions={"numpy": "2.4"},
        data_sha256="0" * 64,
        random_state=3,
    )
    return ModelDocument(**{**values, **changes})


def same(a, b):
    for name in ModelDocument.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, np.ndarray):
            if left.tobytes() != np.asarray(right, dtype=left.dtype).tobytes():
                return False
        elif left != right or type(left) is not type(right):
            return False
    return True


def rewritten(body, tmp_path, **changes):
    """A file with changed fields and a digest that fits them: only the schema can refuse it."""
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(signed({**body, **changes})))
    return path


def test_a_file_gives_back_every_bit(tmp_path):
    path = tmp_path / "model.json"
    model_file.write(path, document())
    assert same(document(), model_file.read(path))
    assert os.listdir(tmp_path) == ["model.json"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(FINITE, FINITE, st.floats(-1, 1)), max_size=5), FINITE, st.dictionaries(st.text(), FINITE))
def test_any_document_survives(rows, intercept, result):
    columns = [(min(a, b), max(a, b), w) for a, b, w in rows if a != b]
    low, high, weights = (np.array([row[i] for row in columns]) for i in range(3))
    p = len(columns)
    doc = document(
        feature_names=tuple(f"x{i}" for i in range(p)),
        features=np.arange(p),
        low=low,
        high=high,
        weights=weights,
        signs=np.zeros(p, dtype=int),
        first_stage_coef=weights,
        first_stage_intercept=intercept,
        result=result,
    )
    assert same(doc, model_file.from_dict(json.loads(json.dumps(model_file.to_dict(doc)))))


def test_the_digest_is_of_every_field():
    digest = model_file.to_dict(document())["digest"]
    for mutant in mutants(document()):
        with pytest.raises(InputError):
            model_file.from_dict({**mutant.body, "digest": digest})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema": 5}, "schema 5 is not 1 to 4"),
        ({"schema": 0}, "schema 0 is not 1 to 4"),
        ({"schema": True}, "schema True"),
        ({"format": "else"}, '"format" is not'),
        ({"more": 1}, "there is no field 'more'"),
        ({"weights": ["0x1.0000000000000p+0"]}, "'weights' has 1 entries where 2"),
        ({"weights": ["0x1.0000000000000p+21", "0x0.0p+0"]}, r"'weights' are of size 2\^20 at most"),
        ({"weights": ["nan", "0x0.0p+0"]}, "not a hexadecimal float"),
        ({"weights": ["1.5", "0x0.0p+0"]}, "not a hexadecimal float"),  # fromhex would read 1.3125
        ({"weights": [1.5, 0.5]}, "not a hexadecimal float"),
        ({"epsilon": "0x1.0000000000000p+9999"}, "'epsilon' is not a finite number"),
        ({"epsilon": "0x1.8p+0"}, "not the shortest spelling"),
        ({"epsilon": "0x0.0p+0"}, "'epsilon' is positive"),
        ({"features": [2, 0]}, "'features' are ascending"),
        ({"features": [0, 3]}, "'features' are ascending"),
        ({"features": [0, 10**30]}, "not an integer in range"),
        ({"features": [0, True]}, "not an integer in range"),
        ({"high": ["0x1.e000000000000p+4", "0x1.0000000000000p+0"]}, "'low' is below 'high'"),
        ({"feature_names": ["a", "a", "b"]}, "'feature_names' are distinct"),
        ({"statistic": None}, "exactly one is given"),
        ({"first_stage_coef": None}, "a first stage has a coefficient"),
        ({"gain": "cubic"}, "'gain' is exponential"),
        ({"data_sha256": "abc"}, "64 hexadecimal digits"),
        ({"result": {"value": [1]}}, "flat object"),
        ({"result": {"value": 0.5}}, "flat object"),
    ],
)
def test_what_the_schema_refuses(tmp_path, changes, sentence):
    path = rewritten(model_file.to_dict(document()), tmp_path, **changes)
    with pytest.raises(InputError, match=sentence) as caught:
        model_file.read(path)
    assert str(path) in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "not JSON"),
        (b"\x80\x04\x95", "not JSON"),  # how a pickle begins
        (b"[" * 100_000, "not JSON"),
        (b'{"format": 1, "format": 2}', "twice"),
        (b'{"format": NaN}', "NaN is not a JSON number"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"[]", '"format"'),
        (b"\xff\xfe{}", "not JSON"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(tmp_path, raw, sentence):
    path = tmp_path / "model.json"
    path.write_bytes(raw)
    refuses(sentence, model_file.read, path)


def test_an_unwritable_document_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    model_file.write(path, document())
    before = path.read_bytes()
    for bad in ({"weights": np.array([0.0, np.nan])}, {"result": {"x": object()}}, {"epsilon": 0.0}):
        with pytest.raises(InputError):
            model_file.write(path, document(**bad))
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.json"]


def test_no_pickle_is_opened(tmp_path, monkeypatch):
    import pickle

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *a, **k: pytest.fail("unpickled"))
    path = tmp_path / "model.json"
    model_file.write(path, document())
    model_file.read(path)
    with pytest.raises(Exception):  # noqa: B017 - the file is no pickle, whatever the reason given
        list(pickletools.genops(path.read_bytes()))
    assert "pickle" not in set(vars(sys.modules["rerank.reranker.files.model_file"]))
