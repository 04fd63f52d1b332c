"""What pictures are drawn of: the fields that they read, of records of rooms above."""

# ruff: noqa: D102 (the class says what its fields are)

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class RiskOfTotal(Protocol):
    """Rows with one total, relevant and others, and their risk with its interval (``rerank.scorecard.Total``)."""

    @property
    def total(self) -> int: ...
    @property
    def relevant(self) -> float: ...
    @property
    def other(self) -> float: ...
    @property
    def risk(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


class SolverReport(Protocol):
    """What a solver reports while it works (``rerank.solvers.Progress``)."""

    @property
    def seconds(self) -> float: ...
    @property
    def incumbent(self) -> float: ...
    @property
    def bound(self) -> float: ...


class NamedMatrix(Protocol):
    """A sparse matrix with the names of its columns and rows (``formulations.compile.Program``)."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[str]: ...
    @property
    def matrix(self) -> Any: ...


class WeightBoxes(Protocol):
    """Boxes of weights (m, k), and what no weights of each exceed (``rerank.certificate.LeafBoxes``)."""

    @property
    def lower(self) -> Floats: ...
    @property
    def upper(self) -> Floats: ...
    @property
    def bounds(self) -> Floats: ...
