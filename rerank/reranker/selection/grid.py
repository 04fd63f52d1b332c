"""From a grid to its options, and from their held-out scores to the choice."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from rerank.errors import InputError
from rerank.io.options import one_of
from rerank.reranker.estimator import Reranker
from rerank.reranker.evidence import RULES
from rerank.reranker.selection.judge import Judged
from rerank.reranker.state import FittedState
from rerank.reranker.words import kept_in_words
from rerank.statistics import RankStatistic, parse

RADII = (0.03, 0.1)
"""Radii that are tried by default, in deviations of the first stage's score; 0 is the first stage itself."""

CORRECTIONS = 3
"""Columns that are corrected by default; docs/decisions/0062 has what was tried."""

WIDE = (0.3, 1.0)
"""Radii with corrections of every column, for pairs of one list, which held-out rows judge well (decision 0065)."""

MARGIN, WINDOW = 0.1, 2.0
"""Margin and window that go with them."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The choice by held-out scores.

    Attributes
    ----------
    best : int
        The option that is chosen, or that came closest.
    first_stage_kept : bool
    score : float
        Mean held-out statistic of what is kept.
    """

    best: int
    first_stage_kept: bool
    score: float


def candidates_of(grid: Any, base: Reranker, n_features: int, lists: bool = False) -> list[dict[str, Any]]:
    """Every combination of a grid, or of the default one for so many columns and one list or several.

    Raises
    ------
    InputError
        For a value that is not a grid, an empty grid, unknown parameters, and parameters that change the statistic or
        the first stage.
    """
    try:
        candidates = list(ParameterGrid(_default(base, n_features, lists) if grid is None else grid))
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


def _default(base: Reranker, n_features: int, lists: bool) -> list[dict[str, list[Any]]]:
    """Radii around the first stage, few corrections, a margin, and a window where the statistic has a depth."""
    grid: dict[str, list[Any]] = {"radius": list(RADII)}
    if base.formulation == "resolved_rank":
        # That program cannot correct a given score. It also forbids differences between 0 and the margin.
        return [{} if parse(base.stat).counts_pairs else {"thinning": [None, 0.8]}]
    if base.margin is None and base.epsilon == "auto":
        grid["margin"] = [MARGIN]
    if base.window is None and base.thinning is None and parse(base.stat).depth is not None:
        grid["window"] = [WINDOW]
    wide: list[dict[str, list[Any]]] = []
    if told_well(parse(base.stat), lists):
        wide, grid = [grid | {"radius": list(WIDE)}], grid | {"radius": list(RADII[-1:])}
    if base.max_features is None and n_features > CORRECTIONS:
        grid = grid | {"max_features": [CORRECTIONS]}
    return [grid, *wide]


def told_well(statistic: RankStatistic, lists: bool) -> bool:
    """Whether held-out rows tell leads well: every pair of one list counts, and not a few places."""
    return statistic.counts_pairs and not lists


def check_rule(rule: Any, safeguard: Any, statistic: RankStatistic, lists: bool) -> tuple[str, float]:
    """The rule, by default the one for the statistic and for one list or several, and the safeguard.

    Raises
    ------
    InputError
        For a rule that does not exist, and a safeguard that is no number.
    """
    if rule is None:
        return "best" if told_well(statistic, lists) else "mean", check_safeguard(safeguard)
    one_of("rule", rule, RULES)
    return str(rule), check_safeguard(safeguard)


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


def radii(candidates: Sequence[dict[str, Any]], base: Reranker) -> list[float]:
    """The radius of each option, ``inf`` for free weights."""
    radii = [options.get("radius", base.radius) for options in candidates]
    return [math.inf if radius is None else float(radius) for radius in radii]


def choose(judged: Judged, radii: Sequence[float], rule: str, safeguard: float) -> Choice:
    """The option to keep, or the first stage.

    The mean lead over the first stage decides, smaller radius first: a larger radius is looked at only if the one
    before it leads, and taken only if it leads by more. The strict rule asks the same of the mean lead less
    ``safeguard`` standard errors. By the best rule the largest mean lead decides, the smaller radius of equal ones.
    Options that were not tried on most folds are not chosen.

    Parameters
    ----------
    judged : Judged
    radii : sequence of float
        Of each option; ``inf`` for free weights.
    rule : {"mean", "best", "strict"}
    safeguard : float
        Number of standard errors; ``inf`` and ``-inf`` decide for the first stage and for reranking.
    """
    scores, alone, usable = judged.mean_scores, float(judged.alone.mean()), judged.usable
    if math.isnan(alone) or (safeguard == -math.inf and usable.any()):
        best = int(np.argmax(np.where(usable, judged.means, -math.inf)))
        return Choice(best, False, float(scores[best]))
    leads = np.where(usable, judged.mean_leads, -math.inf)
    if safeguard == math.inf:
        return Choice(int(np.argmax(leads)), True, alone)
    clear = leads
    if rule == "strict" and safeguard:
        clear = leads - safeguard * np.where(usable, judged.errors, 0.0)
    best, lead = -1, 0.0
    for radius in sorted(set(radii)):
        own = [number for number, other in enumerate(radii) if other == radius]
        first = max(own, key=lambda number: clear[number])
        if clear[first] > lead:
            best, lead = first, float(clear[first])
        elif rule != "best":
            break
    if best < 0:
        return Choice(int(np.argmax(leads)), True, alone)
    return Choice(best, False, float(scores[best]))


def first_stage_kept(state: FittedState) -> FittedState:
    """The state with its first stage kept, and the status of that."""
    result, alone = state.result, state.result.first_stage_statistic
    if not state.reranks or alone is None:
        return state
    notes = kept_in_words(state.settings, state.first_stage, state.columns)
    kept = replace(result, status="first_stage_kept", statistic=alone).noting(*notes)
    return replace(state, reranks=False, result=kept)
