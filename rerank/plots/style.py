"""Colours and axes that all pictures share."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = dict[str, Any]  # how something is drawn, by matplotlib's names

# From M. Okabe and K. Ito, Color Universal Design (2008): distinct with every kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#8C8C8C"


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or new ones of ``size`` inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        advice = "pip install 'exact-rerank[plots]'"
        raise InputError(f"Pictures need matplotlib, which is not installed; {advice}.") from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def hide_frame(ax: Axes) -> Axes:
    """The axes without the upper and the right side of their frame."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of the figure."""
    figure: Any = ax.figure
    return figure.get_figwidth(), figure.get_figheight()


def svg(draw: Callable[[], Any]) -> str:
    """The figure of the axes that a function draws, as an element of a page; nothing without matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, rc_context

    axes, out = draw(), StringIO()
    with rc_context({"svg.hashsalt": "rerank"}):
        axes.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(axes.figure)
    drawn = out.getvalue()
    return re.sub("<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
