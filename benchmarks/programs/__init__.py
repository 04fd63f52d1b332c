"""The mathematical programs measured side by side.

Printed by ``python -m benchmarks.programs``.
"""
