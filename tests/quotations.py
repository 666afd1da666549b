"""Reads memory that quotes back, and holds every quotation against the message whose number it carries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from previously.blocking import BlockingStory
from previously.core.messages import Message, Role


def faults(text: str, path: Mapping[int, Message]) -> list[str]:
    """Return what in a text is no quotation of the story; empty where all of it stands there word for word."""
    found = []
    for line in text.split("\n"):
        number = re.match(r"#(\d+) ", line)
        if line in ("", "... "):
            continue
        message = path.get(int(number[1])) if number else None
        if number is None or message is None:
            found.append(f"no message: {line}")
            continue
        begin = f"{number[0]}{speaker(message)}: “"
        if not line.startswith(begin) or not line.endswith("”"):
            found.append(f"another speaker, not {speaker(message)}: {line}")
            continue
        words, at = " ".join(message.text.split()), 0
        for quotation in line[len(begin) : -1].split("” … “"):
            at = words.find(quotation, at)
            if at < 0 or not quotation:
                found.append(f"not in message {number[1]}: {quotation}")
                break
            at += len(quotation)
    return found


def speaker(message: Message) -> str:
    """Return whom a message is by: its own speaker, or who writes where it has none."""
    names = {Role.USER: "User", Role.TOOL: "Tool"}
    return " ".join((message.speaker or names.get(message.role, "Narrator")).replace("“", '"').split())


def remembered(story: BlockingStory) -> dict[str, str]:
    """Return every memory of a story that is exact, by a name for it."""
    recap, backbone = story.recap(), story.backbone()
    texts = {"recap": recap, "backbone": backbone} | {f"chapter {one.number}": one.recap for one in story.chapters()}
    found = {name: one.text for name, one in texts.items() if one and not one.stale}
    found |= {f"scene {one.span}": one.summary for one in story.scenes()}
    return found | {f"analysis {at}": one.summary_update for at, one in story.analyses()}


def check_story(story: BlockingStory) -> int:
    """Assert that all that is remembered of a story stands in it; return how many lines that was."""
    path = {item.position: item.entry.message for item in story.messages()}
    texts = remembered(story)
    wrong = {name: found for name, text in texts.items() if (found := faults(text.removeprefix("... "), path))}
    assert not wrong, wrong
    return sum(text.count("\n#") + text.startswith("#") for text in texts.values())
