"""The result of a fit: statistic, value, bound and status, and how a person reads them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import NotSupportedError
from rerank.io.page import Bar, Cells, Items, Part, Words, as_html, as_text
from rerank.problem.proof import Proof
from rerank.ranks.rationals import CLOSED, is_closed
from rerank.reranker.evidence import Evidence
from rerank.statistics.base import Ties

if TYPE_CHECKING:
    from rerank.certificate import Certificate

__all__ = [
    "CLOSED",
    "STATUSES",
    "Moment",
    "Result",
    "ShortlistInfo",
    "Solution",
    "is_closed",
    "status_of",
]

KEEPING = ("first_stage_kept", "already_ideal", "nothing_to_find", "nothing_to_reorder")
"""Statuses of a fit that ended with the first stage."""
CLAIM_SLACK = 1e-4
"""Relative difference between a solver's figures and exact ones that is rounding."""

PRESOLVED = "presolve=True with more time_limit lets the search prove it."
PROVE = "load_solution(..., prove=60), or rerank import --prove 60,"
"""What helps to a proof of weights that a solver found, and of weights that were read from a file."""

STATUSES = ("optimal", "optimal_by_solver", "feasible", *KEEPING)

SOURCES = {
    "ideal": "the ideal list",
    "search": "the search in weight space",
    "solver": "the solver, on its word",
    "rows": "the solver, on its word, of the program with your rows",
}
"""Where a bound may come from, in words."""

TIES = {"pessimistic": "ties counted against it", "average": "a tied pair as one half"}
"""How equal scores count, in words."""

ON_WORD = ("solver", "rows")
"""Sources of bounds that nobody recomputes."""


@dataclass(frozen=True)
class ShortlistInfo:
    """The shortlist: lists, rows reranked, relevant among them, ties at the cut, repeats in the problem, features."""

    n_candidates: int | None
    n_rows: int
    n_head: int
    n_positive: int
    n_positive_head: int
    n_tied: int
    n_duplicates: int
    n_conflicts: int
    n_features: int
    constant_features: tuple[str, ...] = ()
    least_candidates: int | None = None


class Moment(NamedTuple):
    """What search and solver knew after some seconds of a fit, compiling not counted: a value found, and a bound."""

    seconds: float
    value: float
    bound: float


MOST_MOMENTS = 200
"""Moments that a result keeps."""


