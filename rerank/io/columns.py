"""Columns by name: which one is meant, which are features, and which look like a list id that was forgotten."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from rerank.errors import InputError, similar
from rerank.io.lines import Path, named

LIST_NAMES = frozenset({
    "qid", "query", "queryid", "querynumber", "qnum", "qno", "listid", "groupid", "session", "sessionid",
    "searchid", "srchid", "requestid", "impressionid", "topic", "topicid",
})  # fmt: skip
"""Names that columns of list ids have, in small letters, without ``_``, ``-``, ``.`` and blanks."""

_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+(\.\d+)*|")
"""Names that pandas gives an index without one in files, and a column without one when it reads a file."""

_MOST_COMPARED = 5_000
_MARKS = str.maketrans("", "", "_-. ")


def distinct(path: Path, names: Sequence[str]) -> None:
    """Refuse a name that stands over two columns."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            places = f"columns {first[name] + 1} and {place + 1}"
            raise InputError(
                f"{path}: the name {named(name)} stands over {places}; give every column its own name."
            )


def find(path: Path, names: Sequence[str], wanted: str) -> int:
    """Return the place of the column called `wanted`, or offer the nearest names."""
    return _found(path, {name: place for place, name in enumerate(names)}, wanted)


def _found(path: Path, places: dict[str, int], wanted: str) -> int:
    if wanted in places:
        return places[wanted]
    names = list(places)
    lower = {name.lower(): name for name in names[:_MOST_COMPARED]}
    close = [lower[name] for name in similar(wanted.lower()[:100], lower)]
    advice = f"nearest: {some(close)}" if close else f"its columns are {some(names)}"
    raise InputError(f"{path} has no column {named(wanted)}; {advice}.")


def roles_of(path: Path, names: Sequence[str], roles: dict[str, str | None]) -> dict[str, int]:
    """The column of each role that is given, no column in two roles."""
    place = {role: find(path, names, name) for role, name in roles.items() if name is not None}
    if len(set(place.values())) < len(place):
        given = ", ".join(f"{role}={named(names[column])}" for role, column in place.items())
        raise InputError(f"{path}: one column is given two roles ({given}); name a column for each.")
    return place


def named_features(
    path: Path, names: Sequence[str], features: Sequence[str], place: dict[str, int]
) -> list[int]:
    """The columns that are named as features, none of them named twice."""
    places = {name: column for column, name in enumerate(names)}
    chosen = [_found(path, places, name) for name in features]
    taken = set(place.values())
    for column in chosen:
        if column in taken:
            raise InputError(
                f"{path}: the column {named(names[column])} is named twice; name each column once."
            )
        taken.add(column)
    return chosen


def refuse_forgotten_list(
    path: Path, names: Sequence[str], free: Sequence[int], place: dict[str, int]
) -> None:
    """Refuse a table whose lists would be merged: no column is the list id, and one is called like it.

    A column of numbers would become a feature, and one of text would be left out.
    """
    if "qid" in place:
        return
    for column in free:
        name = names[column]
        if name.lower().translate(_MARKS) in LIST_NAMES:
            raise InputError(
                f"{path}: the column {named(name)} is called like the id of a list, and no column was named as such; "
                f"pass qid={named(name)} (--qid {named(name)}), or name the columns to use with features (--features)."
            )


def saved_index(names: Sequence[str], schema: Any = None) -> list[int]:
    """Places of the columns that are a saved index, by their names or by what pandas wrote into a schema of pyarrow.

    They number or name the rows, often in an order that knows the label, and so are no features.
    """
    told = _told(schema)
    return [place for place, name in enumerate(names) if name in told or _INDEX.fullmatch(name)]


def _told(schema: Any) -> Collection[str]:
    """Names of the index columns in the metadata of pandas; an index of plain numbers is no column."""
    raw = (getattr(schema, "metadata", None) or {}).get(b"pandas")
    try:
        found = [] if raw is None else json.loads(raw)["index_columns"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else ()


def index_note(names: Sequence[str]) -> str:
    """The sentence on columns that were left out as a saved index."""
    which, it = ("The column", "it") if len(names) == 1 else ("The columns", "them")
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{which} {some(names)} {verb} left out as a saved index, which is no feature; to have {it}, name all columns "
        "to use with features (--features)."
    )


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few distinct names, for a sentence."""
    different = list(dict.fromkeys(names))
    return ", ".join(named(name) for name in different[:most]) + (" ..." if len(different) > most else "")
