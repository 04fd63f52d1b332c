"""How rules on weights, orders and cards are written, the same for all: signs, numbers, names in quotes, quotas."""

import re
from typing import Any, NamedTuple

LESS, MORE = ("<=", "=<", "≤"), (">=", "=>", "≥")
ORDER = "|".join((*LESS, *MORE))
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
QUOTED = r"`(?P<quoted>[^`]+)`|\"(?P<double>[^\"]+)\""  # a name with spaces or signs
MOST = 2**40  # largest number of a quota

_QUOTA = re.compile(r"(?:at (?P<side>least|most) )?(?P<count>\d+) of (?P<name>.+) among the first (?P<first>\d+)$")


class WrittenQuota(NamedTuple):
    """At least, or at most, so many rows of a kind among the first; the other side is None."""

    name: str
    first: int
    least: int | None
    most: int | None


def quota_in(text: Any) -> WrittenQuota | None:
    """The quota of ``"at least 20 of A among the first 200"``, where "at least" may be left out; None if it is none."""
    match = _QUOTA.match(" ".join(str(text).split()))
    if match is None or not 1 <= int(match["first"]) <= MOST or int(match["count"]) > MOST:
        return None
    count, most = int(match["count"]), match["side"] == "most"
    return WrittenQuota(match["name"], int(match["first"]), None if most else count, count if most else None)
