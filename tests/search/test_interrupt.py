"""Ctrl-C at any moment: what was found comes back, or KeyboardInterrupt is raised, and the process lives."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from benchmarks.trust.interrupts import KINDS, interrupted, judged
from rerank.errors.stops import Stop, current, limited, protected
from rerank.search import line_search, solve
from tests.cases.search import noisy_problem


@pytest.mark.parametrize("seed", range(len(KINDS)), ids=lambda seed: KINDS[seed])
def test_a_signal_at_a_random_moment_ends_a_fit_and_not_the_process(seed: int) -> None:
    assert interrupted(seed).failures == ()


RUNNING = """
import os, signal, threading
from rerank.search import compile_kernels, solve
from tests.cases.search import noisy_problem
compile_kernels()
problem = noisy_problem(300, 6, "auc", 0.35, 0)  # no search closes it before the signal
for i in range(8):
    timer = threading.Timer(0.06 * i, os.kill, (os.getpid(), signal.SIGINT))
    # From the first round on: before it there is nothing to come back with, and KeyboardInterrupt is the answer.
    found = solve(problem, time_limit=60.0, progress=lambda now: timer.ident or timer.start())
    assert found.interrupted and found.seconds < 30 and found.value <= found.bound, found
print("ended")
"""


def test_a_search_of_one_worker_lives_through_many_signals() -> None:
    done = subprocess.run([sys.executable, "-c", RUNNING], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and done.stdout == "ended\n", done.stderr[-2000:]


def test_a_process_that_died_or_raised_something_else_is_found() -> None:
    for code, said in (
        (-signal.SIGSEGV, ""),
        (0, "SystemError: exception set"),
        (1, "ended"),
        (-2, "Traceback"),
    ):
        assert judged("search", code, f"begins\n{said}\n", False)[0]
    assert judged("command", 3, "Fitting\n", False)[0] and not judged("command", 3, "Fitting\n", True)[0]


def test_the_kernels_of_a_search_run_beside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from rerank.search.boxes.open import OpenBoxes
    from rerank.search.lines.search import LineSearch

    seen = set()
    for place, name in ((OpenBoxes, "pick"), (LineSearch, "line")):
        inner = getattr(place, name)

        def noted(*args: object, _inner=inner, _name=name) -> object:
            seen.add((_name, threading.current_thread() is threading.main_thread()))
            return _inner(*args)

        monkeypatch.setattr(place, name, noted)
    solve(noisy_problem(40, 4, "auc", 0.35, 0), n_jobs=1)
    line_search(noisy_problem(40, 4, "auc", 0.35, 0), time_limit=0.1)
    assert seen == {("pick", False), ("line", False)}


def test_progress_is_called_in_the_thread_of_the_caller() -> None:
    seen = []
    solve(
        noisy_problem(60, 5, "auc", 0.35, 0),
        time_limit=2.0,
        progress=lambda now: seen.append(threading.current_thread()),
    )
    assert seen and set(seen) == {threading.main_thread()}


def test_ctrl_c_asks_the_call_to_stop_and_returns_what_it_found() -> None:
    def work() -> int:
        _thread.interrupt_main()
        while not current().now:
            time.sleep(0.001)
        return 7

    assert protected(work) == (7, True)
    assert protected(lambda: 8) == (8, False)


def test_a_second_ctrl_c_does_not_wait() -> None:
    free = threading.Event()

    def work() -> None:
        _thread.interrupt_main()
        current().asked.wait(10)
        _thread.interrupt_main()
        free.wait(10)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        protected(work)
    assert time.monotonic() - began < 5
    free.set()


def test_errors_of_a_call_are_raised_and_other_threads_call_directly() -> None:
    def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        protected(fail)
    found = []
    thread = threading.Thread(target=lambda: found.append(protected(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [(thread, False)]


def test_limits_nest_and_reach_protected_calls() -> None:
    assert current().left == np.inf
    with limited(50.0), limited(100.0) as inner:
        assert inner.left <= 50 and protected(lambda: current().left)[0] <= 50
        with limited(0.0):
            assert current().now
        assert not current().now
    assert Stop(0.0).now and not Stop().now
