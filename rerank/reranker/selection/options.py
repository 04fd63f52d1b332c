"""The options of a choice: from a grid, or by default from the first stage itself to free weights."""

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rerank.errors import InputError
from rerank.io.frames import is_sparse
from rerank.io.options import of_today
from rerank.reranker.data import Data
from rerank.reranker.evidence import interval
from rerank.reranker.first_stage import TOP, is_logistic, is_own_name, memorises, top_of, variant_options
from rerank.reranker.members import by_members
from rerank.reranker.options import RENAMED, Params, RerankerOptions, may_correct, values_of
from rerank.statistics import parse

Base = TypeVar("Base", bound=RerankerOptions)
Key = TypeVar("Key")

SIMPLE = ("logistic+squares", "logistic+head10", "logistic+head20", "logistic+head40", "logistic+balanced")
"""Simple first stages that are tried beside logistic regression, and named beside any other first stage."""

STRONG = ("trees", "forest", ["logistic", "logistic+squares", "trees", "forest"])
"""For ``first_stage="auto"``: first stages that are no sum of columns, and their blend with those that are."""

SMALL, LARGE = (0.03,), (0.3, 1.0, 3.0, None)
"""Radii by which these are corrected, and logistic regression beside them: larger corrections of trees lose what they
have found, and small ones of logistic regression find what a blend finds (docs/decisions/0035).
"""

RADII = (0.03, 0.1, 0.3, 1.0, 3.0, None)
"""Radii that are tried by default, in deviations of the first stage's score; None is for free weights."""

FEW, FEW_RADIUS = 3, 0.1  # few columns, and the radius of their corrections
MARGIN, WINDOW = 0.1, 2.0  # margin and window that go with a radius (docs/decisions/0026 has what was measured)
SAFEGUARD = 2.0  # standard errors that a lead has to exceed by default (docs/decisions/0026)


@dataclass(frozen=True)
class Option:
    """Parameters of the reranker. A rival is only compared: it would replace a score that the user gave."""

    params: Params
    rival: bool = False

    @property
    def radius(self) -> float:
        """``inf`` for free weights."""
        radius = self.params.get("radius", 0.0)
        return math.inf if radius is None else float(radius)

    @property
    def first_stage_alone(self) -> bool:
        """Whether it is another first stage, and nothing corrects it."""
        return "first_stage" in self.params and self.radius == 0.0


def options_of(grid: Any, base: RerankerOptions, data: Data, strong: bool = False) -> list[Option]:
    """Every combination of a grid, or the default options for a table, cheap ones first; with ``strong`` ones too."""
    if grid is None:
        return _default_options(base, data, strong)
    candidates, known = _combinations(grid), values_of(base)
    for name in sorted({name for candidate in candidates for name in candidate} - known.keys()):
        raise InputError(f"grid varies {name!r}; a Reranker has {', '.join(sorted(known))}.")
    for name in ("stat", "gain"):
        if any(name in candidate for candidate in candidates):
            raise InputError(f"grid varies {name!r}, which is what the choice is judged by; fix it.")
    return [Option({"radius": base.radius, **candidate}) for candidate in candidates]


def _uncorrected(name: Any, base: RerankerOptions) -> Params:
    """Parameters of another first stage as it is, which may be no blend."""
    return {"first_stage": name, "radius": 0.0} | ({"features": None} if by_members(base.features) else {})


