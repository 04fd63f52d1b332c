"""The command ``python -m benchmarks.robirank``: see :mod:`benchmarks.first_stage.robirank`."""

import sys

from benchmarks.first_stage.robirank import main

if __name__ == "__main__":
    sys.exit(main())
