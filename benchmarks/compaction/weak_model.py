"""A weak summarizer: a fixed rule that picks lines, the same for every contender and whatever prompt it gets.

It is told what to do in `system` and given the material in `user`. It writes at most so many tokens, under the headings
that it is asked for, if any: of an earlier summary four lines of five; the first sentence of what each user said; and
of all other lines every k-th, spread evenly. It does not know which lines matter. What must stay true: the answer
depends on the request and on nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from previously import ScriptedModel
from previously.core.model_io import ModelRequest
from previously.core.tokens import estimate_tokens

MOST_TOKENS = 700
"""What it writes at most, unless told otherwise; less where it is asked for less."""

LONGEST_LINE = 180
_OF_EARLIER, _OF_USERS = 0.55, 0.25
"""The shares of its answer that an earlier summary and the user's sentences may take."""

_EARLIER = re.compile(
    r"<(?P<tag>[\w-]*(?:summary|brief)[\w-]*)>\n?(?P<tagged>.*?)</(?P=tag)>|"
    r"a summary of the conversation to date:\n(?P<told>.*?)(?=</message>|\Z)",
    re.S | re.I,
)
_USER = re.compile(r"^\W*(?:message type=\")?(?:user|human)\b[\">\]:\s]*(?P<said>.*)$", re.I)
_HEADING = re.compile(r"^(?P<mark>#{2,3} )(?P<title>.{2,60})$|^(?P<bare>[A-Z][A-Z_ ]{3,40}):", re.M)
_GENERAL = re.compile(r"context|detail|summary|state", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_NOTHING = re.compile(r"[\W_]*(?:none|\(none\)|none yet|\(none yet\))?[\W_]*", re.I)


def weak_model(most_tokens: int = MOST_TOKENS) -> ScriptedModel:
    """The model; its `requests` tell how often it was asked, and for what."""
    return ScriptedModel(lambda request: summary_of(request, most_tokens), name="weak")


def summary_of(request: ModelRequest, most_tokens: int = MOST_TOKENS) -> str:
    """The answer to any request."""
    room = min(most_tokens, request.max_output_tokens)
    headings = [found.group().rstrip(":") for found in _HEADING.finditer(request.system)]
    headings = list(dict.fromkeys(headings))
    earlier = [line for found in _EARLIER.finditer(request.user) for line in _lines(found["tagged"] or found["told"])]
    rest = _EARLIER.sub("\n", request.user)
    before = _fitting([line for at, line in enumerate(earlier) if at % 5 != 4 or _is_heading(line)], _OF_EARLIER * room)
    users = _fitting(_first_sentences(rest), _OF_USERS * room)
    left = room - _tokens(before) - _tokens(users) - _tokens(headings)
    others = _spread([line for line in _lines(rest) if line not in users], left)
    return _written(headings, before, users, others)


def _lines(text: str) -> list[str]:
    stripped = (" ".join(line.split())[:LONGEST_LINE] for line in text.splitlines())
    return [line for line in stripped if not _NOTHING.fullmatch(line) and not re.fullmatch(r"</?\w[^>]*>", line)]


def _first_sentences(text: str) -> list[str]:
    """The first sentence of each message of the user's."""
    found: list[str] = []
    awaited = False
    for line in text.splitlines():
        label = _USER.match(line)
        said = label["said"].strip() if label else line.strip() if awaited else ""
        awaited = (bool(label) or awaited) and not said
        if said:
            found.append(_SENTENCE.split(" ".join(said.split()))[0][:LONGEST_LINE])
    return list(dict.fromkeys(found))


def _spread(lines: Sequence[str], room: float) -> list[str]:
    """Every k-th line, with the smallest k for which they fit."""
    for step in range(1, len(lines) + 1):
        chosen = lines[step - 1 :: step]
        if _tokens(chosen) <= room:
            return list(chosen)
    return []


def _fitting(lines: Iterable[str], room: float) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= estimate_tokens(line) + 2
        if room < 0:
            break
        kept.append(line)
    return kept


def _tokens(lines: Iterable[str]) -> int:
    return sum(estimate_tokens(line) + 2 for line in lines)


def _is_heading(line: str) -> bool:
    return line.startswith("#") or bool(re.fullmatch(r"[A-Z][A-Z_ ]{3,40}:?", line))


def _written(headings: Sequence[str], before: Sequence[str], users: Sequence[str], others: Sequence[str]) -> str:
    """The lines under headings: earlier ones where they stood, the user's under the first, others in a general one."""
    if not headings:
        return "\n".join(_item(one) for one in (*before, *users, *others) if not _is_heading(one))
    under: dict[str, list[str]] = {heading: [] for heading in headings}
    general = next((one for one in headings if _GENERAL.search(one)), headings[-1])
    section = general
    for line in before:
        if _is_heading(line):
            section = next((one for one in headings if one.strip("# :") == line.strip("# :")), general)
        else:
            under[section].append(line)
    under[headings[0]] += users
    under[general] += others
    return "\n".join(
        line
        for heading, items in under.items()
        for line in (heading if heading.startswith("#") else f"{heading}:", *map(_item, items or ["(none)"]))
    )


def _item(line: str) -> str:
    return f"- {line.lstrip('-*• ')}"
