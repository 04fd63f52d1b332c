"""A problem as plain JSON with every double in hexadecimal, so that a solution is verified without data; its digest."""

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.bounded import Json
from rerank.io.margin import Margin
from rerank.problem.lists import MOST_HITS, Floats, RankedList
from rerank.problem.problem import Problem
from rerank.problem.quotas import Quota
from rerank.problem.rows import WeightRow, encoded

MOST_ENTRIES = 20_000_000  # entries of a table that is read; a larger one is refused before any memory is taken


def problem_to_json(problem: Problem) -> Json:
    """Plain values from which :func:`problem_from_json` builds the same problem, bit for bit."""
    return {
        "rows": problem.X.shape[0],
        "columns": problem.X.shape[1],
        "X": _hex(problem.X.ravel()),
        "lists": [
            {
                "rows": item.rows.tolist(),
                "gains": _hex(item.gains),
                "coefficients": _hex(item.coefficients),
                "weight": item.weight.hex(),
                "constant": item.constant.hex(),
                "scale": item.scale.hex(),
            }
            | ({} if item.hits is None else {"hits": item.hits.tolist()})
            | ({"alone": True} if item.alone else {})
            for item in problem.lists
        ],
        "epsilon": problem.epsilon.text,
        "C": problem.C.hex(),
        "max_features": problem.max_features,
        "signs": problem.signs.tolist(),
        "low": _hex(problem.low),
        "high": _hex(problem.high),
        **({} if problem.limits is None else {"limits": [_hex(side) for side in problem.limits]}),
        **({} if not problem.rows else {"weight_rows": [row.to_json() for row in problem.rows]}),
        **({} if not problem.quotas else {"quotas": [vars(q) | {"rows": q.rows.tolist()} for q in problem.quotas]}),
        **({} if not problem.by_sum else {"by_sum": True}),
    }


