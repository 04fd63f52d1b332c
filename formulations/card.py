r"""A card: whole-number points of yes/no questions that win the most pairs of rows, where a tie is half a win.

Symbols

=============  ========================================================================================
``g``, ``h``   kinds of rows: rows that answer all questions alike are one kind
``x_gj``       1 when kind ``g`` answers yes to question ``j``
``w_j``        points of question ``j``, a whole number
``u_j, d_j``   1 when question ``j`` has points above 0, and below 0; it is asked when ``u_j + d_j = 1``
``v_jm``       1 when question ``j`` has exactly ``m`` points (only where they are no range on either side of 0)
``f_c``        1 when column ``c`` is asked about (only if columns are limited)
``o_j``        points of question ``j`` above 0 (only if their sum is limited)
``A_gh``       worth of ``g`` above ``h``: relevant times other rows, times the share of their list for a pair
``z_gh``       1 when the total of ``g`` is above that of ``h``; only for ``A_gh > A_hg``
``e_gh``       1 when the total of ``g`` is not below that of ``h``
``D_gh``       difference of totals, ``w.(x_g - x_h)``; at least ``L_gh``, at most ``U_gh`` on any card of the size
=============  ========================================================================================

Maximise ``statistic``: ``sum_gh (A_gh - A_hg) (z_gh + e_gh) / 2`` and a constant, ``A_hg`` of these pairs, ``A_gh`` of
pairs that are worth the same either way and ``A_gg / 2``: with it the optimum is the AUC of the best card, for several
lists the mean of theirs. Each two kinds have one pair of columns, because ``h``
above ``g`` is neither ``z_gh`` nor ``e_gh``; and what a column pays is positive, so that only upper limits are stated.

Subject to

``points_least``, ``points_most``
    ``low_j u_j + least_j d_j <= w_j <= most_j u_j + high_j d_j`` with the points that a question may have in
    ``least_j..high_j`` below 0 and in ``low_j..most_j`` above it.
``points_are``, ``points_side``
    ``w_j = sum_m m v_jm`` and ``u_j = sum_(m > 0) v_jm``, ``d_j = sum_(m < 0) v_jm``, where they are no ranges.
``one_sign``
    ``u_j + d_j <= 1``.
``most_questions``, ``some_question``
    ``1 <= sum_j (u_j + d_j) <= size``.
``needed``
    ``u_j + d_j <= sum_i (u_i + d_i)`` over the questions i that question j needs one of; ``1 <=`` this sum where one
    must be asked.
``apart``
    ``u_j + d_j + u_i + d_i <= 1`` for two questions that exclude each other.
``column_asked``, ``most_columns``
    ``u_j + d_j <= f_c`` for the questions of column ``c``, and ``sum_c f_c <= max_columns``.
``points_above``, ``most_total``
    ``w_j <= o_j``, ``o_j >= 0`` and ``sum_j o_j <= max_total``.
``one_of_column``
    ``sum_j (u_j + d_j) <= 1`` over the questions of a column.
``column_sign``
    ``u_j + d_i <= 1`` for two questions of a column whose points have one sign.
``above``, ``not_below``
    ``D_gh >= L_gh + (1/2 - L_gh) z_gh`` and ``D_gh >= L_gh (1 - e_gh)``: half a point is enough for a win.
``win_asked``
    ``z_gh`` is at most the sum of ``u_j`` over the questions that ``g`` alone answers yes and of ``d_j`` over those
    that ``h`` alone does: a win has a reason. It follows from the rows above at whole numbers, and halves the time.
``above_if``, ``not_below_if``
    ``D_gh <= U_gh z_gh`` and ``D_gh <= (U_gh + 1/2) e_gh - 1/2``; only for pairs that lower the AUC of some people.
``area_inside``
    The AUC among the rows of each kind of people, as a sum over the same columns, is at least ``least_area``.

A question that is asked has points: otherwise a question of no points would count where questions must be asked, and
one must, because no questions at all are no card. So ``u_j`` and ``d_j`` are needed, and not one switch for both.

:func:`build_pessimistic` states the same cards for any coefficients of places, with tied relevant rows last: that is
:mod:`formulations.mixed` with whole-number weights and a margin of half a point, and the rows of points, questions and
columns above. Its optimum is another statistic, and the best card may be another one.

Source: our own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations import mixed
from formulations.common import Assignment, Info, Term, documented, family, linear, maximised, named, prefixes
from formulations.compile import uncollected
from formulations.data import Coefficients, Floats, Indices
from formulations.errors import FormulationError, ModelTooLarge
from formulations.options import rows_of

__all__ = ["CardRules", "build", "build_pessimistic", "most_nonzeros", "assignment"]

MARGIN = 0.5  # points by which a total must be above another one: whole numbers differ by 1, and solvers round
PARTS = {  # prefixes of the short names of columns and rows of cards, and what they mean
    "u": ("u", "ours: 1 when question j has points above 0"),
    "d": ("d", "ours: 1 when question j has points below 0"),
    "v": ("v", "ours: 1 when question j has exactly m points"),
    "f": ("f", "ours: 1 when column c is asked about"),
    "o": ("o", "ours: points of question j above 0"),
    "e": ("e", "ours: 1 when the total of kind g is not below that of kind h"),
    "points_least": ("PL", "ours: a question that is asked has no fewer points than its least"),
    "points_most": ("PM", "ours: a question that is asked has no more points than its most"),
    "points_are": ("PA", "ours: the points of a question are one of its numbers"),
    "points_side": ("PS", "ours: points above 0, or below 0, have their switch"),
    "one_sign": ("OS", "ours: points are above 0 or below 0"),
    "most_questions": ("QM", "ours: a card asks at most so many questions"),
    "some_question": ("QS", "ours: a card asks a question"),
    "needed": ("RN", "ours: who asks a question asks one of those that it needs"),
    "apart": ("RA", "ours: two questions exclude each other"),
    "column_asked": ("CA", "ours: a question is about its column"),
    "most_columns": ("CM", "ours: a card is about at most so many columns"),
    "points_above": ("PO", "ours: what points of a question are above 0"),
    "most_total": ("TM", "ours: points above 0 add up to at most so many"),
    "one_of_column": ("CO", "ours: one question of a column"),
    "column_sign": ("CS", "ours: points of a column have one sign"),
    "above": ("AB", "ours: to be above is half a point more"),
    "not_below": ("NB", "ours: not to be below is no point less"),
    "win_asked": ("WA", "ours: a win has a reason among the questions that are asked"),
    "above_if": ("AI", "ours: half a point more is above"),
    "not_below_if": ("NI", "ours: no point less is not below"),
    "area_inside": ("AR", "ours: the AUC among the rows of each kind of people, in pairs of rows"),
}


# A card that asks some of the first questions asks some of the second ones; None: it asks some of these.
Need = tuple[Iterable[int] | None, Iterable[int]]


@dataclass(frozen=True, eq=False)
class CardRules:
    """Which cards are allowed.

    Attributes
    ----------
    points : int, or sequence of sequences of int
        R for -R to R; or the points that each question may have when it is asked. 0 is left out.
    size : int
        Most questions.
    needs : sequence of (questions or None, questions)
        A card that asks some of the first questions asks some of the second ones, too; with None it asks some of these.
    apart : sequence of (int, int)
        Questions of which a card asks one at most.
    columns : int array (d,), optional
        Column that each question is about.
    one_per_column : False, True or "monotone"
        At most one question of a column; or points of one sign.
    max_columns : int, optional
    max_total : int, optional
        Most that points above 0 add up to: the largest total.
    """

    points: int | Sequence[Sequence[int]] = 5
    size: int = 4
    needs: Sequence[Need] = ()
    apart: Sequence[tuple[int, int]] = ()
    columns: ArrayLike | None = None
    one_per_column: bool | str = False
    max_columns: int | None = None
    max_total: int | None = None

    def domains(self, d: int) -> list[list[int]]:
        """Points that each of ``d`` questions may have."""
        most = self.points
        given = [range(-most, most + 1)] * d if isinstance(most, int) else list(most)
        found = [sorted({int(point) for point in own} - {0}) for own in given]
        if len(found) != d or not all(found):
            raise FormulationError(
                f"points holds {len(found)} sets of points for {d} questions; give each question some other than 0."
            )
        return found


@dataclass(frozen=True, eq=False)
class CardLayout:
    """The program before Pyomo sees it."""

    kinds: Floats  # (G, d): answers of each kind of rows
    pairs: list[tuple[int, int]]  # kinds (g, h)
    gains: list[float]  # what each pair adds when it is won; 0 for pairs that count for people only
    low: Floats  # (pairs,): range of the difference of totals
    high: Floats
    # Of each kind of people, twice the pairs that each pair of kinds adds when won, and how many there must be.
    inside: list[tuple[Floats, float]]
    constant: float
    nonzeros: int  # upper bound on the non-zeros of the rows of pairs
    domains: list[list[int]] = field(default_factory=list)

    @property
    def both(self) -> list[int]:
        """Places of the pairs whose columns must be 1 when they can."""
        return np.flatnonzero(np.any([own < 0 for own, _ in self.inside], axis=0)).tolist() if self.inside else []


@uncollected()
def build(
    X: ArrayLike,
    y: ArrayLike,
    card: CardRules | None = None,
    *,
    weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    people: ArrayLike | None = None,
    least_area: float = 0.0,
    name: str = "card",
    max_nonzeros: int = 5_000_000,
) -> pyo.ConcreteModel:
    """The program of the card with the largest AUC, ties counted one half.

    Parameters
    ----------
    X : array (n, d)
        Answers: 1 for yes, 0 for no.
    y : array (n,)
        1 for a relevant row, 0 for another.
    card : CardRules
        Which cards are allowed.
    weight : array (n,), optional
        How many rows a row stands for.
    qid : array (n,), optional
        List of each row; lists without a pair count nothing.
    query_weight : array (lists,), optional
        Weight of each list in the mean, in the order of their sorted names; equal if omitted.
    people : array (n,), optional
        Kind of person of each row.
    least_area : float
        The AUC among the rows of each kind of people, whatever their list, is at least this.
    name : str
    max_nonzeros : int
        Largest number of non-zeros of the rows of pairs.

    Returns
    -------
    ConcreteModel
        With ``w``, ``u``, ``d``, ``z``, ``e`` (and ``v``, ``f``, ``t``), the families named above and ``rerank_info``.

    Raises
    ------
    FormulationError
        For answers or labels that are neither 0 nor 1, and where no list has a pair.
    ModelTooLarge
        If the rows of pairs may have more than ``max_nonzeros`` non-zeros.
    """
    chosen = CardRules() if card is None else card
    layout = _layout(X, y, chosen, weight, qid, query_weight, people, least_area)
    if layout.nonzeros > max_nonzeros:
        raise ModelTooLarge(
            f"The card program may have up to {layout.nonzeros:,} non-zeros, above the limit of {max_nonzeros:,}; give "
            "fewer questions, so that more rows are alike, or raise max_nonzeros."
        )
    model = pyo.ConcreteModel(name)
    model.rerank_info = Info("card", layout, prefixes(PARTS), 1.0)
    domains = layout.domains
    ends = {j: (min(own[0], 0), max(own[-1], 0)) for j, own in enumerate(domains)}
    model.w = w = pyo.Var(range(len(domains)), domain=pyo.Integers, bounds=ends)
    _add_points(model, domains)
    _add_questions(model, chosen, len(domains))
    model.z = z = pyo.Var(layout.pairs, domain=pyo.Binary)
    model.e = e = pyo.Var(layout.pairs, domain=pyo.Binary)
    paid = [(gain / 2, column[pair]) for pair, gain in zip(layout.pairs, layout.gains) if gain for column in (z, e)]
    model.statistic = maximised(layout.constant, *paid)
    low, high = layout.low.tolist(), layout.high.tolist()
    apart = [
        [(j, float(row[j])) for j in np.flatnonzero(row).tolist()]
        for row in (layout.kinds[g] - layout.kinds[h] for g, h in layout.pairs)
    ]

    def limits(sign: float, column: Any, at: Iterable[int], factor: Sequence[float], side: Sequence[float]) -> Any:
        return family(
            (
                layout.pairs[k],
                linear((factor[k], column[layout.pairs[k]]), *((sign * a, w[j]) for j, a in apart[k])) <= side[k],
            )
            for k in at
        )

    every = range(len(layout.pairs))
    model.above = limits(-1, z, every, [MARGIN - a for a in low], [-a for a in low])
    model.not_below = limits(-1, e, every, [-a for a in low], [-a for a in low])
    reasons = ([(model.u if a > 0 else model.d, j) for j, a in own] for own in apart)
    model.win_asked = family(
        (pair, linear((1, z[pair]), *((-1, side[j]) for side, j in own if j in side)) <= 0)
        for pair, own in zip(layout.pairs, reasons)
    )
    model.above_if = limits(1, z, layout.both, [-b for b in high], [0.0] * len(high))
    model.not_below_if = limits(1, e, layout.both, [-b - MARGIN for b in high], [-MARGIN] * len(high))
    model.area_inside = family(
        (
            number,
            linear(*((a, column[pair]) for a, pair in zip(own.tolist(), layout.pairs) for column in (z, e))) >= least,
        )
        for number, (own, least) in enumerate(layout.inside)
    )
    return documented(model, PARTS)


@uncollected()
def build_pessimistic(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    card: CardRules | None = None,
    *,
    name: str = "card_pessimistic",
    **options: Any,
) -> pyo.ConcreteModel:
    """The program of the card with the best statistic when tied relevant rows come last.

    Parameters
    ----------
    X : array (n, d)
        Answers: 1 for yes, 0 for no.
    y, coefficients
        As for :func:`formulations.mixed.build`, or ``units`` among the options.
    card : CardRules
        Which cards are allowed.
    name : str
    **options
        ``qid``, ``units``, ``constant``, and those of :class:`formulations.options.BuilderOptions` that say how a
        program is written.

    Returns
    -------
    ConcreteModel
        The one of :func:`formulations.mixed.build`, with columns and rows of points, questions and columns.
    """
    chosen = CardRules() if card is None else card
    answers = _answers(X)
    domains = chosen.domains(answers.shape[1])
    box = [min(own[0], 0) for own in domains], [max(own[-1], 0) for own in domains]
    most = int(np.abs(box).max())
    model = mixed.build(answers, y, coefficients, name=name, points=most, box=box, epsilon=MARGIN, **options)
    info = model.rerank_info
    model.rerank_info = replace(info, kind="card_pessimistic", short=info.short | prefixes(PARTS))
    _add_points(model, domains)
    _add_questions(model, chosen, len(domains))
    return documented(model, mixed.PARTS | {**PARTS, "z": ("", "ours")})


def most_nonzeros(X: ArrayLike, y: ArrayLike, card: CardRules | None = None, **options: Any) -> int:
    """Upper bound on the non-zeros of the rows of pairs of the program that :func:`build` makes."""
    return _layout(X, y, CardRules() if card is None else card, **options).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for points ``w``, or the question whose points are not allowed."""
    layout, points = model.rerank_info.layout, np.rint(np.asarray(w, dtype=np.float64))
    pessimistic = model.rerank_info.kind == "card_pessimistic"
    plain = Assignment(named("w", dict(enumerate(points))))
    begun = mixed.assignment(model, points, tolerance) if pessimistic else plain
    if begun.values is None:
        return begun
    values = dict(begun.values)
    asked = points != 0
    for j, point in enumerate(points.tolist()):
        sides = {"u": (model.u, point > 0), "d": (model.d, point < 0)}
        for prefix, (column, there) in sides.items():
            if j in column:
                values |= named(prefix, {j: there})
            elif there:
                return Assignment(None, f"points_{'most' if point > 0 else 'least'}[{j}]: {point:g} points")
    if hasattr(model, "v"):
        values |= named("v", {(j, m): points[j] == m for j, m in model.v})
    if hasattr(model, "o"):
        values |= named("o", {j: max(0.0, points[j]) for j in model.o})
    if hasattr(model, "f"):
        values |= named("f", {c: any(asked[j] for k, j in model.column_asked if k == c) for c in model.f})
    if not pessimistic:
        total = layout.kinds @ points
        values |= named("z", {(g, h): total[g] > total[h] for g, h in layout.pairs})
        values |= named("e", {(g, h): total[g] >= total[h] for g, h in layout.pairs})
    return Assignment(values)


