"""``rerank evaluate`` and ``rerank fuse``: runs against judgements, and runs joined to one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, Outputs, answer, entries, exit_code, say, tell
from rerank.cli.inputs import refuse_idle, runs_and_qrels, with_options
from rerank.errors import InputError, OutputError
from rerank.errors.telling import harmless
from rerank.reranker.options import FusionOptions, parameters, spellings

if TYPE_CHECKING:
    from rerank.ranks.runs import Evaluation
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.model import FusionModel


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
        sides = {mean.measure: {"half_width": mean.half, **entries(mean, "mean", "wins", "losses")} for mean in own}
        body["ahead"][name] = sides
    if per_query:
        body["queries"] = {name: {} for name in found.runs}
        for record in found.per_query:
            body["queries"][record.pop("run")][record.pop("query")] = record
    return body


@with_options(FusionOptions, unset=True)
def fuse(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs as FILE, named by its stem, or NAME=FILE; the last file may hold the judgements (TREC qrels)."
        ),
    ] = None,
    run: Annotated[list[str] | None, typer.Option(help="A run as NAME=FILE or FILE, once for each run.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgements, TREC qrels or those of BEIR: fit to them.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="With --qrels the model to write (JSON), else the one to apply.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the fused run (TREC).")] = None,
    audit: Annotated[
        Path | None, typer.Option(help="Folder for a table, a model and a proof, which rerank verify checks.")
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(help="Print a snippet for elasticsearch, opensearch, vespa, weaviate or mongodb, or the formula."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the lead of every option: a .png, .svg or .pdf.")] = None,
    kinds: Annotated[
        Path | None, typer.Option(help="Kinds of queries, lines QUERY KIND: weights by kind where held-out ones agree.")
    ] = None,
    plot_alpha: Annotated[
        Path | None, typer.Option(help="Of two runs: draw the statistic by the weight of the second one.")
    ] = None,
    given: Any = None,
    as_json: AsJson = False,
) -> None:
    """Fuse runs by weights chosen on held-out queries, or by a model."""
    from rerank.cli.pictures import check_picture, write_picture
    from rerank.io.paths import check_outputs

    runs, qrels = runs_and_qrels(files, run, qrels, judged=False)
    if not runs and (qrels is not None or out is not None):
        raise InputError("There is no run; give each as --run NAME=FILE, such as --run bm25=a.run.")
    check_picture(plot)
    check_picture(plot_alpha)
    pictures = {"--plot": plot, "--plot-alpha": plot_alpha}
    outputs = {"--out": out, "--model": model if qrels is not None else None, **pictures}
    if qrels is not None and audit is not None and audit.exists():
        from rerank.reranker.fusion.estimator import AUDIT_FILES

        outputs |= {f"the {name} of --audit": audit / name for name in AUDIT_FILES}
    check_outputs([*runs.values(), qrels, kinds, *([model] if qrels is None else [])], outputs)
    if qrels is None:
        flags = {spelling.names[0]: given.get(name) for name, spelling in spellings(FusionOptions).items()}
        _apply(runs, model, out, export, kinds, {**flags, "--audit": audit, **pictures}, as_json)
        return
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.exports import export as snippet_of

    chosen = parameters(FusionOptions, given)
    if chosen.get("cv", 5) is None and plot is not None:
        raise InputError("--plot draws what the folds say, and --cv is 0; leave one of them out.")
    if plot_alpha is not None and len(runs) != 2:
        raise InputError(f"--plot-alpha draws two runs, and there are {len(runs)}; leave it out, or give two.")
    if export is not None:
        chosen |= expressed(export, tuple(runs), chosen)
    est = ScoreFusion(**chosen, proof=audit is not None, verbose=1)
    limit = "without a limit" if est.time_limit is None else f"at most {est.time_limit:g} s"
    say(f"Fusing {len(runs)} runs for {est.stat}, {limit} ...")
    est.fit(runs, qrels, kinds)
    snippet = None if export is None else snippet_of(est.model_, export)
    writing = _written(est, runs, kinds, {"model": model, "out": out, "audit": audit})
    with writing.one():
        if as_json:
            for note in est.notes_:
                say(note)
            written = dict.fromkeys(("model", "out", "audit")) | writing.written
            more = {"nulls": est.nulls_, "alone": est.runs_, **written, "export": snippet}
            answer({**_described(est.model_), **est.model_.about, **more})
        else:
            tell(str(est) if snippet is None else f"{est}\n\n{snippet}")
    writing.file("plot", plot, lambda path: write_picture(path, est.plot))
    with writing.one():
        if plot_alpha is not None:
            curve = est.alpha_curve()
            say(str(curve))
            write_picture(plot_alpha, curve.plot)
    writing.check()
    raise typer.Exit(exit_code(est.result_, est.evidence_ is not None and est.evidence_.guarded))


def _written(est: ScoreFusion, runs: Any, kinds: Path | None, paths: dict[str, Path | None]) -> Outputs:
    """The files that are asked for, but pictures."""
    from rerank.io import write_run
    from rerank.reranker.fusion.model import save

    fused, writing = est.model_, Outputs()
    joined = None if paths["out"] is None else fused.joined(runs)
    writing.file("model", paths["model"], lambda path: save(fused, path))
    if joined is not None:
        scores = fused.scores(joined, kinds)
        writing.file("out", paths["out"], lambda path: write_run(path, joined.qid, joined.docid, scores))
    writing.file("audit", paths["audit"], lambda folder: _audited(est, folder))
    return writing


def _audited(est: ScoreFusion, folder: Path) -> bool:
    """Whether the files were written; what was fitted is not lost where they cannot be."""
    try:
        est.save_audit(folder)
    except OutputError:
        raise
    except InputError as error:
        say(f"No audit was written to {folder}: {error}")
        return False
    say(f"To check value and bound: rerank verify {folder}/model.json {folder}/table.csv --proof {folder}/fit.proof")
    return True


def _apply(
    runs: dict[str, Path],
    model: Path | None,
    out: Path | None,
    target: str | None,
    kinds: Path | None,
    given: dict[str, Any],
    as_json: bool,
) -> None:
    from rerank.io import write_run
    from rerank.reranker.fusion.exports import export
    from rerank.reranker.fusion.model import load

    if model is None:
        raise InputError("There is neither --qrels to fit to nor a --model to apply; give one of them.")
    refuse_idle(given, "it is about a fit, and without --qrels the model is applied as it is; leave it out")
    if out is None and target is None:
        raise InputError("There is nothing to write; add --out FUSED.run, or --export.")
    if out is None:
        refuse_idle({"--kinds": kinds}, "it is about the run that is written; add --out FUSED.run, or leave it out")
    found = load(model)
    snippet = None if target is None else export(found, target)
    written: dict[str, Any] = {"out": None, "export": snippet, "notes": [], "n_rows": None}
    if out is not None:
        joined = found.joined(runs)
        written |= {"out": str(out), "notes": list(found.notes(joined)), "n_rows": len(joined)}
        for note in written["notes"]:
            say(note)
        write_run(out, joined.qid, joined.docid, found.scores(joined, kinds))
        say(f"{len(joined)} documents of {len(set(joined.qid.tolist()))} queries written to {out}.")
    if as_json:
        answer(_described(found) | written)
    elif snippet is not None:
        tell(snippet)


def _described(model: FusionModel) -> dict[str, Any]:
    kinds = {kind: dict(zip(model.names, own.tolist())) for kind, own in model.kinds.items()}
    told = {"weights": dict(zip(model.names, model.weights.tolist())), "normalise": model.normaliser}
    return told | entries(model, "k", "missing", "depth") | {"kinds": kinds}


def expressed(target: str, names: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Normalisers that a fit may choose so that a target can express it; else an error, before the time is spent."""
    import numpy as np

    from rerank.reranker.fusion.estimator import AUTO
    from rerank.reranker.fusion.exports import expressible
    from rerank.reranker.fusion.model import FusionModel

    weights = np.full(len(names), 1.0 if options.get("positive", True) else -1.0)
    rules = {name: options[name] for name in ("k", "missing", "depth") if name in options}
    plain = FusionModel(names, weights, "rank", **rules)
    given = options.get("normalise", "auto")
    if not isinstance(options.get("prior"), dict):
        expressible(target, ["rank"], plain)  # RRF may be kept
    if options.get("prior") == "rrf":
        return {}
    if given == "auto":
        return {"normalise": expressible(target, AUTO, plain)}
    for name in given:
        expressible(target, [name], plain)
    return {}
