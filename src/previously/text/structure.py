"""Structure where prose should be: lists, headings, tables, fields, JSON, markup.

No text raises, the work is linear in the text, and a line or two that look like a list in the middle of prose are
prose.
"""

from __future__ import annotations

import re

from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words

_BULLET = lazy_pattern(r"[ \t]*(?:[-*•‣◦▪●・][ \t]+|[•●・](?=\S)|\(?\d{1,2}[.)][ \t]+)\S")
_HEADING = lazy_pattern(
    r"[ \t]*(?:#{1,6}[ \t]+\S|\*\*[^*\n]{1,60}\*\*:?[ \t]*$|【[^】\n]{1,30}】[ \t]*$|[=-]{4,}[ \t]*$|"
    r"[^\s.!?。！？:：\"“「][^.!?。！？:：\"“「\n]{0,40}[:：][ \t]*$)"
)
_FIELD = lazy_pattern(
    r"[ \t]*(?:\*\*)?[^\W\d_][\w.'’/&()-]{0,30}(?: [\w.'’/&()-]{1,30}){0,2}(?:[ \t]*[:：=](?:\*\*)?|[ ][-–—])"
    r"[ \t]*(?![\s\"“„«「『])"
)
_TABLE = lazy_pattern(r"[ \t]*\|.*\|[ \t]*$")
_TAG = lazy_pattern(r"</?[A-Za-z_][\w:-]{0,40}(?:\s[^<>\n]{0,200})?/?>")


def find_structure(text: str, story: str) -> str | None:
    """Return what kind of structure stands in the place of prose; None when it is prose. Tags the story has are its
    own."""
    if re.match(r"\s*[\[{]\s*[\"'{\[}\]]", text):
        return "JSON"
    if len([tag for tag in _TAG.findall(text) if tag not in story]) >= 2:
        return "markup tags"
    if "```" in text:
        return "a code block"
    lines = [line for line in text.split("\n") if line.strip()]
    for called, pattern, share in (
        ("a list", _BULLET, 0.4),
        ("a table", _TABLE, 0.3),
        ("fields with values", _FIELD, 0.6),
    ):
        found = sum(1 for line in lines if pattern.match(line[:400]) and count_words(line[:400]) <= 30)
        if found >= 2 and found >= share * len(lines):
            return called
    headings = sum(1 for line in lines if _HEADING.match(line[:400]))
    return "headings" if headings >= 2 or (headings and len(lines) == 1) else None
