"""What people read: paragraphs, tables, lists, bars and pictures, as text, HTML and Markdown from the same parts.

Nothing of the data is read as markup or obeyed by a terminal. A page has no script and needs no network.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from rerank.errors.telling import harmless

SHORT = 24  # signs of a cell of a page that stays on one line, such as a number or its name
BAR = 40  # signs of a bar of text

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:64rem;margin:1.5rem auto;padding:0 1rem}
p,li{max-width:46rem}p,li,h1{overflow-wrap:anywhere}h1{font-size:1.5rem;line-height:1.25}
h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #ccc}
summary{font-size:1.05rem;padding:.4rem 0;cursor:pointer}
table{border-collapse:collapse;font-size:.9rem;display:block;overflow-x:auto}
th,td{padding:.15rem .9rem .15rem 0;vertical-align:top;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
svg{max-width:100%;height:auto}.cut>*{border-bottom:2px solid}
@media screen and (max-width:40rem){
th,td{padding-right:.45rem}
.below{display:grid;grid-template-columns:repeat(var(--columns),auto)}.below :is(thead,tbody,tr){display:contents}
.below tr>:last-child{grid-column:1/-1;padding-bottom:.6rem;color:#555}.below .cut>:not(:last-child){border:0}}
@media print{body{margin:0;max-width:none;font-size:10.5pt}
table{font-size:8.5pt}summary{list-style:none}h2,summary{break-after:avoid}tr,svg{break-inside:avoid}
table{display:table}details::details-content{content-visibility:visible;block-size:auto}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


# What CommonMark 0.31 and GitHub take for markup inside a line, at its beginning, and drop from its ends.
_MARKUP = re.compile(r"[\\`*_\[\]<&|~$]")
_BEGINS = re.compile(r"^(\d{0,9})([#>+=.)-])")
_BLANKS = re.compile(r"[\t-\r\x85\u2028\u2029]+|^\s+|\s+$")


@dataclass(frozen=True)
class Words:
    """A paragraph; ``strong`` for what matters most, ``small`` for remarks on a page."""

    text: str
    strong: bool = False
    small: bool = False


@dataclass(frozen=True)
class Cells:
    """A table: cells, the side of each column ("left" or "right"), whether the first row names the columns. ``cut`` is
    a row below which a line is drawn on a page, counted without names. With ``below`` the last column stands below the
    others on a narrow page.
    """

    cells: Sequence[Sequence[Any]]
    sides: Sequence[str]
    named: bool = False
    cut: int | None = None
    below: bool = False


@dataclass(frozen=True)
class Items:
    """A list of sentences, each on a line of its own; nothing if there are none."""

    items: Sequence[str]


@dataclass(frozen=True)
class Bar:
    """A share between 0 and 1 of a whole, in a sentence with ``{}`` for the percentage."""

    share: float
    sentence: str

    @property
    def text(self) -> str:
        """The sentence, rounded down, so that only the whole is 100 %."""
        return self.sentence.format(f"{math.floor(1000 * self.share) / 10:g} %")


@dataclass(frozen=True)
class Picture:
    """What a function draws as SVG when the page is made; on a page only."""

    draw: Callable[[], str]


@dataclass(frozen=True)
class Beside:
    """Parts on the left, and on the right of them others, where a page has the width for both."""

    left: "Sequence[Part]"
    right: "Sequence[Part]"


@dataclass(frozen=True)
class Folded:
    """Parts under a heading that a reader opens; on a page only, and open in print."""

    heading: str
    parts: "Sequence[Part]"


Part: TypeAlias = Words | Cells | Items | Bar | Picture | Beside | Folded


def as_text(parts: Iterable[Part]) -> str:
    """The parts as lines of text."""
    return "\n".join(text for part in parts if (text := _text(part)) is not None)


def _text(part: Part) -> str | None:
    match part:
        case Words(text):
            return harmless(text)
        case Cells():
            cells = [[harmless(str(cell), name=True) for cell in row] for row in part.cells]
            widths = [max(len(row[k]) for row in cells) for k in range(len(part.sides))]
            signs = ["<" if side == "left" else ">" for side in part.sides]
            lines = (zip(row, signs, widths) for row in cells)
            return "\n".join("  ".join(f"{cell:{at}{width}}" for cell, at, width in line).rstrip() for line in lines)
        case Items(items):
            return "\n".join(f"- {harmless(item)}" for item in items) or None
        case Bar(share):
            full = math.floor(BAR * share)
            return f"[{'#' * full}{'.' * (BAR - full)}] {part.text}"
        case Beside(left, right):
            return as_text([*left, *right]) or None
    return None


def as_html(parts: Iterable[Part]) -> str:
    """The parts as a piece of a page."""
    return "".join(map(_html, parts))


def _html(part: Part) -> str:
    match part:
        case Words(text, strong, small):
            body = f"<b>{escape(text)}</b>" if strong else escape(text)
            style = ' style="font-size:.85rem;color:#555"' if small else ""
            return f"<p{style}>{body}</p>" if text else ""
        case Cells():
            return _table(part)
        case Items(items):
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""
        case Bar(share):
            return (
                '<div style="width:20em;max-width:100%;box-sizing:border-box;height:.8em;margin-top:.8em;border:1px '
                f'solid #8c8c8c"><div style="width:{100 * share:.2f}%;height:100%;background:#0072b2"></div>'
                f"</div><p>{escape(part.text)}</p>"
            )
        case Picture(draw):
            return draw()
        case Beside(left, right):
            sides = (as_html(left), as_html(right))
            boxes = "".join(f'<div style="flex:1 1 20rem;min-width:0">{side}</div>' for side in sides if side)
            return f'<div style="display:flex;flex-wrap:wrap;gap:0 2rem">{boxes}</div>'
        case Folded(heading, inner):
            return f"<details><summary>{escape(heading)}</summary>{as_html(inner)}</details>"


def _table(part: Cells) -> str:
    """The first cell of a row is its heading."""

    def line(row: Sequence[Any], named: bool, cut: bool) -> str:
        cells = []
        for k, (value, side) in enumerate(zip(row, part.sides)):
            tag, text = "th" if named or k == 0 else "td", str(value)
            whole = ";white-space:nowrap" if len(text) <= SHORT else ""
            cells.append(f'<{tag} style="text-align:{side}{whole}">{escape(text)}</{tag}>')
        mark = ' class="cut"' if cut else ""
        return f"<tr{mark}>{''.join(cells)}</tr>"

    head = f"<thead>{line(part.cells[0], True, False)}</thead>" if part.named else ""
    rows = part.cells[1:] if part.named else part.cells
    body = "".join(line(row, False, place == part.cut) for place, row in enumerate(rows, 1))
    narrow = f' class="below" style="--columns:{len(part.sides) - 1}"' if part.below else ""
    return f"<table{narrow}>{head}<tbody>{body}</tbody></table>"


def as_markdown(parts: Iterable[Part]) -> str:
    """The parts in Markdown, tables as GitHub and others have them; no sign of a text is taken for markup."""
    blocks = []
    for part in parts:
        if isinstance(part, Beside):
            blocks.append(as_markdown([*part.left, *part.right]).rstrip("\n"))
        elif isinstance(part, Cells):
            lines = ["| " + " | ".join(plain_markdown(str(cell)) for cell in row) + " |" for row in part.cells]
            sides = "|" + "|".join(" ---: " if side == "right" else " --- " for side in part.sides) + "|"
            head = [] if part.named else ["|" * (len(part.sides) + 1)]
            lines = [*head, *lines]
            blocks.append("\n".join([lines[0], sides, *lines[1:]]))
        elif isinstance(part, Items):
            blocks.append("\n".join(f"- {plain_markdown(item, begins=True)}" for item in part.items))
        elif text := _text(part):
            strong = isinstance(part, Words) and part.strong
            blocks.append(f"**{plain_markdown(text)}**" if strong else plain_markdown(text, begins=True))
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain_markdown(text: str, begins: bool = False) -> str:
    """A text on one line of Markdown that reads as it is; ``begins`` if it begins the line. Line ends, and blanks at
    the ends, are written as numbers of signs.
    """
    found = _MARKUP.sub(lambda sign: "\\" + sign[0], text)
    if begins:
        found = _BEGINS.sub(r"\1\\\2", found)
    return _BLANKS.sub(lambda blank: "".join(f"&#{ord(sign)};" for sign in blank[0]), found)


def page(title: str, sections: Sequence[tuple[str, Sequence[Part]]]) -> str:
    """A whole HTML document of headings with their parts; what stands under no heading is under the title."""
    body = "".join(f"{f'<h2>{escape(heading)}</h2>' if heading else ''}{as_html(parts)}" for heading, parts in sections)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


class Readable:
    """Text and HTML of what says its parts."""

    def parts(self) -> Iterable[Part]:
        """What a person reads."""
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(self.parts())

    def _repr_html_(self) -> str:
        return as_html(self.parts())


class ShownMixin:
    """Text and HTML of a fitted estimator of scikit-learn's kind; before the fit scikit-learn's own."""

    def _parts(self) -> Sequence[Part] | None:
        """What is said of the fit; None before it."""
        raise NotImplementedError

    def __str__(self) -> str:
        parts = self._parts()
        return super().__str__() if parts is None else as_text(parts)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        above: Any = super()
        bundle: dict[str, str] = above._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # that is a setting of scikit-learn
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _repr_html_inner(self) -> str:
        above: Any = super()
        parts = self._parts()
        html: str = above._repr_html_inner() if parts is None else f"<div>{as_html(parts)}</div>"
        return html
