"""The outer form of an answer: reasoning and wrapping come off; a tool call, and structure where prose should be, is
told.

Tidying never changes a word of the body, and tidying a tidied text changes nothing. No text raises, and a line or two
that look like a list in the middle of prose are prose.
"""

from __future__ import annotations

import re

from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words

_NAMES = (
    r"(?:think|thinking|thoughts?|reasoning|reason|reflection|reflect|analysis|scratchpad|inner_monologue|cot|"
    r"seed:think)"
)
_OPEN = lazy_pattern(rf"(?<!\s)\s*(?:<\|?{_NAMES}\|?>|\[{_NAMES}\]|◁think▷|<｜thinking｜>)", re.I)
_CLOSE = lazy_pattern(
    rf"(?:</\|?{_NAMES}\|?>|<\|/{_NAMES}\|>|<\|end_?of_?{_NAMES}\|>|<\|{_NAMES}_end\|>|\[/{_NAMES}\]|◁/think▷|"
    rf"<｜/thinking｜>)\s*",
    re.I,
)
_CHANNEL = lazy_pattern(r"\s*<\|channel\|>", re.I)
_FINAL = lazy_pattern(r"<\|channel\|>\s*final\s*(?:<\|message\|>)?", re.I)
_MOST_BLOCKS = 4

_TOOL_CALL = lazy_pattern(
    r"\s*(?:```(?:json|tool_code|tool_call)\s*)?(?:<tool_call|<function|<\|python_tag\||<tool_use|<｜tool|\[TOOL_CALL|"
    r"Action:\s|Tool:\s|functions\.\w|[{\[\s]*\"(?:name|tool_calls|function|tool|action|arguments|command|id)\"\s*:|"
    r"[a-z_]{3,40}\([a-z_]{1,40}\s*=|```tool_)",
    re.I,
)
_TOOL_MARKUP = lazy_pattern(r"</?(?:tool_call|function_call|tool_use|invoke)s?[> ]", re.I)
_INVISIBLE = lazy_pattern("[\ufeff\u200b\u200e\u200f\u2060\u00ad\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_END_TOKEN = (
    r"(?:<\|?/?(?:s|eos|bos|im_end|im_start|eot_id|eot|end|end_of_text|endoftext|end_of_turn|start_of_turn)\|?>|"
    r"\[/?INST\]|</?｜(?:begin▁of▁sentence|end▁of▁sentence|User|Assistant)｜>)"
)
_FIRST = lazy_pattern(rf"(?:\s*{_END_TOKEN})+")
_LAST = lazy_pattern(rf"(?:\s*{_END_TOKEN})+\Z|\s*\n\s*(?:-{{3,}}|\*{{3,}})\Z")
_EDGE = 200
"""Characters of the end in which such marks are looked for."""

_FENCE = lazy_pattern(r"\s*(?P<mark>```+|~~~+)[ \t]*[\w-]{0,20}[ \t]*\n(?P<body>.*?)\n?[ \t]*(?P=mark)\s*", re.S)
_WRAPPER = lazy_pattern(r"\s*<(?P<tag>[A-Za-z][\w-]{0,30})>\s*(?P<body>.*?)\s*</(?P=tag)>\s*", re.S)
_LABEL = lazy_pattern(
    r"(?:#{1,6}[ \t]*|\*\*|__|【)?(?:(?:updated|new|revised|story) )?(?:recap|summary|synopsis|zusammenfassung|résumé|"
    r"resumen|resumo|краткое содержание|пересказ|あらすじ|要約|摘要|总结)(?: so far)?"
    r"(?:(?:\*\*|__|】)?[ \t]*[:：](?:\*\*|__)?[ \t]*|(?:\*\*|__|】)?[ \t]*\n)",
    re.I,
)

CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "error", "abort", "aborted", "cancelled", "timeout"}
)
"""The words of servers for an answer that stopped for another reason than being finished."""


def strip_reasoning(text: str) -> str:
    """The answer after a closed block of reasoning; the text itself when there is none."""
    final = _FINAL.search(text) if _CHANNEL.match(text) else None
    if final:
        return text[final.end() :].strip()
    for _ in range(_MOST_BLOCKS):
        opening, closing = _OPEN.search(text), _CLOSE.search(text)
        if closing is None or (opening is not None and not _OPEN.match(text) and opening.start() < closing.start()):
            break  # what opens and closes inside the text is its own
        text = text[closing.end() :]
    return text.strip()


def is_open_block(text: str) -> bool:
    """Return whether an answer starts to think in tags and never stops."""
    return bool((_OPEN.match(text) and not _CLOSE.search(text)) or (_CHANNEL.match(text) and not _FINAL.search(text)))


def is_tool_call(text: str) -> bool:
    """Return whether an answer is a tool call written out."""
    return bool(_TOOL_CALL.match(text) or _TOOL_MARKUP.search(text))


def tidy_answer(text: str) -> str:
    """The answer without what surrounds it. What would leave nothing is left as it is."""
    text = _INVISIBLE.sub("", clean(text)[0].replace("\r\n", "\n").replace("\r", "\n")).strip()
    for _ in range(6):
        before = text
        first = _FIRST.match(text)
        text = text[first.end() :] if first else text
        text = (text[:-_EDGE] + _LAST.sub("", text[-_EDGE:])).strip()
        for wrapped in (_FENCE, _WRAPPER):
            match = wrapped.fullmatch(text)
            if match and count_words(match.group("body")) >= 4 and "```" not in match.group("body"):
                text = match.group("body").strip()
        label = _LABEL.match(text)
        if label and count_words(text[label.end() :]) >= 4:
            text = text[label.end() :].strip()
        if text == before:
            break
    return text


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
        matches = sum(1 for line in lines if pattern.match(line[:400]) and count_words(line[:400]) <= 30)
        if matches >= 2 and matches >= share * len(lines):
            return called
    headings = sum(1 for line in lines if _HEADING.match(line[:400]))
    return "headings" if headings >= 2 or (headings and len(lines) == 1) else None
