"""The project's own papers: metadata, links, the commands of the README, words that do not belong here."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cases.imports import edges, modules, tree

ROOT = Path(__file__).parent.parent
META = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = {".py", ".md", ".toml", ".cff", ".json", ".yml", ".yaml", ".txt", ".cfg", ".ipynb", ".sh", ""}
GENERATED = {"__pycache__", "dist", "build", "_build", "api", "project"}
HIDDEN = {".ci", ".gitignore"}


def files() -> list[Path]:
    """The files of the repository: those Git knows or would take, or all when there is no Git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = [ROOT / name for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = []
    # A copy without its Git (a source archive, or one inside a foreign repository) is read as it lies there.
    if ROOT / "README.md" not in found:
        found = [path for path in ROOT.rglob("*") if ours(path.relative_to(ROOT).parts)]
    return [path for path in found if path.is_file()]


def ours(parts: tuple[str, ...]) -> bool:
    return not any(part in GENERATED or (part.startswith(".") and part not in HIDDEN) for part in parts)


def pages() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


def requirement(text: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", text).group().lower().replace("_", "-")


def test_the_licences_and_the_marks_of_typed_packages_are_there():
    for pattern in META["project"]["license-files"]:
        assert list(ROOT.glob(pattern)), pattern
    packages = META["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert len(packages) == 2 and all((ROOT / package / "py.typed").is_file() for package in packages)


def test_the_extra_all_holds_every_extra_for_users_that_needs_no_licence():
    extras = dict(META["project"]["optional-dependencies"])
    every = {line for name in set(extras) - {"all", "test", "lint", "docs", "gurobi"} for line in extras[name]}
    assert set(extras["all"]) == every | {line for line in extras["test"] if line.startswith("lightgbm")}


def test_the_readme_fits_on_a_few_screens_and_installs_before_its_first_command():
    assert len(README.split()) <= 900
    assert "pip install" in re.findall(r"```bash\n(.*?)```", README, flags=re.S)[0]


def test_a_page_of_use_is_read_in_five_minutes():
    use = re.search(r"(?ms)^## Use$(.*?)^## ", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))[1]
    pages = {
        name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in re.findall(r"\]\(([\w.-]+\.md)\)", use)
    }
    assert len(pages) > 7 and [name for name, page in pages.items() if len(page.split()) > 1200] == []


@pytest.mark.parametrize("name", ["test", "lint", "docs"])
def test_an_extra_and_its_dependency_group_are_the_same_list(name):
    assert META["project"]["optional-dependencies"][name] == META["dependency-groups"][name]


def test_the_lower_bounds_are_the_versions_that_the_tests_run_with():
    """``.ci/versions lowest`` installs what tests/constraints/lowest.txt pins."""
    extras = META["project"]["optional-dependencies"]
    direct = [
        *META["project"]["dependencies"],
        *(x for name in extras if name not in ("lint", "docs") for x in extras[name]),
    ]
    bounds = {requirement(line): line.partition(">=")[2].partition(",")[0] for line in direct}
    assert len({line.lower() for line in direct}) == len(bounds), "two extras state two bounds for one package"
    pins = {}
    for name in ("lowest", "newest"):
        lines = (ROOT / "tests" / "constraints" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        pinned = [line for line in lines if line and not line.startswith("#")]
        assert [line for line in pinned if requirement(line) not in bounds and "#" not in line] == []
        pins[name] = {requirement(line): line.partition("#")[0].partition("==")[2].strip() for line in pinned}
    assert all(bounds.values())
    assert {name: pins["lowest"].get(name) for name in bounds} == bounds
    assert set(bounds) == set(pins["newest"])


def test_every_dependency_is_imported_and_every_import_is_declared():
    project = META["project"]
    declared = {requirement(line) for line in project["dependencies"]}
    optional = {requirement(line) for lines in project["optional-dependencies"].values() for line in lines}
    imported = {edge.target.partition(".")[0] for edge in edges()}
    others = {name.replace("sklearn", "scikit-learn") for name in imported - sys.stdlib_module_names}
    others -= {"rerank", "formulations", "__future__"}
    # joblib and threadpoolctl come with scikit-learn; a modelling package that is only probed for is no dependency.
    others -= {"joblib", "threadpoolctl"}
    assert others - declared - optional - {"gurobipy"} == set()
    assert declared - others == set()


def test_the_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = META["project"]["version"]
    assert f"\nversion: {version}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, flags=re.M)[0]
    # What is not released yet stands above the newest version.
    assert re.findall(r"^## (.*)$", changes, flags=re.M)[0] in ("Unreleased", f"{newest} ({date})")
    assert newest == version and f'\ndate-released: "{date}"\n' in citation
    import rerank

    assert rerank.__version__ == version


def test_the_script_exists():
    module, _, name = META["project"]["scripts"]["rerank"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_continuous_integration_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = re.findall(r"^step (\w+)", script, flags=re.M)
    blocks = dict(re.findall(r"^<!-- ci:(\w+) -->\n```\w*\n(.*?)^```", README, flags=re.M | re.S))
    assert set(steps) == set(blocks) == {"demo", "tour", "test", "docs", "lint"}
    assert "pip install" in blocks["demo"] and "rerank demo" in blocks["demo"]
    assert "pytest" in blocks["test"] and "ruff" in blocks["lint"] and "mypy" in blocks["lint"]
    assert all(
        blocks[name].strip().count("\n") == 0 for name in ("demo", "test", "docs", "lint")
    )  # one command to paste


def anchor(heading: str) -> str:
    """The anchor that Markdown hosts make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_resolves(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        target, _, part = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists() and path.is_relative_to(ROOT), f"{link} of {page.name} leads nowhere"
        if part and path.suffix == ".md":
            headings = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), flags=re.M)
            assert part in {anchor(heading) for heading in headings}, f"{link} of {page.name} names no heading"


def commands():
    """Every ``python -m NAME`` of ours that a page or a benchmark's docstring shows."""
    texts = [*pages(), *(ROOT / "benchmarks").rglob("*.py")]
    shown = (
        re.findall(r"python -m ((?:benchmarks|formulations|tests)[\w.]*)", path.read_text(encoding="utf-8"))
        for path in texts
    )
    return sorted({name for names in shown for name in names} - {"benchmarks.NAME"})


def test_every_command_that_is_shown_is_a_module_that_runs():
    assert len(commands()) > 8
    for name in commands():
        path = ROOT.joinpath(*name.split("."))
        source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        assert source.is_file() and '__name__ == "__main__"' in source.read_text(encoding="utf-8"), name


def test_the_front_pages_name_each_other():
    for name in ("CONTRIBUTING.md", "docs/index.md", "rerank/io/data/README.md"):
        assert f"({name})" in README


# Written apart so that this file does not hold the words it looks for.
FOREIGN = [
    r"/(wo" r"rk|op" r"t|tm" r"p)/\w",
    r"py" r"pi\.org|python" r"hosted|index" r"[-_]url|registry\.\w+\.",
    r"\biss" r"ues? #?\d{1,2}\b",
    r"^[<>]{7} ",  # a merge that was left half done
    r"\b(Cla" r"ude|Anth" r"ropic|Chat" r"GPT|Copi" r"lot)\b",
]


def test_the_repository_speaks_of_the_product_alone():
    found = []
    for path in files():
        if path.suffix not in TEXT:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}" for p in FOREIGN if re.search(p, line)]
    assert found == []


def test_no_file_is_large_and_none_is_a_pickle():
    sizes = {path.relative_to(ROOT): path.stat().st_size for path in files()}
    assert {path: size for path, size in sizes.items() if size > 1_000_000} == {}
    assert [path for path in sizes if path.suffix in {".pkl", ".pickle", ".joblib", ".npy", ".npz"}] == []
    # Reading a model never unpickles: nobody in the packages imports the module at all.
    assert {edge.target for edge in edges()} & {"pickle", "dill", "cloudpickle", "marshal", "shelve"} == set()
    joblib = re.compile(r"joblib.*\bload\b")
    assert [name for name, path in modules().items() if joblib.search(path.read_text(encoding="utf-8"))] == []


def python_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if python_of(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}  # a later block goes on where an earlier one ended
    for block in python_of(page):
        exec(compile(block, page, "exec"), names)


def test_nothing_depends_on_asserts_or_docstrings():
    """Python run with -O drops asserts, and with -OO docstrings: an assert may only tell a type checker something."""
    told = (ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute)
    told = (*told, ast.Compare, ast.Constant, ast.Subscript, ast.Tuple)
    found = []
    for name in modules():
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.Attribute) and node.attr == "__doc__":
                found.append((name, node.lineno))
            if isinstance(node, ast.Assert):
                test = node.test
                kind = isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance"
                if not kind and not all(isinstance(part, told) for part in ast.walk(test)):
                    found.append((name, node.lineno))
    assert found == []
