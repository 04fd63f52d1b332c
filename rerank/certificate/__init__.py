"""The verifying side recomputes weights, bounds and proofs exactly; no search, solver, Pyomo or compiled code here."""

from rerank.certificate.certificate import Certificate, certify, check_claim, check_weights, recheck, value_of
from rerank.certificate.leaf_boxes import LeafBoxes, leaf_boxes
from rerank.certificate.lists import ideal_value, meets_quotas
from rerank.certificate.proof_check import Verdict, verify_proof
from rerank.certificate.proof_file import load_proof, save_proof
from rerank.certificate.standing import average_of
from rerank.problem import digest
from rerank.ranks.rationals import bound_up, value_down

__all__ = [
    "Certificate",
    "LeafBoxes",
    "Verdict",
    "average_of",
    "bound_up",
    "certify",
    "check_claim",
    "check_weights",
    "digest",
    "ideal_value",
    "leaf_boxes",
    "load_proof",
    "meets_quotas",
    "recheck",
    "save_proof",
    "value_down",
    "value_of",
    "verify_proof",
]
