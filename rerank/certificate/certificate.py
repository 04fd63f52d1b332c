r"""Certificates: what weights are worth, recomputed in rational arithmetic from the stored doubles.

Features, scaling, coefficients, gains, weights of lists and penalty are taken as the doubles they are stored in, the
margin as the rational that was written, and nothing is rounded from there on: ``(x - low) / (high - low)`` is a
quotient of integers, and a pair is won when its difference reaches epsilon exactly.  Nothing that proposes weights is
imported here.

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

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.certificate.lists import Counted, check_quotas, counted_pairs
from rerank.certificate.standing import ExactOrder, standing
from rerank.errors import CertificateError, InputError
from rerank.io.bounded import Json
from rerank.io.margin import LARGEST
from rerank.problem import Margin, Problem, digest
from rerank.problem.lists import Floats
from rerank.problem.rows import broken
from rerank.ranks.rationals import from_text, to_text, value_down

Number = float | Fraction


@dataclass(frozen=True)
class Certificate:
    """What weights are worth on a problem, exactly.

    Attributes
    ----------
    value : Fraction
        ``V(w) - C |w|_0`` at the problem's margin, in the unit of ``evaluate``.
    statistic : Fraction
        The statistic of the ranking itself: no margin, no penalty, ties against the relevant item.
    margin : Fraction or None
        Smallest difference of scaled scores among the pairs won; None when no pair is won.
    pairs_won, pairs : int
        Pairs of a larger above a smaller gain in one list: those that reach epsilon, and all.
    near_misses : int
        Pairs in the right order whose difference does not reach epsilon.
    weights : tuple of float
        The weights, in scaled space.
    epsilon : Margin
    C : float
    data_sha256 : str
        :func:`rerank.problem.digest` of the problem.
    """

    value: Fraction
    statistic: Fraction
    margin: Fraction | None
    pairs_won: int
    pairs: int
    near_misses: int
    weights: tuple[float, ...]
    epsilon: Margin
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

    def to_dict(self) -> Json:
        """Plain values for JSON: fractions and doubles as hexadecimal text."""
        plain: Json = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("value", "statistic", "margin"):
            plain[name] = None if plain[name] is None else to_text(plain[name])
        return plain | {
            "weights": [weight.hex() for weight in self.weights],
            "epsilon": self.epsilon.text,
            "C": self.C.hex(),
        }

    @classmethod
    def from_dict(cls, plain: Json) -> Certificate:
        """The certificate :meth:`to_dict` wrote; InputError for anything else."""
        try:
            margin = plain["margin"]
            counts = {name: int(plain[name]) for name in ("pairs_won", "pairs", "near_misses")}
            return cls(
                value=from_text(plain["value"]),
                statistic=from_text(plain["statistic"]),
                margin=None if margin is None else from_text(margin),
                weights=tuple(float.fromhex(weight) for weight in plain["weights"]),
                epsilon=Margin.from_text(plain["epsilon"]),
                C=float.fromhex(plain["C"]),
                data_sha256=str(plain["data_sha256"]),
                **counts,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"This is not a certificate ({repr(error)[:120]}); write one with to_dict().") from None


def certify(problem: Problem, w: ArrayLike, as_given: bool = False) -> Certificate:
    """Recompute exactly what weights are worth; ``n log n`` comparisons of integers a list.

    Parameters
    ----------
    problem : Problem
    w : array (d,)
        Weights in scaled space.
    as_given : bool
        Take free weights with ``max|w_j| < 1``, too, at the margin as it is. Divided by ``max|w_j|`` they would be
        worth as much or more, so a bound on weights of size 1 bounds them.

    Returns
    -------
    Certificate

    Raises
    ------
    InputError
        When there is not one finite number per feature, or the data hold a missing value.
    CertificateError
        When the weights are not allowed: ``max|w_j|`` neither 0 nor from 1 to 2^20, a wrong sign, too many features;
        outside the limits of an anchored problem; a constraint that they break, or an order that does not meet a quota.
    """
    weights = np.asarray(w, dtype=np.float64)
    placed, found, value = _counted(problem, weights, as_given)
    margin, norm = placed.smallest(*found.narrowest), problem.norm(weights)
    return Certificate(
        value=value,
        statistic=found.statistic,
        margin=None if margin is None else margin / norm,
        pairs_won=found.won,
        pairs=found.pairs,
        near_misses=found.near,
        weights=tuple(weights.tolist()),
        epsilon=problem.epsilon,
        C=problem.C,
        data_sha256=digest(problem),
    )


def value_of(problem: Problem, weights: Floats) -> Fraction:
    """The exact value of weights alone; see :func:`certify`."""
    return _counted(problem, weights, False)[2]


def _counted(problem: Problem, weights: Floats, as_given: bool) -> tuple[ExactOrder, Counted, Fraction]:
    """Who stands where by allowed weights, the lists by that, and the value."""
    check_weights(problem, weights, as_given)
    placed = standing(problem, weights, problem.epsilon.exact * problem.norm(weights))
    check_quotas(problem, placed.codes)
    found = counted_pairs(problem, placed.codes, placed.reached)
    return placed, found, found.value - Fraction(problem.C) * problem.used(weights)


def check_weights(problem: Problem, weights: Floats, as_given: bool = False) -> None:
    """Refuse weights outside the problem's set; see :func:`certify`."""
    if weights.shape != (problem.n_features,) or not np.isfinite(weights).all():
        raise InputError(
            f"Weights of shape {weights.shape} were given; the problem needs {problem.n_features} finite numbers."
        )
    _check_ends(problem, weights, as_given)
    used = problem.used(weights)
    if problem.max_features is not None and used > problem.max_features:
        raise CertificateError(f"{used} features have a weight, but at most {problem.max_features} are allowed.")
    if (row := broken(problem.rows, weights)) is not None:
        raise CertificateError(f"The weights break the constraint {row.text!r}, recounted exactly; fit again.")