def _combinations(grid: Any) -> list[Params]:
    from sklearn.model_selection import ParameterGrid

    try:
        candidates = [of_today(each, RENAMED) for each in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise InputError(f"grid cannot be read ({error}); give a mapping from names to lists.") from None
    if not candidates:
        raise InputError("grid is empty; give a mapping from names to lists, {} for the reranker as it is.")
    return candidates


def _default_options(base: RerankerOptions, data: Data, strong: bool) -> list[Option]:
    if not may_correct(base):
        return [Option({"radius": None})]
    most, stage = base.max_features, base.first_stage
    few = most is None or len(data.rows.columns.inputs) <= most or top_of(stage) == most
    if not few and is_own_name(stage):  # a score that is given is one column
        return [Option({"radius": None})]  # all others rank by more columns
    own = isinstance(base.first_stage, str) and base.first_stage == "logistic"
    # A first stage that is no sum of the columns would have no weights for constraints and signs.
    none = base.first_stage is None or is_sparse(data.rows.given) or base.constraints
    several = parse(base.stat).by_order and len(set(data.y.tolist())) > 2  # of which no logistic regression knows
    strong = strong and most is None and not (none or several or np.any(base.positive))
    named = () if none or several else (*SIMPLE, *(STRONG if strong else ()))
    return [Option(_uncorrected(name, base), rival=not own) for name in named] + corrections(
        base, data, radii=LARGE if strong else RADII
    )


def limited(base: Base, data: Data) -> Base:
    """The reranker with a logistic regression on at most ``max_features`` columns, where it learns from numbers."""
    name, most, columns = base.first_stage, base.max_features, data.rows.columns
    plain = not is_sparse(data.rows.given) and columns.numeric.size == len(columns.inputs)
    known = is_logistic(name) and top_of(name) is None and not variant_options(name).keys() - {"balanced"}
    if most is None or not plain or not known or len(columns.inputs) <= most:
        return base
    return replace(base, first_stage=f"{name}+{TOP}{most}")


def corrections(
    base: RerankerOptions, data: Data, first_stage: Any = None, radii: Sequence[float | None] = RADII
) -> list[Option]:
    """Corrections of a first stage by growing radius; where the base has squares, the columns alone come before."""
    squares, found = data.rows.columns.squares is not None, list[Option]()
    for columns in [{"features": base.features.features}, {"features": base.features}] if squares else [{}]:
        fixed: Params = ({} if first_stage is None else {"first_stage": first_stage}) | columns
        if base.window is None and parse(base.stat).counts_places:
            fixed["window"] = WINDOW
        automatic = base.margin in (None, "auto")
        anchored = fixed | ({"margin": MARGIN} if automatic else {})
        free = fixed if automatic or base.normalise else fixed | {"margin": "auto"}  # it is of corrections
        radii = SMALL if memorises(first_stage) else radii
        found += [Option((free if radius is None else anchored) | {"radius": radius}) for radius in radii]
        if base.max_features is None and data.X.shape[1] > FEW:
            found.append(Option(anchored | {"radius": FEW_RADIUS, "max_features": FEW}))
    return found


def check_safeguard(safeguard: Any) -> float:
    """The safeguard as a float, ``inf`` and ``-inf`` among them."""
    if not isinstance(safeguard, numbers.Real) or isinstance(safeguard, bool) or math.isnan(safeguard):
        spelled = "NaN" if isinstance(safeguard, float) else repr(safeguard)
        raise InputError(f"safeguard is {spelled}; it must be a number of standard errors.")
    return float(safeguard)


class Lead(NamedTuple):
    """Held-out statistic of an option and of the first stage, and the lead with its standard error."""

    value: float
    alone: float
    lead: float
    error: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The lead less and plus 1.96 standard errors; None where its error is not known."""
        return interval(self.lead, self.error)

    def less(self, safeguard: float) -> float:
        """The lead less so many standard errors; ``-inf`` where that is not known, which is no reason to move."""
        found = self.lead - (safeguard * self.error if safeguard else 0.0)
        return -math.inf if math.isnan(found) else found


NOT_TRIED = Lead(math.nan, math.nan, math.nan, math.nan)


def contends(lead: Lead, leads: Sequence[Lead], safeguard: float = SAFEGUARD) -> bool:
    """Whether further deals may show an option to be the best: it leads by half of what a lead has to exceed, and by no
    less than is clear of another one. Deals hold out the same rows, so that their leads differ by less than an error.
    """
    clear = max((lead.lead - SAFEGUARD * lead.error for lead in leads if lead.error >= 0), default=0.0)
    half = 0.5 * safeguard * lead.error if 0 < safeguard < math.inf else 0.0
    return lead.lead > 0 and not lead.lead < max(clear, half if lead.error >= 0 else 0.0)


def beside(leads: Sequence[Lead], alone: float) -> list[Lead]:
    """The leads over one value of the first stage: each is of two rankings made alike, on deals of its own number."""
    return [lead if math.isnan(lead.lead) else Lead(alone + lead.lead, alone, lead.lead, lead.error) for lead in leads]


def cv_results(
    params: Sequence[Params],
    leads: Sequence[Lead],
    rivals: Sequence[bool],
    rounds: Sequence[Sequence[float]] = (),
    base: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """``cv_results_`` of a choice: lists with an entry for each option, as a data frame takes them. ``rounds`` are the
    values of each option by deal of the folds. Every option has all parameters that some option varies: those that it
    does not name are as in ``base``.
    """
    numbers = {name: [lead[k] for lead in leads] for k, name in enumerate(("value", "first_stage", "lead", "error"))}
    varied = sorted(dict.fromkeys(name for option in params for name in option))
    whole = [{name: option.get(name, base.get(name)) for name in varied} for option in params]
    values: dict[str, list[Any]] = {f"param_{name}": [option[name] for option in whole] for name in varied}
    means = numbers["value"]
    values["mean_test_score"] = list(means)
    values["std_test_score"] = [float(np.std(own)) if own else math.nan for own in rounds or [()] * len(leads)]
    order = np.nan_to_num(-np.array(means, dtype=np.float64), nan=math.inf)  # those that were not tried are last
    values["rank_test_score"] = (1 + (order[None, :] < order[:, None]).sum(axis=1)).tolist()
    for k in range(max(map(len, rounds), default=0)):
        values[f"split{k}_test_score"] = [values_of[k] if k < len(values_of) else math.nan for values_of in rounds]
    return {"params": whole, **numbers, "rival": list(rivals), **values}


def best_of(
    options: Sequence[Option],
    leads: Sequence[Lead],
    safeguard: float,
    by_auc: Mapping[int, Lead] = MappingProxyType({}),
) -> int | None:
    """The option with the largest lead less ``safeguard`` standard errors, if above 0, of equal ones the smaller
    correction; else the :func:`clearest` one ``by_auc``. None keeps the first stage, as ``inf`` does. ``-inf``, or
    nothing to lead, takes the largest statistic.
    """
    able = [k for k, option in enumerate(options) if not option.rival and not math.isnan(leads[k].value)]
    if not able:
        return None
    if safeguard == -math.inf or math.isnan(leads[able[0]].lead):
        return max(able, key=lambda k: (leads[k].value, -options[k].radius))
    if safeguard == math.inf:
        return None
    return clearest({k: leads[k] for k in sorted(able, key=lambda k: options[k].radius)}, by_auc, safeguard)


def clearest(leads: Mapping[Key, Lead], by_auc: Mapping[Key, Lead], safeguard: float) -> Key | None:
    """What has the largest lead less ``safeguard`` standard errors, if above 0; else, of what leads at all, what has
    the largest lead ``by_auc`` less as many, if above 0 (docs/decisions/0026). Of equal ones the first.
    """
    for some in (leads, {key: by_auc[key] for key, lead in leads.items() if key in by_auc and lead.lead > 0}):
        best = max(some, key=lambda key: some[key].less(safeguard), default=None)
        if best is not None and some[best].less(safeguard) > 0:
            return best
    return None
