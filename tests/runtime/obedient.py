"""A scripted model that tells what it reads: the people, how far they got, and every stranger they met.

Strangers are the canaries of these tests: names that occur in one message only.
"""

from __future__ import annotations

import re

from previously.blocking import BlockingStory
from previously.core.asking import ModelRequest

PEOPLE = ("Maya", "Joaquin", "Odalys")


def said(number: int, stranger: str = "") -> str:
    """What is said in the message of that number."""
    met = f" There they met {stranger}." if stranger else ""
    return f"Parcel {number} went to the mill with {PEOPLE[number % 3]}.{met}"


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    """Go on with the story."""
    for number in range(start, start + count):
        story.add("user" if number % 2 else "assistant", said(number), name=PEOPLE[number % 3])


def part(request: ModelRequest, tag: str) -> str:
    """What stands between tags; empty if there are none."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", request.user, re.DOTALL)
    return found[1] if found else ""


def kind_of(request: ModelRequest) -> str:
    """Which prompt a request is made of."""
    if part(request, "old_words"):
        return "amend"
    if part(request, "chapter"):
        return "backbone"
    return "chapter" if "<recap>" in request.user and "whole chapter" in request.user else "recap"


def obedient(request: ModelRequest) -> str:
    """What a model says that does as it is told."""
    before = part(request, "recap") + part(request, "story_so_far")
    events = part(request, "new_events") + part(request, "chapter") + part(request, "new_words")
    removed = part(request, "old_words")
    gone = set(_strangers(removed)) - set(_strangers(events))
    met = [name for name in dict.fromkeys([*_strangers(before), *_strangers(events)]) if name not in gone]
    numbers = [int(number) for number in re.findall(r"\d+", before + events)]
    people = [name for name in PEOPLE if name in before + events] or ["They"]
    who = f"{', '.join(people[:-1])} and {people[-1]}" if people[1:] else people[0]
    told = f"{who} carried parcels to the mill, {max(numbers, default=0)} by then."
    return " ".join([told, *(f"There they met {name}." for name in met)])


def stubborn(request: ModelRequest) -> str:
    """The same, but it never takes anything out."""
    kept = request.user.replace("old_words", "kept_words")
    return obedient(ModelRequest(request.system, kept, request.max_output_tokens))


def _strangers(text: str) -> list[str]:
    return re.findall(r"met (\w+)", text)
