"""Readers under damaged input: every one returns or raises an error of ours, within a time and without a warning.

``READERS`` holds, for each reader, sound files to begin with and the function that reads one. ``failures`` runs it
on mutants; inputs that once failed are kept in ``tests/cases/regressions``.
"""

import gzip
import hashlib
import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulations.errors import FormulationError
from rerank.errors import RerankError
from tests.cases import fuzz_fitted, fuzz_tables
from tests.cases.mutate import compressed, json_mutated, mutated

KEPT = Path(__file__).parent / "regressions"
SECONDS = 10.0
"""What one small input may take."""
LONGEST = 5_000
"""Bytes of an input that is kept as it is; a longer one is packed."""
PACKED = ".packed"


@dataclass(frozen=True)
class Reader:
    """A reader and what it reads."""

    name: str
    seeds: Callable[[], list[bytes]]  # sound files
    suffix: str  # what the name of an input ends in; ``.gz`` packs it
    read: Callable[[Path], Any]
    fix: Callable[[Any], Any] | None = None  # for JSON with a digest: the value with a digest that fits


READERS = {
    each.name: each
    for each in (
        Reader("csv", fuzz_tables.csv, ".csv", fuzz_tables.read_csv),
        Reader("csv_gz", fuzz_tables.csv, ".csv.gz", fuzz_tables.read_csv),
        Reader("svmlight", fuzz_tables.svmlight, ".svm", fuzz_tables.read_svmlight),
        Reader("ideal", fuzz_tables.ideal, ".json", fuzz_tables.read_ideal),
        Reader("run", fuzz_tables.run, ".run", fuzz_tables.read_run),
        Reader("qrels", fuzz_tables.qrels, ".qrels", fuzz_tables.read_qrels),
        Reader("parquet", fuzz_tables.parquet, ".parquet", fuzz_tables.read_parquet),
        Reader("model", fuzz_fitted.model, ".json", fuzz_fitted.read_model, fuzz_fitted.with_digest),
        Reader("sidecar", fuzz_fitted.sidecar, ".json", fuzz_fitted.read_sidecar, fuzz_fitted.with_inner_digest),
        Reader("mps", fuzz_fitted.mps, ".mps", fuzz_fitted.read_mps),
        Reader("solution", fuzz_fitted.solutions, ".sol", fuzz_fitted.read_solution),
        Reader("proof", fuzz_fitted.proof, ".proof", fuzz_fitted.read_proof),
        Reader("checkpoint", fuzz_fitted.checkpoint, ".checkpoint", fuzz_fitted.read_checkpoint),
        Reader("latent", fuzz_fitted.latent, ".json", fuzz_fitted.read_latent),
        Reader("latent_array", fuzz_fitted.latent_array, ".npy", fuzz_fitted.read_latent_array),
    )
}


@dataclass(frozen=True)
class Failure:
    """An input that a reader does not bear, and what happened."""

    reader: str
    content: bytes
    what: str


def inputs(reader: Reader, seed: int) -> Iterator[bytes]:
    """Mutants of the sound files without end."""
    rng = random.Random(f"{reader.name} {seed}")
    seeds = reader.seeds()
    while True:
        raw = rng.choice(seeds)
        if reader.fix is not None and rng.random() < 0.5:
            raw = json_mutated(raw, rng, reader.fix)
        else:
            raw = mutated(raw, rng)
        yield compressed(raw, rng) if reader.suffix.endswith(".gz") else raw


def tried(reader: Reader, content: bytes, folder: Path) -> Failure | None:
    """The failure of one input, None if it is read or refused as it should be."""
    path = folder / f"input{reader.suffix}"
    path.write_bytes(content)
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reader.read(path)
    except (RerankError, FormulationError) as error:
        text = str(error)
        if not text.endswith(".") or "\n" in text or len(text) > 2000:
            return Failure(reader.name, content, f"not one sentence: {text[:200]!r}")
    except Exception as error:
        return Failure(reader.name, content, f"{type(error).__name__}: {str(error)[:200]}")
    taken = time.perf_counter() - begun
    return Failure(reader.name, content, f"{taken:.0f} seconds") if taken > SECONDS else None


def failures(name: str, count: int, seconds: float, seed: int = 0) -> tuple[int, list[Failure]]:
    """Number of inputs tried, and the failures of different kinds among them."""
    reader, found = READERS[name], {}
    end = time.perf_counter() + seconds
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    done = 0
    try:
        for done, content in enumerate(inputs(reader, seed), start=1):
            if (failure := tried(reader, content, folder)) is not None:
                # The shortest input of each kind is kept.
                kind = "".join(c for c in failure.what if c.isalpha())[:60]
                if kind not in found or len(content) < len(found[kind].content):
                    found[kind] = failure
            if done >= count or time.perf_counter() > end:
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return done, list(found.values())


def keep(failure: Failure) -> Path:
    """Keep a failing input as a file that the tests read from then on."""
    suffix = READERS[failure.reader].suffix
    digest = hashlib.sha256(failure.content).hexdigest()[:10]
    path = KEPT / f"{failure.reader}-{digest}{suffix}"
    if len(failure.content) > LONGEST:
        path = path.with_name(path.name + PACKED)
    path.write_bytes(gzip.compress(failure.content, mtime=0) if path.suffix == PACKED else failure.content)
    return path


def kept() -> list[Path]:
    """The inputs that once failed."""
    return sorted(path for path in KEPT.iterdir() if path.name.partition("-")[0] in READERS)


def again(path: Path, folder: Path) -> Failure | None:
    """The failure of an input that was kept, None if it is borne now."""
    content = path.read_bytes()
    if path.suffix == PACKED:
        content = gzip.decompress(content)
    return tried(READERS[path.name.partition("-")[0]], content, folder)
