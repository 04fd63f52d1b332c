"""HiGHS on arrays: limits, starts, Ctrl-C, cut-offs, claims that cannot be true, and what an outcome says."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import InputError, SolverError
from rerank.errors.stops import attended, current
from rerank.solvers import Holds, Options, Progress, Stop, highs
from rerank.solvers.outcome import Point, reasons
from rerank.solvers.progress import claims, line, live, throttled
from tests.cases.hand_programs import auc, every_bound, knapsack, linear, mixed_signs, point, program

SOON = 2.0
"""Seconds in which an interruption must be answered."""


@pytest.fixture(autouse=True, scope="module")
def with_presolve():
    """What presolve finds is told here on every release; test_unsafe_presolve.py has those that go without it."""
    known, highs.UNSAFE_PRESOLVE = highs.UNSAFE_PRESOLVE, ()
    yield
    highs.UNSAFE_PRESOLVE = known


@pytest.fixture(scope="module")
def small():
    made, D = auc(14, 2)
    return made, D, highs.solve(made).objective


@pytest.fixture(scope="module")
def hard():
    """Runs for minutes, with many callbacks on the way."""
    made, D = auc(40, 5)
    return made, D


@pytest.mark.parametrize(
    ("made", "optimum"),
    [(every_bound(), 5.475), knapsack(), mixed_signs(), (linear(), 2.75)],
    ids=lambda p: getattr(p, "name", ""),
)
def test_optima_known_without_a_solver(made, optimum):
    outcome = highs.solve(made)
    assert (outcome.stop, outcome.holds) == (Stop.finished, Holds.optimal)
    assert (outcome.objective, outcome.bound) == pytest.approx((optimum, optimum), abs=1e-9)
    assert outcome.objective == made.objective(outcome.x)
    assert outcome.violation == made.violation(outcome.x) < 1e-9
    assert outcome.start_accepted is None and outcome.solver == "HiGHS" and outcome.version[0].isdigit()
    assert outcome.message == "" and ("Solving report" in outcome.log or not made.integer.any())


def test_arrays_highs_rejects_are_an_error():
    with pytest.raises(SolverError, match="rejects the program 'large'"):
        highs.solve(program("large", [1.0], [[1e16]], [0.0], [1.0], [0.0], [1.0], [1]))
    for cost, entry, side in ((np.nan, 1.0, 1.0), (np.inf, 1.0, 1.0), (1.0, np.nan, 1.0), (1.0, 1.0, np.nan)):
        with pytest.raises(InputError, match="not finite"):
            highs.solve(program("nan", [cost], [[entry]], [0.0], [side], [0.0], [1.0], [1]))


def test_the_default_gap_is_zero_and_a_wide_one_is_not_called_optimal(hard):
    made = hard[0]
    assert Options().mip_rel_gap == Options().mip_abs_gap == 0.0
    outcome = highs.solve(made, Options(mip_rel_gap=0.5))
    assert (outcome.stop, outcome.holds) == (Stop.finished, Holds.feasible)
    assert outcome.gap > 1e-3 * outcome.objective


# -- starts -----------------------------------------------------------------------------------------------------------


def test_a_start_is_accepted_and_says_so(small):
    made, D, optimum = small
    start = point(made, D, np.array([1.0, 0.3]))
    outcome = highs.solve(made, start=start)
    assert outcome.start_accepted is True and outcome.objective == pytest.approx(optimum)
    assert "MIP start solution is feasible" in outcome.log


def test_a_start_that_violates_the_program_is_not_handed_over(small):
    made, D, optimum = small
    start = point(made, D, np.array([1.0, 0.3]))
    start[2:] = 1.0
    outcome = highs.solve(made, start=start)
    assert outcome.start_accepted is False and "violates the program by" in outcome.message
    assert outcome.objective == pytest.approx(optimum) and "MIP start" not in outcome.log


def test_a_start_is_never_lost(small):
    made, D, _ = small
    start = point(made, D, np.array([1.0, 0.3]))
    outcome = highs.solve(made, Options(time_limit=0.0), start=start)
    assert (outcome.stop, outcome.holds) == (Stop.time_limit, Holds.feasible)
    assert np.array_equal(outcome.x, start) and outcome.objective == made.objective(start)


# -- cut-offs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_start", [False, True])
@pytest.mark.parametrize("above", [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0])
def test_a_cutoff_never_turns_into_a_false_optimum(small, above, with_start):
    made, D, optimum = small
    start = point(made, D, np.array([1.0, 0.3])) if with_start else None
    outcome = highs.solve(made, Options(cutoff=optimum + above), start=start)
    assert outcome.stop is Stop.finished
    assert outcome.bound >= optimum - 1e-9
    if above <= 0:
        assert outcome.holds is Holds.optimal and outcome.objective == pytest.approx(optimum)
    else:
        assert outcome.holds is not Holds.optimal and outcome.bound == optimum + above
        assert "no point better than the cut-off" in outcome.message
    assert (outcome.x is not None) or not with_start


GREETED = """
import json, sys
from rerank.solvers import highs
from tests.cases.hand_programs import auc
made, _ = auc(14, 2)
highs.version()
outcome = highs.solve(made)
sys.stdout.write(json.dumps(outcome.objective))
"""


def test_standard_output_is_for_answers_alone():
    command = [sys.executable, "-c", GREETED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)
    assert done.returncode == 0 and float(done.stdout) > 0  # no greeting of HiGHS before it


def test_without_a_standard_output_there_is_nothing_to_keep_quiet():
    command = f"exec 1>&-; exec '{sys.executable}' -c 'from rerank.solvers import highs; highs.version()'"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, cwd=Path(__file__).parents[2], timeout=60)
    assert done.returncode == 0, done.stderr


# -- stopping ---------------------------------------------------------------------------------------------------------


def test_an_event_returns_the_incumbent(hard):
    made, D = hard
    start = point(made, D, np.array([1.0, 0.1, 0.0, 0.0, 0.0]))
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    began = time.monotonic()
    outcome = highs.solve(made, start=start, cancel=cancel)
    assert time.monotonic() - began < 0.5 + SOON
    assert (outcome.stop, outcome.holds) == (Stop.interrupted, Holds.feasible)
    assert outcome.objective >= made.objective(start)


def test_ctrl_c_returns_the_incumbent(hard):
    made, _ = hard
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    outcome = highs.solve(made)
    assert time.monotonic() - began < 0.7 + SOON
    assert (outcome.stop, outcome.holds) == (Stop.interrupted, Holds.feasible) and outcome.x is not None


def test_a_progress_callback_sees_the_figures_and_can_stop(hard):
    made, _ = hard
    seen = []

    def progress(now):
        seen.append(now)
        return now.incumbent > -math.inf and len(seen) > 3

    began = time.monotonic()
    outcome = highs.solve(made, Options(progress=progress))
    assert outcome.stop is Stop.interrupted and time.monotonic() - began < seen[-1].seconds + SOON
    assert [now.seconds for now in seen] == sorted(now.seconds for now in seen)
    assert seen[-1].incumbent <= outcome.objective <= outcome.bound <= seen[0].bound


def test_an_error_in_a_progress_callback_is_the_callers(hard):
    with pytest.raises(ZeroDivisionError):
        highs.solve(hard[0], Options(progress=lambda now: 1 / 0))


LEFT_BEHIND = """
import sys, threading, time
import numpy as np
from rerank.errors import stops
from rerank.solvers import highs
from tests.cases.hand_programs import auc