def _add_points(model: pyo.ConcreteModel, domains: Sequence[Sequence[int]]) -> None:
    """The columns ``u``, ``d`` and ``v``, and the rows that give ``w`` points that are allowed."""
    w = model.w
    up = {j: [point for point in own if point > 0] for j, own in enumerate(domains)}
    down = {j: [point for point in own if point < 0] for j, own in enumerate(domains)}
    model.u = u = pyo.Var([j for j, own in up.items() if own], domain=pyo.Binary)
    model.d = d = pyo.Var([j for j, own in down.items() if own], domain=pyo.Binary)
    ranges = {j: all(not own or own[-1] - own[0] == len(own) - 1 for own in (up[j], down[j])) for j in up}

    def sides(j: int, end: int, other: int) -> list[Term]:
        both = [(up[j][end], u[j])] if up[j] else []
        return both + ([(down[j][other], d[j])] if down[j] else [])

    model.points_least = family((j, linear((-1, w[j]), *sides(j, 0, 0)) <= 0) for j, whole in ranges.items() if whole)
    model.points_most = family(
        (j, linear((1, w[j]), *((-a, x) for a, x in sides(j, -1, -1))) <= 0) for j, whole in ranges.items() if whole
    )
    chosen = [j for j, whole in ranges.items() if not whole]
    if chosen:
        model.v = v = pyo.Var([(j, m) for j in chosen for m in domains[j]], domain=pyo.Binary)
        model.points_are = family((j, linear((1, w[j]), *((-m, v[j, m]) for m in domains[j])) == 0) for j in chosen)
        model.points_side = family(
            ((j, side), linear((1, column[j]), *((-1, v[j, m]) for m in own[j])) == 0)
            for side, column, own in (("u", u, up), ("d", d, down))
            for j in chosen
            if own[j]
        )
    model.one_sign = family((j, linear((1, u[j]), (1, d[j])) <= 1) for j in up if up[j] and down[j])


