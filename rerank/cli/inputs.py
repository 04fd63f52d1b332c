"""What commands are given: columns and options of a fit by their fields, tables, models and runs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rerank.cli.common import say
from rerank.errors import InputError
from rerank.errors.telling import of_kind
from rerank.reranker.options import Spelling, spellings, split_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rerank.io import Table
    from rerank.io.columns import Kinds
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.ranked import StateRanker

Answer = TypeVar("Answer")

Data = Annotated[Path, typer.Argument(help="Table: .csv, .tsv, .svm (svmlight with qid), also .gz, or .parquet.")]
Model = Annotated[Path, typer.Argument(help="Model file (JSON) written by rerank fit.")]
COLUMNS = {
    "label": "column of the label, 0/1 or grades.",
    "qid": "column of the list (query) id.",
    "id": "column of the row's name.",
    "weight": "column of the row's weight.",
    "groups": "column of what rows belong together, such as a person; folds keep it whole.",
    "people": "column of the kind of row that --quota counts.",
    "pos_label": "the label of the rows to find, where labels are words (older name: --positive-label).",
    "features": "columns to use, with commas between; all by default. Those with text are for logistic and cards.",
    "texts": "columns whose numbers are names, such as postal codes, with commas between.",
    "delimiter": "what separates the columns, one character or tab.",
}
"""What the options of a command say of the columns of a table, by the names that :func:`read_data` has for it."""
OLDER = {"pos_label": ("--positive-label",)}
"""Older names of options."""
GIVEN = "given_"  # what the name of a parameter has before it among a command's own


def with_columns(*names: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """A command gets what is said of the columns of a table as ``columns``, by these names of :data:`COLUMNS`."""

    def made(name: str) -> Parameter:
        names = (flag_of(name), *OLDER.get(name, ()))
        told: Any = Annotated[str | None, typer.Option(*names, help=f"CSV: {COLUMNS[name]}")]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=told)

    return lambda command: _extended(command, "columns", list(map(made, names)), dict)


def flag_of(name: str) -> str:
    """The option that says a column."""
    return f"--{name.replace('_', '-')}"


def with_options(options: type[Any], unset: bool = False) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """A command gets the options of a fit by parameter as ``given``; with ``unset`` only those that the user gives."""

    def made(name: str, spelling: Spelling) -> Parameter:
        kind: Any = spelling.kind | None if unset else spelling.kind
        told: Any = Annotated[kind, typer.Option(*spelling.names, help=spelling.help)]
        default = None if unset else spelling.default
        return Parameter(GIVEN + name, Parameter.KEYWORD_ONLY, default=default, annotation=told)

    def packed(values: dict[str, Any]) -> dict[str, Any]:
        given = {name.removeprefix(GIVEN): value for name, value in values.items()}
        return {name: value for name, value in given.items() if not unset or value is not None}

    derived = [made(name, spelling) for name, spelling in spellings(options).items()]
    return lambda command: _extended(command, "given", derived, packed)


def _extended(
    command: Callable[..., Answer], name: str, made: list[Parameter], packed: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[..., Answer]:
    """The command with some parameters in place of one, which gets their values."""
    own = signature(command, eval_str=True).parameters.values()
    each = [made if parameter.name == name else [parameter.replace(kind=Parameter.KEYWORD_ONLY)] for parameter in own]
    shown = Signature([parameter for some in each for parameter in some])

    @functools.wraps(command)
    def run(**values: Any) -> Answer:
        taken = {parameter.name: values.pop(parameter.name) for parameter in made}
        return command(**values, **{name: packed(taken)})

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown.parameters.values()}
    run.__signature__ = shown  # type: ignore[attr-defined]
    return run


def read_data(
    path: Path,
    *,
    features: str | list[str] | None = None,
    delimiter: str | None = None,
    need_label: bool = False,
    kinds: Kinds | None = None,
    **roles: str | None,
) -> Table:
    """The table of a file (:func:`rerank.io.read_csv`) without rows of weight 0; features are names, or a text."""
    names = split_names(features) if isinstance(features, str) else features
    return there(_read(path, need_label, features=names, delimiter=separator(delimiter), kinds=kinds, **roles))


def _read(path: Path, need_label: bool, **options: Any) -> Table:
    """The table of a file; notes of its reader go to standard error."""
    from rerank.io import read_table

    table = read_table(path, **options)
    for note in table.notes:
        say(note)
    if need_label and table.y is None:
        raise InputError(f"{path} was read without labels; name the column that holds them with --label.")
    return table


def there(table: Table) -> Table:
    """The rows with a weight above 0, named as in the file: by their ids, or by their numbers in the whole table."""
    from rerank.ranks.present import present

    mask = present(len(table), table.sample_weight).mask
    return table if mask is None else some_of(replace(table, ids=row_names(table)), mask.nonzero()[0])


def row_names(table: Table) -> NDArray[np.object_]:
    """The ids of the rows, or their numbers."""
    import numpy as np

    return np.array([str(row) for row in range(len(table))], dtype=object) if table.ids is None else table.ids


def some_of(table: Table, rows: NDArray[np.intp]) -> Table:
    """Some rows of a table."""

    def some(values: NDArray[np.generic] | None) -> Any:
        return None if values is None else values[rows]

    return replace(
        table,
        X=table.X[rows],
        y=some(table.y),
        qid=some(table.qid),
        ids=some(table.ids),
        sample_weight=some(table.sample_weight),
        groups=some(table.groups),
        people=some(table.people),
        rows=rows if table.rows is None else table.rows[rows],
    )


MOST_SHOWN = 5  # columns beside a row, where none are named
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="CSV, Parquet: columns of the file to show beside each row, with commas between; by default the first "
        f"{MOST_SHOWN} of the model.",
    ),
]


def cells_beside(
    path: Path, table: Table, rows: Sequence[int], asked: str | None, delimiter: str | None, default: bool = True
) -> dict[str, list[str]]:
    """What the file holds in these rows of a table: in the columns ``asked`` for, or in the first of the model's."""
    from rerank.io.reader import cells_of

    names = split_names(asked)
    if not table.header:
        refuse_idle({"--columns": asked}, "svmlight has no columns by name; leave it out")
        return {}
    if names is None:
        taken = {table.read.get("id"), table.read.get("qid")}
        own = [name for name in table.feature_names if name in table.header and name not in taken]
        names = own[:MOST_SHOWN] if default else []
    places = rows if table.rows is None else table.rows[list(rows)].tolist()
    return cells_of(path, names, places, separator(delimiter))


