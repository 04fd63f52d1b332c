"""First stages that are stored as entries of a model file: scorers of tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.columns import COMPLETE, Kind
from rerank.io.levels import name_of
from rerank.reranker.columns import Columns
from rerank.reranker.first_stage import MEMORISES, FirstStage, of_tables, variant_name

# Lists of a state that may be empty, and then have no entry.
_OF_TREES, _OF_LOGISTIC = ("left_out",), ("columns", "left_out", "centre", "square_of")


def of_entries(name: str, body: Mapping[str, Any], columns: Columns) -> Any:
    """The scorer of tables by that name, from what its ``to_dict`` wrote."""
    from rerank.scorers import TableLogistic, TableTrees

    trees = name in (*MEMORISES, "TableTrees")
    scorer, lists = (TableTrees, _OF_TREES) if trees else (TableLogistic, _OF_LOGISTIC)
    found: Any = scorer.from_dict({each: [] for each in lists} | {**body})
    n, d, own = found.n_features_in_, len(columns.inputs), variant_name(found)
    if n != d or name not in (own, scorer.__name__):
        raise InputError(
            f"The stored first stage cannot be used (it is {own} of {n} columns, and the model states {name[:40]} of "
            f"{d}); fit and save it again."
        )
    if columns.frame:
        found.feature_names_in_ = np.array(columns.inputs, dtype=object)
    return found


def kinds_of_stage(stage: FirstStage, columns: Columns) -> dict[int, Kind]:
    """What the columns hold that a first stage looks at, by their number."""
    if stage.coef is not None:
        return dict.fromkeys(np.flatnonzero(stage.coef).tolist(), COMPLETE)
    table = of_tables(stage.estimator)
    if table is None or table.rules_ is None:
        return dict.fromkeys(range(len(columns.inputs)), COMPLETE)
    levels = {rule.at: getattr(rule, "levels", ()) for rule in table.rules_}
    texts = {at: [name_of(one) for one in own if not isinstance(one, float)] for at, own in levels.items()}
    return {at: Kind(bool(own), known=frozenset(own)) for at, own in texts.items()}
