"""What the caller may choose about a program, and what every builder reads: checked once, then frozen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from formulations.data import Coefficients, Floats, GradedList, graded_lists, units_from_labels
from formulations.errors import FormulationError


@dataclass(frozen=True, eq=False)
class BuilderOptions:
    """Choices shared by the builders; each takes them as keywords.

    Attributes
    ----------
    epsilon : float or Fraction
        Margin: the smallest difference of scores that counts as a win. A float stands for the shortest decimal that
        reads back as it: .05 is 1/20. Kept as the nearest double, and exactly as ``margin``.
    margin : Fraction
        What the margin is; it follows from ``epsilon``.
    scaled_from : tuple of float64 arrays (n, d), (d,), (d,), optional
        Table and ranges that X was scaled from: an entry is ``(x - low) / (high - low)`` exactly, and X holds it
        rounded. Without them the doubles of X are exact. Only pairs within rounding of the margin are looked at.
    C : float
        Penalty for one non-zero weight, in the unit of the objective.
    big_m : "pair" or "unit"
        How ``above_by_margin`` is switched off. ``"pair"`` takes the smallest valid number for each pair and leaves
        every ``w`` of the box feasible. ``"unit"`` is the literal form of [RudinWang2018]: the number 1 for all,
        which also forbids score ranges above ``1 - epsilon`` and so may change the optimum.
    linking : "ordered" or "paper"
        How a level is tied to the count it asks for: one row for all levels of an item and an order among them, or
        the paper's row for each level. Same integer points, the ordered one is tighter.
    cuts : bool
        Valid rows that pay: the distinct-rank cut where the program has ranks, and ``one_above`` in Subrank.
    extra_cuts : bool
        Further valid rows that bring little or nothing, each named in its program. With ``cuts`` or this, every one
        of the paper's optional (27)-(30) that never cuts off an optimum is stated or implied.
    constant : float
        Added to the objective: what is earned whatever the weights.
    max_features : int, optional
        At most this many non-zero weights.
    signs : int array (d,), optional
        1 where a weight must be >= 0, -1 where it must be <= 0, 0 where it is free.
    box : pair of float arrays (d,), optional
        Lower and upper limits of ``w`` inside [-1, 1], or inside the corrections; pairs that the box decides get no
        variable.
    corrections : pair of float arrays (d,), optional
        Lower and upper limits of ``w`` in an anchored program: the first column is a given score of weight 1, the
        others correct it. ``C`` and ``max_features`` count corrections only.
    points : int, optional
        The weights are whole numbers from ``-points`` to ``points``, and ``box`` lies in that range.
    quotas : tuple of objects with ``rows``, ``first``, ``least`` and ``most``
        Rows of a group among the first places of every list, at least and at most, or None; ``resolved_rank`` alone
        states them.
    two_sided : bool
        Whether a pair that is not won is level or below: then ``z`` says who is above in the ranking itself, not who
        may be counted as a winner. It forbids every difference between 0 and the margin, which may lower the optimum
        (``win_when_above``); ``resolved_rank`` always does.
    rows : sequence of (float array (d,), float, str)
        Linear rows on the weights: coefficients ``a`` and side ``b`` of ``a.w >= b``, and what a person calls it.
    by_sum : bool
        Whether the weights, none of which is below 0, have the sum 1.
    max_nonzeros : int
        Limit on the non-zeros of the constraint matrix. They are bounded from above before anything is built, and a
        program whose bound lies beyond the limit is refused.
    """

    epsilon: float = 1e-4
    margin: Fraction = field(init=False)
    C: float = 0.0
    constant: float = 0.0
    big_m: Literal["pair", "unit"] = "pair"
    linking: Literal["ordered", "paper"] = "ordered"
    cuts: bool = True
    extra_cuts: bool = False
    max_features: int | None = None
    signs: ArrayLike | None = None
    box: tuple[ArrayLike, ArrayLike] | None = None
    corrections: tuple[ArrayLike, ArrayLike] | None = None
    points: int | None = None
    scaled_from: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None
    rows: Sequence[tuple[Floats, float, str]] = ()
    by_sum: bool = False
    max_nonzeros: int = 5_000_000
    quotas: tuple[Any, ...] = ()
    two_sided: bool = False

    def __post_init__(self) -> None:
        exact = isinstance(self.epsilon, Fraction)
        if not (np.isfinite(float(self.epsilon)) and float(self.epsilon) > 0):
            raise FormulationError(f"epsilon is {self.epsilon}; the margin must be a positive number.")
        object.__setattr__(self, "margin", self.epsilon if exact else Fraction(repr(float(self.epsilon))))
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if not (np.isfinite(self.C) and self.C >= 0):
            raise FormulationError(f"C is {self.C}; the penalty of a feature must be 0 or a positive number.")
        if not np.isfinite(self.constant):
            raise FormulationError(f"constant is {self.constant}; what is added to the objective must be finite.")
        if self.big_m not in ("pair", "unit"):
            raise FormulationError(f"big_m is {self.big_m!r}; choose 'pair' or 'unit'.")
        if self.big_m == "unit" and self.epsilon >= 1:
            raise FormulationError(f"epsilon is {self.epsilon}; with big_m='unit' it must be below 1.")
        if self.corrections is not None and self.big_m == "unit":
            raise FormulationError(
                "big_m='unit' limits score ranges below that of the given score; use 'pair' with corrections."
            )
        if self.linking not in ("ordered", "paper"):
            raise FormulationError(f"linking is {self.linking!r}; choose 'ordered' or 'paper'.")
        if self.max_features is not None and not (self.max_features >= 1 and self.max_features % 1 == 0):
            raise FormulationError(f"max_features is {self.max_features}; give a whole number, at least 1, or None.")
        if self.points is not None and not (self.points >= 1 and self.points % 1 == 0 and self.corrections is None):
            raise FormulationError(f"points is {self.points}; give a whole number, at least 1, and no corrections.")
        if not self.max_nonzeros >= 1:
            raise FormulationError(f"max_nonzeros is {self.max_nonzeros}; give at least 1.")

    def limits(self, d: int) -> tuple[Floats, Floats]:
        """Lower and upper limits of ``w``: the box, cut to the signs."""
        most = 1.0 if self.points is None else float(self.points)
        whole = _sides((np.full(d, -most), np.full(d, most)) if self.corrections is None else self.corrections)
        lower, upper = whole if self.box is None else _sides(self.box)
        signs = np.zeros(d) if self.signs is None else np.asarray(self.signs)
        shapes = {side.shape for side in (*whole, lower, upper, signs)}
        if shapes != {(d,)} or not np.isin(signs, (-1, 0, 1)).all():
            raise FormulationError(
                f"box, corrections and signs (-1, 0 or 1) must hold one entry for each of the {d} features."
            )
        if self.corrections is not None and not (whole[0][0] == whole[1][0] == 1):
            raise FormulationError("corrections must be 1 and 1 for the first column, the given score.")
        lower = np.where(signs > 0, np.maximum(lower, 0), lower)
        upper = np.where(signs < 0, np.minimum(upper, 0), upper)
        if not ((lower >= whole[0]) & (lower <= upper) & (upper <= whole[1])).all():
            where = f"[{-most:g}, {most:g}]" if self.corrections is None else "the corrections"
            raise FormulationError(f"The box of w, cut to the signs, must be non-empty and lie inside {where}.")
        return lower, upper


def _sides(pair: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    lower, upper = (np.array(side, dtype=np.float64) for side in pair)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Instance:
    """What a builder reads: rows, lists, options and the limits of ``w`` that follow from them."""

    X: Floats
    lists: tuple[GradedList, ...]
    options: BuilderOptions
    lower: Floats
    upper: Floats

    @property
    def counted(self) -> range:
        """The features that are penalised or limited: all, or the corrections."""
        return range(int(self.options.corrections is not None), self.lower.size)

    @property
    def switched(self) -> bool:
        """Whether non-zero weights are penalised or limited, and so need ``gamma``."""
        limit = self.options.max_features
        return self.options.C > 0 or (limit is not None and limit < len(self.counted))


def rows_of(X: ArrayLike) -> Floats:
    """``X`` as a finite float64 table with at least one column."""
    data = np.ascontiguousarray(X, dtype=np.float64)
    if data.ndim != 2 or not data.shape[1]:
        raise FormulationError(
            f"X has shape {data.shape}; a table with one row an item and at least one feature is needed."
        )
    if not np.isfinite(data).all():
        row, column = np.argwhere(~np.isfinite(data))[0]
        raise FormulationError(
            f"X holds {data[row, column]} at row {row}, column {column}; all entries must be finite."
        )
    return data


def instance_of(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    **options: Any,
) -> Instance:
    """The instance of a builder's arguments; ``units`` overrides labels and coefficients."""
    data = rows_of(X)
    chosen = BuilderOptions(**options)
    if units is None:
        if y is None or coefficients is None:
            raise FormulationError("Give y and coefficients, or units.")
        units = units_from_labels(data, y, coefficients, qid)
    return Instance(data, graded_lists(units, data.shape[0]), chosen, *chosen.limits(data.shape[1]))
