"""What a file of a card says of its fit, compared with the totals of the file and with rows."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rerank.errors import InputError
from rerank.scorecard.card import Card, risks
from rerank.scorecard.data import in_units
from rerank.scorecard.estimator import Scorecard
from rerank.scorecard.files import LEGACY, OPTIONS, RULES
from rerank.scorecard.kernels import NO_CUT
from rerank.scorecard.likelihood import LogLoss, link_of, value_at
from rerank.scorecard.result import CardResult, exact
from rerank.scorecard.rows import Rows, cut_of
from rerank.scorecard.statement import domain_of, measure, stated
from rerank.scorecard.value import value_of_list
from rerank.scorecard.verify import SLACK, Claim

CLOSE, CLOSE_WEIGHTED = 1e-9, 1e-5
"""Difference of two sums of the same numbers, and of counts that are no whole numbers and were rounded."""
MOST_CELLS = 2**35  # rows times sets of questions that a proof is repeated for: some minutes

ALLOWED = ("max_columns", "one_per_column", "signs", "bounds", "cut", "max_total", "special", *RULES)

Fit = Mapping[str, Any]


class FiledEntry(NamedTuple):
    """An entry of a file: what it states, what follows from the rest, and whether these agree."""

    name: str
    stated: Any
    found: Any
    holds: bool


def of_totals(card: Card, fit: Fit | None) -> list[FiledEntry]:
    """What follows from the totals of a file alone: the shares, and the value of one list."""
    found = []
    if card.totals:
        levels, p, q = (np.array([total[j] for total in card.totals]) for j in range(3))
        again = risks(levels.astype(np.int64), p.astype(np.float64), q.astype(np.float64), card.spread, card.pooled)
        pairs = enumerate(zip(card.totals, again))
        apart = next((k for k, (total, own) in pairs if not _same(total[3:], own[3:])), None)
        own, new = card.totals[apart or 0].risk, float(again[apart or 0].risk)
        found.append(FiledEntry("totals.risk", own, new, apart is None))
    if fit is None:
        return found
    if card.totals and fit.get("asked", {}).get("lists", 1) == 1:
        value = _value_of_totals(card, fit)
        whole = all(float(count).is_integer() for total in card.totals for count in total[1:3])
        holds = value is not None and abs(value - fit["value"]) <= (CLOSE if whole else CLOSE_WEIGHTED)
        found.append(FiledEntry("fit.value", fit["value"], value, holds))
    if not fit["bound"] >= fit["value"]:
        found.append(FiledEntry("fit.bound", fit["bound"], f"at least {fit['value']!r}", False))
    elif fit["status"] == "optimal" and fit["bound"] > fit["value"] + SLACK * max(1.0, abs(fit["value"])):
        found.append(FiledEntry("fit.status", "optimal", "feasible", False))
    return found


def _same(left: Any, right: Any) -> bool:
    return all(abs(a - other) <= CLOSE for a, other in zip(left, right))


def _value_of_totals(card: Card, fit: Fit) -> float | None:
    statistic, rate = measure(fit["statistic"])
    if isinstance(statistic, LogLoss):
        counts = np.array([total[:3] for total in card.totals]).T
        return value_at(link_of(*counts), *counts)
    counts, unit = in_units(np.array([count for total in card.totals for count in total[1:3]]))
    order = list(zip(counts[::2].tolist(), counts[1::2].tolist()))
    value = value_of_list(statistic, rate, order, unit)
    return None if value is None else float(value)


def contradictions(card: Card, fit: Fit | None) -> list[str]:
    """Sentences on what a file says of its fit that its totals contradict."""
    each = {entry.name: entry for entry in of_totals(card, fit) if not entry.holds}
    found = []
    if fit is not None and "fit.value" in each:
        entry = each["fit.value"]
        unless = "" if "asked" in fit else ", unless it was fitted on several lists"
        found.append(
            f"The file says that its card has {fit['statistic']} {entry.stated!r}, and its own totals make "
            f"{entry.found!r}: one of them was changed{unless}."
        )
    found += [
        f"The file has {name} {entry.stated!r}, and {entry.found!r} follows from the rest: one of them was changed."
        for name, entry in each.items()
        if name != "fit.value"
    ]
    return found


class OfRows:
    """A card of a file on the rows of its fit."""

    def __init__(self, card: Card, fit: Fit | None, X: Any, y: Any, **given: Any) -> None:
        self.card, self.fit, self.asked = card, fit or {}, (fit or {}).get("asked")
        asked = {**LEGACY, **(self.asked or {})}
        options = {name: own for name, own in asked.items() if name in (*OPTIONS, *RULES)}
        options["stat"] = self.fit.get("statistic", "auc")
        self.est = Scorecard(**options, validation=None)
        self.rows: Rows = self.est._entered(X, y, *given.values())
        self.totals = card.total(self.rows.X)

    def compared(self) -> list[FiledEntry]:
        """The rows of each total, and the value."""
        again = self.card.with_totals(self.totals, *self.rows.counts)
        counts = [[total[:3] for total in of.totals] for of in (self.card, again)]
        same = len(counts[0]) == len(counts[1]) and all(
            np.allclose(own, other, rtol=CLOSE, atol=CLOSE) for own, other in zip(*counts)
        )
        found = [FiledEntry("totals", f"{len(counts[0])} totals", f"{len(counts[1])} of these rows", same)]
        if not self.fit:
            return found[: len(self.card.totals)]
        value = float(exact(self.fit["statistic"], self.rows, self.totals))
        close = abs(value - self.fit["value"]) <= 1e-12 * max(1.0, abs(value))
        found.append(FiledEntry("fit.value", self.fit["value"], value, close))
        if self.asked:
            lists = self.rows.list_weight.size
            found.append(FiledEntry("fit.asked.lists", self.asked["lists"], lists, lists == self.asked["lists"]))
        return found if self.card.totals else found[1:]

    def claim(self) -> Claim:
        """What is claimed of all cards that were allowed."""
        found = stated(self.est, self.rows)
        value, least = (
            float(exact(self.est.stat, self.rows, self.totals, ties)) for ties in ("average", "pessimistic")
        )
        size, n = found.problem.size, len(found.questions)
        sets = sum(math.comb(n, k) for k in range(1, min(size, n) + 1))
        numbers = value, least, self.fit["bound"], self.fit["status"], size, n, sets, sets, 0, 0, 0.0
        result, card = CardResult(self.fit["statistic"], *numbers), self.card
        who = (result, card, tuple(found.questions), *measure(self.est.stat), found.answers, card.answers(self.rows.X))
        return Claim(*who, self.rows, *self.rows.units, found.problem)

    def allowed(self) -> str:
        """Which cards were allowed, in a sentence."""
        rules = [f"{name} {rule}" for name, rule in (self.asked or {}).items() if name in ALLOWED and rule]
        points = ", ".join(map(str, domain_of(self.est.points)))
        return f"Allowed are cards of at most {self.est.n_questions} questions with points of {points}: " + (
            "; ".join(rules) if rules else "no further rules"
        )

    def cut(self, claim: Claim) -> int | None:
        """The cut that follows from the totals and the constraints."""
        limits = claim.problem.limits
        return None if limits.cut == NO_CUT else cut_of(self.totals, self.rows, limits)


def too_large(claim: Claim) -> bool:
    """Whether a proof takes longer than a command should."""
    return claim.result.sets * claim.merged[2].size > MOST_CELLS


def in_table(columns: Any, X: Any) -> Any:
    """The columns of the fit, in its order, of a table (n, d) by names."""
    from rerank.io.frames import Frame

    if lacking := [name for name in columns if name not in X.columns]:
        raise InputError(f"The table has no column {lacking[0]!r}, which the fit had; give the table of the fit.")
    return Frame({name: X.columns[name] for name in columns})
