"""A scripted model that tells what it reads: the people, how far they got, and every stranger they met.

Strangers are the canaries of these tests: names that occur in one message only.
"""

from __future__ import annotations

import re

from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from tests.end_to_end.runtime.update_answers import (
    answer,
    asked_for,
    closing_answer,
    is_closing,
    is_update,
    messages,
    recap_in,
    under,
)

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
    if is_closing(request):
        return next(one for one in ("chapter", "short", "backbone") if one.upper() in asked_for(request))
    return "recap" if "\nRECAP\n" in request.user else "span"


def obedient(request: ModelRequest) -> str:
    """What a model says that does as it is told."""
    before = part(request, "recap") + ("" if is_closing(request) else recap_in(request))
    events = part(request, "new_events") + part(request, "new_words") + messages(request)
    removed = part(request, "old_words")
    gone = set(_strangers(removed)) - set(_strangers(events))
    met = [name for name in dict.fromkeys([*_strangers(before), *_strangers(events)]) if name not in gone]
    numbers = [int(number) for number in re.findall(r"(?<!#)\b\d+", before + events)]
    told = _told(before + events, numbers)
    text = " ".join([told, *(f"There they met {name}." for name in met)])
    told_before = under(request, "The whole story" if is_closing(request) else "The story before")
    strangers = dict.fromkeys([*_strangers(told_before), *met])
    spine = " ".join([_told(told_before + text, numbers), *(f"There they met {one}." for one in strangers)])
    if is_closing(request):
        return closing_answer(request, text, backbone=spine)
    if not is_update(request):
        return text
    here = " ".join([_told(events, numbers), *(f"There they met {name}." for name in _strangers(events))])
    return answer(request, text, episode=here, backbone=spine)


def _told(read: str, numbers: list[int]) -> str:
    named = [name for name in PEOPLE if name in read] or ["Somebody"]
    people = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    return f"{people} carried parcels to the mill, {max(numbers, default=0)} by then."


def stubborn(request: ModelRequest) -> str:
    """The same, but it never takes anything out."""
    kept = request.user.replace("old_words", "kept_words")
    return obedient(ModelRequest(request.system, kept, request.max_output_tokens))


def _strangers(text: str) -> list[str]:
    return re.findall(r"met (\w+)", text)
