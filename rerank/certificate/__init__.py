"""The verifying side recomputes weights, bounds and proofs exactly; no search, solver, Pyomo or compiled code here."""

from rerank.certificate.certificate import Certificate, certify, check_claim, check_weights, recheck
from rerank.certificate.leaf_boxes import LeafBoxes, leaf_boxes
from rerank.certificate.proof_check import Verdict, verify_proof
from rerank.certificate.proof_file import load_proof, save_proof

__all__ = [
    "Certificate",
    "LeafBoxes",
    "Verdict",
    "certify",
    "check_claim",
    "check_weights",
    "leaf_boxes",
    "load_proof",
    "recheck",
    "save_proof",
    "verify_proof",
]
