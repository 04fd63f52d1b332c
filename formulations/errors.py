"""Exceptions of the programs: one sentence each, saying what was found and what to do."""


class FormulationError(ValueError):
    """A program cannot be stated for this data or these options."""


class ModelTooLarge(FormulationError):  # noqa: N818 - a state of the model, as its name says
    """The estimated size of a program exceeds the limit; nothing was built."""


class FileFormatError(FormulationError):
    """A model or solution file cannot be read."""


class FormulationWarning(UserWarning):
    """A program that can be stated but probably says something else than was meant."""
