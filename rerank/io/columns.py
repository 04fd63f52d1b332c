"""Columns of a file by name: their roles, which are features, which look like a forgotten list id; their table."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.errors import InputError, similar
from rerank.io.bounded import MAX_TEXT
from rerank.io.labels import OR_ADD, SIGNS_NOTE, TwoLabels, grades_of_signs
from rerank.io.lines import Path, is_number, named
from rerank.io.table import Floats, Table, words

# Names that columns of list ids have, in small letters, without "_", "-", "." and blanks.
LIST_NAMES = frozenset(
    ["qid", "query", "queryid", "querynumber", "qnum", "qno", "listid", "groupid", "session", "sessionid"]
    + ["searchid", "srchid", "requestid", "impressionid", "topic", "topicid"]
)
# Names that pandas gives an index without one in files, and a column without one when it reads a file; those of R.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+(\.\d+)*|row[._]?names?|")
_MOST_COMPARED = 5_000


@dataclass(frozen=True)
class ColumnKind:
    """What the entries of a column of features are."""

    texts: bool  # texts, digits among them; else numbers
    gaps: bool = True  # whether an entry may be missing
    # Texts that stand as they are, also where others like them are missing values or lose blanks at an end.
    known: frozenset[str] = frozenset()


COMPLETE = ColumnKind(texts=False, gaps=False)
Kinds = Mapping[str, ColumnKind]
_MARKS = str.maketrans("", "", "_-. ")


def distinct(path: Path, names: Sequence[str]) -> None:
    """Refuse a name that stands over two columns, or is longer than a model file holds."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            places = f"columns {first[name] + 1} and {place + 1}"
            raise InputError(f"{path}: the name {named(name)} stands over {places}; give every column its own name.")
        if len(name) > MAX_TEXT:
            raise InputError(
                f"{path}: the name {named(name)} of column {place + 1} has {len(name)} characters; shorten it to at "
                f"most {MAX_TEXT}."
            )


def place_of(path: Path, places: Mapping[str, int], wanted: str) -> int:
    """The place of a column by its name."""
    if wanted in places:
        return places[wanted]
    names = list(places)
    lower = {name.lower(): name for name in names[:_MOST_COMPARED]}
    close = [lower[name] for name in similar(wanted.lower()[:100], lower)]
    advice = f"nearest: {some(close)}" if close else f"its columns are {some(names)}"
    raise InputError(f"{path} has no column {named(wanted)}; {advice}.")


@dataclass(frozen=True, eq=False)
class FileColumns:
    """The columns of a file that are read, by their places in it."""

    path: Path
    names: Sequence[str]  # of all columns
    roles: Mapping[str, int]  # columns of "label", "qid", "id", "weight", "groups" and "people", those there are
    features: list[int]
    left_out: list[int]  # columns that hold no numbers and have no role
    positive: str | None  # the label of the rows to find, where labels are words
    notes: list[str] = field(default_factory=list)  # what the user is told about columns

    def name(self, column: int | str) -> str:
        """The name of a column, or of that of a role, for a sentence."""
        return named(self.names[self.roles[column] if isinstance(column, str) else column])

    @property
    def worded(self) -> list[str]:
        """Roles whose columns hold words."""
        always = ("qid", "id", "groups", "people")
        return [role for role in self.roles if role in (always if self.positive is None else (*always, "label"))]

    def table(
        self,
        X: Any,
        texts: Mapping[str, list[str]],
        numbers: Mapping[str, Floats],
        where: Callable[[int], tuple[str, str]],
    ) -> Table:
        """The table of all rows, labels and weights not negative, and one row at least with the label to find.

        ``X`` is an array (n, features) or a Frame; ``texts`` and ``numbers`` are the values of the roles that are
        :attr:`worded` and of the others; ``where`` says for a row what stands before and behind the name of a column in
        a sentence about that row.
        """
        amounts = dict(numbers)
        if "label" in amounts and (grades := grades_of_signs(amounts["label"])) is not None:
            self.notes.extend([SIGNS_NOTE] if grades is not amounts["label"] else [])
            amounts["label"] = grades
        for role, values in amounts.items():
            if (bad := np.flatnonzero(values < 0)).size:
                before, behind = where(int(bad[0]))
                raise InputError(
                    f"{before}column {self.name(role)} holds {values[bad[0]]:g}{behind}, but a {role} is 0 or more; "
                    f"correct it{OR_ADD if role == 'label' else ''}."
                )
            amounts[role] = np.ascontiguousarray(values)
        labels = None
        for role, column in texts.items():
            if "" in column:
                before, behind = where(column.index(""))
                raise InputError(f"{before}column {self.name(role)} is empty{behind}; fill it in.")
        if "label" in texts:
            amounts["label"], labels = self._found(texts["label"])
        columns = {role: words(column) for role, column in texts.items()}
        read = {role: self.names[place] for role, place in self.roles.items()}
        return Table(
            X=X,
            y=amounts.get("label"),
            qid=columns.get("qid"),
            ids=columns.get("id"),
            feature_names=tuple(self.names[j] for j in self.features),
            sample_weight=amounts.get("weight"),
            notes=tuple(self.notes),
            groups=columns.get("groups"),
            people=columns.get("people"),
            labels=labels,
            header=tuple(self.names),
            read=read if self.positive is None else read | {"positive": self.positive},
        )

    def _found(self, seen: list[str]) -> tuple[Floats, TwoLabels | None]:
        """1 for the rows to find, and what the labels were where there are two words."""
        positive = str(self.positive)
        if positive not in seen:
            raise InputError(
                f"{self.path}: no row has {named(positive)} in column {self.name('label')}; it holds {some(seen)}."
            )
        others = list(set(seen) - {positive})
        two = len(others) == 1 and not all(map(is_number, (positive, *others)))
        y = np.array([word == positive for word in seen], dtype=np.float64)
        return y, TwoLabels(others[0], positive) if two else None


