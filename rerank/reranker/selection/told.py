"""A choice by held-out rows in words."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from rerank.io.shown import ShownMixin, html_table
from rerank.reranker.shown import html_of, text_of
from rerank.statistics import RankStatistic, parse

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker


def option_names(found: Mapping[str, Any]) -> list[str]:
    """Each option by the parameters in which options differ."""
    params = list(found["params"])
    varied = [name for name in params[0] if any(one.get(name) != params[0][name] for one in params)] or list(params[0])
    return [" ".join(f"{name} {one.get(name)}" for name in varied) or "as given" for one in params]


def report(
    found: Mapping[str, Any], judge: str, statistic: str, chosen: int | None, null: str = "the first stage"
) -> str:
    """A table of the options, and what was chosen and why.

    Parameters
    ----------
    found : mapping
        ``cv_results_``.
    judge, statistic : str
        What leads are measured by, and the user's own statistic.
    chosen : int or None
        Number of the option; None if the first stage was kept.
    null : str
        What had to be led, if it is no first stage.
    """
    first, rows, last = _told(found, judge, statistic, chosen, null)
    width = max(len(row[0]) for row in rows)
    lines = [f"{name:{width}}  {lead:>10}  {error:>8}  {mean}" for name, lead, error, mean in rows]
    return "\n".join([first, *lines, last])


def report_html(
    found: Mapping[str, Any], judge: str, statistic: str, chosen: int | None, null: str = "the first stage"
) -> str:
    """The same as a piece of a page."""
    first, rows, last = _told(found, judge, statistic, chosen, null)
    table = html_table(rows, ("left", "right", "right", "left"))
    return f"<p>{escape(first)}</p>{table}<p><b>{escape(last)}</b></p>"


def _told(
    found: Mapping[str, Any], judge: str, statistic: str, chosen: int | None, null: str
) -> tuple[str, list[tuple[str, str, str, str]], str]:
    """What the leads are, the rows of the table under their heads, and what was chosen."""
    names = option_names(found)
    rows = [("option", "lead", "error", f"{statistic} of a fold")]
    rows.append((null.removeprefix("the "), f"{0:+.4g}", "", f"{found['first_stage'].mean():.6g}"))
    for number, name in enumerate(names):
        mark = " *" if number == chosen else ""
        lead, error, mean = (found[key][number] for key in ("mean_lead", "lead_error", "mean_score"))
        rows.append((name, f"{lead:+.4g}", f"{error:.2g}", f"{mean:.6g}{mark}"))
    end = f"{null[:1].upper()}{null[1:]} is kept." if chosen is None else f"Chosen (*): {names[chosen]}."
    return f"Lead over {null} by {judge} on held-out rows.", rows, end


class ToldMixin(ShownMixin):
    """Text and HTML of a choice by held-out rows."""

    cv_results_: dict[str, Any]
    judge_: RankStatistic
    chosen_: int | None
    best_estimator_: Reranker

    def report(self) -> str:
        """Lead, error and statistic of every option, and what was chosen."""
        check_is_fitted(self, "best_estimator_")
        return report(self.cv_results_, self.judge_.name, self._quoted(), self.chosen_)

    def _shown(self) -> tuple[str, str] | None:
        if not hasattr(self, "best_estimator_"):
            return None
        result = self.best_estimator_.result_
        given = (self.cv_results_, self.judge_.name, self._quoted(), self.chosen_)
        return f"{self.report()}\n\n{text_of(result)}", report_html(*given) + html_of(result)

    def _quoted(self) -> str:
        return parse(self.best_estimator_.stat).name
