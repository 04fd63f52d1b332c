"""What is refused, and in which words."""

from collections.abc import Callable
from typing import Any

import pytest

from rerank.errors import InputError


def refuses(words: str, call: Callable[..., Any], /, *given: Any, **options: Any) -> None:
    """The call ends with an ``InputError`` whose sentence holds the words, a regular expression."""
    with pytest.raises(InputError, match=words):
        call(*given, **options)
