"""Programs as portable ``.mps`` files with a JSON sidecar, and back; solution files of the common solvers.

The file minimises the negated cost. It has no OBJSENSE section, no objective constant and no RANGES, marks
integer columns by INTORG and INTEND, states every bound that a reader could guess wrong, and writes each
number with the digits that give the same double back: whatever readers of the format disagree on is left out.
Sense, constant, names and the caller's own data stand in ``<stem>.json``.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import FileFormatError, FormulationError, shortened
from formulations.files import file_bytes, parsed_json, replace_all
from formulations.mps_parser import parse
from formulations.program import COST, HUGE, Program, fresh_names, portable
from formulations.solutions import read_solution

__all__ = ["read", "read_sidecar", "read_solution", "sidecar_path", "write"]

FORMAT = "exact-rerank program"
SCHEMA = 1
LARGEST_SIDECAR = 2**28  # bytes; larger sidecars are refused before they are read
MOST_CONSTANT = 1e300


def write(program: Program, path: str | PathLike[str], data: Mapping[str, Any] | None = None) -> tuple[Path, Path]:
    """Write ``path`` and its sidecar; the same program and data always give the same bytes.

    Parameters
    ----------
    program : Program
    path : path
        Ends in ``.mps``; both files are replaced if they exist, and neither is touched on an error.
    data : mapping, optional
        Anything JSON can hold; it stands in the sidecar as it is.

    Returns
    -------
    Path, Path
        The ``.mps`` file and the ``.json`` file.

    Raises
    ------
    FormulationError
        For a program that no file can hold (entries that are not finite, crossed bounds, a row without a
        side), or for data that JSON cannot hold.
    """
    both = contents(program, path, data)
    replace_all(both)
    return both[0][0], both[1][0]


def contents(
    program: Program, path: str | PathLike[str], data: Mapping[str, Any] | None = None
) -> list[tuple[Path, bytes]]:
    """The two files that :func:`write` writes, each with its content; nothing is written."""
    target = Path(path)
    beside = sidecar_path(target)
    _check(program)
    columns = portable(program.columns, "x")
    rows = portable(program.rows, "r")
    low, high = program.row_lower, program.row_upper
    ranged = np.isfinite(low) & np.isfinite(high) & (low < high)
    split = fresh_names(int(ranged.sum()), "s", set(rows))
    text = "\n".join(_lines(program, columns, rows, ranged, split)) + "\n"
    content = text.encode("ascii")
    card = {
        "format": FORMAT,
        "schema": SCHEMA,
        "name": program.name,
        "sense": "min" if program.minimises else "max",
        # The files' word for the constant.
        "offset": program.own(program.constant),
        "sha256": hashlib.sha256(content).hexdigest(),
        "weights": [columns[j] for j in program.weights],
        "split_rows": {rows[i]: name for i, name in zip(np.flatnonzero(ranged), split, strict=True)},
        "renamed_columns": {new: old for new, old in zip(columns, program.columns, strict=True) if new != old},
        "renamed_rows": {new: old for new, old in zip(rows, program.rows, strict=True) if new != old},
        "data": data,
    }
    try:
        side = json.dumps(card, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=True) + "\n"
    except (TypeError, ValueError) as error:
        raise FormulationError(f"The data for the sidecar cannot be written as JSON: {error}") from error
    return [(target, content), (beside, side.encode("ascii"))]


def _lines(
    program: Program, columns: Sequence[str], rows: Sequence[str], ranged: NDArray[np.bool_], split: Sequence[str]
) -> Iterator[str]:
    """Lines of the file: ``split`` names the second rows that carry the lower sides of the ``ranged`` ones."""
    yield f"NAME {portable([program.name], 'p')[0]} FREE"
    yield "ROWS"
    yield f" N {COST}"
    low, high = program.row_lower, program.row_upper
    kinds = np.where(low == high, "E", np.where(np.isfinite(high), "L", "G"))
    yield from (f" {kind} {row}" for kind, row in zip(kinds, rows, strict=True))
    yield from (f" G {row}" for row in split)
    yield "COLUMNS"
    yield from _entries(program, columns, [*rows, *split], ranged)
    yield "RHS"
    sides = np.where(np.isfinite(high), high, low)
    yield from (f" RHS {row} {float(side)!r}" for row, side in zip(rows, sides, strict=True) if side)
    yield from (f" RHS {row} {float(side)!r}" for row, side in zip(split, low[ranged], strict=True) if side)
    yield "BOUNDS"
    for name, lower, upper, whole in zip(columns, program.lower, program.upper, program.integer, strict=True):
        yield from _bounds(name, float(lower), float(upper), bool(whole))
    yield "ENDATA"


def _entries(program: Program, columns: Sequence[str], rows: Sequence[str], ranged: NDArray[np.bool_]) -> Iterator[str]:
    matrix = sparse.csc_array(sparse.vstack([program.matrix, program.matrix[np.flatnonzero(ranged)]]))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    starts, indices, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    cost = (-program.cost).tolist()
    marked, count = False, 0
    for j, (name, whole) in enumerate(zip(columns, program.integer.tolist(), strict=True)):
        if whole != marked:
            yield f" M{count} 'MARKER' '{'INTORG' if whole else 'INTEND'}'"
            marked, count = whole, count + 1
        first, last = starts[j], starts[j + 1]
        # A column without any entry must be named all the same.
        if cost[j] or first == last:
            yield f" {name} {COST} {cost[j] + 0.0!r}"
        yield from (f" {name} {rows[indices[k]]} {values[k]!r}" for k in range(first, last))
    if marked:
        yield f" M{count} 'MARKER' 'INTEND'"


def _bounds(name: str, lower: float, upper: float, whole: bool) -> Iterator[str]:
    if lower == upper:
        yield f" FX BND {name} {lower + 0.0!r}"
    elif np.isinf(lower) and np.isinf(upper):
        yield f" FR BND {name}"
    else:
        # Some readers end an integer column at 1 unless told otherwise; PuLP 3 resets the lower bound at PL.
        if whole and np.isinf(upper):
            yield f" PL BND {name}"
        if np.isinf(lower):
            yield f" MI BND {name}"
        elif lower or whole or upper <= 0:
            yield f" LO BND {name} {lower + 0.0!r}"
        if np.isfinite(upper):
            yield f" UP BND {name} {upper + 0.0!r}"


def _check(program: Program) -> None:
    """Raise FormulationError for a program that no file can hold or that solvers would read differently."""
    figures = (program.cost, program.matrix.data, program.constant)
    if not all(np.isfinite(part).all() for part in figures):
        raise FormulationError("A cost, a coefficient or the constant is not finite; no solver can read the program.")
    _check_side("row", program.rows, program.row_lower, program.row_upper)
    _check_side("column", program.columns, program.lower, program.upper)
    free = np.flatnonzero(np.isinf(program.row_lower) & np.isinf(program.row_upper))
    if free.size:
        raise FormulationError(f"The row {program.rows[free[0]]!r} has no side; drop it.")


def _check_side(what: str, names: Sequence[str], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    if len(set(names)) != len(names):
        raise FormulationError(f"Two {what}s have the same name; names must be unique.")
    for i in map(int, np.flatnonzero(~(lower <= upper) | (lower == np.inf) | (upper == -np.inf))):
        raise FormulationError(f"Nothing satisfies the bounds {lower[i]} and {upper[i]} of the {what} {names[i]!r}.")
    for side in (lower, upper):
        for i in map(int, np.flatnonzero(np.isfinite(side) & (np.abs(side) >= HUGE))):
            raise FormulationError(
                f"The {what} {names[i]!r} has the bound {side[i]}; {HUGE:.0e} is infinity to solvers: rescale."
            )


def read(path: str | PathLike[str], *, sidecar: bool | None = None) -> Program:
    """The program of a file written by :func:`write`, bit by bit, or of any linear ``.mps`` file.

    Parameters
    ----------
    path : path
    sidecar : bool, optional
        True demands the ``.json`` beside it, False ignores it; by default it is used if it is there. Without
        it the constant is what the file says (0 in our own), ``weights`` is empty and split rows stay split.

    Raises
    ------
    FileFormatError
        With the number of the line, for a file that is malformed, that readers of the format would understand
        differently, or that does not belong to its sidecar.
    """
    target = Path(path)
    content = file_bytes(target)
    program = parse(content, target.name)
    if sidecar is False or (sidecar is None and not sidecar_path(target).exists()):
        return program
    card = read_sidecar(target)
    if card["sha256"] != hashlib.sha256(content).hexdigest():
        raise FileFormatError(
            f"{target.name} is not the file that {sidecar_path(target).name} was written with; "
            "export both again, or read the file alone with sidecar=False."
        )
    return _restored(program, card)


def sidecar_path(path: str | PathLike[str]) -> Path:
    """``model.json`` for ``model.mps``."""
    target = Path(path)
    if target.suffix.lower() == ".json":
        raise FormulationError(f"{target} would be its own sidecar; give the model file a name that ends in .mps.")
    return target.with_suffix(".json")


def read_sidecar(path: str | PathLike[str]) -> dict[str, Any]:
    """The sidecar of a model file, checked key by key."""
    beside = sidecar_path(path)
    card = parsed_json(file_bytes(beside, LARGEST_SIDECAR), beside.name)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise FileFormatError(f"{beside.name} is not the sidecar of a program; read the .mps with sidecar=False.")
    if type(card.get("schema")) is not int or card["schema"] != SCHEMA:
        raise FileFormatError(f"{beside.name} has schema {str(card.get('schema'))[:40]}; this version reads {SCHEMA}.")
    texts, maps = ("name", "sense", "sha256"), ("split_rows", "renamed_columns", "renamed_rows")
    kinds: dict[str, Any] = {**dict.fromkeys(texts, str), "offset": (int, float), "weights": list}
    for key, kind in (kinds | dict.fromkeys(maps, dict)).items():
        if not isinstance(card.get(key), kind) or isinstance(card[key], bool):
            raise FileFormatError(f"{beside.name} has no valid entry {key!r}; export the model again.")
    if card["sense"] not in ("max", "min") or not -MOST_CONSTANT < card["offset"] < MOST_CONSTANT:
        raise FileFormatError(
            f"{beside.name} must say sense 'max' or 'min' and a finite offset; export the model again."
        )
    return card


def _renamed(names: Mapping[str, Any], known: Mapping[str, int]) -> dict[str, str]:
    """The old names by the new ones: texts, each once, of what the file has."""
    for name, old in names.items():
        if name not in known or not isinstance(old, str):
            raise KeyError(name)
    merged = [names.get(name, name) for name in known]
    if len(set(merged)) < len(merged):
        raise KeyError("two columns or rows of one name")
    return dict(names)


def _restored(program: Program, card: Mapping[str, Any]) -> Program:
    """The program as it was before :func:`write` negated, split and renamed."""
    row = {name: i for i, name in enumerate(program.rows)}
    column = {name: j for j, name in enumerate(program.columns)}
    low = program.row_lower.copy()
    kept = np.ones(len(row), dtype=bool)
    try:
        for name, other in card["split_rows"].items():
            low[row[name]] = program.row_lower[row[other]]
            kept[row[other]] = False
        weights = np.array([column[name] for name in card["weights"]], dtype=np.intp)
        old_column = _renamed(card["renamed_columns"], column)
        old_row = _renamed(card["renamed_rows"], row)
    except (KeyError, TypeError) as error:
        raise FileFormatError(
            f"The sidecar names {shortened(str(error))}, which the model file does not have; export both again."
        ) from error
    return replace(
        program,
        name=card["name"],
        constant=-float(card["offset"]) + 0.0 if card["sense"] == "min" else float(card["offset"]),
        minimises=card["sense"] == "min",
        matrix=sparse.csr_array(program.matrix[np.flatnonzero(kept)]),
        row_lower=low[kept],
        row_upper=program.row_upper[kept],
        columns=tuple(str(old_column.get(name, name)) for name in program.columns),
        rows=tuple(str(old_row.get(name, name)) for name, stays in zip(program.rows, kept, strict=True) if stays),
        weights=weights,
    )
