"""The command ``python -m benchmarks.ranksvm``: see :mod:`benchmarks.first_stage.ranksvm`."""

from benchmarks.first_stage.ranksvm import main

if __name__ == "__main__":
    main()
