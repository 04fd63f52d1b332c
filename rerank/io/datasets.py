"""Real tables shipped with the package, all from the UCI Machine Learning Repository under CC BY 4.0; made-up machines.

>>> from rerank import datasets
>>> table = datasets.load("haberman")
>>> table.X.shape, int(table.y.sum()), table.feature_names
((306, 3), 81, ('Age', 'Year', 'Positive'))
"""

from dataclasses import dataclass
from importlib.resources import as_file, files

from rerank.errors import InputError
from rerank.io import Table, read_csv
from rerank.io.machines import machines

__all__ = ["Description", "describe", "load", "machines", "names"]

LABEL = "target"


@dataclass(frozen=True)
class Description:
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


_ALL = {
    each.name: each
    for each in (
        Description(
            "haberman",
            "Haberman's Survival",
            306,
            81,
            3,
            "patients after breast cancer surgery; find those who died within five years",
            "Haberman, S. (1976). Haberman's Survival [Dataset]. UCI Machine Learning Repository.",
            "10.24432/C5XK51",
        ),
        Description(
            "german",
            "Statlog (German Credit Data)",
            1000,
            300,
            61,
            "loans; find the bad credit risks (categorical columns are one-hot)",
            "Hofmann, H. (1994). Statlog (German Credit Data) [Dataset]. UCI Machine Learning Repository.",
            "10.24432/C5NC77",
        ),
        Description(
            "abalone19",
            "Abalone, 19 rings against the rest",
            4174,
            32,
            10,
            "abalones; find those with 19 rings (sex is one-hot)",
            "Nash, W., Sellers, T., Talbot, S., Cawthorn, A., & Ford, W. (1994). Abalone [Dataset]. "
            "UCI Machine Learning Repository.",
            "10.24432/C55C7W",
        ),
        Description(
            "ai4i2020",
            "AI4I 2020 Predictive Maintenance",
            10000,
            339,
            8,
            "machines at work (a simulation); find those that fail (the quality type is one-hot)",
            "Matzka, S. (2020). AI4I 2020 Predictive Maintenance Dataset [Dataset]. "
            "UCI Machine Learning Repository.",
            "10.24432/C5HS5C",
        ),
    )
}


def names() -> list[str]:
    """Return the names that :func:`load` knows."""
    return list(_ALL)


def describe(name: str) -> Description:
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
    folder = files("rerank.io") / "data"
    packed = folder / f"{name}.csv.gz"
    with as_file(packed if packed.is_file() else folder / f"{name}.csv") as path:
        return read_csv(path, label=LABEL)
