"""Programs that their user changed: what is the user's own, and weights that keep it exactly.

A solver keeps rows within its tolerance. Here the weights are polished by a linear program that holds the user's
rows, with whole columns fixed, and every row of the user's is then decided in rationals of the stored doubles. Only
equalities, which doubles can seldom keep, have a tolerance: rows that are stated so, and those to which the others
leave no room once the whole columns are fixed, such as two rows with one switch.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.program import Program
from rerank.errors import CertificateError, InputError
from rerank.errors.compiling import load_modules
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.ranks.rationals import is_closed
from rerank.reranker.solve import verified as exact
from rerank.reranker.solve.program import FEASIBILITY_TOLERANCE, StatedProgram, normalised, state
from rerank.reranker.solve.verified import Kept, VerifiedWeights, summed, verified
from rerank.search.domain import allowed, sides_of

Mask = NDArray[np.bool_]

SAME = 1e-9  # relative difference of numbers that are the same up to rounding on another machine
NO_ROOM = 1e-8  # room of a row that is none: ten times the tolerance of the linear program that looks for it
TIED = Fraction(1, 10**12)
"""Scores this close are level in a ranking; doubles that make two of them equal can seldom be found."""


@dataclass(frozen=True, eq=False)
class OwnProgram:
    """A user's program beside that of the problem."""

    problem: Problem
    base: StatedProgram  # the program of the problem, stated again
    program: Program  # the user's
    place: Indices  # column of the user's program of each column of the base
    weights: Indices  # columns of the weights
    added: Mask  # columns of the user's own
    counted: Mask  # columns of the base other than weights: all of them whole numbers in a point of the program
    rows: Indices  # of the user's program that the base has not
    matrix: sparse.csr_array  # of these rows
    titles: dict[str, str]  # what the user calls rows and columns

    @property
    def stated(self) -> StatedProgram:
        """The user's program, with what the base knows of the problem."""
        return replace(self.base, program=self.program)

    @property
    def names(self) -> list[str]:
        """What the user calls rows, columns and narrowed columns of the user's own."""
        columns = [self.program.columns[j] for j in np.flatnonzero(self.added | self.narrowed)]
        return [self.title(name) for name in (*(self.program.rows[i] for i in self.rows), *columns)]

    @property
    def listed(self) -> str:
        """The first of these names, with commas between."""
        return ", ".join(self.names[:6]) + (", ..." if len(self.names) > 6 else "")

    @property
    def two_sided(self) -> bool:
        """Whether a pair that is not won is level or below, which asks more of weights than the problem does."""
        return bool(self.base.model.rerank_info.layout.instance.options.two_sided)

    @property
    def maximises_value(self) -> bool:
        """Whether the objective is that of the base."""
        p, wanted = self.program, np.zeros(len(self.program.columns))
        wanted[self.place] = self.base.program.cost
        return not p.minimises and np.allclose(p.cost, wanted, rtol=SAME, atol=SAME)

    @property
    def narrowed(self) -> Mask:
        """Columns whose bounds or domain the user narrowed; a box of the weights is one of the user's wishes, too."""
        p, base = self.program, self.base.program
        low, high, whole = base.lower.copy(), base.upper.copy(), base.integer
        signs, limits = self.problem.signs, self.problem.limits
        widest = (np.where(signs > 0, 0.0, -1.0), np.where(signs < 0, 0.0, 1.0)) if limits is None else limits
        low[base.weights], high[base.weights] = widest
        mask = np.zeros(len(p.columns), bool)
        mask[self.place] = (p.lower[self.place] > low) | (p.upper[self.place] < high) | (p.integer[self.place] & ~whole)
        return mask

    @property
    def changed(self) -> bool:
        """Whether it is another program than that of the problem."""
        return bool(
            self.rows.size
            or self.added.any()
            or self.narrowed.any()
            or not self.maximises_value
            or len(self.program.rows) < len(self.base.program.rows)
        )

    @cached_property
    def held(self) -> Indices:
        """The user's rows, and those of the problem that speak of weights alone."""
        counting = np.asarray(abs(self.program.matrix) @ self.counted.astype(np.float64)).ravel() > 0
        return np.union1d(self.rows, np.flatnonzero(~counting))

    @property
    def counts(self) -> bool:
        """Whether the user's rows or bounds speak of columns of the base other than weights."""
        used = np.unique(self.matrix.indices[self.matrix.data != 0])
        return bool(self.counted[used].any() or (self.narrowed & self.counted).any())

    @property
    def bounds_value(self) -> bool:
        """Whether the objective bounds the value: the user's rows never ask a column for less than the weights earn."""
        choices = self.base.model.rerank_info.layout.instance.options
        if not self.maximises_value or choices.big_m != "pair" or self.base.formulation == "subrank":
            return False
        if self.two_sided and not self.changed:
            return False  # its optimum is that of the weights that it admits
        p, up = self.program, np.where(self.counted, 1.0, 0.0)
        if hasattr(self.base.model, "gamma"):
            up[[self._at("g", j) for j in self.base.model.gamma]] = -1.0  # a feature in use is paid for
        if self.two_sided:  # pairs, and the ranks and wins that are counted from them, follow from the weights
            for name in {"z", "r", "s"} & set(self.base.model.component_map(active=True)):
                up[[self._at(name, index) for index in self.base.model.component(name)]] = 0.0
        low, high = np.isfinite(p.row_lower[self.rows]), np.isfinite(p.row_upper[self.rows])
        entries = self.matrix.tocoo()
        sense = entries.data * up[entries.col]
        if (sense[low[entries.row]] < 0).any() or (sense[high[entries.row]] > 0).any():
            return False
        base = self.base.program
        raised, lowered = p.lower[self.place] > base.lower, p.upper[self.place] < base.upper
        return not ((raised & (up[self.place] < 0)) | (lowered & (up[self.place] > 0))).any()

    def _at(self, prefix: str, index: Any) -> int:
        from formulations.compile import short_name

        return self._position[short_name(prefix, index)]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.program.columns)}

    @property
    def _pairs(self) -> Any:
        """The pairs that the base counts; the program of Pos@Top counts none."""
        return self.base.model.z if hasattr(self.base.model, "z") else ()

    def title(self, name: str) -> str:
        """What the user calls a row or column."""
        return self.titles.get(name, name)

    def start(self, w: Floats) -> Floats | None:
        """The point of known weights; None where they are not admitted, or the user's columns are not known."""
        if w.size != self.weights.size or self.added.any():
            return None
        point, _ = self.base.point(w)
        if point is None:
            return None
        x = np.empty(point.size)
        x[self.place] = point
        return x if self.program.violation(x) <= FEASIBILITY_TOLERANCE else None

    def completed(self, w: Floats, name: str) -> Floats:
        """The point of weights that stand alone in a file, if the user's rows speak of nothing else."""
        if self.added.any() or self.counts:
            raise InputError(
                f"{name} holds weights alone, and your program has columns of your own or rows on what it counts; give "
                "a solution file with all of its columns."
            )
        x = np.zeros(len(self.program.columns))
        x[self.weights] = w
        return x

    def claim(self, x: Floats) -> float:
        """Objective of the base at a point: the value that it counts."""
        return self.base.program.objective(x[self.place])

    def in_value(self, figure: float) -> float:
        """A figure of the user's program, whose objective is that of the base, in the unit of the value."""
        return figure - self.program.constant + self.base.program.constant

    def objective_remark(self, x: Floats, whose: str) -> str:
        """The user's objective at a point, in its own sense and unit."""
        p = self.program
        name, sense = self.title("COST"), "minimised" if p.minimises else "maximised"
        return (
            f"Your objective {name!r} is {p.own(p.objective(x)):.9g}, {sense}, {whose}; value and bound are those of "
            "the statistic."
        )

    def remarks(self, x: Floats) -> list[str]:
        """What the user's rows are, and how far an equality is missed."""
        if not self.changed:
            return []
        told = []
        if names := self.names:
            count = f"{len(names)} row(s), column(s) or bounds of your own"
            told += self._on_ranking(f"The program has {count}", x)
        if (off := self.missed(x)) is not None:
            row = f"The equality {off[0]!r}" if off[2] else f"The row {off[0]!r}, to which the others leave no room,"
            told.append(
                f"{row} is missed by {off[1]:.3g}: doubles seldom keep an equality exactly, and "
                f"{FEASIBILITY_TOLERANCE:g} is allowed."
            )
        return told

    def _on_ranking(self, own: str, x: Floats) -> list[str]:
        """What of the user's ``own`` rows the ranking itself keeps, where they speak of more than weights."""
        broken = self._broken_by_ranking(x) if self.counts else []
        if broken is None:
            return [
                f"{own}, kept by what the program counts: {self.listed}. Whether the ranking itself, in which "
                "every lead is a win, keeps them is not known."
            ]
        if not broken:
            ranking = " The ranking itself, in which every lead is a win, keeps them, too." if self.counts else ""
            return [f"{own}, kept exactly: {self.listed}.{ranking}"]
        shown = ", ".join(map(repr, broken[:6])) + (", ..." if len(broken) > 6 else "")
        advice = "" if self.two_sided or not self._pairs else "; build_model(two_sided=True) asks it"
        return [
            f"{own}, kept by what the program counts: {self.listed}. The ranking itself, in which every lead is a win, "
            f"does not keep {shown}{advice}."
        ]

    def _broken_by_ranking(self, x: Floats) -> list[str] | None:
        """Which of the user's rows and bounds the order by the weights of a point breaks, whatever the user's own
        columns are; None where the program does not count all pairs that it wins.
        """
        from formulations.wins import LOST, differences

        p, model, w = self.program, self.base.model, x[self.weights]
        layout = model.rerank_info.layout
        lead = differences(layout.instance, layout.wins, w) > float(TIED)
        if (lead & (layout.wins.state == LOST)).any():
            return None
        every_lead = layout.instance.options.epsilon - float(TIED)
        assigned = load_modules(f"formulations.{self.base.formulation}").assignment(model, w, every_lead)
        if assigned.values is None:
            return None
        y = np.where(self.added, 0.0, x)
        y[self.place] = self.base.program.vector(assigned.values)
        outside = np.maximum(p.lower - y, y - p.upper) * (self.narrowed & self.counted) > FEASIBILITY_TOLERANCE
        there = self.matrix @ y
        missed = exact.least_misses(
            self.matrix[:, self.added],
            p.row_lower[self.rows] - there,
            p.row_upper[self.rows] - there,
            (p.lower[self.added], p.upper[self.added], p.integer[self.added]),
        )
        if missed is None:
            return None
        names = [p.rows[i] for i in self.rows[missed > FEASIBILITY_TOLERANCE]]
        return [self.title(name) for name in (*names, *(p.columns[j] for j in np.flatnonzero(outside)))]

    def scale_remarks(self, found: VerifiedWeights) -> list[str]:
        """Of weights below 1 in size, what they would be worth if they were scaled."""
        size, problem = float(np.abs(found.weights).max(initial=0.0)), self.problem
        if not problem.directions_count or size in (0.0, 1.0):
            return []
        scaled = verified(problem, normalised(found.weights)).value
        told = f"The largest weight has size {size:.6g}: your rows have a scale, so the weights are kept as they are"
        if not is_closed(scaled - found.value, scaled, summed(problem)):
            told += f", and the margin too; divided by it they would be worth {scaled:.9g}"
        return [f"{told}."]

    # -- a point of it, exactly ---------------------------------------------------------------------------------------

    def rounded(self, x: Floats) -> Floats:
        """A point with whole columns and counts rounded and all columns between their bounds."""
        p = self.program
        return np.clip(np.where(p.integer | self.counted, np.rint(x), x), p.lower, p.upper) + 0.0

    def broken(self, x: Floats) -> tuple[str, float] | None:
        """The row that a point violates most and by how much, in rationals; equalities by more than the tolerance."""
        worst: tuple[str, float] | None = None
        for i, equal, over in self._off(x):
            kept = over <= FEASIBILITY_TOLERANCE and (equal or self._has_no_room(i, x))
            if not kept and (worst is None or over > worst[1]):
                worst = self.title(self.program.rows[i]), float(over)
        p = self.program
        outside = np.maximum(p.lower - x, x - p.upper)
        if worst is None and (j := int(outside.argmax())) >= 0 and outside[j] > 0:
            worst = f"bounds of {self.title(p.columns[j])}", float(outside[j])
        if worst is None and self.counts:
            worst = self._uncounted(x)
        return worst

    def missed(self, x: Floats) -> tuple[str, float, bool] | None:
        """The row of the user's that a point misses most, and whether it is stated as an equality; None if it keeps all
        of them exactly.
        """
        off = [(self.title(self.program.rows[i]), float(over), equal) for i, equal, over in self._off(x)]
        return max(off, key=lambda pair: pair[1], default=None)

    def _off(self, x: Floats) -> list[tuple[int, bool, Fraction]]:
        """The user's rows that a point does not keep: number, whether it is an equality, and by how much."""
        p, found = self.program, []
        for at, i in enumerate(self.rows.tolist()):
            part = slice(*self.matrix.indptr[at : at + 2])
            terms = zip(self.matrix.data[part].tolist(), x[self.matrix.indices[part]].tolist())
            total = sum((Fraction(a) * Fraction(v) for a, v in terms), Fraction(0))
            low, high = float(p.row_lower[i]), float(p.row_upper[i])
            sides = (
                Fraction(low) - total if np.isfinite(low) else 0,
                total - Fraction(high) if np.isfinite(high) else 0,
            )
            if (over := max(sides)) > 0:
                found.append((i, low == high, Fraction(over)))
        return found

    def _has_no_room(self, i: int, x: Floats) -> bool:
        """Whether the other rows hold a row at its side, with the columns as they are that :meth:`candidates` fixes."""
        p = self.program
        movable, low, high = self.movable(x)
        kept = self.kept(x, movable, True)
        fixed = x.copy()
        fixed[movable] = 0.0
        row = p.matrix[[i]]
        at, entries = float((row @ fixed)[0]), row.toarray().ravel()[movable]
        sides = [(side - at, sign) for side, sign in ((p.row_upper[i], 1.0), (p.row_lower[i], -1.0))]
        total = float(entries @ x[movable])
        side, sign = max((pair for pair in sides if np.isfinite(pair[0])), key=lambda pair: pair[1] * (total - pair[0]))
        least = exact.least_of(sign * entries, low, high, kept)
        return least is not None and sign * side - least <= NO_ROOM * max(1.0, np.abs(entries).max(initial=0.0))

    def _uncounted(self, x: Floats) -> tuple[str, float] | None:
        """A pair or count of the base that is not what the weights of the point earn; None if all are."""
        from formulations.compile import short_name
        from rerank.certificate.lists import exact_scores

        scores, unit = exact_scores(self.problem, x[self.weights])
        margin, model = self.problem.epsilon.exact * unit, self.base.model
        for i, k in self._pairs:
            apart = scores[i] - scores[k]
            if x[self._at("z", (i, k))] > 0.5 and apart < margin:
                return f"z[{i},{k}], which counts a pair as won", float((margin - apart) / unit)
        for i, k in self._not_won(x):
            apart = scores[i] - scores[k]
            if apart > TIED * unit:
                return f"z[{i},{k}], which counts a pair as not won", float(Fraction(apart) / unit)
        base, point = self.base.program, x[self.place]
        pairs = {
            short_name(model.rerank_info.short[family], ik)
            for family in ("above_by_margin", "win_when_above")
            for ik in (getattr(model, family) if hasattr(model, family) else ())
        }
        sums = base.matrix @ point
        off = np.maximum(base.row_lower - sums, sums - base.row_upper)
        off[[name in pairs for name in base.rows]] = 0.0
        missed = off.size and off.max() > SAME
        return (base.rows[int(off.argmax())], float(off.max())) if missed else None

    # -- the best point near a solver's -------------------------------------------------------------------------------

    def kept(self, x: Floats, movable: Indices, objective: bool) -> Kept:
        """The rows to keep over movable columns, weights first, the others as they are in ``x``."""
        p, held = self.program, self.held
        matrix, low, high = p.matrix[held], p.row_lower[held], p.row_upper[held]
        fixed = x.copy()
        fixed[movable] = 0.0
        there = matrix @ fixed
        dense = matrix[:, movable].toarray()
        low, high, some = low - there, high - there, np.abs(dense).sum(axis=1) > 0
        equal = (low == high) & some
        up, down = np.isfinite(high) & some & ~equal, np.isfinite(low) & some & ~equal
        left, right = np.vstack([dense[up], -dense[down]]), np.r_[high[up], -low[down]]
        if not objective:  # an objective of the user's stays what it is
            cost = p.cost[movable]
            least = float(cost @ x[movable]) - SAME * (1 + np.abs(cost).sum())
            left, right = np.vstack([left, -cost]), np.r_[right, -least]
        return Kept(left, right, dense[equal], low[equal])

    def movable(self, x: Floats) -> tuple[Indices, Floats, Floats]:
        """The columns that a polish moves, weights first, and their bounds; whole weights stay as they are, and so does
        a 0 where features are counted.
        """
        p, problem, at, w = self.program, self.problem, self.weights, x[self.weights]
        columns = np.r_[at, np.flatnonzero(self.added & ~p.integer)]
        sparse = problem.C > 0 or problem.max_features is not None
        held = p.integer[at] | (sparse & (w == 0) & (p.lower[at] <= 0) & (p.upper[at] >= 0))
        low, high = p.lower[columns], p.upper[columns]
        low[: w.size], high[: w.size] = np.where(held, w, p.lower[at]), np.where(held, w, p.upper[at])
        return columns, low, high

    def candidates(self, x: Floats, share: float) -> list[Floats]:
        """The point, and polished for pairs won by a share of the margin; each scaled, too. Rows may break."""
        p, problem, at = self.program, self.problem, self.weights
        begun = self.rounded(x)
        still = p.integer[at]
        bare = begun.copy()
        bare[at] = np.where(still | (normalised(begun[at], problem.limits) != 0), begun[at], 0.0)
        bare = np.clip(bare, p.lower, p.upper)
        w = bare[at]
        points = [bare, begun]
        pairs = exact.won_pairs(problem, w, share)
        if self.counts:
            won = [ik for ik in self._pairs if bare[self._at("z", ik)] > 0.5]
            pairs = np.unique(np.vstack([pairs, np.array(won, np.intp).reshape(-1, 2)]), axis=0)
        movable, low, high = self.movable(bare)
        if len(pairs) <= exact.MOST_PAIRS:
            kept = self.kept(bare, movable, self.maximises_value)
            if self.counts and self.two_sided:
                kept = self._with_lost(kept, bare)
            found, _ = exact.widest(problem.scaled, pairs, w, low, high, kept)
            if found is not None:
                moved = bare.copy()
                moved[movable] = found
                points.append(np.clip(moved, p.lower, p.upper))
        if problem.rows:
            points += [self._allowed(point) for point in points]
        free = problem.directions_count and self.maximises_value
        return points + ([self._scaled(point, movable) for point in points] if free else [])

    def _not_won(self, x: Floats) -> list[tuple[int, int]]:
        """Pairs that a point of a program with two sides leaves level or below; a pair without ``z`` is lost."""
        asked = map(tuple, self.base.model.rerank_info.layout.gap[0].tolist())
        return [ik for ik in asked if ik not in self._pairs or x[self._at("z", ik)] < 0.5]

    def _with_lost(self, kept: Kept, x: Floats) -> Kept:
        """Pairs that a point does not win stay level or below, where a difference inside the margin is forbidden."""
        lost = np.array(self._not_won(x), np.intp).reshape(-1, 2)
        scaled = self.problem.scaled
        apart = np.pad(scaled[lost[:, 0]] - scaled[lost[:, 1]], ((0, 0), (0, kept.left.shape[1] - scaled.shape[1])))
        return replace(kept, left=np.vstack([kept.left, apart]), right=np.r_[kept.right, np.zeros(len(lost))])

    def _allowed(self, x: Floats) -> Floats:
        """A point with the weights moved to what the constraints of the problem allow."""
        moved = x.copy()
        moved[self.weights] = self.problem.of_norm_one(allowed(self.problem, x[self.weights]))
        return np.clip(moved, self.program.lower, self.program.upper)

    def _scaled(self, x: Floats, movable: Indices) -> Floats:
        size, grown = float(np.abs(x[self.weights]).max(initial=0.0)), x.copy()
        grown[movable] /= size if 1e-9 < size < 1.0 else 1.0
        return grown

    def inside(
        self, x: Floats, claim: float | None, who: str, held: str = ""
    ) -> tuple[VerifiedWeights, Floats, tuple[str, ...]]:
        """The best weights near a solver's point (n,) that keep the user's rows, their point, and remarks; an
        InputError if none do, a CertificateError if they do not reach the ``claim`` of ``who`` on the value, where
        there is one. Both say what has ``held`` the solver's point.
        """
        best: tuple[Any, VerifiedWeights, Floats] | None = None
        ours = self.maximises_value
        for share in exact.CLAIMED_SHARES if ours else (1.0,):
            for number, point in enumerate(self.candidates(x, share)):
                if self.broken(point):
                    continue
                try:
                    found = verified(self.problem, point[self.weights], as_given=True)
                except CertificateError:  # a solver's rounding gives too many features a weight
                    continue
                off = self.missed(point)
                rank = (found.value, off is None or off[1] < SAME, found.certificate.margin or 0)
                if not ours:  # the less an objective of the user's moves, the better
                    rank = (-number, True, 0)
                if best is None or rank > best[0]:
                    best = rank, found, point
            if best is not None and claim is not None and is_closed(claim - best[1].value, claim, summed(self.problem)):
                break
        if best is None:
            row, over = self.broken(self.rounded(x)) or ("", 0.0)
            if not row:  # what the problem itself does not allow, the certificate says
                verified(self.problem, self.rounded(x)[self.weights], as_given=True)
            raise InputError(
                f"The weights of {who} violate {row!r} of your program by {over:.3g} when recomputed exactly, and no "
                f"weights near them keep it; leave some room in that row{held}."
            )
        _, found, point = best
        if claim is None or is_closed(claim - found.value, claim, summed(self.problem)):
            return found, point, ()
        if not exact.within_tolerance(self.problem, self.candidates(x, 1.0)[0][self.weights], claim, as_given=True):
            raise CertificateError(
                f"{who} claims {claim:.9g}, but its weights are worth {found.value:.9g} when recomputed exactly, and "
                f"polishing inside your rows does not restore the claim; leave some room in the rows{held}."
            )
        return found, point, (exact.within_tolerance_only(who, claim, found.value),)


