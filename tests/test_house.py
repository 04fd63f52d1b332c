"""The arrows of the house: who may import whom, read from the source, and what a plain import loads."""

import ast
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"pyomo", "highspy", "pulp", "numba", "matplotlib", "sklearn", "pyscipopt", "ray", "polars", "pandas"}


@dataclass(frozen=True)
class Edge:
    """One import: who, whom (a module of ours or a package of others), and whether loading the file runs it."""

    source: str
    target: str
    eager: bool


@cache
def modules() -> dict[str, Path]:
    found = {}
    for package in ("rerank", "formulations"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def edges_of(name: str, text: str, package: bool) -> list[Edge]:
    """Every import of a file, those under TYPE_CHECKING left out because they never run."""
    here = name if package else name.rpartition(".")[0]
    found: list[Edge] = []

    def visit(node: ast.AST, eager: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Edge(name, alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = here.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.append(Edge(name, whole if whole in modules() else base, eager))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                visit(child, eager)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for child in ast.iter_child_nodes(node):
                visit(child, eager and not inside)

    visit(ast.parse(text), True)
    return found


@cache
def edges() -> tuple[Edge, ...]:
    return tuple(
        edge
        for name, path in modules().items()
        for edge in edges_of(name, path.read_text(encoding="utf-8"), path.name == "__init__.py")
    )


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


@cache
def reach(start: str) -> frozenset[str]:
    """All that `start` imports in any way, and all that these import; of packages on the way, what loading runs."""
    seen, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [edge.target for edge in edges() if edge.source == name]
        parents = [name.rpartition(".")[0]] if "." in name else []
        for parent in parents:
            if parent not in seen and parent in modules():
                seen.add(parent)
                todo += [edge.target for edge in edges() if edge.source == parent and edge.eager]
    return frozenset(seen - {start})


def offenders(sources: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    names = [name for name in modules() if within(name, *sources)]
    assert names, f"no module is called {sources}"
    return [
        f"{name} -> {target}"
        for name in names
        for target in sorted(reach(name))
        if within(target, *forbidden)
    ]


# Each row: these modules, and what they must not reach by any path of imports, with the reason.
ARROWS = [
    # The programs are of use to people who do not learn to rank, and say nothing about solvers.
    (("formulations",), ("rerank", "highspy", "pulp", "sklearn", "numba", "matplotlib")),
    # The judge does not import the accused, nor anything compiled.
    (
        ("rerank.certificate",),
        (
            "formulations",
            "rerank.search",
            "rerank.solvers",
            "rerank.scorers",
            "rerank.reranker.estimator",
            *HEAVY,
            "scipy",
        ),
    ),
    # What a place is worth and who holds it: one home each, below everything else.
    (("rerank.ranks",), ("formulations", "rerank.search", "rerank.solvers", "rerank.problem", *HEAVY)),
    (("rerank.statistics",), ("formulations", "rerank.search", "rerank.solvers", "rerank.ranks", *HEAVY)),
    (
        ("rerank.io", "rerank.reranker.files.model_file", "rerank.datasets"),
        ("formulations", "rerank.problem", *HEAVY, "scipy"),
    ),
    # First stages are estimators like any other.
    (("rerank.scorers",), ("formulations", "rerank.search", "rerank.solvers", "rerank.reranker.estimator")),
    # Search knows the problem and no model; solvers know programs and no problem.
    (
        ("rerank.search",),
        (
            "formulations",
            "rerank.solvers",
            "rerank.scorers",
            "rerank.certificate",
            "rerank.reranker.estimator",
        ),
    ),
    (("rerank.solvers",), ("rerank.problem", "rerank.search", "rerank.scorers", "rerank.reranker.estimator")),
]


@pytest.mark.parametrize(("sources", "forbidden"), ARROWS, ids=[" ".join(row[0]) for row in ARROWS])
def test_arrows_point_down(sources, forbidden):
    assert offenders(sources, forbidden) == []


@pytest.mark.parametrize(
    ("package", "home", "lazy"),
    [
        ("pyomo", "formulations", False),
        ("highspy", "rerank.solvers.highs", True),
        ("pulp", "rerank.solvers.gateway", True),
    ],
)
def test_a_package_has_one_home(package, home, lazy):
    users = [edge for edge in edges() if within(edge.target, package)]
    assert users, f"nothing imports {package}"
    assert [edge for edge in users if not within(edge.source, home)] == []
    assert not lazy or [edge for edge in users if edge.eager] == []


def test_only_the_reranker_joins_search_and_programs():
    joined = {
        name
        for name in modules()
        if any(edge.source == name and within(edge.target, "rerank.search") for edge in edges())
        and any(
            edge.source == name and within(edge.target, "formulations", "rerank.solvers") for edge in edges()
        )
    }
    below = [
        name
        for name in joined
        if within(name, "rerank.search", "rerank.solvers", "rerank.scorers", "formulations")
    ]
    assert joined and below == []
    # Whoever joins them is reached from the reranker or the command line only.
    users = {edge.source for edge in edges() if edge.target in joined and edge.source not in joined}
    allowed = reach("rerank.reranker.estimator") | {"rerank.reranker.estimator"}
    assert [name for name in users if name not in allowed and not within(name, "rerank.cli")] == []


def test_nothing_imports_the_command_line():
    assert [
        edge
        for edge in edges()
        if within(edge.target, "rerank.cli") and not within(edge.source, "rerank.cli")
    ] == []


@pytest.mark.parametrize(
    "module", ["rerank", "rerank.cli", "rerank.ranks", "rerank.io", "rerank.certificate"]
)
def test_a_plain_import_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.split())
    assert "sys" in loaded and loaded & (HEAVY | ({"scipy"} if module != "rerank.cli" else set())) == set()


def test_the_walker_sees_every_form_of_import():
    """The test of the test: each way to write an import is found, and told apart by when it runs."""
    text = """
import a.b, c
from rerank import ranks
from . import errors
from .solvers import highs
from rerank.errors import InputError
if TYPE_CHECKING:
    import never
else:
    import d
def later():
    import e
    class Inner:
        from f import g
class Now:
    import h
"""
    found = {(edge.target, edge.eager) for edge in edges_of("rerank.x", text, False)}
    eager = {"a.b", "c", "rerank.ranks", "rerank.errors", "rerank.solvers.highs", "d", "h"}
    assert found == {(name, True) for name in eager} | {("e", False), ("f", False)}
    assert "rerank.errors" in reach("rerank.ranks") and "rerank.statistics" in reach("rerank.ranks")
