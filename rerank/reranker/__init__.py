"""Joins everything: from a table to a fitted ranking with its bound, and to files and back."""
