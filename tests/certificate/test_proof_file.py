"""Proof files: round trips to the last bit, and one sentence for what is cut short, altered or lies about its size."""

import io
import json
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.certificate import load_proof, proof_file, save_proof, verify_proof
from rerank.certificate.proof_file import FORM
from rerank.errors import InputError
from rerank.io import archive as archive_module
from rerank.io.archive import HEADER
from rerank.problem import Proof, problem_of
from rerank.problem.proof import COORDINATE, LEAF, LINE
from rerank.statistics import parse
from tests.cases.examples import examples
from tests.cases.instances import draw
from tests.cases.proofs import proof_with, random_tree


def problem():
    return problem_of([[0, 0.5], [0.2, 1], [1, 0], [0.7, 0.1]], [1, 0, 1, 0], parse("auc"), C=0.01)


def example() -> Proof:
    """Three supports, one with a line; every part of the format is in use."""
    codes = [LEAF] * 4 + [LINE + 1, LEAF, COORDINATE + 1, LEAF, LEAF] + [LEAF] * 3
    lines = [np.empty((0, 2)), np.empty((0, 2)), np.array([[0, 1]])]
    return proof_with(problem(), 1.0, codes, lines)


def same(a: Proof, b: Proof) -> bool:
    def parts(value):
        return value if isinstance(value, tuple) else (value,)

    return all(
        len(parts(getattr(a, f.name))) == len(parts(getattr(b, f.name)))
        and all(
            np.array_equal(x, y) and getattr(x, "dtype", None) == getattr(y, "dtype", None)
            for x, y in zip(parts(getattr(a, f.name)), parts(getattr(b, f.name)))
        )
        for f in fields(Proof)
    )


@pytest.fixture
def path(tmp_path) -> Path:
    target = tmp_path / "proof.npz"
    save_proof(example(), target)
    return target


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_proof(path)
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".") and path.name in message
    return message


