"""The exact search measured: time to a proof, quality in equal time, compiling, workers.

Printed by ``python -m benchmarks.exact``.
"""
