r"""Regularised AUC: the weights that win the most pairs of different gain.

Symbols

=============  ========================================================================================
``i``, ``k``   rows of one list, ``i`` of higher gain
``w_j``        weight of feature ``j``, in ``[-1, 1]``
``gamma_j``    1 when feature ``j`` may carry a weight (only if features are penalised or limited)
``z_ik``       1 when item ``i`` is scored at least ``epsilon`` above item ``k``
``g``          step of the coefficients: ``a_l = a_1 + (l - 1) g``; 1 for the AUC
``v_i - v_k``  sum of the factors of the units in which ``i`` is positive and ``k`` negative
``M_ik``       ``epsilon`` minus the least value of ``w.(x_i - x_k)`` in the box
=============  ========================================================================================

Maximise ``statistic``: ``sum_ik g (v_i - v_k) z_ik``, less ``C sum_j gamma_j``, and a constant. For one binary list
the sum is the number of correct pairs. Ranks of positives add up to the correct pairs plus ``n_+ (n_+ - 1) / 2``; the
constant is that, times ``g`` and the factor of each unit, and ``n_+ a_1``.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_when_above`` (option two_sided)
    ``w.(x_i - x_k) / U_ik <= z_ik``: whoever is above wins, as in ``resolved_rank``; the optimum may be lower.

The optimum is the optimum of the problem itself for the AUC; scaling ``w`` up to the surface of the box loses no
pair won and changes no zero, so no normalisation is needed.

Source: [RudinWang2018, appendix A.1].
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, documented, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Coefficients, Floats, GradedList
from formulations.errors import FormulationError
from formulations.options import Instance, instance_of
from formulations.wins import Layout, asked_pairs, pair_layout, wins_of

NAMES = ("statistic", "w", "gamma", "z", "above_by_margin", "switch_up", "switch_down")
PARTS = dict.fromkeys(NAMES, ("", "A.1"))  # appendix of [RudinWang2018] that states the component


@uncollected()
def build(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    name: str = "auc",
    **options: Any,
) -> pyo.ConcreteModel:
    """The AUC program; parameters and errors as for :func:`formulations.subrank.build`.

    ``coefficients`` default to ``a_l = l`` and must grow by equal steps. ``linking``, ``cuts`` and ``extra_cuts``
    change nothing here: the program has no ranks.

    Returns
    -------
    ConcreteModel
        With ``w``, ``z`` (and ``gamma``), the families named above and ``rerank_info``.
    """
    paid = _ranks if coefficients is None else coefficients
    layout = _layout(instance_of(X, y, paid, qid=qid, units=units, **options))
    model = new_model("auc", name, layout, PARTS)
    model.statistic = statistic(model, model.z)
    return documented(model, PARTS)


def most_nonzeros(X: ArrayLike, y: Any = None, coefficients: Any = None, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(instance_of(X, y, _ranks if coefficients is None else coefficients, **options)).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    return start(model.rerank_info, w, tolerance)[0]


def _ranks(m: int) -> Floats:
    return np.arange(1.0, m + 1.0)


def _layout(instance: Instance) -> Layout:
    wins = wins_of(instance, asked_pairs(instance, "auc", lambda item, i, k: item.grade[i] > item.grade[k]))
    earned = np.zeros(instance.X.shape[0])
    constant = 0.0
    for item in instance.lists:
        step = _step(item)
        earned[item.rows] = step * item.factor
        for unit in item.units:
            n = unit.positive.size
            constant += unit.factor * (n * float(item.coefficients[0]) + step * n * (n - 1) / 2)
    return pair_layout(instance, wins, earned[wins.pairs[:, 0]] - earned[wins.pairs[:, 1]], constant, 1)


def _step(item: GradedList) -> float:
    """The common step of the coefficients of a list."""
    steps = np.diff(item.coefficients)
    if steps.size and not np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        raise FormulationError(
            "The auc program needs coefficients that grow by equal steps; use subrank or mixed for others."
        )
    return float(steps.mean()) if steps.size else 0.0
