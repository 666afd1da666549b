"""Scene memories for the checks: good ones, and bad ones each with the place and the word that its fault must have.

All of them are made from word lists with a fixed generator, so that they are the same in every run.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

SEED = json.loads((Path(__file__).parent / "seed_002_examples.json").read_text("utf-8"))
"""The examples of the seed, as they are written there."""

Memory = dict[str, Any]

_PEOPLE = "Odalys Wren Bram Ines Corvin Dorrie Tobias Marisol Hakon Yevgenia Ravi Sunniva".split()
_PLACES = ("Marrow Bay", "the Ropewalk", "Lethen", "the Low Candle", "Tallow Street", "Hollow Ford")
_THINGS = ("the brass sextant", "a sealed ledger", "the salt key", "an unsigned letter", "the drowned bell")
_DEEDS = (
    "{a} and {b} crossed to {place}.",
    "{a} found {thing} and gave it to {b}.",
    "{b} refused to say who had sent it.",
    "{a} quarrelled with {b} and left {place} alone.",
    "They agreed to meet again at {place} within two days.",
    "{b} paid the ferryman and asked him to keep quiet.",
    "{a} lost {thing} to a thief at {place}.",
    "{b} learned that {a} had lied about the debt.",
    "{a} now waits at {place}; {b} is on the way to the magistrate.",
    "The harbour guard searched {place} and found nothing.",
)
_TRAITS = (
    "Weathered {noun} with a slow way of speaking.",
    "Keeps a careful account of every debt, large or small.",
    "Distrusts the harbour guard since the strike.",
    "Speaks three languages, none of them politely.",
    "Owes a favour to the lamplighters of Lethen.",
    "Knows the tides better than any chart does.",
    "Wears a grey coat whatever the weather.",
    "Secretly supports an orphanage on the hill.",
    "Believes that the drowned bell brings bad luck.",
    "Allied with the chandlers, though not openly.",
)
_KINDS = {
    "character": ("pilot", "clerk", "smuggler", "surgeon"),
    "location": ("warehouse", "lighthouse", "chapel", "counting house"),
    "item": ("sextant", "ledger", "music box", "pistol"),
    "faction": ("company of chandlers", "brotherhood of lamplighters"),
    "concept": ("arrangement between the families", "old claim on the mole"),
    "lore": ("founding tale of the port",),
    "event": ("great strike",),
    "rule": ("custom of the tide bell",),
    "document": ("harbour charter",),
}


def good_memories(count: int = 200) -> list[Memory]:
    """Scene memories as a careful model writes them, the seed's own among them."""
    made = [copy.deepcopy(one["output"]) for one in SEED["scenes"]]
    made += [{"summary": SEED["good_summary"], "lorebooks": SEED["entries"]}]
    random = Random(2)
    while len(made) < count:
        made.append(_memory(random))
    return made


def _memory(random: Random) -> Memory:
    a, b = random.sample(_PEOPLE, 2)
    deeds = random.sample(_DEEDS, random.randint(5, 10))
    told = [one.format(a=a, b=b, place=random.choice(_PLACES), thing=random.choice(_THINGS)) for one in deeds]
    entries = []
    for name in random.sample(_PEOPLE, random.randint(0, 5)):
        kind = random.choice(sorted(_KINDS))
        noun = random.choice(_KINDS[kind])
        said = [one.format(noun=noun) for one in random.sample(_TRAITS, random.randint(4, 8))]
        entries.append({
            "name": name if kind == "character" else f"{name}'s {noun}",
            "type": kind,
            "keywords": [name, noun, f"{noun} of {name}"][: random.randint(2, 3)],
            "content": " ".join(said),
        })  # fmt: skip
    memory: Memory = {"summary": " ".join(told), "lorebooks": entries}
    if random.random() < 0.3:
        memory["open_threads"] = [f"{a} owes {b} an answer."]
    if random.random() < 0.1:
        memory["lorebooks"] = []
    return memory


Mutation = tuple[str, str, Callable[[Memory, Random], str]]
"""What kind of finding it must give, a word of its reason, and the change, which says where the finding must be."""


def _set(field: str, value: object) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        memory[field] = value
        return field

    return change


def _drop(field: str) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        del memory[field]
        return field

    return change


def _in_entry(field: str, value: object) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        index = random.randrange(len(memory["lorebooks"]))
        memory["lorebooks"][index][field] = value
        return f"lorebooks[{index}].{field}"

    return change


def _drop_in_entry(field: str) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        index = random.randrange(len(memory["lorebooks"]))
        del memory["lorebooks"][index][field]
        return f"lorebooks[{index}].{field}"

    return change


def _entry_is(value: object) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        index = random.randrange(len(memory["lorebooks"]))
        memory["lorebooks"][index] = value
        return f"lorebooks[{index}]"

    return change


