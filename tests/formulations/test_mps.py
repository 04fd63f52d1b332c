"""Portable .mps files: written the same way every time, read back bit by bit, refused with the line when malformed."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from formulations import mps, mps_parser
from formulations.compile import Program
from formulations.errors import FileFormatError, FormulationError
from formulations.files import file_bytes
from formulations.mps_parser import parse
from tests.cases.examples import examples
from tests.cases.hand_programs import INF, every_bound, program

GOLDEN = """NAME golden FREE
ROWS
 N COST
 L r0
 E r1
 G s0
COLUMNS
 w0 COST -2.0
 w0 r0 1.0
 w0 s0 1.0
 M0 'MARKER' 'INTORG'
 z0_1 COST 0.30000000000000004
 z0_1 r0 0.3333333333333333
 z0_1 r1 -1e-07
 z0_1 s0 0.3333333333333333
 M1 'MARKER' 'INTEND'
 x2 COST 0.0
RHS
 RHS r0 1.5
 RHS s0 -2.0
BOUNDS
 LO BND w0 -1.0
 UP BND w0 1.0
 LO BND z0_1 0.0
 UP BND z0_1 1.0
ENDATA
"""


def golden():
    cost, matrix = [2.0, -(0.1 + 0.2), 0.0], [[1.0, 1 / 3, 0.0], [0.0, -1e-7, 0.0]]
    sides = [-2.0, 0.0], [1.5, 0.0], [-1.0, 0.0, 0.0], [1.0, 1.0, INF]
    columns = ("w0", "z0_1", "x2")
    return program("golden", cost, matrix, *sides, [0, 1, 0], constant=0.7, columns=columns, weights=[0])


def assert_same(a: Program, b: Program):
    assert (a.name, a.columns, a.rows, a.constant) == (b.name, b.columns, b.rows, b.constant)
    for field in ("cost", "row_lower", "row_upper", "lower", "upper", "integer", "weights"):
        one, two = getattr(a, field), getattr(b, field)
        assert one.dtype == two.dtype and np.array_equal(one, two), field
    assert np.array_equal(a.matrix.toarray(), b.matrix.toarray())


FINITE = st.floats(-1e18, 1e18, allow_nan=False).map(lambda v: v + 0.0)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,15}", fullmatch=True),
    st.sampled_from(["RHS", "Cost", "marker", "3x", "with blank", "é", "a" * 40, "x0", "r0", "s0", "M0", "COST"]),
)


@st.composite
def programs(draw, entry=FINITE):
    n, m = draw(st.integers(1, 5)), draw(st.integers(0, 4))

    def sides(count, free):
        low, high = [], []
        for _ in range(count):
            a, b = sorted(draw(st.tuples(FINITE, FINITE)))
            kind = draw(st.sampled_from("elgbf" if free else "elgb"))
            low.append({"e": a, "l": -INF, "g": a, "b": a, "f": -INF}[kind])
            high.append({"e": a, "l": b, "g": INF, "b": b, "f": INF}[kind])
        return np.array(low, dtype=float), np.array(high, dtype=float)

    row_lower, row_upper = sides(m, free=False)
    lower, upper = sides(n, free=True)
    entries = draw(st.lists(st.one_of(st.just(0.0), entry), min_size=m * n, max_size=m * n))
    return Program(
        name=draw(NAMES),
        cost=np.array(draw(st.lists(FINITE, min_size=n, max_size=n))),
        constant=draw(FINITE),
        matrix=sparse.csr_array(np.array(entries, dtype=float).reshape(m, n)),
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
        integer=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
        columns=tuple(draw(st.lists(NAMES, min_size=n, max_size=n, unique=True))),
        rows=tuple(draw(st.lists(NAMES, min_size=m, max_size=m, unique=True))),
        weights=np.array(draw(st.permutations(range(n)))[: draw(st.integers(0, n))], dtype=np.intp),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mps")


@examples(60, made=programs())
def test_what_is_written_is_read_back_bit_by_bit(folder, made):
    path, beside = mps.write(made, folder / "p.mps", {"note": "é"})
    assert_same(made, mps.read(path))
    assert mps.read_sidecar(path)["data"] == {"note": "é"}
    before = path.read_bytes(), beside.read_bytes()
    mps.write(mps.read(path), folder / "p.mps", {"note": "é"})
    assert (path.read_bytes(), beside.read_bytes()) == before


def test_the_bytes_are_pinned(tmp_path):
    path, beside = mps.write(golden(), tmp_path / "g.mps", {"b": 1, "a": [1.5]})
    assert path.read_text() == GOLDEN
    card = json.loads(beside.read_text())
    assert {key: card[key] for key in ("sense", "offset", "weights", "split_rows", "data")} == {
        "sense": "max",
        "offset": 0.7,
        "weights": ["w0"],
        "split_rows": {"r0": "s0"},
        "data": {"a": [1.5], "b": 1},
    }
    assert_same(golden(), mps.read(path))


def test_without_its_sidecar_a_file_is_what_other_solvers_see(tmp_path):
    path, beside = mps.write(golden(), tmp_path / "g.mps")
    beside.unlink()
    alone = mps.read(path)
    assert alone.constant == 0.0 and alone.weights.size == 0 and alone.rows == ("r0", "r1", "s0")
    assert np.array_equal(alone.cost, golden().cost)
    with pytest.raises(FileFormatError, match="existing file"):
        mps.read(path, sidecar=True)


# HiGHS refuses entries from 1e15 on.
@examples(40, made=programs(entry=st.floats(-1e12, 1e12)))
def test_highs_reads_the_same_arrays(folder, made):
    highspy = pytest.importorskip("highspy", reason="pip install highspy")
    path, _ = mps.write(made, folder / "h.mps")
    alone = mps.read(path, sidecar=False)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert "kError" not in str(highs.readModel(str(path)))
    lp = highs.getLp()
    assert [lp.col_names_[j] for j in range(lp.num_col_)] == list(alone.columns)
    for ours, theirs in (
        (-alone.cost, lp.col_cost_),
        (alone.lower, lp.col_lower_),
        (alone.upper, lp.col_upper_),
        (alone.row_lower, lp.row_lower_),
        (alone.row_upper, lp.row_upper_),
    ):
        assert np.array_equal(ours, np.array(theirs))
    integer = [str(kind) for kind in lp.integrality_] or ["kContinuous"] * lp.num_col_
    assert [kind.endswith("kInteger") for kind in integer] == alone.integer.tolist()
    # HiGHS drops entries up to 1e-9.
    table = sparse.csc_array((lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_), shape=alone.matrix.shape)
    large = alone.matrix.toarray()
    large[np.abs(large) <= 1e-9] = 0.0
    assert np.array_equal(table.toarray(), large)


def change(made, **fields):
    return Program(**{**vars(made), **fields})


REFUSED = [
    (dict(cost=np.array([1.0, np.nan, 0.0])), "not finite"),
    (dict(constant=INF), "not finite"),
    (dict(matrix=sparse.csr_array(np.array([[INF, 0, 0], [0, 0, 0.0]]))), "not finite"),
    (dict(lower=np.array([2.0, 0.0, 0.0])), "bounds 2.0 and 1.0 of the column 'w0'"),
    (dict(upper=np.array([1.0, 1.0, np.nan])), "Nothing satisfies"),
    (dict(columns=("a", "a", "b")), "same name"),
    (dict(rows=("a", "a")), "same name"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_what_no_file_can_hold_is_refused_and_nothing_is_written(tmp_path, fields, words):
    with pytest.raises(FormulationError, match=words):
        mps.write(change(golden(), **fields), tmp_path / "bad.mps")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [{"a": object()}, {"a": float("nan")}, {1: 2, "a": {3, 4}}])
def test_data_json_cannot_hold_leaves_the_old_files(tmp_path, data):
    paths = mps.write(golden(), tmp_path / "m.mps")
    before = [path.read_bytes() for path in paths]
    with pytest.raises(FormulationError, match="JSON"):
        mps.write(every_bound(), tmp_path / "m.mps", data)
    assert [path.read_bytes() for path in paths] == before and len(list(tmp_path.iterdir())) == 2


def test_a_file_and_a_sidecar_that_do_not_belong_together(tmp_path):
    path, beside = mps.write(golden(), tmp_path / "m.mps")
    path.write_text(path.read_text().replace("1.5", "1.25"))
    with pytest.raises(FileFormatError, match="not the file that m.json was written with"):
        mps.read(path)
    assert mps.read(path, sidecar=False).row_upper[0] == 1.25


@pytest.mark.parametrize("text", [b"{", b"[" + b"[]," * 2**23, b"9" * 10_000, b"[" * 10**6])
def test_a_sidecar_that_is_no_json_is_read_within_limits(tmp_path, text):
    path, beside = mps.write(golden(), tmp_path / "m.mps")
    beside.write_bytes(text)
    for read in (mps.read, mps.read_sidecar):
        with pytest.raises(FileFormatError, match="no JSON"):
            read(path)


# What is changed in GOLDEN, the line that is blamed, and a word of the reason.
MALFORMED = [
    ("ENDATA\n", "", 25, "ENDATA"),
    ("ENDATA\n", "ENDATA\n junk\n", 27, "follows ENDATA"),
    ("ROWS\n", "", 2, "before the first section"),
    (" N COST\n", "", 7, "not declared"),
    (" L r0\n", " X r0\n", 4, "one of N, L, G, E"),
    (" E r1\n", " E r0\n", 5, "stands twice"),
    (" w0 r0 1.0\n", " w0 r9 1.0\n", 9, "'r9' is not declared"),
    (" w0 r0 1.0\n", " w0 r0 1.0 r1\n", 9, "one or two pairs"),
    (" w0 r0 1.0\n", " w0 r0 one\n", 9, "'one' is no number"),
    (" w0 r0 1.0\n", " w0 r0 1_0\n", 9, "no number"),
    (" w0 r0 1.0\n", " w0 r0 nan\n", 9, "no number"),
    (" w0 r0 1.0\n", " w0 r0 1e999\n", 9, "too large"),
    (" w0 r0 1.0\n", " w0 r0 1.0 r0 2.0\n", 9, "two entries"),
    (" x2 COST 0.0\n", " w0 COST 0.0\n", 17, "comes back"),
    (" M1 'MARKER' 'INTEND'\n", "", 25, "never closed"),
    (" M1 'MARKER' 'INTEND'\n", " M1 'MARKER' 'INTORG'\n", 16, "opens a second time"),
    (" RHS r0 1.5\n", " RHS r9 1.5\n", 19, "'r9' is not declared"),
    (" RHS r0 1.5\n", " RHS r0 1.5 r0 1.5\n", 19, "two right-hand sides"),
    (" UP BND z0_1 1.0\n", "", 24, "no upper bound"),
    (" LO BND w0 -1.0\n UP BND w0 1.0\n", " UP BND w0 -1.0\n", 22, "no lower bound"),
    (" LO BND w0 -1.0\n", " LO BND w0 7.0\n", 23, "nothing satisfies"),
    (" LO BND w0 -1.0\n", " LO BND w0 -1.0\n LO BND w0 -1.0\n", 23, "a bound twice"),
    (" LO BND w0 -1.0\n", " SC BND w0 -1.0\n", 22, "'SC' is unknown"),
    (" LO BND w0 -1.0\n", " LO BND w7 -1.0\n", 22, "'w7' is not declared"),
    (" LO BND w0 -1.0\n", " LO w0\n", 22, "a bound is"),
    ("BOUNDS\n", "QUADOBJ\n", 21, "not part of a linear program"),
    ("BOUNDS\n", "ROWS\n", 21, "second section"),
    ("COLUMNS\n", "BOUNDS\n", 7, "before COLUMNS"),
    ("RHS\n", "RHS r0 1.5\n", 18, "words follow"),
    ("ROWS\n", "OBJSENSE\n UP\nROWS\n", 3, "MAX or MIN"),
    (" w0 r0 1.0\n", " w0 r0 1.0\x00\n", 9, "control character"),
    (" w0 r0 1.0\n", " wé r0 1.0\n", 9, "not ASCII"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), MALFORMED)
def test_a_malformed_file_is_refused_with_its_line(old, new, line, words):
    assert GOLDEN.count(old) >= 1
    text = GOLDEN.replace(old, new, 1)
    with pytest.raises(FileFormatError, match=f"bad.mps, line {line}: .*{words}"):
        parse(text.encode("utf-8"), "bad.mps")


def test_foreign_dialects_are_understood_or_refused():
    text = """* comment
