"""Nothing compiles on import; what must be compiled is compiled once, cached, announced, and in no time limit."""

import json
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numba import njit

from rerank.errors import compiling
from rerank.errors.compiling import compiling_time, uncounted, watch
from rerank.errors.kernels import at_once
from rerank.errors.stops import limited
from rerank.problem import WeightRow
from rerank.reranker.clock import Clock
from rerank.search import line_search, solve, warm
from rerank.search.domain import Domain
from rerank.search.lines.search import LineSearch
from rerank.search.rows.choice import number_of_pairs
from rerank.search.tables import tables
from tests.cases.search import noisy_problem, row_lines

SIGNATURES = """
import json, sys
from fractions import Fraction
from rerank.problem import WeightRow
from rerank.search import compile_kernels, solve
from tests.cases.search import drawn_lists, noisy_problem
compile_kernels(rules=True)
def signatures():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("rerank.search."):
            for key, f in vars(module).items():
                if hasattr(f, "signatures") and f.py_func.__module__ == name:
                    found[f"{name}.{key}"] = len(f.signatures)
    return found
before = signatures()
row = WeightRow((Fraction(1), Fraction(-1), Fraction(0)), Fraction(0), None)
for statistic in ("auc", "mrr", "dcg@5"):
    for options in ({}, {"C": 0.01}, {"max_features": 2}, {"signs": [1, -1, 0]}, {"rows": [row]}):
        solve(noisy_problem(30, 3, statistic, 0.3, 0, **options), n_jobs=2)
        solve(drawn_lists(0, 4, 8, 3, statistic, **options), n_jobs=1, time_limit=0.5)
    solve(noisy_problem(30, 3, statistic, 0.3, 0), proof=True, n_jobs=1)
    solve(noisy_problem(30, 1, statistic, 0.3, 0), n_jobs=1)
print(json.dumps([before, signatures()]))
"""


def run(script: str, *arguments: str, cache: Path | None = None) -> list:
    env = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_one_signature_serves_every_kind_of_problem() -> None:
    warm.compile_kernels(rules=True)
    before, after = run(SIGNATURES)
    assert before == after, "a solve compiled something that compile_kernels does not"
    assert after["rerank.search.boxes.kernel.explore_lists"] == after["rerank.search.lines.kernel.sweep"] == 1


