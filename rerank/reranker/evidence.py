"""What held-out rows said of the options of a fit: numbers, words and a picture, from a choice or from a file."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from rerank.io.bounded import Json
from rerank.io.page import Cells, Part, Words, as_text

WIDTH = 1.96  # standard errors on each side of a lead
LONGEST, DRAWN = 100, 40  # signs of a name that is kept, and of one in a picture

LOST = (
    "The fit of that on all rows found nothing better in training than the first stage that it corrects, which is kept."
)
UNFITTED = (
    "The fit of that on all rows had no time to search, so the first stage that it corrects is kept; raise time_limit."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Leads of the options over what had to be led, on rows that the fits of the folds had not seen: all None for one
    that was not tried, leads and errors also where there was nothing to lead, and the error of a single list.
    """

    options: tuple[str, ...]  # each by the parameters in which options differ
    values: tuple[float | None, ...]
    leads: tuple[float | None, ...]
    errors: tuple[float | None, ...]
    first_stage: float | None  # the statistic by what had to be led
    statistic: str
    rivals: tuple[bool, ...]  # whether an option was only compared, and could not be chosen
    chosen: int | None  # number of the option; None if the first stage was kept
    folds: int = 0
    rounds: int = 1  # how often the folds were dealt
    safeguard: float = 2.0  # standard errors that a lead has to exceed; -inf keeps the reranking, inf the first stage
    list_length: int | None = None  # of the lists to come; None if the length makes no difference
    fit_keeps: bool = False  # whether the last fit found nothing better than its first stage, which is then kept
    fit_late: bool = False  # because it had no time to search
    refused: tuple[int, ...] = ()  # options that were not tried because they cannot keep the constraints
    ended: tuple[int, ...] = ()  # options that did not lead on most folds, and were fitted on no others
    null: str = "the first stage"  # what had to be led
    remark: str = ""  # another rule than that of the safeguard, in a sentence
    auc_leads: tuple[float | None, ...] = ()  # by AUC: None but for first stages alone, () where that is not asked
    auc_errors: tuple[float | None, ...] = ()

    @classmethod
    def of(cls, results: Mapping[str, Any], options: tuple[str, ...], **rest: Any) -> Self:
        """The evidence of the ``cv_results_`` of a choice, and the names of its options."""
        sides: dict[str, Any] = {
            name: tuple(None if math.isnan(value) else float(value) for value in results[of])
            for name, of in (("values", "value"), ("leads", "lead"), ("errors", "error"))
        }
        alone = next((float(value) for value in results["first_stage"] if not math.isnan(value)), None)
        return cls(options=options, rivals=tuple(results["rival"]), first_stage=alone, **sides, **rest)

    def report(self) -> str:
        """A table of the options, what was chosen and why."""
        return as_text(self.parts())

    def parts(self) -> list[Part]:
        """What the numbers are, the options with their leads, what was chosen and why."""
        first, rows, last = self.table()
        table = Cells(rows, ("left", "right", "right", "left"), named=True)
        return [*map(Words, first), table, *(Words(sentence, strong=True) for sentence in last)]

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every option that was tried; returns the axes (:func:`rerank.plots.leads`)."""
        from rerank.plots import leads

        tried = [k for k, lead in enumerate(self.leads) if lead is not None]
        names = [self.options[k] for k in tried]
        names = [name if len(name) <= DRAWN else f"{name[: DRAWN - 3]}..." for name in names]
        values, errors = (np.array(side, dtype=np.float64)[tried] for side in (self.leads, self.errors))
        chosen = None if self.taken is None else tried.index(self.taken)
        unit, null = f"lead over {self.null}, {self.statistic}", self.null.removeprefix("the ")
        return leads(names, values, errors, chosen, unit=unit, null=null, ax=ax)

    def interval(self, option: int) -> tuple[float, float] | None:
        """The lead less and plus 1.96 standard errors; None where it is not known."""
        return interval(self.leads[option], self.errors[option])

    @property
    def taken(self) -> int | None:
        """Number of the option by which the model ranks; None if it ranks as what had to be led."""
        return None if self.fit_keeps else self.chosen

    @property
    def expected(self) -> float | None:
        """The statistic of what ranks, on held-out rows; None where no rows were held out from it."""
        if self.chosen is None:
            return self.first_stage
        return None if self.fit_keeps else self.values[self.chosen]

    @property
    def tried(self) -> int:
        """How many options have a value."""
        return sum(value is not None for value in self.values)

    @property
    def starved(self) -> int:
        """How many options have no value for lack of time."""
        return len(self.options) - self.tried - len(self.refused)

    @property
    def counted(self) -> str:
        """How many options there were, and how many of them were tried."""
        many = f"{len(self.options)} option{'s' * (len(self.options) != 1)}"
        return many if None not in self.values else f"{self.tried} of {many} tried"

    @property
    def decided(self) -> bool:
        """Whether held-out rows decided what ranks."""
        return self.guarded or (self.chosen is not None and not self.fit_late)

    @property
    def guarded(self) -> bool:
        """Whether held-out rows decided for the first stage: a choice, and no lack of time."""
        return self.chosen is None and any(lead is not None for lead in self.leads)

    def sentences(self) -> list[str]:
        """What held-out rows say, and why that was chosen, for those who do not see the table."""
        often = f"{self.folds} folds" if self.rounds == 1 else f"{self.folds} folds, dealt {self.rounds} times"
        name = self.null.removeprefix("the ")
        alone = "" if self.first_stage is None else f"{name} {short(self.first_stage)}"
        if self.chosen is None:
            said = [f"Held-out rows ({often}), {self.statistic}: {alone}."] if alone else []
            return [*said, self.ending, *([self._starved] if self.guarded and self.starved else [])]
        value, ends, lead = self.values[self.chosen], self.interval(self.chosen), self.leads[self.chosen]
        assert value is not None
        best, more = f"{self.options[self.chosen]} {short(value)}", f", {alone}" if alone else ""
        more += "" if lead is None else f": a lead of {short(lead)}"
        more += "" if ends is None else f" (95 % interval {short(ends[0])} to {short(ends[1])})"
        kept = [self._lost] if self.fit_keeps else []
        kept += [self._starved] if self.starved else []
        kept += [self.reason] if self._unclear(self.chosen) or self._by_auc(self.chosen) else []
        return [f"Held-out rows ({often}), {self.statistic}: {best}{more}.", *kept, *self._of_rivals()]

    @property
    def _lost(self) -> str:
        """Why the last fit kept its first stage."""
        return UNFITTED if self.fit_late else LOST

    @property
    def _starved(self) -> str:
        return f"{self.starved} of {len(self.options)} options were not tried, for lack of time; raise time_limit."

    def _unclear(self, option: int) -> bool:
        """Whether an option does not lead by what the safeguard asks, so that something else kept the null away."""
        lead, error = self.leads[option], self.errors[option]
        asked = self.safeguard > -math.inf and not self.remark  # another rule than that of the safeguard
        asked = asked and not self._by_auc(option)
        return asked and lead is not None and not lead - self.safeguard * (error or 0.0) > 0

    def _by_auc(self, option: int) -> bool:
        """Whether AUC decided for an option, which leads by the statistic too, but not clearly."""
        lead, error = self.leads[option] or 0.0, self.errors[option] or 0.0
        area = self.auc_leads[option] if self.auc_leads else None
        if area is None or not math.isfinite(self.safeguard) or self.remark:
            return False
        return area - self.safeguard * (self.auc_errors[option] or 0.0) > 0 < lead <= self.safeguard * error

    @property
    def ending(self) -> str:
        """What was chosen, what it is worth on held-out rows, and why."""
        null = f"{self.null[:1].upper()}{self.null[1:]}"
        if self.chosen is None:
            return f"{null} is kept. {self.reason}"
        option, value = self.options[self.chosen], self.values[self.chosen]
        if self.first_stage is not None and value is not None:
            option += f"; {self.statistic} {short(self.first_stage)} -> {short(value)} on held-out rows"
        if self.fit_keeps:
            return f"Held-out rows spoke for {option}. {self._lost}"
        return f"Chosen (*): {option}. {self.reason}"

    @property
    def reason(self) -> str:
        """Why that was chosen, in sentences."""
        if self.chosen is None and not self.guarded:
            return "No option had the time to be tried on held-out rows; raise time_limit."
        if self.first_stage is None:
            return f"There was no first stage to lead, so the option with the largest {self.statistic} was taken."
        if self.chosen is not None and self._unclear(self.chosen):
            return (
                f"{self.null[:1].upper()}{self.null[1:]} breaks what was asked of the weights, so the option with the "
                f"largest {self.statistic} was taken, though it does not lead clearly."
            )
        if math.isinf(self.safeguard):
            if self.safeguard > 0:
                return f"safeguard=inf keeps {self.null} whatever the leads are."
            return f"safeguard=-inf takes the option with the largest {self.statistic}, whatever its lead is."
        if self.remark:
            return self.remark
        bar = f"{self.safeguard:g} standard error{'' if self.safeguard == 1 else 's'}"
        asked = f"more than {bar}" if self.safeguard else "more than 0"
        if self.chosen is None:
            tried = " that was tried" if None in self.values else ""
            areas = (
                ", and none that leads is as clearly ahead by AUC, which all pairs of rows decide"
                if self.auc_leads
                else ""
            )
            return f"No option{tried} leads {self.null} by {asked}{areas}."
        if self._by_auc(self.chosen):
            area = self.auc_leads[self.chosen]
            ends = interval(area, self.auc_errors[self.chosen])
            told = "" if ends is None else f" (95 % interval {ends[0]:+.3g} to {ends[1]:+.3g})"
            return (
                f"Its lead is within {bar}, but by AUC, which all pairs of rows decide, it leads {self.null} by "
                f"{area:+.3g}{told}: a first stage that leads by both, and clearly by AUC, is taken."
            )
        less = f", less {bar}," if self.safeguard else ""
        return f"An option has to lead {self.null} by {asked}; of those the one with the largest lead{less} is taken."

    def to_dict(self) -> Json:
        """Plain JSON values, for ``--json`` and the model file; the statistic stands elsewhere in both."""
        entries = {**vars(self), "tried": self.tried}
        found = {name: value for name, value in sorted(entries.items()) if name in _STORED | _LATER}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    def table(self) -> tuple[list[str], list[tuple[str, str, str, str]], list[str]]:
        """What the numbers are, the rows of the table under their heads, and what was chosen."""
        often = f"; options that lead were tried on {self.rounds} deals of the folds"
        often = "" if self.rounds == 1 else f", dealt {self.rounds} times" if self.remark else often
        first = [f"Held-out rows of {self.folds} folds{often}."]
        if self.list_length is not None:
            first.append(f"Counted for lists to come of {self.list_length:,} rows; list_length says how long they are.")
        rows = [("option", self.statistic, "lead", "95 % interval")]
        if self.first_stage is not None:
            rows.append((self.null.removeprefix("the "), short(self.first_stage), "", ""))
        for number, name in enumerate(self.options):
            value, lead, interval = self.values[number], self.leads[number], self.interval(number)
            told = "" if interval is None else " to ".join(f"{end:+.3g}" for end in interval)
            if value is None:
                told = "not tried: the time was over, or the fit interrupted"
                told = "not tried: it cannot keep the constraints" if number in self.refused else told
            elif number in self.ended:
                told += f"  on {most_of(self.folds)} folds, where it does not lead"
            elif self.rivals[number]:
                told += "  compared only"
            elif number == self.taken:
                name += " *"
            rows.append((name, "" if value is None else short(value), "" if lead is None else f"{lead:+.4g}", told))
        return first, rows, [self.ending, *self._of_rivals()]

    def _of_rivals(self) -> list[str]:
        """What the best option says that could not be chosen, where it is clearly ahead of what was."""
        taken = 0.0 if self.chosen is None else self.leads[self.chosen] or 0.0
        ahead = [(lead - taken, k) for k, lead in enumerate(self.leads) if self.rivals[k] and lead is not None]
        ahead = [(more, k) for more, k in ahead if more > (self.errors[k] or math.inf)]
        if not ahead:
            return []
        more, best = max(ahead)
        return [
            f"{self.options[best]} alone has {short(more)} more than what was taken: compare it before you trust this "
            "score."
        ]


def most_of(folds: int) -> int:
    """How many folds say whether an option is fitted on the others, too."""
    return folds // 2 + 1


def short(value: float) -> str:
    """A number in four digits."""
    return f"{value:.4g}"


def interval(lead: float | None, error: float | None) -> tuple[float, float] | None:
    """A lead less and plus 1.96 standard errors; None where one of the two is not known."""
    if lead is None or error is None or math.isnan(error):
        return None
    return lead - WIDTH * error, lead + WIDTH * error


_LATER = {
    "fit_late",
    "refused",
    "ended",
    "tried",
    "auc_leads",
    "auc_errors",
}  # entries that files of earlier versions lack
_STORED = {each.name for each in fields(Evidence)} - {"statistic", "null", "remark", *_LATER}


def one_line(text: str) -> str:
    """A name as it is kept: on one line, of signs that can be printed, and not too long."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."


