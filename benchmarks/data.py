"""Readers of a folder of data sets, ``<name>/<name>.npz``, which all benchmarks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT = Path(__file__).parent.parent.parent / "shared" / "data"


def folder(given: str | None) -> Path | None:
    """The folder of data sets, or None where there is none."""
    path = DEFAULT if given is None else Path(given)
    return path if path.is_dir() else None


def arrays(where: Path, name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a data set; ``X`` is dense."""
    with np.load(where / name / f"{name}.npz", allow_pickle=False) as stored:
        found = {key: stored[key] for key in stored.files}
    if "indptr" in found:
        from scipy.sparse import csr_array

        parts = (found.pop("data").astype(np.float64), found.pop("indices"), found.pop("indptr"))
        found["X"] = csr_array(parts, shape=tuple(found.pop("shape"))).toarray()
    return found
