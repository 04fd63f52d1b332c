"""Grades of relevant documents that are no rows of a table, as a file beside it.

Beside ``lists.csv`` stands ``lists.csv.ideal.json``, one JSON object::

    {"format": "exact-rerank ideal grades", "schema": 1, "grades": {"q7": [2, 1], "q9": [1]}}

``grades`` holds, for each list, the grades of the relevant documents that nothing retrieved. They count in the ideal
of the list. A list whose relevant documents were all missed stands here without rows in the table.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.io.bounded import Path, parsed_json, read_bytes
from rerank.io.table import Table

FORMAT = "exact-rerank ideal grades"
SCHEMA = 1
MOST_BYTES = 2**26

Grades = Mapping[str, tuple[float, ...]]


def beside(path: Path) -> str:
    """The file that belongs to a table."""
    return os.fspath(path) + ".ideal.json"


def joined(path: Path, table: Table) -> Table:
    """The table with the grades of the file beside it, if there is one; grades belong to lists, which it must have."""
    grades = read(path)
    if not grades:
        return table
    if table.qid is None:
        raise InputError(
            f"{beside(path)} holds grades of lists, and {path} was read without lists; "
            "name the column of the list with qid (--qid)."
        )
    count = sum(len(each) for each in grades.values())
    note = f"{count} relevant documents of {beside(path)} are no rows; they count in the ideal list."
    return replace(table, ideal_gains=grades, notes=(*table.notes, note))


def read(path: Path) -> Grades | None:
    """The grades beside a table, by list id; None without such a file, InputError for a file of something else."""
    name = beside(path)
    if not os.path.lexists(name):
        return None
    raw = read_bytes(name, MOST_BYTES)
    try:
        body = parsed_json(raw)
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise ValueError(f'"format" is not {FORMAT!r}')
        if type(body.get("schema")) is not int or body["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        if body.keys() != {"format", "schema", "grades"} or not isinstance(body["grades"], dict):
            raise ValueError("it must have the entries format, schema and grades")
        return {list_id: _grades(list_id, each) for list_id, each in body["grades"].items()}
    except (ValueError, MemoryError) as error:
        raise InputError(
            f"{name} holds no grades that can be used ({str(error)[:120]}); remove it, or convert the runs again."
        ) from None


def _grades(list_id: str, values: Any) -> tuple[float, ...]:
    if not isinstance(values, list):
        raise ValueError(f"the list {list_id[:40]!r} has no list of grades")
    for value in values:
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not 0 < value <= 1e300 or not math.isfinite(value):
            raise ValueError(f"the list {list_id[:40]!r} has the grade {str(value)[:40]}")
    return tuple(float(value) for value in values)


def write(path: Path, grades: Grades | None) -> None:
    """Write the grades beside a table; without grades remove the file of an earlier table there, and no other file."""
    name, old = beside(path), read(path)
    if grades:
        plain = {
            str(list_id): [int(grade) if float(grade).is_integer() else float(grade) for grade in each]
            for list_id, each in grades.items()
        }
        with writing(name) as file:
            json.dump({"format": FORMAT, "schema": SCHEMA, "grades": plain}, file, indent=1)
            file.write("\n")
    elif old is not None:
        os.unlink(name)
