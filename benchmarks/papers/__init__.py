"""Figures and tables of the papers, repeated: ``python -m benchmarks.papers``."""
