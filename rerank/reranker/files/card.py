"""Verifies a file of a card: its totals, value, cut and proof are made again from the rows of its fit."""

from typing import Any

from rerank.errors import CertificateError, InputError
from rerank.io.frames import with_columns
from rerank.io.table import Table
from rerank.reranker.files.model_file import usable
from rerank.reranker.files.report import Check, Report, Unchecked
from rerank.scorecard import Card
from rerank.scorecard.filed import FiledEntry, OfRows, in_table, of_totals, too_large
from rerank.scorecard.files import Filed
from rerank.scorecard.verify import verify

NOBODY = "a record of how the card was made, which nobody can recompute"


def verified_card(
    filed: Filed, table: Table | None, where: str, query_weight: Any = None, without_data: bool = False
) -> Report:
    """The report on a file of a card; see :func:`rerank.verify`."""
    card, fit = Card(*filed.arguments), filed.fit
    if table is None and not without_data:
        raise InputError(
            "There is no table to recompute the card from; give the one it was fitted on, or ask for a check of the "
            "file alone: without_data=True, --without-data."
        )
    if fit is None and not card.totals:
        raise InputError(f"{where} states nothing but questions and points, so there is nothing to verify.")
    asked = None if fit is None else fit.get("asked")
    compared, remarks, left = of_totals(card, fit), list[str](), dict[str, tuple[str, bool]]()
    if not filed.digested:
        remarks.append("The file states no digest of itself, as those of earlier versions.")
    if fit is not None and fit["corrected"] is not None:
        left["fit.corrected"] = "held-out rows were judged by other fits, which are not repeated here", False
    if asked is not None and asked.get("read"):
        left["fit.asked.read"] = NOBODY, False
    if fit is not None and fit.get("notes"):
        left["fit.notes"] = NOBODY, False
    claims = [name for name in ("bound", "status") if fit is not None]
    if table is None:
        remarks.append("Only the file itself was checked: the table of the fit was not given.")
        left |= dict.fromkeys(("questions", "totals", "cut"), ("it takes the table of the fit", True))
        left |= dict.fromkeys((f"fit.{name}" for name in claims), ("it takes the table of the fit", True))
    else:
        with usable(where):
            found = _of_rows(card, filed, table, query_weight)
            compared = [own for own in compared if own.name != "fit.value"] + found.compared() + _read_as(asked, table)
            agree = asked is not None and all(entry.holds for entry in compared)
            why = _proof(found, compared, remarks) if agree else "it was not looked at, since other entries do not hold"
        if asked is None:
            why = "the file does not say what it was chosen from; fit again, and save it with its result"
        if why:
            left |= dict.fromkeys((f"fit.{name}" for name in claims), (why, True))
            left["cut"] = why, True
    checks = tuple(Check(entry.name, _as_text(entry.stated), _as_text(entry.found), entry.holds) for entry in compared)
    return Report(checks, tuple(remarks), tuple(Unchecked(name, *each) for name, each in left.items()))


def _of_rows(card: Card, filed: Filed, table: Table, query_weight: Any) -> OfRows:
    """The card on the rows of a table."""
    if table.y is None:
        raise InputError("The table has no labels; name the column that holds them.")
    asked = (filed.fit or {}).get("asked")
    X = with_columns(table.X, table.feature_names, table.feature_names)
    X = X if asked is None else in_table(asked["columns"], X)
    more = {"qid": table.qid, "weight": table.sample_weight, "query_weight": query_weight, "people": table.people}
    return OfRows(card, filed.fit, X, table.y, **more)


def _read_as(asked: Any, table: Table) -> list[FiledEntry]:
    """How the file says that the table was read, where another way was named."""
    read = (asked or {}).get("read") or {}
    named = {name: read.get(name) for name in ("label", "qid", "weight", "people", "positive") if name in read}
    there = {name: column for name, column in named.items() if name == "positive" or column in table.header}
    return [
        FiledEntry(f"fit.asked.read.{name}", column, f"{table.read.get(name)}, as the table was read", False)
        for name, column in there.items()
        if column is not None and name in table.read and column != table.read[name]
    ]


def _proof(found: OfRows, compared: list[FiledEntry], remarks: list[str]) -> str:
    """Repeat the proof; why not, if it is too long."""
    claim = found.claim()
    if found.asked is not None and found.asked["list_weights"] and (found.rows.list_weight == 1).all():
        return "it takes the weights of lists, which no table holds; give query_weight to rerank.verify"
    cut = found.cut(claim)
    compared.append(FiledEntry("cut", found.card.cut, cut, found.card.cut == cut))
    if too_large(claim):
        return f"{claim.result.sets:,} sets of questions take too long; Scorecard.verify repeats them after a fit"
    stated = f"{claim.result.status}, no card has more than {claim.result.bound!r}"
    try:
        again = verify(claim)
    except CertificateError as error:
        compared.append(FiledEntry("fit.bound", stated, str(error), False))
    else:
        compared.append(FiledEntry("fit.bound", stated, f"true of {again.allowed:,} sets of questions", True))
        remarks += [f"{found.allowed()}.", str(again)]
    return ""


def _as_text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
