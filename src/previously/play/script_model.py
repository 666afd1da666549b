"""A model for trying games out: it answers every question of a game from a script, the same each time.

It invents a plain story out of names, places and numbers, and now and then slips as small models do. With `repeats` it
says everything that it was shown, which is what a leak would come out by. It asks no network.
"""

from __future__ import annotations

import json
import re
from random import Random

from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.play.model_meter import find_cast_name, identify_agent
from previously.wire.model_call import build_reply

PLACES = "boathouse chapel sluice tollgate orchard cellar causeway mill stairwell quay".split()
THINGS = "lantern ledger ladder basket mirror kettle anchor cabinet saddle ribbon".split()
SIGNS = "brass scorched crooked borrowed painted rusted hollow frozen silver unsigned".split()
DOINGS = "creaked swung leaned waited dripped turned hummed settled shook shone".split()

HIT_SHARE, OVER_SHARE, MOVE_SHARE, SLIP_SHARE = 0.1, 0.5, 0.6, 0.06
"""The share of turns in which a beat is hit, a chapter is called over, people come or go, a form is not kept: so that
chapters of eight beats last some sixty turns, and every repair is used in a hundred."""

ALOUD_SHARE = 0.2
"""The share of turns in which a narrator who repeats tells all that came before: whoever is there has heard it then,
and it leaks no more."""

MOST_REPEATED = 240
"""Characters that are repeated of a text, the newest of it: more would fill every view with repetitions."""


class ScriptedGameModel:
    """Answers all agents of a game and all folds of its memory."""

    def __init__(self, seed: int = 0, *, repeats: bool = False) -> None:
        self._seed = seed
        self._repeats = repeats

    @property
    def name(self) -> str:
        return "scripted"

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        return build_reply(self.answer(request), request=request, model=self.name)

    async def close(self) -> None:
        """There is nothing to close."""

    def answer(self, request: ModelRequest) -> str:
        """Return the answer to a question: a function of the question and the seed alone."""
        asked = re.sub(r"recalled \w+", "", f"{request.system}\n{request.user}")  # a mark that is drawn for each story
        chance = Random(f"{self._seed}\n{asked}")
        match identify_agent(request):
            case "narrator":
                return self._narrate(request, chance)
            case "state":
                return _judge(request, chance)
            case "":
                return _fold(request) if "# Your answer" in request.user else "none"
            case _ if find_cast_name(request):
                return self._remember(request)
            case name:
                return self._speak(request, name, chance)

    def _narrate(self, request: ModelRequest, chance: Random) -> str:
        names = _split_names(re.search(r"^PRESENT: who of (.*?) saw", request.user, re.M))
        there = [name for name in names if name in _find(r"until now: (.*)\.$", request.system)]
        if chance.random() < MOVE_SHARE or not there:
            there = chance.sample(names, chance.randint(1, len(names)))
        answers = chance.sample(there, chance.randint(0, min(2, len(there))))
        told = f"{_invent(chance)} {_invent(chance)} {_invent(chance)}"
        if self._repeats and chance.random() < ALOUD_SHARE:
            told = f"{told} {_repeat(_read_story(request))}"
        present, responding = ", ".join(there), ", ".join(answers) or "nobody"
        if chance.random() < SLIP_SHARE:
            return json.dumps({"narration": told, "present": there, "responding_characters": answers})
        return f"{told}\nPRESENT: {present}\nRESPONDING: {responding}\nMOOD: {chance.choice(('calm', 'eerie'))}"

    def _speak(self, request: ModelRequest, name: str, chance: Random) -> str:
        said = f'"{_invent(chance)}" said {name}.'
        if self._repeats:
            return f"{said} {_repeat(request.system.partition('# What you know')[2])} {_repeat(_read_story(request))}"
        return f"{name}: {said}" if chance.random() < SLIP_SHARE else said

    def _remember(self, request: ModelRequest) -> str:
        name = find_cast_name(request)
        events = re.search(r"<new_events>\n(.*?)\n</new_events>", request.user, re.S)
        told = _list_told(events[1] if events else "")
        if self._repeats:
            before = request.user.partition("<memory>")[2].partition("</memory>")[0]
            return json.dumps({"summary": _repeat(f"{before} {' '.join(told)}"), "add": [_repeat(one) for one in told]})
        summary = f"{name} was there. {' '.join(told[:2])}".strip()
        return json.dumps({"summary": summary, "add": told[:1], "remove": [], "update": []})


