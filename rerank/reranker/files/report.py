"""The report on a file: what was compared, and what no check covers."""

from dataclasses import dataclass

from rerank.io.page import Cells, Part, Words, as_text

WIDE = 60  # signs of what is stated that a table shows


@dataclass(frozen=True)
class Check:
    """One entry of the file: what it states, what was recomputed, and whether the two agree."""

    name: str
    stated: str
    recomputed: str
    holds: bool


@dataclass(frozen=True)
class Unchecked:
    """An entry that no check covers: the reason, and whether it is an open claim or taken as given."""

    name: str
    why: str
    open: bool


@dataclass(frozen=True)
class Report:
    """The checks of a model, and the entries that no check covers."""

    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    not_looked_at: tuple[Unchecked, ...]  # every entry that could have another value without any check failing

    @property
    def holds(self) -> bool:
        """Whether every check agrees."""
        return all(check.holds for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check agrees and no claim is open."""
        return self.holds and not any(each.open for each in self.not_looked_at)

    @property
    def outcome(self) -> str:
        """The outcome in a sentence."""
        if not self.holds:
            return (
                "The files contradict each other: another table than that of the fit, or a changed file; do not use "
                "this model with them."
            )
        return "Everything stated holds." if self.complete else "All that could be checked holds."

    @property
    def verdict(self) -> str:
        """The outcome, and every entry that was not looked at by name."""
        lists = [f"{title}: {', '.join(names)}" for title, names in self.reasons(why=False).items()]
        return "; ".join([self.outcome.rstrip("."), *lists]) + "."

    def __str__(self) -> str:
        return as_text(self.parts())

    def parts(self, details: bool = False) -> list[Part]:
        """What does not hold, the remarks, the outcome, and the claims that are open. With ``details`` also what holds,
        and the entries that are taken as given, with the reasons; else their numbers.
        """
        shown = [check for check in self.checks if details or not check.holds]
        cells = [
            (
                "ok" if check.holds else "FAILED",
                check.name,
                *(text if len(text) <= WIDE else f"{text[:WIDE]}..." for text in (check.stated, check.recomputed)),
            )
            for check in shown
        ]
        given = sum(not each.open for each in self.not_looked_at)
        reasons = [f"{why}: {', '.join(names)}" for why, names in self.reasons(given=details).items()]
        if given and not details:
            reasons.append(
                f"{given} {'entry is' if given == 1 else 'entries are'} taken as given, such as versions, which no "
                "check covers; --details has each with its reason."
            )
        table = [Cells([("", "check", "stated", "recomputed"), *cells], ("left",) * 4, named=True)] if cells else []
        same, most = len(self.checks) - len(shown), f" of {len(self.checks)}" if shown else ""
        agree = [f"{same}{most} entries were recomputed and are as stated; --details lists them."] if same else []
        return [*table, *map(Words, (*agree, *self.remarks, self.outcome, *reasons))]

    def reasons(self, given: bool = True, why: bool = True) -> dict[str, list[str]]:
        """The entries that were not looked at, by the reason why; open claims first, and alone unless ``given``."""
        found: dict[str, list[str]] = {}
        for each in self.not_looked_at:
            if each.open or given:
                title = "not looked at" if each.open else "taken as given"
                found.setdefault(f"{title} ({each.why})" if why else title, []).append(each.name)
        return found
