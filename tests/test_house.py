"""The plan of the house: who may import whom, how deep, how many lines a room has, and what a plain import loads.

``python -m tests.test_house`` prints the map of rooms, the floors, the ledger and what the checks find.
"""

import ast
import importlib
import re
import subprocess
import sys

import pytest

from tests.cases.imports import (
    PUBLIC_NAMES,
    ROOT,
    circles,
    edges,
    edges_of,
    imports,
    longest,
    modules,
    reach,
    room,
    tree,
    within,
)

HEAVY = {"pyomo", "highspy", "pulp", "numba", "matplotlib", "sklearn", "pyscipopt", "ray", "polars", "pandas"}
MOST_ROOMS, MOST_FLOORS = 14, 9  # a comparison of methods stands above cards and fits

# What each room may import from the others. A row may name only rooms of the rows above it.
ROOMS = {
    "formulations": "",
    "errors": "",
    "io": "errors",
    "statistics": "errors io",
    "ranks": "errors io statistics",
    "problem": "errors io statistics ranks",
    "certificate": "errors io statistics ranks problem",
    "search": "errors io statistics ranks problem",
    "solvers": "errors io formulations",
    "scorers": "errors io statistics ranks",
    "plots": "errors io statistics ranks problem",
    "latent": "errors io statistics ranks",
    "scorecard": "errors io statistics ranks formulations plots",
    "reranker": "errors io statistics ranks problem certificate search formulations solvers scorers plots scorecard",
    "cli": "errors io statistics ranks problem certificate search formulations solvers scorers plots scorecard "
    "reranker",
}

# Lines of Python in each room, and two in a hundred more may there be.  Whoever raises a number says why behind it; a
# room that has become smaller gets its number.  There is no limit on a file or a body: a file ends where its idea ends.
# The formatter writes every line; the numbers rose by two in a hundred when it came.
SLACK = 1.02  # a small change is no change of the ledger
LEDGER: dict[str, int] = {
    "formulations": 4305,  # solution files; cards; Pos@Top; transformed Disjuncts; both sides of z
    "errors": 870,  # text for people; stops; kernels that begin as Python; threads
    "io": 4916,  # runs of all forms; levels of categories; what a column may mean; words among numbers
    "statistics": 1003,  # a refusal names the share that was written; pairs of labels in order; ties as quoted; Pos@Top
    "ranks": 2277,  # rows that are there, the error of a lead; the field's measures of runs; many lists at once
    "problem": 1673,  # weights of any size; rows on the weights; quotas; many lists at once
    "certificate": 2258,  # multipliers and signs, repeated by the checker; rows on the weights
    "search": 10521,  # forms by NumPy until compiled; cuts; signs of small boxes; leads; whole numbers
    "solvers": 1752,  # own sense of objectives, unbounded programs; own options of solvers
    "scorers": 4499,  # columns with texts and gaps; trees as arrays; lambdarank; a threshold in one kernel
    "plots": 1539,  # axes have types; a card on paper; a validator's pictures; curves as SVG
    "scorecard": 6918,  # sets depth first; exchange; log loss; gaps, ranges, groups; validator's figures
    "latent": 2993,  # a penalty from the log; an evaluation refuses what it cannot judge
    "reranker": 14787,  # steps with records; comparison; verify; blends, searched too; the choice of a first stage
    "cli": 3465,  # commands for cards; compare and frontier; a report of one screen; columns of rows
    "rerank": 118,  # public names, verify among them
}

MOST_ANY = 1836  # types left open, kernels aside; it only falls

# What is known to break the plan. It only shrinks: what is mended has to go from here too.
OPEN: set[str] = {
    *(f"names_of_two_classes: {name}" for name in ("Evaluation", "Progress", "Verdict"))  # public ones
}

# Each row: these modules, and what they must not reach by any path of imports, with the reason.
ARROWS = [
    # The programs are of use to people who do not learn to rank, and say nothing about solvers.
    (("formulations",), ("rerank", "highspy", "pulp", "sklearn", "numba", "matplotlib")),
    # What verifies a proof imports neither what made it nor anything compiled.
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
    (("rerank.io", "rerank.reranker.files.model_file"), ("formulations", "rerank.problem", *HEAVY, "scipy")),
    # First stages are estimators like any other.
    (("rerank.scorers",), ("formulations", "rerank.search", "rerank.solvers", "rerank.reranker")),
    (("rerank.latent",), ("formulations", "rerank.problem", "rerank.search", "rerank.solvers", "rerank.reranker")),
    (("rerank.plots",), ("formulations", "rerank.search", "rerank.solvers", "rerank.reranker")),
    # Search knows the problem and no model; solvers know programs and no problem.
    (("rerank.search",), ("formulations", "rerank.solvers", "rerank.scorers", "rerank.certificate", "rerank.reranker")),
    (("rerank.solvers",), ("rerank.problem", "rerank.search", "rerank.scorers", "rerank.reranker")),
]


