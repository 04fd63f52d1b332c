"""``rerank demo``: a guarded fit that pays on lists to come, and one where the guard keeps the first stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, answer, say, tell, working

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rerank.io import Table
    from rerank.reranker.result import Result

ROWS, TOP = 5000, 60
STAT = f"precision@{TOP}"
PLACES = 12
SHOWN = {"hours": 1, "vibration": 1, "temperature": 0, "load": 0}
"""The first sensors, which matter, with the decimals that are shown."""

LISTS, STUDENT = 50, 2.01  # lists to come, and the 97.5 % point of Student's t for so many
TO_COME = 1_000_000  # seed of the first list to come; the fits see smaller seeds
SEED = 1  # the draw that is shown; ``python -m benchmarks.guard`` has others
SIMPLE = ("logistic+squares", "logistic+head20")
"""What is compared on the lists to come: squares as columns, and a refit on the first 20 % of its own list."""

RADII = (0.1, 1.0)  # two of the default radii, in standard deviations of the first stage's score
WORK = "Fitting logistic regression, simple rivals and corrections, on folds and on all rows ..."
AGAIN = "The same on machines that fail in one way ..."

ONE_DRAW = (
    f"This is one draw of the machines (seed {SEED}). On a list of this length the guard may also keep a first stage "
    "that could be led: it asks for a lead of more than two standard errors. `python -m benchmarks.guard` repeats both "
    "cases on other draws, with all default options."
)


def demo(
    time_limit: Annotated[float, typer.Option(help="Seconds for each of the two fits.")] = 40.0,
    jobs: Annotated[int, typer.Option(help="Cores; -1 for all.")] = -1,
    as_json: AsJson = False,
) -> None:
    """See a guarded correction where it pays, and where not.

    A first stage is corrected, guarded by held-out rows, and both are compared on lists to come.
    """
    if as_json:
        with working(f"{WORK} {AGAIN}"):
            both = dict(zip(("pays", "kept"), (case.to_dict() for case in cases(time_limit, jobs))))
        answer(both)
        return
    # Each part is printed when it is known: the first fit on a machine compiles the search.
    tell(f"{opening()}\n")
    found = cases(time_limit, jobs)
    for work, parts in ((WORK, pays), (AGAIN, kept)):
        with working(work):
            case = next(found)
        tell("\n".join(parts(case)))


@dataclass(frozen=True)
class Place:
    """One place of a list: the row there, whether it is relevant, and its place in the other list."""

    name: str
    relevant: bool
    other: int


@dataclass(frozen=True, eq=False)
class Case:
    """One guarded fit and what it is worth on lists to come."""

    ways: int  # how many ways the machines have to fail
    n_rows: int  # of the training list
    n_failed: int
    kept: bool  # whether the guard kept the first stage
    result: Result
    report: str  # held-out lead of each option
    first: NDArray[np.intp]  # (lists,), failures among the first TOP of each list to come, by logistic regression
    ours: NDArray[np.intp]  # (lists,), by what was chosen
    others: dict[str, NDArray[np.intp]]  # by other simple scores, fitted to all rows
    before: tuple[Place, ...]  # the top of the first list to come, by logistic regression
    after: tuple[Place, ...]  # by what was chosen

    @property
    def lead(self) -> tuple[float, float]:
        """Mean lead on lists to come, and the half-width of its 95 % interval."""
        leads = (self.ours - self.first).astype(float)
        half = STUDENT * float(leads.std(ddof=1)) / math.sqrt(leads.size)
        return float(leads.mean()), half

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        mean, half = self.lead
        counts = {"ways_to_fail": self.ways, "n_train": self.n_rows, "n_failed": self.n_failed}
        return {
            **counts,
            "first_stage_kept": self.kept,
            "result": self.result.to_dict(),
            "lists_to_come": {"first_stage": self.first, "chosen": self.ours, **self.others},
            "lead": {"mean": mean, "low": mean - half, "high": mean + half},
            "before": [vars(place) for place in self.before],
            "after": [vars(place) for place in self.after],
        }


def cases(time_limit: float = 40.0, n_jobs: int | None = None) -> Iterator[Case]:
    """Fit one case after the other: that where corrections pay first. Few options are tried, to take seconds."""
    from rerank.reranker.selection.options import MARGIN, WINDOW

    few = [{"first_stage": SIMPLE, "radius": [0.0]}, {"radius": RADII, "margin": [MARGIN], "window": [WINDOW]}]
    for ways in (2, 1):
        yield guarded(SEED, ways, time_limit, n_jobs, grid=few, n_repeats=1, verbose=1)


def guarded(
    seed: int,
    ways: int,
    time_limit: float = 40.0,
    n_jobs: int | None = None,
    others: Mapping[str, Callable[[Any, Any], Callable[[Any], Any]]] = MappingProxyType({}),
    **choice: Any,
) -> Case:
    """Fit on a made-up list and rank lists to come, the same for every seed; ``others`` make further scores of X, y."""
    import numpy as np
    from sklearn.base import clone

    from rerank.io import datasets
    from rerank.reranker.estimator import Reranker, fit_table
    from rerank.reranker.selection.reranker_cv import RerankerCV

    def order(scores: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.argsort(-scores, kind="stable")

    def simple(name: str) -> Callable[[Any], Any]:
        alone = clone(base).set_params(first_stage=name, radius=0.0, cross_fit=False)
        return fit_table(alone, table).decision_function

    table = datasets.machines(ROWS, seed, ways)
    assert table.y is not None
    # No search for a proof: with all columns and a wide radius it would not end in minutes.
    base = Reranker(STAT, first_stage="logistic", solver="search", n_jobs=n_jobs, node_limit=0)
    search = fit_table(RerankerCV(base, time_limit=time_limit, **choice), table)
    est = search.best_estimator_
    scores = {name: simple(name) for name in ("logistic", *SIMPLE)}
    scores |= {name: fitted(table.X, table.y) for name, fitted in others.items()}
    if choice.get("verbose"):
        say(f"Ranking {LISTS} lists to come ...")
    lists = [datasets.machines(ROWS, TO_COME + number, ways) for number in range(LISTS)]
    X, y = np.concatenate([each.X for each in lists]), np.concatenate([each.y for each in lists])
    failed = y.reshape(LISTS, ROWS) > 0

    def hits(score: Callable[[Any], Any]) -> NDArray[np.intp]:
        return np.take_along_axis(failed, order(score(X).reshape(LISTS, ROWS))[:, :TOP], axis=1).sum(axis=1)

    ours, found = hits(est.decision_function), {name: hits(score) for name, score in scores.items()}
    orders = [order(score(lists[0].X)) for score in (scores["logistic"], est.decision_function)]
    before, after = _top(lists[0], *orders), _top(lists[0], *reversed(orders))
    counts, first = (ways, len(table), int(table.y.sum())), found.pop("logistic")
    told = (search.first_stage_kept_, search.result_, search.report())
    return Case(*counts, *told, first, ours, found, before, after)


def _top(table: Table, order: NDArray[np.intp], other: NDArray[np.intp]) -> tuple[Place, ...]:
    """The first places of an order: readings by which the row is recognised, and its place in the other order."""
    assert table.y is not None
    places, top = other.argsort() + 1, []
    for row in order[:PLACES]:
        name = ", ".join(f"{value:.{digits}f}" for value, digits in zip(table.X[row], SHOWN.values()))
        top.append(Place(name, bool(table.y[row]), int(places[row])))
    return tuple(top)


def opening() -> str:
    """What the machines are."""
    from rerank.io.machines import SENSORS

    return (
        f"You can open {TOP} of {ROWS:,} machines and want those that will fail. The machines are made up by "
        f"rerank.datasets.machines(rows, seed): {len(SENSORS)} sensors with independent normal readings. Many machines "
        "are worn and fail now and then; few are so hot under load that they pass a limit, and most of those fail. "
        "Logistic regression follows the many."
    )


def pays(case: Case) -> list[str]:
    """What held-out rows say, the answer, the lists to come and two lists side by side."""
    from rerank.reranker.describe import describe

    return [*fitted(case), "", describe(case.result).answer, "", *to_come(case), "", *side_by_side(case), ""]


def kept(case: Case) -> list[str]:
    """The case where the guard keeps the first stage."""
    first = (
        "Where the first stage is right there is nothing to gain. The same sensors, but one way to fail, with log-odds "
        "as logistic regression takes them to be:"
    )
    return [first, "", *fitted(case), *to_come(case), "", ONE_DRAW]


def fitted(case: Case) -> list[str]:
    """What the guarded fit tried on held-out rows, and what it chose."""
    from rerank.errors.telling import of_kind
    from rerank.reranker.solution import CORRECTIONS

    lines = [
        f"Logistic regression, then RerankerCV for {STAT} (hits among the first {TOP}) on {case.n_rows:,} machines, "
        f"of which {case.n_failed} failed. A few of its default options are fitted on four fifths of the rows, in "
        "turn, and looked at on the rest:",
        *case.report.splitlines(),
    ]
    return lines if case.kept else [*lines, *of_kind(case.result.notes, CORRECTIONS)]


def to_come(case: Case) -> list[str]:
    """Hits on the lists to come, and the interval of the mean lead."""
    mean, half = case.lead
    found = f"logistic regression finds {case.first.mean():.1f}"
    first = f"On {LISTS} lists to come, of {ROWS:,} other machines each, {found}"
    others = ", ".join(f"{name} {hits.mean():.1f}" for name, hits in case.others.items())
    compared = f"The same lists by other scores: {others}."
    if case.kept:
        return [f"{first} of its first {TOP}, and the guard has left it as it is.", compared]
    low, high = mean - half, mean + half
    verdict = "better" if low > 0 else "worse" if high < 0 else "no difference can be told"
    return [
        f"{first} of its first {TOP}, and the corrected score {case.ours.mean():.1f}: {mean:+.1f}, 95 % interval "
        f"{low:+.1f} to {high:+.1f}: {verdict}.",
        compared,
    ]


def side_by_side(case: Case) -> list[str]:
    """The tops of two lists side by side: row, label and place in the other list."""
    from rerank.io.page import Cells, as_text

    rows, mark = [("place", "first stage", "failed", "corrected", "failed", "was at")], {True: "yes", False: "."}
    for place, (left, right) in enumerate(zip(case.before, case.after, strict=True), start=1):
        was = "" if right.other == place else str(right.other)
        rows.append((str(place), left.name, mark[left.relevant], right.name, mark[right.relevant], was))
    title = f"The first {len(case.before)} places of a list to come ({', '.join(SHOWN)}):"
    return [title, as_text([Cells(rows, ("right", "left", "left", "left", "left", "right"), named=True)])]
