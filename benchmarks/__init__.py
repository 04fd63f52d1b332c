"""Benchmarks, run as ``python -m benchmarks.NAME``; never part of the tests."""
