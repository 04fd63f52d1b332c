"""``rerank evaluate``: runs against judgements, by measure, by query, and run against run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, answer, entries, say, tell
from rerank.cli.inputs import runs_and_qrels
from rerank.errors import InputError
from rerank.errors.telling import harmless

if TYPE_CHECKING:
    from rerank.ranks.runs import Evaluation


def evaluate(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs as FILE, named by its stem, or NAME=FILE; the first one is the base. Without --qrels the last "
            "file holds the judgements."
        ),
    ] = None,
    run: Annotated[list[str] | None, typer.Option(help="A run as NAME=FILE or FILE, once for each run.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgements: TREC qrels, or those of BEIR.")] = None,
    measures: Annotated[
        str,
        typer.Option(
            help="Measures with commas between: ndcg@10, ap@100, rr@10, hit@10, precision@10, recall@100, rprec, "
            "bpref, judged@10, rbp@0.8, ..., also as trec_eval, ranx and ir_measures spell them."
        ),
    ] = "ndcg@10,ap,rr,precision@10,recall@100",
    gain: Annotated[
        str, typer.Option(help="Gain of a grade in DCG: linear, as trec_eval has it, or exponential.")
    ] = "linear",
    level: Annotated[int, typer.Option(help="Least grade of a relevant document.")] = 1,
    ties: Annotated[
        str, typer.Option(help="Equal scores: trec (by document id, descending), pessimistic, optimistic or average.")
    ] = "trec",
    precision: Annotated[
        str, typer.Option(help="Of scores: double, as trec_eval 10 has them, or single, as trec_eval 9.")
    ] = "double",
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the value of every query.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge runs by their measures, and compare them.

    A value for each measure and run, and how far each run is ahead of the first one. Every judged query counts, with 0
    if a run has nothing for it; unjudged documents are irrelevant. The intervals are Student's, 95 %, of the
    differences query by query.
    """
    from rerank.ranks.runs import Terms, compare_runs

    wanted = [name.strip() for name in _COMMAS.split(measures) if name.strip()]
    if not wanted:
        raise InputError("--measures is empty; name at least one, such as ndcg@10.")
    paths, judgements = runs_and_qrels(files, run, qrels, judged=True)
    if not paths or judgements is None:
        raise InputError("There is no run with judgements; give files of runs and then one of judgements.")
    terms = Terms(wanted, gain, level, ties, precision)  # type: ignore[arg-type]
    found = compare_runs(paths, judgements, terms)
    for note in found.notes:
        say(note)
    if as_json:
        answer(_plain(found, per_query))
        return
    if per_query:
        tell("\t".join(["run", "query", *found.runs[found.base].measures]))
        for name, own in found.runs.items():
            for query, values in zip(own.queries, own.values.tolist()):
                tell("\t".join([harmless(name, True), harmless(query, True), *(f"{value:.6f}" for value in values)]))
    tell(str(found))


_COMMAS = re.compile(r",(?![^(]*\))")  # those between names, and not in ``AP(rel=2, judged_only=True)``


def _plain(found: Evaluation, per_query: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"n_queries": len(found.runs[found.base].queries), "runs": found.means, "base": found.base}
    body |= {"notes": list(found.notes), "ahead": {}}
    for name, own in found.differences.items():
        sides = {one.measure: {"half_width": one.half, **entries(one, "mean", "wins", "losses")} for one in own}
        body["ahead"][name] = sides
    if per_query:
        body["queries"] = {name: {} for name in found.runs}
        for record in found.per_query:
            body["queries"][record.pop("run")][record.pop("query")] = record
    return body