NAME          foreign
OBJSENSE
    MAX
ROWS
 N  obj
 N  other
 L  c1
 G  c2
 E  c3
COLUMNS
    x  obj  1.5  c1  1
    x  other  3  c2  1
    y  obj  -2  c3  1D0
RHS
    obj  -4
    B  c1  10   c2  1
RANGES
    R  c1  4  c2  2.5
    R  c3  -3
BOUNDS
 BV B  y
 MI B  x
 UP B  x  1e30
ENDATA
"""
    made = parse(text.encode(), "f.mps")
    assert made.cost.tolist() == [1.5, -2.0] and made.constant == 4.0
    assert made.row_lower.tolist() == [6.0, 1.0, -3.0] and made.row_upper.tolist() == [10.0, 3.5, 0.0]
    assert (made.lower.tolist(), made.upper.tolist()) == ([-INF, 0.0], [INF, 1.0])
    assert made.integer.tolist() == [False, True]
    assert parse(text.replace("    MAX\n", "    MIN\n").encode(), "f.mps").cost.tolist() == [-1.5, 2.0]
    assert parse(text.replace("OBJSENSE\n    MAX", "OBJSENSE MAX").encode(), "f.mps").constant == 4.0


@pytest.mark.parametrize("name", ["MARKER", "marker", "RHS", "BOUNDS", "M0"])
def test_a_row_may_have_a_word_of_the_format_as_its_name(tmp_path, name):
    made = parse(GOLDEN.replace("r0", name).encode(), "own")
    assert_same(made, replace(parse(GOLDEN.encode(), "own"), rows=(name, "r1", "s0")))
    mps.write(made, tmp_path / "p.mps")
    assert_same(mps.read(tmp_path / "p.mps"), made)


def test_the_size_is_looked_at_before_the_file_is_read(tmp_path):
    path = tmp_path / "large.mps"
    with open(path, "wb") as stream:
        stream.truncate(2**41)
    with pytest.raises(FileFormatError, match=r"large.mps has \d+ bytes"):
        mps.read(path)
    with pytest.raises(FileFormatError, match="at most 3"):
        (tmp_path / "four").write_bytes(b"1234")
        file_bytes(tmp_path / "four", largest=3)


@pytest.mark.parametrize("special", ["/dev/zero", "/dev/null", "pipe", "folder"])
def test_only_regular_files_are_read_and_written(tmp_path, monkeypatch, special):
    """``/dev/zero`` was read for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("folder").mkdir()
    mode = os.lstat(special).st_mode
    with pytest.raises(FileFormatError, match="cannot be read: it is no regular file"):
        file_bytes(special)
    with pytest.raises(FileFormatError, match="NUL"):
        file_bytes("a\0b")
    Path("link.mps").symlink_to(special)
    with pytest.raises(FormulationError, match="give the name of a file"):
        mps.write(golden(), "link.mps")
    assert os.lstat(special).st_mode == mode and sorted(os.listdir()) == ["folder", "link.mps", "pipe"]