def scores_shown(est: StateRanker, table: Table) -> Any:
    """The score of each row that people see: that of ``decision_function``, or within a list what orders it."""
    if est.state_.by_threshold:
        return est.decision_function(table.X, table.qid)
    return est.list_scores(table.X, lists_for_model(table))


def named_table(table: Table) -> Any:
    """The columns of a table under their names."""
    from rerank.io.frames import with_columns
    from rerank.io.meant import MEANT

    X = with_columns(table.X, table.feature_names, table.feature_names)
    return replace(X, notes=tuple(of_kind(table.notes, MEANT)))


READ = ("label", "qid", "id", "weight", "people")  # columns of a table that a model may need


def _fitted(doc: ModelDocument, role: str) -> Any:
    """The column that had a role in the table of the fit."""
    return doc.settings.get(f"{role}_column")


def _word_to_find(doc: ModelDocument, model: Path, positive: str | None, label: str | None) -> str | None:
    """The label of the rows to find, where labels are words: that of the fit, if none is named."""
    word = doc.settings.get("label_positive")
    word = doc.settings.get("positive_label") or (word if isinstance(word, str) else None)
    if positive is None:
        return word if label is not None else None
    if word not in (None, positive):
        say(f"{model} was fitted to find {word!r}, and --pos-label asks for {positive!r}.")
    return positive


def read_for(
    model: Path,
    data: Path,
    *,
    pos_label: str | None = None,
    delimiter: str | None = None,
    need_label: bool = False,
    take_label: bool = False,
    **roles: str | None,
) -> tuple[ModelDocument, Table]:
    """A model and a table with its columns; one that ``roles`` do not name is that of the fit, if the file has it.
    Labels are read where they are needed or, with ``take_label``, where the file has them. Rows of weight 0 are left
    out where labels are needed.
    """
    from rerank.io.columns import label_column
    from rerank.io.frames import with_columns
    from rerank.io.reader import column_names
    from rerank.io.svmlight import columns_like
    from rerank.reranker.files import model_file
    from rerank.reranker.files.document import kinds_of

    doc = model_file.read(model)
    kinds, options, label_of_rows = kinds_of(doc), dict[str, Any](), None
    if header := column_names(data, separator(delimiter)):
        wanted = READ if need_label else READ[:-1] if take_label else ("qid", "id")
        given = {role: roles.get(role) for role in READ}
        given |= {role: name for role in wanted if given[role] is None and (name := _fitted(doc, role)) in header}
        if given["id"] is None:  # what pandas calls the rows; of several columns or none they are numbered
            given["id"] = label_of_rows = label_column([name for name in header if name not in kinds])
        pos_label = _word_to_find(doc, model, pos_label, given["label"])
        options = {**given, "features": list(kinds), "kinds": kinds}
    else:
        options = {**columns_like(doc.feature_names), **{role: roles.get(role) for role in READ[:-1]}}
    options |= {"pos_label": pos_label, "delimiter": separator(delimiter)}
    try:
        table = _read(data, need_label, **options)
    except InputError:
        if label_of_rows is None:
            raise
        table = _read(data, need_label, **options | {"id": None})  # some rows may have no label
    if table.y is not None and table.read.get("positive") is not None:
        label, word = table.read["label"], table.read["positive"]
        say(f"Rows whose {label!r} is {word!r} count as relevant: {int((table.y > 0).sum())} of {len(table)}.")
    if len(table.feature_names) < len(doc.feature_names):
        X = with_columns(table.X, table.feature_names, doc.feature_names)
        table = replace(table, X=X, feature_names=doc.feature_names)
    lost = doc.settings.get("qid_column")
    if table.qid is None and (lost is not None or doc.result.get("n_lists", 1) > 1):
        what = "qid" if lost is None else f"column {lost!r}"
        say(f"{data} has no {what}, which held the lists of the fit, so all rows are one list; name theirs with --qid.")
    return doc, there(table) if need_label else table


