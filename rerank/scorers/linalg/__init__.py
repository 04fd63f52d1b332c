"""Products of matrices and vectors, and descent, for all scorers."""
