"""The verifying side: weights, bounds and proofs recomputed exactly; imports no search, no solver and no Pyomo."""

from rerank.certificate.certificate import (
    Certificate,
    bound_up,
    certify,
    check_claim,
    check_weights,
    digest,
    ideal_value,
    recheck,
    value_down,
)

__all__ = [
    "Certificate",
    "bound_up",
    "certify",
    "check_claim",
    "check_weights",
    "digest",
    "ideal_value",
    "recheck",
    "value_down",
]