def _add_questions(model: pyo.ConcreteModel, card: CardRules, n: int) -> None:
    """The rows on how many questions are asked, of all, of some and of columns."""
    if not card.size >= 1:
        raise FormulationError(f"size is {card.size}; a card asks at least one question.")
    model.most_questions = pyo.Constraint(expr=linear(*_asked(model, range(n))) <= card.size)
    model.some_question = pyo.Constraint(expr=linear(*_asked(model, range(n))) >= 1)
    needs = [(None if of is None else _known(of, n), _known(own, n)) for of, own in card.needs]
    model.needed = family(
        ((r, j), linear(*_asked(model, [j] if of else [], -1), *_asked(model, own)) >= (0 if of else 1))
        for r, (of, own) in enumerate(needs)
        for j in of or [0]
    )
    model.apart = family(((j, i), linear(*_asked(model, _known((j, i), n))) <= 1) for j, i in card.apart)
    if card.max_total is not None:
        above = [j for j in model.u if model.w[j].ub > 0]
        model.o = o = pyo.Var(above, bounds=lambda _, j: (0, model.w[j].ub))
        model.points_above = family((j, linear((1, model.w[j]), (-1, o[j])) <= 0) for j in above)
        model.most_total = pyo.Constraint(expr=linear(*((1, o[j]) for j in above)) <= card.max_total)
    names = np.arange(n) if card.columns is None else np.asarray(card.columns)
    if names.shape != (n,):
        raise FormulationError(f"columns has shape {names.shape}; give one entry for each of {n} questions.")
    _add_columns(model, card, [np.flatnonzero(names == name).tolist() for name in np.unique(names)])