def _check_ends(problem: Problem, weights: Floats, as_given: bool) -> None:
    """Refuse weights outside the limits, or on the wrong side of 0, or in no normal form."""
    if problem.limits is not None:
        outside = np.flatnonzero((weights < problem.limits[0]) | (weights > problem.limits[1]))
        if outside.size:
            j = int(outside[0])
            low, high = (float(side[j]) for side in problem.limits)
            raise CertificateError(
                f"The weight of feature {j} is {float(weights[j])!r}, but only {low!r} to {high!r} is allowed."
            )
        return
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest == 0 and problem.by_sum:
        raise CertificateError("All weights are 0, and no multiple of them has the sum 1; give others.")
    if largest > LARGEST or (0.0 < largest < 1.0 and not as_given):
        raise CertificateError(
            f"The largest weight is {largest!r} in size, and 1 to {LARGEST:,}, or 0 for all, is allowed; divide the "
            "weights by it."
        )
    broken = np.flatnonzero(weights * problem.signs < 0)
    if broken.size:
        j = int(broken[0])
        wanted = "positive" if problem.signs[j] > 0 else "negative"
        raise CertificateError(
            f"The weight of feature {j} is {float(weights[j])!r}, but only {wanted} ones are allowed."
        )


def check_claim(
    certificate: Certificate,
    value: Number | None = None,
    bound: Number | None = None,
    statistic: Number | None = None,
    tolerance: Number = 0,
) -> None:
    """Compare what was claimed with what a certificate found.

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
    for name, claim, exact in (("value", value, certificate.value), ("statistic", statistic, certificate.statistic)):
        if claim is not None and not claim - tolerance <= exact:
            raise CertificateError(
                f"A {name} of {_as_text(claim)} was claimed, but the weights are worth {_as_text(exact)} when "
                "recomputed exactly; do not use this result, and take solver='search' if a solver reported it."
            )
    if bound is not None and not bound + tolerance >= certificate.value:
        raise CertificateError(
            f"A bound of {_as_text(bound)} was claimed, but these weights are worth {_as_text(certificate.value)}, "
            "which is more; the proof is wrong, do not use it."
        )


def recheck(problem: Problem, certificate: Certificate) -> Certificate:
    """Certify a certificate's weights again on a problem and compare every entry.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate

    Returns
    -------
    Certificate
        The one found, equal to the one given.

    Raises
    ------
    CertificateError
        Naming the first entry that differs: other data, other options, or a certificate that was altered.
    """
    again = certify(problem, certificate.weights, as_given=True)
    names = [field.name for field in fields(Certificate)]
    for name in sorted(names, key=lambda name: name != "data_sha256"):
        stated, found = getattr(certificate, name), getattr(again, name)
        if stated != found:
            hint = "these are not the data it was made from" if name == "data_sha256" else "it was altered"
            raise CertificateError(
                f"The certificate states {name} = {_as_text(stated)}, recomputed it is {_as_text(found)}: {hint}."
            )
    return again


def _as_text(value: Any) -> str:
    return f"{float(value):.17g}" if isinstance(value, (float, Fraction)) else repr(value)