def ours() -> dict[str, set[str]]:
    """Module to the modules of ours that it imports, in functions too."""
    return {name: {other for other in imports().get(name, ()) if other in modules()} for name in modules()}


def between_rooms() -> dict[str, set[str]]:
    """Room to the rooms that it imports. The package's own ``__init__`` is no room: it holds the version."""
    found: dict[str, set[str]] = {}
    for name, others in ours().items():
        found.setdefault(room(name), set()).update(
            room(other) for other in others if room(other) not in (room(name), "rerank")
        )
    found.pop("rerank", None)
    return found


def circles_of_imports() -> set[str]:
    """Circles of imports, those for annotations counted. A public name says for type checkers what it stands for."""
    typed = {name: set[str]() for name in modules()}
    for edge in edges():
        if edge.target in modules() and not (edge.typed and edge.source in ("rerank", *PUBLIC_NAMES)):
            typed[edge.source].add(edge.target)
    return {" <-> ".join(sorted(group)) for group in circles(typed)}


def imports_against_the_table() -> set[str]:
    """Imports of what a room may not know, those for annotations counted."""
    return {
        f"{edge.source} -> {edge.target}"
        for edge in edges()
        if edge.target in modules() and room(edge.source) != "rerank"
        if room(edge.target) not in (room(edge.source), *ROOMS[room(edge.source)].split(), "rerank")
    }


def entries_of_the_root() -> set[str]:
    kept = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
    kept |= {f"{name.rpartition('.')[2]}.py" for name in PUBLIC_NAMES}
    return {path.name for path in (ROOT / "rerank").iterdir() if path.name not in kept}


def rooms_without_a_rule() -> set[str]:
    """Packages whose docstring does not begin with one sentence on a paragraph of its own."""
    found = set()
    for name, path in modules().items():
        if path.name == "__init__.py" and name.count(".") <= 1:
            first = (ast.get_docstring(tree(name)) or "").partition("\n\n")[0]
            if len(re.findall(r"[.!?](?=\s|$)", first)) != 1 or not first.endswith("."):
                found.add(name)
    return found


def map_of_rooms() -> str:
    """The rooms as a table, each with the rule that its docstring begins with."""
    rows = ["| room | its rule | may import |", "|---|---|---|"]
    for name, allowed in ROOMS.items():
        package = name if name in modules() else f"rerank.{name}"
        rule = " ".join((ast.get_docstring(tree(package)) or "").partition("\n\n")[0].split())
        rows.append(f"| `{name}/` | {rule.replace('``', '`')} | {allowed.replace(' ', ', ') or 'none of these'} |")
    return "\n".join(rows)


def lines_of_rooms() -> dict[str, int]:
    found: dict[str, int] = {}
    for name, path in modules().items():
        found[room(name)] = found.get(room(name), 0) + path.read_text(encoding="utf-8").count("\n")
    return found


def rooms_above_the_ledger() -> set[str]:
    return {f"{name}: {lines}" for name, lines in lines_of_rooms().items() if lines > SLACK * LEDGER.get(name, 0)}


def private_attributes_touched() -> set[str]:
    """Attributes ``_name`` of anything but ``self`` or ``cls``, where the estimators and what fits them stand.

    ``estimator`` builds an estimator from its stored state, ``StateRanker`` and ``Ranker`` are its base classes, and
    ``reranker_cv`` fits the estimators that it chooses from with the names that it was given.
    """
    found = set()
    for name in modules():
        if not within(name, "rerank.reranker", "rerank.cli") or name in (
            "rerank.reranker.estimator",
            "rerank.reranker.ranker",
            "rerank.reranker.selection.reranker_cv",
        ):
            continue
        for node in ast.walk(tree(name)):
            touched = None
            if isinstance(node, ast.Attribute):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                touched = None if own else node.attr
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
                text = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
                other = not (isinstance(node.args[0], ast.Name) and node.args[0].id in ("self", "cls"))
                if node.func.id in ("getattr", "setattr", "hasattr", "delattr") and other:
                    touched = text
            if isinstance(touched, str) and touched.startswith("_") and not touched.startswith("__"):
                found.add(f"{name}: {touched}")
    return found


