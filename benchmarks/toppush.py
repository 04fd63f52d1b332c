"""The command ``python -m benchmarks.toppush``: see :mod:`benchmarks.first_stage.toppush`."""

import sys

from benchmarks.first_stage.toppush import main

if __name__ == "__main__":
    sys.exit(main())
