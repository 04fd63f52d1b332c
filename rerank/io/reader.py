"""The reader that chooses the format by the file's name."""

import os
from pathlib import Path
from typing import Any

from rerank.errors import InputError
from rerank.io.csv_table import read_csv
from rerank.io.svmlight import read_svmlight
from rerank.io.table import Table

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# LETOR, the usual collection of graded lists, calls its svmlight files .txt.
SVMLIGHT = {".svm", ".svmlight", ".libsvm", ".letor", ".txt"}


def read_table(path: str | os.PathLike[str], **options: Any) -> Table:
    """Read a CSV or svmlight file. The suffix before ``.gz`` says which; options go to its reader.

    Raises
    ------
    InputError
        Another suffix, an option the format does not have, or anything its reader refuses.
    """
    suffix = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    given = {key: value for key, value in options.items() if value is not None}
    if suffix in DELIMITERS:
        return read_csv(path, **{"delimiter": DELIMITERS[suffix], **given})
    if suffix in SVMLIGHT:
        for key in given.keys() - {"n_features", "zero_based"}:
            raise InputError(f"{path} is svmlight, which has no {key} column by name; leave that option out.")
        return read_svmlight(path, **given)
    known = ", ".join([*DELIMITERS, *sorted(SVMLIGHT)])
    raise InputError(f"{path} has the suffix {suffix!r}, which names no format; rename it to one of {known}.")
