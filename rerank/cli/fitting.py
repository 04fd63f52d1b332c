"""``rerank fit``: held-out rows choose unless ``--free``; ``--holdout`` shows what that gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, Details, Outputs, answer, exit_code, say, tell, warnings_as_lines
from rerank.cli.inputs import Data, read_data, refuse_idle, some_of, with_columns, with_ideal, with_options
from rerank.errors import InputError, LeakWarning
from rerank.reranker.options import RerankerOptions, may_correct, parameters, split_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rerank.io import Table
    from rerank.io.columns import Kinds
    from rerank.problem import Proof
    from rerank.reranker.estimator import Reranker

FOLDS = 5  # folds of :class:`rerank.RerankerCV`


@with_options(RerankerOptions)
@with_columns("label", "qid", "id", "weight", "groups", "people", "pos_label", "features", "texts", "delimiter")
def fit(
    data: Data,
    model: Annotated[Path, typer.Option(help="Where to write the model (JSON).")],
    columns: Any = None,
    given: Any = None,
    free: Annotated[
        bool, typer.Option("--free", help="The best weights for the rows of the file, without held-out rows.")
    ] = False,
    members: Annotated[
        bool, typer.Option("--members", help="Rerank the scores of a blend's members: its weights are searched for.")
    ] = False,
    linear: Annotated[
        bool, typer.Option("--linear", help="A score that is a sum of columns: --first-stage logistic.")
    ] = False,
    cv: Annotated[
        int | None, typer.Option(help="Folds that choose how far to leave the first stage, if at all (5).")
    ] = None,
    safeguard: Annotated[
        float | None, typer.Option(help="Standard errors that a lead on held-out rows has to exceed (2).")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(help="Share of the rows that judge a second fit, as 1/2, 1/3, 1/4 ...")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the lead of every option, or with --free value and bound over time: a .png, .svg or .pdf."
        ),
    ] = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Fit a table and write the model.

    Held-out rows decide whether a fit may replace the first stage, unless --free. A --radius is then the one correction
    that may, and --max-features, --margin and --window hold for every option.
    """
    from rerank.cli.pictures import check_picture, write_picture
    from rerank.io.page import as_text
    from rerank.io.paths import check_outputs
    from rerank.reranker.cross_fit import asked_folds
    from rerank.reranker.describe import describe
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.files.document import write_state
    from rerank.reranker.files.model_file import check_size, encode
    from rerank.reranker.members import MEMBERS, members_of, reranked
    from rerank.reranker.task import task_of

    given = check_meant(free, cv, safeguard, holdout, _linear(given) if linear else given)
    if not given["quota"]:
        refuse_idle({"--people": columns["people"]}, "it says what a --quota counts; add one, or leave it out")
    proof, checkpoint = given["proof"], given["checkpoint"]
    check_picture(plot)
    paths = {"--model": model, "--proof": proof, "--checkpoint": checkpoint, "--plot": plot}
    check_outputs(with_ideal(data), paths)
    kinds = _kinds(columns.pop("texts"), given["first_stage"])
    table = read_data(data, **columns, need_label=True, kinds=kinds)
    est = Reranker(**parameters(RerankerOptions, given))
    if members:
        refuse_idle({"--squares": given["features"] or None}, "with --members no columns are reranked; leave one out")
        reranked(est.first_stage, est.set_params(features=MEMBERS).features)  # refused without a blend
    folds = None if free else cv or FOLDS
    # What the file would refuse after the fit. Held-out rows may choose a correction, unless there is none to choose.
    task = task_of(est, table.X.shape[1])
    if folds and est.radius is None and may_correct(est):
        task = replace(task, radius=1.0)
    if asked_folds(task):
        check_size("prior_scores", len(table))
        check_size("member_scores", len(table) * (len(members_of(est.first_stage)) if members else 0))
    roles = ("label", "qid", "id", "weight", *(("people",) if columns["people"] else ()))
    read = {f"{role}_column": columns[role] for role in roles} | {"positive_label": columns["pos_label"]}
    encode("feature_names", table.feature_names)
    encode("settings", read | ({} if table.labels is None else vars(table.labels)))
    say(f"Fitting {est.stat} on {len(table)} rows of {data.name}, at most {est.time_limit:g} s ...")
    if checkpoint is not None and checkpoint.exists():
        say(f"The search goes on with {checkpoint}.")
    with warnings_as_lines(LeakWarning, others=True):
        found, why, draw = fitted(est, table, folds, safeguard)
        if holdout is not None:
            est.set_params(checkpoint=None, proof=False)
            why.append(held_out_gain(lambda rows: fitted(est, rows, folds, safeguard)[0], table, holdout, est))
    outputs = Outputs()
    written = outputs.written
    outputs.file("model", model, lambda path: write_state(replace(found.state_, columns_read=read), path))
    if proof is not None:
        _write_proof(outputs, proof, found.result_.proof)
    with outputs.one():
        if as_json:
            told = {"description": describe(found).to_dict(), "coef": found.state_.named_weights(), "held_out": why}
            answer({**written, **found.result_.to_dict(), **told})
        else:
            tell("\n".join([as_text(describe(found).parts(details)), *why[not free :]]))
    if written and not as_json:
        say(f"Written to {', the proof to '.join(written.values())}." if "model" in written else f"Written to {proof}.")
    outputs.file("plot", plot, lambda path: write_picture(path, draw))
    outputs.check()
    raise typer.Exit(exit_code(found.result_))


