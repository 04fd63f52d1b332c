"""Settings of the documentation site: ``python -m sphinx -W --keep-going docs docs/_build``.

The pages are Markdown that reads well in a repository. What a site needs besides is made while it is built, by
``for_sphinx.py``: pages for files outside this folder, trees from lists of links, pages of the reference.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
META = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = META["name"]
author = META["authors"][0]["name"]
project_copyright = author
version = release = META["version"]

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser", "for_sphinx"]
exclude_patterns = ["_build"]

# Where the repository can be read; without such an entry, links to its files become downloads of the site.
repository_url = META.get("urls", {}).get("Repository")

myst_heading_anchors = 6  # the anchors of Markdown hosts, which the links of the pages use
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["myst.header"]  # an included docstring may begin below a second-level heading

autodoc_typehints = "none"  # the docstrings give types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = project
html_static_path = ["style"]
html_css_files = ["printed.css"]
html_show_sphinx = False
html_copy_source = False
