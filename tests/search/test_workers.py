"""Where jobs run: in order, on the pool the caller asked for, and nothing left running after an error."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import SolverError
from rerank.search.lines.search import Share
from rerank.search.workers import Workers
from tests.cases.killed import killed


def place(i: int, seconds: float = 0.0) -> tuple[int, int, str]:
    time.sleep(seconds)
    return i, os.getpid(), threading.current_thread().name


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_come_in_the_order_of_the_jobs(n_jobs: int) -> None:
    with Workers(n_jobs) as workers:
        for _ in range(2):
            found = workers.run([(place, (i, 0.01 * (5 - i))) for i in range(6)])
            assert [i for i, _, _ in found] == list(range(6))
            assert {pid for _, pid, _ in found} == {os.getpid()}
    assert not [t for t in threading.enumerate() if t.name.startswith("rerank")]


def test_two_jobs_run_side_by_side_on_threads_of_our_own() -> None:
    both = threading.Barrier(2, timeout=10)
    with Workers(2) as workers:
        workers.run([(both.wait, ()), (both.wait, ())])  # a single thread would wait for ever
        names = {name for _, _, name in workers.run([(place, (i,)) for i in range(4)])}
        assert all(name.startswith("rerank") for name in names)
        assert {name for _, _, name in workers.run([(place, (0,))], alone=True)} == {"MainThread"}


def test_the_callers_configuration_is_followed() -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2), Workers(None) as workers:
        assert os.getpid() not in {pid for _, pid, _ in workers.run([(place, (i,)) for i in range(4)])}
    with joblib.parallel_config(n_jobs=1), Workers(None) as workers:
        assert {name for _, _, name in workers.run([(place, (i,)) for i in range(3)])} == {"MainThread"}


def test_a_killed_process_of_joblib_is_one_sentence() -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2), Workers(None) as workers:
        with pytest.raises(SolverError, match="A worker process ended in the middle of its work") as caught:
            workers.run([(place, (1,)), (killed, ())])
    assert str(caught.value).count(".") == 1


def filled(table: np.ndarray, i: int) -> float:
    table[:] += i  # what is fetched may be written
    return float(table.sum())


def test_on_ray_the_first_argument_is_sent_once_and_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        """Ray's object store: arrays come out read-only."""

        stored: list[np.ndarray] = []
        fetched = 0

        def put(self, table: np.ndarray) -> Any:
            self.stored.append(table.copy())
            self.stored[-1].flags.writeable = False
            name = str(len(self.stored))
            return SimpleNamespace(hex=lambda: name)

        def get(self, reference: Any) -> np.ndarray:
            self.fetched += 1
            return self.stored[int(reference.hex()) - 1]

    store = Store()
    monkeypatch.setitem(sys.modules, "ray", store)
    with Workers(1) as workers:
        workers._sent = {}
        tables = [np.zeros(3), np.ones(3), np.full(3, 2.0)]
        for _ in range(2):
            jobs = [workers._by_reference(filled, (table, i)) for table in tables for i in (1, 2)]
            found = [function(*given) for function, given in jobs]
            assert len(store.stored) == 3
    # Two objects stay in a process: for the third the others go, and are fetched anew when they come again.
    assert found[:2] == [3.0, 9.0] and store.fetched == 6
    assert not workers._sent


def fail(i: int) -> None:
    raise ValueError(f"job {i}")


def test_an_error_reaches_the_caller_and_the_rest_is_not_begun() -> None:
    begun: list[int] = []

    def late(i: int) -> None:
        begun.append(i)
        time.sleep(0.05)

    with pytest.raises(ValueError, match="job 0"), Workers(2) as workers:
        workers.run([(fail, (0,)), *[(late, (i,)) for i in range(40)]])
    assert len(begun) < 10


@settings(max_examples=60, deadline=None)
@given(st.floats(1 / 15, 4), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_lines_get_more_work_where_they_bring_more(
    share: float, by_lines: float, by_boxes: float, blind: bool
) -> None:
    found = Share(share, 1e6, by_lines, by_boxes)
    found.judge(2e6, 1e5, blind)
    assert found == Share(share, 1e6, by_lines, by_boxes)  # too early
    found.judge(2.2e6, 1e5, blind)
    assert 1 / 15 <= found.now <= 4 and 0.5 <= found.now / share <= 2 and found.judged == 2.2e6
    if by_lines > share * by_boxes:
        assert found.now == min(2 * share, 4)
    elif by_boxes > 0:
        assert found.now == max(share / 2, 1 / 15)
    else:
        assert found.now == (min(2 * share, 4) if blind else share)
