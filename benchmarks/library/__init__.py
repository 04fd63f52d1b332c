"""The instances of ``formulations.library``, the proof of their optima, and the command that writes their files."""