def option_names(params: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each option by the parameters in which options differ; a first stage alone by its name."""
    every = sorted(dict.fromkeys(name for option in params for name in option), key="features".__eq__)
    varied = [name for name in every if not all(_same(own.get(name), params[0].get(name)) for own in params)] or every
    return tuple(one_line(_option_name(option, varied)) for option in params)


def _same(value: Any, other: Any) -> bool:
    return value is other or np.array_equal(value, other)  # scores and signs are arrays


def _option_name(params: Mapping[str, Any], varied: Sequence[str]) -> str:
    words = []
    stage = params.get("first_stage") if "first_stage" in varied else None
    if stage is not None:
        members = stage if isinstance(stage, list | tuple) else [stage]
        named = ", ".join(member if isinstance(member, str) else type(member).__name__ for member in members)
        words.append(named if members is not stage else f"blend of {named}")
    for name in varied:
        if name == "first_stage" or name not in params or (stage is not None and params.get("radius") == 0):
            continue
        if name == "features" and (params[name] is None or hasattr(params[name], "fit")):
            words.append("" if params[name] is None else f"with {type(params[name]).__name__.lower()}")
        elif name == "radius" and params[name] is None:
            words.append("free weights")
        elif name not in ("margin", "window") or "radius" not in varied:
            words.append(f"{name} {params[name]}")
    return " ".join(filter(None, words)) or "as given"


def evidence_of(entries: Json, statistic: str) -> Evidence | None:
    """The evidence of an untrusted file, ValueError if odd; None where a version judged otherwise (``judge``)."""
    if "judge" in entries:
        return None
    if odd := (set(entries) - _LATER) ^ _STORED:
        raise ValueError(f"held-out evidence: the entry {min(odd)[:40]!r} is missing or unknown")
    given: Json = {name: tuple(own) if isinstance(own, list) else own for name, own in entries.items()}
    tried = given.pop("tried", None)
    found = Evidence(**given, statistic=statistic)
    _check(_of_options(found))
    _check(_of_choice(found, tried))
    return found


def _check(rules: Mapping[str, bool]) -> None:
    if broken := next((rule for rule, holds in rules.items() if not holds), None):
        raise ValueError(f"held-out evidence: a rule is broken: {broken}")


def _of_options(found: Evidence) -> dict[str, bool]:
    """What holds of the names and figures of the options."""
    n = len(found.options) if isinstance(found.options, tuple) else 0
    areas = (found.auc_leads, found.auc_errors) if found.auc_leads or found.auc_errors else ()
    sides = (found.leads, found.errors, found.values, *areas)
    rivals = found.rivals if isinstance(found.rivals, tuple) else ()
    whole = all(isinstance(side, tuple) and len(side) == n for side in sides)
    listed = n if whole else 0  # a rule below looks at numbers
    return {
        "each option has a name": n > 0 and all(isinstance(own, str) and own == one_line(own) for own in found.options),
        "each option has its numbers": whole and all(x is None or _is_finite(x) for side in sides for x in side),
        "errors are not negative": all(x is None or x >= 0 for side in (found.errors, *areas[1:]) for x in side),
        "options that were only compared are marked, and none of them is chosen": len(rivals) == n
        and all(type(rival) is bool for rival in rivals)
        and not any(rival and k == found.chosen for k, rival in enumerate(rivals)),
        "options that were refused were not tried": _are(found.refused, listed, lambda k: found.values[k] is None),
        "options that were ended do not lead": _are(found.ended, listed, lambda k: (found.leads[k] or 0.0) <= 0),
    }


def _are(numbers: Any, n: int, rule: Callable[[int], bool]) -> bool:
    """Whether these are numbers of ``n`` options for each of which a rule holds."""
    return isinstance(numbers, tuple) and all(type(k) is int and k in range(n) and rule(k) for k in numbers)


def _of_choice(found: Evidence, tried: Any) -> dict[str, bool]:
    """What holds of the choice, and of how it was made; ``tried`` is how many options the file counts as tried."""
    values, chosen, length = found.values[: len(found.options)], found.chosen, found.list_length
    known = type(chosen) is int and any(k == chosen and value is not None for k, value in enumerate(values))
    alone = found.first_stage is None
    return {
        "the first stage has a value": alone or _is_finite(found.first_stage),
        "an option that was tried or the first stage is chosen": known
        or (chosen is None and (not alone or all(value is None for value in found.values))),
        "whether the fit keeps the first stage, for lack of time, is known": type(found.fit_keeps) is bool
        and type(found.fit_late) is bool
        and found.fit_keeps >= found.fit_late,
        "options that were tried are counted": tried is None
        or (type(tried) is int and tried == sum(value is not None for value in values)),
        "the safeguard is a number": type(found.safeguard) is float and not math.isnan(found.safeguard),
        "folds are counted": all(type(k) is int and k >= 0 for k in (found.folds, found.rounds)),
        "the length of lists is counted": length is None or (type(length) is int and length > 0),
    }


def _is_finite(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)
