"""Damaged files: bytes, tokens, numbers, lines, JSON values and archives changed at random, by a seed."""

import copy
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

TOKEN = re.compile(rb"[A-Za-z_]+|[0-9]+|[^A-Za-z_0-9\s]|\s+")
NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
PLAIN = b"""0 -1 -0.0 1e999 -1e308 5e-324 nan inf -Infinity 1_000 0x10 1e9999999 True false null NA ?
    " ' , ; : # { } [ ] (
    qid: qid:1 1:1 0:1 99999999999:1 ENDATA MARKER RANGES ** =obj= 2147483648 18446744073709551616"""
SPECIAL = "\0 \u2028 \u0661\u0662 \u00b2 \u00e9 \U0001f600 \x1a \x0b \x0c \x85"
WORDS = [
    *PLAIN.split(),
    *(word.encode() for word in SPECIAL.split(" ")),
    *(b"", b"9" * 25, b"9" * 5000, b"x" * 300, b"\xff\xfe", b"\r", b"\r\n", b"\n", b"\t", b" "),
    *(b"# Columns -3", b"# Columns 1e18"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324, float("inf"), float("nan")),
    *("0", "x", "nan", "inf", "-inf", "0x1.8p+0", "0x1p+9999", "-0x0.0000000000001p-1022"),
    *("", "\ud800", "\0", "a" * 300),
    *([], [[]], [None], [1, "x"], [0] * 50, ["0x1.8p+0"] * 3),
    *({}, {"hex": "nan"}, {"hex": []}, {"hex": "0x1.8p+0"}, {"a": {"b": []}}),
]
ENCODINGS = ["utf-16", "utf-8-sig", "utf-32", "cp1252", "utf-7"]


def mutated(raw: bytes, rng: random.Random) -> bytes:
    """One to four changes of the text, or one of its structure if it has one that is known here."""
    if raw[:2] == b"PK" and rng.random() < 0.7:
        return _archive(raw, rng)
    if raw[:1] == b"{" and rng.random() < 0.7:
        return json_mutated(raw, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        raw = rng.choice(TEXT)(raw, rng)
    return raw


def json_mutated(raw: bytes, rng: random.Random, fix: Callable[[Any], Any] | None = None) -> bytes:
    """JSON with one to three values changed, removed or added; `fix` may make a digest fit."""
    try:
        body = json.loads(raw)
    except ValueError:
        return _bytes(raw, rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        body = _changed(body, rng)
    return json.dumps(body if fix is None else fix(body)).encode()


def compressed(raw: bytes, rng: random.Random) -> bytes:
    """A gzip file, sound in a half of the cases, else damaged in its bytes, cut, or with something behind it."""
    packed = gzip.compress(raw, mtime=0)
    kind = rng.randrange(8)
    if kind < 4:
        return packed
    if kind == 4:
        return packed + rng.choice((packed, b"\0" * 9, raw[:20], b"\x1f\x8b"))
    if kind == 5:
        return packed[: rng.randrange(len(packed))]
    return _bytes(packed, rng)


def _changed(body: Any, rng: random.Random) -> Any:
    body = copy.deepcopy(body)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        own = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in own:
            places.append((node, key))
            walk(value)

    walk(body)
    if not places or rng.random() < 0.02:
        return rng.choice(VALUES)
    node, key = rng.choice(places)
    what = rng.randrange(8)
    if what == 0:
        del node[key]
    elif what == 1:
        other, place = rng.choice(places)
        node[key] = copy.deepcopy(other[place])
    elif what == 2 and isinstance(node, dict):
        node[rng.choice(("more", "", "U", "x" * 50))] = rng.choice(VALUES)
    elif what == 3 and isinstance(node, list):
        node.insert(rng.randrange(len(node) + 1), copy.deepcopy(node[key]))
    elif what == 4 and isinstance(node[key], int | float):
        half = node[key] * 0.5 if abs(node[key]) < 2**900 else 0.5
        node[key] = rng.choice((-node[key], node[key] + 1, node[key] * 10**6, half))
    else:
        node[key] = copy.deepcopy(rng.choice(VALUES))
    return body


def _archive(raw: bytes, rng: random.Random) -> bytes:
    """A zip file with members changed, missing, added or stored otherwise."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, OSError):
        return _bytes(raw, rng)
    name = rng.choice(sorted(members))
    what = rng.randrange(6)
    if what == 0:
        del members[name]
    elif what == 1:
        members[rng.choice(("more.npy", "../x", "codes.npy ", ""))] = members[name]
    elif what == 2:
        members[name], members[rng.choice(sorted(members))] = (members[rng.choice(sorted(members))], members[name])
    elif members[name][:1] == b"{":
        members[name] = json_mutated(members[name], rng)
    elif what == 3:
        # The header of an array, a text of Python.
        members[name] = _tokens(members[name][:128], rng) + members[name][128:]
    else:
        members[name] = mutated(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, body in members.items():
            archive.writestr(zipfile.ZipInfo(member), body, rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)))
    return _bytes(out.getvalue(), rng) if rng.random() < 0.1 else out.getvalue()


def _bytes(raw: bytes, rng: random.Random) -> bytes:
    body = bytearray(raw or b"\0")
    for _ in range(rng.randint(1, 3)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body)


def _cut(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)] if rng.random() < 0.7 else raw[rng.randrange(len(raw) + 1) :]


def _slices(raw: bytes, rng: random.Random) -> bytes:
    """A part removed, repeated or moved."""
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in "ab")
    what = rng.randrange(3)
    if what == 0:
        return raw[:a] + raw[b:]
    part = raw[a : min(b, a + 2000)]
    if what == 1:
        return raw[:b] + part + raw[b:]
    return part + raw[:a] + raw[b:]


def _tokens(raw: bytes, rng: random.Random) -> bytes:
    """A word replaced by one that means something, here or elsewhere."""
    tokens = TOKEN.findall(raw)
    if not tokens:
        return rng.choice(WORDS)
    place = rng.randrange(len(tokens))
    tokens[place] = rng.choice(tokens) if rng.random() < 0.3 else rng.choice(WORDS)
    return b"".join(tokens)


def _numbers(raw: bytes, rng: random.Random) -> bytes:
    found = list(NUMBER.finditer(raw))
    if not found:
        return _tokens(raw, rng)
    one = rng.choice(found)
    return raw[: one.start()] + rng.choice(WORDS) + raw[one.end() :]


def _lines(raw: bytes, rng: random.Random) -> bytes:
    """Lines removed, repeated, swapped, joined or emptied."""
    lines = raw.splitlines(keepends=True) or [b""]
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        del lines[a]
    elif what == 1:
        lines.insert(b, lines[a])
    elif what == 2:
        lines[a], lines[b] = lines[b], lines[a]
    elif what == 3:
        lines[a] = lines[a].rstrip(b"\r\n")
    else:
        lines[a] = rng.choice((b"\n", b" \n", b"\r", b"# x\n"))
    return b"".join(lines)


def _nested(raw: bytes, rng: random.Random) -> bytes:
    deep = rng.choice((b"[", b'{"a":', b"(", b'"', b"<", b"-")) * rng.choice((5, 2000, 100_000))
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + deep + raw[place:]


def _encoded(raw: bytes, rng: random.Random) -> bytes:
    return raw.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")


TEXT = [_bytes, _cut, _slices, *3 * [_tokens], *3 * [_numbers], *2 * [_lines], _nested, _encoded]