made, _ = auc(240, 8)
cancel = threading.Event()
stops.GRACE, stops.LINGER = 0.3, 0.5
threading.Timer(1.0, cancel.set).start()
began = time.monotonic()
outcome = highs.solve(made, start=np.zeros(made.cost.size), cancel=cancel)
print(round(time.monotonic() - began, 2), outcome.stop, outcome.holds, outcome.objective, outcome.message)
"""


def test_a_solve_that_does_not_check_its_limit_is_left_behind():
    """In its first LP HiGHS runs no callback for seconds; the process must still answer, and end cleanly."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", LEFT_BEHIND]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    seconds, stop, holds, objective, *message = done.stdout.split(maxsplit=4)
    assert float(seconds) < 1.0 + SOON and (stop, holds) == ("interrupted", "feasible")
    assert float(objective) >= 3.5 and done.stderr == ""
    assert message == [] or "left behind" in message[0]


def nothing():
    pass


def test_a_call_that_never_ends_is_left_behind_on_time():
    over, began = threading.Event(), time.monotonic()
    asked = []

    def work():
        asked.append(current().asked)
        over.wait()

    assert attended(work, reasons(None, began + 0.1), nothing) == (False, Stop.time_limit)
    assert asked[0].is_set() and time.monotonic() - began < SOON
    over.set()
    assert attended(nothing, reasons(None, math.inf), nothing) == (True, None)
    assert attended(lambda: current().asked.wait(), reasons(over, math.inf), nothing) == (True, Stop.interrupted)
    with pytest.raises(KeyError):
        attended(lambda: {}["missing"], reasons(None, math.inf), nothing)


