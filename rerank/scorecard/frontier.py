"""What each further question or column is worth: the best value with 1, 2, 3 ... of them, its bound, held-out rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rerank.errors.compiling import watch, working_time
from rerank.errors.telling import say
from rerank.io.options import real, seed, whole
from rerank.io.page import Cells, Items, Part, Readable, Words
from rerank.ranks.rationals import is_closed
from rerank.scorecard.card import Z
from rerank.scorecard.choose import searched
from rerank.scorecard.held_out import corrected
from rerank.scorecard.options import CardOptions
from rerank.scorecard.points import MOST_QUESTIONS
from rerank.scorecard.result import four, result_of, rounded_up
from rerank.scorecard.rows import Rows

OVER = "not tried: the time was over, or the call interrupted"

SEARCHES = 0.7  # share of the time for the searches of cards; the rest is for the corrected values, which need little


@dataclass(frozen=True)
class Step:
    """The best with at most ``size`` columns or questions."""

    size: int
    value: float | None = None  # None where nothing was tried, or nothing keeps the rules; ``why`` says so
    bound: float = math.inf  # no allowed choice of this size has a larger value
    proved: bool = False  # whether the bound is the value
    names: tuple[str, ...] = ()  # columns with a weight, or questions with their points
    held_out: float | None = None  # on rows held out, of choices made anew without them
    seconds: float = 0.0  # of the search, and of the choices on folds
    why: str = ""
    error: float | None = None  # standard error of the held-out value, by the values of folds


@dataclass(frozen=True)
class Frontier(Readable):
    """The best value by the number of columns or questions.

    Attributes
    ----------
    statistic : str
    unit : {"column", "question"}
    steps : tuple of Step
    held_out_by : str
        What the held-out values are, such as "5 folds".
    notes : tuple of str
        Columns that were left out, and why.
    """

    statistic: str
    unit: str
    steps: tuple[Step, ...]
    held_out_by: str = ""
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> list[dict[str, Any]]:
        """A mapping for each size, as ``pandas.DataFrame`` takes them; None for what is not known."""
        return [
            {
                f"{self.unit}s": step.size,
                "statistic": self.statistic,
                "value": step.value,
                "bound": step.bound if math.isfinite(step.bound) else None,
                "proved": step.proved,
                "held_out": step.held_out,
                "held_out_error": step.error,
                "names": list(step.names),
                "seconds": step.seconds,
                "note": step.why,
            }
            for step in self.steps
        ]

    @property
    def proved(self) -> bool:
        """Whether every value is proved."""
        return all(step.proved for step in self.steps)

    def parts(self) -> list[Part]:
        """What a person reads."""
        rows = [("at most", self.statistic, "bound", "held out", f"{self.unit}s", "seconds")]
        for step in self.steps:
            bound = "proved" if step.proved else rounded_up(step.bound) if math.isfinite(step.bound) else ""
            value, held_out = ("" if side is None else four(side) for side in (step.value, step.held_out))
            held_out += "" if step.error is None else f" +- {Z * step.error:.2g}"
            told = "; ".join(filter(None, (", ".join(step.names), step.why)))
            rows.append((str(step.size), value, bound, held_out, told, f"{step.seconds:.2g}"))
        sides = ("right", "right", "right", "right", "left", "right")
        first = f"The best {self.statistic} by the number of {self.unit}s, on the rows of the fit."
        first += f" Held out: {self.held_out_by}, rows of equal score in any order." if self.held_out_by else ""
        if any(step.error is not None for step in self.steps):
            first += " +- is 1.96 standard errors, by the values of folds."
        last = [Words(self.remark)] if self.remark else []
        return [Words(first), Cells(rows, sides, named=True), *last, *([Items(self.notes)] if self.notes else [])]

    @property
    def remark(self) -> str:
        """The size with the largest held-out value, in a sentence; empty without such values."""
        known = [step for step in self.steps if step.held_out is not None]
        if not known:
            return ""
        best = max(known, key=lambda step: (step.held_out, -step.size))
        units = f"{self.unit} has" if best.size == 1 else f"{self.unit}s have"
        most = best.held_out or 0.0
        told = f"On held-out rows {best.size} {units} the most, {four(most)}"
        near = next(step for step in known if (step.held_out or 0.0) >= most - (best.error or 0.0))
        if near.size == best.size:
            return f"{told}."
        return f"{told}; {near.size} cannot be told from it: {four(near.held_out or 0.0)}, within one standard error."

    def plot(self, ax: Any = None) -> Any:
        """Value, bound and held-out value by size; returns the axes (:func:`rerank.plots.by_option`)."""
        from rerank.plots import by_option

        drawn = [step for step in self.steps if step.value is not None]
        held_out = [math.nan if step.held_out is None else step.held_out for step in drawn]
        known = any(map(math.isfinite, held_out))
        return by_option(
            [str(step.size) for step in drawn],
            [step.value or 0.0 for step in drawn],
            held_out if known else None,
            errors=[math.nan if step.error is None else step.error for step in drawn] if known else None,
            bounds=[step.bound for step in drawn],
            name=f"{self.unit}s at most",
            unit=self.statistic,
            ax=ax,
        )


def nested(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps by what others say: the best of a size may be that of a smaller one, and bounds of larger ones hold."""
    best, found = Step(0), list[Step]()
    for step in steps:
        if best.value is not None and (step.value is None or step.value < best.value):
            step = replace(step, value=best.value, names=best.names)
        best = step if step.value is not None else best
        found.append(step)
    bound = math.inf
    for place in reversed(range(len(found))):
        bound = min(bound, found[place].bound)
        value = found[place].value
        own = bound if value is None else max(bound, value)
        proved = value is not None and is_closed(own - value, value)
        found[place] = replace(found[place], bound=own, proved=proved)
    return tuple(found)


