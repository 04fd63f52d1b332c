"""``rerank demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import AsJson, answer, exit_code, working


def demo(
    time_limit: Annotated[float, typer.Option(help="Seconds for each of the two fits.")] = 40.0,
    jobs: Annotated[int, typer.Option(help="Cores; -1 for all.")] = -1,
    as_json: AsJson = False,
) -> None:
    """See a guarded correction where it pays, and where not.

    A first stage is corrected, guarded by held-out rows, and both are judged by lists to come.
    """
    from rerank.cli.demo import run

    with working("Fitting logistic regression and small corrections of it, on held-out rows and on all ..."):
        shown = run(time_limit=time_limit, n_jobs=jobs)
    if as_json:
        answer(shown.to_dict())
    else:
        from rerank.cli.demo_text import print_demo

        print_demo(shown)
    raise typer.Exit(exit_code(shown.pays.result))
