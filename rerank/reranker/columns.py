"""Which columns of a table are reranked. The first stage sees the table as it is; only these have to be numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io import frames
from rerank.io.arrays import held
from rerank.problem.lists import Floats, Indices
from rerank.ranks.lists import lists_given
from rerank.ranks.present import Present


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table as they were given, and the columns that can be reranked as numbers."""

    given: Any  # array, sparse matrix or data frame (n, d)
    columns: Columns
    there: Present = field(default_factory=Present)  # which rows of the user's table they are
    _made: dict[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.given.shape[0])

    def inputs(self, which: Indices) -> Floats:
        """Some input columns as numbers, float64 (n, columns)."""
        return frames.found_numbers(self.given, which)

    def reranked(self, which: Indices) -> Floats:
        """Some of the columns that can be reranked; ``which`` are numbers in :attr:`Columns.names`."""
        transformer = self.columns.transformer
        if transformer is None:
            return self.inputs(which)
        if "table" not in self._made:
            self._made["table"] = _transformed(transformer, self.given)
        return self._made["table"][:, which]

    def labels(self, which: Indices) -> list[Any]:
        """What the user's table calls some rows: index labels of pandas, else numbers, rows of weight 0 counted."""
        if hasattr(self.given, "iloc"):
            return list(self.given.index.take(which).tolist())
        mask = self.there.mask
        return list((which if mask is None else np.flatnonzero(mask)[which]).tolist())

    def some(self, rows: Indices) -> TableRows:
        """Some of the rows."""
        return TableRows(frames.some_rows(self.given, rows), self.columns)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table that can be reranked."""

    inputs: tuple[str, ...]  # (d,), names of the columns of the table
    frame: bool  # whether the names came with the table
    names: tuple[str, ...]  # the inputs, or what the transformer makes of them
    chosen: Indices  # (p,), which of ``names`` can be reranked, ascending
    numeric: Indices  # inputs of numbers that miss none: what first stages of this package learn from
    left_out: tuple[str, ...] = ()  # inputs of which nothing is reranked, because of what they hold
    transformer: Any = None  # fitted
    lists: str = ""  # name of the column that held the list ids
    aside: tuple[str, ...] = ()  # columns of list ids and groups: no inputs, and tables may still have them
    index: tuple[str, ...] = ()  # columns that were left out as a saved index; the same holds for them

    def called(self, names: tuple[str, ...]) -> Columns:
        """The same columns of a table that calls them so."""
        return replace(self, inputs=names, names=_made_names(self.transformer, names) or self.names)

    @property
    def squares(self) -> Any:
        """The transformer, if it is :class:`rerank.scorers.Squares`, which a model file holds; else None."""
        if self.transformer is None:
            return None
        from rerank.scorers import Squares

        return self.transformer if isinstance(self.transformer, Squares) else None

    @property
    def encoded(self) -> Any:
        """The transformer, if it encodes texts and gaps as first stages do, and so is in a model file; else None."""
        if self.transformer is None:
            return None
        from rerank.scorers.table_columns import TableColumns

        return self.transformer if isinstance(self.transformer, TableColumns) else None

    def of_inputs(self, coef: Floats) -> Floats | None:
        """Weights of the inputs as weights of what can be reranked; None where one of them is not among it."""
        if self.transformer is None or self.encoded is None:
            return coef if self.transformer is None else None
        places, found = self.encoded.places(), np.zeros(len(self.names))
        if not {*np.flatnonzero(coef).tolist()} <= places.keys():
            return None
        found[list(places.values())] = coef[list(places)]
        return found

    def rows(self, X: Any) -> TableRows:
        """The rows of a table with these columns; lists, groups and a saved index may stand beside them."""
        table = held(X)
        beside = {self.lists, *self.aside} - {""}
        if self.frame or (frames.is_frame(table) and len(frames.names_of(table)) > len(self.inputs)):
            beside |= {*self.index, *frames.index_of(table)} - set(self.inputs)
        return TableRows(frames.as_table(frames.without(table, *beside)), self)


def lists_of(X: Any, qid: Any, what: str = "qid") -> Any:
    """List ids of the rows: ``qid`` itself, or the column of that name; or ids of groups, as ``what`` says. One number
    as ``qid`` is the id of all rows.
    """
    if not isinstance(qid, str):
        return lists_given(qid, frames.as_table(X).shape[0]) if what == "qid" else qid
    if not frames.is_frame(X):
        raise InputError(f"{what} is {qid!r}, and X has no names of columns; give a data frame, or an array of ids.")
    values = frames.column(X, frames.place_of(X, qid))
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)


def names_in(stage: Any) -> set[str]:
    """Texts that may name columns: a first stage that is one, the columns it was fitted on, or its parameters."""
    if isinstance(stage, str | list | tuple):
        return {stage} if isinstance(stage, str) else {name for member in stage for name in names_in(member)}
    if isinstance(stage, type) or not hasattr(stage, "get_params"):
        return set()
    return {*map(str, getattr(stage, "feature_names_in_", ()))} or names_in(list(stage.get_params().values()))


def columns_of(
    X: Any, y: Any = None, features: Any = None, used: Collection[str] = (), weight: Floats | None = None
) -> TableRows:
    """The rows of a training table with the columns that ``features`` names: names, numbers, a mask, a function of the
    table that gives these, or a transformer. None takes all. Where some of them hold texts or gaps, they are encoded
    as first stages encode them, with medians of rows that have a ``weight``. A saved index is taken where it is chosen,
    or among those ``used`` by a first stage.
    """
    table = frames.as_table(X)
    transformer = hasattr(features, "fit") and hasattr(features, "transform")
    if callable(features) and not transformer:
        features = features(table)
    if index := [name for name in frames.index_of(table) if name not in used]:
        names = frames.names_of(table)
        if features is not None and not transformer:
            features = [names[j] for j in frames.chosen_columns(table, features)]
            index = [name for name in index if name not in features]
        if len(index) < len(names):
            rows = columns_of(frames.without(table, *index), y, features, names, weight)
            return replace(rows, columns=replace(rows.columns, index=tuple(index)))
    names, frame = frames.names_of(table), frames.is_frame(table)
    if transformer:
        return _by_transformer(table, y, features)
    if features is None and frames.is_sparse(table):
        raise InputError(
            f"X is sparse with {len(names)} columns, and columns that are reranked have to be dense; name these "
            "with features=[...]."
        )
    every, named = np.arange(len(names), dtype=np.intp), features is not None
    if named:
        chosen = frames.chosen_columns(table, features)
    else:  # a saved index is here because the first stage names it, or because there is nothing else
        saved = [names.index(name) for name in frames.index_of(table)]
        chosen = every if len(saved) == every.size else np.setdiff1d(every, saved)
    if named and (frames.is_sparse(table) or (isinstance(table, np.ndarray) and table.dtype.kind == "O")):
        frames.found_numbers(table, chosen)
        numeric = every if frames.is_sparse(table) else chosen
    else:
        numeric = frames.complete(table)[0]
    if np.isin(chosen, numeric).all():
        return TableRows(table, Columns(names, frame, names, chosen, numeric))
    return _encoded(table, Columns(names, frame, names, chosen, numeric), named, weight)


def _encoded(table: Any, columns: Columns, named: bool, weight: Floats | None) -> TableRows:
    """The chosen columns of a table, encoded; of columns that are ``named`` none is left out."""
    from rerank.scorers.table_columns import TableColumns

    made = TableColumns(columns.chosen.tolist()).fit(table, None, weight)
    out = [int(j) for j in columns.chosen if j in made.left_out_]
    if named:
        frames.found_numbers(table, out)  # says what is in the way
    names = tuple(made.get_feature_names_out(columns.inputs).tolist())
    left_out = tuple(columns.inputs[j] for j in out)
    chosen = np.arange(len(names), dtype=np.intp)
    return TableRows(table, replace(columns, names=names, chosen=chosen, left_out=left_out, transformer=made))


def _by_transformer(table: Any, y: Any, transformer: Any) -> TableRows:
    """Columns made by a fitted clone of a transformer."""
    from sklearn.base import clone

    fitted = clone(transformer).fit(table, y)
    made = _transformed(fitted, table)
    names, every = _made_names(fitted) or frames.names_of(made), np.arange(made.shape[1], dtype=np.intp)
    columns = Columns(
        frames.names_of(table), frames.is_frame(table), names, every, frames.complete(table)[0], (), fitted
    )
    return TableRows(table, columns, _made={"table": made})


def _made_names(transformer: Any, inputs: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of what a transformer makes of columns with these names, or those of its fit; none if it has no names."""
    if transformer is None and inputs is not None:
        return inputs
    return tuple(map(str, getattr(transformer, "get_feature_names_out", lambda _: ())(inputs)))


def _transformed(transformer: Any, X: Any) -> Floats:
    made = transformer.transform(X)
    table = frames.as_table(made.toarray() if frames.is_sparse(made) else made)
    return frames.found_numbers(table, range(table.shape[1]))
