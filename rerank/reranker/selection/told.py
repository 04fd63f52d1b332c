"""A choice by held-out rows in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from rerank.io.shown import ShownMixin
from rerank.reranker.evidence import Evidence, one_line
from rerank.reranker.shown import html_of, text_of
from rerank.statistics import RankStatistic, parse

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker


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
        Further attributes of ``Evidence``: the rule, what had to be led, or what the last fit kept.
    """
    alone, folds = float(found["first_stage"].mean()), found["first_stage"].size
    leads, errors, means = (
        tuple(None if math.isnan(one) else one for one in found[name].tolist())
        for name in ("mean_lead", "lead_error", "mean_score")
    )
    tried = tuple(found["folds_tried"].tolist())
    return Evidence(
        options=tuple(map(one_line, option_names(found))), leads=leads, errors=errors, means=means,
        tried=() if set(tried) == {folds} else tried, first_stage=None if math.isnan(alone) else alone,
        judge=one_line(judge), statistic=statistic, chosen=chosen, folds=folds, **rest,
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
        return self._evidence().report()

    def _shown(self) -> tuple[str, str] | None:
        if not hasattr(self, "best_estimator_"):
            return None
        result, found = self.best_estimator_.result_, self._evidence()
        return f"{found.report()}\n\n{text_of(result)}", found.html() + html_of(result)

    def _evidence(self) -> Evidence:
        """What the choice was made by."""
        name = parse(self.best_estimator_.stat).name
        kept = self.best_estimator_.result_.keeps_first_stage
        rest = {"rule": self.rule_, "safeguard": float(self.safeguard), "fit_keeps": kept}
        return evidence(self.cv_results_, self.judge_.name, name, self.chosen_, **rest)
