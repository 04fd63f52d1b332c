"""Columns of any table as numbers: gaps filled and marked, a column for each frequent text, all on one scale.

What is learned from the training rows is plain numbers and texts, so that it is stored without pickle.
"""

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from rerank.errors import InputError
from rerank.io.frames import Floats, are_dates, column, entries, numbers
from rerank.io.levels import Level, Places, counted, name_of

# A text gets a column of its own if it stands in so many rows and in that share of them; at most so many texts of a
# column do, each of at most so many characters.
LEAST_ROWS, LEAST_SHARE, MOST_LEVELS, LONGEST = 10, 0.005, 50, 1000
NEARLY_ALL = 0.9  # a column of which so many of the rows have a text of their own is a name or an id

DATE, OWN, CONSTANT, EMPTY = "a date", "nearly a text for each row", "constant", "no value"
NOT_ASKED = "not asked for"
RARE, OTHER_KIND = f"no text in {LEAST_ROWS} rows", "neither numbers nor text"
REASONS = (DATE, OWN, CONSTANT, EMPTY, RARE, OTHER_KIND, NOT_ASKED)  # why a column is left out

_CONTAINERS = (list, tuple, dict, set, np.ndarray)
_DATES = (datetime.date, datetime.time, datetime.timedelta)


class Numbers(NamedTuple):
    """A column of numbers: what fills a gap, and whether gaps are marked in a column of their own."""

    at: int
    fill: float
    gaps: bool

    def names(self, name: str) -> list[str]:
        """Names of the encoded columns."""
        return [name] + [f"{name} is missing"] * self.gaps


class TextLevels(NamedTuple):
    """A column of texts, or a category of numbers: the levels with a column of their own; whether others, and gaps,
    have one.
    """

    at: int
    levels: list[Level]
    others: bool
    gaps: bool

    def names(self, name: str) -> list[str]:
        """Names of the encoded columns."""
        each = [f"{name} = {name_of(level)}" for level in self.levels]
        return each + [f"{name} is another text"] * self.others + [f"{name} is missing"] * self.gaps


Rule = Numbers | TextLevels


def learned(
    X: Any, weight: Floats | None, names: Sequence[str], columns: Sequence[int] | None = None
) -> tuple[list[Rule], dict[int, str]]:
    """How each column of a table (n, d) is encoded, or each of ``columns``, and why the others are left out; ``names``
    are for messages. The median that fills gaps is weighted by ``weight`` (n,); a text is counted by rows.
    """
    rules: list[Rule] = []
    left_out: dict[int, str] = {}
    asked = range(X.shape[1]) if columns is None else frozenset(map(int, columns))
    for j in range(X.shape[1]):
        if j not in asked:
            left_out[j] = NOT_ASKED
            continue
        values = _numbers(X, j, names[j])
        found = _of_texts(j, entries(column(X, j))) if values is None else _of_numbers(j, values, weight)
        if isinstance(found, str):
            left_out[j] = found
        else:
            rules.append(found)
    return rules, left_out


def _numbers(X: Any, j: int, name: str) -> Floats | None:
    values = numbers(column(X, j))
    if values is not None and np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(f"X holds inf in row {row}, column {j} ({name!r}); give a finite number, or leave it empty.")
    return values


def _of_numbers(j: int, values: Floats, weight: Floats | None) -> Rule | str:
    missing = np.isnan(values)
    seen = values[~missing]
    if not seen.size:
        return EMPTY
    if seen.min() == seen.max() and not missing.any():
        return CONSTANT
    return Numbers(j, _median(seen, None if weight is None else weight[~missing]), bool(missing.any()))


def _median(values: Floats, weight: Floats | None) -> float:
    """The median of rows that count ``weight`` times."""
    if weight is None:
        with np.errstate(over="ignore", invalid="ignore"):
            found = float(np.median(values))
        return found if np.isfinite(found) else 2 * float(np.median(values / 2))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    ends = [values[order[np.searchsorted(reached, half, side)]] for side in ("left", "right")]
    return float(ends[0] / 2 + ends[1] / 2)


def _of_texts(j: int, found: list[Any]) -> Rule | str:
    seen = [entry for entry in found if entry is not None]
    if not seen:
        return EMPTY
    if any(issubclass(kind, _DATES) for kind in _types(seen)):
        return DATE
    if any(map(_is_container, _types(seen))):
        return OTHER_KIND
    counts = counted((entry, 1.0) for entry in seen)
    gaps = len(seen) < len(found)
    if len(counts) == 1 and not gaps:
        return DATE if are_dates(counts) else CONSTANT
    if len(counts) > NEARLY_ALL * len(seen) and len(seen) > LEAST_ROWS:
        return DATE if are_dates(counts) else OWN
    least = max(LEAST_ROWS, LEAST_SHARE * len(found))
    frequent = [level for level, count in counts.items() if count >= least and len(name_of(level)) <= LONGEST]
    if not frequent:
        return DATE if are_dates(counts) else RARE
    kept = sorted(sorted(frequent, key=lambda level: (-counts[level], name_of(level)))[:MOST_LEVELS], key=name_of)
    return TextLevels(j, kept, len(kept) < len(counts), gaps)