def _linear(given: dict[str, Any]) -> dict[str, Any]:
    """The options with logistic regression as first stage."""
    named = None if given["first_stage"] in ("auto", "logistic") else given["first_stage"]
    refuse_idle({"--first-stage": named}, "--linear stands for --first-stage logistic; leave one of them out")
    return given | {"first_stage": "logistic"}


def _write_proof(outputs: Outputs, path: Path, record: Proof | None) -> None:
    """Write the proof, or say why there is none."""
    from rerank.certificate.proof_file import ProofTooLargeError, save_proof

    lacking = "the search had no part in this result"
    try:
        if record is not None:
            outputs.file("proof", path, partial(save_proof, record))
    except ProofTooLargeError as error:
        record, lacking = None, str(error)
    if "proof" not in outputs.written and path.exists():
        say(f"{path} is the proof of an earlier fit, not of this one.")
    if record is None:
        say(f"No proof was written to {path}: {lacking.rstrip('.')}.")


def _kinds(texts: str | None, first_stage: str) -> Kinds | None:
    """What columns hold, where texts and gaps have a use or are left out; None for a first stage of numbers alone."""
    from rerank.io.columns import ColumnKind
    from rerank.reranker.first_stage import NAMES, takes_texts

    names = [name.strip() for name in first_stage.split(",")]
    if not any(map(takes_texts, names)):
        if not {*names} <= {*NAMES, "none"} and texts is None:
            return {}  # a column of scores
        why = f"--first-stage {first_stage} learns from numbers alone; leave it out, or use --first-stage logistic"
        refuse_idle({"--texts": texts}, why)
        return None
    return dict.fromkeys(split_names(texts) or (), ColumnKind(texts=True))


def fitted(
    est: Reranker, table: Table, cv: int | None, safeguard: float | None
) -> tuple[Reranker, list[str], Callable[[], Any]]:
    """The reranker fitted to a table, what held-out rows say of it, and what draws the fit: the axes, or None."""
    from rerank.reranker.estimator import Reranker, fit_table
    from rerank.reranker.selection.options import SAFEGUARD
    from rerank.reranker.selection.reranker_cv import RerankerCV

    own = Reranker(**est.get_params(deep=False))
    if cv is None:
        found = fit_table(own, table)
        return found, [], found.result_.plot_history
    # A radius that the user names is the one correction that is compared with the first stage.
    more: dict[str, Any] = {"time_limit": est.time_limit, "random_state": est.random_state, "verbose": 1}
    more |= {"grid": None if est.radius is None else {}, "safeguard": SAFEGUARD if safeguard is None else safeguard}
    search = fit_table(RerankerCV(own, cv=cv, **more), table)
    return search.best_estimator_, [search.report()], search.plot


def check_meant(
    free: bool, cv: int | None, safeguard: float | None, holdout: float | None, given: dict[str, Any]
) -> dict[str, Any]:
    """The options, where a share is one and none of ``rerank fit`` is without meaning beside the others."""
    if holdout is not None and not 0 < holdout < 1:
        raise InputError(f"--holdout is {holdout:g}; it must be a share of the rows between 0 and 1, such as 0.3.")
    if free:
        why = "it says how held-out rows choose, which --free does not ask; leave one of them out"
        refuse_idle({"--cv": cv, "--safeguard": safeguard}, why)
    elif given["solver"] == "none":
        refuse_idle({"--solver none": True}, "it fits nothing that held-out rows could judge; add --free")
    candidates, folds = given["n_candidates"], given["cross_fit"]
    if given["first_stage"] == "none":
        idle = {"--candidates": None if candidates in ("auto", "0") else candidates}
        idle["--cross-fit"] = None if folds in ("auto", "none") else folds
        refuse_idle(idle, "it is about the scores of a first stage; leave it out, or name a --first-stage")
    if given["solver"] == "search" and not given["presolve"]:
        refuse_idle({"--no-presolve": True}, "--solver search does nothing but that search; leave one of them out")
    return given


def held_out_gain(fitted: Callable[[Table], Reranker], table: Table, share: float, est: Reranker) -> str:
    """A sentence: the statistic of rows that a second fit, made by ``fitted``, did not see, and its first stage."""
    from rerank.ranks import evaluate
    from rerank.reranker.data import units_of
    from rerank.reranker.selection.folds import splits_of
    from rerank.reranker.selection.held_out import in_lists_of
    from rerank.statistics import parse

    assert table.y is not None
    relevant = table.y > table.y.min()
    units = table.qid if table.groups is None else units_of(table.qid, table.groups)
    split = splits_of(table.X, relevant, units, max(2, round(1 / share)), 1, est.random_state)[0]
    train, test = (some_of(table, rows) for rows in (split.train, split.test))
    part, statistic, unit, where = fitted(train), parse(est.stat), 1.0, ""
    if table.qid is None:
        statistic, unit = in_lists_of(statistic, len(table), len(test))
        where = f", as of a list of {len(table)} rows" if unit != 1.0 else ""
    grades = test.y
    assert grades is not None

    def measured(scores: NDArray[np.float64]) -> float:
        weights: dict[str, Any] = {"sample_weight": test.sample_weight, "ideal_gains": test.ideal_gains}
        return unit * evaluate(statistic, grades, scores, test.qid, gain=est.gain, **weights)

    after, first = measured(part.list_scores(test.X, test.qid)), part.first_stage_scores(test.X)
    before = "" if first is None else f"{measured(first):.4g} by the first stage, "
    told_of = f"Held out {len(test)} rows: {parse(est.stat)}{where}:"
    return f"{told_of} {before}{after:.4g} by a fit on the other {len(train)}."
