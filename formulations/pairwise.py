r"""Pairwise preferences: the weights that satisfy the heaviest set of "this row above that row".

Symbols

=============  ========================================================================================
``i``, ``k``   rows of ``X`` with a preference of ``i`` over ``k``
``pi_ik``      its weight, positive; preferences need be neither bipartite nor transitive
``w_j``        weight of feature ``j``, in ``[-1, 1]``
``gamma_j``    1 when feature ``j`` may carry a weight (only if features are penalised or limited)
``z_ik``       1 when item ``i`` is scored at least ``epsilon`` above item ``k``
``M_ik``       ``epsilon`` minus the least value of ``w.(x_i - x_k)`` in the box
=============  ========================================================================================

Maximise ``statistic``: ``sum_ik pi_ik z_ik``, less ``C sum_j gamma_j``.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_when_above`` (option two_sided)
    ``w.(x_i - x_k) / U_ik <= z_ik``: whoever is above wins, as in ``resolved_rank``; the optimum may be lower.
``one_above``
    ``z_ik + z_ki <= 1`` where both are preferred (extra cut).

It is a statistic of its own: no ranks, no coefficients, no ties to resolve. Divide the weights by their sum to read
the optimum as a fraction.

Source: [RudinWang2018, appendix A.2], the setting of RankBoost.
"""

from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from scipy import sparse

from formulations.common import Assignment, documented, family, linear, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Floats, Indices
from formulations.errors import FormulationError
from formulations.options import BuilderOptions, Instance, rows_of
from formulations.wins import Layout, mutual_pairs, pair_layout, wins_of

Preferences: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike]  # also a sparse matrix; SciPy has no types for one
NAMES = ("statistic", "w", "gamma", "z", "above_by_margin", "switch_up", "switch_down")
# Appendix of [RudinWang2018] that states the component.
PARTS = dict.fromkeys(NAMES, ("", "A.2")) | {"one_above": ("X", "ours")}


def preferences_from_gains(gains: ArrayLike, qid: ArrayLike | None = None) -> tuple[Indices, Floats]:
    """Every pair of one list in which the first row has the higher gain, each with weight 1.

    Parameters
    ----------
    gains : array (n,)
        Labels, grades or any numbers.
    qid : array (n,), optional
        List of each row; all rows are one list if omitted.

    Returns
    -------
    pairs : intp array (p, 2)
    weights : float64 array (p,)
    """
    values = np.asarray(gains, dtype=np.float64)
    names = np.zeros(values.size, np.intp) if qid is None else np.asarray(qid)
    if values.ndim != 1 or names.shape != values.shape:
        raise FormulationError(f"gains has shape {values.shape} and qid {names.shape}; give one entry a row.")
    found = [np.empty((0, 2), np.intp)]
    for q in np.unique(names):
        rows = np.flatnonzero(names == q)
        i, k = np.nonzero(values[rows][:, None] > values[rows][None, :])
        found.append(np.stack([rows[i], rows[k]], axis=1))
    pairs = np.concatenate(found)
    return pairs, np.ones(len(pairs))


@uncollected()
def build(X: ArrayLike, preferences: Preferences, *, name: str = "pairwise", **options: Any) -> pyo.ConcreteModel:
    """The program of weighted preferences.

    Parameters
    ----------
    X : array (n, d)
    preferences : array or sparse matrix (n, n), or pair of arrays (p, 2) and (p,)
        ``pi_ik``, or the pairs ``(i, k)`` and their weights. Repeated pairs add up.
    name : str
        Name of the model and of its files.
    **options
        Fields of :class:`formulations.options.BuilderOptions`; ``linking`` and ``cuts`` change nothing here.

    Returns
    -------
    ConcreteModel
        With ``w``, ``z`` (and ``gamma``), the families named above and ``rerank_info``.

    Raises
    ------
    FormulationError
        For a negative weight, a row preferred to itself, or no preference at all.
    ModelTooLarge
        If the program may have more than ``max_nonzeros`` non-zeros.
    """
    layout = _layout(X, preferences, options)
    model = new_model("pairwise", name, layout, PARTS)
    z = model.z
    model.statistic = statistic(model, z)
    both = mutual_pairs(layout.wins) if layout.instance.options.extra_cuts else []
    model.one_above = family(((i, k), linear((1, z[i, k]), (1, z[k, i])) <= 1) for i, k in both)
    return documented(model, PARTS)


def most_nonzeros(X: ArrayLike, preferences: Preferences, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(X, preferences, options).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    return start(model.rerank_info, w, tolerance)[0]


def _layout(X: ArrayLike, preferences: Preferences, options: dict[str, Any]) -> Layout:
    data, chosen = rows_of(X), BuilderOptions(**options)
    table = _table(preferences, data.shape[0])
    i, k = table.nonzero()
    instance = Instance(data, (), chosen, *chosen.limits(data.shape[1]))
    wins = wins_of(instance, np.stack([i, k], axis=1).astype(np.intp))
    gains = np.asarray(table[wins.pairs[:, 0], wins.pairs[:, 1]], dtype=np.float64).ravel()
    # A pair stands in above_by_margin and may stand in one_above.
    return pair_layout(instance, wins, gains, 0.0, 2)


def _table(preferences: Preferences, n: int) -> sparse.csr_array:
    """Preferences as a matrix without zeros; repeated pairs are added up."""
    if isinstance(preferences, tuple):
        pairs, weights = (np.asarray(preferences[0], dtype=np.intp), np.asarray(preferences[1], dtype=np.float64))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or weights.shape != (len(pairs),):
            raise FormulationError(f"Preferences have shapes {pairs.shape} and {weights.shape}; give (p, 2) and (p,).")
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < n):
            raise FormulationError(f"Preferences name a row outside 0..{n - 1}.")
        table = sparse.coo_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    else:
        table = sparse.csr_array(preferences, dtype=np.float64)
    if table.shape != (n, n):
        raise FormulationError(
            f"Preferences have shape {table.shape}; give one row and one column for each of {n} items."
        )
    if not np.isfinite(table.data).all() or (table.data < 0).any():
        raise FormulationError("Weights of preferences must be finite and not negative.")
    table.sum_duplicates()
    table.eliminate_zeros()
    if not table.nnz:
        raise FormulationError("No preference has a positive weight: there is nothing to rank.")
    if table.diagonal().any():
        raise FormulationError(
            f"Row {np.flatnonzero(table.diagonal())[0]} is preferred to itself; leave such pairs out."
        )
    return table
