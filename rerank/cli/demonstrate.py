"""``rerank demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import AsJson, answer, exit_code, working


def demo(
    time_limit: Annotated[float, typer.Option(help="Seconds for the exact fit.")] = 40.0,
    jobs: Annotated[int, typer.Option(help="Cores; -1 for all.")] = -1,
    as_json: AsJson = False,
) -> None:
    """Rerank a real list that is shipped with the package, and compare the exact fit with the first stage."""
    from rerank.cli.demo import run

    with working("Fitting the first stage, then the exact order of its shortlist ..."):
        shown = run(time_limit=time_limit, n_jobs=jobs)
    if as_json:
        answer(shown.to_dict())
    else:
        from rerank.cli.demo_text import print_demo

        print_demo(shown)
    raise typer.Exit(exit_code(shown.result))
