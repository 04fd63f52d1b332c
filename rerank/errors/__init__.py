"""How a call ends early: exceptions of ours, one sentence each with what to do, and stops."""

from collections.abc import Iterable


class RerankError(Exception):
    """Base of every error the toolkit raises on purpose."""


class InputError(RerankError, ValueError):
    """The caller's data or options cannot be used as they are."""


class OutputError(InputError):
    """A file, or standard output, cannot be written."""


class NotSupportedError(InputError):
    """A combination of options that is well formed but not offered."""


class InfeasibleError(InputError):
    """Constraints that no weights of the fit can satisfy."""


class SolverError(RerankError, RuntimeError):
    """A solver failed, is missing, or answered something that cannot be read."""


class CertificateError(RerankError):
    """An exact re-evaluation contradicts what was claimed."""


class LeakWarning(UserWarning):
    """A column of the training table tells the label."""


class InputWarning(UserWarning):
    """What was given can be used, and is most likely not what was meant."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that looks most like ``word``, for a sentence that asks "did you mean"."""
    names = list(known)
    same = [name for name in names if name.casefold() == word.casefold()]
    return (same or similar(word, names, most=1, cutoff=0.0))[0]


def similar(word: str, known: Iterable[str], most: int = 3, cutoff: float = 0.5) -> list[str]:
    """The known names that look like ``word``, the most similar first; ``cutoff`` is from 0 (any) to 1 (equal)."""
    from difflib import get_close_matches

    return get_close_matches(word, list(known), n=most, cutoff=cutoff)


def unknown(what: str, word: object, known: Iterable[str], meant: str | None = None) -> InputError:
    """The error for a name that means nothing; ``meant`` replaces the nearest known name, or is empty for none."""
    names = list(known)
    meant = nearest(str(word), names) if meant is None else meant
    asked = f"; did you mean {meant!r}?" if meant else "."
    return InputError(f"Unknown {what} {word!r}{asked} Known: {', '.join(names)}.")
