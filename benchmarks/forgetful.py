"""A model that summarises by rule: it compresses by a stated factor and forgets at a stated rate.

It reads what stands in the tags of a prompt and answers within the words asked for. Facts come first: open promises and
secrets, then the rest, the newest of each before the oldest; what is left of its room goes to filler, the newest first.
Of the facts it reads it forgets each with the given probability, decided by a hash of seed, fact and call, so that the
same run forgets the same things. It writes whole sentences in the past tense and names who was there, as the checks of
folds want it. A scene ends for it where the next morning comes. Asked for a note, it gives one of the usual size. Every
method of `benchmarks.survival` asks this same model.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from hashlib import blake2b

from benchmarks.planted import CAST, Fact, World, holds
from previously import ScriptedModel
from previously.core.model_io import ModelRequest
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens

ROOM_FOR_A_ROLL_CALL = 40
"""In a shorter answer the sentences themselves have to say who was there."""

_EARLIER = re.compile(r"<(recap|story_so_far)>\n(.*?)\n</\1>", re.S)
_EVENTS = re.compile(r"<(new_events|chapter|new_words)>\n(.*?)\n</\1>", re.S)
_NOTES = {"fragment": 40, "scene": 120, "new_events": 60}
"""The tags around what a note is about, and how many words its text has."""

_LENGTH = re.compile(r"about (\d+) words")
_SENTENCE = re.compile(r"(?<=[.!?])[\"']?\s+")
_LABEL = re.compile(r"(?P<speaker>[A-Z]\w+): ")
_NUMBER = re.compile(r"^#\d+ ", re.M)
_RECAP = re.compile(r"^# The recap of this chapter so far\n(.*?)\n\n# ", re.S | re.M)
_BEFORE = re.compile(r"^# The (?:whole )?story before this chapter\n(.*?)\n\n# ", re.S | re.M)
_HEADINGS = re.compile(r"^(?:[A-Z]{4,})$", re.M)
_NEXT_DAY = "Narrator: The next morning "
SHORT_WORDS = 70
"""A chapter's short form: 60 to 80 words are asked for."""

_NONE = "(none yet)"


