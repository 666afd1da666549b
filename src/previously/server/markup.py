"""Markup that is safe by construction: elements are made by code, everything else in them is text.

Whatever was written by a person, a client or a model gets into a page through `shown`, and so can be nothing but
characters to be read: no element, no attribute, no control character, nothing that reorders the line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape

LONGEST = 4_000
"""Characters of one text on a page: about two screens, so that one huge message does not hide the others."""

VOID = frozenset({"meta"})
_SAFE = re.compile(r"[\x20-\x7e\n\t]*")
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Html(str):
    """Markup of ours."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: object) -> Html:
    """Return an element. Text in it is shown as text; an attribute that is None is left out, `class_` is `class`."""
    given = "".join(
        f' {label.rstrip("_").replace("_", "-")}="{shown(str(value))}"'
        for label, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(content)}</{name}>")


def joined(content: Iterable[str]) -> Html:
    return Html("".join(piece if isinstance(piece, Html) else shown(piece) for piece in content))


def shown(text: str) -> Html:
    """Return a text as it can stand in a page, between elements or in an attribute."""
    return Html(escape(text if _SAFE.fullmatch(text) else "".join(map(_visible, text)), quote=True))


def shortened(text: str, limit: int = LONGEST) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def table(columns: Iterable[str], rows: Iterable[Iterable[str | int]], *, numbers: Iterable[str] = ()) -> Html:
    """Return a table; columns named in `numbers` are set to the right."""
    names = list(columns)
    kinds = ["number" if name in set(numbers) else None for name in names]
    head = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in zip(names, kinds, strict=True)))
    body = [
        tag("tr", *(tag("td", _cell(cell), class_=kind) for cell, kind in zip(row, kinds, strict=True))) for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide")


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _visible(char: str) -> str:
    if char in "\n\t":
        return char
    kind = unicodedata.category(char)
    if kind == "Cc":
        return chr(0x2400 + ord(char)) if ord(char) < 0x20 else "\N{REPLACEMENT CHARACTER}"
    return "\N{REPLACEMENT CHARACTER}" if kind == "Cs" or char in _REORDERING else char
