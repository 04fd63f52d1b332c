"""Claims about weights compared with their certificate, and certificates compared with the problem."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from rerank.certificate.certificate import Certificate, certify
from rerank.errors import CertificateError
from rerank.problem import Problem

Number = float | Fraction


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
    for name, claim, exact in (
        ("value", value, certificate.value),
        ("statistic", statistic, certificate.statistic),
    ):
        if claim is not None and not claim - tolerance <= exact:
            raise CertificateError(
                f"A {name} of {_shown(claim)} was claimed, but the weights are worth {_shown(exact)} when recomputed "
                "exactly; do not use this result, and take solver='search' if a solver reported it."
            )
    if bound is not None and not bound + tolerance >= certificate.value:
        raise CertificateError(
            f"A bound of {_shown(bound)} was claimed, but these weights are worth {_shown(certificate.value)}, which "
            "is more; the proof is wrong, do not use it."
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


def _shown(value: Any) -> str:
    return f"{float(value):.17g}" if isinstance(value, (float, Fraction)) else repr(value)
