"""Real tables shipped with the package, all from the UCI Machine Learning Repository under CC BY 4.0; made-up machines.

>>> from rerank import datasets
>>> table = datasets.load("haberman")
>>> table.X.shape, int(table.y.sum()), table.feature_names
((306, 3), 81, ('Age', 'Year', 'Positive'))
"""

import json
from dataclasses import dataclass
from importlib.resources import as_file, files

from rerank.errors import InputError
from rerank.io import Table, read_csv
from rerank.io.machines import machines

__all__ = ["DataSet", "describe", "load", "machines", "names"]

LABEL = "target"


@dataclass(frozen=True)
class DataSet:
    """What a data set is, and whom to cite.

    Attributes
    ----------
    name, title : str
    rows, positives, features : int
        Size of the table; `positives` rows have the label 1.
    task : str
        What the rows are, and what is to be found.
    citation, doi, licence : str
    """

    name: str
    title: str
    rows: int
    positives: int
    features: int
    task: str
    citation: str
    doi: str
    licence: str = "CC BY 4.0"


_FOLDER = files("rerank.io") / "data"
_ALL = {each["name"]: DataSet(**each) for each in json.loads((_FOLDER / "descriptions.json").read_text("utf-8"))}


def names() -> list[str]:
    """Return the names that :func:`load` knows."""
    return list(_ALL)


def describe(name: str) -> DataSet:
    """Return size, task and citation of a data set. Raises `InputError` for an unknown name."""
    if name not in _ALL:
        raise InputError(f"There is no data set {name!r}; choose one of {', '.join(_ALL)}.")
    return _ALL[name]


def load(name: str) -> Table:
    """Read a data set.

    Returns
    -------
    Table
        `X` (float64), `y` (0/1; 1 is the thing to find) and `feature_names`; no lists, no row names.

    Raises
    ------
    InputError
        An unknown name.
    """
    describe(name)
    packed = _FOLDER / f"{name}.csv.gz"
    with as_file(packed if packed.is_file() else _FOLDER / f"{name}.csv") as path:
        return read_csv(path, label=LABEL)
