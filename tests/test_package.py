"""The package as it is shipped: the archives hold the same files, and install and run without the checkout."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.test_project import META, ROOT, files

VERSION = META["project"]["version"]
CLAIMED = [
    line.rpartition(" ")[2]
    for line in META["project"]["classifiers"]
    if line.startswith("Programming Language :: Python :: 3.")
]
needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason='the build backend comes with the extra "test"'
)


def run(*command, cwd, **variables):
    """The output of a command that ends well; nothing of the checkout is on its path but by ``cwd``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, env={**clean, **variables})
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def built(source, kind, folder):
    """The archive that the backend makes of a source tree, as `pip` and `build` have it made."""
    code = f"import sys, hatchling.build as b; print(b.build_{kind}(sys.argv[1]))"
    # A backend that is only on the path of this process is found, too.
    path = os.pathsep.join(entry for entry in sys.path if entry and Path(entry).resolve() != ROOT)
    folder.mkdir(exist_ok=True)
    name = run(sys.executable, "-c", code, folder, cwd=source, PYTHONPATH=path).splitlines()[-1]
    return folder / name


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built(ROOT, "sdist", folder)) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"exact_rerank-{VERSION}"


@pytest.fixture(scope="module")
def wheel(sdist):
    """The wheel made of the source archive."""
    return built(sdist, "wheel", sdist.parent / "wheel")


@needs_hatchling
def test_the_sdist_holds_the_repository(sdist):
    held = {path.relative_to(sdist) for path in sdist.rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT) for path in files()}
    # Without Git what a command wrote at the root looks like a file of the repository.
    assert {path for path in ours if len(path.parts) > 1 or path.suffix in (".md", ".toml", ".cff")} <= held


@needs_hatchling
def test_the_checks_of_the_project_pass_in_the_sdist(sdist):
    """What packagers do. The blocks of the pages fit models, which says nothing about the archive."""
    chosen = ["tests/test_project.py", "-k", "not the_python_of_a_page", "-q", "-n", "0", "-p", "no:cacheprovider"]
    said = run(sys.executable, "-m", "pytest", *chosen, cwd=sdist, PYTHONDONTWRITEBYTECODE="1")
    assert "passed" in said and "skipped" not in said


@needs_hatchling
def test_the_wheel_of_the_sdist_is_that_of_the_tree(wheel, tmp_path):
    shipped = contents(wheel)
    assert shipped == contents(built(ROOT, "wheel", tmp_path))
    packages = {"rerank", "formulations"}
    ours = {path.relative_to(ROOT).as_posix() for path in files() if path.relative_to(ROOT).parts[0] in packages}
    assert {name for name in shipped if ".dist-info/" not in name} == ours


def fresh(python, wheel, folder):
    """The Python of a fresh environment that holds the wheel alone."""
    run(python, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    inside = folder / "bin" / "python"
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "--quiet"]
    run(sys.executable, "-m", "pip", "--python", inside, "install", *options, wheel, cwd=folder)
    return inside


@needs_hatchling
def test_it_installs_and_runs_without_the_checkout(wheel, tmp_path):
    """In a fresh environment, which borrows the dependencies of this one and nothing else."""
    inside = fresh(sys.executable, wheel, tmp_path / "env")
    home = Path(run(inside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path))
    # A path in a .pth file comes after the environment's own, and the .pth files that it holds are not read.
    (home / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    where = "import rerank, formulations; print(rerank.__file__); print(formulations.__file__)"
    assert all(Path(line).is_relative_to(home) for line in run(inside, "-c", where, cwd=tmp_path).splitlines())
    for command in ([inside, "-m", "rerank"], [inside.with_name("rerank")]):
        assert VERSION in run(*command, "--version", cwd=tmp_path)
    use = "from rerank import Reranker, datasets; print(len(datasets.load('haberman')), Reranker().n_candidates)"
    assert run(inside, "-c", use, cwd=tmp_path) == "306 auto"


def python_of(version):
    """A Python of this version that runs, on the path or of pyenv; None if there is none."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for found in (shutil.which(f"python{version}"), *homes.glob(f"{version}.*/bin/python{version}")):
        # pyenv puts a python3.x on the path even for a version that is not switched on, and that one does not run.
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True).returncode == 0:
            return found
    return None


def test_every_claimed_python_is_allowed():
    least = META["project"]["requires-python"].removeprefix(">=")
    assert CLAIMED[0] == least and f"py{least.replace('.', '')}" == META["tool"]["ruff"]["target-version"]
    assert META["tool"]["mypy"]["python_version"] == least


@needs_hatchling
@pytest.mark.parametrize("version", CLAIMED)
def test_it_installs_and_compiles_on_each_python(version, wheel, tmp_path):
    """Without dependencies: pip takes the wheel, every module compiles without a warning, and the top imports."""
    python = python_of(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    inside = fresh(python, wheel, tmp_path / "env")
    home = run(inside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path)
    run(inside, "-W", "error", "-m", "compileall", "-q", "-f", home, cwd=tmp_path)
    told = run(inside, "-c", "import sys, rerank; print(*sys.version_info[:2], rerank.__version__)", cwd=tmp_path)
    assert told == f"{version.replace('.', ' ')} {VERSION}"
