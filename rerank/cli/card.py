"""``rerank card``: a card of points fitted, shown, applied, reported, compared with a given one, and exported."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import (
    FEASIBLE,
    PROVED,
    AsJson,
    Outputs,
    answer,
    entries,
    say,
    tell,
    warnings_as_lines,
    write_page,
)
from rerank.cli.inputs import (
    Data,
    RawIds,
    named_table,
    read_data,
    refuse_idle,
    row_names,
    separator,
    tell_apostrophes,
    with_columns,
    with_ideal,
)
from rerank.errors import InputError, LeakWarning
from rerank.reranker.options import split_names, worded

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.io.columns import Kinds
    from rerank.scorecard import Card, Question

CardFile = Annotated[Path, typer.Argument(help="Card: a .json of rerank card fit, or a .csv with question,points.")]
Stat = Annotated[str, typer.Option(help="auc, pauc_fpr@0.1, precision@N, dcg@N, ndcg@N and their like.")]
Points = Annotated[str, typer.Option(help="Points of a question: R for -R to R, a range 1:3, or numbers 5,10.")]
People = Annotated[str | None, typer.Option(help="CSV: column of the kind of people, for constraints.")]
Limit = Annotated[float, typer.Option(help="Seconds of the search.")]
Jobs = Annotated[int, typer.Option(help="Cores; -1 for all.")]

VALIDATION = "--validation is {}; it must be a number of folds, bootstrap or none."

LANGUAGES = ("sql", "formula", "python", "markdown", "csv", "excel")
Fit = Mapping[str, Any] | None  # what a file says of the fit of its card


@with_columns("label", "qid", "id", "weight", "pos_label", "features", "texts", "delimiter")
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the card: .json, or .csv.")],
    columns: Any = None,
    stat: Stat = "auc",
    questions: Annotated[int, typer.Option(help="Most questions.")] = 4,
    points: Points = "5",
    must: Annotated[
        list[str] | None, typer.Option(help="A question or column that the card asks about; may be repeated.")
    ] = None,
    never: Annotated[
        list[str] | None, typer.Option(help="A question or column that it does not ask about; may be repeated.")
    ] = None,
    one_per_column: Annotated[bool, typer.Option("--one-per-column", help="One question of a column at most.")] = False,
    monotone: Annotated[
        bool, typer.Option("--monotone", help="Points rise or fall with the values of a column.")
    ] = False,
    ranges: Annotated[bool, typer.Option("--ranges", help="Also ask such as '18 <= age < 30'.")] = False,
    groups: Annotated[bool, typer.Option("--groups", help="Also ask such as 'region in B, D'.")] = False,
    min_rows: Annotated[float, typer.Option(help="Rows, or below 1 their share, that give each answer at least.")] = 0,
    special: Annotated[
        list[str] | None, typer.Option(help="A code that stands for a gap, such as income=999999; may be repeated.")
    ] = None,
    max_total: Annotated[int | None, typer.Option(help="The largest total that a row may have.")] = None,
    class_weight: Annotated[str | None, typer.Option(help="balanced, or such as yes=3,no=1.")] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help="Such as 'sensitivity >= 0.8' or 'flagged gap <= 0.1'; may be repeated.")
    ] = None,
    cut: Annotated[str | None, typer.Option(help="Which rows are flagged: 'top 100', 0.1 or free.")] = None,
    people: People = None,
    validation: Annotated[str, typer.Option(help="The corrected value: a number of folds, bootstrap or none.")] = "5",
    time_limit: Limit = 60.0,
    jobs: Jobs = 1,
    seed: Annotated[int, typer.Option(help="Seed of folds and refits.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a card of points, with a proof."""
    from rerank.io.paths import check_outputs
    from rerank.scorecard import Scorecard
    from rerank.scorecard.files import FIT, READ

    if output.suffix.lower() not in (".json", ".csv"):
        raise InputError(f"{output} names no format of a card; write to a .json, or to a .csv.")
    check_outputs(with_ideal(data), {"--output": output})
    read = {name: columns.get(name) for name in READ} | {"people": people, "positive": columns["pos_label"]}
    chosen = columns["features"] = split_names(columns["features"])
    if chosen is not None and people is not None and people not in chosen:
        chosen.append(people)
    table = read_data(data, kinds=_kinds(columns.pop("texts"), people), **columns, need_label=True)
    allowed: dict[str, Any] = {"must": must or (), "never": never or (), "max_total": max_total, "min_rows": min_rows}
    allowed |= {"one_per_column": one_per_column or ("monotone" if monotone else False)}
    allowed |= {"ranges": ranges, "groups": groups, "special": _codes(special)}
    allowed |= {"class_weight": _class_weight(class_weight, table)}
    allowed |= {"constraints": constraint or (), "cut": _cut(cut)}
    allowed["validation"] = worded({"none": None, "bootstrap": "bootstrap"}, VALIDATION, validation)
    how: dict[str, Any] = {"time_limit": time_limit, "n_jobs": jobs, "random_state": seed, "verbose": 1}
    est = Scorecard(stat, questions, _points(points), **allowed, **how)
    assert table.y is not None
    X = named_table(table)
    say(f"Fitting {stat} on {len(table)} rows of {data.name}, at most {time_limit:g} s ...")
    with warnings_as_lines(LeakWarning, others=True):
        est.fit(X, table.y, table.qid, table.sample_weight, people=people)
    outputs = Outputs()
    filed = replace(est.result_, asked={**(est.result_.asked or {}), "read": read})
    outputs.file("card", output, lambda path: est.card_.save(path, filed))
    with outputs.one():
        if as_json:
            numbers = entries(est.result_, *FIT, "pessimistic", "n_questions", "sets", "searched", "seconds")
            told = {"notes": est.result_.told, "left_out": est.left_out_}
            answer({**outputs.written, **numbers, **_body(est.card_), **told})
        else:
            tell(str(est))
    for name, why in est.left_out_.items():
        say(f"The column {name!r} gives no question: {why}.")
    if outputs.written and not as_json:
        say(f"Written to {output}.")
    outputs.check()
    raise typer.Exit(PROVED if est.result_.status == "optimal" else FEASIBLE)


