"""``rerank fuse``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, Outputs, answer, exit_code, refuse_idle, runs_of, say, tell
from rerank.cli.fusing_options import expressed, names_of, prior_of, radius_of
from rerank.errors import InputError, OutputError

if TYPE_CHECKING:
    from rerank.io.fusion import Joined
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.model import FusionModel


def fuse(
    run: Annotated[
        list[str] | None,
        typer.Option(help="A run as NAME=FILE (TREC), once for each run; or a file, named by its stem."),
    ] = None,
    qrels: Annotated[Path | None, typer.Option(help="TREC judgements: fit to them.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="With --qrels the model to write (JSON), else the one to apply.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the fused run (TREC).")] = None,
    audit: Annotated[
        Path | None, typer.Option(help="Folder for a table, a model and a proof, which rerank verify checks.")
    ] = None,
    export: Annotated[str | None, typer.Option(help="Print a snippet: elasticsearch, vespa or formula.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the lead of every option over RRF: a .png, .svg or .pdf.")
    ] = None,
    stat: Annotated[str | None, typer.Option(help="What is fitted: ndcg@10 (default), ap, rr, recall@N ...")] = None,
    normalise: Annotated[
        str | None,
        typer.Option(
            help="none, minmax, z, rank, sigmoid; several with commas, of which the folds choose; or auto (default).",
        ),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Weights to correct: equal (default), rrf, or NAME=WEIGHT,...")
    ] = None,
    radius: Annotated[
        str | None, typer.Option(help="Largest correction: auto (default), a number, or free for any weights.")
    ] = None,
    cv: Annotated[
        int | None, typer.Option(help="Folds of queries that choose and guard: 5 (default), 0 for none.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="For documents a run lacks: lowest (default), zero or impute.")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Documents of each run that count; all by default.")] = None,
    k: Annotated[float | None, typer.Option(help="Constant of rank and RRF: 60 by default.")] = None,
    gain: Annotated[str | None, typer.Option(help="Worth of a grade g: exponential (default) or linear.")] = None,
    negative: Annotated[bool, typer.Option("--negative", help="Allow weights below 0.")] = False,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for the fit: 60 by default.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Cores; -1 for all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random: 0 by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fuse runs: fit weights to judgements, or apply a model. RRF is kept where fits do not lead it."""
    from rerank.cli.pictures import check_picture
    from rerank.io.paths import check_outputs

    runs = runs_of(run or [])
    if not runs and (qrels is not None or out is not None):
        raise InputError("There is no run; give each as --run NAME=FILE, such as --run bm25=a.run.")
    check_picture(plot)
    outputs = {"--out": out, "--model": model if qrels is not None else None, "--plot": plot}
    if qrels is not None and audit is not None and audit.exists():
        from rerank.reranker.fusion.audit import FILES

        outputs |= {f"the {name} of --audit": audit / name for name in FILES}
    check_outputs([*runs.values(), qrels, *([model] if qrels is None else [])], outputs)
    given = {
        "--stat": stat, "--normalise": normalise, "--prior": prior, "--radius": radius, "--cv": cv,
        "--missing": missing, "--depth": depth, "--k": k, "--gain": gain, "--negative": negative or None,
        "--time-limit": time_limit, "--jobs": jobs, "--seed": seed, "--audit": audit,
        "--plot": plot,
    }  # fmt: skip
    if qrels is None:
        _apply(runs, model, out, export, given, as_json)
        return
    options = {
        "stat": stat, "normalise": names_of(normalise), "prior": prior_of(prior), "radius": radius_of(radius), "cv": cv,
        "missing": missing, "depth": depth, "k": k, "gain": gain, "time_limit": time_limit, "n_jobs": jobs,
        "random_state": seed,
    }  # fmt: skip
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    chosen["radius"] = None if radius == "free" else chosen.get("radius", "auto")
    if cv == 0:
        if plot is not None:
            raise InputError("--plot draws what the folds say, and --cv is 0; leave one of them out.")
        chosen["cv"] = None
    _fit(runs, qrels, model, out, audit, plot, export, chosen | {"positive": not negative}, as_json)


def _fit(
    runs: dict[str, Path], qrels: Path, model: Path | None, out: Path | None, audit: Path | None, plot: Path | None,
    target: str | None, options: dict[str, Any], as_json: bool,
) -> None:  # fmt: skip
    from rerank.cli.pictures import write_picture
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.exports import export
    from rerank.reranker.fusion.files import save
    from rerank.reranker.fusion.told import guarded

    if target is not None:
        options = options | expressed(target, tuple(runs), options)
    est = ScoreFusion(**options, proof=audit is not None, verbose=1)
    limit = "without a limit" if est.time_limit is None else f"at most {est.time_limit:g} s"
    say(f"Fusing {len(runs)} runs for {est.stat}, {limit} ...")
    est.fit(runs, qrels)
    found = est.model_
    snippet = None if target is None else export(found, target)
    joined = found.joined(runs) if out is not None else None
    outputs, written = Outputs(), dict[str, str | None](model=None, out=None)
    with outputs.one():
        if model is not None:
            save(found, model)
            written["model"] = str(model)
    with outputs.one():
        if out is not None and joined is not None:
            _write(out, found, joined)
            written["out"] = str(out)
    written["audit"] = None
    with outputs.one():
        if audit is not None and _audited(est, audit):
            written["audit"] = str(audit)
    with outputs.one():
        if as_json:
            for note in est.notes_:
                say(note)
            more = {"nulls": est.nulls_, "alone": est.runs_, **written, "export": snippet}
            answer({**_described(found), **found.about, **more})
        else:
            _print(est, snippet)
    with outputs.one():
        if plot is not None:
            write_picture(plot, est.plot)
    outputs.check()
    raise typer.Exit(exit_code(est.result_, guarded(est)))


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
    runs: dict[str, Path], model: Path | None, out: Path | None, target: str | None, given: dict[str, Any],
    as_json: bool,
) -> None:  # fmt: skip
    from rerank.io.fusion import apart
    from rerank.reranker.fusion.exports import export
    from rerank.reranker.fusion.files import load

    if model is None:
        raise InputError("There is neither --qrels to fit to nor a --model to apply; give one of them.")
    refuse_idle(given, "it is about a fit, and without --qrels the model is applied as it is; leave it out")
    if out is None and target is None:
        raise InputError("There is nothing to write; add --out FUSED.run, or --export.")
    found = load(model)
    snippet = None if target is None else export(found, target)
    joined = None
    notes: tuple[str, ...] = ()
    if out is not None:
        joined = found.joined(runs)
        for note in (notes := apart(joined)):
            say(note)
        _write(out, found, joined)
        say(f"{len(joined)} documents of {len(set(joined.qid.tolist()))} queries written to {out}.")
    if as_json:
        answer({**_described(found), "out": out and str(out), "export": snippet, "notes": list(notes),
                "n_rows": None if joined is None else len(joined)})  # fmt: skip
    elif snippet is not None:
        tell(snippet)


def _write(path: Path, model: FusionModel, joined: Joined) -> None:
    from rerank.io import write_run

    write_run(path, joined.qid, joined.docid, model.scores(joined))


def _described(model: FusionModel) -> dict[str, Any]:
    return {
        "weights": dict(zip(model.names, model.weights.tolist())), "normalise": model.normaliser, "k": model.k,
        "missing": model.missing, "depth": model.depth,
    }  # fmt: skip


def _print(est: ScoreFusion, snippet: str | None) -> None:
    tell(str(est))
    if snippet is not None:
        tell("\n" + snippet)
