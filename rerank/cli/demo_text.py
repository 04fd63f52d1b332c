"""The demonstration on a terminal: what held-out rows say, lists to come, and two lists side by side."""

from __future__ import annotations

from rerank.cli.demo import LISTS, ROWS, SEED, SHOWN, STAT, TOP, Case
from rerank.io.machines import SENSORS
from rerank.io.page import Cells, Part, Words

OPENING = (
    f"You can open {TOP} of {ROWS:,} machines and want those that will fail. The machines are made up by "
    f"rerank.datasets.machines(rows, seed): {len(SENSORS)} sensors with independent normal readings. Many machines "
    "are worn and fail now and then; few are so hot under load that they pass a limit, and most of those fail. "
    "Logistic regression follows the many."
)

ONE_DRAW = (
    f"This is one draw of the machines (seed {SEED}). On a list of this length the guard may also keep a first stage "
    "that could be led: it asks for a lead of more than two standard errors. `python -m benchmarks.guard` repeats both "
    "cases on other draws."
)


def pays(case: Case) -> list[Part]:
    """What held-out rows say, the numbers, the lists to come and two lists side by side."""
    blank, first, last = Words(""), map(Words, fitted(case)), map(Words, to_come(case))
    return [*first, blank, case.result.numbers(), blank, *last, blank, *side_by_side(case), blank]


def kept(case: Case) -> list[Part]:
    """The case where the guard keeps the first stage."""
    lines = (
        "Where the first stage is right there is nothing to gain. The same sensors, but one way to fail, with log-odds "
        "as logistic regression takes them to be:",
        "",
        *fitted(case),
        *to_come(case),
        "",
        ONE_DRAW,
    )
    return [Words(line) for line in lines]


def fitted(case: Case) -> list[str]:
    """What the guarded fit tried on held-out rows, and what it chose."""
    lines = [
        f"Logistic regression, then RerankerCV for {STAT} (hits among the first {TOP}) on {case.n_rows:,} machines, "
        f"of which {case.n_failed} failed. Each option is fitted on four fifths of the rows, in turn, and looked at on "
        "the rest:",
        *case.report.splitlines(),
    ]
    return lines if case.kept else [*lines, *case.result.notes]


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


def side_by_side(case: Case) -> list[Part]:
    """The tops of two lists side by side: row, label and place in the other list."""
    rows = [("place", "first stage", "failed", "corrected", "failed", "was at")]
    for place, (left, right) in enumerate(zip(case.before, case.after, strict=True), start=1):
        was = "" if right.other == place else str(right.other)
        rows.append((str(place), left.name, _mark(left.relevant), right.name, _mark(right.relevant), was))
    title = f"The first {len(case.before)} places of a list to come ({', '.join(SHOWN)}):"
    return [Words(title), Cells(rows, ("right", "left", "left", "left", "left", "right"), named=True)]


def _mark(relevant: bool) -> str:
    return "yes" if relevant else "."
