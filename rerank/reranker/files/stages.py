"""First stages that are stored as entries of a model file: scorers of tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.bounded import Json
from rerank.io.columns import COMPLETE, ColumnKind
from rerank.io.levels import name_of
from rerank.reranker.blend import Blend
from rerank.reranker.columns import Columns
from rerank.reranker.first_stage import MEMORISES, FirstStage, is_own_name, of_tables, variant_name
from rerank.scorers.encoding import Rule

# Lists of a state that may be empty, and then have no entry.
_OF_TREES, _OF_LOGISTIC = ("left_out",), ("columns", "left_out", "centre", "square_of")


def blend_of(entries: Json, columns: Columns) -> Blend:
    """The blend that its ``to_dict`` wrote."""
    members, weights = list[FirstStage](), list[float]()
    if set(entries) != {"members"} or len(entries["members"]) < 2:
        raise unusable("a blend has two members or more")
    for member in entries["members"]:
        name = str(member["name"])
        weights.append(float(member["weight"]))
        if "coef" in member:
            coef = np.array(member["coef"], dtype=np.float64)
            if coef.shape != (len(columns.inputs),) or set(member) != {"name", "weight", "coef", "intercept"}:
                raise unusable(f"the member {name[:40]} has {coef.size} weights of columns")
            members.append(FirstStage(name, None, coef, float(member["intercept"])))
            continue
        if set(member) != {"name", "weight", "centre", "scale", "state"} or not float(member["scale"]) > 0:
            raise unusable(f"the member {name[:40]} lacks an entry")
        table = of_entries(name, member["state"], columns)
        members.append(FirstStage(name, table, None, centre=float(member["centre"]), scale=float(member["scale"])))
    if not (min(weights) >= 0 and abs(sum(weights) - 1) <= 1e-9):
        raise unusable("weights of members are from 0 on, and their sum is 1")
    return Blend(columns, tuple(members), np.array(weights))


def unusable(rule: str) -> InputError:
    """The error for entries that are none of a first stage."""
    return InputError(f"The stored first stage cannot be used (a rule is broken: {rule}); fit and save it again.")


def asked_as(stage: FirstStage) -> Any:
    """What a fit takes as ``first_stage`` to fit such a one again: a name where it has one."""
    if isinstance(stage.estimator, Blend):
        return [name.removeprefix("column ") for name in stage.estimator.names]
    return stage.name if is_own_name(stage.name) else stage.estimator


def of_entries(name: str, body: Json, columns: Columns) -> Any:
    """The scorer of tables by that name, from what its ``to_dict`` wrote."""
    if "members" in body:
        return blend_of(body, columns)
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


def kinds_of_stage(stage: FirstStage, columns: Columns) -> dict[int, ColumnKind]:
    """What the columns hold that a first stage looks at, by their number."""
    if stage.coef is not None:
        return dict.fromkeys(np.flatnonzero(stage.coef).tolist(), COMPLETE)
    table = of_tables(stage.estimator)
    if isinstance(table, Blend):
        each = [kinds_of_stage(member, columns) for member in table.members]
        found = {at: kind for own in each for at, kind in own.items()}
        return found | {at: COMPLETE for own in each for at, kind in own.items() if kind is COMPLETE}
    if table is None or table.rules_ is None:
        return dict.fromkeys(range(len(columns.inputs)), COMPLETE)
    return kinds_of_rules(table.rules_)


def kinds_of_rules(rules: Sequence[Rule]) -> dict[int, ColumnKind]:
    """What columns hold that are encoded by these rules."""
    levels = {rule.at: getattr(rule, "levels", ()) for rule in rules}
    texts = {at: [name_of(level) for level in own if not isinstance(level, float)] for at, own in levels.items()}
    return {at: ColumnKind(bool(own), known=frozenset(own)) for at, own in texts.items()}
