"""Checks of reliability in large numbers, one file each; ``python -m benchmarks.trust`` runs them.

Each option of :mod:`.__main__` is one check. Its function takes a size, the first seed and a number of processes, and
returns a :class:`.summary.Summary`. ``docs/reliability.md`` keeps the figures.
"""
