"""Exceptions of the toolkit: one sentence each, raised at the edge, with what to do."""


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
