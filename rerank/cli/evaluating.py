"""``rerank evaluate``: runs against judgements, by measure, by query, and run against run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, answer, runs_of, say, tell
from rerank.errors import InputError
from rerank.errors.telling import harmless

if TYPE_CHECKING:
    from rerank.ranks.runs import Difference, RunValues


def evaluate(
    runs: Annotated[
        list[str],
        typer.Argument(help="Runs (TREC) as NAME=FILE, or FILE, named by its stem; the first one is the base."),
    ],
    qrels: Annotated[Path, typer.Argument(help="Judgements (TREC qrels), the last file.")],
    measures: Annotated[
        str, typer.Option(help="Measures with commas between: ndcg@10, ap, rr, precision@10, recall@100, rbp@0.8, ...")
    ] = "ndcg@10,ap,rr,precision@10,recall@100",
    gain: Annotated[
        str, typer.Option(help="Gain of a grade in DCG: linear, as trec_eval has it, or exponential.")
    ] = "linear",
    level: Annotated[int, typer.Option(help="Least grade of a relevant document.")] = 1,
    ties: Annotated[
        str, typer.Option(help="Equal scores: trec (by document id, descending), pessimistic, optimistic or average.")
    ] = "trec",
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the value of every query.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge runs by their measures, and compare them.

    A value for each measure and run, and how far each run is ahead of the first one. Every judged query counts, with 0
    if a run has nothing for it; unjudged documents are irrelevant. The intervals are Student's, 95 %, of the
    differences query by query.
    """
    from rerank.io.trec import read_qrels, read_run
    from rerank.ranks.runs import differences, run_values

    judgements = read_qrels(qrels)
    wanted = [name.strip() for name in measures.split(",") if name.strip()]
    if not wanted:
        raise InputError("--measures is empty; name at least one, such as ndcg@10.")
    paths = runs_of(runs)

    def judged(name: str, strangers: bool) -> RunValues:
        return run_values(
            read_run(paths[name]), judgements, wanted,
            gain=gain, level=level, ties=ties, strangers=strangers,  # type: ignore[arg-type]
        )  # fmt: skip

    found = {name: judged(name, strangers=len(paths) > 1) for name in paths}
    if not any(own.n_known for own in found.values()):
        judged(next(iter(found)), strangers=False)  # refused
    for name, own in found.items():
        if own.n_missing:
            say(f"{name} has nothing for {own.n_missing} of {len(own.queries)} judged queries, which count 0.")
        if own.n_unjudged:
            say(f"{name} has {own.n_unjudged} queries without a judgement, which do not count.")
    for note in dict.fromkeys(note for own in found.values() for note in own.notes):
        names = [name for name, own in found.items() if note in own.notes]
        say(note if len(names) == len(found) else f"{', '.join(names)}: {note}")
    base, *others = found
    ahead = {name: differences(found[name], found[base]) for name in others}
    if as_json:
        answer(_plain(found, ahead, base, per_query))
        return
    _print(found, ahead, base, per_query)


def _plain(
    found: dict[str, RunValues], ahead: dict[str, list[Difference]], base: str, per_query: bool
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "n_queries": len(found[base].queries),
        "runs": {name: dict(zip(own.measures, own.means.tolist())) for name, own in found.items()},
        "base": base,
        "notes": {name: list(own.notes) for name, own in found.items() if own.notes},
        "ahead": {
            name: {
                one.measure: {"mean": one.mean, "half_width": one.half, "wins": one.wins, "losses": one.losses}
                for one in own
            }
            for name, own in ahead.items()
        },
    }
    if per_query:
        body["queries"] = {
            name: {query: dict(zip(own.measures, values)) for query, values in zip(own.queries, own.values.tolist())}
            for name, own in found.items()
        }
    return body


def _print(found: dict[str, RunValues], ahead: dict[str, list[Difference]], base: str, per_query: bool) -> None:
    from rerank.io.page import Cells

    first = found[base]
    if per_query:
        tell("\t".join(["run", "query", *first.measures]))
        for name, own in found.items():
            for query, values in zip(own.queries, own.values.tolist()):
                tell("\t".join([harmless(name, True), harmless(query, True), *(f"{value:.6f}" for value in values)]))
    rows = [["measure", *found]]
    for k, measure in enumerate(first.measures):
        rows.append([measure, *(f"{own.means[k]:.4f}" for own in found.values())])
    tell(Cells(rows, ["left", *("right" for _ in found)]).as_text())
    several = len(first.queries) > 1
    for name, apart in ahead.items():
        tell(f"{harmless(name, True)} against {harmless(base, True)}, mean over {len(first.queries)} queries:")
        for one in apart:
            reach, clear = f" +- {one.half:.4f}" if several else "", " *" if abs(one.mean) > one.half else ""
            tell(f"  {one.measure:14} {one.mean:+.4f}{reach}, {one.wins} won, {one.losses} lost{clear}")
    if several and any(abs(one.mean) > one.half for apart in ahead.values() for one in apart):
        tell("* The 95 % interval does not hold 0. Of many comparisons one in twenty is so by chance.")