def lists_for_model(table: Table) -> Any:
    """The lists of a table for a model; without any all rows are one list, as :func:`read_for` has said."""
    from rerank.ranks.lists import ONE_LIST

    return ONE_LIST if table.qid is None else table.qid


def ranker(doc: ModelDocument, model: Path) -> StateRanker:
    """What a model says of rows, for rows whose columns were found by name and have no names themselves."""
    from rerank.reranker.files.document import state_of
    from rerank.reranker.ranked import ranked

    return ranked(state_of(replace(doc, settings={**doc.settings, "named_features": False}), where=str(model)))


def flags_of(columns: Mapping[str, object]) -> dict[str, object]:
    """What is said of columns, by the options that say it."""
    return {flag_of(name): value for name, value in columns.items()}


def refuse_idle(given: Mapping[str, object], why: str) -> None:
    """Refuse options that would change nothing: those with a value that is not None. ``why`` ends the sentence."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is given, and {why}.")


RawIds = Annotated[
    bool, typer.Option("--raw-ids", help="CSV: no apostrophe before ids that a spreadsheet takes for formulas.")
]


def tell_apostrophes(texts: Iterable[object], raw: bool) -> None:
    """Say how many ids get an apostrophe in a CSV file, so that none is lost in a join."""
    from rerank.io.csv_table import spreadsheet_cell

    changed = [text for text in dict.fromkeys(map(str, texts)) if spreadsheet_cell(text, raw) != text]
    if changed:
        others = f" and {len(changed) - 1} more begin" if len(changed) > 1 else " begins"
        say(
            f"{changed[0]!r}{others} like a formula of a spreadsheet, so an apostrophe was put before it; rerank takes "
            "it away when it reads the file. To join by other programs, --raw-ids leaves it out."
        )


def separator(delimiter: str | None) -> str | None:
    """The character that ``--delimiter`` names."""
    return {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)


def with_ideal(path: Path) -> list[Path]:
    """A table and the file of ideal grades that may stand beside it."""
    from rerank.io import ideal

    return [path, Path(ideal.beside(path))]


def named_run(text: str) -> tuple[str, str] | None:
    """Name and file of NAME=FILE; None for a FILE alone, also where a file's own name has the sign."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and (os.path.exists(path) or not os.path.exists(text)) else None


def runs_of(given: list[str]) -> dict[str, Path]:
    """Files by name, from NAME=FILE, or FILE, whose name is its stem."""
    from rerank.io.runs import name_of_file

    found: dict[str, Path] = {}
    for text in given:
        name, path = named_run(text) or (name_of_file(text), text)
        if not name or not path:
            raise InputError(f"{text!r} is no run; write NAME=FILE, such as bm25=a.run.")
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give each a name of its own: NAME=FILE.")
        found[name] = Path(path)
    return found


def runs_and_qrels(
    files: list[str] | None, run: list[str] | None, qrels: Path | None, judged: bool
) -> tuple[dict[str, Path], Path | None]:
    """Runs by name, and judgements: --qrels, or the last file if it has to hold them (``judged``) or is written so."""
    from rerank.io.trec import reads_as

    every = list(files or [])
    if qrels is None and every and (judged or reads_as(every[-1]) == "judgements"):
        qrels = Path(every.pop())
    return runs_of([*every, *(run or [])]), qrels
