"""Latent retrieval measured: quality, speed, memory and what many machines would bring."""
