"""A drawn log of the Million Song log's shape, in npy files: ``python -m benchmarks.latent.log SCALE FOLDER``.

Users, items and records are those of [BertinMahieuxEllisWhitmanLamere2011], each times ``SCALE``.  Records take a
user at random and an item by a Zipf law, and are drawn until there are enough different ones.  Users thus have about
44 records each; in the original some have hundreds, which would make visits longer and steps faster.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

USERS, ITEMS, RECORDS = 1_129_318, 386_133, 49_824_519


def shape(scale: float) -> tuple[int, int, int]:
    """Users, items and records."""
    users, items, records = (max(int(n * scale), 50) for n in (USERS, ITEMS, RECORDS))
    return users, items, min(records, users * items // 4)


def drawn_log(scale: float, seed: int = 0) -> Any:
    """The log as a CSR matrix of int8, the least that a matrix can have for a one."""
    rng = np.random.default_rng(seed)
    users, items, records = shape(scale)
    weight = np.cumsum(1.0 / np.arange(10, items + 10) ** 0.9)
    keys = np.empty(0, dtype=np.int64)
    while keys.size < records:
        n = records - keys.size + 1000
        row = rng.integers(users, size=n)
        col = np.searchsorted(weight, weight[-1] * rng.random(n))
        keys = np.concatenate([keys, row * items + np.minimum(col, items - 1)])
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
    keys = np.delete(keys, rng.choice(keys.size, keys.size - records, replace=False))
    indptr = np.searchsorted(keys, np.arange(users + 1) * items)
    indices = (keys % items).astype(np.int32)
    return sp.csr_matrix((np.ones(records, np.int8), indices, indptr.astype(np.int32)), shape=(users, items))


def write(folder: Path, log: Any) -> None:
    """One npy file for each array."""
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(log, name))
    np.save(folder / "shape.npy", np.array(log.shape))


def read(folder: Path) -> Any:
    """The log, by memory map."""
    parts = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr"))
    return sp.csr_matrix(tuple(parts), shape=tuple(np.load(folder / "shape.npy").tolist()), copy=False)


if __name__ == "__main__":
    write(Path(sys.argv[2]), drawn_log(float(sys.argv[1])))
