"""Pictures that commands write to a file: ``--plot``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.cli.common import say
from rerank.cli.inputs import lists_for_model
from rerank.errors import InputError, RerankError

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.ranked import StateRanker

KINDS = (".png", ".svg", ".pdf")

MOST_ROWS = 30  # bars of a picture


def check_picture(path: Path | None) -> None:
    """Refuse, before any work, a picture that could not be written in the end."""
    if path is None:
        return
    if path.suffix not in KINDS:
        raise InputError(f"{path} names no kind of picture; write to a .png, .svg or .pdf file.")
    if find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib, which is not installed; pip install 'exact-rerank[plots]'.")
    import matplotlib

    matplotlib.use("Agg")


def write_picture(path: Path, draw: Callable[[], Any]) -> None:
    """Write the figure of the axes that a function draws; why there is nothing to draw is said, and no error."""
    try:
        axes = draw()
    except RerankError as error:
        say(f"Nothing was drawn to {path}: {error}")
        return
    from rerank.io.atomic import writing_bytes

    picture = BytesIO()
    axes.figure.savefig(picture, format=path.suffix[1:], dpi=150)
    with writing_bytes(path) as file:
        file.write(picture.getvalue())
    say(f"Drawn to {path}.")


def check_one_list(path: Path | None, table: Table) -> None:
    """Refuse a picture of several lists."""
    if path is not None and table.qid is not None and len(set(table.qid.tolist())) > 1:
        raise InputError("--plot draws one list, and the table has several; leave it out, or give one list.")


def list_drawn(est: StateRanker, table: Table, n: int) -> Any:
    """Relevant rows found by rows looked at; without any in the table, what puts the first ``n`` rows there."""
    if table.y is not None and (table.y > 0).any():
        return est.plot(table.X, table.y, qid=lists_for_model(table))
    names = None if table.ids is None else list(table.ids)
    return est.plot_contributions(table.X, min(n, MOST_ROWS), names, qid=lists_for_model(table))
