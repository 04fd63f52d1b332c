"""Exact line search: the best point of a line through weight space."""
