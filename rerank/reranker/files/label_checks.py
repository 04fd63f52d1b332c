"""Checks of labels, and of the cuts on the score from which a row gets each of them."""

from __future__ import annotations

from dataclasses import replace

from rerank.io.labels import TwoLabels
from rerank.reranker.classes import WORD
from rerank.reranker.files.bound_checks import close
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.files.refit import Refit
from rerank.reranker.files.report import Checks
from rerank.reranker.files.result_json import gathered


def check_labels(
    checks: Checks, stated: TwoLabels | None, found: TwoLabels | None, words: TwoLabels | None
) -> None:
    """What stands for irrelevant and relevant, against the table and the ``words`` of its file."""
    pair = ("settings.label_negative", "settings.label_positive")
    signs = found is None and stated == TwoLabels(-1, 1)  # read as 0 and 1 from a file
    if stated is not None and not isinstance(stated.positive, str) and not signs:
        alike = type(stated.negative) is type(stated.positive)  # True is not 1 in a file
        checks.compare("labels", stated, found, stated == found and alike, *pair)
    elif stated is not None and words is not None:
        checks.compare("labels", stated, words, stated == words, *pair)
    checks.given("the table holds grades, not words", *pair)


def check_cuts(checks: Checks, doc: ModelDocument, found: Refit) -> None:
    """The cuts against those that follow from table and ranking, to rounding."""
    stated, name = gathered(doc.settings, WORD), f"settings.{WORD}"
    now = found.state.with_classes(found.data.rows, found.data.y, found.scores).classes
    if now is not None and found.state.result.solver == "file":
        now = replace(now, cuts=None)  # weights of a file meet no table
    wanted = {} if now is None else {key.partition(".")[2]: cut for key, cut in now.to_flat().items()}
    if set(stated.values()) <= {None} and set(wanted.values()) - {None}:
        checks.lacking("files of earlier versions lack it", name)
        return
    holds = stated.keys() == wanted.keys() and all(
        stated[key] is cut if cut is None or stated[key] is None else close(stated[key], cut)
        for key, cut in wanted.items()
    )
    checks.compare("cuts between classes", stated, wanted, holds, name)
