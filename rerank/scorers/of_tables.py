"""What learns from a table as it comes: the check of its rows, names of its columns, and rules that are kept."""

import json
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from rerank.errors import InputError
from rerank.io.arrays import held
from rerank.io.bounded import Json
from rerank.io.frames import is_frame
from rerank.io.levels import level_of, name_of
from rerank.scorers import encoding
from rerank.scorers.base import Floats
from rerank.scorers.encoding import Numbers, Rule, TextLevels


class OfTables(BaseEstimator):
    """A scorer of tables with texts and gaps. What it learned is plain numbers and texts (``to_dict``)."""

    takes_tables = True
    learner = ""
    """What learned, in a word that begins a sentence."""
    parameters: tuple[str, ...] = ()
    """Names of the parameters that ``to_dict`` writes."""
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    rules_: list[Rule] | None
    left_out_: dict[int, str]

    def _read(self, X: Any, *labels: Any) -> Any:
        """The table, and labels at the fit, as scikit-learn checks them."""
        X, fitting = held(X), bool(labels)
        if is_frame(X):
            validate_data(self, X, *labels, reset=fitting, skip_check_array=True)
            if not fitting:
                return X
            y = column_or_1d(labels[0], warn=True)
            check_consistent_length(X, y)
            return X, y
        taken = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
        return validate_data(self, X, *labels, reset=fitting, **taken)

    def _learn_rules(self, table: Any, weight: Floats | None, columns: Sequence[int] | None = None) -> list[Rule]:
        """Learn how each column is encoded, or each of some, and which are left out."""
        names = self._names()
        rules, self.left_out_ = encoding.learned(table, weight, names, columns)
        self.rules_ = rules
        if not rules:
            why = ", ".join(f"{names[j]!r}: {reason}" for j, reason in list(self.left_out_.items())[:5])
            raise InputError(f"X has no column to learn from ({why}); give one that varies.")
        return rules

    def unseen(self, X: Any, input_features: Sequence[str] | None = None) -> list[str]:
        """A sentence for each column of ``X`` (n, d) with texts that no row of the fit had.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns (d,), if not those of the fit.
        """
        return encoding.unseen(X, self.rules_ or (), list(self._names() if input_features is None else input_features))

    def told(self, input_features: Sequence[str] | None = None) -> str:
        """In words: which columns were learned from, and which not and why.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns (d,), if not those of the fit.
        """
        names = list(self._names() if input_features is None else input_features)
        rules = [Numbers(j, 0.0, False) for j in range(len(names))] if self.rules_ is None else self.rules_
        return encoding.learned_in_words(rules, self.left_out_, names, self.learner)

    @classmethod
    def from_dict(cls, body: Json) -> Self:
        """The estimator that :meth:`to_dict` wrote.

        Raises
        ------
        InputError
            For anything that :meth:`to_dict` does not write.
        """
        try:
            fitted = cls(**{name: body[name] for name in cls.parameters if name in body})
            fitted._take(body)
            written = fitted.to_dict()
            odd = [name for name in sorted({*written, *body}) if _text(written, name) != _text(body, name)]
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            odd = ["the state"]
        that(not odd, f"{str(odd[0])[:40]} is as to_dict writes it" if odd else "")
        return fitted

    def to_dict(self) -> Json:
        """What was learned as plain data."""
        raise NotImplementedError

    def _take(self, body: Json) -> None:
        """The fitted state of :meth:`to_dict`; entries of another type are made plain, so that they are seen after."""
        raise NotImplementedError

    def _names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])))

    def _columns_to_dict(self) -> Json:
        return {
            "n_columns": int(self.n_features_in_),
            "columns": [rule._asdict() for rule in self.rules_ or ()],
            "left_out": [{"at": at, "why": why} for at, why in self.left_out_.items()],
        }

    def _take_columns(self, body: Json, sparse: bool = False) -> list[Rule]:
        """The rules of a stored state."""
        n = int(body["n_columns"])
        rules = [_rule_in(column) for column in body["columns"]]
        left_out = {int(column["at"]): column["why"] for column in body["left_out"]}
        used = [rule.at for rule in rules]
        that(set(left_out.values()) <= set(encoding.REASONS), "a column is left out for a known reason")
        that(used == sorted(set(used)) and list(left_out) == sorted(left_out), "columns are ascending")
        whole = not rules and not left_out if sparse else rules and len(rules) + len(left_out) == n
        every = n > 0 and bool(whole) and (sparse or {*used, *left_out} == set(range(n)))
        that(every, "each column is used or left out, and all of sparse rows are used")
        self.rules_, self.left_out_, self.n_features_in_ = None if sparse else rules, left_out, n
        return rules


def _text(body: Json, name: str) -> str:
    """An entry as text, which tells 1, 1.0 and True apart; empty if it is not there."""
    return json.dumps(body[name], sort_keys=True) if name in body else ""


def _rule_in(body: Json) -> Rule:
    at, gaps = int(body["at"]), bool(body["gaps"])
    if "levels" not in body:
        return Numbers(at, float(floats_in([body["fill"]], 1)[0]), gaps)
    levels = list(map(level_of, body["levels"]))
    names = list(map(name_of, levels))
    short = 0 < len(levels) <= encoding.MOST_LEVELS and all(len(name) <= encoding.LONGEST for name in names)
    that(short and names == sorted(set(names)), "levels are ascending texts or numbers")
    return TextLevels(at, levels, bool(body["others"]), gaps)


def floats_in(values: Any, size: int) -> Floats:
    """So many stored numbers, all finite."""
    array = np.array(values, dtype=np.float64)
    that(array.shape == (size,) and bool(np.isfinite(array).all()), f"{size} numbers are finite")
    return array


def that(holds: bool, rule: str) -> None:
    """Refuse a stored state that breaks a rule."""
    if not holds:
        raise InputError(f"The stored first stage cannot be used (a rule is broken: {rule}); fit and save it again.")