def _asked(model: pyo.ConcreteModel, questions: Iterable[int], factor: float = 1) -> list[Term]:
    """How many of the questions are asked, with either sign, times the factor."""
    return [(factor, side[j]) for j in questions for side in (model.u, model.d) if j in side]


def _add_columns(model: pyo.ConcreteModel, card: CardRules, columns: list[list[int]]) -> None:
    """The rows on how many columns are asked of, and how many questions of one; each column is its questions."""
    if card.max_columns is not None and card.max_columns < len(columns):
        model.f = f = pyo.Var(range(len(columns)), domain=pyo.Binary)
        model.column_asked = family(
            ((c, j), linear(*_asked(model, [j]), (-1, f[c])) <= 0) for c, own in enumerate(columns) for j in own
        )
        model.most_columns = pyo.Constraint(expr=linear(*((1, f[c]) for c in f)) <= card.max_columns)
    if card.one_per_column == "monotone":
        model.column_sign = family(
            ((j, i), linear((1, model.u[j]), (1, model.d[i])) <= 1)
            for own in columns
            for j in own
            for i in own
            if i != j and j in model.u and i in model.d
        )
    elif card.one_per_column:
        model.one_of_column = family(
            (c, linear(*_asked(model, own)) <= 1) for c, own in enumerate(columns) if len(own) > 1
        )


