"""Solvers: HiGHS on arrays, any other through the file, and what surrounds a solve."""
