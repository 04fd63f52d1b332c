"""``python -m rerank`` is the command ``rerank``."""

import atexit
import gc

OBJECTS = 50_000
"""Objects before garbage is looked for. Modules hold some hundred thousand, and none of them is garbage."""


def main() -> None:
    """Entry point of the command; Ctrl-C ends it as documented while its modules are being imported, too."""
    gc.set_threshold(OBJECTS)
    atexit.register(gc.freeze)  # all files are closed by then, and the process gives its memory back as a whole
    try:
        from rerank.cli import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
