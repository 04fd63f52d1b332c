"""The command line: ``rerank COMMAND``; ``rerank --help`` lists the commands.

Results go to standard output, as text or with ``--json`` as one JSON object; progress and errors go to standard error.
Exit codes: 0 proved optimal (or simply done), 3 a solution within the limit, 4 no solution, 5 the certificate failed,
2 bad input, or an output that could not be written, 130 stopped by Ctrl-C, SIGTERM or SIGHUP before there was a result.
"""

import os
import signal
import sys
from typing import Annotated

import typer

from rerank.cli import card, comparing, demo, files, fitting, ranking, searches
from rerank.cli.common import BAD_INPUT, STOPPED, guarded, say, silence, tell
from rerank.cli.examples import after_help
from rerank.errors import OutputError

app = typer.Typer(
    name="rerank",
    help="Fit the top of a ranked list exactly, with a proved bound. Exit codes: 0 proved optimal or done, "
    "3 a solution within the limit, 4 no solution, 5 the certificate failed, 2 bad input or an output not written, "
    "130 stopped before there was a result.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        from rerank import __version__

        tell(f"rerank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


FITS = (demo.demo, comparing.compare, comparing.frontier, fitting.fit, ranking.rank, ranking.score, ranking.report)
SEARCHES = (searches.evaluate, searches.fuse)
FILES = (files.export, files.solve, files.take, files.verify, files.doctor, files.convert)
for command in (*FITS, *SEARCHES, *FILES):
    name = "import" if command is files.take else command.__name__  # which is a word of Python
    app.command(name, epilog=after_help(name))(guarded(command))

cards = typer.Typer(
    help="Cards of points: fit, show, apply, report, regret, export.", no_args_is_help=True, rich_markup_mode=None
)
for command in (card.fit, card.show, card.apply, card.report, card.regret, card.export):
    cards.command(command.__name__, epilog=after_help(f"card {command.__name__}"))(guarded(command))
app.add_typer(cards, name="card", epilog=after_help("card"))


def main() -> None:
    """Entry point of the ``rerank`` command.  SIGTERM and SIGHUP do what Ctrl-C does: a fit keeps what it found."""
    _open_streams()
    stops = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # as the system has them
    signals = [number for number in stops if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has it
    for number in signals:
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:  # while a command was being read
        raise SystemExit(STOPPED) from None
    except (OutputError, OSError) as error:  # help, a version, or what is wrong with the words of a command
        silence()
        say(f"rerank: {error}" if isinstance(error, OutputError) else f"rerank: Cannot write: {error.strerror}.")
        raise SystemExit(BAD_INPUT) from None
    finally:
        # The exit code says how the command ended, and Python takes the handler away before it exits with that.
        for number in signals:
            signal.signal(number, signal.SIG_IGN)


def _open_streams() -> None:
    """Let closed streams go nowhere, for the next file would take their number; escape what an encoding lacks."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        stream = getattr(sys, name)
        if stream is None and number:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif number and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