def frontier_of(options: CardOptions, rows: Rows, k_max: int, time_limit: float | None) -> Frontier:
    """The frontier of cards on rows that came in."""
    watch()
    most, how = whole("k_max", k_max, 1, MOST_QUESTIONS), options.validation
    limit = math.inf if time_limit is None else real("time_limit", time_limit, 0.0)
    last, steps, best, method = working_time() + limit, list[Step](), None, ""
    stopped = False
    for size in range(1, most + 1):
        began = working_time()
        part = max(0.0, last - began) / (most + 1 - size)
        share = part if how is None else SEARCHES * part
        options = replace(options, n_questions=size, time_limit=None if math.isinf(limit) else share)
        if stopped or (math.isfinite(limit) and not share):
            steps.append(Step(size, why=OVER))
            continue
        search, found = searched(options, rows, best=best)
        stopped, best = search.stop.asked.is_set(), search.best
        if best is None:
            why = "no card of this size keeps the rules" if search.complete else "no card was found in the time"
            steps.append(Step(size, bound=math.inf if not search.complete else -math.inf, why=why))
            continue
        card = found.card(best)
        left = None if math.isinf(limit) else max(0.0, began + part - working_time())
        held_out = None
        if how is not None and not stopped:
            held_out = corrected(options, card, rows, how, seed(options.random_state), left)
        result = result_of(options.stat, rows, card, search, len(found.questions), working_time() - began, held_out)
        names = tuple(f"{question} {points:+d}" for question, points in zip(card.questions, card.points) if points)
        own = (result.value, result.bound, result.status == "optimal", names, result.corrected, result.seconds)
        steps.append(Step(size, *own, error=None if held_out is None else held_out.error))
        method = method if held_out is None or held_out.value is None else f"{held_out.refits} {held_out.method}"
        if options.verbose:
            said = "proved" if steps[-1].proved else f"none above {rounded_up(result.bound)}"
            say(f"questions, at most {size}: {result.statistic} {four(result.value)}, {said}, {result.seconds:.2g} s")
    statistic = options.stat if isinstance(options.stat, str) else options.stat.name
    return Frontier(statistic, "question", nested(steps), method)
