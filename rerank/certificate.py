r"""The judge: what weights are worth, recomputed in exact rational arithmetic from the stored doubles.

Features, scaling, coefficients, gains, weights of lists, margin and price are taken as the doubles they are stored
in, and from there on nothing is rounded: ``(x - low) / (high - low)`` is a quotient of integers, a pair is won when
its difference reaches epsilon exactly.  Nothing that proposes weights is imported here.

>>> import numpy as np
>>> from rerank.certificate import certify
>>> from rerank.problem import problem_of
>>> from rerank.statistics import AUC
>>> problem = problem_of([[0.0], [1.0], [2.0]], np.array([0.0, 0.0, 1.0]), AUC(), epsilon=0.1)
>>> certificate = certify(problem, [1.0])
>>> certificate.value, certificate.margin, certificate.pairs_won
(Fraction(1, 1), Fraction(1, 2), 2)
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, RankedList
from rerank.ranks import count_lost, dense_codes, reach, value_of_lost
from rerank.rationals import (
    as_integers,
    bound_up,
    common_denominator,
    exact_sum,
    from_text,
    to_text,
    value_down,
)

__all__ = [
    "Certificate",
    "bound_up",
    "certify",
    "check_claim",
    "digest",
    "ideal_value",
    "recheck",
    "value_down",
]

Floats = NDArray[np.float64]
Number = float | Fraction


@dataclass(frozen=True)
class Certificate:
    """What weights are worth on a problem, exactly.

    Attributes
    ----------
    value : Fraction
        ``V(w) - C |w|_0`` at the problem's margin, in the unit of ``evaluate``.
    statistic : Fraction
        The statistic of the ranking itself: no margin, no price, ties against the relevant item.
    margin : Fraction or None
        Smallest difference of scaled scores among the pairs won; None when no pair is won.
    pairs_won, pairs : int
        Pairs of a larger above a smaller gain in one list: those that reach epsilon, and all.
    near_misses : int
        Pairs in the right order whose difference does not reach epsilon.
    weights : tuple of float
        The weights, in scaled space.
    epsilon, C : float
    data_sha256 : str
        Digest of the problem, see :func:`digest`.
    """

    value: Fraction
    statistic: Fraction
    margin: Fraction | None
    pairs_won: int
    pairs: int
    near_misses: int
    weights: tuple[float, ...]
    epsilon: float
    C: float
    data_sha256: str

    @property
    def value_down(self) -> float:
        """The value as a double that does not overstate it."""
        return value_down(self.value)

    @property
    def n_features(self) -> int:
        """Number of non-zero weights."""
        return sum(weight != 0 for weight in self.weights)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: fractions and doubles as hexadecimal text."""
        plain: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("value", "statistic", "margin"):
            plain[name] = None if plain[name] is None else to_text(plain[name])
        return plain | {
            "weights": [weight.hex() for weight in self.weights],
            "epsilon": self.epsilon.hex(),
            "C": self.C.hex(),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Certificate:
        """The certificate :meth:`to_dict` wrote.

        Raises
        ------
        InputError
            For anything that is not one.
        """
        try:
            margin = plain["margin"]
            counts = {name: int(plain[name]) for name in ("pairs_won", "pairs", "near_misses")}
            return cls(
                value=from_text(plain["value"]),
                statistic=from_text(plain["statistic"]),
                margin=None if margin is None else from_text(margin),
                weights=tuple(float.fromhex(weight) for weight in plain["weights"]),
                epsilon=float.fromhex(plain["epsilon"]),
                C=float.fromhex(plain["C"]),
                data_sha256=str(plain["data_sha256"]),
                **counts,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"This is not a certificate ({error!r}); write one with to_dict().") from None


def certify(problem: Problem, w: ArrayLike) -> Certificate:
    """Judge weights exactly; ``n log n`` comparisons of integers per list.

    Parameters
    ----------
    problem : Problem
    w : array (d,)
        Weights in scaled space.

    Returns
    -------
    Certificate

    Raises
    ------
    InputError
        When there is not one finite number per feature, or the data hold a missing value.
    CertificateError
        When the weights are not allowed: neither ``max|w_j| = 1`` nor all zero, a sign or the support limit broken.
    """
    weights = np.asarray(w, dtype=np.float64)
    check_weights(problem, weights)
    scores, unit = _scores(problem, weights)
    # Scores are integers over `unit`, so a difference misses epsilon exactly when it is below the next integer.
    margin = math.ceil(Fraction(problem.epsilon) * unit)
    judged = [_judge_list(item, scores, margin) for item in problem.lists]
    margins = [one.margin for one in judged if one.margin is not None]
    price = Fraction(problem.C) * int(np.count_nonzero(weights))
    return Certificate(
        value=_mean(problem, [one.value for one in judged]) - price,
        statistic=_mean(problem, [one.statistic for one in judged]),
        margin=Fraction(min(margins), unit) if margins else None,
        pairs_won=sum(one.won for one in judged),
        pairs=sum(one.pairs for one in judged),
        near_misses=sum(one.near for one in judged),
        weights=tuple(weights.tolist()),
        epsilon=problem.epsilon,
        C=problem.C,
        data_sha256=digest(problem),
    )


def check_weights(problem: Problem, weights: Floats) -> None:
    """Refuse weights outside the problem's set; see :func:`certify`."""
    if weights.shape != (problem.n_features,) or not np.isfinite(weights).all():
        raise InputError(
            f"Weights of shape {weights.shape} were given; the problem needs {problem.n_features} finite numbers."
        )
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest not in (0.0, 1.0):
        raise CertificateError(
            f"The largest weight is {largest!r} in size; divide the weights by it, so that it is 1 (or all are 0)."
        )
    broken = np.flatnonzero(weights * problem.signs < 0)
    if broken.size:
        j = int(broken[0])
        wanted = "positive" if problem.signs[j] > 0 else "negative"
        raise CertificateError(
            f"The weight of feature {j} is {weights[j]!r}, but only {wanted} ones are allowed."
        )
    used = int(np.count_nonzero(weights))
    if problem.max_features is not None and used > problem.max_features:
        raise CertificateError(
            f"{used} features have a weight, but at most {problem.max_features} are allowed."
        )


def check_claim(
    certificate: Certificate,
    value: Number | None = None,
    bound: Number | None = None,
    statistic: Number | None = None,
    tolerance: Number = 0,
) -> None:
    """Compare what was claimed with what is so.

    Parameters
    ----------
    certificate : Certificate
    value, statistic : number, optional
        Claimed value and statistic; they may fall short of the exact ones, but not exceed them.
    bound : number, optional
        Claimed bound on every value; it must be at least the exact value.
    tolerance : number
        Forgiven difference.

    Raises
    ------
    CertificateError
        For the first claim that does not hold, with both numbers.
    """
    for name, claim, exact in (
        ("value", value, certificate.value),
        ("statistic", statistic, certificate.statistic),
    ):
        if claim is not None and not claim - tolerance <= exact:
            raise CertificateError(
                f"A {name} of {_shown(claim)} was claimed, but the weights are worth {_shown(exact)} when recomputed "
                "exactly; do not use this result, and raise epsilon if a solver reported it."
            )
    if bound is not None and not bound + tolerance >= certificate.value:
        raise CertificateError(
            f"A bound of {_shown(bound)} was claimed, but these weights are worth {_shown(certificate.value)}, which "
            "is more; the proof is wrong, do not use it."
        )


def recheck(problem: Problem, certificate: Certificate) -> Certificate:
    """Judge a certificate's weights again on a problem and compare every entry.

    Raises
    ------
    CertificateError
        Naming the first entry that differs: other data, other options, or a certificate that was altered.
    """
    again = certify(problem, certificate.weights)
    names = [field.name for field in fields(Certificate)]
    for name in sorted(names, key=lambda name: name != "data_sha256"):
        stated, found = getattr(certificate, name), getattr(again, name)
        if stated != found:
            hint = "these are not the data it was made from" if name == "data_sha256" else "it was altered"
            raise CertificateError(
                f"The certificate states {name} = {_shown(stated)}, recomputed it is {_shown(found)}: {hint}."
            )
    return again


def ideal_value(problem: Problem) -> Fraction:
    """Exact value of lists with every larger gain above every smaller one: no weights can be worth more."""
    return _mean(problem, [_raw(item, *_ideal_order(item)) for item in problem.lists])


def digest(problem: Problem) -> str:
    """SHA-256 of everything the value depends on, in little-endian doubles and 64-bit integers."""
    sha = hashlib.sha256(b"rerank problem 1")
    limit = -1 if problem.max_features is None else problem.max_features
    shape = [*problem.X.shape, len(problem.lists), limit, *problem.signs.tolist()]
    for part in _parts(problem, shape):
        # Adding zero makes the two zeros one, so that equal data have equal digests.
        sha.update((part + 0).astype("<f8" if part.dtype.kind == "f" else "<i8").tobytes())
    return sha.hexdigest()


def _parts(problem: Problem, shape: list[int]) -> Iterator[NDArray[Any]]:
    yield np.array(shape, dtype=np.int64)
    yield np.array([problem.epsilon, problem.C])
    yield from (problem.X, problem.low, problem.high)
    for item in problem.lists:
        yield np.array([item.rows.size, *item.rows], dtype=np.int64)
        yield from (item.gains, item.coefficients, np.array([item.weight, item.constant, item.scale]))


@dataclass(frozen=True)
class _Judged:
    """One list: its raw values over what they are divided by, its pairs, its smallest won difference."""

    value: Fraction
    statistic: Fraction
    won: int
    near: int
    pairs: int
    margin: int | None


def _scores(problem: Problem, weights: Floats) -> tuple[NDArray[Any], int]:
    """Scaled scores up to a constant, as integers over a common unit; rows that stand in no list stay 0."""
    scores = np.zeros(problem.X.shape[0], dtype=object)
    support = np.flatnonzero(weights)
    used = np.unique(np.concatenate([item.rows for item in problem.lists]))
    if not np.isfinite(problem.X[np.ix_(used, support)]).all():
        raise InputError("The data hold a missing or infinite value; the certificate needs finite numbers.")
    columns, factors = [], []
    for j in support:
        numerators, denominator = as_integers(problem.X[used, j])
        width = Fraction(problem.high[j]) - Fraction(problem.low[j])
        columns.append(numerators)
        factors.append(Fraction(weights[j]) / width / denominator)
    # Shifting by low moves all scores alike and is left out: only differences count.
    multipliers, unit = common_denominator(factors)
    for column, multiplier in zip(columns, multipliers):
        scores[used] += column * multiplier
    return scores, unit


def _judge_list(item: RankedList, scores: NDArray[Any], margin: int) -> _Judged:
    distinct, codes = dense_codes(scores[item.rows])
    with_margin = reach(distinct, margin)[codes]
    won = near = pairs = 0
    margins = []
    for gain in item.thresholds():
        mine, others = codes[item.gains == gain], np.sort(codes[item.gains < gain])
        beaten = np.searchsorted(others, with_margin[item.gains == gain], side="left")
        ahead = np.searchsorted(others, mine, side="left")
        won, near = won + int(beaten.sum()), near + int((ahead - beaten).sum())
        pairs += mine.size * others.size
        some = beaten > 0
        margins += (distinct[mine[some]] - distinct[others[beaten[some] - 1]]).tolist()
    value, statistic = _raw(item, codes, with_margin), _raw(item, codes, codes)
    return _Judged(value, statistic, won, near, pairs, min(margins, default=None))


def _raw(item: RankedList, codes: NDArray[np.intp], reached: NDArray[np.intp]) -> Fraction:
    """Value of one list in the unit of ``evaluate``."""
    levels, gain_unit = as_integers(item.thresholds())
    coefficients, coefficient_unit = as_integers(item.coefficients)
    total = previous = 0
    for gain, level in zip(item.thresholds(), levels.tolist()):
        lost = count_lost(codes, reached, item.gains >= gain)
        total += (level - previous) * value_of_lost(lost, coefficients)
        previous = level
    raw = Fraction(total, gain_unit * coefficient_unit)
    return (raw + Fraction(item.constant)) / Fraction(item.scale)


def _ideal_order(item: RankedList) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    codes = dense_codes(item.gains)[1]
    return codes, codes


def _mean(problem: Problem, values: list[Fraction]) -> Fraction:
    weights = [Fraction(item.weight) for item in problem.lists]
    return exact_sum(weight * value for weight, value in zip(weights, values)) / exact_sum(weights)


def _shown(value: Any) -> str:
    return f"{float(value):.17g}" if isinstance(value, (float, Fraction)) else repr(value)
