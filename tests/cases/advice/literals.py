"""Every text in the packages that gives advice, read from the source."""

# ruff: noqa: E501 - messages stand here as they are written

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.cases.advice import one_line
from tests.cases.imports import modules, tree

VERBS = (
    "write pass use give raise set take turn install add remove leave call load read name choose increase decrease drop "
    "lower fit ask try run make keep start delete save fill repeat shorten check put divide multiply subtract rescale "
    "encode merge split rename expand correct weigh train compare exchange unpack mark draw export build judge unfix "
    "activate wait free change rank mend close begin convert say let see scale state"
)
LIST_OF_VERBS = "|".join(["pip install", "apt-get install", "do not", *VERBS.split()])
ADVICE = re.compile(rf"(?:^|[;:,.] |\bor |\band |\bso |\bplease )(?:then |first )?(?:{LIST_OF_VERBS})\b", re.IGNORECASE)

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


@cache
def advice() -> set[str]:
    """The texts that tell a person what to do."""
    return {
        text
        for name in modules()
        if not name.startswith(NO_MESSAGES)
        for text in literals(tree(name))
        if " " in text and ADVICE.search(text)
    }
