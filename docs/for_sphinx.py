"""What the site needs besides the pages of this folder, made while Sphinx reads them.

* A Markdown file or a notebook outside this folder that a page links to becomes a page ``project/...``; a notebook
  with what its cells print and draw (:mod:`example_pages`). Links to other files lead to the repository if
  ``pyproject.toml`` says where it is, and are downloads otherwise.
* In a page that lists other pages, each heading's list or table of links becomes a branch of the site's tree.
* The names of each table ``<!-- names: module -->`` of ``reference.md`` are linked to a page of docstrings.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

from example_pages import notebooks, page_of
from include_docstrings import NAMES, public_names

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# Pages whose lists of links are the site's tree.
LISTS = ("index", "reference", "decisions/README", "examples")
# Written anew by each build, and ignored by Git.
COPIES, REFERENCE = DOCS / "project", DOCS / "api"
FENCE = re.compile(r"^(```+|~~~+).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<part>#[^)\s]*)?(?=\))")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but its fenced code changed."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def linked_file(page: Path, target: str) -> Path:
    """The file of the repository that a page's relative link means; of a folder, its README."""
    path = Path(os.path.normpath(page.parent / target))
    return path / "README.md" if (path / "README.md").is_file() else path


def outside_pages() -> dict[Path, Path]:
    """File outside this folder to the page made of it: Markdown and notebooks that pages link to, step by step."""
    waiting, found = sorted(DOCS.rglob("*.md")), {}
    while waiting:
        page = waiting.pop()
        if page.is_relative_to(COPIES) or page.is_relative_to(DOCS / "_build"):
            continue
        for link in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
            path = linked_file(page, link["target"])
            if (
                path.suffix in (".md", ".ipynb")
                and path.is_file()
                and not path.is_relative_to(DOCS)
                and path not in found
            ):
                found[path] = (COPIES / path.relative_to(ROOT)).with_suffix(".md")
                waiting.append(path)
    return found


def with_links_of_the_site(text: str, page: Path, place: Path, outside: dict[Path, Path], url: str | None) -> str:
    """A page's text, with its relative links as they are in the site, where the page stands at `place`."""

    def renewed(link: re.Match[str]) -> str:
        path = linked_file(page, link["target"])
        if path in outside or path.is_relative_to(DOCS) or url is None:
            where = os.path.relpath(outside.get(path, path), place.parent).replace(os.sep, "/")
        else:
            where = f"{url}/blob/main/{path.relative_to(ROOT).as_posix()}"
        return where + (link["part"] or "")

    return outside_code(text, lambda part: LINK.sub(renewed, part))


def with_trees(text: str) -> str:
    """The text with a hidden tree after each section that lists pages: `- [title](page.md)`, or a number as title.

    A row of a table may stand in place of the item of a list.
    """
    sections = re.split(r"(?=^## )", text, flags=re.MULTILINE)
    for number, section in enumerate(sections):
        links = re.findall(r"^[-|] \[([^\]]+)\]\(([^)#:\s]+)\.md\)", section, flags=re.MULTILINE)
        if links:
            caption = re.match(r"## (.*)", section)
            head = [":hidden:", *([f":caption: {caption[1]}"] if caption else [])]
            pages = [path if name.isdigit() else f"{name} <{path}>" for name, path in links]
            tree = "\n".join(["```{toctree}", *head, "", *pages, "```"])
            sections[number] = f"{section.rstrip()}\n\n{tree}\n\n"
    return "".join(sections)


def with_names_linked(text: str) -> str:
    """The text with a link from each public name to its docstring, and the tree of their pages."""
    modules = [block["name"] for block in NAMES.finditer(text)]

    def linked(block: re.Match[str]) -> str:
        return re.sub(
            r"^\| `(\w+)` \|",
            lambda row: f"| {{py:obj}}`{row[1]} <{block['name']}.{row[1]}>` |",
            block.group(),
            flags=re.MULTILINE,
        )

    tree = "\n".join(["```{toctree}", ":hidden:", "", *(f"api/{name}" for name in modules), "```"])
    return f"{NAMES.sub(linked, text).rstrip()}\n\n{tree}\n"


def own_members(kind: type) -> list[str]:
    """Public methods, properties and enumerated values that a class has from this repository, not from elsewhere."""
    found: dict[str, None] = {}
    for home in reversed(kind.__mro__):
        if home.__module__.partition(".")[0] in ("rerank", "formulations"):
            for name, thing in vars(home).items():
                wanted = isinstance(thing, (FunctionType, property, classmethod, staticmethod, kind))
                if wanted and not name.startswith("_"):
                    found[name] = None
    return list(found)


def reference_page(module: str) -> str:
    """The docstrings of a module's public names, in reStructuredText."""
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", "   :no-members:", ""]
    for name, thing in public_names(module).items():
        if isinstance(thing, type):
            members = ", ".join(own_members(thing))
            lines += [f".. autoclass:: {module}.{name}", f"   :members: {members}" if members else "", ""]
        elif callable(thing):
            lines += [f".. autofunction:: {module}.{name}", ""]
        else:
            lines += [f".. py:data:: {name}", "", f"   ``{thing!r}``"[:200], ""]
    return "\n".join(lines)


def write_pages(app: Any, config: Any) -> None:
    """Write the pages that are made of other files, before Sphinx looks which there are."""
    for folder in (COPIES, REFERENCE):
        shutil.rmtree(folder, ignore_errors=True)
    app.outside_pages = outside_pages()
    books = notebooks([path for path in app.outside_pages if path.suffix == ".ipynb"], config.run_examples)
    for path, place in app.outside_pages.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        text = page_of(books[path], path, place) if path in books else path.read_text(encoding="utf-8")
        text = with_links_of_the_site(text, path, place, app.outside_pages, config.repository_url)
        place.write_text(f"---\norphan: true\n---\n\n{text}", encoding="utf-8")
    REFERENCE.mkdir()
    for block in NAMES.finditer((DOCS / "reference.md").read_text(encoding="utf-8")):
        page = REFERENCE / f"{block['name']}.rst"
        page.write_text(reference_page(block["name"]), encoding="utf-8")


def change_source(app: Any, name: str, source: list[str]) -> None:
    """Change what was read of a page of this folder."""
    page = DOCS / f"{name}.md"
    if page.is_file() and not page.is_relative_to(COPIES):
        text = with_links_of_the_site(source[0], page, page, app.outside_pages, app.config.repository_url)
        text = with_names_linked(text) if NAMES.search(text) else text
        source[0] = with_trees(text) if name in LISTS else text


def without_page(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """What a docstring names by its full name, and the reference leaves out: its name, if it exists."""
    target = node.get("reftarget", "")
    if target.partition(".")[0] in ("rerank", "formulations"):
        with suppress(ImportError, AttributeError):
            pkgutil.resolve_name(target)
            return shown
    return None


def setup(app: Any) -> dict[str, bool]:
    """Register all this with Sphinx."""
    app.add_config_value("repository_url", None, "env")
    app.add_config_value("run_examples", True, "env", [bool])
    app.connect("config-inited", write_pages)
    app.connect("source-read", change_source)
    app.connect("missing-reference", without_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