def _same_twice(memory: Memory, random: Random) -> str:
    index = random.randrange(len(memory["lorebooks"]))
    other = copy.deepcopy(memory["lorebooks"][index])
    other["name"] = f"  {other['name'].upper()} "
    other["content"] = "Something else entirely is said of it in this place."
    memory["lorebooks"].append(other)
    return f"lorebooks[{len(memory['lorebooks']) - 1}]"


def _with_generic_key(word: str) -> Callable[[Memory, Random], str]:
    def change(memory: Memory, random: Random) -> str:
        index = random.randrange(len(memory["lorebooks"]))
        memory["lorebooks"][index]["keywords"].append(word)
        return f"lorebooks[{index}].keywords"

    return change


def _summary_as_entry(memory: Memory, random: Random) -> str:
    index = random.randrange(len(memory["lorebooks"]))
    memory["lorebooks"][index]["content"] = memory["summary"]
    return f"lorebooks[{index}].content"


_STORY = "Then Wren drew a knife. Bram shouted and ran to the door. The next day they fled across the moor."
_PORTRAIT = "Ines, a weathered pilot with grey eyes and a slow smile, came to the mole."
FAULT, WARNING = "faults", "warnings"

MUTATIONS: tuple[Mutation, ...] = (
    (FAULT, "missing", _drop("summary")),
    (FAULT, "must be a text, not a list", _set("summary", ["They left.", "They came back."])),
    (FAULT, "must be a text, not an object", _set("summary", {"text": "They left."})),
    (FAULT, "must be a text, not null", _set("summary", None)),
    (FAULT, "must be a text, not a number", _set("summary", 7)),
    (FAULT, "empty", _set("summary", "  \n ")),
    (FAULT, "over the limit of 500", _set("summary", "Wren crossed the moor and came back with salt. " * 60)),
    (FAULT, "must be a list, not an object", _set("lorebooks", {"Wren": "a pilot"})),
    (FAULT, "must be a list, not a text", _set("lorebooks", "none")),
    (FAULT, "must be a list, not null", _set("lorebooks", None)),
    (FAULT, "must be an object, not a text", _entry_is("Wren, a pilot")),
    (FAULT, "must be an object, not a list", _entry_is(["Wren", "character"])),
    *((FAULT, "missing", _drop_in_entry(field)) for field in ("name", "type", "keywords", "content")),
    *((FAULT, "empty", _in_entry(field, " ")) for field in ("name", "type", "content")),
    (FAULT, "must be a text", _in_entry("name", ["Wren"])),
    (FAULT, "must be a text", _in_entry("content", {"looks": "grey"})),
    (FAULT, "must be a text", _in_entry("type", None)),
    (FAULT, "empty", _in_entry("keywords", [])),
    (FAULT, "empty", _in_entry("keywords", ["", " "])),
    (FAULT, "must be a list, not a text", _in_entry("keywords", "Wren, pilot")),
    (FAULT, "must hold texts only", _in_entry("keywords", ["Wren", 3])),
    (FAULT, "is not one of", _in_entry("type", "vehicle")),
    (FAULT, "is not one of", _in_entry("type", "person")),
    (FAULT, "is not one of", _in_entry("type", "character|location")),
    (FAULT, "same name and type", _same_twice),
    (WARNING, "describes", _set("summary", _PORTRAIT)),
    (WARNING, "describes", _set("summary", "Bram is a tall, brooding man. He has long black hair.")),
    (WARNING, "tokens; 100 to 300", _set("summary", "They left.")),
    (WARNING, "tells what happened", _in_entry("content", _STORY)),
    (WARNING, "tokens; 50 to 200", _in_entry("content", "A pilot.")),
    (WARNING, "tokens; 50 to 200", _in_entry("content", "Knows the tides better than any chart does. " * 30)),
    (WARNING, "repeats the summary", _summary_as_entry),
    (WARNING, "generic keyword: 'man'", _with_generic_key("man")),
    (WARNING, "generic keyword: 'the next day'", _with_generic_key("the next day")),
    (WARNING, "generic keyword: '42'", _with_generic_key("42")),
    (WARNING, "has 1 keywords", _in_entry("keywords", ["Wren"])),
    (WARNING, "has 9 keywords", _in_entry("keywords", [f"Wren {letter}{letter}" for letter in "abcdefghi"])),
    (WARNING, "empty keyword", _in_entry("keywords", ["Wren", "pilot", ""])),
    (WARNING, "should be written 'character'", _in_entry("type", "Character")),
)


def bad_memories(count: int = 200) -> Iterator[tuple[Memory, str, str, str]]:
    """Scene memories with one thing wrong each: the memory, the kind of finding, where, and a word of its reason."""
    random = Random(3)
    made = 0
    while made < count:
        memory = _memory(random)
        if not memory["lorebooks"]:
            continue
        for entry in memory["lorebooks"]:
            if entry["type"] in ("event", "lore", "document"):
                entry["type"] = "character"
        kind, reason, change = MUTATIONS[made % len(MUTATIONS)]
        where = change(memory, random)
        made += 1
        yield memory, kind, where, reason