class ForgetfulModel:
    """The rule as a function from request to reply; `model` is what a method asks."""

    def __init__(self, world: World, *, compression: float, forgetting: float, seed: int) -> None:
        self._world = world
        self._by_probe = {fact.probes[0]: fact for fact in world.facts}
        self._compression = compression
        self._forgetting = forgetting
        self._seed = seed
        self._calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.asked: Counter[str] = Counter()
        """How often each kind of question was asked."""
        self.model = ScriptedModel(self.reply, name="forgetful")

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return self._calls

    def reply(self, request: ModelRequest) -> str:
        """The summary of what a prompt holds."""
        self._calls += 1
        self.input_tokens += estimate_tokens(request.system) + estimate_tokens(request.user)
        if "<new_messages>\n" in request.user:
            text = self._update(request)
        elif "\n# Your answer\n" in request.user:
            text = self._closing(request)
        else:
            text = self._text(request) if request.schema is None else self._note(request)
        self.output_tokens += estimate_tokens(text)
        return text

    def _note(self, request: ModelRequest) -> str:
        """A note in the shape that is asked for: a summary, and a line or two beside it."""
        tag = next(tag for tag in _NOTES if f"<{tag}>" in request.user)
        events = request.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
        self.asked[{"fragment": "analysis", "scene": "scene"}.get(tag, "cast")] += 1
        summary = self._summary("", events, _NOTES[tag]) or f"{_present(events) or 'Somebody'} went on with the day."
        if tag == "fragment":
            return json.dumps({"summary_update": summary, "events": [summary[:120]]})
        if tag == "new_events":
            return json.dumps({"summary": summary, "add": [summary[:120]], "remove": [], "update": []})
        people = [name for name in CAST if re.search(rf"\b{name}\b", events)][:2]
        entries = [
            {
                "name": name,
                "type": "character",
                "keywords": [name, f"{name} of Lethen"],
                "content": f"{name}. {summary[:160]}",
            }
            for name in people
        ]
        return json.dumps({"summary": summary, "lorebooks": entries})

    def _update(self, request: ModelRequest) -> str:
        """An update in its form: episode and recap by the rule, and a line in the lists that need one."""
        self.asked["update"] += 1
        events = _NUMBER.sub("", request.user.split("<new_messages>\n")[1].split("\n</new_messages>")[0])
        found = _RECAP.search(request.user)
        earlier = found[1] if found and found[1] != _NONE else ""
        numbers = [event for event in events.split("\n\n") if event]
        nothing = f"{_present(events) or 'Somebody'} went on with the day."
        answer, recap = [], ""
        for heading, wanted in _form(request):
            text = ""
            if heading == "EPISODE":
                text = self._summary("", events, wanted) or nothing
            elif heading == "RECAP":
                text = recap = self._summary(earlier, events, wanted) or nothing
            elif heading in ("TITLE", "SHORT", "BACKBONE"):
                text = self._closed(heading, wanted, _before(request), recap)
            elif heading == "LORE":
                text = "\n".join(f"- #1 {name} | person | {name} | {nothing}" for name in _named(events)[:2])
            elif heading == "SCENES":
                ends = [at for at, event in enumerate(numbers) if at and event.startswith(_NEXT_DAY)]
                text = "\n".join(f"- ends at #{at}" for at in ends)
            answer.append(f"{heading}\n{text or 'none'}")
        return "\n\n".join([*answer, "END"])

    def _closing(self, request: ModelRequest) -> str:
        """What is asked of a chapter that has closed, in its form."""
        self.asked["text"] += 1
        recap = "\n".join(text for _, text in _EARLIER.findall(request.user) if text != _NONE)
        events = _NUMBER.sub("", "\n\n".join(text for _, text in _EVENTS.findall(request.user)))
        answer = []
        for heading, wanted in _form(request):
            if heading == "CHAPTER":
                text = recap = self._summary(recap, events, wanted)
            else:
                text = self._closed(heading, wanted, _before(request), recap)
            answer.append(f"{heading}\n{text}")
        return "\n\n".join([*answer, "END"])

    def _closed(self, heading: str, wanted: int, before: str, recap: str) -> str:
        """The title, the short form or the backbone of a chapter, made from its full form."""
        if heading == "TITLE":
            return f"The days of {' and '.join(_named(recap)[:2]) or 'Lethen'}"
        return self._summary(before if heading == "BACKBONE" else "", recap, wanted or SHORT_WORDS)

    def _text(self, request: ModelRequest) -> str:
        self.asked["text"] += 1
        asked = f"{request.system}\n{request.user}"
        earlier = "\n".join(text for _, text in _EARLIER.findall(request.user) if text != _NONE)
        events = "\n\n".join(text for _, text in _EVENTS.findall(request.user))
        wanted = int(found.group(1)) if (found := _LENGTH.search(asked)) else 0
        return self._summary(earlier, events, wanted)

    def _summary(self, earlier: str, events: str, wanted: int) -> str:
        told = self._filler(earlier, events)
        everything = f"{earlier}\n\n{events}"
        read = [fact for fact in self._facts(everything) if not self._forgets(fact)]
        room = count_words(earlier) + int(self._compression * count_words(events))
        room = min(wanted or room, max(room, sum(count_words(fact.telling) for fact in read) + 12))
        here = (_present(events) or _present(earlier)) if wanted > ROOM_FOR_A_ROLL_CALL else ""
        lines = [f"{here} were there."] if here else []
        room -= count_words(" ".join(lines))
        kept: list[tuple[int, str]] = []
        for fact in sorted(read, key=lambda one: (one.group not in ("promises open", "secrets"), -one.position)):
            telling = self._telling(fact, everything)
            if count_words(telling) <= room:
                room -= count_words(telling)
                kept.append((fact.position, telling))
        filler: list[str] = []
        for sentence in reversed(told):
            if count_words(sentence) > room:
                break
            room -= count_words(sentence)
            filler.insert(0, sentence)
        # Now from the beginning, now from the end: nobody retells a text in its very order.
        facts = [telling for _, telling in sorted(kept, reverse=self._calls % 2 == 0)]
        return " ".join([*lines, *facts, *filler])

    def _facts(self, text: str) -> list[Fact]:
        """The facts a text holds, in story order."""
        words = set(re.findall(r"\w+", text))
        return [fact for probe, fact in self._by_probe.items() if probe in words and holds(text, fact.probes)]

    def _telling(self, fact: Fact, text: str) -> str:
        """A promise is told as kept once the text says so."""
        if fact.settled_telling:
            done = fact.settled_telling.split()[1]
            if re.search(rf"\b{done} the {fact.probes[1]}\b", text):
                return fact.settled_telling
        return fact.telling

    def _filler(self, earlier: str, events: str) -> list[str]:
        """A sentence for each message, and the sentences of the earlier text, that hold no fact."""
        sentences = [sentence for sentence in _SENTENCE.split(" ".join(earlier.split())) if sentence]
        for event in events.split("\n\n"):
            label = _LABEL.match(event)
            text = event[label.end() :] if label else event
            if text in self._world.tellings:
                sentences.append(self._world.tellings[text])
            elif not label:
                sentences += _SENTENCE.split(" ".join(text.split()))
        unique = dict.fromkeys(sentence.strip() for sentence in sentences)
        return [one for one in unique if one and "were there" not in one and '"' not in one and not self._facts(one)]

    def _forgets(self, fact: Fact) -> bool:
        drawn = blake2b(f"{self._seed}/{fact.number}/{self._calls}".encode(), digest_size=8).digest()
        return int.from_bytes(drawn) / 2**64 < self._forgetting


def _present(text: str) -> str:
    """Who speaks in a text, or is named in it."""
    names = _named(text)
    if len(names) < 2:
        return "".join(names) + " and the others" if names else ""
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _named(text: str) -> list[str]:
    return [name for name in CAST if re.search(rf"\b{name}\b", text)]


def _form(request: ModelRequest) -> list[tuple[str, int]]:
    """The headings that an answer is to have, each with the words asked for; 0 where no number is given."""
    form = request.user[request.user.rindex("# Your answer") :]
    headings = [heading for heading in _HEADINGS.findall(form) if heading != "END"]
    blocks = [form.split(f"\n{heading}\n")[1].split("\n\n")[0] for heading in headings]
    lengths = [_LENGTH.search(block) for block in blocks]
    return [(heading, int(length[1]) if length else 0) for heading, length in zip(headings, lengths, strict=True)]


def _before(request: ModelRequest) -> str:
    """The story before a chapter, as far as it is shown."""
    found = _BEFORE.search(request.user)
    return found[1] if found and found[1] != _NONE else ""
