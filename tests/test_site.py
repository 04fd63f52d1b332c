"""The site of the documentation: what it makes of the pages, and what it lists. Its own command builds it."""

import doctest
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site():
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("for_sphinx")
    finally:
        sys.path.remove(str(DOCS))


def public_modules():
    """The rooms, the modules with a public name of their own and the programs, where they have public names."""
    import rerank

    rooms = {f"rerank.{path.parent.name}" for path in (ROOT / "rerank").glob("*/__init__.py")}
    programs = {f"formulations.{path.stem}" for path in (ROOT / "formulations").glob("*.py")}
    named = {name for name in rooms | programs if getattr(importlib.import_module(name), "__all__", ())}
    builds = {name for name in programs if hasattr(importlib.import_module(name), "build")}
    return {"rerank"} | named | builds | {f"rerank.{name}" for name in rerank._ELSEWHERE}


def test_the_reference_lists_every_public_name():
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = {
        module: set(re.findall(r"^\| `(\w+)` \|", table, flags=re.M))
        for module, table in re.findall(r"<!-- names: ([\w.]+) -->\n(.*?)<!-- end -->", page, flags=re.S)
    }
    assert len(public_modules()) > 15
    for module in public_modules():
        names = set(getattr(importlib.import_module(module), "__all__", ()))
        assert module in listed and names <= listed[module] and listed[module], (
            f"{module}: put <!-- names: {module} --> and <!-- end --> into docs/reference.md, "
            "then run: python docs/include_docstrings.py"
        )


def test_the_reference_lists_every_command():
    from rerank.cli import app

    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands}
    for group in app.registered_groups:
        commands |= {f"{group.name} {command.name}" for command in group.typer_instance.registered_commands}
    assert len(commands) > 14 and set(re.findall(r"^\| `rerank (\w+(?: \w+)?)` \|", page, flags=re.M)) == commands


def test_every_page_is_in_a_list_of_links():
    """The lists make the site's tree: what is in none of them can be reached by search alone."""
    listed = set()
    for page in (DOCS / "index.md", DOCS / "decisions" / "README.md"):
        links = re.findall(r"^- \[[^\]]+\]\(([^)#:\s]+\.md)\)", page.read_text(encoding="utf-8"), flags=re.M)
        listed |= {(page.parent / link).resolve() for link in links}
    pages = {*DOCS.glob("*.md"), *(DOCS / "decisions").glob("*.md")} - {DOCS / "index.md"}
    assert pages - listed == set()


def test_links_lead_to_the_repository_or_to_a_page_of_the_site(site):
    page, readme = DOCS / "index.md", {ROOT / "README.md": DOCS / "project" / "README.md"}

    def changed(text, url=None, place=page):
        return site.with_links_of_the_site(text, page, place, readme, url)

    assert changed("[a](../README.md#try-it)") == "[a](project/README.md#try-it)"
    assert changed("[a](decisions)") == "[a](decisions/README.md)"
    assert changed("[a](files.md)", place=DOCS / "project" / "b.md") == "[a](../files.md)"
    assert changed("[a](../examples/x.py)") == "[a](../examples/x.py)"
    url = "https://example.org/r"
    assert changed("[a](../examples/x.py)", url) == f"[a]({url}/blob/main/examples/x.py)"
    assert changed("[a](../README.md)", url) == "[a](project/README.md)"
    for same in ("[a](#part)", "[a](https://example.org/b)", "```\n[a](../README.md)\n```"):
        assert changed(same) == same


def test_a_list_of_links_becomes_a_tree(site):
    text = "# Title\n\n- [no page](x.png)\n\n## Use\n\n- [One](a.md): what.\n- [02](b/c.md)\n\n## Rest\n\nNone.\n"
    tree = "```{toctree}\n:hidden:\n:caption: Use\n\nOne <a>\nb/c\n```"
    assert site.with_trees(text) == text.replace("- [02](b/c.md)\n", f"- [02](b/c.md)\n\n{tree}\n")


