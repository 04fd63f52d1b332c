"""A choice by held-out rows in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
    names = option_names(found)
    row = null.removeprefix("the ")
    width = max(len(name) for name in (*names, row))
    lines = [f"{'option':{width}}  {'lead':>10}  {'error':>8}  {statistic} of a fold"]
    lines.append(f"{row:{width}}  {0:>+10.4g}  {'':>8}  {found['first_stage'].mean():.6g}")
    for number, name in enumerate(names):
        mark = " *" if number == chosen else ""
        lead, error, mean = (found[key][number] for key in ("mean_lead", "lead_error", "mean_score"))
        lines.append(f"{name:{width}}  {lead:>+10.4g}  {error:>8.2g}  {mean:.6g}{mark}")
    end = f"{null[:1].upper()}{null[1:]} is kept." if chosen is None else f"Chosen (*): {names[chosen]}."
    return "\n".join([f"Lead over {null} by {judge} on held-out rows.", *lines, end])
