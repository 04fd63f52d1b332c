"""``rerank compare``: which method to take for a table; ``rerank frontier``: what each further column is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import FEASIBLE, PROVED, AsJson, Outputs, answer, entries, say, tell, warnings_as_lines
from rerank.cli.inputs import Data, named_table, read_data, refuse_idle, with_columns, with_ideal
from rerank.errors import LeakWarning, unknown
from rerank.reranker.options import STATISTICS, split_names

if TYPE_CHECKING:
    from rerank.io import Table

Stat = Annotated[str, typer.Option(help=STATISTICS)]
Folds = Annotated[int, typer.Option(help="Folds whose rows are held out.")]
Limit = Annotated[float, typer.Option(help="Seconds for everything.")]
Plot = Annotated[Path | None, typer.Option(help="Draw it, too: a .png, .svg or .pdf.")]
Jobs = Annotated[int, typer.Option(help="Cores; -1 for all.")]
Seed = Annotated[int, typer.Option(help="Seed of the folds and of everything random.")]


@with_columns("label", "qid", "id", "weight", "groups", "pos_label", "features", "texts", "delimiter")
def compare(
    data: Data,
    columns: Any = None,
    stat: Stat = "precision@100",
    methods: Annotated[
        str,
        typer.Option(help="Of logistic, squares, trees, forest, blend, lightgbm, card, guard, which is the default."),
    ] = "logistic,squares,trees,forest,blend,lightgbm,card,guard",
    first_stage: Annotated[
        str | None,
        typer.Option(help="Column of the score in use: what the others have to lead; a guard corrects it, too."),
    ] = None,
    folds: Folds = 5,
    time_limit: Limit = 120.0,
    plot: Plot = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare methods on held-out rows, and say which to take."""
    from rerank.reranker.selection import comparison

    in_use = [] if first_stage is None else [first_stage]
    chosen = columns["features"] = split_names(columns["features"])
    if chosen is not None:
        chosen += [name for name in in_use if name not in chosen]
    table = _table(data, columns, plot)
    if first_stage is not None and first_stage not in table.feature_names:
        raise unknown(f"column of {data.name}", first_stage, table.feature_names)
    say(f"Comparing by {stat} on {len(table)} rows of {data.name}, at most {time_limit:g} s ...")
    assert table.y is not None
    tried = [*in_use, *(split_names(methods) or ())]
    asked: dict[str, Any] = {"folds": folds, "time_limit": time_limit, "n_jobs": jobs, "random_state": seed}
    given = (table.qid, table.sample_weight, None, table.ideal_gains, table.groups)
    with warnings_as_lines(LeakWarning):
        found = comparison.compare(named_table(table), table.y, stat, *given, methods=tried, verbose=1, **asked)
    told = entries(found, "statistic", "take", "sentence", "folds", "list_length")
    _answered(found, plot, as_json, told | {"methods": found.table})


@with_columns("label", "qid", "id", "weight", "groups", "pos_label", "features", "texts", "delimiter")
def frontier(
    data: Data,
    columns: Any = None,
    stat: Stat = "auc",
    most: Annotated[int, typer.Option(help="Most columns, or questions.")] = 4,
    questions: Annotated[
        bool, typer.Option("--questions", help="Cards of points by their number of questions, not columns.")
    ] = False,
    folds: Folds = 5,
    time_limit: Limit = 60.0,
    plot: Plot = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the best value with 1 to k columns, or questions."""
    from rerank.reranker.estimator import Reranker
    from rerank.scorecard import Scorecard

    if questions:
        refuse_idle({"--groups": columns["groups"]}, "the folds of a card keep lists whole; leave it out")
    table = _table(data, columns, plot)
    unit = "questions" if questions else "columns"
    say(f"Fitting {stat} with 1 to {most} {unit} on {len(table)} rows of {data.name}, at most {time_limit:g} s ...")
    X, y = named_table(table), table.y
    common: dict[str, Any] = {"n_jobs": jobs, "random_state": seed, "verbose": 1}
    assert y is not None
    with warnings_as_lines(LeakWarning):
        if questions:
            card = Scorecard(stat, validation=folds, **common)
            found = card.frontier(most, X, y, table.qid, table.sample_weight, time_limit=time_limit)
        else:
            given = (X, y, table.qid, table.sample_weight, None, table.ideal_gains, table.groups)
            found = Reranker(stat, **common).frontier(most, *given, folds=folds, time_limit=time_limit)
    told = entries(found, "statistic", "unit", "proved", "held_out_by")
    _answered(found, plot, as_json, told | {"steps": found.table})
    raise typer.Exit(PROVED if found.proved else FEASIBLE)


def _table(data: Path, columns: dict[str, Any], plot: Path | None) -> Table:
    """The table, after a picture that could not be written was refused."""
    from rerank.cli.pictures import check_picture
    from rerank.io.columns import ColumnKind
    from rerank.io.paths import check_outputs

    check_picture(plot)
    check_outputs(with_ideal(data), {"--plot": plot})
    kinds = dict.fromkeys(split_names(columns.pop("texts")) or (), ColumnKind(texts=True))
    return read_data(data, **columns, need_label=True, kinds=kinds)


def _answered(found: Any, plot: Path | None, as_json: bool, body: dict[str, Any]) -> None:
    """Print a result, and draw it."""
    from rerank.cli.pictures import write_picture

    outputs = Outputs()
    with outputs.one():
        if as_json:
            answer(body)
        else:
            tell(str(found))
    outputs.file("plot", plot, lambda path: write_picture(path, found.plot))
    outputs.check()
