"""Sound models, programs, solutions, proofs, checkpoints and latent folders, and their readers (`tests.cases.fuzz`)."""

import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.cases.mutants import signed


def written(write: Callable[[Path], Any], name: str = "file") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


@cache
def _fitted() -> Any:
    from rerank import Reranker

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), (rng.random(24) < 0.4).astype(float)
    return Reranker("dcg@5", n_candidates=8, solver="search", proof=True, time_limit=30).fit(X, y)


@cache
def model() -> list[bytes]:
    return [written(_fitted().save)]


def read_model(path: Path) -> None:
    from rerank import load

    found = load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows have no names of features
        if found.n_features_in_ < 10:
            found.rank(np.ones((2, found.n_features_in_)))


def with_digest(body: Any) -> Any:
    """A model with a digest that fits; none has a key, so a forger can do that too."""
    if isinstance(body, dict):
        with suppress(ValueError):
            return signed(body)
    return body


def with_inner_digest(body: Any) -> Any:
    """A sidecar whose model has a digest that fits."""
    if isinstance(body, dict) and isinstance(body.get("data"), dict) and "model" in body["data"]:
        body = {**body, "data": {**body["data"], "model": with_digest(body["data"]["model"])}}
    return body


@cache
def _exported() -> tuple[bytes, bytes, bytes]:
    """Program, sidecar, solution."""
    from rerank.solvers import gateway

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.mps"
        _fitted().export_mps(path)
        gateway.solve_file(path, "highs", solution=path.with_suffix(".sol"), time_limit=20)
        return (path.read_bytes(), path.with_suffix(".json").read_bytes(), path.with_suffix(".sol").read_bytes())


def sidecar() -> list[bytes]:
    return [_exported()[1]]


def read_sidecar(path: Path) -> None:
    """As ``rerank import`` does it, with a sound program and a sound solution."""
    from rerank.reranker.files.export import imported

    program, _, solution = _exported()
    path.with_name("p.mps").write_bytes(program)
    path.with_name("p.json").write_bytes(path.read_bytes())
    path.with_name("p.sol").write_bytes(solution)
    imported(path.with_name("p.mps"), path.with_name("p.sol"))


def mps() -> list[bytes]:
    from tests.formulations.test_mps import GOLDEN

    ranged = (
        b"NAME\nOBJSENSE\n MAX\nROWS\n N c\n L a\n G b\n E e\n N free\nCOLUMNS\n x c 1 a 1\n x b 2.5\n y e 1d2\n"
        b"RHS\n r a 4 c -1\nRANGES\n g a 2 b -1\n g e -3\nBOUNDS\n MI z x\n UP z x 1e30\n BV z y\nENDATA\n"
    )
    return [GOLDEN.encode(), ranged]


def read_mps(path: Path) -> None:
    from formulations import mps

    found = mps.read(path, sidecar=False)
    assert found.matrix.shape == (len(found.rows), len(found.columns)) and (found.lower <= found.upper).all()


def solutions() -> list[bytes]:
    from tests.formulations import test_solutions as samples

    texts = (text for name, text in vars(samples).items() if name.isupper() and isinstance(text, str))
    return [*map(str.encode, texts), *((samples.SAMPLES / name).read_bytes() for name in samples.WRITTEN)]


def read_solution(path: Path) -> None:
    """As a solution of the program of either kind of sample."""
    from formulations.errors import FormulationError
    from formulations.solutions import NAMES, parse_solution
    from tests.formulations.test_solutions import asked, written

    refused = None
    for program in (asked(), written("copt.sol")[0]):
        try:
            values = parse_solution(path, program).values
            assert list(values) == list(program.columns) and np.isfinite(list(values.values())).all()
        except FormulationError as error:
            refused = error
        for dialect in NAMES:
            with suppress(ValueError):
                parse_solution(path, program, dialect)
    if refused is not None:
        raise refused


@cache
def proof() -> list[bytes]:
    from rerank.certificate import save_proof

    found = _fitted().result_.proof
    return [written(lambda path: save_proof(found, path))]


def read_proof(path: Path) -> None:
    from rerank.certificate import load_proof, verify_proof

    verify_proof(_fitted().state_.problem, load_proof(path))


@cache
def _searched() -> Any:
    from tests.cases.search import noisy_problem

    return noisy_problem(30, 4, "mrr", 0.35, 0)


@cache
def checkpoint() -> list[bytes]:
    from rerank.search import solve

    return [written(lambda path: solve(_searched(), node_limit=1, checkpoint=path))]


def read_checkpoint(path: Path) -> None:
    from rerank.search import solve

    found = solve(_searched(), node_limit=1, checkpoint=path)
    assert found.value <= found.bound


@cache
def _latent() -> dict[str, bytes]:
    from rerank.latent import LatentRoBiRank
    from tests.cases.latent import clustered_log

    with tempfile.TemporaryDirectory() as folder:
        LatentRoBiRank(4, n_epochs=1, n_negatives=5, random_state=0).fit(clustered_log(20, 16)).save(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != ".lock"}


def latent() -> list[bytes]:
    return [_latent()["model.json"]]


def read_latent(path: Path) -> None:
    _load_latent(path, {**_latent(), "model.json": path.read_bytes()})


def latent_array() -> list[bytes]:
    return [content for name, content in sorted(_latent().items()) if name.startswith("U-")]


def read_latent_array(path: Path) -> None:
    name = next(name for name in _latent() if name.startswith("U-"))
    _load_latent(path, {**_latent(), name: path.read_bytes()})


def _load_latent(path: Path, content: dict[str, bytes]) -> None:
    from rerank.latent import LatentRoBiRank

    folder = path.parent / "folder"
    folder.mkdir(exist_ok=True)
    for name, body in content.items():
        (folder / name).write_bytes(body)
    LatentRoBiRank.load(folder).recommend([0], 3)
