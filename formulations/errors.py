"""Exceptions of the programs: one sentence each, saying what was found and what to do."""


class FormulationError(ValueError):
    """A program cannot be stated for this data or these options."""


class ModelTooLarge(FormulationError):  # noqa: N818 - a state of the model, as its name says
    """The estimated size of a program exceeds the limit; nothing was built."""


class FileFormatError(FormulationError):
    """A model or solution file cannot be read."""


class FormulationWarning(UserWarning):
    """A program that can be stated but probably says something else than was meant."""


def shortened(text: str) -> str:
    """A text for a sentence, without the middle of a long one: names in a file may be of any length."""
    return text if len(text) <= 300 else f"{text[:180]} ... {text[-100:]}"
