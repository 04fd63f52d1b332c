"""Latent retrieval measured: quality, speed, memory and what many machines would bring.

Printed by ``python -m benchmarks.latent``.
"""
