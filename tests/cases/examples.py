"""Properties that hypothesis tries: so many examples, and no limit on the time of one."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 10**6)


def examples(count: int, *drawn: Any, **named: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a test with what hypothesis draws for its last arguments, ``count`` times."""
    return lambda test: settings(max_examples=count, deadline=None)(given(*drawn, **named)(test))
