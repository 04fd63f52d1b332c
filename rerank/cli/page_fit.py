"""The parts of a report on the fit: what held-out rows said, what was proved, which claims were recomputed."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from rerank.cli.page import Section, picture, rows, text

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.evidence import Evidence
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report

GIVEN = "Taken as given from the model file"
"""What nobody can recompute from rows and file; ``rerank verify`` lists it under the same name."""

MOST_OPTIONS, MOST_DRAWN, LARGEST = 200, 30, 1e100
"""Options in the table and in the picture; no picture has larger numbers."""


def held_out(est: Reranker) -> Section:
    """What the model file keeps of a cross-validation."""
    title, found = "What held-out rows say", est.result_.evidence
    if found is None:
        lacking = (
            "The model file holds no held-out evidence: fit with --cv 5 (RerankerCV in Python), or make this page of "
            "labelled rows that the fit has not seen."
        )
        return Section(title, [text(lacking)])
    n = len(found.options)
    first, table, last = found.told()
    tried = f"{n} {'option was' if n == 1 else 'options were'} tried by fits that had not seen these rows."
    shown = table[: MOST_OPTIONS + 2]
    parts = [text(tried, *first), rows(list(shown[0]), [list(row) for row in shown[1:]], [1, 2, 3])]
    parts.append(text(*(one.replace(" (*)", "") for one in last)))
    if n > MOST_OPTIONS:
        parts.append(text(f"The first {MOST_OPTIONS} of {n} options are shown.", small=True))
    known = [one for one in (*found.leads, *found.errors) if one is not None]
    if known and n <= MOST_DRAWN and max((abs(one) for one in known if isfinite(one)), default=LARGEST) < LARGEST:
        parts.append(picture(found.plot))
    if known:
        parts.append(text(_caution(found), small=True))
    parts.append(text(f"{GIVEN}; the fits on folds are not repeated here.", small=True))
    return Section(title, parts)


def _caution(found: Evidence) -> str:
    """What a lead and its interval do not say."""
    lines = [
        "An interval has 1.96 standard errors on each side, of paired differences of relevant rows or of lists."
    ]
    if found.chosen is not None:
        ends = found.interval(found.chosen)
        if ends is not None and ends[0] <= 0 <= ends[1]:
            lines.append("That of the chosen option holds 0, so its lead may be chance.")
        lines.append("The lead of a chosen option tends to be too large, because the same rows chose it.")
    return " ".join(lines)


def proof(est: Reranker, unweighted: bool) -> Section:
    """What was proved, in sentences, and the numbers."""
    from rerank.reranker.proved import proved_in_words
    from rerank.reranker.shown import html_of
    from rerank.reranker.words import CORRECTIONS

    told = " ".join(proved_in_words(est.state_, unweighted))
    notes = tuple(note for note in est.result_.notes if not note.startswith(CORRECTIONS))
    parts = [html_of(replace(est.result_, notes=notes), told)]
    if notes:
        parts.append(text(f"{GIVEN}: the notes.", small=True))
    return Section("What was proved about the fit", parts)


def certificate(doc: ModelDocument, checked: Report, recomputed: bool) -> Section:
    """Which claims were recomputed, which are open or taken as given, and the versions of the fit."""
    failed = [check.name for check in checked.checks if not check.holds]
    told = f" These do not hold: {', '.join(failed)}." if failed else ""
    first = f"{len(checked.checks)} claims were recomputed from these rows."
    if not recomputed:
        first = (
            "The numbers of the fit were not recomputed here: that takes the labelled rows of the fit. "
            f"{len(checked.checks)} claims of the file were compared with each other."
        )
    parts = [text(f"{first} {checked.outcome}{told}")]
    for why, names in checked.reasons().items():
        parts.append(text(f"{why[0].upper()}{why[1:]}: {', '.join(names)}.", small=True))
    if doc.data_sha256:
        parts.append(text(f"Digest of the fitted problem: {doc.data_sha256}.", small=True))
    versions = ", ".join(f"{name} {version}" for name, version in doc.versions.items())
    parts.append(text(f"Made with {versions}.", small=True))
    return Section("Certificate and versions", parts)