MOST_LINES, MOST_BRANCHES = 60, 25  # of a function: more of either, and nobody can list its cases
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.IfExp, ast.comprehension)
COMPILED = {"kernel", "kept", "inner", "njit"}


def branches_of(function: ast.AST) -> int:
    """Conditions, loops, handlers, comprehensions and further operands of ``and`` and ``or``, nested ones too."""
    nodes = list(ast.walk(function))
    return sum(isinstance(node, BRANCHES) for node in nodes) + sum(
        len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp)
    )


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def is_compiled(name: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether numba compiles the function, or one that it makes; a module called kernel holds only such."""
    names = {
        ast.unparse(decorator).partition("(")[0]
        for node in ast.walk(function)
        if isinstance(node, FUNCTIONS)
        for decorator in node.decorator_list
    }
    return bool(names & COMPILED) or name.endswith((".kernel", ".kernels"))


def functions_too_large() -> set[str]:
    return {
        f"{name}.{node.name}"
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, FUNCTIONS) and not is_compiled(name, node)
        if lines_of(node) > MOST_LINES or branches_of(node) > MOST_BRANCHES
    }


def any_outside_kernels() -> int:
    """How often a type is left open, functions that numba compiles aside."""
    found = 0
    for name in modules():
        compiled = (node for node in ast.walk(tree(name)) if isinstance(node, FUNCTIONS) and is_compiled(name, node))
        inside = {id(node) for function in compiled for node in ast.walk(function)}
        open_types = (node for node in ast.walk(tree(name)) if isinstance(node, ast.Name) and node.id == "Any")
        found += sum(id(node) not in inside for node in open_types)
    return found


def sentences_searched() -> set[str]:
    """Modules that look for words in a note: what depends on it has a kind (:class:`rerank.errors.telling.Note`)."""
    asked = re.compile(r"(?<!for note )\bin note\b(?! in)|\bnote\.(startswith|endswith|find|index|count)\(")
    return {name for name, path in modules().items() if asked.search(path.read_text(encoding="utf-8"))}


def names_of_two_classes() -> set[str]:
    """A reader looks a class up by its name, so that no two have the same."""
    names = [node.name for name in modules() for node in ast.walk(tree(name)) if isinstance(node, ast.ClassDef)]
    return {name for name in names if names.count(name) > 1}


CHECKS = [
    functions_too_large,
    names_of_two_classes,
    sentences_searched,
    circles_of_imports,
    imports_against_the_table,
    rooms_without_a_rule,
    rooms_above_the_ledger,
    private_attributes_touched,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_plan_holds_but_for_what_is_known(check):
    assert {f"{check.__name__}: {found}" for found in check()} == {
        known for known in OPEN if known.startswith(f"{check.__name__}: ")
    }


def test_every_known_offender_belongs_to_a_check():
    assert {known.partition(": ")[0] for known in OPEN} <= {check.__name__ for check in CHECKS}


def test_the_ledger_is_of_today():
    """Room that nobody uses is no room to fill."""
    lines = lines_of_rooms()
    assert set(LEDGER) == set(lines)
    assert {name: LEDGER[name] for name in LEDGER if LEDGER[name] > SLACK * lines[name] + 20} == {}


def test_the_ledger_of_types_left_open_only_falls():
    assert MOST_ANY / SLACK <= any_outside_kernels() <= MOST_ANY * SLACK


def test_the_table_names_every_room_and_points_down():
    assert set(ROOMS) == {room(name) for name in modules()} - {"rerank"}
    above: list[str] = []
    for name, allowed in ROOMS.items():
        assert set(allowed.split()) <= set(above), name
        above.append(name)


def test_the_map_is_that_of_the_rooms():
    """``python -m tests.test_house`` prints the table for the page."""
    assert map_of_rooms() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_files_of_each_worked_change_are_all_of_them():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    worked = re.findall(r"^As done: `(\w+)` stands in (.+)\.$", page, re.MULTILINE)
    assert len(worked) == 5
    for word, files in worked:
        asked = re.compile(rf"\b{word}\b")
        near = {name: path for name, path in modules().items() if asked.search(path.read_text(encoding="utf-8"))}
        found = {path.relative_to(ROOT).as_posix() for name, path in near.items() if asked.search(code_of(name))}
        assert found == set(re.findall(r"`([^`]+)`", files)), word


def code_of(name: str) -> str:
    """The text of a module without comments and docstrings."""
    found = ast.parse(modules()[name].read_text(encoding="utf-8"))
    for node in ast.walk(found):
        for part in getattr(node, "body", []) if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) else []:
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                part.value = ast.Constant(...)
    return ast.unparse(found)


def test_the_house_is_flat():
    assert len(entries_of_the_root()) <= MOST_ROOMS
    assert len(longest(between_rooms())) <= MOST_FLOORS


@pytest.mark.parametrize(("name", "home"), PUBLIC_NAMES.items())
def test_a_public_name_is_the_module_itself_and_nothing_inside_imports_it(name, home):
    assert importlib.import_module(name) is importlib.import_module(home) is sys.modules[name]
    assert [edge.source for edge in edges() if edge.target == name and edge.source != "rerank"] == []
    assert modules()[name].read_text(encoding="utf-8").count("\n") <= 12


def offenders(sources: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    names = [name for name in modules() if within(name, *sources)]
    assert names, f"no module is called {sources}"
    return [f"{name} -> {target}" for name in names for target in sorted(reach(name)) if within(target, *forbidden)]


@pytest.mark.parametrize(("sources", "forbidden"), ARROWS, ids=[" ".join(row[0]) for row in ARROWS])
def test_arrows_point_down(sources, forbidden):
    assert offenders(sources, forbidden) == []


@pytest.mark.parametrize(
    ("package", "home", "lazy"),
    [
        ("pyomo", "formulations", False),
        ("highspy", "rerank.solvers.highs", True),
        ("pulp", "rerank.solvers.pulp", True),
    ],
)
def test_a_package_has_one_home(package, home, lazy):
    users = [edge for edge in edges() if within(edge.target, package)]
    assert users, f"nothing imports {package}"
    assert [edge for edge in users if not within(edge.source, home)] == []
    assert not lazy or [edge for edge in users if edge.eager] == []


def test_only_the_reranker_joins_search_and_programs():
    searching, solving = (
        {edge.source for edge in edges() if within(edge.target, *homes)}
        for homes in (("rerank.search",), ("formulations", "rerank.solvers"))
    )
    joined = searching & solving & set(modules())
    below = ("rerank.search", "rerank.solvers", "rerank.scorers", "formulations")
    assert joined and [name for name in joined if within(name, *below)] == []
    # Whoever joins them is used by the reranker or the command line only.
    users = {edge.source for edge in edges() if edge.target in joined and edge.source not in joined}
    assert [name for name in users if not within(name, "rerank.cli", "rerank.reranker")] == []


def test_nothing_imports_the_command_line():
    users = [edge.source for edge in edges() if within(edge.target, "rerank.cli")]
    assert [name for name in users if not within(name, "rerank.cli", "rerank.__main__")] == []


@pytest.mark.parametrize(
    "module", ["rerank", "rerank.cli", "rerank.ranks", "rerank.io", "rerank.certificate", "rerank.search"]
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
    importlib.import_module("rerank.io")
class Now:
    import h
"""
    read = edges_of("rerank.x", ast.parse(text), False)
    assert [edge.target for edge in read if edge.typed] == ["never"]
    found = {(edge.target, edge.eager) for edge in read if not edge.typed}
    eager = {"a.b", "c", "rerank.ranks", "rerank.errors", "rerank.solvers.highs", "d", "h"}
    assert found == {(name, True) for name in eager} | {("e", False), ("f", False), ("rerank.io", False)}
    assert "rerank.errors" in reach("rerank.ranks") and "rerank.statistics" in reach("rerank.ranks")


def test_circles_and_chains_are_found():
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": {"d"}, "e": {"f"}, "f": {"g"}, "g": {"e"}, "h": {"h"}}
    assert sorted(map(sorted, circles(graph))) == [["e", "f", "g"], ["h"]]
    assert longest({name: graph[name] for name in "abc"}) == ["a", "b", "c", "d"]


if __name__ == "__main__":
    print(map_of_rooms())
    print("lines of each room:", *(f"{name}: {lines}" for name, lines in lines_of_rooms().items()), sep="\n  ")
    print("rooms, from the top:", *longest(between_rooms()))
    if not circles_of_imports():
        print("modules, from the top:", *longest(ours()), sep="\n  ")
    for check in CHECKS:
        print(f"{check.__name__}:", *sorted(check()), sep="\n  ")