def test_ctrl_c_twice_is_raised():
    over = threading.Event()
    for delay in (0.1, 0.4):
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        attended(over.wait, reasons(None, math.inf), nothing)
    over.set()


# -- claims that cannot be true ---------------------------------------------------------------------------------------


def test_an_unknown_status_is_loud(small, monkeypatch):
    monkeypatch.delitem(highs.STATUSES, "kOptimal")
    with pytest.raises(SolverError, match="status kOptimal, unknown here"):
        highs.solve(small[0])


def test_every_status_of_the_installed_highs_is_known():
    highspy = pytest.importorskip("highspy", reason="pip install highspy")
    names = set(highspy.HighsModelStatus.__members__)
    # These cannot stand at the end of a run on a model that was accepted, or follow from an option never set.
    assert names - set(highs.STATUSES) == {"kNotset", "kLoadError", "kModelError", "kObjectiveTarget"}


def denying(monkeypatch, times=10):
    """HiGHS calls its first programs infeasible; returns the presolve of each."""
    work, presolves = highs._Run.work, []

    def denied(run, cancel):
        work(run, cancel)
        presolves.append(run.highs.getOptionValue("presolve")[1])
        run.status = "kInfeasible" if len(presolves) <= times else run.status

    monkeypatch.setattr(highs._Run, "work", denied)
    return presolves


@pytest.mark.parametrize("times", [1, 2])
def test_infeasible_in_the_face_of_a_feasible_start(small, monkeypatch, times):
    """A false "infeasible" is tried again without presolve, and refused if it stays."""
    made, D, optimum = small
    calls = denying(monkeypatch, times)
    start = point(made, D, np.array([1.0, 0.3]))
    outcome = highs.solve(made, start=start)
    if times == 1:
        assert outcome.objective == pytest.approx(optimum) and "Solved again without presolve" in outcome.message
    else:
        assert (outcome.stop, outcome.holds) == (Stop.contradicted, Holds.feasible)
        assert outcome.bound == np.inf and outcome.objective >= made.objective(start)
        assert "with and without presolve. No bound is taken from it." in outcome.message
    assert calls == ["choose", "off"]


def test_an_optimum_that_violates_the_program_is_not_held(small, monkeypatch):
    made, D, _ = small
    false = np.ones(made.cost.size)
    monkeypatch.setattr(highs._Run, "_final", lambda run: Point.of(made, false))
    monkeypatch.setattr(highs._Run, "_improved", lambda run, event: None)
    start = point(made, D, np.array([1.0, 0.3]))
    for cutoff in (None, 10.0):
        outcome = highs.solve(made, Options(cutoff=cutoff), start=start)
        assert np.array_equal(outcome.x, start) and outcome.holds is Holds.feasible
        if cutoff is None:
            assert outcome.stop is Stop.contradicted and outcome.bound == np.inf
            assert "optimum violates the program" in outcome.message
    with pytest.raises(SolverError, match="optimum violates the program .* It says so with and without presolve"):
        highs.solve(made)


def test_infeasible_below_a_cutoff_is_no_error(small, monkeypatch):
    made, D, optimum = small
    denying(monkeypatch)
    start = point(made, D, np.array([1.0, 0.3]))
    outcome = highs.solve(made, Options(cutoff=optimum + 1), start=start)
    assert outcome.stop is Stop.finished and outcome.bound == optimum + 1 and outcome.holds is Holds.feasible


