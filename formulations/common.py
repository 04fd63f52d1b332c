"""What every program shares: sums, families, weights, switches and pairs, what a model remembers, a start."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray
from pyomo.core.expr import LinearExpression, MonomialTermExpression

from formulations.compile import short_name
from formulations.data import Floats
from formulations.errors import FormulationError, FormulationWarning, ModelTooLarge
from formulations.options import Instance
from formulations.wins import OPEN, WON, Layout, Wins, big_m, differences, slopes

Term = tuple[float, Any]  # a coefficient and a variable

# Smallest margin in a row divided by its big-M: ten times the amount, 1e-6, by which solvers may miss a row.
LEAST_MARGIN = 1e-5
# Prefixes of short names that mean the same in every program; columns in small letters, rows in capitals.
SHORT = {name: name for name in "wzsrtbcy"} | dict(gamma="g", above_by_margin="M", switch_up="U", switch_down="D")
SHORT |= dict(support_limit="K", weight_row="V", weight_sum="N", win_when_above="A")
SHARED = {  # what a component means, where programs share it
    "w": "weight of each scaled column, within its limits",
    "gamma": "1 when feature j may carry a weight",
    "z": "1 when item i is scored at least the margin above item k; pairs that the limits of w decide have none",
    "above_by_margin": "a win needs the margin; row divided by M_ik, in the literal form 1",
    "win_when_above": "whoever is above wins; row divided by U_ik, in the literal form 1",
    "switch_up": "a feature that is not paid for has no weight above 0; the limit of w_j for the paper's 1",
    "switch_down": "a feature that is not paid for has no weight below 0; the limit of w_j for the paper's 1",
    "support_limit": "at most max_features weights that are not 0",
    "weight_row": "a linear row on the weights that was asked for",
    "weight_sum": "weights of sum 1, none of them below 0",
    "statistic": "the statistic with its constant, less the penalty for features",
    "t": "1 when the rank of i is at least l - 1",
    "level_order": "a level needs the ones below it",
    "distinct_ranks": "ranks are distinct, so that at most m - l + 1 rows have rank l - 1 or more",
    "one_above": "two rows cannot both be above each other",
}


Parts = Mapping[str, tuple[str, str]]
"""Of each component the prefix of its short names, empty where :data:`SHORT` has it, and a text: what it says, or for
those in :data:`SHARED` its equation alone, which may be left out if it is ours."""


def prefixes(parts: Parts) -> dict[str, str]:
    """Prefixes of short names in every program, and of these components."""
    return SHORT | {name: prefix for name, (prefix, _) in parts.items() if prefix}


def documented(model: pyo.ConcreteModel, parts: Parts) -> pyo.ConcreteModel:
    """The model, with a ``doc`` on every variable, family and objective: its equation in the paper and what it says."""
    for component in model.component_objects((pyo.Var, pyo.Constraint, pyo.Objective)):
        name = component.name
        model.rerank_info.made[name] = component
        text = parts[name][1] if name in parts or name not in SHARED else "ours"
        component.doc = f"{text}: {SHARED[name]}" if name in SHARED else text
    return model


def linear(*terms: Term) -> LinearExpression:
    """The sum of ``coefficient * variable``, in the form that Pyomo builds and compiles fastest."""
    return LinearExpression(list(map(MonomialTermExpression, terms)))


def family(rows: Iterable[tuple[Any, Any]]) -> pyo.Constraint:
    """One constraint family: each index and its inequality."""
    by_index = dict(rows)
    return pyo.Constraint(list(by_index), rule=by_index)


@dataclass(frozen=True, eq=False)
class Info:
    """What a model remembers of its making, as ``model.rerank_info``."""

    kind: str  # module that built the model
    layout: Any  # data, pairs, counts and levels of the program
    short: dict[str, str]  # prefix of the short names of each component
    divisor: float  # largest number a pair row was divided by: solvers see ``epsilon / divisor``
    # Labels by :func:`name_table`: of row i of ``z[i, k]``, ``s[i]`` and ``r[i]``, and of the column j of ``w[j]``.
    rows: dict[int, Any] = field(default_factory=dict)
    columns: dict[int, str] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)  # each component by its name when it was built

    @property
    def divisors(self) -> dict[str, dict[tuple[int, int], float]]:
        """What each row of a family was divided by, by its index; families that are not named were not divided.
        ``M_ik`` of ``above_by_margin`` and ``U_ik`` of ``win_when_above``: 1 in the literal form; ``M_ui`` of
        ``above_threshold``.
        """
        layout, found = self.layout, {}
        if hasattr(layout, "wins"):
            found["above_by_margin"] = dict(zip(layout.wins.open, big_m(layout.instance, layout.wins).tolist()))
            if layout.instance.options.two_sided:
                found["win_when_above"] = dict(zip(map(tuple, layout.gap[0].tolist()), layout.gap[1].tolist()))
        if hasattr(layout, "divisors"):
            found["above_threshold"] = layout.divisors
        return found


def new_model(
    kind: str, name: str, layout: Layout, parts: Parts, divisors: Iterable[float] | None = None
) -> pyo.ConcreteModel:
    """A model with ``w``, ``z`` (and ``gamma``) and the families on them that every program has. A program without
    pairs gives its own ``divisors`` of rows with a margin, and gets no ``z``.
    """
    instance, epsilon, limit = layout.instance, layout.instance.options.epsilon, layout.instance.options.max_nonzeros
    if instance.options.quotas and kind != "resolved_rank":
        raise FormulationError(
            f"The {kind} program does not say in which place an irrelevant row stands, and quotas count those, too; "
            "use the resolved_rank program, or a search without a program."
        )
    if instance.options.two_sided and divisors is not None:
        raise FormulationError(f"The {kind} program compares no pairs, and two_sided is about those; leave it out.")
    if layout.nonzeros > limit:
        smaller = "use linking='ordered' or the 'mixed' program, " if kind == "resolved_rank" else ""
        raise ModelTooLarge(
            f"The {kind} program may have up to {layout.nonzeros:,} non-zeros, above the limit of {limit:,}; rank "
            f"fewer candidates, {smaller}or raise max_nonzeros."
        )
    model = pyo.ConcreteModel(name)
    numbers = big_m(instance, layout.wins)
    divisor = max([1.0, *(numbers.tolist() if divisors is None else divisors)])
    least = LEAST_MARGIN * max(1.0, divisor - epsilon)
    # A margin of exactly the least one passes, whichever way it was rounded.
    if epsilon < least * (1 - 1e-9):
        warnings.warn(
            f"The margin {epsilon:.10g} is so close to the tolerance of solvers that they may claim pairs they do not "
            f"win; use at least {least:.10g}.",
            FormulationWarning,
            stacklevel=3,
        )
    model.rerank_info = Info(kind, layout, prefixes(parts), divisor)
    _add_weights(model, instance)
    if divisors is not None:
        return model
    w = list(model.w.values())
    model.z = z = pyo.Var(layout.wins.open, domain=pyo.Binary)
    # a_j = (x_ij - x_kj) / M_ik: each row is divided by its M_ik.
    model.above_by_margin = family(
        (ik, linear((1, z[ik]), *((-a_j, w[j]) for j, a_j in a)) <= (M - epsilon) / M)
        for ik, a, M in slopes(instance, layout.wins.pairs[layout.wins.state == OPEN], numbers)
    )
    if instance.options.two_sided:
        # a_j = (x_ij - x_kj) / U_ik; a pair that no weights win has no z.
        model.win_when_above = family(
            (ik, linear(*((a_j, w[j]) for j, a_j in a), *((-1.0, z[ik]) for _ in range(ik in z))) <= 0)
            for ik, a, _ in slopes(instance, *layout.gap)
        )
    return model


def _add_weights(model: pyo.ConcreteModel, instance: Instance) -> None:
    """The variables ``w`` and, if features are penalised or limited, ``gamma`` with its three families."""
    lower, upper = instance.lower.tolist(), instance.upper.tolist()
    domain = pyo.Reals if instance.options.points is None else pyo.Integers
    model.w = w = pyo.Var(range(instance.lower.size), domain=domain, bounds=dict(enumerate(zip(lower, upper))))
    if instance.options.rows:
        # Linear rows on the weights that the user asked for.
        model.weight_row = family(
            (i, linear(*((float(a_j), w[j]) for j, a_j in enumerate(a) if a_j)) >= side)
            for i, (a, side, _) in enumerate(instance.options.rows)
        )
    if instance.options.by_sum:
        # Weights have the sum 1.
        model.weight_sum = pyo.Constraint(expr=linear(*((1.0, weight) for weight in w.values())) == 1)
    if not instance.switched:
        return
    model.gamma = gamma = pyo.Var(instance.counted, domain=pyo.Binary)
    model.switch_up = family(
        (j, linear((1, w[j]), (-upper[j], gamma[j])) <= 0) for j in instance.counted if upper[j] > 0
    )
    model.switch_down = family(
        (j, linear((-1, w[j]), (lower[j], gamma[j])) <= 0) for j in instance.counted if lower[j] < 0
    )
    limit = instance.options.max_features
    if limit is not None:
        model.support_limit = pyo.Constraint(expr=linear(*((1, switch) for switch in gamma.values())) <= limit)


def statistic(model: pyo.ConcreteModel, paid: pyo.Var) -> pyo.Objective:
    """The objective: what is earned anyway and for the columns ``paid``, less the penalty for the features used."""
    layout = model.rerank_info.layout
    options = layout.instance.options
    price = [(-options.C, switch) for switch in model.gamma.values()] if options.C else []
    return maximised(
        layout.constant + options.constant, *((gain, paid[index]) for index, gain in layout.gains.items()), *price
    )


def maximised(constant: float, *terms: Term) -> pyo.Objective:
    """The objective of a sum and a constant, as one flat sum."""
    return pyo.Objective(expr=LinearExpression([float(constant), *linear(*terms).args]), sense=pyo.maximize)


def name_table(
    model: pyo.ConcreteModel, rows: Sequence[Any], columns: Sequence[str], units: ArrayLike, doc: str
) -> None:
    """Tell a model what the table calls its rows and columns, and add ``weight``, the weights in the table's units. The
    model was built on scaled columns; ``weight[columns[j]]`` is ``units[j] w[j]``, and ``doc`` says what the unit is.
    """
    model.rerank_info = replace(model.rerank_info, rows=dict(enumerate(rows)), columns=dict(enumerate(columns)))
    terms = zip(columns, np.asarray(units, dtype=np.float64).tolist(), model.w.values(), strict=True)
    model.weight = pyo.Expression(list(columns), rule={name: linear((unit, w)) for name, unit, w in terms}, doc=doc)


@dataclass(frozen=True, eq=False)
class Assignment:
    """Values of every column for given weights, by short name, or the row that these weights violate, with its numbers.
    ``Program.vector`` makes the values a column vector.
    """

    values: dict[str, float] | None
    violated: str | None = None


def named(prefix: str, values: Mapping[Any, float]) -> dict[str, float]:
    """Values by short name, from values by index."""
    return {short_name(prefix, index): float(value) for index, value in values.items()}


def start(info: Info, w: ArrayLike, tolerance: float) -> tuple[Assignment, Floats, NDArray[np.bool_]]:
    """Values of ``w``, ``gamma`` and ``z``; ``w.(x_i - x_k)`` of each pair asked about; which of them ``w`` wins.
    Differences within ``tolerance`` of the margin count as wins, as they do for a solver.
    """
    instance, wins = info.layout.instance, info.layout.wins
    options, weights = instance.options, np.asarray(w, dtype=np.float64)
    if weights.shape != instance.lower.shape or not np.isfinite(weights).all():
        raise FormulationError(
            f"w has shape {weights.shape}; give one finite weight for each of {instance.lower.size}."
        )
    difference = differences(instance, wins, weights)
    won = (wins.state == WON) | ((wins.state == OPEN) & (difference >= options.epsilon - tolerance))
    violated = _violated(instance, weights, tolerance)
    least = difference.min(initial=0.0)
    if violated is None and options.big_m == "unit" and least < options.epsilon - 1 - tolerance:
        i, k = wins.pairs[difference.argmin()].tolist()
        violated = f"above_by_margin[{i},{k}]: w.(x_{i} - x_{k}) = {least:.6g} is below epsilon - 1"
    violated = _in_gap(instance, wins, difference, tolerance) if violated is None else violated
    if violated is not None:
        return Assignment(None, violated), difference, won
    values = named("w", dict(enumerate(weights)))
    if instance.switched:
        values |= named("g", {j: weights[j] != 0 for j in instance.counted})
    return Assignment(values | named("z", dict(zip(wins.open, won[wins.state == OPEN])))), difference, won


def _in_gap(instance: Instance, wins: Wins, difference: Floats, tolerance: float) -> str | None:
    """The pair whose difference lies where ``win_when_above`` allows none, or None."""
    options = instance.options
    gap = (difference > tolerance) & (difference < options.epsilon - tolerance)
    if options.big_m == "unit":
        gap |= difference > 1 + tolerance
    if not (options.two_sided and gap.any()):
        return None
    at = int(np.flatnonzero(gap)[0])
    i, k = wins.pairs[at].tolist()
    where = "strictly between 0 and epsilon" if difference[at] < options.epsilon else "above 1"
    return f"win_when_above[{i},{k}]: w.(x_{i} - x_{k}) = {difference[at]:.6g} is {where}"


def _violated(instance: Instance, weights: Floats, tolerance: float) -> str | None:
    """The limit on the weights alone that they violate, if any."""
    outside = np.flatnonzero((weights < instance.lower - tolerance) | (weights > instance.upper + tolerance))
    if outside.size:
        j = int(outside[0])
        limits = f"[{instance.lower[j]:.17g}, {instance.upper[j]:.17g}]"
        return f"bounds of w[{j}]: {weights[j]:.17g} lies outside {limits}"
    if instance.options.by_sum and abs(weights.sum() - 1) > tolerance:
        return f"weight_sum: the weights have the sum {weights.sum():.17g}, not 1"
    for i, (a, side, text) in enumerate(instance.options.rows):
        if a @ weights < side - tolerance:
            return f"weight_row[{i}]: {text!r} misses its side by {side - a @ weights:.6g}"
    limit, used = instance.options.max_features, int(np.count_nonzero(weights[instance.counted]))
    if limit is not None and used > limit:
        return f"support_limit: {used} non-zero weights, at most {limit} allowed"
    return None
