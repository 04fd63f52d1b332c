"""Benchmarks: a command ``python -m benchmarks.NAME`` for each figure of the documentation; never part of the tests."""
