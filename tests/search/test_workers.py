"""Where jobs run: in order, on the pool the caller asked for, and nothing left running after an error."""

from __future__ import annotations

import os
import threading
import time

import joblib
import pytest

from rerank.search.workers import Workers


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