def own_program(
    problem: Problem, formulation: str, program: Program, choices: dict[str, Any], titles: dict[str, str]
) -> OwnProgram:
    """A user's program beside that of the problem, of which it lacks no column and allows none more."""
    base = state(problem, formulation, **choices)
    theirs = {name: j for j, name in enumerate(program.columns)}
    if lost := [name for name in base.program.columns if name not in theirs]:
        raise InputError(
            f"The program {program.name!r} lacks the column {lost[0]!r} of its problem; keep the variables that "
            "build_model made, and fix one that you do not want."
        )
    place = np.array([theirs[name] for name in base.program.columns], dtype=np.intp)
    b = base.program
    wider = (program.lower[place] < b.lower - SAME) | (program.upper[place] > b.upper + SAME)
    if (loose := np.flatnonzero(wider | (b.integer & ~program.integer[place]))).size:
        j = int(loose[0])
        raise InputError(
            f"The program {program.name!r} allows {b.columns[j]!r} more than its problem, "
            f"{'a whole number ' if b.integer[j] else ''}from {b.lower[j]:g} to {b.upper[j]:g}, outside of which its "
            "rows of pairs say nothing; narrow bounds only."
        )
    weights, added, rows = place[b.weights], np.ones(len(program.columns), bool), _own_rows(program, b, place)
    added[place] = False
    counted = ~added
    counted[weights] = False
    return OwnProgram(problem, base, program, place, weights, added, counted, rows, program.matrix[rows], titles)


