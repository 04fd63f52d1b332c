"""The examples: script and notebook agree, store nothing, run within a minute, draw, and show what they promise."""

import base64
import io
import os
import re
import shutil
import time
from pathlib import Path

import jupytext
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from rerank.search import compile_kernels

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
SECONDS = 60
PROXIES = {
    "auc": 1,
    "pauc@100": 1,
    "dcg": 1,
    "mrr": 1,
    "dcg@100": 2,
    "pauc@10": 2,
    "hinge loss": 1,
    "exponential loss": 2,
}
"""Which solution each measure prefers, as [RudinWang2018, Theorem 2.1] says."""


def numbers(pattern, text):
    return [tuple(map(float, found)) for found in re.findall(pattern, text)]


def inspect_first(text):
    assert "Proved optimal (by the search)" in text and "Everything stated holds." in text and "FAILED" not in text
    (first, _), (exact, _) = numbers(r"(?:first stage|exact order): dcg@10 ([\d.]+), (\d+) failures", text)
    assert exact > first
    ((gain, low, _),) = numbers(r"corrected score: .*, ([+-][\d.]+) \(([+-][\d.]+) to ([+-][\d.]+)\)", text)
    assert gain > low > 0
    assert re.findall(r"Chosen \(\*\)|The first stage is kept", text) == ["Chosen (*)", "The first stage is kept"]


def programs_by_hand(text):
    assert "not installed" not in text, "Install CBC (apt-get install coinor-cbc) and SCIP (pip install pyscipopt)."
    optima = {name: [] for name in ("subrank", "resolved_rank", "mixed", "auc", "pairwise")}
    for name, solver, value in re.findall(r"(?m)^(\w+) +(highs|cbc|scip) +\w+ [\d.]+, value ([\d.]+)$", text):
        optima[name].append((solver, float(value)))
    assert all([solver for solver, _ in told] == ["highs", "cbc", "scip"] for told in optima.values())
    for family in (("subrank", "resolved_rank", "mixed"), ("auc", "pairwise")):
        values = [value for name in family for _, value in optima[name]]
        assert max(values) - min(values) <= 2e-6
    ((value, bound),) = numbers(r"(?m)^value ([\d.]+), bound ([\d.]+)$", text)
    assert value == bound == optima["mixed"][0][1]


def ties(text):
    told = numbers(r": ResolvedRank ([\d.]+), Subrank ([\d.]+), mixed ([\d.]+)", text)
    assert told == [(7, 7, 7), (6.9, 6.8, 6.9), (7, 6, 7)]


def why_proxies_fail(text):
    told = dict(re.findall(r"^([\w@]+(?: loss)?) +[\d.,e+]+ +[\d.,e+]+ +Solution (\d)$", text, flags=re.M))
    assert {name: int(told[name]) for name in PROXIES} == PROXIES
    assert set(re.findall(r"the side of Solution (\d)", text)) == {"1"}
    fitted = re.findall(r"Solution (\d), optimal; the better one is Solution (\d)", text)
    assert {a for a, _ in fitted} == {"1", "2"} and all(a == b for a, b in fitted)
    ((one, two),) = numbers(r"dcg@10: Solution 1 ([\d.]+), Solution 2 ([\d.]+)", text)
    ((first, exact),) = numbers(r"first stage ([\d.]+), its shortlist in exact order ([\d.]+)", text)
    assert exact > max(one, two, first)


