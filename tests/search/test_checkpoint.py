"""Checkpoints of a search: going on gives the same bits, other searches and damage are refused, a kill costs little."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from benchmarks.exact.data import correlated
from benchmarks.trust import kills
from benchmarks.trust.kills import bits, killed
from rerank.certificate import verify_proof
from rerank.errors import InputError
from rerank.io import archive
from rerank.io.archive import read_archive, write_archive
from rerank.problem import Problem, problem_of
from rerank.search import checkpoint, loop, run, solve
from rerank.search.boxes.open import OpenBoxes
from rerank.search.checkpoint import FORM
from rerank.search.lines.search import LineSearch
from rerank.search.rows import choice
from rerank.statistics import parse
from tests.cases.examples import examples
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem
from tests.oracles.comparisons import check_search


def grid() -> Problem:
    """Features with few values, so that pairs are antiparallel and boxes have sides."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(50, 5)).astype(float)
    score = X @ rng.normal(size=5) + 2 * rng.normal(size=50)
    return problem_of(X, (score > np.quantile(score, 0.6)).astype(float), parse("auc"), C=0.002, max_features=4)


def corrected() -> Problem:
    """A given score in the first column, and corrections of it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    score = X[:, 0] + 0.6 * X[:, 1:] @ rng.normal(size=4) + rng.normal(size=60)
    ends = np.array([1.0, -1.0, -1.0, -1.0, -1.0]), np.ones(5)
    return problem_of(
        X,
        (score > np.quantile(score, 0.65)).astype(float),
        parse("mrr"),
        low=np.zeros(5),
        high=X.std(axis=0),
        limits=ends,
    )


KINDS: dict[str, tuple[Callable[[], Problem], dict[str, Any]]] = {
    "pairs": (lambda: noisy_problem(60, 5, "mrr", 0.35, 0), {}),
    "signs": (lambda: noisy_problem(60, 5, "auc", 0.35, 0, signs=[1, -1, 0, 0, 1]), {}),
    "whitened": (lambda: correlated(5, 0.97, "auc"), {}),
    "rows": (lambda: noisy_problem(1500, 4, "dcg@20", 0.1, 0), {}),
    "anchored": (corrected, {}),
    "price": (lambda: noisy_problem(60, 9, "auc", 0.35, 2, C=0.01, max_features=4), {}),
    "screened": (lambda: noisy_problem(100, 14, "mrr", 0.35, 2, max_features=3), {}),
    "sides": (grid, {"proof": True}),
    "lists": (lambda: drawn_lists(0, 30, 12, 4, "dcg@3"), {"proof": True}),
}


def answer(problem: Problem, **options: Any) -> Any:
    return solve(problem, **{"time_limit": None, "n_jobs": 1, **options})


def in_parts(problem: Problem, path: Path, step: int, **options: Any) -> tuple[Any, int]:
    """The answer of a search that stops again and again, on one worker and on two, and the number of its parts."""
    for part in range(1, 40):
        found = answer(problem, checkpoint=path, node_limit=part * step, n_jobs=1 + part % 2, **options)
        if found.closed:
            return found, part
        assert found.value <= found.bound
    raise AssertionError("it did not end")


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_in_parts_gives_the_bits_of_a_whole_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "OWN_AXES", 1e6)
    bases: list[bool] = []
    restart = OpenBoxes.restart
    monkeypatch.setattr(
        OpenBoxes, "restart", lambda self, whitened: (bases.append(whitened), restart(self, whitened))[1]
    )
    make, options = KINDS[kind]
    whole = answer(make(), **options)
    assert any(bases) == (kind == "whitened")
    found, parts = in_parts(make(), tmp_path / "c", max(whole.boxes // 6, 1), **options)
    assert parts > 2 and bits(found) == bits(whole) and found.note == ""
    if whole.proof is not None:
        assert [x.tolist() for x in found.proof.lines] == [x.tolist() for x in whole.proof.lines]
    assert os.listdir(tmp_path) == ["c"]


@examples(25, st.integers(0, 10**6), st.booleans())
def test_a_search_that_goes_on_meets_the_enumerated_optimum(tmp_path_factory, seed: int, proof: bool) -> None:
    problem, path = draw(seed, n_max=10).problem, tmp_path_factory.mktemp("c") / "c"
    solve(problem, n_jobs=1, node_limit=1, proof=proof, checkpoint=path)
    assert check_search(problem, checkpoint=path, proof=proof).failures == ()
    assert check_search(problem, checkpoint=path, proof=proof).failures == ()


def test_a_search_that_time_ends_closes_later_at_the_same_value(tmp_path: Path) -> None:
    problem, path = noisy_problem(100, 5, "mrr", 0.35, 0), tmp_path / "c"
    whole, found, parts, kept = answer(problem), None, 0, []
    while found is None or not found.closed:
        found, parts = answer(problem, checkpoint=path, time_limit=0.04 * 1.5**parts), parts + 1
        assert found.value <= whole.value + 1e-12 and whole.value <= found.bound + 1e-12
        if path.exists() and not found.closed:
            kept.append(read_archive(path, FORM)[0]["boxes"])
            assert kept[-1] == found.boxes
    assert kept == sorted(kept) and kept[-1] > 0
    # Other steps may end at another place of the same value, and add up its terms in another order.
    assert parts > 1 and found.value == pytest.approx(whole.value, rel=1e-14)
    assert found.bound == pytest.approx(whole.bound, rel=1e-14)


def test_ctrl_c_keeps_the_round_before_it(tmp_path: Path) -> None:
    problem, path = noisy_problem(60, 5, "mrr", 0.35, 0), tmp_path / "c"
    rounds = []

    def stop(now: Any) -> None:
        rounds.append(now.boxes)
        raise KeyboardInterrupt

    stopped = answer(problem, checkpoint=path, progress=stop)
    assert stopped.interrupted and read_archive(path, FORM)[0]["boxes"] == stopped.boxes == rounds[0]
    assert bits(answer(problem, checkpoint=path)) == bits(answer(problem))


@pytest.mark.parametrize("smooth", [False, True])
def test_the_first_climb_of_many_lists_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smooth: bool) -> None:
    monkeypatch.setattr(run, "lines_by_rows", lambda problem: True)
    monkeypatch.setattr(run, "FEW_LISTS", 10)
    monkeypatch.setattr(choice, "SOME_LISTS", 10 if smooth else 200)
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    problem, path = drawn_lists(0, 12, 12, 4, "dcg@3"), tmp_path / "c"
    whole = answer(problem)
    step, lines = LineSearch.step, []

    def killed_step(self: LineSearch, *given: Any) -> bool:
        if len(lines) == 7:
            raise SystemExit
        lines.append(1)
        return step(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(LineSearch, "step", killed_step)
        with pytest.raises(SystemExit):
            answer(problem, checkpoint=path)
    header, arrays = read_archive(path, FORM)
    assert not header["begun"] and header["lines"][0]["climb"] is not None and arrays["points"].size > 4
    assert header["lines"][0]["climb"]["smooth"] == smooth  # the point of the smooth climb is there
    assert bits(answer(problem, checkpoint=path)) == bits(whole)


def test_circuits_of_a_proof_are_in_the_file(tmp_path: Path) -> None:
    problem, path = noisy_problem(40, 9, "auc", 0.3, 1), tmp_path / "c"
    first = answer(problem, checkpoint=path, proof=True, node_limit=1)
    later = answer(problem, checkpoint=path, proof=True, node_limit=first.boxes + 1)
    assert not later.closed and later.boxes > first.boxes and later.bound < problem.ideal - 1e-3
    known = [vars(found.proof.circuits) for found in (first, later)]
    assert all(np.array_equal(known[0][name], known[1][name]) for name in known[0])
    assert verify_proof(problem, later.proof).ok


def test_a_closed_search_is_not_searched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, path = noisy_problem(40, 4, "auc", 0.35, 1), tmp_path / "c"
    first = answer(problem, checkpoint=path, proof=True)
    header, _ = read_archive(path, FORM)
    assert header["closed"] and first.closed

    def never(*given: Any) -> None:
        raise AssertionError("it searched")

    monkeypatch.setattr(OpenBoxes, "pick", never)
    monkeypatch.setattr(LineSearch, "line", never)
    again = answer(problem, checkpoint=path, proof=True)
    assert bits(again) == bits(first) and again.seconds >= float.fromhex(header["seconds"])


def test_a_better_start_is_taken_later(tmp_path: Path) -> None:
    problem, path = noisy_problem(60, 5, "mrr", 0.35, 0), tmp_path / "c"
    poor, good = answer(problem, checkpoint=path, node_limit=1), answer(problem)
    assert good.value > poor.value
    assert answer(problem, checkpoint=path, node_limit=1, start=good.weights).value >= good.value


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Problem, bytes]:
    """A problem, and the file of a search of it that was stopped; some of its boxes have sides."""
    problem, path = grid(), tmp_path_factory.mktemp("c") / "c"
    assert not answer(problem, checkpoint=path, node_limit=8000, proof=True).closed
    return problem, path.read_bytes()


def refused(path: Path, problem: Problem, **options: Any) -> str:
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError) as caught:
        answer(problem, checkpoint=path, **{"proof": True, **options})
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".") and path.name in message
    assert before is None or path.read_bytes() == before
    return message


def test_the_file_of_another_search_is_refused(stopped: tuple[Problem, bytes], tmp_path: Path) -> None:
    problem, body = stopped
    path = tmp_path / "search.checkpoint"
    path.write_bytes(body)
    others = (replace(problem, C=0.005), replace(problem, epsilon=1e-3), replace(problem, X=problem.X + 1.0))
    assert all("another problem" in refused(path, other) for other in others)
    assert "random_state=0, not 1" in refused(path, problem, random_state=1)
    assert "proof=True, not False" in refused(path, problem, proof=False)
    header, arrays = read_archive(path, FORM)
    write_archive(path, FORM, header | {"search": header["search"] | {"version": "0.0.1"}}, arrays)
    assert "version='0.0.1'" in refused(path, problem)


def test_paths_that_cannot_be_used_are_refused_before_the_search(tmp_path: Path) -> None:
    problem = grid()
    assert "folder" in refused(tmp_path, problem)
    assert "No such file" in refused(tmp_path / "absent" / "c", problem)
    (tmp_path / "empty").touch()
    assert "delete it to begin anew" in refused(tmp_path / "empty", problem)


def test_a_damaged_file_is_refused_or_unharmed(stopped: tuple[Problem, bytes], tmp_path: Path) -> None:
    """Beside ``tests.cases.fuzz``: what goes on gives the same bits."""
    problem, body = stopped
    path, rng, said = tmp_path / "c", np.random.default_rng(0), 0
    whole = answer(problem, proof=True)
    for size in (0, 1, 200, len(body) // 2, len(body) - 1):
        path.write_bytes(body[:size])
        refused(path, problem)
    for _ in range(30):
        damaged = bytearray(body)
        for at in rng.integers(0, len(body), size=rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        try:
            found = answer(problem, checkpoint=path, proof=True)
        except InputError as error:
            said += 1
            assert "\n" not in str(error) and path.read_bytes() == bytes(damaged)
        else:
            assert bits(found) == bits(whole)
    assert said > 20


WRONG = {
    "supports": lambda a: a + 100,
    "sizes": lambda a: a * 0,
    "sides": lambda a: a * 0 + 7,
    "grouped": lambda a: a - 50,
    "guides": lambda a: a[::-1],
    "chosen": lambda a: a + 9999,
    "halves": lambda a: -a - 1,
    "centres": lambda a: a * np.nan,
    "bounds": lambda a: a[1:],
    "weights": lambda a: a[1:],
    "points": lambda a: np.ones(3),
    "unexplored": lambda a: np.array([-2]),
    "pushed": lambda a: np.append(a, a),
    "names": lambda a: a + 2**50,
    "splits": lambda a: a + 2**60,
    "boxed": lambda a: np.ones(1, np.int32),
}


HEADERS = [{"value": "nan"}, {"next_support": 10**6}, {"lines": [1]}, {"loop": {}}, {"cap": 1}, {"search": 3}]
HEADERS += [{"job": 2**60}, {"boxes": -1}, {"pushed": 0}, {"named": 1.5}]


@pytest.mark.parametrize("change", [*WRONG, *HEADERS], ids=str)
def test_arrays_and_headers_that_do_not_fit_are_refused(
    change: str | dict[str, Any], stopped: tuple[Problem, bytes], tmp_path: Path
) -> None:
    """Compiled code would take numbers as places in its arrays."""
    problem, body = stopped
    path = tmp_path / "c"
    path.write_bytes(body)
    header, arrays = read_archive(path, FORM)
    if isinstance(change, str):
        changed = WRONG[change](arrays[change])
        assert not np.array_equal(changed, arrays[change])
        arrays = arrays | {change: changed}
    else:
        header = header | change
    write_archive(path, FORM, header, arrays)
    refused(path, problem)


def test_the_state_is_written_at_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, path = noisy_problem(60, 5, "mrr", 0.35, 0), tmp_path / "c"
    written: list[float] = []
    inner = checkpoint.write_archive
    monkeypatch.setattr(checkpoint, "write_archive", lambda *given: (written.append(1), inner(*given)))
    rounds: list[Any] = []
    answer(problem, checkpoint=path, progress=rounds.append)
    assert len(written) == 2 and len(rounds) > 3  # at the beginning and at the end: less than an interval
    path.unlink()
    written.clear()
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    answer(problem, checkpoint=path)
    assert len(written) >= len(rounds)


def test_a_write_that_fails_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, path = noisy_problem(60, 5, "mrr", 0.35, 0), tmp_path / "c"
    first = answer(problem, checkpoint=path, node_limit=1)
    body = path.read_bytes()

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(archive.zipfile.ZipFile, "writestr", full)
        found = answer(problem, checkpoint=path)
    assert found.closed and path.read_bytes() == body and os.listdir(tmp_path) == ["c"]
    assert "No space left" in found.note and first.note == ""
    monkeypatch.setattr(checkpoint, "FORM", replace(FORM, most_bytes=10**4))
    assert "splits holds" in answer(problem, checkpoint=tmp_path / "d", proof=True).note


def test_what_a_kill_must_not_do_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, path = noisy_problem(40, 4, "auc", 0.35, 1), tmp_path / "c"
    monkeypatch.setattr(kills, "searched", lambda kind, **options: answer(problem, checkpoint=path))
    found = answer(problem, checkpoint=path)
    monkeypatch.setattr(kills, "answer", lambda kind: (bits(found), 1.0))
    assert kills.judged("pairs", path, [0.0, 0.1])[0] == ()
    assert "s of work were lost" in kills.judged("pairs", path, [0.5 * i for i in range(99)])[0][0]
    (tmp_path / "other").touch()
    assert "left other" in kills.judged("pairs", path, [0.0])[0][0]
    monkeypatch.setattr(kills, "answer", lambda kind: (bits(replace(found, value=0.0)), 1.0))
    assert "without a kill" in kills.judged("pairs", path, [0.0])[0][0]
    path.write_bytes(path.read_bytes()[:1000])
    assert "not a checkpoint" in kills.judged("pairs", path, [0.0])[0][0]


def test_a_search_that_is_killed_goes_on() -> None:
    """One of ``python -m benchmarks.trust --kills``."""
    assert killed(0).failures == ()