def rewritten(path: Path, **bodies: bytes) -> None:
    """The archive with some members replaced (`header` for the header), added or, if empty, left out."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= {HEADER if name == "header" else f"{name}.npy": body for name, body in bodies.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in content.items():
            if body:
                archive.writestr(name, body)


def as_npy(array: np.ndarray) -> bytes:
    body = io.BytesIO()
    np.save(body, array)
    return body.getvalue()


def header(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(HEADER))


def test_a_proof_comes_back_as_it_was(path):
    assert verify_proof(problem(), example()).ok
    assert same(load_proof(path), example())
    assert verify_proof(problem(), load_proof(path)).ok


@examples(25, st.integers(0, 10**6))
def test_round_trips(tmp_path_factory, seed):
    p = draw(seed).problem
    proof = random_tree(p, float(np.random.default_rng(seed).normal()), np.random.default_rng(seed), lines=2)
    folder = tmp_path_factory.mktemp("proofs")
    save_proof(proof, folder / "a")
    save_proof(proof, folder / "b")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert same(load_proof(folder / "a"), proof)


def test_numpy_alone_reads_it(path):
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["codes"].tolist() == example().codes.tolist()
        assert json.loads(arrays[HEADER])["bound"] == (1.0).hex()


def test_files_are_small(tmp_path):
    """A tree of 100,000 leaves takes less than half a byte a code."""
    rng = np.random.default_rng(0)
    codes = np.where(rng.random(200_001) < 0.5, LEAF, COORDINATE + rng.integers(0, 2, size=200_001))
    save_proof(proof_with(problem(), 1.0, codes.tolist()), tmp_path / "large")
    assert (tmp_path / "large").stat().st_size < 60_000


OTHERS = (b"PK", b"{}", b"not a proof at all", b"\x93NUMPY", b"PK\x05\x06" + bytes(18))


@pytest.mark.parametrize("body", [0, 1, 20, 200, -200, -40, -1, *OTHERS])
def test_files_that_are_cut_short_and_other_files(path, body):
    path.write_bytes(path.read_bytes()[:body] if isinstance(body, int) else body)
    refused(path)


def test_bytes_changed_at_random(path):
    """Any damage is either said in one sentence or without effect."""
    body = path.read_bytes()
    proof = example()
    rng = np.random.default_rng(2)
    said = 0
    for _ in range(600):
        damaged = bytearray(body)
        for at in rng.integers(0, len(body), size=rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        try:
            loaded = load_proof(path)
        except InputError as error:
            said += 1
            assert "\n" not in str(error)
        else:
            assert same(loaded, proof)
    assert said > 400


def test_missing_files_and_folders(tmp_path):
    refused(tmp_path / "absent.npz")
    refused(tmp_path)
    with pytest.raises(InputError):
        save_proof(example(), tmp_path / "absent" / "proof.npz")
    assert list(tmp_path.iterdir()) == []


HEADERS = [{"format": "other"}, {"version": 2}, {"value": "one"}, {"bound": None}, {"left_out": "3"}]
HEADERS += [{"left_out": True}, {"fingerprint": 7}, {"lengths": {}}, {"lengths": [1, 2]}]
HEADERS += [{"lengths": dict.fromkeys(FORM.kinds, length)} for length in (-1, 10**18, 1.5)]


@pytest.mark.parametrize("change", HEADERS)
def test_headers_that_are_wrong(path, change):
    rewritten(path, header=json.dumps(header(path) | change).encode())
    refused(path)


def with_head(head: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(24)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        *(("header", body) for body in (b"[]", b"{", b"\xff\xfe", b"[" * 60_000, b'{"a":' * 10_000, b" " * 70_000)),
        ("codes", as_npy(np.zeros(12, np.int64))),
        ("codes", as_npy(np.zeros(11, np.uint16))),
        ("codes", as_npy(np.zeros((2, 6), np.uint16))),
        ("codes", as_npy(np.zeros(12, ">u2"))),
        ("codes", as_npy(np.array([0] * 11 + ["0"], dtype=object))),
        ("supports", as_npy(np.array([0, 1, 0, 1], np.float64))),
        ("support_sizes", as_npy(np.array([1, 1, 3], np.int32))),
        ("support_sizes", as_npy(np.array([-1, 1, 4], np.int32))),
        ("line_counts", as_npy(np.array([0, 1, 1], np.int32))),
        ("lines", b""),  # a member that is missing, and one too many
        ("more", as_npy(np.zeros(1))),
        # A parser of Python once raised ``tokenize.TokenError`` on the header of an array.
        ("codes", with_head(b"{'descr': '<u2', 'fortran_order': False, 'shape': (12,")),
        ("codes", with_head(b"{'descr': '<u2', 'fortran_order': False, 'shape': (12,), \n\t  \x00}")),
        ("codes", with_head(b"'''")),
        ("codes", with_head(b"(" * 200)),
        ("codes", with_head(b"{'descr': '<u2', 'fortran_order': False, 'shape': (12L,), }\n")),
        ("codes", with_head(b"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,), }\n")),
    ],
)
def test_members_that_cannot_be_used(path, name, body):
    rewritten(path, **{name: body})
    refused(path)


def test_members_that_stand_twice(path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("codes.npy", as_npy(np.zeros(12, np.uint16)))
    refused(path)


def test_what_unpacks_to_more_than_stated_is_not_unpacked(path):
    """20 MB of zeros in 20 kB: the length in the header is compared before anything is read."""
    rewritten(path, codes=as_npy(np.zeros(10_000_000, np.uint16)))
    assert path.stat().st_size < 40_000
    assert "longer than it may be" in refused(path)
    # Nor does it help to state that length: the entry has to have it.
    stated = header(path)
    stated["lengths"]["codes"] = 10**9
    rewritten(path, codes=as_npy(np.zeros(12, np.uint16)), header=json.dumps(stated).encode())
    refused(path)


def test_nothing_is_ever_unpickled(path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the file ran code",))

    trap = np.empty(12, dtype=object)
    trap[:] = [Trap() for _ in range(12)]
    body = io.BytesIO()
    np.lib.format.write_array(body, trap, allow_pickle=True)
    rewritten(path, codes=body.getvalue())
    refused(path)


def test_arrays_are_bounded_together(path):
    """Half a megabyte once took 1.57 GB: every array was bounded, and their sum was not."""
    stated = header(path)
    stated["lengths"] = dict.fromkeys(FORM.kinds, 4_900_000)
    rewritten(path, header=json.dumps(stated).encode())
    assert "at most" in refused(path)


def test_a_proof_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(proof_file, "FORM", replace(FORM, most_bytes=60))
    with pytest.raises(InputError, match="at most 60"):
        save_proof(example(), tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_the_list_of_members_is_bounded(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(1000):
            archive.writestr(f"{number}.npy", b"")
    assert "list of members" in refused(path)


@pytest.mark.parametrize("special", ["/dev/zero", "/dev/null"])
def test_devices_are_not_read(special):
    with pytest.raises(InputError, match="regular file"):
        load_proof(special)


@pytest.mark.parametrize("name", ["MOST_BYTES", "MOST_SUPPORTS", "MOST_DIRECTORY", "MOST_HEADER"])
def test_each_limit_is_the_last_that_is_read(path, monkeypatch, name):
    body = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        size = {
            "MOST_BYTES": sum(
                length * np.dtype(FORM.kinds[array]).itemsize for array, length in header(path)["lengths"].items()
            ),
            "MOST_SUPPORTS": len(example().supports),
            "MOST_DIRECTORY": int.from_bytes(body[-10:-6], "little"),
            "MOST_HEADER": archive.getinfo(HEADER).file_size,
        }[name]
    set_limit(monkeypatch, name, size)
    assert same(load_proof(path), example())
    set_limit(monkeypatch, name, size - 1)
    refused(path)


def set_limit(monkeypatch, name, size):
    if name == "MOST_BYTES":
        monkeypatch.setattr(proof_file, "FORM", replace(FORM, most_bytes=size))
    else:
        monkeypatch.setattr(proof_file if name == "MOST_SUPPORTS" else archive_module, name, size)


def test_more_lines_than_supports_may_be_are_refused_too(path, monkeypatch):
    """Each support has its number of lines, so that both lists are as long."""
    monkeypatch.setattr(proof_file, "MOST_SUPPORTS", 3)
    stated = header(path)
    stated["lengths"]["line_counts"] = 4
    rewritten(path, header=json.dumps(stated).encode(), line_counts=as_npy(np.zeros(4, "<i4")))
    assert "more than 3 supports" in refused(path)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError(), "it is damaged"),
        (MemoryError(), "does not fit into memory"),
        (ValueError("x" * 300), f"({'x' * 100});"),
        (EOFError(), "(EOFError);"),
    ],
)
def test_what_goes_wrong_on_the_way_is_one_sentence(path, monkeypatch, error, sentence):
    def failing(raw):
        raise error

    monkeypatch.setattr(archive_module, "parsed_json", failing)
    assert sentence in refused(path)


def test_an_entry_as_long_as_its_array_may_be_is_read_and_a_longer_one_is_not(path):
    """The header of an array takes at most 1,024 bytes beside its numbers."""
    kind, numbers = FORM.kinds["codes"], example().codes
    plain = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({numbers.size},), }}"
    for extra, read in ((0, True), (1, False)):
        head = plain.ljust(1024 - 10 - 1 + extra) + "\n"
        body = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + numbers.tobytes()
        rewritten(path, codes=body)
        if read:
            assert same(load_proof(path), example())
        else:
            assert "longer than it may be" in refused(path)