def score_fusion(text):
    told = dict(re.findall(r"^(.+?) +ndcg@10 ([\d.]+)$", text, flags=re.M))
    best = numbers(r"value ([\d.]+), bound ([\d.]+): optimal", text)
    assert [value for value, _ in best] == [bound for _, bound in best] and len(best) == 2
    assert best[0][0] > float(told["minmax, equal weights"]) and best[1][0] > float(told["RRF"])
    curves = numbers(r"on the curve of \w+: ([\d.]+), bound ([\d.]+)", text)
    assert curves == best
    leads = dict(re.findall(r"^([\w ,]+?) +[\d.]+  [+-][\d.]+ \(([+-][\d.]+) to", text, flags=re.M))
    assert all(float(leads[name]) > 0 for name in ("guarded fit", "best weights, minmax", "best weights, rank"))
    told = r"judged queries RRF ([\d.]+), best weights [\d.]+; value ([\d.]+), bound ([\d.]+)"
    ((rrf, value, bound),) = numbers(told, text)
    assert rrf < value <= bound < rrf + 0.01  # the text says so
    leads = numbers(r"later queries, .*: ([+-][\d.]+) \(([+-][\d.]+) to ([+-][\d.]+)\)", text)
    assert len(leads) == 2 and all(low < 0 < high for _, low, high in leads)  # the text says so
    assert "logistic (minmax) is kept." in text and '"linear"' in text and "normalize_linear" in text
    assert "fused = " in text


def a_proof(text):
    ((first, corrected),) = numbers(r"first stage ([\d.]+), corrected ([\d.]+)", text)
    ((value, bound),) = numbers(r"(?m)^value ([\d.]+), bound ([\d.]+)", text)
    ((grid, largest),) = numbers(r"grid ([\d.]+), largest bound of a box ([\d.]+)", text)
    assert corrected > first and value == bound and grid <= largest == round(bound, 6)
    assert "boxes: holds True" in text and "as it was saved: Everything stated holds. Failed: nothing." in text
    refused = [
        "above its bound",
        "but the proof says",
        "some are missing",
        "may hold weights",
        "the digest does not match",
        "result.certificate.",
        "data_sha256",
    ]
    assert [words for words in refused if words not in text] == []


def first_stages_compared(text):
    worlds = re.split(r"(?m)^one way to fail:", text, maxsplit=1)
    leads = [
        {
            (int(length), name): tuple(map(float, lead))
            for length, name, *lead in re.findall(
                r"first +(\d+): (\w+) .*, lead ([+-][\d.]+) \(([+-][\d.]+) to ([+-][\d.]+)\)", world
            )
        }
        for world in worlds
    ]
    two, one = leads
    assert two[60, "robirank"][1] > 0 > two[2000, "robirank"][2]
    assert two[60, "ranksvm"][2] < 0 < two[2000, "ranksvm"][1]
    assert len(one) == 9 and all(abs(lead) < 2 for lead, _, _ in one.values())
    (widest,) = re.findall(r"largest difference from logistic at any length ([\d.]+)", text)
    assert float(widest) < 2
    tables = re.findall(r"(?m)^(\w+) +\d+ +0\.\d+ (.*)$", text)
    assert [name for name, _ in tables] == ["haberman", "german", "abalone19", "ai4i2020"]
    intervals = [numbers(r"\(([+-][\d.]+) to ([+-][\d.]+)\)", line) for _, line in tables]
    assert all(low <= 0 for own in intervals for low, _ in own)
    clear = [(tables[k][0], place) for k, own in enumerate(intervals) for place in range(3) if own[place][1] < 0]
    assert clear == [("ai4i2020", 1)]
    corrected = re.findall(r"(?m)^(\w+) +([\d.]+) of 60, corrected ([\d.]+), ", text)
    before, after = ({row[0]: float(row[k]) for row in corrected} for k in (1, 2))
    assert min(after, key=after.get) == min(before, key=before.get) == "ranksvm"
    assert after["robirank"] > after["logistic"]
    assert abs(after["logistic"] - before["robirank"]) < 2
    assert list(after) == ["logistic", "ranksvm", "robirank"]


def recommendations(text):
    told = {name: float(value) for name, value in re.findall(r"(?m)^([\w ]+?) {2,}(0\.\d{4}) ", text)}
    assert list(told) == sorted(told, key=told.get)
    assert list(told) == ["popularity", "near songs", "LatentRoBiRank", "the true chances"]
    step = told["near songs"] - told["popularity"]
    assert told["the true chances"] - told["near songs"] < 0.3 * step
    ((lead, _, _),) = numbers(r"over near songs: ([+-][\d.]+) \(([+-][\d.]+) to ([+-][\d.]+)\)", text)
    assert 0 < lead < 0.2 * step and len(re.findall(r"(?m)^\d+ +\w+ \d+", text)) == 10


