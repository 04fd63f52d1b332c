"""``python -m rerank`` is the command ``rerank``."""

import atexit
import gc
import signal
import sys

OBJECTS = 50_000
"""Objects before garbage is looked for. Modules hold some hundred thousand, and none of them is garbage."""


def main() -> None:
    """Entry point of the command; Ctrl-C and SIGTERM end it as documented while its modules are being imported, too."""
    gc.set_threshold(OBJECTS)
    atexit.register(gc.freeze)  # all files are closed by then, and the process gives its memory back as a whole
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from rerank.cli import main as command

        command()
    except KeyboardInterrupt:
        print("rerank: Stopped before there was a result; nothing was written.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