def _known(questions: Iterable[int], n: int) -> list[int]:
    found = sorted({int(j) for j in questions})
    if not found or found[0] < 0 or found[-1] >= n:
        raise FormulationError(f"A rule names the questions {found}; name some of 0..{n - 1}.")
    return found


def _answers(X: ArrayLike) -> Floats:
    answers = rows_of(X)
    if not np.isin(answers, (0.0, 1.0)).all():
        raise FormulationError("X holds entries that are neither 0 nor 1; give the answers to yes/no questions.")
    return answers


def _numbered(names: ArrayLike | None, n: int, what: str) -> Indices:
    """Numbers of the sorted names; all 0 without names."""
    given = np.zeros(n, np.intp) if names is None else np.asarray(names)
    if given.shape != (n,):
        raise FormulationError(f"{what} has shape {given.shape}; give one entry for each of {n} rows.")
    return np.unique(given, return_inverse=True)[1].reshape(n)


def _layout(
    X: ArrayLike,
    y: ArrayLike,
    card: CardRules,
    weight: Any = None,
    qid: Any = None,
    query_weight: Any = None,
    people: Any = None,
    least_area: float = 0.0,
) -> CardLayout:
    answers, labels = _answers(X), np.asarray(y, dtype=np.float64)
    n, d = answers.shape
    counts = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if labels.shape != (n,) or counts.shape != (n,) or not np.isin(labels, (0.0, 1.0)).all():
        raise FormulationError(f"y and weight must hold one entry for each of {n} rows, and y 1 or 0.")
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise FormulationError("Weights of rows must be finite and not negative.")
    kinds, kind = np.unique(answers, axis=0, return_inverse=True)
    lists = _numbered(qid, n, "qid")
    p, q = _counted(kind.reshape(n), lists, counts * labels, counts * (1 - labels))
    share = np.ones(p.shape[1]) if query_weight is None else np.asarray(query_weight, dtype=np.float64)
    if share.shape != (p.shape[1],):
        raise FormulationError(f"query_weight has shape {share.shape}; give one entry for each of {p.shape[1]} lists.")
    number = p.sum(axis=0) * q.sum(axis=0)
    share = np.where(number > 0, share, 0.0)
    if not share.sum() > 0:
        raise FormulationError("No list has a relevant row and another one: there is no pair to win.")
    scale = np.divide(share / share.sum(), number, out=np.zeros(number.size), where=number > 0)
    worth = p * scale @ q.T
    inside = []
    if least_area > 0:
        inside = _inside(kind.reshape(n), _numbered(people, n, "people"), counts, labels, least_area)
    gain = worth - worth.T
    # What rounding leaves of a pair that is worth the same either way.
    gain[np.abs(gain) < 1e-14 * (worth + worth.T)] = 0.0
    g, h = np.nonzero((gain > 0) | np.triu((gain == 0) & np.any([own != own.T for own, _ in inside], axis=0)))
    domains = card.domains(d)
    low, high = _range(kinds, g, h, domains, card.size)
    constant = float(np.triu(np.minimum(worth, worth.T), 1).sum() + np.trace(worth) / 2)
    of_people = [
        # Twice the pairs, because both columns of a pair count one; the sum less all gains is there without any.
        (own[g, h] - own[h, g], least - float(own.sum()) + float((own[g, h] - own[h, g]).sum()))
        for own, least in inside
    ]
    layout = CardLayout(
        kinds, list(zip(g.tolist(), h.tolist())), gain[g, h].tolist(), low, high, of_people, constant, 0, domains
    )
    entries = np.count_nonzero(kinds[g] != kinds[h], axis=1) + 1
    nonzeros = int(3 * entries.sum() + 2 * entries[layout.both].sum()) + 2 * len(g) * len(inside)
    return replace(layout, nonzeros=nonzeros)


