"""What every test process needs before the first test."""

import functools
import gc
import os
import signal
import threading
from pathlib import Path

import pytest
import typer.testing

# Trees of source, models of Pyomo and clones of estimators are many objects and little garbage: collections every 700
# objects took a seventh of the suite.
gc.set_threshold(20_000, 20, 50)
# The command line is built once, not for each command that a test types.
typer.testing._get_command = functools.cache(typer.testing._get_command)
# A shell that starts the suite in the background ignores Ctrl-C for it, and tests that send one would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


# pytest has a process for each core, and threads of BLAS and LightGBM would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Processes of tests have the package of this folder, as pytest has it, and so its compiled kernels.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)


def pytest_sessionstart(session):
    """The search is compiled before there are processes which would each do it."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        from rerank.search import compile_kernels

        compile_kernels(rules=True)


@pytest.fixture(autouse=True, scope="module")
def own_objects():
    """As in a process of its own: collections of garbage do not look at what the files before have left."""
    gc.collect()
    gc.freeze()
