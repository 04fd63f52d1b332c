"""What held-out rows said of the options of a fit: numbers, words and a picture, from a choice or from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from rerank.errors import InputError
from rerank.io.shown import html_table

RULES = ("mean", "best", "strict")
"""How leads decide: by their mean, smaller radius first, by the largest mean, or by their mean less some errors."""

WIDTH = 1.96
"""Standard errors on each side of a lead."""

LONGEST, DRAWN = 100, 40
"""Signs of a name that is kept, and of one in a picture."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Leads of the options over what had to be led, on rows that the fits of the folds had not seen.

    Attributes
    ----------
    options : tuple of str
        Each option by the parameters in which options differ.
    leads, errors : tuples of float or None
        Mean lead of each option by the judge, and its standard error, which allows for folds that share training rows.
        None if there was no first stage; an error of one fold is infinite.
    means : tuple of float or None
        Mean statistic of the rows held out in a fold.
    first_stage : float or None
        The same of the first stage.
    judge, statistic : str
        What leads are measured by, and the user's own statistic.
    chosen : int or None
        Number of the option; None if the first stage was kept.
    folds : int
        Folds that count, those of all repeats.
    rule : {"mean", "best", "strict"}
    safeguard : float
        Standard errors that the strict rule asks for; ``-inf`` keeps the reranking and ``inf`` the first stage.
    tried : tuple of int
        Folds on which each option had the time for a fit; empty if that was all of them.
    null : str
        What had to be led.
    fit_keeps : bool
        Whether the last fit, on all rows, kept the first stage.
    order : str
        How the rule goes through the options, in words; ``""`` for smaller radii first.
    """

    options: tuple[str, ...]
    leads: tuple[float | None, ...]
    errors: tuple[float | None, ...]
    means: tuple[float | None, ...]
    first_stage: float | None
    judge: str
    statistic: str
    chosen: int | None
    folds: int = 0
    rule: str = "mean"
    safeguard: float = 1.0
    tried: tuple[int, ...] = ()
    null: str = "the first stage"
    fit_keeps: bool = False
    order: str = ""

    def report(self) -> str:
        """A table of the options, and what was chosen."""
        first, rows, last = self._told()
        width = max(len(row[0]) for row in rows)
        lines = [f"{name:{width}}  {lead:>10}  {error:>8}  {more}".rstrip() for name, lead, error, more in rows]
        return "\n".join([first, *lines, last])

    def html(self) -> str:
        """The same as a piece of a page."""
        first, rows, last = self._told()
        table = html_table(rows, ("left", "right", "right", "left"))
        return f"<p>{escape(first)}</p>{table}<p><b>{escape(last)}</b></p>"

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every option; returns the axes (:func:`rerank.plots.leads`)."""
        from rerank.plots import leads

        names = [name if len(name) <= DRAWN else f"{name[: DRAWN - 3]}..." for name in self.options]
        means, errors = ([math.nan if one is None else one for one in side] for side in (self.leads, self.errors))
        unit, null = f"lead over {self.null}, {self.judge}", self.null.removeprefix("the ")
        return leads(names, means, errors, self.taken, unit=unit, null=null, ax=ax)

    def interval(self, option: int) -> tuple[float, float] | None:
        """The lead less and plus 1.96 standard errors; None where it is not known."""
        lead, error = self.leads[option], self.errors[option]
        if lead is None or error is None or not math.isfinite(error):
            return None
        return lead - WIDTH * error, lead + WIDTH * error

    @property
    def taken(self) -> int | None:
        """Number of the option by which the model ranks; None if it ranks as what had to be led."""
        return None if self.fit_keeps else self.chosen

    @property
    def guarded(self) -> bool:
        """Whether leads on held-out rows decided for the first stage: a choice, and no lack of time."""
        return self.chosen is None and any(lead is not None for lead in self.leads)

    @property
    def ending(self) -> str:
        """What was chosen, by which number, and why."""
        null = f"{self.null[:1].upper()}{self.null[1:]}"
        if self.chosen is None:
            return f"{null} is kept. {self.reason}"
        lead, error = self.leads[self.chosen], self.errors[self.chosen]
        by = "" if lead is None else f", with a lead of {lead:+.4g}"
        by += "" if error is None or not math.isfinite(error) else f" (error {error:.2g})"
        option = f"{self.options[self.chosen]}{by}"
        if self.fit_keeps:
            return (
                f"{null} is kept. Held-out rows spoke for {option}, but the fit of that on all rows found nothing "
                f"better than {self.null} in training. {self.reason}"
            )
        return f"Chosen (*): {option}. {self.reason}"

    @property
    def reason(self) -> str:
        """Why that was chosen, in sentences."""
        if self.first_stage is None:
            return f"There was no first stage to lead, so the option with the largest mean {self.judge} was taken."
        if self.chosen is None and not self.guarded:
            return "No option had the time for a fit on held-out rows; raise time_limit."
        if math.isinf(self.safeguard):
            if self.safeguard > 0:
                return f"The safeguard of this choice keeps {self.null} whatever the leads are."
            return f"The safeguard was waived, so the option with the largest mean {self.judge} was taken."
        errors = "standard error" if self.safeguard == 1 else "standard errors"
        less = f" less {self.safeguard:g} {errors}" if self.rule == "strict" else ""
        order = (
            ", and the one with the most is taken"
            if self.rule == "best"
            else ". A larger radius is looked at only where the smaller one has that, and taken only where it has more"
        )
        most = " on most folds" if self.tried else ""
        return (
            f"The mean lead{less} decides: an option must have more than 0{most}{self.order or order}."
            + (" No option passed." if self.chosen is None else " This option passed.")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for ``--json`` and the model file; the statistic stands elsewhere in both."""
        found = {name: getattr(self, name) for name in sorted(_STORED - (set() if self.tried else _USUAL))}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    def note(self, option: int) -> str:
        """On how many of the folds an option was tried, if not on all."""
        if not self.tried or self.tried[option] == self.folds:
            return ""
        return f"tried on {self.tried[option]} of {self.folds} folds" if self.tried[option] else "not tried: no time"

    def _told(self) -> tuple[str, list[tuple[str, str, str, str]], str]:
        """What the leads are, the rows of the table under their heads, and what was chosen."""
        alone = self.first_stage is None
        first = f"Lead over {self.null} by {self.judge} on held-out rows"
        if not alone:
            first += f"; {self.null} has a mean {self.statistic} of {self.first_stage:.6g} in a fold"
        rows = [("option", "lead", "error", f"{self.statistic} of a fold" if alone else "")]
        for number, name in enumerate(self.options):
            lead, error, mean = self.leads[number], self.errors[number], self.means[number]
            more = f"{mean:.6g}" if alone and mean is not None else ""
            mark = "*" if number == self.taken else ""
            told = " ".join(part for part in (more, mark, self.note(number)) if part)
            rows.append((name, "" if lead is None else f"{lead:+.4g}", "" if error is None else f"{error:.2g}", told))
        return f"{first}.", rows, self.ending


_USUAL = {"tried"}
"""Entries that are stored only where they differ from the default."""
_STORED = {each.name for each in fields(Evidence)} - {"statistic", "null", "fit_keeps", "order"}


def one_line(text: str) -> str:
    """A name as it is kept: on one line, of signs that can be printed, and not too long."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."


def evidence_of(entries: Mapping[str, Any], statistic: str, fit_keeps: bool = False) -> Evidence:
    """The evidence that :meth:`Evidence.to_dict` wrote, from a file that nobody vouches for.

    Raises
    ------
    InputError
        For an entry that is missing, unknown, or of another kind than a choice writes.
    """
    if odd := (set(entries) ^ _STORED) - (_USUAL - set(entries)):
        raise _unusable(f"the entry {min(odd)[:40]!r} is missing or unknown")
    given: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in entries.items()}
    found = Evidence(**given, statistic=statistic, fit_keeps=fit_keeps)
    n = len(found.options) if isinstance(found.options, tuple) else 0
    alone, known = found.first_stage is None, _finite(found.first_stage)
    rules = {
        "each option has a name": n > 0 and all(map(_is_name, (*found.options, found.judge))),
        "each option has its numbers": all(
            isinstance(side, tuple) and len(side) == n for side in (found.leads, found.errors, found.means)
        )
        and all(_finite(mean) or (mean is None and found.tried) for mean in found.means),
        "leads and errors are numbers": (alone or known)
        and all(one is None or _finite(one) for one in found.leads)
        and all(one is None or (_real(one) and one >= 0) for one in found.errors),
        "an option or the first stage is chosen": (found.chosen is None and not alone)
        or (type(found.chosen) is int and 0 <= found.chosen < n),
        "the rule is known": found.rule in RULES and _real(found.safeguard),
        "folds are counted": type(found.folds) is int and found.folds >= 0
        and isinstance(found.tried, tuple) and len(found.tried) in (0, n)
        and all(type(one) is int and 0 <= one <= found.folds for one in found.tried),
        "an option that is chosen was tried": found.chosen is None or not found.tried
        or 2 * found.tried[found.chosen] > found.folds,
    }  # fmt: skip
    for rule, holds in rules.items():
        if not holds:
            raise _unusable(f"a rule is broken: {rule}")
    return found


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value == one_line(value)


def _real(value: Any) -> bool:
    return type(value) is float and not math.isnan(value)


def _finite(value: Any) -> bool:
    return _real(value) and math.isfinite(value)


def _unusable(found: str) -> InputError:
    return InputError(f"The model's held-out evidence cannot be used ({found}); fit and save it again.")