def a_card(text):
    line = r"(?m)^(free|with rules) +AUC ([\d.]+), optimal, sensitivity ([\d.]+), flagged ([\d.]+)$"
    told = {name: tuple(map(float, found)) for name, *found in re.findall(line, text)}
    (free, found, _), (ruled, wanted, flagged) = told["free"], told["with rules"]
    assert free > ruled and 0.3 < found < 0.4 and wanted >= 0.6 and flagged <= 0.4
    assert text.count("Proved: no card of at most") == 1 and "these are all." in text
    assert re.search(r"The card is at [\d.]+; the best allowed card of its size on this table has [\d.]+: proved", text)


PROMISES = [
    inspect_first,
    programs_by_hand,
    ties,
    why_proxies_fail,
    score_fusion,
    a_proof,
    first_stages_compared,
    recommendations,
    a_card,
]


def cells(path):
    return [(cell.cell_type, cell.source.strip()) for cell in jupytext.read(path).cells]


def test_every_example_is_known():
    assert [re.sub(r"^\d_", "", script.stem) for script in SCRIPTS] == [promise.__name__ for promise in PROMISES]
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert set(re.findall(r"examples/(\w+)\.ipynb", page)) == {script.stem for script in SCRIPTS}
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    assert sorted(script.with_suffix(".ipynb") for script in SCRIPTS) == notebooks


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_and_notebook_say_the_same(script):
    assert cells(script.with_suffix(".ipynb")) == cells(script), "jupytext --update --to ipynb examples/*.py"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_stores_no_output(script):
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert set(notebook.metadata) <= {"kernelspec", "language_info", "jupytext"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_numbers_in_the_text_are_computed(script):
    prose = "\n".join(source for kind, source in cells(script) if kind == "markdown")
    names = r"`[^`]*`|\(\d{4}, Theorem [\d.]+\)|Solution \d"
    text = re.sub(names, "", " ".join(prose.split()))
    assert re.findall(r".{0,20}\d+.{0,20}", text) == []


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One kernel for all notebooks, where the site's build gives each its own; compiling is not their time.

    Pictures are shown inside a notebook, as a reader sees them, and the kernel writes nothing outside the test.
    """
    compile_kernels()
    options = {"timeout": SECONDS, "interrupt_on_timeout": True}
    client = NotebookClient(nbformat.v4.new_notebook(), kernel_name="python3", **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MPLBACKEND", raising=False)
        for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable.lower())))
        yield client
        client.nb = nbformat.v4.new_notebook()
        client.execute(cleanup_kc=True)


@pytest.mark.parametrize(("script", "promise"), list(zip(SCRIPTS, PROMISES)), ids=[path.stem for path in SCRIPTS])
def test_an_example_runs_and_draws(script, promise, tmp_path, kernel):
    shutil.copytree(ROOT / "examples" / "runs", tmp_path / "runs")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    alone = f"%reset -f\nimport os\nos.chdir({str(tmp_path)!r})\ndel os"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(alone))
    kernel.nb = notebook
    began = time.monotonic()
    kernel.execute(cleanup_kc=False)
    assert time.monotonic() - began < SECONDS
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert pictures and all(is_drawn(picture) for picture in pictures)
    promise("\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    if folder := os.environ.get("EXECUTED_NOTEBOOKS"):  # the site shows this run
        del notebook.cells[0]
        nbformat.write(notebook, Path(folder) / f"{script.stem}.ipynb")


def is_drawn(picture):
    """Whether a picture is of a size to be read and has light and dark in it."""
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(base64.b64decode(picture)))[..., :3]
    return min(pixels.shape[:2]) > 150 and pixels.min() < 0.3 and np.mean(pixels > 0.95) > 0.5
