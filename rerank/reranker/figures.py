"""The numbers of a fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from rerank.ranks.rationals import is_closed
from rerank.reranker.evidence import Evidence
from rerank.reranker.solution import KEEPING, Asked, ShortlistInfo, Solution
from rerank.statistics.base import Ties


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Figures(Solution):
    """The numbers of a fit, those of a solution and these.

    ``statistic`` is that of the fitted ranking on the training data, without margin and penalty, equal scores as
    ``ties`` says: "average" makes a tied pair one half, as scikit-learn's ``roc_auc_score`` does, and "pessimistic"
    counts it against the relevant row, as value and bound do. ``theorem`` says whether Subrank and ResolvedRank
    provably share their optimum on this data (corrected Theorem 4.2). ``evidence`` is what held-out rows said of each
    option, where ``RerankerCV`` or ``--cv`` chose them: ``evidence.report()`` prints it and ``evidence.plot()`` draws
    it.
    """

    statistic: float
    status: str  # one of STATUSES
    statistic_name: str
    fitted_name: str  # what has value and bound; another statistic with a window or a list length
    gain: str
    epsilon: float
    C: float
    n_lists: int
    n_empty_lists: int  # left out of the mean because nothing in them can be ranked
    shortlist: ShortlistInfo
    seconds: Mapping[str, float]  # wall time of each phase, of compiling and loading kernels, and in all
    first_stage_statistic: float | None = None  # of the first stage's order, out-of-fold scores if ``folds`` is not 0
    solver: str | None = None  # the one that was asked for
    theorem: str = ""
    folds: int = 0  # for out-of-fold scores; 0 where the first stage's scores are its own
    grouped: bool = False  # whether rows belonged to groups, which are never in two folds
    left_out: tuple[str, ...] = ()  # columns that are not reranked, because of what they hold
    ties: Ties = "pessimistic"
    evidence: Evidence | None = None
    said: str = ""  # what stands for the message, where the fit is one of something else, such as runs
    asked: Asked = field(default_factory=Asked)

    @classmethod
    def of(cls, solution: Solution, **rest: Any) -> Self:
        """The numbers of a fit that ended in ``solution``."""
        return cls(**{each.name: getattr(solution, each.name) for each in fields(Solution)}, **rest)

    @property
    def reached(self) -> float | None:
        """Value over bound, between 0 and 1; None where no such share says anything."""
        if not (self.bound > 0 and self.value >= 0):
            return None
        return 1.0 if self.proved else min(1.0, self.value / self.bound)

    @property
    def proved(self) -> bool:
        """Whether the gap is closed, and the order of the shortlist matters."""
        return is_closed(self.gap, self.value) and not self.status.startswith("nothing")

    @property
    def keeps_first_stage(self) -> bool:
        """Whether the first stage's order is the answer."""
        return self.status in KEEPING and self.first_stage_statistic is not None