def _own_rows(program: Program, base: Program, place: Indices) -> Indices:
    """Rows of a program that are not those of the base: by name, entries and sides."""
    known = {name: i for i, name in enumerate(base.rows)}
    pairs = [(i, known[name]) for i, name in enumerate(program.rows) if name in known]
    shared = np.array(pairs, np.intp).reshape(-1, 2)
    moved = sparse.csr_array(
        (base.matrix.data, place[base.matrix.indices], base.matrix.indptr), shape=(len(base.rows), len(program.columns))
    )
    apart = abs(program.matrix[shared[:, 0]] - moved[shared[:, 1]])
    largest = np.asarray(apart.max(axis=1).todense()).ravel() if apart.shape[0] else np.empty(0)
    same = largest <= SAME
    for mine, own in ((program.row_lower, base.row_lower), (program.row_upper, base.row_upper)):
        same &= np.isclose(mine[shared[:, 0]], own[shared[:, 1]], rtol=SAME, atol=SAME)
    return np.setdiff1d(np.arange(len(program.rows)), shared[same, 0])


def choices_of(model: Any) -> dict[str, Any]:
    """The choices with which a model was built and that do not belong to the problem, as plain values of JSON."""
    options = model.rerank_info.layout.instance.options
    given = {"big_m": options.big_m, "linking": options.linking, "cuts": options.cuts}
    given |= {"extra_cuts": options.extra_cuts, "max_nonzeros": options.max_nonzeros, "two_sided": options.two_sided}
    if options.box is not None:
        given["box"] = [np.asarray(side, np.float64).tolist() for side in options.box]
    return given