def _counted(kind: Indices, part: Indices, relevant: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Relevant and other rows of each kind in each part, (kinds, parts)."""
    found = np.zeros((2, int(kind.max()) + 1, int(part.max()) + 1))
    for side, count in zip(found, (relevant, other)):
        np.add.at(side, (kind, part), count)
    return found[0], found[1]


def _inside(kind: Indices, people: Indices, counts: Floats, labels: Floats, least: float) -> list[tuple[Floats, float]]:
    """Of each kind of people the pairs of each two kinds of rows, and twice the least number that must be won."""
    p, q = _counted(kind, people, counts * labels, counts * (1 - labels))
    whole, found = bool((counts == np.rint(counts)).all()), []
    for own in map(np.outer, p.T, q.T):
        if pairs := float(own.sum()):
            twice = 2 * least * pairs - 1e-9 * pairs
            # Whole numbers leave room for the tolerance of solvers, and so for decimals that are no doubles.
            found.append((own, ceil(twice) - 0.5 if whole else twice))
    return found


def _range(kinds: Floats, g: Indices, h: Indices, domains: Sequence[Sequence[int]], size: int) -> tuple[Floats, Floats]:
    """Least and largest difference of totals of two kinds on a card of at most ``size`` questions."""
    least = np.array([min(own[0], 0) for own in domains], dtype=np.float64)
    most = np.array([max(own[-1], 0) for own in domains], dtype=np.float64)
    difference = kinds[g] - kinds[h]
    ends = [np.where(difference > 0, a, -b) * (difference != 0) for a, b in ((most, least), (-least, -most))]
    high, low = (np.sort(own, axis=1)[:, ::-1][:, :size].sum(axis=1) for own in ends)
    return -low, high
