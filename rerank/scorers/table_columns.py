"""Columns of a table with texts and gaps as numbers, encoded as first stages of tables do."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rerank.io.arrays import held
from rerank.io.bounded import Json
from rerank.io.frames import as_table, names_of
from rerank.scorers import encoding
from rerank.scorers.base import Floats
from rerank.scorers.encoding import LEAST_ROWS, LEAST_SHARE, MOST_LEVELS, NOT_ASKED
from rerank.scorers.of_tables import OfTables, that


class TableColumns(TransformerMixin, OfTables):
    """The columns that are reranked of a table with texts and gaps.

    A column of numbers stays, its gaps filled with the median, and a further one says where they are; of texts each
    frequent one has a column of 0 and 1 (:class:`rerank.scorers.TableLogistic` says which). Columns are not scaled.

    Parameters
    ----------
    columns : sequence of int, optional
        Numbers of the columns to take; None takes all.
    """

    def __init__(self, columns: Sequence[int] | None = None) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None, sample_weight: Floats | None = None) -> Self:
        """Learn medians, weighted by row, and frequent texts of a table (n, d)."""
        table = as_table(held(X))
        self.n_features_in_, self.feature_names_in_ = table.shape[1], np.array(names_of(table), dtype=object)
        self._learn_rules(table, sample_weight, self.columns)
        return self

    def transform(self, X: Any) -> Floats:
        """The encoded columns (n, m)."""
        check_is_fitted(self, "rules_")
        return encoding.encoded(as_table(held(X)), self.rules_ or (), self._names())

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the encoded columns (m,), each once: ``age``, ``age is missing``, ``region = B``."""
        check_is_fitted(self, "rules_")
        names, made = list(self._names() if input_features is None else input_features), list[str]()
        taken = set(names)
        for rule in self.rules_ or ():
            for place, name in enumerate(rule.names(names[rule.at])):
                own = isinstance(rule, encoding.Numbers) and place == 0
                while not own and name in taken:
                    name += "_"
                taken.add(name)
                made.append(name)
        return np.array(made, dtype=object)

    def places(self) -> dict[int, int]:
        """By column of numbers that misses none its place among the encoded ones."""
        found, at = dict[int, int](), 0
        for rule in self.rules_ or ():
            if isinstance(rule, encoding.Numbers) and not rule.gaps:
                found[rule.at] = at
            at += len(rule.names(""))
        return found

    def told(self, input_features: Sequence[str] | None = None) -> str:
        """In words: what stands for texts and gaps, and which columns are left out."""
        names = list(self._names() if input_features is None else input_features)
        made = [name for name in self.get_feature_names_out(names) if name not in names]
        said = f"Texts and gaps are reranked as columns of 0 and 1, such as {made[0]!r}" if made else ""
        if several := [names[rule.at] for rule in self.rules_ or () if getattr(rule, "others", False)]:
            rare = f"those in fewer than {LEAST_ROWS} rows or {100 * LEAST_SHARE:g} % of them"
            shown = ", ".join(several[:5]) + (", ..." if len(several) > 5 else "")
            said += f"; of {shown} {rare}, or not among the {MOST_LEVELS} most frequent, share one"
        left = [f"{names[j]} ({why})" for j, why in self.left_out_.items() if why != NOT_ASKED]
        shown = ", ".join(left[:10]) + (f", and {len(left) - 10} more" if len(left) > 10 else "")
        return "; ".join(filter(None, [said, f"not reranked are {shown}" if left else ""])) + "."

    def to_dict(self) -> Json:
        """What was learned as numbers and texts, all bits kept; without the names of the columns."""
        check_is_fitted(self, "rules_")
        return {**self._columns_to_dict(), "width": sum(len(rule.names("")) for rule in self.rules_ or ())}

    def _take(self, body: Json) -> None:
        rules = self._take_columns(body)
        that(body["width"] == sum(len(rule.names("")) for rule in rules), "width counts the encoded columns")