def check_model(model: Any, problem: Problem) -> None:
    """Refuse what is no model of the fitted problem, and say in what it differs."""
    info: Any = getattr(model, "rerank_info", None)
    instance = getattr(getattr(info, "layout", None), "instance", None)
    if instance is None or info.kind not in ("subrank", "resolved_rank", "mixed", "auc", "pairwise", "pos_top"):
        raise InputError(
            f"{getattr(model, 'name', type(model).__name__)!r} is no model of build_model(); make it with "
            "est.build_model() and add rows to that."
        )
    options, limits = instance.options, problem.limits
    signs = np.zeros(problem.n_features) if options.signs is None else np.asarray(options.signs)
    apart = {
        "rows and columns": np.array_equal(instance.X, problem.scaled),
        "margin": options.margin == problem.epsilon.exact,
        "penalty C": options.C == problem.C,
        "max_features": options.max_features == problem.max_features,
        "normalise": options.by_sum == problem.by_sum,
        "signs of the weights": np.array_equal(signs, problem.signs),
        "constraints": [row[2] for row in options.rows] == [row[2] for row in sides_of(problem)],
        "limits of the corrections": (options.corrections is None) == (limits is None)
        and (limits is None or np.array_equal(options.corrections, limits)),
    }
    apart["labels or statistic"] = not apart["rows and columns"] or _same_lists(instance, problem, info.kind)
    if wrong := [name for name, same in apart.items() if not same]:
        raise InputError(
            f"The model {model.name!r} is of another problem: the {' and the '.join(wrong)} differ from those of this "
            "fit; build it with build_model() of this estimator."
        )


def _same_lists(instance: Any, problem: Problem, kind: str) -> bool:
    if kind == "pairwise":
        return True  # compared column by column when the program is stated again
    from formulations.data import graded_lists

    own = graded_lists(problem.units, problem.X.shape[0])
    return len(own) == len(instance.lists) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(own, instance.lists)
        for name in ("rows", "grade", "factor", "coefficients")
    )