def _judge(request: ModelRequest, chance: Random) -> str:
    still_open = re.findall(r"^(\d+)\. .*\(open\)$", request.system, re.M)
    hit = [number for number in still_open[:1] if chance.random() < HIT_SHARE]
    over = "yes" if chance.random() < OVER_SHARE else "no"
    return f"HIT: {', '.join(hit) or 'none'}\nCOMPLETE: {over}\nWHY: It was so in the story."


def _fold(request: ModelRequest) -> str:
    """Return what an update or a closed chapter asks for: who was there, and the things that were told of."""
    form = request.user[request.user.rindex("# Your answer") :]
    read = re.search(r"<new_messages>\n(.*?)\n</new_messages>", request.user, re.S)
    new = read[1] if read else request.user[: -len(form)]
    before = re.search(r"^# The (?:recap|whole story)[^\n]*\n(.*?)\n\n(?:# |<)", request.user, re.S | re.M)
    earlier = "" if before is None or before[1].startswith("(n") else before[1]
    people = " and ".join(filter(None, (", ".join((names := _list_names(new))[:-1]), names[-1])))
    here = f"{people} were there and told of {', of '.join(_list_things(new)[:5]) or 'nothing new'}."
    known = ", of ".join(dict.fromkeys([*_list_things(earlier)[:4], *_list_things(new)[-4:]])) or "nothing new"
    whole = f"{people} were there. By then they had told of {known}."
    texts = {"EPISODE": here, "RECAP": whole, "CHAPTER": whole, "TITLE": "What Was Told", "SHORT": here}
    headings = re.findall(r"^[A-Z]{4,8}$", form, re.M)
    texts["BACKBONE"] = whole
    return "\n\n".join([*(f"{heading}\n{texts.get(heading, 'none')}" for heading in headings), "END"])


def _invent(chance: Random) -> str:
    """Return a sentence of which no eight words in a row will be found in another."""
    sign, thing, place = chance.choice(SIGNS), chance.choice(THINGS), chance.choice(PLACES)
    first, second = chance.randint(2, 9_999), chance.randint(2, 9_999)
    return f"The {sign} {thing} {first} by the {place} {chance.choice(DOINGS)} {second} times."


def _list_things(text: str) -> list[str]:
    things = re.findall(rf"(?:{'|'.join(SIGNS)}) (?:{'|'.join(THINGS)}) \d+", text)
    return [f"the {thing}" for thing in dict.fromkeys(things)]


def _list_names(text: str) -> list[str]:
    """Return who is named in messages: whoever wrote one, and names of two words."""
    writers = re.findall(r"^#\d+ ([^:\n]{2,40}):", text, re.M)
    named = re.findall(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b", text)
    names = [name for name in dict.fromkeys([*writers, *named]) if name != "Narrator" and not name.startswith("The ")]
    return names or ["Somebody"]


def _read_story(request: ModelRequest) -> str:
    return request.user.rpartition("\n\n---\n\n")[0].partition("newest last:")[2]


def _list_told(text: str) -> list[str]:
    """Return sentences of messages that a narrator or a character told, without the player's own."""
    return [one for one in _list_statements(text) if one.startswith("The ")]


def _list_statements(text: str) -> list[str]:
    return [one.strip() for one in re.findall(r"[^.!?:;\n\[\]<>\"]+[.!?]", text)]


def _split_names(match: re.Match[str] | None) -> list[str]:
    return match[1].split(", ") if match else []


def _find(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.M)
    return match[1] if match else ""


def _repeat(text: str) -> str:
    """Return what was shown, the newest of it: whole sentences, without the frame around them."""
    sentences = [one for one in _list_statements(text) if len(one.split()) > 4]
    kept: list[str] = []
    while sentences and sum(map(len, kept)) + len(sentences[-1]) < MOST_REPEATED:
        kept.insert(0, sentences.pop())
    return " ".join(kept)
