"""Puts docstrings into the pages, so that what is stated in the code is not stated a second time by hand.

``python docs/include_docstrings.py`` rewrites, in every page of this folder, what stands between a line
``<!-- docstring: package.module.name -->`` and the next ``<!-- end -->``; ``--check`` only says which pages differ.
``<!-- names: package.module -->`` stands before a table of a module's public names and their first sentences,
``<!-- commands: package.module -->`` before one of the commands of its ``app``.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

FOLDER = Path(__file__).parent
BLOCK = re.compile(r"(?P<open><!-- docstring: (?P<name>[\w.]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
NAMES = re.compile(r"(?P<open><!-- names: (?P<name>[\w.]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
COMMANDS = re.compile(NAMES.pattern.replace("names", "commands"), re.DOTALL)
RULE = re.compile(r"=+(\s+=+)+$")


def renewed(page: str) -> str:
    """The page with every docstring and every table of names and commands as it is now."""
    page = BLOCK.sub(lambda block: f"{block['open']}\n{markdown(found(block['name']))}\n\n{block['close']}", page)
    page = NAMES.sub(lambda block: f"{block['open']}\n{names(block['name'])}\n\n{block['close']}", page)
    return COMMANDS.sub(lambda block: f"{block['open']}\n{commands(block['name'])}\n\n{block['close']}", page)


def public_names(module: str) -> dict[str, Any]:
    """Public names of a module and what they mean: those of ``__all__``, else the functions and classes made there."""
    home = importlib.import_module(module)
    listed = getattr(home, "__all__", None)
    if listed is not None:
        return {name: getattr(home, name) for name in listed}
    own = {name: thing for name, thing in vars(home).items() if not name.startswith("_")}
    return {
        name: thing
        for name, thing in own.items()
        if (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__ == home.__name__
    }


def names(module: str) -> str:
    """A table of a module's public names, each with the first sentence of its docstring, or its value."""
    rows = ["| name | what it is |", "|---|---|"]
    for name, thing in public_names(module).items():
        described = inspect.isroutine(thing) or inspect.isclass(thing)
        first = (inspect.getdoc(thing) or "").partition("\n\n")[0] if described else f"``{thing!r}``"
        sentence = inline(re.split(r"(?<=\.)(?<!sec\.)(?<!eq\.)(?<!app\.)\s", " ".join(first.split()))[0])
        rows.append(f"| `{name}` | {sentence.replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def found(name: str) -> str:
    """Docstring of a module or of something in it, up to its list of parameters."""
    try:
        thing: Any = importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(module), last)
    text = inspect.getdoc(thing)
    if not text:
        raise LookupError(f"{name} has no docstring to include.")
    return re.split(r"\n\n?(?=Parameters\n-|>>> )", text)[0].rstrip()


def commands(module: str) -> str:
    """A table of the commands of a program, each with the first paragraph of its help."""
    program = typer.main.get_command(importlib.import_module(module).app)
    rows = ["| command | what it does |", "|---|---|"]
    every: dict[str, Any] = {}
    for name, command in program.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        every |= {name: command} if inner is None else {f"{name} {one}": inner[one] for one in inner}
    for name, command in every.items():
        first = " ".join((command.help or "").partition("\n\n")[0].split())
        rows.append(f"| `{program.name} {name}` | {first.replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def markdown(text: str) -> str:
    """A docstring's tables, lists of terms and displayed formulas in Markdown; the words stay as they are."""
    blocks: list[str] = []
    displayed = False
    for block in re.sub(r"\n*Attributes\n-+\n", "\n\n", text).split("\n\n"):
        lines = block.split("\n")
        if displayed and lines[0].startswith("    "):
            blocks.append("\n".join(["```text", *(line[4:] for line in lines), "```"]))
        elif RULE.match(lines[0]):
            blocks.append("\n".join(inline(line) for line in table(lines)))
        else:
            blocks.append("\n".join(inline(line) for line in terms(lines)))
        displayed = block.endswith("::")
    return "\n\n".join(blocks)


def inline(line: str) -> str:
    """One line of text: code spans, roles, the mark of a displayed formula."""
    line = re.sub(r":\w+:`([^`]+)`", r"`\1`", re.sub(r"``([^`]+)``", r"`\1`", line))
    return re.sub(r"::$", ":", line)


def terms(lines: Sequence[str]) -> list[str]:
    """A paragraph; where an indented line follows one that is not, the two are a term and its meaning."""
    out: list[str] = []
    for line in lines:
        if not line.startswith("    "):
            out.append(line)
        elif out and not out[-1].startswith(("- ", "  ")):
            name, colon, kind = out[-1].partition(" : ")
            term = f"`{name}` ({kind})" if colon else out[-1]
            out[-1] = f"- **{term}**: {line.strip()}"
        else:
            out.append(f"  {line.strip()}")
    return out


def table(lines: Sequence[str]) -> list[str]:
    """A simple table of two or more columns without a heading."""
    edges = [mark.start() for mark in re.finditer(r"=+", lines[0])]
    rows = [[line[a:b].strip() for a, b in zip(edges, [*edges[1:], None])] for line in lines[1:-1]]
    cells = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| symbol | meaning |", "|---|---|", *cells]


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages, or say which differ; return the exit code."""
    sys.path.insert(0, str(FOLDER.parent))
    stale = []
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if renewed(text) != text:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(renewed(text), encoding="utf-8")
    for page in stale:
        print(f"{page.name}: {'differs from the docstrings' if '--check' in arguments else 'rewritten'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
