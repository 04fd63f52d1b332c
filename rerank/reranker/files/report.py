"""The report of a verification: its checks, the fields that no check covers, and the outcome in a sentence.

There are two kinds of fields that no check covers.  *Open* claims could be checked with further files: a bound with a
proof, nearly all claims with the table.  The others are *taken as given*: how the model was made, and options that
change nothing on these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rerank.reranker.files.model_file import ModelDocument

NESTED = ("result", "settings")
"""Fields whose entries are named one by one, such as ``result.value``."""
RECORDS = {
    "random_state", "versions", "result.formulation", "result.gave_up", "result.model_size", "result.nodes",
    "result.notes",
    "result.program_bound", "result.program_value", "result.seconds", "result.solver", "result.start_accepted",
    "result.start_value", "settings.formulation", "settings.id_column", "settings.label_column", "settings.n_jobs",
    "settings.named_features", "settings.node_limit", "settings.positive_label", "settings.presolve",
    "settings.qid_column", "settings.solver", "settings.time_limit", "settings.verbose", "settings.weight_column",
}  # fmt: skip
RECORD = "a record of how the model was made, which nobody can recompute"


@dataclass(frozen=True)
class Check:
    """One claim of the file: what it states, what was recomputed, and whether the two agree."""

    name: str
    stated: str
    recomputed: str
    holds: bool


@dataclass(frozen=True)
class Unchecked:
    """A field that no check covers: the reason, and whether it is an open claim or taken as given."""

    name: str
    why: str
    open: bool


@dataclass(frozen=True)
class Report:
    """The checks of a model, and the fields that no check covers.

    Attributes
    ----------
    checks : tuple of Check
    remarks : tuple of str
    not_looked_at : tuple of Unchecked
        Every field that could have another value without any check failing.
    """

    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    not_looked_at: tuple[Unchecked, ...]

    @property
    def holds(self) -> bool:
        """Whether every check agrees."""
        return all(check.holds for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check agrees and no claim is open."""
        return self.holds and not any(one.open for one in self.not_looked_at)

    @property
    def outcome(self) -> str:
        """The outcome in a sentence."""
        if not self.holds:
            return "The files contradict each other; do not use this model."
        return "Everything stated holds." if self.complete else "All that could be checked holds."

    @property
    def verdict(self) -> str:
        """The outcome, and every field that was not looked at by name."""
        sides = {"not looked at": True, "taken as given": False}
        lists = [
            f"{title}: {', '.join(one.name for one in self.not_looked_at if one.open is side)}"
            for title, side in sides.items()
            if any(one.open is side for one in self.not_looked_at)
        ]
        return "; ".join([self.outcome.rstrip("."), *lists]) + "."

    def reasons(self) -> dict[str, list[str]]:
        """The fields that were not looked at, by the reason why; open claims first."""
        found: dict[str, list[str]] = {}
        for one in self.not_looked_at:
            found.setdefault(f"{'not looked at' if one.open else 'taken as given'} ({one.why})", []).append(
                one.name
            )
        return found


class Checks:
    """Collects the checks of a document and the fields that they determine.

    A field counts as checked only if a check names it. So a field that is new to the file is reported until there is a
    check for it.
    """

    def __init__(self, doc: ModelDocument) -> None:
        self._fields = {
            name: Unchecked(name, RECORD, False) if name in RECORDS else None for name in stated(doc)
        }
        self._checks: list[Check] = []
        self._remarks: list[str] = []

    def compare(self, name: str, stated: Any, found: Any, holds: Any, *fields: str) -> None:
        """One check; if it holds, ``fields`` have the values that the file states."""
        self._checks.append(Check(name, _shown(stated), _shown(found), bool(holds)))
        self.determined(*fields)

    def determined(self, *fields: str) -> None:
        """Fields that other checks determine."""
        for field in fields:
            self._fields.pop(field, None)

    def same(self, name: str, stated: Mapping[str, Any], found: Mapping[str, Any], *fields: str) -> None:
        """One check of several entries; those that differ are shown."""
        missing = "no entry"
        differ = [
            key
            for key in [*stated, *(key for key in found if key not in stated)]
            if not _equal(stated.get(key, missing), found.get(key, missing))
        ]
        sides = (
            ", ".join(f"{key} = {_shown(side.get(key, missing))}" for key in differ[:3])
            for side in (stated, found)
        )
        left, right = sides if differ else (_counted(len(stated)), "the same")
        self.compare(name, left, right, not differ, *fields)

    def open(self, why: str, *fields: str) -> None:
        """Claims that stay open because something is missing."""
        self._leave(why, True, fields)

    def lacking(self, why: str, field: str) -> None:
        """A claim that the file should make and does not."""
        self._fields[field] = Unchecked(field, why, True)

    def given(self, why: str, *fields: str) -> None:
        """Fields that are taken as given."""
        self._leave(why, False, fields)

    def _leave(self, why: str, claim: bool, fields: tuple[str, ...]) -> None:
        self._fields |= {name: Unchecked(name, why, claim) for name in fields if name in self._fields}

    def remark(self, text: str) -> None:
        """A sentence for the reader."""
        self._remarks.append(text)

    def report(self, missing: str = "no check determines it") -> Report:
        """The report; ``missing`` is the reason for fields that stay open without a reason of their own."""
        left = [found or Unchecked(name, missing, True) for name, found in self._fields.items()]
        left.sort(key=lambda one: (not one.open, one.why == RECORD, one.name))
        return Report(tuple(self._checks), tuple(self._remarks), tuple(left))


def stated(doc: ModelDocument) -> list[str]:
    """Names of all fields of a document, entries such as ``result.seconds.total`` by their first two parts."""
    names: dict[str, None] = {}
    for name, value in vars(doc).items():
        if name in NESTED:
            names |= dict.fromkeys(f"{name}.{key.partition('.')[0]}" for key in value)
        elif name != "versions" or value:
            names[name] = None
    return list(names)


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _counted(n: int) -> str:
    return "1 entry" if n == 1 else f"{n} entries"


def _shown(value: Any) -> str:
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."
