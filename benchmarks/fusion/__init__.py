"""Score fusion against what search teams use, on held-out queries.

Printed by ``python -m benchmarks.fusion``.
"""