def history_of(moments: Iterable[Moment], value: float, bound: float) -> tuple[Moment, ...]:
    """The moments at which more was known than before, none above the final ``value`` or below the final ``bound``.

    Of more than ``MOST_MOMENTS`` every second one is left out, and so on, but for the first and the last.
    """
    kept: list[Moment] = []
    found, limit = -math.inf, math.inf
    for now in moments:
        # A solver counts pairs within its tolerance, and the end of a fit recounts them exactly.
        found, limit = max(found, min(now.value, value)), min(limit, max(now.bound, bound))
        if not kept or (found, limit) != kept[-1][1:]:
            kept.append(Moment(now.seconds, found, limit))
    while len(kept) > MOST_MOMENTS:
        kept = [*kept[:-1:2], kept[-1]]
    return tuple(kept)


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The solution of a problem: weights, their verified value and a bound.

    Attributes
    ----------
    weights : float64 array (features,)
        In the scaled space of the shortlist, ``max|w_j| = 1`` or all 0; empty when nothing was fitted. With rows of the
        user's own that have a scale, ``max|w_j|`` may be smaller; nothing is divided then.
    value : float
        Value of ``weights``, margin and penalty included, recomputed exactly and rounded down. The unit is that of the
        statistic; the tail is included.
    bound : float
        No allowed weights (signs, ``max_features``, radius) have a larger value, margin and penalty included. It does
        not bound ``statistic``.
    bound_source : {"ideal", "search", "solver", "rows"}
        Where the bound comes from: the ideal list, the search in weight space (with rounding on the safe side), or a
        solver, whose claim is not verified. "rows" is a solver's bound of a program with rows of the user's own: it
        bounds the value of the weights that this program admits.
    bound_solver : str or None
        The solver whose word the bound is, with its version; None where ``bound_source`` is neither "solver" nor
        "rows".
    certificate : Certificate or None
        Exact value, statistic and smallest margin of ``weights``.
    program_value, program_bound : float or None
        What the solver reports for its own program. Diagnostics.
    formulation : str or None
        The program that was solved.
    model_size : mapping or None
        Cells, columns, non-zeros of the program handed to a solver.
    start_value : float or None
        Value from which search or solver started.
    start_accepted : bool or None
        Whether the solver used the start; None if there was none, or if the solver does not report it.
    nodes : int
        Boxes and nodes explored.
    proof : Proof or None
        The search's record of splits, if ``proof=True``.
    notes : tuple of str
        Further remarks, one sentence each.
    gave_up : bool
        Whether the search ended open before its time; more of it changes nothing, and a note says why.
    changed : bool
        Whether the weights are of a program of the user's (:meth:`rerank.Reranker.fit_model`).
    statistic_bound : float or None
        No allowed weights give the training lists a larger ``statistic`` where that counts a tied pair as one half: by
        a search of its own (:func:`rerank.search.statistic_bound`). None where none was made: for other statistics,
        and where the value is not proved.
    history : tuple of Moment
        Value and bound over the seconds of search and solver, the last those of the result. Times differ from run to
        run, so that files and digests leave it out.
    """

    weights: NDArray[np.float64]
    value: float
    bound: float
    bound_source: str
    bound_solver: str | None = None
    certificate: Certificate | None = None
    program_value: float | None = None
    program_bound: float | None = None
    formulation: str | None = None
    model_size: Mapping[str, int] | None = None
    start_value: float | None = None
    start_accepted: bool | None = None
    nodes: int = 0
    proof: Proof | None = None
    notes: tuple[str, ...] = ()
    gave_up: bool = False
    changed: bool = False
    statistic_bound: float | None = None
    history: tuple[Moment, ...] = ()

    @property
    def gap(self) -> float:
        """``bound - value``: no value exceeds that of the weights by more."""
        return max(0.0, self.bound - self.value)

    def noting(self, *notes: str) -> Self:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def claims_too_much(self) -> bool:
        """Whether a solver's figure is above a bound that was proved, by more than rounding."""
        claim = self.program_value
        return (
            claim is not None
            and self.bound_source not in ON_WORD
            and claim > self.bound + CLAIM_SLACK * max(1.0, abs(self.bound))
        )

    def within_bound(self) -> Self:
        """The same without a solver's figures if they are above a bound that was proved."""
        if not self.claims_too_much:
            return self
        without = replace(self, program_value=None, program_bound=None)
        if any(f"claims {self.program_value:.9g} for weights" in note for note in self.notes):
            return without
        return without.noting(
            f"The solver's own figure for its weights, {self.program_value:.9g}, is left out: it is above the proved "
            f"bound {self.bound:.9g}, so it holds within the solver's tolerance only."
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Solution):
    """The numbers of a fit: those of :class:`Solution`, and these.

    Attributes
    ----------
    statistic : float
        The fitted ranking's statistic on the training data: no margin, no penalty, equal scores as ``ties`` says.
    status : str
        One of ``STATUSES``.
    first_stage_statistic : float or None
        The same of the first stage's order, by out-of-fold scores if ``folds`` is not 0.
    ties : {"average", "pessimistic"}
        How equal scores count in ``statistic`` and ``first_stage_statistic``: "average" makes a tied pair one half, as
        scikit-learn's ``roc_auc_score`` does. ``value`` and ``bound`` count them against the relevant row.
    statistic_name : str
    fitted_name : str
        What is fitted, and has value and bound; another statistic with a window or a list length.
    solver : str
        The solver that was asked for.
    n_lists, n_empty_lists : int
        Number of lists in the data, and of those left out of the mean because nothing in them can be ranked.
    gain : str
    epsilon, C : float
    shortlist : ShortlistInfo
    seconds : mapping
        Wall time of each phase, of compiling and loading kernels if there was something to load, and in all.
    theorem : str
        Whether Subrank and ResolvedRank provably share their optimum on this data (corrected Theorem 4.2).
    folds : int
        Parts of the training rows for out-of-fold scores; 0 where the first stage's scores are its own.
    grouped : bool
        Whether rows belonged to groups, which are never in two folds.
    left_out : tuple of str
        Columns that are not reranked because they hold no numbers or miss some.
    evidence : Evidence or None
        What held-out rows said of each option, where ``RerankerCV`` or ``--cv`` chose them: ``evidence.report()``
        prints it and ``evidence.plot()`` draws it.
    said : str
        What stands for the message, where the fit is one of something else, such as of runs.
    """

    statistic: float
    status: str
    statistic_name: str
    fitted_name: str
    gain: str
    epsilon: float
    C: float
    n_lists: int
    n_empty_lists: int
    shortlist: ShortlistInfo
    seconds: Mapping[str, float]
    first_stage_statistic: float | None = None
    solver: str | None = None
    theorem: str = ""
    folds: int = 0
    grouped: bool = False
    left_out: tuple[str, ...] = ()
    ties: Ties = "pessimistic"
    evidence: Evidence | None = None
    said: str = ""

    @classmethod
    def of(cls, solution: Solution, **rest: Any) -> Result:
        """The result of a fit that ended in ``solution``."""
        return cls(**{field.name: getattr(solution, field.name) for field in fields(Solution)}, **rest)

    def __repr__(self) -> str:
        return as_text(self.parts())

    def _repr_html_(self) -> str:
        return as_html(self.parts())

    def parts(self) -> list[Part]:
        """The message, the numbers with their meaning, a bar of value and bound, and the notes."""
        bar = [] if self.reached is None else [Bar(self.reached, "The value is {} of the bound.")]
        return [Words(self.message, strong=True), self.numbers(), *bar, Items([*self.notes, *self.remarks()])]

    def plot_history(self, ax: Any = None) -> Any:
        """Draw value (solid) and bound (dashed) over time on these axes, or on new ones, which are returned.

        Raises
        ------
        NotSupportedError
            If neither search nor solver had a part in the result, or it was read from a file.
        """
        from rerank.plots import bound_over_time

        if not self.history:
            raise NotSupportedError("The search had no part in this result, or it was read from a file.")
        who = ", ".join(phase for phase in dict.fromkeys(("search", self.solver or "")) if phase in self.seconds)
        axes = bound_over_time({who: self.history}, unit=self.fitted_name, ax=ax)
        axes.set_title(f"value {self.value:.6g}, bound {self.bound:.6g}", fontsize=10)
        return axes

    def remarks(self) -> list[str]:
        """Sentences on ties at the cut, columns left out, repeated rows and lists left out."""
        short, lines = self.shortlist, []
        if short.n_tied:
            lines.append(
                f"{short.n_tied} row(s) more than asked for share the score at the cut; all of them are in the "
                "shortlist."
            )
        if self.left_out:
            lines.append(f"Not reranked, because they hold no numbers or miss some: {listed(self.left_out)}.")
        if short.constant_features:
            lines.append(f"Constant on the shortlist and left out: {listed(short.constant_features)}.")
        if short.n_duplicates:
            apart = f", {short.n_conflicts} of them with another gain, which no weights can tell apart"
            extra = apart if short.n_conflicts else ""
            lines.append(f"{short.n_duplicates} row(s) of the shortlist repeat an earlier one{extra}.")
        if self.n_empty_lists:
            lines.append(f"{self.n_empty_lists} list(s) hold nothing to order and are not in the mean.")
        return lines

    @property
    def message(self) -> str:
        """One or two sentences: what holds, and what to do about it."""
        found, name, kept = self.evidence, self.value_name, "The first stage is kept: "
        if self.said:
            return self.said
        if found is not None and found.taken is not None and self.status in ("first_stage_kept", "already_ideal"):
            return "Held-out rows chose this first stage, as it is."
        if self.status == "already_ideal":
            return f"{kept}no weights within the limits give the shortlist an order with a larger {self.fitted_name}."
        if self.status.startswith("nothing"):
            needed = self.shortlist.least_candidates
            advice = "no n_candidates changes that with these rows and columns."
            if needed is not None:
                advice = f"n_candidates must be at least {needed} for an order to matter."
            if self.status == "nothing_to_find":
                return f"The shortlist holds no relevant row, so the first stage is kept: {advice}"
            return f"No order of the shortlist changes {name}, so the first stage is kept: {advice}"
        if self.status != "first_stage_kept":
            return self._proof
        if found is None or found.chosen is not None:
            return f"{kept}no weights that were found order the training list better in {name}. {self._proof}"
        if found.guarded:
            return f"{kept}no option that was tried on held-out rows leads it by what safeguard asks."
        return "The first stage is kept: no option had the time to be tried on held-out rows; raise time_limit."

    @property
    def value_name(self) -> str:
        """What is fitted, and how it counts ties where the statistic counts them otherwise."""
        return self.fitted_name if self.ties == "pessimistic" else f"{self.fitted_name} with ties counted as lost"

    def halves(self) -> str:
        """A sentence on what no allowed weights exceed where a tied pair is one half; ``""`` where it is not known."""
        if self.statistic_bound is None:
            return ""
        name = self.statistic_name
        return (
            f"With a tied pair as one half, as scikit-learn counts it, no allowed weights have a larger {name} than "
            f"{up(self.statistic_bound)} on the training lists; the list that is used has {number(self.statistic)}."
        )

    @property
    def _proof(self) -> str:
        """What is proved of the weights, and whose the proof is."""
        status, name, who = status_of(self), self.value_name, self.bound_solver or "the solver"
        read = self.solver == "file"
        if status == "optimal":
            how = "the ideal list is reached" if self.bound_source == "ideal" else "by the search"
            return (
                f"Proved optimal ({how}): no allowed weights have a larger {name} on the shortlist, margin and "
                f"penalty included. {self.halves()}"
            ).rstrip()
        if self.bound_source == "rows":
            if status == "optimal_by_solver":
                return (
                    f"Optimal on the word of {who}: none of the weights that the program with your rows admits have a "
                    f"larger {name}, margin and penalty included. The value is recomputed exactly, the bound is not."
                )
            return (
                f"Stopped with a gap of {self.gap:.6g} in {name}, margin and penalty included, on the word of {who}: "
                "weights that the program with your rows admits may have a larger value, larger by at most this gap. "
                "Raise time_limit, and node_limit where there is one."
            )
        if self.changed and status != "optimal":
            word = f", on the word of {who}" if self.bound_solver else ""
            return (
                f"The weights keep the rows of your program. No weights, with or without what was added to it, have a "
                f"{name} above {self.bound:.6g}, margin and penalty included{word}; a note says what its solver says."
            )
        if status == "optimal_by_solver":
            return (
                f"Optimal on the word of {who}: {name} of the weights is recomputed exactly, the bound is not; "
                + (f"{PROVE} lets the search try to." if read else PRESOLVED)
            )
        more = "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved."
        if self.gave_up:
            more = "More time would not change that; a note says why."
        elif read:
            more = f"{PROVE} lets the search try to prove more, from these weights; more seconds help it."
        word = f", on the word of {who}" if self.bound_solver else ""
        return (
            f"{'The weights of the file leave' if read else 'Stopped with'} a gap of {self.gap:.6g} in {name}, margin "
            "and penalty included: allowed weights with a larger value may exist, larger by at most this gap"
            f"{word}. {more}"
        )

    def numbers(self) -> Cells:
        """Name, number and meaning of statistic, value, bound and the program's own numbers."""
        name = self.statistic_name
        fitted = "" if self.fitted_name == name else f"of {self.fitted_name}, "
        lost = "" if self.ties == "pessimistic" else "ties counted as lost, "
        rows = [
            ("statistic", number(self.statistic), f"{name} of the fitted list, {TIES[self.ties]}"),
            ("value", number(self.value), f"{fitted}exact, from the weights, {lost}margin and penalty included"),
            ("bound", number(self.bound), f"of the value, margin included, by {SOURCES[self.bound_source]}"),
            ("gap", number(self.gap, 9), "bound minus value"),
        ]
        if self.first_stage_statistic is not None:
            rows.insert(0, ("first stage", number(self.first_stage_statistic), f"{name} of the first stage's list"))
        who = "the file" if self.solver == "file" else self.solver
        if self.program_value is not None:
            reported = (
                f"{fitted}in the unit of the value, what {who} reports for "
                f"{'your' if self.changed else 'the'} {self.formulation} program, bound {number(self.program_bound)}"
            )
            rows.append(("program", number(self.program_value), reported))
        return Cells(rows, ("left", "left", "left"))

    @property
    def reached(self) -> float | None:
        """Value over bound, between 0 and 1; None where no such share says anything."""
        if not (self.bound > 0 and self.value >= 0):
            return None
        return 1.0 if self.proved else min(1.0, self.value / self.bound)

    @property
    def proved(self) -> bool:
        """Whether the gap is closed, and the order of the shortlist matters."""
        return is_closed(self.gap, self.value) and not self.status.startswith("nothing")

    @property
    def keeps_first_stage(self) -> bool:
        """Whether the first stage's order is the answer."""
        return self.status in KEEPING and self.first_stage_statistic is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for ``--json`` and the model file."""
        skip = {
            "certificate", "weights", "shortlist", "seconds", "model_size", "proof", "notes", "left_out", "evidence",
            "said", "history",
        }  # fmt: skip
        skip |= {"ties"} if self.ties == "pessimistic" else set()
        skip |= {"statistic_bound"} if self.statistic_bound is None else set()
        first = ("statistic", "value", "bound")
        return {
            **{name: getattr(self, name) for name in first},
            "gap": self.gap,
            **{name: value for name, value in vars(self).items() if name not in skip and name not in first},
            "proved": self.proved,
            "message": self.message,
            "weights": self.weights.tolist(),
            "shortlist": {
                **vars(self.shortlist),
                "constant_features": list(self.shortlist.constant_features),
            },
            "seconds": dict(self.seconds),
            "model_size": None if self.model_size is None else dict(self.model_size),
            "notes": list(self.notes),
            "left_out": list(self.left_out),
            **({} if self.evidence is None else {"evidence": self.evidence.to_dict()}),
        }


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first names, with commas between."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def up(value: float) -> str:
    """In short digits, and not below the value but for what closes a gap."""
    text = number(value)
    return text if is_closed(value - float(text), value) else number(value + 5e-7)


def number(value: float | None, digits: int = 6) -> str:
    """A number in short digits; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if math.isfinite(value) else "none"


def status_of(solution: Solution) -> str:
    """``optimal``, ``optimal_by_solver`` or ``feasible``."""
    if not is_closed(solution.bound - solution.value, solution.value):
        return "feasible"
    return "optimal_by_solver" if solution.bound_source in ON_WORD else "optimal"