def test_links_stay_and_modes_are_kept(tmp_path):
    real, link = tmp_path / "real.mps", tmp_path / "link.mps"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    mps.write(golden(), link)
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o600
    assert mps.read(link).columns == golden().columns
    assert sorted(os.listdir(tmp_path)) == ["link.json", "link.mps", "real.mps"]


@pytest.mark.parametrize("failing", [".mps", ".json"])
def test_both_files_or_none_and_what_was_replaced_comes_back(tmp_path, monkeypatch, failing):
    path, beside = mps.write(golden(), tmp_path / "m.mps")
    before = path.read_bytes(), beside.read_bytes()
    real = os.replace

    def fail(source, target):
        if str(target).endswith(failing) and not str(source).endswith(failing):
            raise OSError(28, "No space left on device")
        real(source, target)

    for name in ("m.mps", "new.mps"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(FormulationError, match="No space left"):
                mps.write(golden(), tmp_path / name, {"other": 1})
        assert (path.read_bytes(), beside.read_bytes()) == before
        assert sorted(os.listdir(tmp_path)) == ["m.json", "m.mps"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 99}, "schema 99"),
        ({"schema": True}, None),
        ({"offset": True}, "'offset'"),
        ({"offset": 10**400}, None),
        ({"offset": 1e308}, None),
        ({"weights": [[1]]}, None),
        ({"weights": [None]}, None),
        ({"split_rows": {"r": []}}, None),
        ({"split_rows": {"nowhere": "r"}}, None),
        ({"renamed_rows": {"r": {"a": 1}}}, None),
        ({"renamed_columns": {"x": 1}}, None),
        ({"renamed_columns": {"no": "y"}}, None),
        ({"renamed_columns": {"w0": "x2"}}, "export both again"),  # two columns never get one name
    ],
)
def test_sidecars_that_say_nonsense(tmp_path, change, words):
    path, beside = mps.write(golden(), tmp_path / "m.mps")
    beside.write_text(json.dumps(json.loads(beside.read_text()) | change))
    with pytest.raises(FileFormatError, match=words):
        mps.read(path)


def test_names_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(mps_parser, "MOST_NAMES", 3)
    path, _ = mps.write(golden(), tmp_path / "m.mps")
    with pytest.raises(FileFormatError, match="more than 3 rows and columns"):
        mps.read(path)