def choose_columns(
    path: Path,
    names: Sequence[str],
    roles: Mapping[str, str | None],
    features: Sequence[str] | None,
    positive: str | None,
    numeric: Callable[[int], bool],
    others: str,
    schema: Any = None,
) -> FileColumns:
    """Which columns have which role, and which are features: those named, or all free ones that are ``numeric``. A
    saved index is left out, which :func:`saved_index` finds, and a note says so. Refused are a name that no column has
    or that is given twice, a list id that was forgotten, and a table in which no feature is left.
    """
    places = {name: column for column, name in enumerate(names)}
    given = {role: place_of(path, places, name) for role, name in roles.items() if name is not None}
    if len(set(given.values())) < len(given):
        twice = ", ".join(f"{role}={named(names[column])}" for role, column in given.items())
        raise InputError(f"{path}: one column is given two roles ({twice}); name a column for each.")
    taken, left_out, index = set(given.values()), list[int](), list[int]()
    if features is not None:
        chosen = [place_of(path, places, name) for name in features]
        for column in chosen:
            if column in taken:
                raise InputError(f"{path}: the column {named(names[column])} is named twice; name each column once.")
            taken.add(column)
    else:
        free = [column for column in range(len(names)) if column not in taken]
        if "qid" not in given:
            # A column of numbers would become a feature, one of text would be left out, and all lists be one.
            for name in (names[column] for column in free):
                if name.lower().translate(_MARKS) in LIST_NAMES:
                    raise InputError(
                        f"{path}: the column {named(name)} is called like the id of a list, and no column was named as "
                        f"such; pass qid={named(name)} (--qid {named(name)}), or name the columns to use with features "
                        "(--features)."
                    )
        index = [column for column in saved_index(names, schema) if column not in taken]
        places_of_index = set(index)
        is_numeric = {column: numeric(column) for column in free if column not in places_of_index}
        chosen, left_out = ([column for column, fits in is_numeric.items() if fits is sort] for sort in (True, False))
    if not chosen:
        raise InputError(f"{path} has no numeric column left for features; its columns are {some(names)}.")
    notes = [index_note([names[column] for column in index])] if index else []
    if left_out:
        notes.append(f"Left out because they hold {others}: {some([names[column] for column in left_out])}.")
    return FileColumns(path, names, given, chosen, left_out, positive, notes)


def saved_index(names: Sequence[str], schema: Any = None) -> list[int]:
    """Places of the columns that are a saved index, by their names or by what pandas wrote into a schema of pyarrow.
    They number or name the rows, often in an order that knows the label, and so are no features.
    """
    raw = (getattr(schema, "metadata", None) or {}).get(b"pandas")
    try:
        stated = [] if raw is None else json.loads(raw)["index_columns"]
    except (ValueError, KeyError, TypeError, RecursionError):
        stated = []
    # An index of plain numbers is no column, and stands there as a dictionary.
    index = {name for name in stated if isinstance(name, str)} if isinstance(stated, list) else set()
    return [place for place, name in enumerate(names) if name in index or _INDEX.fullmatch(name)]


def label_column(names: Sequence[str]) -> str | None:
    """The name of the one column of a file that is a saved index, and so names the rows."""
    found = [names[place] for place in saved_index(names)]
    return found[0] if len(found) == 1 else None


def index_note(names: Sequence[str]) -> str:
    """The sentence on columns that were left out as a saved index."""
    single = len(names) == 1
    which, verb, it = ("The column", "is", "it") if single else ("The columns", "are", "them")
    return (
        f"{which} {some(names)} {verb} left out as a saved index, which is no feature; to have {it}, name all columns "
        "to use with features (--features)."
    )


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few distinct names, for a sentence."""
    different = list(dict.fromkeys(names))
    return ", ".join(named(name) for name in different[:most]) + (" ..." if len(different) > most else "")
