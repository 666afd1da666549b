"""Identifiers: what must be written exactly to mean anything, and where in a conversation each was met.

That a name stands in a file or in what a command printed is read off calls and results, so it cannot be false. Secrets
are taken out before anything is looked at. Reading is total and linear.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, Role, ToolCall
from previously.core.patterns import lazy_pattern
from previously.folds.builtin.agent_log import AgentDeed, Sort, keeps_list, read_deeds
from previously.folds.builtin.shell import Act, split_steps
from previously.folds.builtin.statements import FILE_NAME
from previously.folds.conversation.pins import find_requests, read_user_words
from previously.folds.conversation.secrets import redact
from previously.folds.conversation.sections import NAMES
from previously.text.cuts import clip

_IDENTIFIER = lazy_pattern(
    r"`[^`\n]{2,200}`|(?<![\w/])(?:[\w.~@\-]{0,80}/){1,20}[\w.@\-]{1,80}|\b\w{1,80}[._]\w[\w.]{0,80}\b|"
    r"\b[a-z]+[A-Z]\w{0,80}\b|"
    r"\b[A-Z][a-z]+[A-Z]\w{0,80}\b|#?\b\d[\d.,:]{1,40}\b|\b[a-f0-9]{7,40}\b|\"[^\"\n]{3,200}\""
)


def find_identifiers(text: str) -> list[str]:
    """Return what must be written exactly to mean anything: paths, names in code, numbers, quotations; each once."""
    return list(dict.fromkeys(match.strip('`".,:;') for match in _IDENTIFIER.findall(text)))


_NAME = lazy_pattern(
    r"(?<![\w/.\-~:])~?/?(?:[\w.@\-]{1,80}/){1,20}[\w.@\-]{1,80}\.\w{1,8}\b"
    r"|\b_{0,2}[A-Za-z][A-Za-z0-9]{0,80}(?:_[A-Za-z0-9]{1,80}){1,12}\b"
    r"|\b[a-z]{1,40}[A-Z]\w{0,80}\b|\b[A-Z][a-z]{1,40}[A-Z]\w{0,80}\b"
    r"|\b[A-Z]{2,10}-\d{1,7}\b|\b(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}\b"
)
LOOKED_AT = 40_000
"""Characters of one text in which names are looked for: ten thousand tokens, more than most outputs have."""


def find_names(text: str) -> list[str]:
    """The paths, names in code, tickets and hashes of a text, each once."""
    return list(dict.fromkeys([*_NAME.findall(text), *FILE_NAME.findall(text)]))


def find_used_names(messages: Sequence[Message]) -> frozenset[str]:
    """The names that the user and the agent write in these messages, in words and in calls. What a tool printed is not
    used yet."""
    return frozenset(name for text in _read_written(messages) for name in find_names(text))


def _read_written(messages: Sequence[Message], *, goes_on: bool = False) -> Iterator[str]:
    """For each message what a person or the agent wrote in it."""
    requests = find_requests(messages, goes_on=goes_on)
    for at, message in enumerate(messages):
        calls = (part for part in message.parts if isinstance(part, ToolCall) and not keeps_list(part))
        if at in requests:
            yield read_user_words(message)[:LOOKED_AT]
        elif message.role is Role.ASSISTANT:
            yield "\n".join([message.text[:LOOKED_AT], *(_read_values(call.arguments) for call in calls)])
        else:
            yield ""


def _read_values(arguments: str) -> str:
    """The texts in a call's arguments, without the names of the arguments; as it is where it is no JSON."""
    try:
        waiting: list[object] = [json.loads(arguments)]
    except (ValueError, RecursionError):
        return arguments[:LOOKED_AT]
    texts: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, str):
            texts.append(value[:LOOKED_AT])
    return "\n".join(texts)


@dataclass(frozen=True, slots=True)
class NamePlace:
    """The place where a name was met, and in how many messages somebody wrote it."""

    place: str
    is_file: bool = False
    written: int = 0


def locate_names(messages: Sequence[Message], *, goes_on: bool = False) -> dict[str, NamePlace]:
    """Every name that a file, the output of a tool or the user told, with the file in which it was met last, or else
    one of the others. The name that was met last is the last."""
    places: dict[str, NamePlace] = {}
    written: Counter[str] = Counter()
    done_at: dict[int, list[AgentDeed]] = {}
    for deed in read_deeds(messages):
        done_at.setdefault(deed.at, []).append(deed)
    for at, text in enumerate(_read_written(messages, goes_on=goes_on)):
        names = find_names(redact(text))
        written.update(names)
        if messages[at].role is Role.USER:
            _note(places, names, "the user's words")
        for deed in done_at.get(at, ()):
            path = _find_shown_file(deed)
            given = _read_values(deed.raw) if path and not deed.command else ""
            if deed.sort is not Sort.PLAN:
                place = path or f"what `{clip(deed.command.split(chr(10))[0], 60) or deed.tool}` gave"
                _note(places, find_names(redact(f"{given}\n{(deed.output or '')[:LOOKED_AT]}")), place, bool(path))
    return {name: replace(place, written=written[name]) for name, place in places.items()}


def _find_shown_file(deed: AgentDeed) -> str:
    """The one file whose words a call and its result hold; empty where that is not certain."""
    if deed.output is None or deed.failed or len(deed.touches) != 1:
        return ""
    shows = deed.touches[0].act is Act.READ and len(split_steps(deed.command)) == 1 if deed.command else True
    return deed.touches[0].path if shows else ""


def _note(places: dict[str, NamePlace], names: Iterable[str], place: str, is_file: bool = False) -> None:
    for name in names:
        known = places.pop(name, None)
        places[name] = known if known and known.is_file and not is_file else NamePlace(place, is_file)


def parse_name_lines(context: Iterable[str]) -> dict[str, NamePlace]:
    """The names that an earlier brief places."""
    places: dict[str, NamePlace] = {}
    for line in context:
        if line.startswith(NAMES):
            place, _, names = line.removeprefix(NAMES).rpartition(": ")
            places.update((name.strip("`"), NamePlace(place)) for name in reversed(names.split(", ")))
    return places
