"""Does reranking help on rows to come? Fifteen tables, two first stages, three statistics, fixed beforehand.

Printed by ``python -m benchmarks.evidence``.
"""
