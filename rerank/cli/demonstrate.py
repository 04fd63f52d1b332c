"""``rerank demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import AsJson, answer, tell, working

WORK = "Fitting logistic regression, simple rivals and corrections, on folds and on all rows ..."
AGAIN = "The same on machines that fail in one way ..."


def demo(
    time_limit: Annotated[float, typer.Option(help="Seconds for each of the two fits.")] = 40.0,
    jobs: Annotated[int, typer.Option(help="Cores; -1 for all.")] = -1,
    as_json: AsJson = False,
) -> None:
    """See a guarded correction where it pays, and where not.

    A first stage is corrected, guarded by held-out rows, and both are compared on lists to come.
    """
    if as_json:
        from rerank.cli.demo import Demo, cases

        with working(f"{WORK} {AGAIN}"):
            both = Demo(*cases(time_limit, jobs))
        answer(both.to_dict())
        return
    from rerank.cli import demo_text
    from rerank.cli.demo import cases
    from rerank.io.page import as_text

    # Each part is printed when it is known: the first fit on a machine compiles the search.
    tell(f"{demo_text.OPENING}\n")
    found = cases(time_limit, jobs)
    for work, told in ((WORK, demo_text.pays), (AGAIN, demo_text.kept)):
        with working(work):
            case = next(found)
        tell(as_text(told(case)))
