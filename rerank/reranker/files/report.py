"""What a verification found: the checks, what none of them looked at, and the sentence that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rerank.reranker.files.model_file import ModelDocument

NESTED = ("result", "settings")
"""Fields whose entries are named one by one, such as ``result.value``."""
RECORDS = {
    "random_state", "versions", "result.formulation", "result.model_size", "result.nodes", "result.notes",
    "result.program_bound", "result.program_value", "result.seconds", "result.solver", "result.start_accepted",
    "result.start_value", "settings.formulation", "settings.id_column", "settings.label_column", "settings.n_jobs",
    "settings.named_features", "settings.positive_label", "settings.presolve", "settings.qid_column", "settings.solver",
    "settings.time_limit", "settings.verbose", "settings.weight_column",
}  # fmt: skip
RECORD = "a record of how the model was made, which nobody can recompute"


@dataclass(frozen=True)
class Check:
    """One claim of the file: what it states, what was recomputed, whether that agrees."""

    name: str
    stated: str
    recomputed: str
    holds: bool


@dataclass(frozen=True)
class Unchecked:
    """A stated field that no check determines, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Report:
    """What was checked, what was not, and what no check can say.

    Attributes
    ----------
    checks : tuple of Check
    remarks : tuple of str
    not_looked_at : tuple of Unchecked
        Every stated field that could be another without any check failing.
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
        """Whether every check agrees and nothing stated was left out."""
        return self.holds and not self.not_looked_at

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        if not self.holds:
            return "The files contradict each other; do not use this model."
        if self.complete:
            return "Everything stated holds."
        names = ", ".join(one.name for one in self.not_looked_at)
        return f"All that could be checked holds; not looked at: {names}."

    def reasons(self) -> dict[str, list[str]]:
        """The fields that were not looked at, by the reason why."""
        found: dict[str, list[str]] = {}
        for one in self.not_looked_at:
            found.setdefault(one.why, []).append(one.name)
        return found


class Checks:
    """The checks of a document as they are made, and the fields that they determine.

    A field counts as looked at only where a check says that it determines it. So a field that is new to the file is
    listed until there is a check for it.
    """

    def __init__(self, doc: ModelDocument) -> None:
        self._open = dict.fromkeys(stated(doc), "")
        self._checks: list[Check] = []
        self._remarks: list[str] = []

    def compare(self, name: str, stated: Any, found: Any, holds: Any, *fields: str) -> None:
        """One check; if it holds, ``fields`` are what the file says they are."""
        self._checks.append(Check(name, _shown(stated), _shown(found), bool(holds)))
        self.determined(*fields)

    def determined(self, *fields: str) -> None:
        """Fields that checks made under another name determine."""
        for field in fields:
            self._open.pop(field, None)

    def same(self, name: str, stated: Mapping[str, Any], found: Mapping[str, Any], *fields: str) -> None:
        """One check of several entries, of which those that differ are shown."""
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

    def unknown(self, why: str, *fields: str) -> None:
        """Fields that stay open, and why."""
        for field in fields:
            if field in self._open:
                self._open[field] = why

    def remark(self, text: str) -> None:
        """A sentence for the reader."""
        self._remarks.append(text)

    def report(self, missing: str = "no check determines it") -> Report:
        """All of it; ``missing`` says why fields stay open that nothing else is known of."""
        unchecked = (
            Unchecked(name, why or (RECORD if name in RECORDS else missing))
            for name, why in sorted(self._open.items(), key=lambda item: (item[0] in RECORDS, item[0]))
        )
        return Report(tuple(self._checks), tuple(self._remarks), tuple(unchecked))


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