def test_compiling_is_announced_on_request_and_only_when_there_is_something_to_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warm.compile_kernels()
    assert warm.is_compiled() and not warm.announce(verbose=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(warm, "is_compiled", lambda parts: False)
    assert warm.announce() and capsys.readouterr().err == ""  # captured standard error is no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert warm.announce()
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and "Compiling" in line


def test_compiling_ahead_and_the_first_solve_announce_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "is_compiled", lambda parts: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    problem = noisy_problem(30, 3, "dcg@10", 0.3, 0)
    for begin in (warm.compile_kernels, lambda: warm.ready(problem)):
        monkeypatch.setattr(warm, "_asked", set())
        before = compiling_time()
        with at_once():
            begin()
            after = compiling_time()
            warm.ready(problem)
        assert after > before and compiling_time() == after
        assert capsys.readouterr().err.count("Compiling") == 1


OLD = """
import json, os, sys
from rerank.search import warm
version = f"py{sys.version_info.major}{sys.version_info.minor}"
indices, found = [], []
for kernel in warm.entries():
    where = warm.cache_of(kernel)
    where.mkdir(parents=True, exist_ok=True)
    indices.append(where / f"{warm.name_of(kernel)}-1.{version}.nbi")
    found.append(warm.is_compiled())
    indices[-1].write_bytes(b"")
found.append(warm.is_compiled())
os.utime(indices[0], (1, 1))
print(json.dumps([found, warm.is_compiled(), [index.exists() for index in indices]]))
"""


def test_a_cache_older_than_any_kernel_s_source_is_dropped(tmp_path: Path) -> None:
    found, after, left = run(OLD, cache=tmp_path)
    assert found == [False] * (len(found) - 1) + [True]  # every kernel counts, whichever folder it is kept in
    assert not after and left == [False] + [True] * (len(left) - 1)


FRESH = """
import contextlib, functools, io, json, os, pathlib, sys
from rerank.search import compile_kernels, warm
parts = sys.argv[1:] or list(warm.PARTS)
compiled = functools.partial(warm._compiled, parts=parts) if sys.argv[1:] else compile_kernels
folders = {str(warm.cache_of(kernel)) for kernel in warm.entries(parts)}
where = os.path.commonpath([warm.cache_of(kernel) for kernel in warm.entries()])
said = io.StringIO()
with contextlib.redirect_stderr(said):
    before = warm.is_compiled(parts)
    seconds = [compiled(verbose=True), compiled(verbose=True)]
kept = {str(path.parent) for path in pathlib.Path(where).rglob("*.nbi")}
whole = folders <= kept and all(kernel.signatures for kernel in warm.entries(parts))
print(json.dumps([before, warm.is_compiled(parts), said.getvalue(), where, whole, seconds]))
"""


def test_a_fresh_cache_is_filled_once_and_where_the_announcement_says(tmp_path: Path) -> None:
    """By two parts, which two processes compile; all parts take a minute, and are those of the next test."""
    parts = "pair lines", "smooth"
    before, after, said, where, whole, seconds = run(FRESH, *parts, cache=tmp_path)
    assert (before, after, whole) == (False, True, True) and seconds[1] < seconds[0] / 4
    assert said.count("\n") == 1 and said.endswith(f" {where}.\n") and Path(where) == tmp_path
    before, after, said, _, _, seconds = run(FRESH, *parts, cache=tmp_path)
    assert (before, after, said) == (True, True, "")


def test_without_a_folder_of_its_own_the_cache_is_kept_below_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # this process may have such a folder
    run(FRESH, "pair lines")
    before, after, said, where, whole, _ = run(FRESH, "pair lines")
    assert (before, after, said, whole) == (True, True, "", True)
    assert Path(where) == Path(str(warm.__file__)).parent


READ_ONLY = """
import contextlib, io, json, sys
said = io.StringIO()
with contextlib.redirect_stderr(said):
    if sys.argv[1] == "nowhere":  # no folder beside the package or in the home can be written
        from numba.core.caching import CacheImpl
        CacheImpl._locator_classes = []
    elif sys.argv[1] == "damaged":  # an index names a module that is not there
        from numba.core.caching import IndexDataCacheFile
        def load(file):
            import pickle
            return pickle.loads(b"cno_such_module\\nx\\n.")
        IndexDataCacheFile._load_index = load
    else:  # the folder can be written when kernels are looked up, and no longer when they are kept
        from numba.core.caching import IndexDataCacheFile
        def save(*given):
            raise OSError(28, "No space left on device")
        IndexDataCacheFile.save = save
    import rerank.latent
    from rerank.search import warm
    warm._compiled(True, ["smooth"])
print(json.dumps([said.getvalue(), warm.is_compiled(["smooth"])]))
"""


@pytest.mark.parametrize("what", ["nowhere", "full", "damaged"])
def test_where_nothing_can_be_kept_a_process_compiles_for_itself_and_says_once_what_to_do(
    what: str, tmp_path: Path
) -> None:
    said, compiled = run(READ_ONLY, what, cache=tmp_path)
    assert compiled and said.count("Compiled code cannot be kept") == 1 and "set NUMBA_CACHE_DIR" in said
    assert ("No space left" in said) == (what == "full") and "None" not in said


def test_limits_and_phases_leave_out_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [time.perf_counter()]
    monkeypatch.setattr(time, "perf_counter", lambda: passed[0])
    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    clock = Clock(3.0)
    with limited(3.0) as stop, clock.phase("work"):
        passed[0] += 2
        assert "compile" not in clock.report()
        for _ in range(2):
            with uncounted(), uncounted():
                passed[0] += 8
                assert stop.left == clock.remaining == 1
            assert stop.left == clock.remaining == 1
        passed[0] += 0.5
        assert stop.left == clock.remaining == 0.5
        passed[0] += 0.75
        assert stop.now and stop.left == clock.remaining == 0
    assert clock.report() == {"work": 3.25, "compile": 16, "total": 19.25}


def test_a_kernel_of_this_package_that_is_compiled_stops_the_clock_and_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    watch()
    watch()  # a second listener would count everything twice

    def inner(x: float) -> float:
        return x + 1

    for home, ours in (("rerank.somewhere.kernels", True), ("somewhere.kernels", False)):
        inner.__module__ = home
        called = njit(inner)

        def outer(x: float) -> float:
            return called(x) * 2  # noqa: B023 - compiled below, in the same round

        outer.__module__ = home
        spent, began = compiling_time(), time.perf_counter()
        assert njit(outer)(1.0) == 4.0
        seconds = time.perf_counter() - began
        assert (0 < compiling_time() - spent <= seconds) == ours
        assert capsys.readouterr().err.count("Compiling rerank.somewhere,") == ours
        assert compiling._state.depth == 0


COLD = """
import json, sys, time
import numpy as np
from rerank import Reranker, RerankerCV
from rerank.errors import compiling
import numba.core.caching as caching

load, working, real, counted = caching.FunctionCache.load_overload, [], __builtins__.__import__, set()

def slow(*given):
    before = compiling.working_time()
    time.sleep(0.3)
    working.append(compiling.working_time() - before)
    return load(*given)

def traced(name, *rest, **more):
    before, running = set(sys.modules), compiling._state.depth == 0
    found = real(name, *rest, **more)
    if running and sys._getframe(1).f_globals.get("__name__", "").startswith(("rerank.", "formulations.")):
        counted.update({module.partition(".")[0] for module in set(sys.modules) - before})
    return found

caching.FunctionCache.load_overload = slow
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = (X[:, 0] - X[:, 1] + 2.5 * rng.normal(size=120) > 2.5).astype(int)
fits = {
    "folds": lambda: RerankerCV(
        Reranker("precision@10", solver="search"), grid={"radius": [0.1]}, cv=2, n_repeats=1, time_limit=2.5
    ).fit(X, y),
    "none": lambda: Reranker("dcg@10", solver="none", time_limit=1.5, first_stage="ranksvm").fit(X, y),
    "search": lambda: Reranker("dcg@10", solver="search", time_limit=2.5, max_features=2).fit(X, y),
}
__builtins__.__import__ = traced
told = []
for fit in fits.values():
    before = len(working)
    ends = [fit().result_ for _ in range(2)]
    told.append([[end.statistic, end.status, end.value, end.bound, end.notes] for end in ends])
    told[-1].append(len(working) - before)
print(json.dumps([told, max(working), sorted(counted - {"encodings", "rerank", "formulations"})]))
"""


def test_fits_end_the_same_whether_their_kernels_have_to_be_loaded_or_are_there() -> None:
    # The first fit of each kind loads its kernels from the cache slowly, together in more than its limit; the second
    # has them.
    warm.compile_kernels()
    told, counted, imported = run(COLD)
    for cold, again, loads in told:
        assert cold == again and loads > 0
    assert counted == 0.0 and not {"numba", "scipy", "pyomo", "highspy"} & set(imported)


BITS = """
import contextlib, gc, json, sys
import numpy as np
from rerank.errors import kernels
from rerank.scorecard import Scorecard
from rerank.scorers import RankSVM, TopPush
from rerank.search import solve
from tests.cases.search import by_rows, drawn_lists, noisy_problem, row_lines

def hexes(*numbers):
    return [float(x).hex() for part in numbers for x in np.ravel(part)]

def found():
    for statistic in ("dcg@5", "mrr"):
        for options in ({}, {"max_features": 2}, {"signs": [1, -1, 0]}):
            for problem in (noisy_problem(30, 3, statistic, 0.3, 0, **options), drawn_lists(0, 3, 8, 3, statistic)):
                end = solve(problem, n_jobs=1, node_limit=100)
                yield [*hexes(end.value, end.bound, end.weights), end.nodes]
    end = solve(noisy_problem(700, 3, "precision@20", 0.3, 0), n_jobs=1, node_limit=3)  # by rows
    yield [*hexes(end.value, end.bound, end.weights), end.nodes]
    for statistic in ("precision@7", "map", "success@4", "pauc@3"):
        for problem in (noisy_problem(90, 3, statistic, 0.3, 0), drawn_lists(0, 3, 9, 3, statistic)):
            with by_rows():
                end = solve(problem, n_jobs=1, node_limit=20)
            yield [*hexes(end.value, end.bound, end.weights), end.nodes]
            lines = row_lines(problem)
            yield hexes(*lines.line(np.ones(3), np.array([1.0, -0.5, 0.25])), lines.work)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=60) > 4).astype(int)
    for statistic in ("dcg@10", "auc"):
        card = Scorecard(statistic, n_questions=2, points=2).fit(X, y).result_
        yield hexes(card.value, card.bound)
    yield [*hexes(*(model.fit(X, y).coef_ for model in (RankSVM(alpha=0.1), TopPush(alpha=0.1))))]

ends, modules = [], []
for seconds in (1e3, 1e-5, 0.0):  # Python alone; compiled after a while; compiled
    for kernel in [one for one in gc.get_objects() if type(one) is kernels.Kernel]:
        kernel.spent, kernel._call, kernel._on_disk = 0.0, None, False
        vars(kernel).pop("seconds", None)
        if seconds == 1e-5:
            kernel._made = None
    kernels.A_BYTE = seconds
    with kernels.at_once() if not seconds else contextlib.nullcontext():
        ends.append(list(found()))
    modules.append("numba" in sys.modules)
print(json.dumps([ends, modules]))
"""


def test_a_fit_ends_with_the_same_bits_however_its_kernels_run() -> None:
    ends, numba_was_imported = run(BITS)
    assert ends[0] == ends[1] == ends[2] and numba_was_imported[1:] == [True, True]


@pytest.mark.parametrize("by_rows", [True, False])
def test_a_line_takes_no_line_of_python_for_each_pair_before_it_is_compiled(by_rows: bool) -> None:
    problem, run = noisy_problem(300, 3, "precision@30", 0.3, 0), [0]
    search = row_lines(problem) if by_rows else LineSearch(tables(problem), Domain.of(problem))
    search.line(np.ones(3), np.array([1.0, 0.5, 0.0]))  # what it imports and loads

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        run[0] += 1
        return traced if "rerank" in frame.f_code.co_filename else None

    kernels, traces = warm.entries(["row lines", "pair lines"]), sys.gettrace()
    for kernel in kernels:
        kernel._call = kernel._python
    try:
        sys.settrace(traced)
        search.line(np.ones(3), np.array([1.0, -0.5, 0.25]))
    finally:
        sys.settrace(traces)
        for kernel in kernels:
            kernel._call = None
    assert 0 < run[0] < number_of_pairs(problem)


ASKED = """
import json
from rerank.search import solve, warm
from tests.cases.search import noisy_problem
assert not warm.is_compiled()  # which asks numba of every kernel
solve(noisy_problem(30, 3, "dcg@5", 0.3, 0), n_jobs=1, node_limit=20)
solve(noisy_problem(30, 3, "auc", 0.3, 0), n_jobs=1, time_limit=0)  # whose boxes do not begin as Python
print(json.dumps([kernel.py_func.__name__ for kernel in warm.entries() if kernel.signatures]))
"""


def test_nothing_is_compiled_for_a_question_nor_for_a_search_without_time(tmp_path: Path) -> None:
    assert run(ASKED, cache=tmp_path) == []


def test_time_that_ends_before_kernels_are_loaded_ends_no_call_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(40, 3, "auc", 0.3, 0)
    monkeypatch.setattr(warm, "is_compiled", lambda parts: time.sleep(0.1))
    for call in (solve, line_search):
        monkeypatch.setattr(warm, "_asked", set())
        with at_once():  # else they begin as Python
            assert call(problem, time_limit=0.05) is not None


def test_a_small_first_fit_imports_neither_compiler_nor_modeller(tmp_path: Path) -> None:
    code = "import json, sys; import rerank\nfound = [sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules))]\n"
    code += "X, y = [[a % 5, a * a % 7] for a in range(20)], [int(a % 3 == 0) for a in range(20)]\n"
    code += "found.append(rerank.Reranker('dcg@5', first_stage=None).fit(X, y).result_.status)\n"
    code += "rerank.scorecard.Scorecard('auc', n_questions=3, points=2).fit(X, y)\n"
    code += "print(json.dumps([*found, sorted({'numba', 'pyomo', 'highspy'} & set(sys.modules))]))"
    light, status, heavy = run(code, cache=tmp_path)
    assert (light, status) == ([], "optimal") and not {"numba", "pyomo"} & set(heavy)


def test_without_a_compiler_the_kernels_run_as_python() -> None:
    """``NUMBA_DISABLE_JIT=1`` is how kernels are debugged and how their coverage is measured."""
    code = (
        "from rerank.problem import problem_of\n"
        "from rerank.search import compile_kernels, solve\n"
        "from rerank.statistics import parse\n"
        "compile_kernels()\n"
        "print(solve(problem_of([[0.0, 1.0], [1.0, 0.2], [0.4, 0.4]], [1, 2, 0], parse('dcg'))).closed)"
    )
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_search_compiles_what_it_needs_and_that_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[set[str]] = []
    monkeypatch.setattr(warm, "is_compiled", lambda parts: False)
    monkeypatch.setattr(warm, "_helper", lambda parts: None)
    monkeypatch.setattr(warm, "_compile", lambda parts: called.append(set(parts)))
    monkeypatch.setattr(warm, "_asked", set())

    def asked(*problem_and_options: Any, **options: Any) -> set[str]:
        called.clear()
        with at_once():  # else they begin as Python
            warm.ready(*problem_and_options, **options)
        return set().union(*called)

    long, short = (noisy_problem(n, 3, "dcg@10", 0.3, 0) for n in (2000, 30))
    assert asked(long) == {"row boxes", "row lines"} and asked(long) == set()
    assert asked(noisy_problem(2000, 8, "dcg@10", 0.3, 0)) == {"smooth"}  # which begins climbs of many features
    assert asked(long, proof=True) == {"pair boxes"}  # a proof is one by pairs; its lines are by rows
    assert asked(short) == {"pair lines"} and asked(long) == asked(short) == set()
    assert asked(noisy_problem(30, 3, "dcg@10", 0.3, 0, C=0.01)) == {"supports"}
    assert asked(noisy_problem(30, 3, "auc", 0.3, 0)) == {"linear boxes"}
    row = WeightRow((Fraction(1), Fraction(-1), Fraction(0)), Fraction(0), None)
    assert asked(noisy_problem(30, 3, "auc", 0.3, 0, rows=[row])) == {"linear boxes with rules"}
    warm.compile_kernels()
    assert asked(noisy_problem(30, 3, "dcg@10", 0.3, 0, rows=[row])) == {"pair boxes with rules"}
    assert asked(noisy_problem(30, 3, "auc", 0.3, 0, max_features=2)) == set()
