"""From a grid to its options, and from their held-out scores to the choice."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from rerank.errors import InputError
from rerank.reranker.estimator import Reranker
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]

GRID: Mapping[str, list[Any]] = {"epsilon": ["auto", 0.05, 0.15], "thinning": [None, 0.8]}


@dataclass(frozen=True, eq=False)
class Choice:
    """The choice by held-out scores.

    Attributes
    ----------
    best : int
        The option with the largest mean; of equal means the first.
    first_stage_kept : bool
    score : float
        Mean held-out statistic of what is kept.
    means, leads, errors : float64 arrays (options,)
        Mean statistic, mean lead over the first stage, and standard error of the leads; ``inf`` for a single fold.
    """

    best: int
    first_stage_kept: bool
    score: float
    means: Floats
    leads: Floats
    errors: Floats


def candidates_of(grid: Any, base: Reranker) -> list[dict[str, Any]]:
    """Every combination of a grid, or of the default one.

    Raises
    ------
    InputError
        For a value that is not a grid, an empty grid, unknown parameters, and parameters that change the statistic or
        the first stage.
    """
    try:
        candidates = list(ParameterGrid(_default(base) if grid is None else grid))
    except (TypeError, ValueError) as error:
        raise InputError(f"grid cannot be read ({error}); give a mapping from names to lists.") from None
    if not candidates:
        raise InputError("grid is empty; give a mapping from names to lists, {} for the reranker as it is.")
    known = base.get_params(deep=False)
    for name in sorted({name for candidate in candidates for name in candidate} - known.keys()):
        raise InputError(f"grid varies {name!r}; a Reranker has {', '.join(sorted(known))}.")
    for name in ("stat", "gain", "first_stage"):
        if any(name in candidate for candidate in candidates):
            raise InputError(f"grid varies {name!r}, which is what the choice is judged by; fix it.")
    return candidates


def _default(base: Reranker) -> dict[str, list[Any]]:
    """The part of ``GRID`` that makes a difference for this reranker."""
    grid = dict(GRID)
    if parse(base.stat).counts_pairs or parse(base.stat).weighs_hits:
        # The expected AUC of a thinned list is that of the list itself; several relevant rows at once are not thinned.
        del grid["thinning"]
    if base.formulation == "resolved_rank" and base.solver != "search":
        # That program forbids differences between 0 and the margin, so a large margin excludes too many weights.
        del grid["epsilon"]
    return grid


def check_safeguard(safeguard: Any) -> float:
    """The safeguard as a float, ``inf`` and ``-inf`` among them.

    Raises
    ------
    InputError
    """
    if not isinstance(safeguard, numbers.Real) or isinstance(safeguard, bool) or math.isnan(safeguard):
        spelled = "NaN" if isinstance(safeguard, float) else repr(safeguard)
        raise InputError(f"safeguard is {spelled}; it must be a number of standard errors.")
    return float(safeguard)


def choose(scores: Floats, alone: Floats, safeguard: float) -> Choice:
    """The best option, or the first stage if the lead of the best option over it is not clear.

    Parameters
    ----------
    scores : float64 array (folds, options)
    alone : float64 array (folds,)
        Of the first stage; NaN if there is none, which is then never kept.
    safeguard : float
        Number of standard errors that a mean lead has to exceed; ``inf`` and ``-inf`` decide for all leads.
    """
    folds = alone.size
    means = scores.mean(axis=0)
    leads = scores - alone[:, None]
    errors = leads.std(axis=0, ddof=1) / math.sqrt(folds) if folds > 1 else np.full(means.size, math.inf)
    best = int(np.argmax(means))
    lead = float(leads[:, best].mean())
    if math.isinf(safeguard):
        kept = safeguard > 0 and not math.isnan(lead)
    else:
        # With a single fold the error is inf, and 0 * inf is NaN.
        kept = lead <= (safeguard * float(errors[best]) if safeguard else 0.0)
    score = float(alone.mean() if kept else means[best])
    return Choice(best, kept, score, means, leads.mean(axis=0), errors)


def first_stage_kept(state: FittedState) -> FittedState:
    """The state with its first stage kept, and the status and message of that."""
    result, alone = state.result, state.result.first_stage_statistic
    if not state.reranks or alone is None:
        return state
    message = (
        "Held-out rows do not speak clearly for reranking, so the first stage is kept. Of the reranking in training: "
        + result.message
    )
    kept = replace(result, status="first_stage_kept", statistic=alone, message=message)
    return replace(state, reranks=False, result=kept)
