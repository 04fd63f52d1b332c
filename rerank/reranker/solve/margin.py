"""How small a margin may be before a solver's tolerance swallows it."""

from __future__ import annotations

import math

from rerank.errors import InputError

SMALLEST_DEFAULT = 1e-4

SAFETY = 10.0
"""A margin is at least this many times what a row may be missed by.

At a ratio of 1 every one of 60 random programs over-claimed; at 10 none did.
"""


def least_epsilon(feasibility_tolerance: float = 1e-6, big_m: float = 1.0) -> float:
    """The smallest margin that survives a solver's tolerance.

    Parameters
    ----------
    feasibility_tolerance : float
        By how much the solver may miss a row or an integrality.
    big_m : float
        Coefficient of the binary in the row as it is handed over; 1 where rows are divided by their big-M.

    Returns
    -------
    float
        ``10 * feasibility_tolerance * big_m``: an integrality missed by the tolerance moves the row by that much
        times the big-M.
    """
    if not (
        math.isfinite(feasibility_tolerance)
        and feasibility_tolerance > 0
        and math.isfinite(big_m)
        and big_m > 0
    ):
        raise InputError(f"Tolerance {feasibility_tolerance} and big-M {big_m} must be positive numbers.")
    return SAFETY * feasibility_tolerance * big_m


def default_epsilon(feasibility_tolerance: float = 1e-6, big_m: float = 1.0) -> float:
    """The margin used when none is asked for: 1e-4, or the smallest safe one if that is larger."""
    return max(SMALLEST_DEFAULT, least_epsilon(feasibility_tolerance, big_m))


def check_epsilon(epsilon: float, feasibility_tolerance: float = 1e-6, big_m: float = 1.0) -> float:
    """Return ``epsilon``, or refuse it.

    Raises
    ------
    InputError
        For a margin that is not positive, or below :func:`least_epsilon`.
    """
    least = least_epsilon(feasibility_tolerance, big_m)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(
            f"The margin epsilon is {epsilon}; it must be a positive number, at least {least:.3g}."
        )
    # A margin of exactly ten tolerances passes, whichever way its last digit was rounded.
    if epsilon < least * (1 - 1e-9):
        raise InputError(
            f"Margin {epsilon:g} is too close to the solver's feasibility tolerance {feasibility_tolerance:g}; "
            f"use at least {least:.3g}, or tighten feasibility_tolerance."
        )
    return epsilon
