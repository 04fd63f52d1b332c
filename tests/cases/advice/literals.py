"""Every text in the packages that gives advice, read from the source."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.cases.advice import one_line
from tests.cases.imports import modules, tree

# What a person is told to do, by the verbs that say it.
KINDS = {
    "give": ("give", "pass", "add", "call", "start", "say", "state", "let", "see"),
    "leave out": ("leave", "drop", "delete", "remove", "free", "do not"),
    "take another": ("use", "choose", "take", "name", "try", "run", "change", "exchange", "compare"),
    "write": ("write", "rename", "make"),
    "ask for more": ("raise", "increase", "set", "expand", "wait"),
    "ask for less": ("lower", "decrease", "ask", "shorten", "keep"),
    "begin again": ("fit", "save", "export", "build", "read", "load", "repeat", "begin", "train", "close", "activate"),
    "correct": (
        "fill",
        "correct",
        "check",
        "put",
        "mark",
        "convert",
        "encode",
        "merge",
        "split",
        "mend",
        "judge",
        "unfix",
        "unpack",
        "draw",
        "turn",
        "weigh",
    ),
    "rescale": ("divide", "multiply", "subtract", "rescale", "scale", "rank"),
    "install": ("install", "pip install", "apt-get install"),
}
KIND_OF = {verb: kind for kind, verbs in KINDS.items() for verb in verbs}
ADVICE = re.compile(
    rf"(?:^|[;:,.] |\bor |\band |\bso |\bplease )(?:then |first )?({'|'.join(sorted(KIND_OF, reverse=True))})\b",
    re.IGNORECASE,
)

# Texts that are read by programs, or by people who asked for help, and no messages.
NO_MESSAGES = ("rerank.cli.examples", "rerank.cli.demo", "rerank.solvers.scip_process", "formulations.dialects")


def text_of(node: ast.AST) -> str | None:
    """A literal as text, with braces for what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def literals(node: ast.AST) -> Iterator[str]:
    """The texts below a node, but for docstrings and the help of options."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    text = text_of(node)
    if text is not None:
        yield one_line(text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg == "help":
            continue
        if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
            continue
        yield from literals(child)


def room(module: str) -> str:
    """The room of a module, with the folders of ``reranker`` apart."""
    package, *names = module.split(".")
    if package != "rerank":
        return package
    return ".".join(names[:2]) if names[0] == "reranker" and len(names) > 2 else names[0]


@cache
def advice() -> dict[str, set[tuple[str, str]]]:
    """The texts that tell a person what to do, with the rooms that say them and the kinds of what they tell."""
    found: dict[str, set[tuple[str, str]]] = {}
    for name in modules():
        if not name.startswith(NO_MESSAGES):
            for text in literals(tree(name)):
                if " " in text and (verbs := ADVICE.findall(text)):
                    found.setdefault(text, set()).update((room(name), KIND_OF[verb.lower()]) for verb in verbs)
    return found
