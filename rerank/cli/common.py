"""What every command says: answers, progress, and errors as one sentence with an exit code."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from formulations.errors import FormulationError
from rerank.errors import CertificateError, OutputError, RerankError, SolverError
from rerank.errors.telling import harmless, stderr
from rerank.errors.telling import say as say

if TYPE_CHECKING:
    from rerank.reranker.result import Result

PROVED, BAD_INPUT, FEASIBLE, NO_SOLUTION, FAILED = 0, 2, 3, 4, 5
STOPPED = 130  # as shells have it for Ctrl-C
Answer = TypeVar("Answer")

Details = Annotated[bool, typer.Option("--details", help="Print numbers, weights, options and seconds, too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def guarded(command: Callable[..., Answer]) -> Callable[..., Answer]:
    """The command, with an error of ours printed as one sentence on standard error and turned into an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Answer:
        try:
            return command(*args, **kwargs)
        except (RerankError, FormulationError) as error:
            say(f"rerank: {error}")
            code = FAILED if isinstance(error, CertificateError) else BAD_INPUT
            raise typer.Exit(NO_SOLUTION if isinstance(error, SolverError) else code) from None
        except KeyboardInterrupt:
            say("rerank: Stopped before there was a result; nothing was written.")
            raise typer.Exit(STOPPED) from None
        except OSError as error:
            what = "" if error.filename is None else f": {error.filename}"
            say(f"rerank: The system refused this{what}: {error.strerror or error}; change that, or use other paths.")
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError:
            say("rerank: There is not enough memory for this; pass a smaller table or fewer candidates.")
            raise typer.Exit(BAD_INPUT) from None

    return run


def exit_code(result: Result, guarded: bool = False) -> int:
    """0 where the result is proved, or held-out rows chose it or kept the first stage; 3 where the gap is open."""
    held_out = result.evidence
    decided = held_out is not None and held_out.decided
    return PROVED if result.proved or guarded or decided else FEASIBLE


def silence() -> None:
    """Let standard output go nowhere from now on; what waits to be written would fail again at the end of Python."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def warnings_as_lines(kind: type[Warning], others: bool = False) -> Iterator[None]:
    """Warnings of a kind as lines on standard error, each once; with ``others`` what else Python would show, too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", kind)
        yield
    for text in dict.fromkeys(str(each.message) for each in caught if others or issubclass(each.category, kind)):
        say(text)


def tell(text: str) -> None:
    """Lines of an answer, on standard output. A reader that has gone, as of ``| head``, is no error."""
    try:
        print(harmless(text), flush=True)
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise OutputError(
            f"Cannot write standard output: {error.strerror or error}; the files of this command are not affected."
        ) from None


def write_page(output: Path, title: str, sections: Any, as_json: bool, **more: Any) -> None:
    """Write a page of sections, and say so."""
    from rerank.io.atomic import writing
    from rerank.io.page import page

    with writing(output) as file:
        file.write(page(title, sections))
    if as_json:
        answer({"page": str(output), **more, "sections": [heading or title for heading, _ in sections]})
    else:
        say(f"Written to {output}.")


class Outputs:
    """What a command writes, each by itself: what cannot be written costs nothing else."""

    def __init__(self) -> None:
        self._lost: list[str] = []
        self.written: dict[str, str] = {}

    @contextmanager
    def one(self) -> Iterator[None]:
        """The block writes one of them."""
        try:
            yield
        except OutputError as error:
            self._lost.append(str(error))

    def file(self, name: str, path: Path | None, write: Callable[[Path], Any]) -> None:
        """Write a file that is asked for; ``written`` has its path, unless that returns False."""
        with self.one():
            if path is not None and write(path) is not False:
                self.written[name] = str(path)

    def check(self) -> None:
        """Say at the end what could not be written."""
        if self._lost:
            raise OutputError(" ".join(self._lost))


def answer(body: Mapping[str, Any]) -> None:
    """One JSON object on standard output; infinities become null, as JSON has none."""
    from rerank.io.bounded import plain

    tell(json.dumps(plain(body), indent=1, allow_nan=False))


def entries(record: Any, *names: str) -> dict[str, Any]:
    """Some fields of a record, for an answer."""
    return {name: getattr(record, name) for name in names}


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the time on standard error while the block runs; a plain line if that is not a terminal."""
    if not stderr().isatty():
        say(what)
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stderr()), transient=True) as shown:
        shown.add_task(what, total=None)
        yield
