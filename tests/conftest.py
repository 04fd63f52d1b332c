"""What every test process needs before the first test."""

import signal
import threading

# A shell that starts the suite in the background ignores Ctrl-C for it, and tests that send one would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
