"""The report of a model as one HTML page: no script, nothing from the network, and nothing of the data read as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:46rem;margin:2rem auto;padding:0 1rem}
p,li,h1{overflow-wrap:anywhere}h1{font-size:1.5rem;line-height:1.25}
h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #ccc}
table{border-collapse:collapse;font-size:.9rem;display:block;overflow-x:auto}
th,td{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.cut td{border-bottom:2px solid #222}
svg{max-width:100%;height:auto}.small{font-size:.85rem;color:#555}
@media print{body{margin:0;max-width:none;font-size:11pt}h2{break-after:avoid}tr,svg{break-inside:avoid}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it: escaped text or pieces of HTML that were made here."""

    title: str
    parts: Sequence[str] = field(default_factory=list)


def text(*sentences: str, small: bool = False) -> str:
    """A paragraph."""
    return f"<p{' class=small' if small else ''}>{escape(' '.join(sentences))}</p>"


def rows(
    head: Sequence[str], body: Iterable[Sequence[Any]], numbers: Sequence[int] = (), cut: int | None = None
) -> str:
    """A table; columns ``numbers`` stand to the right, and a line is drawn below row ``cut``."""

    def cells(values: Sequence[Any], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if place in numbers else ''}>{escape(str(value))}</{tag}>"
            for place, value in enumerate(values)
        )

    marks = {cut: " class=cut"}
    lines = [f"<tr{marks.get(number, '')}>{cells(values, 'td')}</tr>" for number, values in enumerate(body, 1)]
    return f"<table><thead><tr>{cells(head, 'th')}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def picture(draw: Callable[[], Any]) -> str:
    """The picture of the axes that ``draw`` returns, drawn into the page; nothing without matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    from io import StringIO

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, rc_context

    axes, out = draw(), StringIO()
    with rc_context({"svg.hashsalt": "rerank"}):
        axes.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(axes.figure)
    drawn = out.getvalue()
    return re.sub("<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole document."""
    body = "".join(f"<h2>{escape(one.title)}</h2>{''.join(one.parts)}" for one in sections)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )
