"""A choice by held-out rows in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rerank.io.shown import ShownMixin
from rerank.reranker.evidence import Evidence, one_line
from rerank.reranker.shown import html_of, text_of
from rerank.statistics import RankStatistic, parse

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker


UNTRIED = (
    "The first stage's scores of the folds were not ready in time, so no option was tried and the first stage is kept; "
    "raise time_limit."
)
"""What is said of a choice without a fold."""


def option_names(found: Mapping[str, Any]) -> list[str]:
    """Each option by the parameters in which options differ."""
    params = list(found["params"])
    varied = [name for name in params[0] if any(one.get(name) != params[0][name] for one in params)] or list(params[0])
    return [" ".join(f"{name} {one[name]}" for name in varied if name in one) or "as given" for one in params]


def evidence(found: Mapping[str, Any], judge: str, statistic: str, chosen: int | None, **rest: Any) -> Evidence:
    """The numbers of a choice as what can be told, drawn and kept.

    Parameters
    ----------
    found : mapping
        ``cv_results_``.
    judge, statistic : str
        What leads are measured by, and the user's own statistic.
    chosen : int or None
        Number of the option; None if the first stage was kept.
    **rest
        Further attributes of ``Evidence``: the rule, or what had to be led.
    """
    means, alone = (
        found["mean_score"].tolist(),
        float(np.mean(found["first_stage"] if found["first_stage"].size else np.nan)),
    )
    leads, errors = ([None if math.isnan(one) else one for one in found[f"{of}"].tolist()]
                     for of in ("mean_lead", "lead_error"))  # fmt: skip
    return Evidence(
        options=tuple(map(one_line, option_names(found))), leads=tuple(leads), errors=tuple(errors),
        means=tuple(means), first_stage=None if math.isnan(alone) else alone, judge=one_line(judge),
        statistic=statistic, chosen=chosen, folds=found["first_stage"].size, **rest,
    )  # fmt: skip


class ToldMixin(ShownMixin):
    """Text, HTML and picture of a choice by held-out rows."""

    rule_: str
    safeguard: float
    cv_results_: dict[str, Any]
    judge_: RankStatistic
    chosen_: int | None
    best_estimator_: Reranker

    def report(self) -> str:
        """Lead, error and statistic of every option, and what was chosen."""
        check_is_fitted(self, "best_estimator_")
        return self._evidence().report() if self.cv_results_["first_stage"].size else UNTRIED

    def _shown(self) -> tuple[str, str] | None:
        if not hasattr(self, "best_estimator_"):
            return None
        result = self.best_estimator_.result_
        if not self.cv_results_["first_stage"].size:  # a note of the result says it
            return text_of(result), html_of(result)
        found = self._evidence()
        return f"{found.report()}\n\n{text_of(result)}", found.html() + html_of(result)

    def _evidence(self) -> Evidence:
        """What the choice was made by."""
        name = parse(self.best_estimator_.stat).name
        rest = {"rule": self.rule_, "safeguard": float(self.safeguard)}
        return evidence(self.cv_results_, self.judge_.name, name, self.chosen_, **rest)
