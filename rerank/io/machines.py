"""Made-up machines that fail in two ways, or in one that logistic regression can learn."""

import numpy as np

from rerank.errors import InputError
from rerank.io.table import Floats, Table

# Mean and standard deviation of each sensor; readings are independent and normal.
SENSORS = {
    "hours": (8.0, 2.0),
    "vibration": (4.0, 0.8),
    "temperature": (60.0, 6.0),
    "load": (70.0, 8.0),
    "pressure": (6.0, 0.5),
    "humidity": (45.0, 9.0),
    "speed": (1500.0, 40.0),
    "voltage": (400.0, 4.0),
}
WORN, HOT = 0.08, 0.9  # the largest chance to fail of a worn machine, and of one that is hot under load


def machines(n_rows: int, seed: int, ways: int = 2) -> Table:
    """Made-up machines with eight sensors, of which some one in twenty fails.

    With two ways to fail, hours and vibration wear a machine out: many are worn, and none of them fails with a chance
    above 8 %. Few machines are so hot under load that they pass a limit, and nine in ten of those fail. One linear
    score cannot be right for both. With one way to fail the log-odds are linear in four sensors, as logistic
    regression takes them to be.

    Parameters
    ----------
    n_rows : int
    seed : int
        The same seed and number give the same machines.
    ways : {2, 1}
        How many ways there are to fail.

    Returns
    -------
    Table
        ``X`` (n_rows, 8) in the units of ``SENSORS``, ``y`` (1 is a failure) and ``feature_names``.

    Raises
    ------
    InputError
        For another number of ways.
    """
    if ways not in (1, 2):
        raise InputError(f"ways is {ways!r}; these machines fail in 1 or 2 ways.")
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n_rows, len(SENSORS)))
    wear, heat = Z[:, 0] + Z[:, 1], (Z[:, 2] + Z[:, 3]) / np.sqrt(2.0)
    if ways == 2:
        sound = (1.0 - WORN * _chance(2.0 * wear)) * (1.0 - HOT * _chance(5.0 * (heat - 2.2)))
    else:
        sound = 1.0 - _chance(0.8 * wear + 0.8 * heat - 3.8)
    y = (rng.random(n_rows) >= sound).astype(np.float64)
    means, deviations = np.array(list(SENSORS.values())).T
    return Table(means + deviations * Z, y, None, None, tuple(SENSORS))


def _chance(log_odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-log_odds))
