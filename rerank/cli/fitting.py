"""``rerank fit``."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rerank.cli.common import (
    AsJson,
    Data,
    Delimiter,
    Features,
    Groups,
    Id,
    Label,
    Outputs,
    Positive,
    Qid,
    Weight,
    answer,
    exit_code,
    read_data,
    refuse_idle,
    say,
    split_names,
    tell,
    with_ideal,
)
from rerank.errors import InputError, LeakWarning

if TYPE_CHECKING:
    from rerank.io.columns import Kinds
    from rerank.problem import Margin


def fit(
    data: Data,
    model: Annotated[Path, typer.Option(help="Where to write the model (JSON).")],
    label: Label = None,
    qid: Qid = None,
    id: Id = None,
    weight: Weight = None,
    groups: Groups = None,
    positive_label: Positive = None,
    features: Features = None,
    texts: Annotated[
        str | None,
        typer.Option(help="CSV: columns whose numbers are names, such as postal codes, with commas between."),
    ] = None,
    delimiter: Delimiter = None,
    stat: Annotated[
        str,
        typer.Option(
            help="auc, pauc@N, wta, precision@N, precision@2%, window2@N, mrr, dcg, dcg@N, ndcg@N, pnorm@P, recall@N, "
            "rbp@P, ap, rr, success@N."
        ),
    ] = "dcg@10",
    first_stage: Annotated[
        str,
        typer.Option(
            help="logistic, also with +squares, +head10, +head20, +head40 or +balanced, toppush, ranksvm, robirank, a "
            "column of scores, or none."
        ),
    ] = "logistic",
    candidates: Annotated[
        str, typer.Option(help="Rows of each list that are reranked: a number, 0 for all, or auto.")
    ] = "auto",
    formulation: Annotated[str, typer.Option(help="auto, subrank, resolved_rank, mixed, auc or pairwise.")] = "auto",
    solver: Annotated[str, typer.Option(help="highs, search, none, cbc, scip, glpk, gurobi, ...")] = "highs",
    presolve: Annotated[bool, typer.Option(help="Let the search in weight space go first.")] = True,
    time_limit: Annotated[float, typer.Option(help="Seconds for everything.")] = 60.0,
    node_limit: Annotated[
        int | None, typer.Option(help="Stop the search after so many boxes, at the same place on every run.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Margin in units of the scaled score, or auto.")] = "auto",
    price: Annotated[float, typer.Option("--C", help="Penalty for one feature, in the unit of the statistic.")] = 0.0,
    max_features: Annotated[int | None, typer.Option(help="At most this many features.")] = None,
    positive: Annotated[bool, typer.Option(help="Non-negative weights only.")] = False,
    gain: Annotated[str, typer.Option(help="Worth of a grade g: exponential (2^g - 1) or linear.")] = "exponential",
    radius: Annotated[
        float | None, typer.Option(help="Correct the first stage by at most this much, in deviations.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="Margin in deviations, with --radius.")] = None,
    window: Annotated[float | None, typer.Option(help="Fit hits around place N, with this width (2).")] = None,
    list_length: Annotated[int | None, typer.Option(help="Rows of the lists to come, if not as many as here.")] = None,
    cross_fit: Annotated[str, typer.Option(help="Out-of-fold scores: auto, none or a number of folds.")] = "auto",
    cv: Annotated[
        int | None, typer.Option(help="Choose by so many folds how far to leave the first stage, if at all.")
    ] = None,
    safeguard: Annotated[
        float | None, typer.Option(help="For --cv: standard errors that a lead has to exceed (2).")
    ] = None,
    holdout: Annotated[float | None, typer.Option(help="Share of the rows that a second fit is judged by.")] = None,
    proof: Annotated[Path | None, typer.Option(help="Where to write the search's proof, for verify --proof.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Where to keep the state of the search; the same command goes on with it.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw value and bound over time, or with --cv the lead of every option: a .png, .svg or .pdf.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Cores; -1 for all.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="The solver's own log, on standard error.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a table and write the model."""
    from rerank.certificate.proof_file import ProofTooLargeError, save_proof
    from rerank.cli.choosing import check_holdout, check_meant, fitted
    from rerank.cli.pictures import check_picture, write_picture
    from rerank.io.page import as_text
    from rerank.io.paths import check_outputs
    from rerank.reranker.describe import described
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.files.document import save
    from rerank.reranker.task import task_of

    check_holdout(holdout)
    check_meant(cv, safeguard, radius, margin, epsilon, first_stage, candidates, cross_fit, solver, presolve)
    check_picture(plot)
    paths = {"--model": model, "--proof": proof, "--checkpoint": checkpoint, "--plot": plot}
    check_outputs(with_ideal(data), paths)
    table = read_data(
        data,
        label=label,
        qid=qid,
        id=id,
        weight=weight,
        groups=groups,
        positive=positive_label,
        features=features,
        delimiter=delimiter,
        need_label=True,
        kinds=_kinds(texts, first_stage),
    )
    est = Reranker(
        stat, first_stage=None if first_stage == "none" else first_stage, n_candidates=_candidates(candidates),
        formulation=formulation, solver=solver, presolve=presolve, time_limit=time_limit,
        node_limit=node_limit, epsilon=_margin(epsilon), C=price, max_features=max_features, positive=positive,
        gain=gain, radius=radius, margin=margin, window=window, list_length=list_length,
        cross_fit=_cross_fit(cross_fit), proof=proof is not None, checkpoint=checkpoint, n_jobs=jobs,
        random_state=seed, verbose=2 if verbose else 1,
    )  # fmt: skip
    if cv is None:
        task_of(est.get_params(deep=False), table.X.shape[1])
    say(f"Fitting {stat} on {len(table)} rows of {data.name}, at most {time_limit:g} s ...")
    if checkpoint is not None and checkpoint.exists():
        say(f"The search goes on with {checkpoint}.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeakWarning)
        est, why, draw = fitted(est, table, cv, safeguard, holdout)
    for text in dict.fromkeys(str(one.message) for one in caught):
        say(text)
    columns = {"label": label, "qid": qid, "id": id, "weight": weight}
    read = {f"{role}_column": name for role, name in columns.items()} | {"positive_label": positive_label}
    outputs, record, written = Outputs(), None if proof is None else est.result_.proof, {}
    with outputs.one():
        save(replace(est.state_, columns_read=read), model)
        written["model"] = str(model)
    if proof is not None:
        lacking = "the search had no part in this result"
        try:
            with outputs.one():
                if record is not None:
                    save_proof(record, proof)
                    written["proof"] = str(proof)
        except ProofTooLargeError as error:
            record, lacking = None, str(error)
        if "proof" not in written and proof.exists():
            say(f"{proof} is the proof of an earlier fit, not of this one.")
        if record is None:
            say(f"No proof was written to {proof}: {lacking.rstrip('.')}.")
    with outputs.one():
        if as_json:
            answer({**written, **est.result_.to_dict(), "coef": est.state_.named_weights(), "held_out": why})
        else:
            tell("\n".join([as_text(described(est.state_)), *why]))
    if written and not as_json:
        say(f"Written to {', the proof to '.join(written.values())}." if "model" in written else f"Written to {proof}.")
    with outputs.one():
        if plot is not None:
            write_picture(plot, draw)
    outputs.check()
    raise typer.Exit(exit_code(est.result_))


def _kinds(texts: str | None, first_stage: str) -> Kinds | None:
    """What columns hold, for a first stage that learns from texts and gaps; None for another."""
    from rerank.io.columns import Kind
    from rerank.reranker.first_stage import is_logistic

    if not is_logistic(first_stage):
        why = f"--first-stage {first_stage} learns from numbers alone; leave it out, or use --first-stage logistic"
        refuse_idle({"--texts": texts}, why)
        return None
    return dict.fromkeys(split_names(texts) or (), Kind(texts=True))


def _candidates(text: str) -> int | str | None:
    if text == "auto":
        return text
    try:
        return int(text) or None
    except ValueError:
        raise InputError(
            f"--candidates is {text!r}; it must be a whole number, 0 for all, or auto."
        ) from None


def _margin(text: str) -> Margin | str:
    from rerank.problem import margin_of

    return text if text == "auto" else margin_of("--epsilon", text, "auto or a positive number")


def _cross_fit(text: str) -> int | str | bool:
    if text in ("auto", "none"):
        return text if text == "auto" else False
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--cross-fit is {text!r}; it must be auto, none or a number of folds.") from None
