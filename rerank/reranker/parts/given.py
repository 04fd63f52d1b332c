"""What a user gives as a list in parts: Parquet files, a Ray Dataset, or functions that read a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.row_groups import numeric_columns, row_groups
from rerank.problem.passes import Part, Run
from rerank.ranks.row_gains import Gain, gains
from rerank.reranker.columns import Columns, Rows
from rerank.reranker.first_stage import FirstStage
from rerank.search.workers import Workers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of a list, the names of their columns, and what calls a function on each; None for workers.

    ``index`` are the names of a saved index that was left out.
    """

    parts: list[Part]
    names: tuple[str, ...]
    run: Run | None
    index: tuple[str, ...] = ()

    @contextmanager
    def running(self, n_jobs: int) -> Iterator[Run]:
        """What calls functions on parts while the block runs."""
        if self.run is not None:
            yield self.run
            return
        with Workers(n_jobs) as workers:
            yield workers.run


@dataclass(frozen=True, eq=False)
class ScoredPart:
    """A part of which the first column is the first stage's score, and the others those that can be reranked.

    Attributes
    ----------
    part : callable
        Reads the columns of the list, and labels.
    stage : FirstStage
    columns : Columns
    kind : str
        Gain of a label.
    chosen : intp array or None
        Which of these columns, the score among them; None for all.
    """

    part: Part
    stage: FirstStage
    columns: Columns
    kind: Gain
    chosen: NDArray[np.intp] | None = None

    def __call__(self) -> tuple[Floats, Floats]:
        """Table and gains of the rows.

        Raises
        ------
        InputError
            For a label that is no grade, or a grade where the statistic takes only 0 and 1.
        """
        X, y = read(self.part, self.columns)
        which = self.columns.chosen
        if not len(X):
            table = np.empty((0, 1 + which.size))
        else:
            rows = Rows(X, self.columns)
            table = np.column_stack([self.stage.scores(rows), rows.reranked(which)])
        if self.kind == "binary" and not np.isin(y, (0.0, 1.0)).all():
            raise InputError(
                "A part holds labels other than 0 and 1, and the statistic asks only whether a row is relevant; write "
                "1 for every label above 0."
            )
        return table if self.chosen is None else table[:, self.chosen], gains(y, self.kind)


def read(part: Part, columns: Columns) -> tuple[Floats, Floats]:
    """Table and labels of a part, of the right shapes.

    Raises
    ------
    InputError
        For others.
    """
    X, y = (np.asarray(each, dtype=np.float64) for each in part())
    if X.ndim != 2 or X.shape[1] != len(columns.inputs) or y.shape != (len(X),):
        raise InputError(
            f"A part has a table of shape {X.shape} and labels of shape {y.shape}; give one label a row, and the "
            f"columns {', '.join(columns.inputs):.200}."
        )
    return X, y


def given_parts(
    parts: Any, y: str | None = None, columns: Sequence[str] | None = None, run: Run | None = None,
    labelled: bool = True,
) -> Parts:  # fmt: skip
    """A list in parts as a user gives it.

    Parameters
    ----------
    parts : path, sequence of paths, Ray Dataset, or sequence of callables
        See :meth:`rerank.Reranker.fit_parts`.
    y : str, optional
        Column of the labels.
    columns : sequence of str, optional
        Columns of the table.
    run : callable, optional
    labelled : bool
        Whether labels are needed.

    Raises
    ------
    InputError
        For other parts, and where ``y`` or ``columns`` are missing or too many.
    """
    if hasattr(parts, "materialize") and hasattr(parts, "schema"):
        from rerank.search.on_ray import blocks, numeric_columns_of, run_on_ray

        names, index = _names(columns, y, labelled, lambda: numeric_columns_of(parts))
        return Parts(list(blocks(parts, names, y if labelled else None)), names, run or run_on_ray, index)
    found = [parts] if isinstance(parts, str | Path) else list(parts) if isinstance(parts, Sequence) else []
    if found and all(isinstance(one, str | Path) for one in found):
        names, index = _names(columns, y, labelled, lambda: numeric_columns(found[0]))
        return Parts(list(row_groups(found, names, y if labelled else None)), names, run, index)
    if not found or not all(callable(one) for one in found):
        raise InputError(
            f"parts is {parts!r:.60}; give Parquet files, a Ray Dataset, or functions that each return the table and "
            "the labels of a part."
        )
    return _ready(found, y, columns, run, labelled)


def _ready(
    parts: list[Any], y: str | None, columns: Sequence[str] | None, run: Run | None, labelled: bool
) -> Parts:
    """Row groups, blocks, or functions of the user's own."""
    if all(hasattr(one, "gains") and hasattr(one, "columns") for one in parts):
        names = tuple(parts[0].columns if columns is None else columns)
        gained = None if not labelled else parts[0].gains if y is None else y
        made: list[Part] = [replace(one, columns=names, gains=gained) for one in parts]
        if run is None and hasattr(parts[0], "held"):
            from rerank.search.on_ray import run_on_ray as run
        return Parts(made, names, run)
    if columns is None or y is not None:
        raise InputError(
            "Functions that read a part return its table and its labels; name the columns of the table with "
            "columns=[...], and leave y out."
        )
    return Parts(parts, tuple(columns), run)


def _names(
    columns: Sequence[str] | None, y: str | None, labelled: bool, known: Callable[[], tuple[list[str], list[str]]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns asked for, or all that hold numbers; and a saved index that is left out."""
    if labelled and not isinstance(y, str):
        raise InputError(f"y is {y!r:.60}; name the column of the labels.")
    found, index = known() if columns is None else (list(columns), [])
    names = tuple(name for name in found if columns is not None or name != y)
    if not names or y in names or len(set(names)) < len(names):
        raise InputError(
            f"columns is {list(names)!r:.80}; name each column of numbers once, without the one of the labels."
        )
    return names, tuple(name for name in index if name != y)
