"""Proofs as files: an archive of plain arrays and a JSON header (:mod:`rerank.io.archive`)."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.archive import Format, cut, lengths_of, read_archive, refusing, write_archive
from rerank.io.bounded import Json
from rerank.problem.proof import VERSION, Circuits, Proof

KINDS = {"weights": "<f8", "flip": "|i1", **dict.fromkeys(("support_sizes", "supports", "line_counts"), "<i4")}
KINDS |= {"lines": "<i8", "codes": "<u2"}
KINDS |= {"multipliers": "<i8"}
KINDS |= {f"circuit_{name}": "<i8" for name in ("sizes", "pairs", "multipliers", "shares", "least")}
FORM = Format("exact-rerank proof", VERSION, KINDS, most_bytes=1 << 27, optional=("multipliers",))
"""All arrays together hold at most 67 million codes; a search would need several gigabytes to put them in order."""
MOST_SUPPORTS = 2_000_000  # each is an object of about 150 bytes


class ProofTooLargeError(InputError):
    """A proof is larger than what is read back, so it is not written."""


def save_proof(proof: Proof, path: str | os.PathLike[str]) -> None:
    """Write a proof, whole or not at all; equal proofs make equal bytes.

    Raises
    ------
    InputError
        The file cannot be written, or the proof is larger than what is read back (`ProofTooLargeError`).
    """
    supports = [np.asarray(s) for s in proof.supports]
    arrays: dict[str, NDArray[Any]] = {
        "weights": proof.weights,
        "flip": proof.flip,
        "support_sizes": np.array([s.size for s in supports]),
        "supports": np.concatenate([np.empty(0, np.intp), *supports]),
        "line_counts": np.array([len(m) for m in proof.lines]),
        "lines": np.concatenate([np.empty((0, 2), np.int64), *(m.reshape(-1, 2) for m in proof.lines)]),
        "codes": proof.codes,
        "multipliers": proof.multipliers,
        **(proof.circuits or Circuits.none()).arrays(),
        "circuit_shares": np.empty(0),
    }
    header = {
        "value": float(proof.value).hex(),
        "bound": float(proof.bound).hex(),
        "left_out": None if proof.left_out is None else int(proof.left_out),
        "fingerprint": proof.fingerprint,
    }
    try:
        _check_supports(lengths_of(FORM, arrays))
    except ValueError as error:
        raise ProofTooLargeError(
            f"The proof cannot be written to {path}: {error}; set a node_limit, or lower max_features."
        ) from None
    write_archive(path, FORM, header, arrays)


def load_proof(path: str | os.PathLike[str]) -> Proof:
    """Read a proof; :func:`rerank.certificate.verify_proof` says whether it holds.

    Raises
    ------
    InputError
        The file cannot be read, is no proof, or is damaged.
    """
    with refusing(path, "proof", "write it again with save_proof"):
        return _proof(*read_archive(path, FORM))


def _proof(header: Json, arrays: dict[str, NDArray[Any]]) -> Proof:
    _check_supports(header["lengths"])
    left_out, fingerprint = header["left_out"], header["fingerprint"]
    if not (left_out is None or type(left_out) is int) or not isinstance(fingerprint, str):
        raise ValueError("its header is not complete")
    lines = arrays["lines"].reshape(-1, 2)
    if arrays["circuit_shares"].any():
        raise InputError("Its bound adds up shares of pairs, which is no longer checked; fit again with proof=True.")
    return Proof(
        value=float.fromhex(header["value"]),
        bound=float.fromhex(header["bound"]),
        weights=arrays["weights"],
        flip=arrays["flip"],
        left_out=left_out,
        supports=tuple(cut(arrays["supports"].astype(np.intp), arrays["support_sizes"])),
        codes=arrays["codes"],
        lines=tuple(cut(lines, arrays["line_counts"])),
        fingerprint=fingerprint,
        circuits=Circuits.of(arrays) if arrays["circuit_sizes"].size else None,
        multipliers=arrays["multipliers"].astype(np.int64),
    )


def _check_supports(lengths: dict[str, int]) -> None:
    if lengths["support_sizes"] > MOST_SUPPORTS or lengths["line_counts"] > MOST_SUPPORTS:
        raise ValueError(f"it lists more than {MOST_SUPPORTS} supports")