def coded(X: Any, rules: Sequence[Rule], names: Sequence[str]) -> Iterator[tuple[Floats, Any]]:
    """For each rule encoded rows (m, width), and which of them each row of the table has; None for one after another.

    A gap is filled with the median. A text that has no column of its own counts as another text, and as none of the
    texts seen if there were no others. A gap of texts is none of them. In a column of objects numbers and texts may
    stand side by side, and some rows may hold only one of the two: a text among numbers is a gap.
    """
    for rule in rules:
        values, name = _numbers(X, rule.at, names[rule.at]), names[rule.at]
        mixed = getattr(getattr(column(X, rule.at), "dtype", None), "kind", "") == "O"
        if isinstance(rule, Numbers):
            if values is None:
                values = _among_others(entries(column(X, rule.at)), mixed)
            if values is None:
                raise InputError(f"Column {name!r} held numbers at the fit and does not now; give numbers.")
            missing = np.isnan(values)
            block = np.where(missing, rule.fill, values)[:, None]
            yield (np.column_stack([block, missing]) if rule.gaps else block), None
            continue
        places = Places(rule.levels)
        if values is not None and not mixed and not places.numeric and not np.isnan(values).all():
            raise InputError(f"Column {name!r} held texts at the fit and holds numbers now; give texts.")
        found = entries(column(X, rule.at))
        if wrong := _no_texts(found):
            raise InputError(
                f"Column {name!r} held texts at the fit and holds values of the type {wrong[0]} now; give texts."
            )
        width = len(rule.names(name))
        other, gap = len(rule.levels) if rule.others else width, width - 1 if rule.gaps else width
        which = (gap if entry is None else places[entry] for entry in found)
        codes = [other if place is None else place for place in which]
        # The last row is that of a text that has no column.
        yield np.eye(width + 1, width), np.array(codes, dtype=np.intp)


def encoded(X: Any, rules: Sequence[Rule], names: Sequence[str]) -> Floats:
    """The encoded columns (n, m) of a table; see :func:`coded`."""
    return np.hstack([block if codes is None else block[codes] for block, codes in coded(X, rules, names)])


def unseen(X: Any, rules: Sequence[Rule], names: Sequence[str]) -> list[str]:
    """A sentence for each column with texts that no row of the fit had, as far as the rules tell."""
    told = []
    for rule in rules:
        if isinstance(rule, TextLevels) and not rule.others:
            found = [entry for entry in entries(column(X, rule.at)) if entry is not None]
            places = Places(rule.levels)
            if not _no_texts(found) and (new := [str(entry) for entry in found if places[entry] is None]):
                first = list(dict.fromkeys(new))
                shown = ", ".join(repr(text[:40]) for text in first[:3]) + (", ..." if len(first) > 3 else "")
                rows = "1 row holds a text" if len(new) == 1 else f"{len(new):,} rows hold texts"
                told.append(
                    f"Column {names[rule.at]!r}: {rows} that no row of the fit had ({shown}), ranked as having none of "
                    "its known texts; correct what is misspelt, or fit again with such rows."
                )
    return told


def _among_others(found: list[Any], mixed: bool) -> Floats | None:
    """A column of objects as numbers, texts among them as gaps; None if it holds values and no number."""
    kinds = {kind for kind in _types(found) if issubclass(kind, Real | Decimal) and mixed}
    if _types(found) and not kinds:
        return None  # a column without values has no type
    values = np.array([float(entry) if type(entry) in kinds else np.nan for entry in found])
    return None if np.isinf(values).any() else values


def _no_texts(found: list[Any]) -> list[str]:
    """Types among the values of a column that are never taken as texts."""
    return sorted(kind.__name__ for kind in _types(found) if issubclass(kind, _DATES) or _is_container(kind))


def _types(found: list[Any]) -> set[type]:
    return set(map(type, found)) - {type(None)}


def _is_container(kind: type) -> bool:
    return issubclass(kind, _CONTAINERS) or hasattr(kind, "to_list")


def learned_in_words(rules: Sequence[Rule], left_out: dict[int, str], names: Sequence[str], who: str) -> str:
    """A sentence: which columns ``who`` learned from, and which not and why."""
    counts = [sum(isinstance(rule, kind) for rule in rules) for kind in (Numbers, TextLevels)]
    kinds = [(count, word) for count, word in zip(counts, ("numbers", "text")) if count]
    whole = f"{len(rules)} column{'s' * (len(rules) != 1)}"
    parts = f" of {kinds[0][1]}" if len(kinds) == 1 else ": " + ", ".join(f"{count} of {word}" for count, word in kinds)
    left = [f"{names[j]} ({why})" for j, why in left_out.items() if why != NOT_ASKED]
    more = f", and {len(left) - 10} more" if len(left) > 10 else ""
    tail = f"; left out: {', '.join(left[:10])}{more}" if left else ""
    cure = " Give dates as numbers, such as days since the first of them." if DATE in left_out.values() else ""
    return f"{who} learned from {whole}{parts}{tail}.{cure}"