def problem_from_json(body: Any, where: str) -> Problem:
    """The problem that :func:`problem_to_json` wrote; an InputError names the file, ``where``, for anything else."""
    try:
        n, d = int(body["rows"]), int(body["columns"])
        if not (n > 0 and d > 0 and n * d <= MOST_ENTRIES):
            raise ValueError(f"a table of {n} x {d} entries")
        X = _unhex(body["X"], n * d).reshape(n, d)
        lists = [_list(item, n) for item in body["lists"]]
        limit, limits = body["max_features"], body.get("limits")
        return Problem.build(
            X,
            lists,
            epsilon=Margin.from_text(body["epsilon"]),
            C=float.fromhex(body["C"]),
            max_features=None if limit is None else int(limit),
            signs=np.array(body["signs"], dtype=np.int8),
            low=_unhex(body["low"], d),
            high=_unhex(body["high"], d),
            limits=None if limits is None else (_unhex(limits[0], d), _unhex(limits[1], d)),
            quotas=[_quota(quota, n) for quota in body.get("quotas", ())],
            rows=[WeightRow.from_json(row, d) for row in body.get("weight_rows", [])],
            by_sum=bool(body.get("by_sum", False)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where} holds no problem that can be used ({str(error)[:100]}); export it again.") from None


def _list(body: Any, n: int) -> RankedList:
    rows = np.array(body["rows"], dtype=np.intp)
    if rows.ndim != 1 or not rows.size or not 0 <= rows.min() <= rows.max() < n or np.unique(rows).size != rows.size:
        raise ValueError("a list names rows that are not there, or one twice")
    gains = _unhex(body["gains"], rows.size)
    coefficients = _unhex(body["coefficients"], rows.size)
    weight, constant, scale = (float.fromhex(body[key]) for key in ("weight", "constant", "scale"))
    finite = np.isfinite([weight, constant, scale]).all()
    falling = np.any(np.diff(coefficients, prepend=0.0) < 0)
    if not finite or (gains < 0).any() or falling or weight <= 0 or scale <= 0:
        raise ValueError("a list has a negative gain, weight or scale, or coefficients that fall")
    hits = None if body.get("hits") is None else np.array([*map(int, body["hits"])], dtype=np.int64)
    if hits is not None and (hits.shape != rows.shape or hits[0] < 1 or hits.min() < 0 or hits.max() > MOST_HITS):
        raise ValueError("the weights of hits are no whole numbers from 0 on, the first above 0, one a row")
    alone = bool(body.get("alone", False))
    if alone and hits is not None:
        raise ValueError("a list has weights of hits, and rows that are alone")
    return RankedList(rows, gains, coefficients, weight, constant, scale, hits, alone)


def _quota(body: Any, n: int) -> Quota:
    rows = np.array(body["rows"], dtype=np.intp)
    numbers = [body[name] for name in ("first", "least", "most")]
    first, least, most = (None if number is None else int(number) for number in numbers)
    outside = rows.ndim != 1 or (rows.size and not 0 <= rows.min() <= rows.max() < n)
    if outside or first is None or min(first - 1, least or 0, most or 0) < 0:
        raise ValueError("a quota names rows that are not there, or a number below 0")
    return Quota(str(body["name"]), first, least, most).of(rows)


def _hex(values: Floats) -> list[str]:
    return [float(value).hex() for value in values]


def _unhex(texts: Any, count: int) -> Floats:
    if not isinstance(texts, list) or len(texts) != count:
        raise ValueError(f"{count} numbers were expected")
    values = np.array([float.fromhex(text) for text in texts])
    if not np.isfinite(values).all():
        raise ValueError("a number is not finite")
    return values


def digest(problem: Problem) -> str:
    """SHA-256 of data, lists, margin, penalty and limits, in little-endian doubles and 64-bit integers."""
    sha = hashlib.sha256(b"rerank problem 1")
    for part in _parts(problem):
        # Adding zero makes the two zeros one, so that equal data have equal digests.
        kept = (part + 0).astype("<f8" if part.dtype.kind == "f" else "<i8", copy=False)
        sha.update(np.ascontiguousarray(kept).data)
    return sha.hexdigest()


def _words(lists: Sequence[RankedList]) -> NDArray[np.int64]:
    """Lists one after the other in words of 64 bits: number of rows, rows, gains, coefficients, three numbers, hits."""
    sizes = np.array([item.rows.size for item in lists])
    hits = np.array([0 if item.hits is None else item.hits.size + 1 for item in lists])
    alone = np.array([int(item.alone) for item in lists])
    ends = np.cumsum(3 * sizes + 4 + hits + alone)
    begins, found = ends - (3 * sizes + 4 + hits + alone), np.empty(ends[-1], np.int64)
    found[begins] = sizes
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes - begins, sizes) + 1
    for part, each in enumerate(zip(*((item.rows, item.gains, item.coefficients) for item in lists))):
        values = np.concatenate(each)
        found[inside + np.repeat(part * sizes, sizes)] = values if part == 0 else (values + 0.0).view(np.int64)
    numbers = np.array([(item.weight, item.constant, item.scale) for item in lists], dtype=np.float64)
    found[(begins + 1 + 3 * sizes)[:, None] + np.arange(3)] = (numbers + 0.0).view(np.int64)
    for item, end, size in zip(lists, (ends - alone).tolist(), hits.tolist()):
        if item.hits is not None:  # no number of rows is negative, so these are not taken for another list
            found[end - size : end] = [-1, *item.hits]
    found[ends[alone > 0] - 1] = -4
    return found


def _parts(problem: Problem) -> Iterator[NDArray[Any]]:
    limit = -1 if problem.max_features is None else problem.max_features
    yield np.array([*problem.X.shape, len(problem.lists), limit, *problem.signs.tolist()], dtype=np.int64)
    yield np.array([problem.epsilon, problem.C])
    if Fraction(float(problem.epsilon)) != problem.epsilon.exact:  # files of doubles keep their digest
        yield np.frombuffer(problem.epsilon.text.encode(), np.uint8).astype(np.int64)
    yield from (problem.X, problem.low, problem.high)
    yield _words(problem.lists)
    if problem.limits is not None:
        yield from problem.limits
    if problem.rows:
        yield encoded(problem.rows)
    if problem.by_sum:
        yield np.array([-2])
    for quota in problem.quotas:
        sides = (-1 if side is None else side for side in (quota.least, quota.most))
        yield np.array([-3, quota.first, *sides, quota.rows.size, *quota.rows], dtype=np.int64)
