"""A scripted model that notes what it reads and nothing else: the same messages always give the same note."""

from __future__ import annotations

import json
import re
from collections import Counter

from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.lore.state import render_state
from previously.memory.known import KnownReader
from previously.runtime.story_moment import StoryMoment
from previously.testing.model import ScriptedModel
from tests.end_to_end.runtime.echoing import kind_of, make_writer, part
from tests.end_to_end.runtime.update_answers import answer, closing_answer, messages, recap_in

PEOPLE = ("Maya", "Joaquin", "Odalys")


def said(number: int, stranger: str = "") -> str:
    """What is said in the message of that number."""
    met = f" There they met {stranger}, who keeps the ferry." if stranger else ""
    return f"Parcel {number} went to the mill with {PEOPLE[number % 3]}.{met}"


def faithful(request: ModelRequest) -> str:
    """What a model answers that notes just what it reads."""
    kind = kind_of(request)
    if kind in ("scene", "analysis"):
        return _noted(kind, part(request, "scene") or part(request, "fragment"))
    if kind == "cast":
        numbers = _numbers(part(request, "new_events"))
        told = f"They saw parcels {numbers[0]} to {numbers[-1]} go to the mill. They are glad. They wait."
        return json.dumps({"summary": told, "add": [f"Parcel {numbers[-1]} is at the mill"]})
    if kind == "update":
        return _updated(request)
    numbers = _numbers(request.user.replace(part(request, "old_words"), ""))
    numbers += [int(number) for number in re.findall(r"(\d+) by then", request.user)]
    strangers = sorted(set(_strangers(request.user)) - (set(_strangers(part(request, "old_words")))))
    people = [name for name in PEOPLE if name in request.user] or ["They"]
    who = f"{', '.join(people[:-1])} and {people[-1]}" if people[1:] else people[0]
    told = f"{who} carried parcels to the mill, {max(numbers, default=0)} by then."
    text = " ".join([told, *(f"There they met {name}, who keeps the ferry." for name in strangers)])
    return closing_answer(request, text) if kind == "chapter" else text


def _updated(request: ModelRequest) -> str:
    said_now = messages(request)
    numbers, strangers = _numbers(said_now), _strangers(said_now)
    met = list(dict.fromkeys([*_strangers(recap_in(request)), *strangers]))
    told = _told(said_now + recap_in(request), numbers[-1])
    places = {int(number): at for at, number in re.findall(r"^#(\d+) .*?[Pp]arcel (\d+)", said_now, re.M)}
    first = next(iter(places.values()), "1")
    last = places.get(numbers[-1], first)
    people = list(dict.fromkeys(re.findall(r"mill with (\w+)", said_now))) or ["Nobody"]
    sevenths = [number for number in places if number % 7 == 0]
    return answer(
        request,
        " ".join([told, *(f"There they met {name}, who kept the ferry." for name in met)]),
        episode=" ".join([_told(said_now, numbers[-1]), *(f"They met {name}." for name in strangers)]),
        threads="\n".join(
            f"- new #{places[one]} Maya to all: parcel {one}, to be fetched again" for one in sevenths[:3]
        ),
        state="\n".join(f"- #{last} {who} / holds: parcel {numbers[-1]}" for who in people[:2]),
        lore="\n".join(
            [f"- #{last} {who} | person | {who}, carrier | Carried parcel {numbers[-1]}." for who in people]
            + [f"- #{first} {name} | person | {name}, ferry | Kept the ferry at the mill." for name in strangers]
        ),
    )


def _told(read: str, number: int) -> str:
    named = [name for name in PEOPLE if name in read] or ["Somebody"]
    return f"{' and '.join(named)} carried parcels to the mill, {number} by then."


def _noted(kind: str, text: str) -> str:
    numbers, strangers = _numbers(text), _strangers(text)
    people = list(dict.fromkeys(re.findall(r"mill with (\w+)", text))) or ["Nobody"]
    signals = {
        "state_changes": [f"{who} / place: the mill with parcel {numbers[-1]}" for who in people[:2]],
        "open_threads": [f"{people[0]} promised to fetch parcel {numbers[-1]} again."] if numbers[-1] % 7 == 0 else [],
    }
    told = f"Parcels {numbers[0]} to {numbers[-1]} went to the mill with {' and '.join(people)}."
    told = " ".join([told, *(f"They met {name}." for name in strangers)])
    if kind == "analysis":
        return json.dumps({"summary_update": told, "mentions": people, **signals})
    entries = [
        {"name": who, "type": "character", "keywords": [who, "carrier"], "content": f"Carried parcel {numbers[-1]}."}
        for who in people
    ]
    entries += [
        {"name": name, "type": "character", "keywords": [name, "ferry"], "content": "Keeps the ferry at the mill."}
        for name in strangers
    ]
    return json.dumps({"summary": told, "lorebooks": entries, **signals})


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"[Pp]arcel (\d+)", text)] or [0]


def _strangers(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"met (\w+)", text)))


class Asked:
    """A model that notes what it reads, and how often it was asked for what."""

    def __init__(self) -> None:
        self.model = ScriptedModel(faithful)
        self.writer = make_writer(self.model)
        self._seen = 0

    def since(self) -> Counter[str]:
        """What was asked since the last time."""
        new = self.model.requests[self._seen :]
        self._seen = len(self.model.requests)
        return Counter(map(kind_of, new))


def state(story: BlockingStory, reader: str = "") -> str:
    """Lore, threads and how things stand, read anew, as text."""

    def read(moment: StoryMoment) -> str:
        return render_state(KnownReader().read_known(moment.snapshot, moment.rules, reader).state)

    return story._run(story._inner._access.read(read))