def show(card: CardFile, as_json: AsJson = False) -> None:
    """Print a card."""
    from rerank.scorecard.filed import contradictions

    found, fit, digested = _read(card)
    wrong = contradictions(found, fit)
    if as_json:
        answer({**_body(found), "fit": fit, "digest": digested, "contradictions": wrong})
        return
    if fit is not None:
        tell(f"{' '.join(wrong) or _fitted(fit)}\n")
    tell(str(found))
    if fit is not None and not digested:
        say(f"{card} states no digest, so that nothing tells whether it was changed.")


@with_columns("id", "texts", "delimiter")
def apply(
    card: CardFile,
    data: Data,
    columns: Any = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the rows to a .csv, or with formulas to a .xlsx.")
    ] = None,
    raw_ids: RawIds = False,
    as_json: AsJson = False,
) -> None:
    """Give each row of a table its total, risk and flag."""
    from rerank.io.atomic import writing
    from rerank.io.csv_table import spreadsheet_cell
    from rerank.io.page import Cells, as_text
    from rerank.io.paths import check_outputs
    from rerank.scorecard.card import percent

    if output is not None and output.suffix.lower() not in (".csv", ".xlsx"):
        raise InputError(f"{output} names no format; write to a .csv or .xlsx file.")
    if output is None or output.suffix.lower() != ".csv":
        refuse_idle({"--raw-ids": raw_ids or None}, "it is about rows in CSV; add --output FILE.csv, or leave it out")
    check_outputs([card, *with_ideal(data)], {"--output": output})
    found, fit, table = _read_for(card, data, **columns)
    rows_of = named_table(table)
    names, totals = row_names(table), found.total(rows_of)
    for line in found.told(rows_of, (fit or {}).get("levels", {}), list(map(str, names))):
        say(line)
    known = bool(found.totals)
    risk = found.risk(totals).tolist() if known else [None] * len(table)
    flagged = found.flags(totals).tolist() if known or found.cut is not None else [None] * len(table)
    rows = list(zip(map(str, names), totals.tolist(), risk, flagged))
    if not known:
        say("The card has no risks, since it was not fitted; totals alone are told.")
    head = ("id", "total", "risk", "flagged")
    if output is not None and output.suffix.lower() == ".xlsx":
        found.to_excel(output, rows_of)
        say(f"{len(rows)} rows written to {output}.")
    elif output is not None:
        with writing(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            for name, total, own, flag in rows:
                rest = "" if own is None else repr(own), "" if flag is None else int(flag)
                writer.writerow([spreadsheet_cell(name, raw_ids), total, *rest])
        tell_apostrophes(names, raw_ids)
        say(f"{len(rows)} rows written to {output}.")
    if as_json:
        answer({"rows": [dict(zip(head, row)) for row in rows], "n_rows": len(rows)})
    elif output is None:
        told = {None: "-", True: "yes", False: "no"}
        cells = [[name, total, "-" if own is None else percent(own), told[flag]] for name, total, own, flag in rows]
        tell(as_text([Cells([["row", *head[1:]], *cells], ["left", "right", "right", "right"], named=True)]))


@with_columns("label", "qid", "weight", "pos_label", "texts", "delimiter")
def report(
    card: CardFile,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    columns: Any = None,
    stat: Annotated[str | None, typer.Option(help="By default that of the fit, or auc.")] = None,
    against: Annotated[Path | None, typer.Option(help="Rows to come, without labels: how far they have moved.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page on a card and labelled rows.

    The card as on paper; how good it is on these rows (Gini, KS, ROC curve); what each total means here and in the rows
    of the fit (calibration, decision curve); the cuts to act on; what each question tells, and how far rows have moved.
    Label, positive label, lists and weights are by default the columns of the fit. The page needs no network and runs
    no code.
    """
    from rerank.cli.card_page import card_sections
    from rerank.io.paths import check_outputs
    from rerank.scorecard.filed import contradictions

    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{output} is no name of a page; let it end in .html.")
    check_outputs([card, *with_ideal(data), *([] if against is None else [against])], {"--output": output})
    _remember(columns, card, data)
    found, fit, table = _read_for(card, data, **columns, need_label=True)
    asked = (fit or {}).get("asked") or {}
    if asked.get("lists", 1) > 1 and table.qid is None:
        raise InputError(
            f"The card was fitted on {asked['lists']:,} lists, and no column of lists is named; name it with --qid."
        )
    read = {name: columns[name] for name in ("texts", "delimiter")}
    other = None if against is None else (against.name, named_table(_read_for(card, against, **read)[2]))
    measured = stat or (fit or {}).get("statistic", "auc")
    wrong = " ".join(contradictions(found, fit))
    said = wrong or (_fitted(fit) if fit else None)
    parts, numbers = card_sections(found, named_table(table), table, measured, said, other)
    if wrong:
        say(wrong)
    write_page(output, f"A card of points on {data.name}", parts, as_json, statistic=measured, **numbers)
    if find_spec("matplotlib") is None:
        say("The page has no pictures: they need matplotlib; pip install 'exact-rerank[plots]'.")


@with_columns("label", "qid", "weight", "pos_label", "features", "texts", "delimiter")
def regret(
    card: CardFile,
    data: Data,
    columns: Any = None,
    stat: Stat = "auc",
    points: Points = "5",
    most: Annotated[int, typer.Option(help="Better cards are counted up to so many.")] = 10_000,
    time_limit: Limit = 60.0,
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Say what a card in use lacks of the best one of its size."""
    from rerank.io.reader import column_names
    from rerank.scorecard import Scorecard

    given = _read(card, column_names(data, separator(columns["delimiter"])))[0]
    kinds = {**_kinds_of(given.questions), **_kinds(columns.pop("texts"))}
    table = read_data(data, **columns, need_label=True, kinds=kinds)
    say(f"Searching the best card of its size on {len(table)} rows of {data.name}, at most {time_limit:g} s ...")
    assert table.y is not None
    est = Scorecard(stat, points=_points(points), time_limit=time_limit, n_jobs=jobs, verbose=1)
    found = est.regret(given, named_table(table), table.y, table.qid, table.sample_weight, most=most)
    if as_json:
        numbers = ("value", "best_value", "bound", "proved", "regret", "better", "counted", "lead", "error")
        answer({"statistic": stat, **entries(found, *numbers), "best": _body(found.best)})
    else:
        tell(str(found))
    raise typer.Exit(PROVED if found.proved else FEASIBLE)


def export(
    card: CardFile,
    to: Annotated[str, typer.Option(help=", ".join(LANGUAGES) + ".")],
    columns: Annotated[
        str | None,
        typer.Option(help="formula: columns of the sheet from A, with commas between; or a table with them."),
    ] = None,
    row: Annotated[int | None, typer.Option(help="formula: row of the sheet (2).")] = None,
    table: Annotated[str | None, typer.Option(help="sql: name of the table, put before columns.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file, not to the screen.")] = None,
    raw_ids: RawIds = False,
    as_json: AsJson = False,
) -> None:
    """Write a card in SQL, Python, Markdown, CSV, Excel or as a formula."""
    from rerank.io.atomic import writing
    from rerank.io.options import one_of
    from rerank.io.paths import check_outputs
    from rerank.io.reader import column_names, is_table

    one_of("--to", to, LANGUAGES)
    if to != "formula":
        refuse_idle({"--columns": columns, "--row": row}, "it is about --to formula; leave it out")
    if to != "sql":
        refuse_idle({"--table": table}, "it is about --to sql; leave it out")
    if to != "csv":
        refuse_idle({"--raw-ids": raw_ids or None}, "it is about --to csv; leave it out")
    check_outputs([card], {"--output": output})
    found = _read(card)[0]
    if to == "excel":
        _to_excel(found, output, as_json)
        return
    if to == "sql":
        text = found.to_sql(table) + "\n"
    elif to == "formula":
        listed = columns is not None and is_table(columns) and Path(columns).exists()
        sheet = column_names(columns) if listed and columns is not None else split_names(columns)
        text = found.to_formula(sheet, 2 if row is None else row) + "\n"
    elif to == "csv":
        text = found.to_csv(raw_ids)
        tell_apostrophes(found.questions, raw_ids)
    else:
        text = getattr(found, f"to_{to}")()
    if output is not None:
        with writing(output) as file:
            file.write(text)
        say(f"Written to {output}.")
    if as_json:
        answer({"to": to, "text": text, **({} if output is None else {"written": str(output)})})
    elif output is None:
        tell(text.removesuffix("\n"))


def _to_excel(card: Card, output: Path | None, as_json: bool) -> None:
    if output is None:
        raise InputError("--to excel writes a workbook; add --output FILE.xlsx.")
    card.to_excel(output)
    say(f"Written to {output}.")
    if as_json:
        answer({"to": "excel", "written": str(output)})


def _codes(given: list[str] | None) -> dict[str, list[float | str]] | None:
    """Codes by column, as :class:`rerank.scorecard.Scorecard` takes them."""
    from rerank.io.lines import is_number

    found: dict[str, list[float | str]] = {}
    for name, code in (_split(text, "--special", "income=999999") for text in given or ()):
        found.setdefault(name, []).append(float(code) if is_number(code) else code)
    return found or None


def _class_weight(given: str | None, table: Table) -> dict[str, float] | str | None:
    """Weights by label, as the table has labels: 0 and 1."""
    from rerank.io.lines import is_number

    if given is None or given == "balanced":
        return given
    pairs = [_split(text, "--class-weight", "yes=3,no=1") for text in given.split(",")]
    if wrong := [own for _, own in pairs if not is_number(own)]:
        raise InputError(f"--class-weight has {wrong[0]!r} for a number; write one such as yes=3,no=1.")
    words = {} if table.labels is None else {str(table.labels.negative): "0", str(table.labels.positive): "1"}
    return {words.get(label, label): float(own) for label, own in pairs}


def _split(given: str, option: str, such: str) -> tuple[str, str]:
    """What stands before and behind the last sign of equality."""
    name, sign, value = given.rpartition("=")
    if not sign:
        raise InputError(f"{option} is {given!r}; write one such as {such}.")
    return name.strip(), value.strip()


def _kinds(texts: str | None, *more: str | None) -> Kinds:
    """Columns that are read as texts: those named, and those of kinds of people."""
    from rerank.io.columns import ColumnKind

    names = [*(split_names(texts) or ()), *(name for name in more if name is not None)]
    return dict.fromkeys(names, ColumnKind(texts=True))


def _kinds_of(questions: Sequence[Question]) -> Kinds:
    """What columns hold: numbers where questions compare sizes, else the texts they name, kept as they are written."""
    from rerank.io.columns import ColumnKind
    from rerank.io.lines import TRUTH

    kinds = {question.column: ColumnKind(texts=False) for question in questions if question.sides}
    for question in questions:
        name, known = question.column, kinds.get(question.column)
        named = {level for level in question.levels if isinstance(level, str) and level not in TRUTH}
        if named and (known is None or known.texts):
            kinds[name] = ColumnKind(texts=True, known=(known.known if known else frozenset()) | named)
    return kinds


def _read(path: Path, columns: Sequence[str] = ()) -> tuple[Card, Fit, bool]:
    """A card, what its file says of the fit, and whether it states its digest."""
    from rerank.scorecard import Card
    from rerank.scorecard.files import read_card

    arguments, fit, digested = read_card(path, columns)
    return Card(*arguments), fit, digested


def _remember(columns: dict[str, Any], card: Path, data: Path) -> None:
    """What columns of a table were to the fit they are again, where it has them and nothing else is named."""
    from rerank.io.reader import column_names
    from rerank.scorecard.files import read_card

    header = column_names(data, separator(columns["delimiter"]))
    fit = read_card(card, header).fit
    read = ((fit or {}).get("asked") or {}).get("read", {})
    if columns["label"] is None and read.get("label") in header:
        columns["label"] = read["label"]
        columns["pos_label"] = columns["pos_label"] or read.get("positive")
    for name in ("qid", "weight"):
        if columns[name] is None and read.get(name) in header:
            columns[name] = read[name]


def _read_for(
    path: Path, data: Path, *, delimiter: str | None, texts: str | None, need_label: bool = False, **roles: Any
) -> tuple[Card, Fit, Table]:
    """A card, what its file says of the fit, and a table with its columns."""
    from rerank.io.reader import column_names

    header = column_names(data, separator(delimiter))
    card, fit, _ = _read(path, header)
    options: dict[str, Any] = {}
    if header:
        used = dict.fromkeys(question.column for question in card.questions)
        options = {"features": list(used), "kinds": {**_kinds_of([*card.questions, *card.special]), **_kinds(texts)}}
    return card, fit, read_data(data, delimiter=delimiter, need_label=need_label, **roles, **options)


def _body(card: Card) -> dict[str, Any]:
    """A card for JSON."""
    from rerank.scorecard.files import TOTAL

    asked = {"questions": [str(question) for question in card.questions], "points": list(card.points)}
    return asked | {"cut": card.cut, "totals": [dict(zip(TOTAL, total)) for total in card.totals]}


def _fitted(fit: Mapping[str, Any]) -> str:
    """What a file says of the fit, in sentences."""
    from rerank.scorecard.result import amount, four, rounded_up

    proof = "no bound is known of the cards that were allowed"
    if fit["status"] == "optimal":
        proof = "proved to be the best of the cards that were allowed"
    elif math.isfinite(fit["bound"]):
        proof = f"and no card that was allowed has more than {rounded_up(fit['bound'])}"
    value = amount(fit["statistic"], fit["value"])
    if fit["corrected"] is not None:
        leading = amount(fit["statistic"], fit["corrected"])
        value = f"{leading}, corrected for the choice of the card; {four(fit['value'])}"
    return " ".join([f"{value} on the rows of the fit, {proof}, as the file says.", *fit.get("notes", ())])


def _points(text: str) -> Any:
    """Points as :class:`rerank.scorecard.Scorecard` takes them."""
    try:
        if ":" in text:
            low, high = text.split(":")
            return int(low), int(high)
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--points is {text!r}; it must be R for -R to R, a range such as 1:3, or numbers such as 5,10."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def _cut(text: str | None) -> Any:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def read_for_check(path: Path, data: Path, columns: dict[str, Any]) -> Table:
    """The table of the fit of a card, read as its file says, but for what is named."""
    from rerank.io.reader import column_names
    from rerank.scorecard.files import read_card

    header = column_names(data, None)
    fit = read_card(path, header).fit
    asked = (fit or {}).get("asked") or {}
    read: dict[str, Any] = asked.get("read", {})
    roles = {name: columns.get(name) or read.get(name) for name in ("label", "qid", "weight", "people")}
    roles["pos_label"] = columns.get("pos_label") or read.get("positive")  # the older name, which files have
    kinds = _kinds(read.get("texts"))
    if asked:
        return read_data(data, kinds=kinds, features=asked["columns"] if header else None, **roles, need_label=True)
    return _read_for(path, data, delimiter=None, texts=None, need_label=True, **roles)[2]
