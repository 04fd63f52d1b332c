"""The options of ``rerank fuse``, from text to what a fit takes."""

from __future__ import annotations

from typing import Any

from rerank.errors import InputError


def names_of(text: str | None) -> str | list[str] | None:
    """Normalisers with commas between, or "auto"."""
    if text is None or text == "auto":
        return text
    return [name.strip() for name in text.split(",") if name.strip()]


def prior_of(text: str | None) -> str | dict[str, float] | None:
    """A prior by name, or NAME=WEIGHT with commas between."""
    if text is None or "=" not in text:
        return text
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        found = {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        found = {}
    if len(found) < text.count(",") + 1:  # a weight that is no number, or a run twice
        raise InputError(
            f"--prior is {text!r}; it must be equal, rrf, or NAME=WEIGHT with commas between, each name once."
        )
    return found


def radius_of(text: str | None) -> float | str | None:
    """A number, or "auto", which stands for "free" too."""
    if text in (None, "auto", "free"):
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--radius is {text!r}; it must be auto, free or a number.") from None


def expressed(target: str, names: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The normalisers that a fit may choose so that a target can express it.

    Raises
    ------
    InputError
        For an unknown target, and a fit that it cannot express; before the time of the fit is spent.
    """
    import numpy as np

    from rerank.reranker.fusion.exports import expressible
    from rerank.reranker.fusion.fit import AUTO
    from rerank.reranker.fusion.model import FusionModel

    weights = np.full(len(names), 1.0 if options["positive"] else -1.0)
    plain = FusionModel(
        names, weights, "rank", options.get("k", 60.0), options.get("missing", "lowest"), options.get("depth")
    )
    given = options.get("normalise", "auto")
    if not isinstance(options.get("prior"), dict):
        expressible(target, ["rank"], plain)  # RRF may be kept
    if options.get("prior") == "rrf":
        return {}
    if given == "auto":
        return {"normalise": expressible(target, AUTO, plain)}
    for name in given:
        expressible(target, [name], plain)
    return {}
