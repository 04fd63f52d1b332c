"""The table every reader returns, and the reader that chooses by the file's name."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError

Floats = NDArray[np.float64]

CSV = {".csv": ",", ".tsv": "\t"}
# LETOR, the usual collection of graded lists, calls its svmlight files .txt.
SVMLIGHT = {".svm", ".svmlight", ".libsvm", ".letor", ".txt"}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to rank.

    Attributes
    ----------
    X : float64 (n, d)
        Features, every entry finite.
    y : float64 (n,) or None
        0/1 or grades from 0 upwards; None when the file has no label.
    qid : object array of str (n,) or None
        The list each row belongs to; None when all rows are one list.
    ids : object array of str (n,) or None
        A name for each row.
    feature_names : tuple of str, length d
    sample_weight : float64 (n,) or None
    notes : tuple of str
        Sentences on what the reader decided (columns left out, documents added), for the user to see.
    """

    X: Floats
    y: Floats | None
    qid: NDArray[np.object_] | None
    ids: NDArray[np.object_] | None
    feature_names: tuple[str, ...]
    sample_weight: Floats | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])


def read_table(path: str | os.PathLike[str], **options: Any) -> Table:
    """Read a CSV or svmlight file, told apart by the suffix (before ``.gz``); options go to its reader.

    Raises
    ------
    InputError
        Another suffix, an option the format does not have, or anything its reader refuses.
    """
    from rerank.io import csv_table, svmlight

    name = Path(path).name.removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    given = {key: value for key, value in options.items() if value is not None}
    if suffix in CSV:
        return csv_table.read_csv(path, **{"delimiter": CSV[suffix], **given})
    if suffix in SVMLIGHT:
        for key in given.keys() - {"n_features", "zero_based"}:
            raise InputError(f"{path} is svmlight, which has no {key} column by name; leave that option out.")
        return svmlight.read_svmlight(path, **given)
    known = ", ".join([*CSV, *sorted(SVMLIGHT)])
    raise InputError(f"{path} has the suffix {suffix!r}, which names no format; rename it to one of {known}.")