def test_a_row_of_a_table_is_a_page_of_the_tree_too(site):
    text = "| example | shows |\n|---|---|\n| [1 a](b/1_a.md) | [c](c.md) |\n"
    assert site.with_trees(text) == f"{text}\n```{{toctree}}\n:hidden:\n\n1 a <b/1_a>\n```\n\n"


@pytest.fixture
def notebook(tmp_path):
    """Writes a notebook with a title and these cells of code."""
    nbformat = pytest.importorskip("nbformat")

    def written(*sources):
        cells = [nbformat.v4.new_markdown_cell("# Title\n\nText with [a page](../README.md).")]
        cells += [nbformat.v4.new_code_cell(source) for source in sources]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "1_a.ipynb")
        return tmp_path / "1_a.ipynb"

    return written


def test_the_page_of_a_notebook_has_what_its_cells_print_and_draw(site, notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")  # as in continuous integration
    path = notebook(
        "import sys, rerank\nprint('  of', rerank.__file__)\nprint('progress', file=sys.stderr)",
        "\nimport rich\nrich.print('[bold]loud[/bold]')\nprint('```', '[a](b.md)')",
        "import matplotlib.pyplot as plt\nprint('before')\nplt.plot([1, 2])\nplt.show()\nprint('after')",
        "class Table:\n    def _repr_html_(self):\n        return '<table></table>'\n\n\nTable()",
    )
    place = tmp_path / "site" / "1_a.md"
    place.parent.mkdir()
    page = site.page_of(site.notebooks([path], True)[path], path, place)
    assert page.startswith("# Title\n\n*The outputs are those of a run") and "](path:../1_a.ipynb), the" in page
    assert f"\n\n  of {ROOT / 'rerank' / '__init__.py'}\n```\n" in page and "progress\n```\n" not in page
    assert "```python\nimport rich\n" in page and ":class: printed\n\nloud\n``` [a](b.md)\n````\n" in page
    before, picture, after = page.index("\nbefore\n"), page.index("```{image} 1_a_2_"), page.index("\nafter\n")
    assert before < picture < after and "```{raw} html\n\n<table></table>\n```" in page
    (drawn,) = place.parent.glob("*.png")
    assert drawn.name in page and drawn.stat().st_size > 1000
    # What was printed is no link, and the picture stays beside the page.
    linked = site.with_links_of_the_site(page, path, place, {}, None)
    assert "``` [a](b.md)\n" in linked and f"{{image}} {drawn.name}" in linked and "(path:../1_a.ipynb)" in linked


def test_a_notebook_that_fails_ends_the_build_and_without_a_run_there_are_no_outputs(site, notebook, tmp_path):
    errors = pytest.importorskip("nbclient.exceptions")
    path = notebook("1 / 0")
    with pytest.raises(errors.CellExecutionError, match="ZeroDivisionError"):
        site.notebooks([path], True)
    page = site.page_of(site.notebooks([path], False)[path], path, tmp_path / "1_a.md")
    assert page.endswith("```python\n1 / 0\n```\n")


def test_a_notebook_that_its_test_has_run_is_not_run_again(site, notebook, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("EXECUTED_NOTEBOOKS", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    path = notebook("print(6 * 7)")
    done = nbformat.read(path, as_version=4)
    done.cells[1].outputs = [nbformat.v4.new_output("stream", text="printed by the test")]
    nbformat.write(done, tmp_path / "run" / path.name)
    assert "printed by the test" in site.page_of(site.notebooks([path], True)[path], path, tmp_path / "a.md")
    path = notebook("print(6 * 8)")  # the run is of another text
    assert "\n48\n" in site.page_of(site.notebooks([path], True)[path], path, tmp_path / "a.md")


def test_every_notebook_becomes_a_page(site):
    places = {path.stem: place for path, place in site.outside_pages().items() if path.suffix == ".ipynb"}
    assert set(places) == {path.stem for path in (ROOT / "examples").glob("*.ipynb")}
    assert places["3_ties"] == DOCS / "project" / "examples" / "3_ties.md"


def test_a_page_of_the_reference_has_members_of_ours_alone(site):
    page = site.reference_page("rerank")
    members = re.search(r"autoclass:: rerank\.Reranker\n   :members: (.*)", page)[1].split(", ")
    assert {"fit", "rank", "score", "save", "statistic_bound"} <= set(members)
    assert not {"get_params", "set_fit_request", "get_metadata_routing"} & set(members)


def test_every_work_that_is_cited_is_in_the_bibliography():
    key = re.compile(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d\b")
    known = set(key.findall((DOCS / "bibliography.md").read_text(encoding="utf-8")))
    paths = [path for folder in ("rerank", "formulations", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    cited = set()
    for path in [*paths, *DOCS.glob("*.md")]:
        for inside in re.findall(r"\[([^\]\n]*)\]", path.read_text(encoding="utf-8")):
            cited |= set(key.findall(inside))
    assert len(cited) > 15 and cited - known == set()


def test_what_the_page_of_papers_names_is_there():
    page = re.sub(r"```.*?```", "", (DOCS / "papers.md").read_text(encoding="utf-8"), flags=re.S)
    named = set(re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.py|/))`", page))
    files = {path.name for folder in ("rerank", "formulations") for path in (ROOT / folder).rglob("*")}
    for name in named:
        assert (ROOT / name).exists() or Path(name).name in files, name
    assert len(named) >= 25


def with_examples():
    """The modules whose docstrings hold examples."""
    paths = [path for folder in ("rerank", "formulations") for path in (ROOT / folder).rglob("*.py")]
    found = [path for path in paths if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in found)


@pytest.mark.parametrize("module", with_examples())
def test_the_examples_of_docstrings_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0 and result.failed == 0


@pytest.fixture(scope="module")
def pictures():
    spec = importlib.util.spec_from_file_location("weight_space", DOCS / "images" / "weight_space.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_search_of_the_pictures_finds_what_the_search_of_the_package_finds(pictures):
    from rerank.problem import Problem, ranked_list
    from rerank.search import solve
    from rerank.statistics import parse

    rows, gains = pictures.ROWS, np.isin(np.arange(30), pictures.POSITIVE).astype(float)
    listed = ranked_list(parse("dcg@5"), np.arange(30), gains)
    scale = rows.std(axis=0)  # the package counts corrections in deviations of the score for one of the column
    limit = pictures.RADIUS * scale[1:] / scale[0]
    found = solve(Problem.build(rows, [listed], epsilon=1e-9, limits=([1, *-limit], [1, *limit])))
    best, value, closed, course = pictures.search()
    assert found.closed and found.value == pytest.approx(value, abs=1e-6)
    assert value == pictures.value(best) == max(course)[0] and all(low <= high for low, high in course)
    area = sum(np.prod(box[1] - box[0]) for box, _, _ in closed)
    assert area == pytest.approx((2 * pictures.RADIUS) ** 2) and max(limit for _, limit, _ in closed) <= value


def test_the_bound_of_a_box_is_no_less_than_any_value_in_it(pictures):
    rng = np.random.default_rng(0)
    for _ in range(50):
        box = np.sort(rng.uniform(-pictures.RADIUS, pictures.RADIUS, (2, 2)), axis=0)
        inside = rng.uniform(box[0], box[1], (20, 2))
        assert pictures.bound(box) >= max(map(pictures.value, inside))
        assert pictures.bound(np.array([inside[0], inside[0]])) == pictures.value(inside[0])


@pytest.mark.parametrize("name", ["weights.png", "box.png", "bound.png"])
def test_the_pictures_are_drawn_and_shown(pictures, name, tmp_path):
    pictures.PICTURES[name]().savefig(tmp_path / name, dpi=30)
    assert (tmp_path / name).stat().st_size > 1000 and (DOCS / "images" / name).is_file()
    assert f"(images/{name})" in (DOCS / "how-it-works.md").read_text(encoding="utf-8")
