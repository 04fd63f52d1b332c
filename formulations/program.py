"""A program as arrays: what a model is compiled to, what files hold and solvers take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.data import Floats
from formulations.errors import FormulationError

if TYPE_CHECKING:
    from scipy import sparse

LONGEST_NAME = 16  # characters in a row or column name; longer ones are cut or refused by some readers of .mps files
HUGE = 1e20  # bounds from here on mean infinity to most solvers
COST = "COST"  # name of the row of costs

# Words of the format that some readers trip over when they are names.
RESERVED = frozenset({COST, "RHS", "RANGES", "BOUNDS", "MARKER", "BND"})


@dataclass(frozen=True, eq=False)
class Program:
    """Maximise ``cost @ x + constant`` over ``row_lower <= matrix @ x <= row_upper``, ``lower <= x <= upper``.

    Attributes
    ----------
    name : str
    cost : float64 array (n,)
    constant : float
        Constant of the objective; it stands in no file and no solver sees it.
    matrix : scipy.sparse.csr_array (m, n)
    row_lower, row_upper : float64 arrays (m,)
        Infinite where a row has one side only.
    lower, upper : float64 arrays (n,)
    integer : bool array (n,)
    columns, rows : tuples of str
        Unique ASCII names of at most 16 characters, such as ``w0``, ``z3_7``.
    weights : intp array (d,)
        Columns of the weights ``w``, in feature order.
    minimises : bool
        Whether the file or model states the objective with the other sign, as something to minimise.
    titles : dict of str to str
        What a Pyomo model calls its objective (``COST``) and the rows and columns that are numbered here; empty for a
        file.
    """

    name: str
    cost: Floats
    constant: float
    matrix: "sparse.csr_array"
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    weights: NDArray[np.intp]
    minimises: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)

    def own(self, figure: float) -> float:
        """An objective or bound in the sense of the file or model: with the other sign where that minimises."""
        return -figure + 0.0 if self.minimises else figure

    def objective(self, x: ArrayLike) -> float:
        """Objective of a point, maximised, constant included; feasibility is not checked."""
        return float(self.cost @ np.asarray(x, dtype=np.float64) + self.constant)

    def violation(self, x: ArrayLike) -> float:
        """Largest violation of a row, a bound or an integrality by ``x``; 0 where there is none."""
        point = np.asarray(x, dtype=np.float64)
        activity = self.matrix @ point
        whole = point[self.integer]
        rows = self.row_lower - activity, activity - self.row_upper
        columns = self.lower - point, point - self.upper, np.abs(whole - np.rint(whole))
        return max([0.0, *(float(part.max()) for part in (*rows, *columns) if part.size)])

    def with_bounds(self, lower: ArrayLike, upper: ArrayLike) -> "Program":
        """The same program with other bounds on its columns."""
        low, high = (np.asarray(side, dtype=np.float64) for side in (lower, upper))
        if low.shape != self.lower.shape or high.shape != self.upper.shape:
            raise FormulationError(f"Bounds have shapes {low.shape} and {high.shape}; give {self.cost.size} of each.")
        return replace(self, lower=low, upper=high)

    def vector(self, values: Mapping[str, float]) -> Floats:
        """Column vector from values by name; columns not named are 0, unknown names are refused."""
        position = {name: j for j, name in enumerate(self.columns)}
        x = np.zeros(len(self.columns))
        for name, value in values.items():
            if name not in position:
                raise FormulationError(
                    f"{name!r} is no column of {self.name!r}; its first columns are {self.columns[:4]}."
                )
            x[position[name]] = value
        return x


def portable(names: Sequence[str], letter: str) -> list[str]:
    """Names that every reader takes, others replaced by a letter and a number."""
    plain = (name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit() for name in names)
    fine = [ok and len(name) <= LONGEST_NAME and name.upper() not in RESERVED for name, ok in zip(names, plain)]
    fresh = iter(fresh_names(len(names) - sum(fine), letter, set(names)))
    return [name if good else next(fresh) for name, good in zip(names, fine, strict=True)]


def fresh_names(count: int, stem: str, taken: set[str]) -> list[str]:
    """``count`` names made of a stem and a number, none of them taken."""
    candidates = (f"{stem}{number}" for number in range(count + len(taken)))
    return list(islice((name for name in candidates if name not in taken), count))
