"""The command line: ``rerank COMMAND``; ``rerank --help`` lists the commands.

Results go to standard output, as text or with ``--json`` as one JSON object; progress and errors go to standard error.
Exit codes: 0 proved optimal (or simply done), 3 a solution within the limit, 4 no solution, 5 the certificate failed,
2 bad input, 130 stopped by Ctrl-C or SIGTERM before there was a result.
"""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from rerank.cli import (
    checking,
    demonstrate,
    evaluating,
    fitting,
    fusing,
    programs,
    ranking,
    reporting,
    tables,
)
from rerank.cli.common import guarded
from rerank.cli.examples import after_help

app = typer.Typer(
    name="rerank",
    help="Fit the top of a ranked list exactly, with a proved bound. Exit codes: 0 proved optimal or done, "
    "3 a solution within the limit, 4 no solution, 5 the certificate failed, 2 bad input, "
    "130 stopped before there was a result.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        from rerank import __version__

        typer.echo(f"rerank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


for name, command in (
    ("demo", demonstrate.demo),
    ("fit", fitting.fit),
    ("rank", ranking.rank),
    ("score", ranking.score),
    ("report", reporting.report),
    ("evaluate", evaluating.evaluate),
    ("fuse", fusing.fuse),
    ("export", programs.export),
    ("solve", programs.solve),
    ("import", programs.take),
    ("verify", checking.verify),
    ("doctor", checking.doctor),
    ("convert", tables.convert),
):
    app.command(name, epilog=after_help(name))(guarded(command))


def main() -> None:
    """Entry point of the ``rerank`` command.  SIGTERM does what Ctrl-C does: a fit keeps what it found."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    finally:
        # The exit code says how the command ended, and Python takes the handler away before it exits with that.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
