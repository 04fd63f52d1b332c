"""Exceptions of the toolkit: one sentence each, raised at the edge, with what to do."""

from __future__ import annotations

from collections.abc import Iterable


class RerankError(Exception):
    """Base of every error the toolkit raises on purpose."""


class InputError(RerankError, ValueError):
    """The caller's data or options cannot be used as they are."""


class NotSupportedError(InputError):
    """A combination of options that is well formed but not offered."""


class NoSolutionError(RerankError):
    """A solver stopped without holding any solution."""


class SolverError(RerankError, RuntimeError):
    """A solver failed, is missing, or answered something that cannot be read."""


class CertificateError(RerankError):
    """An exact re-evaluation contradicts what was claimed."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that looks most like ``word``, for a sentence that asks "did you mean"."""
    from difflib import get_close_matches

    return get_close_matches(word, list(known), n=1, cutoff=0.0)[0]
