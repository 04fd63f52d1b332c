"""The pages on the programs: statements are the docstrings, snippets run."""

import doctest
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from formulations import auc, mixed, pairwise, pos_top, resolved_rank, subrank

DOCS = Path(__file__).parents[2] / "docs"
SPEC = importlib.util.spec_from_file_location("include_docstrings", DOCS / "include_docstrings.py")
include = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(include)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_included_text_is_the_docstring(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert include.renewed(text) == text, "run: python docs/include_docstrings.py"


def test_the_page_states_every_program():
    text = (DOCS / "mathematics.md").read_text(encoding="utf-8")
    included = {block["name"] for block in include.BLOCK.finditer(text)}
    assert {module.__name__ for module in (subrank, resolved_rank, mixed, auc, pairwise, pos_top)} <= included


@pytest.mark.parametrize("page", ["mathematics.md", "modelling.md"])
def test_the_snippets_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 5 and result.failed == 0


def test_a_changed_docstring_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(include, "FOLDER", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- docstring: formulations.errors -->\nstale\n<!-- end -->\nAfter.\n", encoding="utf-8")
    assert include.main(["--check"]) == 1 and "stale" in page.read_text()
    assert include.main([]) == 0 and include.main(["--check"]) == 0
    assert "page.md" in capsys.readouterr().out
    first = "Exceptions of the programs: one sentence each, saying what was found and what to do."
    assert page.read_text().split("\n")[2:4] == ["", first] and page.read_text().endswith("After.\n")


def test_tables_terms_and_formulas_become_markdown():
    table, term = "=====  ====\n``a``  p|q\n=====  ====", "``row``\n    What it\n    says."
    text = f"Say ``x``:\n\n{table}\n\n{term}\n\nShown::\n\n    y = 1\n      z"
    assert include.markdown(text) == (
        "Say `x`:\n\n| symbol | meaning |\n|---|---|\n| `a` | p\\|q |\n\n- **`row`**: What it\n  says.\n\n"
        "Shown:\n\n```text\ny = 1\n  z\n```"
    )


@pytest.mark.parametrize("module", [subrank, resolved_rank, mixed, auc, pairwise, pos_top])
def test_every_family_of_a_model_is_stated_in_its_docstring(module):
    """And every family stated is built by some options."""
    import pyomo.environ as pyo

    X, y = [[0.0, 0.3], [0.5, 0.1], [1.0, 0.9], [0.2, 0.7]], [1, 0, 1, 0]
    built = set()
    for linking in ("ordered", "paper"):
        options = {"C": 0.1, "max_features": 1, "linking": linking, "extra_cuts": True}
        if module is resolved_rank:
            options["quotas"] = (SimpleNamespace(rows=[0, 3], first=2, least=1, most=None),)
        elif module is not pos_top:
            options["two_sided"] = True
        if module is pairwise:
            model = module.build(X, ([[0, 1], [1, 0]], [1.0, 1.0]), **options)
        else:
            paid = [0.0, 0.0, 0.0, 1.0] if module is pos_top else [1.0, 2.0, 3.0, 4.0]
            model = module.build(X, y, paid, **options)
        built |= {block.name for block in model.component_objects(pyo.Constraint)}
    terms = re.findall(r"^(``.*)\n    ", module.__doc__, re.MULTILINE)
    stated = {name for line in terms for name in re.findall(r"``(\w+)``", line)}
    assert built == stated