def test_a_cutoff_does_not_hide_a_point_above_it(small, monkeypatch):
    """With a cut-off HiGHS may only deny points above it; a start that is above it contradicts that."""
    made, D, _ = small
    denying(monkeypatch)
    start = point(made, D, np.array([1.0, 0.3]))
    outcome = highs.solve(made, Options(cutoff=made.objective(start) - 1), start=start)
    assert (outcome.stop, outcome.bound) == (Stop.contradicted, np.inf)
    assert outcome.objective >= made.objective(start)


# -- options, log, display --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [("time_limit", -1.0), ("time_limit", math.nan), ("mip_abs_gap", math.inf)])
def test_bad_options_are_refused(bad):
    """Beside those with a common name, in ``test_options``."""
    with pytest.raises(InputError, match=bad[0]):
        Options(**dict([bad]))


def test_the_log_file_begins_with_versions_and_options(small, tmp_path):
    outcome = highs.solve(small[0], Options(log_file=tmp_path / "log.txt", seed=7))
    text = (tmp_path / "log.txt").read_text()
    assert text.startswith(
        f"HiGHS {outcome.version}\nthe program 'auc_14_2' (40 rows, 42 columns, 120 non-zeros), constant 3.5"
    )
    assert "'seed': 7" in text and text.endswith(outcome.log[-400:])


def test_the_solvers_log_on_request_and_silence_otherwise(small, capfd):
    highs.solve(small[0])
    highs.solve(small[0], Options(verbose=1))
    assert capfd.readouterr() == ("", "")
    highs.solve(small[0], Options(verbose=2))
    out, err = capfd.readouterr()
    assert out == "" and "Solving report" in err


def test_seeds_and_two_threads_agree(small):
    made, _, optimum = small
    for changed in ({"seed": 1}, {"threads": 2}, {"presolve": False}, {"feasibility_tolerance": 1e-8}):
        assert highs.solve(made, Options(**changed)).objective == pytest.approx(optimum)


class Terminal:
    def __init__(self, tty):
        self.tty, self.text = tty, ""

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


def test_the_live_line_is_for_terminals(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    shown = Progress(1.5, -math.inf, 12.25, -1)
    assert line(shown) == "   1.5 s  incumbent -  bound 12.25  gap -  nodes 0"
    silent, loud = Terminal(False), Terminal(True)
    with live("x", silent) as report:
        assert report is None
    with live("HiGHS p", loud) as report:
        report(Progress(2.0, 11.0, 12.0, 40))
    assert silent.text == "" and "incumbent 11  bound 12  gap 1  nodes 40" in loud.text


def test_a_notebook_has_the_line_under_its_cell(monkeypatch):
    """Each report covers the one before it, and the end covers the last one; a carriage return is all that it needs."""
    cell = type("OutStream", (Terminal,), {"__module__": "ipykernel.iostream"})(False)
    monkeypatch.setattr("rerank.solvers.progress.INTERVAL", 0.0)
    with pytest.raises(KeyboardInterrupt), live("search:", cell, claims("dcg@10 at margin 0.01")) as report:
        report(Progress(2.0, 10.5, 12.0, 123456))
        report(Progress(3.0, 11, 12.0, 7))
        raise KeyboardInterrupt
    empty, first, second, end, last = cell.text.split("\r")
    assert (empty, last) == ("", "") and "\n" not in cell.text
    assert first == "search: dcg@10 at margin 0.01 >= 10.5, <= 12, 123,456 boxes, 2.0 s"
    assert second.rstrip() == "search: dcg@10 at margin 0.01 >= 11, <= 12, 7 boxes, 3.0 s"
    assert claims("auc")(Progress(0.0, -math.inf, 5.0, 0)) == "auc <= 5, 0 boxes, 0.0 s"
    assert len(second) == len(end) == len(first) and not end.strip()


def test_progress_is_reported_once_and_not_too_often():
    news, reported = [Progress(0.0, 1.0, 2.0, 0)], []
    tick = throttled(reported.append, lambda: news[-1])
    tick(), tick()
    news.append(Progress(0.1, 1.0, 2.0, 1))
    tick()
    assert reported == news[:1]
    time.sleep(0.12)
    tick()
    assert reported == news
