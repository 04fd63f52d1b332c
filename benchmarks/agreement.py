"""The command ``python -m benchmarks.agreement [N]``: see :mod:`benchmarks.trust.agreement`."""

import sys

from benchmarks.trust.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["--agreement", *sys.argv[1:]]))
