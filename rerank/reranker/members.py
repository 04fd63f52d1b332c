"""The members of a blend, and their scores as the columns that are reranked.

With ``features="members"`` the weights of a blend are searched for by the statistic itself: the columns of the problem
are the members' out-of-fold scores, of deviation 1 each, and their weights are from 0 on.
"""

from collections.abc import Sequence
from typing import Any

from rerank.errors import InputError
from rerank.reranker.first_stage import is_blend, name_of

MEMBERS = "members"
"""As ``features``, with a blend as first stage."""


def members_of(first_stage: Sequence[Any]) -> list[Any]:
    """The members of a blend, checked."""
    names = [member if isinstance(member, str) else name_of(member) for member in first_stage]
    twice = [name for name in names if names.count(name) > 1]
    if len(names) < 2 or twice or any(map(is_blend, first_stage)):
        found = f"{twice[0]!r} twice" if twice else "a blend" if len(names) > 1 else "one member"
        raise InputError(f"first_stage is a blend with {found}; give two or more different first stages.")
    return list(first_stage)


def called(names: Sequence[str]) -> list[str]:
    """Names of members as columns have them."""
    return [name.removeprefix("column ") for name in names]


def by_members(features: Any) -> bool:
    """Whether the scores of a blend's members are what is reranked."""
    return isinstance(features, str) and features == MEMBERS


def reranked(first_stage: Any, features: Any) -> Any:
    """The columns to rerank: of the table, or what stands for the members' scores."""
    if not by_members(features):
        return features
    if not is_blend(first_stage):
        raise InputError(
            f"features is {features!r}, the scores of a blend's members, and first_stage is {first_stage!r:.60}; give "
            f"a list of first stages, or features=[{features!r}] for a column of that name."
        )
    from rerank.reranker.unfitted import Unfitted

    return Unfitted(called([own if isinstance(own, str) else name_of(own) for own in members_of(first_stage)]))
