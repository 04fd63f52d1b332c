"""Who imports whom in the packages, read from the source: modules, imports, circles and floors."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

# Files of the root that only give a module in a room its public name; they hold no code of their own.
PUBLIC_NAMES = {
    "rerank.datasets": "rerank.io.datasets",
    "rerank.fusion": "rerank.reranker.fusion",
    "rerank.metrics": "rerank.reranker.metrics",
    "rerank.perturb": "rerank.ranks.perturb",
}


@dataclass(frozen=True)
class Edge:
    """One import: who, whom (a module of ours or a package of others), and whether loading the file runs it."""

    source: str
    target: str
    eager: bool
    typed: bool = False  # under TYPE_CHECKING: it never runs, but whoever reads the source needs the other module


@cache
def modules() -> dict[str, Path]:
    """Every module of the packages by its name."""
    found = {}
    for package in ("rerank", "formulations"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


def edges_of(name: str, parsed: ast.Module, package: bool) -> list[Edge]:
    """Every import of a file; a text that names a module counts, since such texts are given to ``importlib``."""
    here = name if package else name.rpartition(".")[0]
    found: list[Edge] = []

    def visit(node: ast.AST, eager: bool, typed: bool = False) -> None:
        if isinstance(node, ast.Import):
            found.extend(Edge(name, alias.name, eager, typed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = here.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.append(Edge(name, whole if whole in modules() else base, eager, typed))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # `rerank/__init__` names what users import from it, and nobody inside imports these from there.
            if node.value in modules() and "." in node.value and name != "rerank":
                found.append(Edge(name, node.value, False))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in [*node.body, *node.orelse]:
                visit(child, eager and child in node.orelse, child in node.body)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for child in ast.iter_child_nodes(node):
                visit(child, eager and not inside, typed)

    visit(parsed, True)
    return found


@cache
def edges() -> tuple[Edge, ...]:
    """The imports of all modules."""
    return tuple(
        edge for name, path in modules().items() for edge in edges_of(name, tree(name), path.name == "__init__.py")
    )


@cache
def imports(eager: bool = False, typed: bool = False) -> dict[str, set[str]]:
    """Module to what it imports; with ``eager`` only what loading it imports, with ``typed`` also for annotations."""
    found = defaultdict(set)
    for edge in edges():
        if (edge.eager or not eager) and (typed or not edge.typed):
            found[edge.source].add(edge.target)
    return dict(found)


def within(name: str, *packages: str) -> bool:
    """Whether a module is one of ``packages`` or inside one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


@cache
def reach(start: str) -> frozenset[str]:
    """All that ``start`` imports in any way, and all that these import; of packages on the way, what loading runs."""
    seen, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += imports().get(name, ())
        parent = name.rpartition(".")[0]
        if parent in modules() and parent not in seen:
            seen.add(parent)
            todo += imports(eager=True).get(parent, ())
    return frozenset(seen - {start})


def room(name: str) -> str:
    """The first-level entry that holds a module: ``rerank.search.boxes.kernel`` stands in ``search``."""
    if name == "rerank.__main__":  # ``python -m rerank`` is the command line under another name
        return "cli"
    if name in PUBLIC_NAMES:
        return "rerank"
    parts = name.split(".")
    return parts[0] if len(parts) == 1 or parts[0] != "rerank" else parts[1]


def circles(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The groups of nodes that reach each other, and nodes that point at themselves (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(group) > 1 or node in graph.get(node, ()):
                found.append(group)

    for node in graph:
        if node not in index:
            visit(node)
    return found


def longest(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The longest chain of a graph without circles, from the top down."""

    @cache
    def below(node: str) -> tuple[str, ...]:
        return (node, *max((below(other) for other in graph.get(node, ())), key=len, default=()))

    return list(max((below(node) for node in graph), key=len, default=()))
