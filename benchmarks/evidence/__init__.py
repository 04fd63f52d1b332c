"""What does the default choice find on rows to come? Twenty tables and two statistics, fixed beforehand.

Printed by ``python -m benchmarks.evidence``.
"""
