"""What every test process needs before the first test."""

import gc
import signal
import threading

import pytest

# A shell that starts the suite in the background ignores Ctrl-C for it, and tests that send one would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def own_objects():
    """As in a process of its own: collections of garbage do not look at what thousands of other tests have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
