"""The notebooks as pages of the site, with what their cells print and draw: they run while the site is built."""

from __future__ import annotations

import base64
import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
AT_ONCE = 2
"""Notebooks that run at a time: searches take all cores, and a kernel holds half a gigabyte."""

RUN = "EXECUTED_NOTEBOOKS"
"""Names a folder of notebooks that the tests have run: continuous integration sets it, and runs each once."""

COLOURS = re.compile(r"\x1b\[[\d;]*m")


def executed(path: Path) -> Any:
    """The notebook with its outputs, run by the package of this repository in a folder of its own, or by its test."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    tested = Path(os.environ.get(RUN, "")) / path.name
    if RUN in os.environ and tested.is_file():
        done = nbformat.read(tested, as_version=4)
        if [cell.source for cell in done.cells] == [cell.source for cell in notebook.cells]:
            return done
    # Pictures go into the notebook, whatever draws those of the process that runs it.
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        if (path.parent / "runs").is_dir():  # data of the notebooks
            shutil.copytree(path.parent / "runs", Path(folder) / "runs")
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute(env=env)
    return notebook


def notebooks(paths: list[Path], run: bool) -> dict[Path, Any]:
    """Path to notebook, with outputs if they are to be run."""
    import nbformat

    if not run:
        return {path: nbformat.read(path, as_version=4) for path in paths}
    from rerank.search import compile_kernels

    compile_kernels()  # once, and not in each kernel at the same time
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(paths, pool.map(executed, paths)))


def page_of(notebook: Any, path: Path, place: Path) -> str:
    """Markdown of the notebook `path` for a page at `place`; its pictures are written beside that."""
    title, *cells = notebook.cells
    file = os.path.relpath(path, place.parent).replace(os.sep, "/")
    # Without the scheme the link would lead to this page.
    files = f"the [notebook](path:{file}), the [script]({path.stem}.py)"
    about = f"The outputs are those of a run when this site was built; {files}."
    parts = [title.source.replace("\n\n", f"\n\n*{about}*\n\n", 1)]
    for number, cell in enumerate(cells):
        if cell.cell_type == "code":
            parts += [fenced("python", cell.source.strip("\n")), *shown(cell.outputs, place, number)]
        else:
            parts.append(cell.source)
    return "\n\n".join(parts) + "\n"


def shown(outputs: list[Any], place: Path, number: int) -> list[str]:
    """What a cell printed and drew; texts that follow each other are one."""
    parts: list[str] = []
    text = ""
    for output in outputs:
        data = output.get("data", {})
        picture, html = data.get("image/png"), data.get("text/html", "")
        # What rich prints is text that is wrapped in <pre>.
        if picture is None and (not html or html.startswith("<pre")):
            # Standard error holds the progress of compiling alone; a test runs the notebooks and asks for none.
            told = output.get("text", data.get("text/plain", "")) if output.get("name") != "stderr" else ""
            text += COLOURS.sub("", told)
            continue
        parts += [printed(text)] if text.strip() else []
        text = ""
        if picture is None:
            parts.append(fenced("{raw} html\n", html))
        else:
            target = place.with_name(f"{place.stem}_{number}_{len(parts)}.png")
            target.write_bytes(base64.b64decode(picture))
            parts.append(fenced(f"{{image}} {target.name}", ":alt: What the cell above draws"))
    return [*parts, printed(text)] if text.strip() else parts


def printed(text: str) -> str:
    """A text as a block of its own kind, so that it does not look like code."""
    lines = map(str.rstrip, text.strip("\n").splitlines())
    return fenced("{code-block} text\n:class: printed\n", "\n".join(lines))


def fenced(kind: str, text: str) -> str:
    """A fenced block, with a fence that the text does not hold."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}{kind}\n{text}\n{fence}"
