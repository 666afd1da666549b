"""Nothing crosses from one story to another but what a person let cross.

Random worlds of two owners: stories with witnesses, continued from one another, with shared memories attached and
detached, rules set and taken back, messages and stories forgotten, branches, renames and undo. Every message and fact
holds a word of its own, so whoever finds one knows where it came from. `WALL_CASES` says how many stories are told
(`make walls` tells 10,000).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from previously import BadInput, Memory, Settings
from tests.effort import cases
from tests.end_to_end.runtime.echoing import Fickle, canaries_in, canary

CASES = int(os.environ.get("WALL_CASES", cases(600, quick=24)))
STORIES_OF_A_WORLD = 6
PEOPLE = ("Ines", "Bram", "Odalys")
STRANGER = "Corin"
READERS = ("", *PEOPLE, STRANGER)
NAMES = ("one", "two", "three", "four", "five", "six")


@dataclass
class Tale:
    """What is known of a story: its words, and what it was let to read."""

    said: dict[str, frozenset[str] | None] = field(default_factory=dict)
    """Each word of a message with those who witnessed it; None where it was not given."""
    inherited: dict[str, frozenset[str] | None] = field(default_factory=dict)
    earlier: Tale | None = None
    attached: set[str] = field(default_factory=set)


@dataclass
class Shared:
    """What is known of a shared memory."""

    kind: str
    of: str
    learns: bool = False
    facts: list[set[str]] = field(default_factory=list)
    undoable: list[list[set[str]]] = field(default_factory=list)


class World:
    """The stories of one owner, and who may read what."""

    def __init__(self, memory: Memory, chance: random.Random, first_word: int) -> None:
        self.memory, self.chance, self.next_word = memory, chance, first_word
        self.tales: dict[str, Tale] = {}
        self.shared: dict[str, Shared] = {}
        self.forgotten: set[str] = set()
        self.told = 0

    @property
    def words(self) -> set[str]:
        """Every word of a message that is told here."""
        return {word for tale in self.tales.values() for word in tale.said}

    def word(self) -> str:
        self.next_word += 1
        return canary(self.next_word)

    async def begin(self) -> None:
        """Begin a story, by itself or from another."""
        chance, name = self.chance, next(name for name in NAMES if name not in self.tales)
        old = [other for other, tale in self.tales.items() if tale.said]
        if old and chance.random() < 0.6:
            other = chance.choice(old)
            story = await self.memory.story(other)
            length = (await story.branch_info()).messages
            if length:
                at = chance.choice((None, chance.randrange(length)))
                await self.memory.continue_story(other, name, at=at, fold=chance.random() < 0.9)
                tale = Tale(earlier=self.tales[other], attached=set(self.tales[other].attached))
                path = (await story.messages())[: length if at is None else at + 1]
                on_path = {word for item in path for word in canaries_in(item.entry.message.text)}
                tale.inherited = {word: self.tales[other].said[word] for word in on_path}
                if chance.random() < 0.1:
                    await (await self.memory.story(name)).undo()
                    tale.earlier, tale.inherited = None, {}
                self.tales[name] = tale
        if name not in self.tales:
            await self.memory.story(name)
            self.tales[name] = Tale()
        self.told += 1
        for _ in range(chance.randint(2, 5)):
            await self.say(name)

    async def say(self, name: str) -> None:
        chance, word = self.chance, self.word()
        speaker = chance.choice(PEOPLE)
        there = frozenset({speaker, *(who for who in PEOPLE if chance.random() < 0.4)})
        given = there if chance.random() < 0.7 else None
        text = f"I hid {word} under the mill. I promise {chance.choice(PEOPLE)} to bring {word} home."
        story = await self.memory.story(name)
        role = chance.choice(("user", "assistant"))
        await story.add(role, text, name=speaker, witnesses=sorted(given) if given else None)
        self.tales[name].said[word] = given

    async def deed(self) -> None:
        """Something that happens; what cannot be done changes nothing."""
        chance = self.chance
        name = chance.choice(sorted(self.tales))
        deeds: dict[Callable[[str], Awaitable[object]], int] = {
            self.say: 6, self.fold: 6, self.edit: 2, self.branch: 2, self.attach: 6, self.detach: 2, self.share: 3,
            self.add_fact: 4, self.change_facts: 2, self.rule: 2, self.keep: 3, self.forget: 2, self.forget_all: 1,
            self.destroy: 1, self.rename: 1,
        }  # fmt: skip
        with suppress(BadInput):
            await chance.choices(list(deeds), list(deeds.values()))[0](name)

    async def fold(self, name: str) -> None:
        await (await self.memory.story(name)).fold()

    async def edit(self, name: str) -> None:
        story = await self.memory.story(name)
        length = (await story.branch_info()).messages
        if length:
            word, at = self.word(), self.chance.randrange(length)
            (item,) = await story.messages(at, at)
            await story.edit(at, f"I lost {word} at sea.")
            given = item.entry.message.witnesses
            self.tales[name].said[word] = frozenset(given) if given else None

    async def branch(self, name: str) -> None:
        story = await self.memory.story(name)
        length = (await story.branch_info()).messages
        if length:
            await story.branch(f"branch {self.word()}"[:10] + str(self.next_word), self.chance.randrange(length))
            # What is said on the branch that another story goes on from is said to that story: nobody does so here.
            own = [one.name for one in await story.branches() if not one.name.startswith("continued by")]
            await story.switch(self.chance.choice(own))

    async def share(self, _: str) -> None:
        name = f"memory {len(self.shared) + len(self.forgotten)}"
        kind = self.chance.choice(("character", "character", "world", "project"))
        of = self.chance.choice(PEOPLE) if kind == "character" else ""
        await self.memory.share(name, kind, of)
        self.shared[name] = Shared(kind, of)

    def choose_shared(self) -> str:
        if not self.shared:
            raise BadInput("none")
        return self.chance.choice(sorted(self.shared))

    async def attach(self, name: str) -> None:
        shared = self.choose_shared()
        await (await self.memory.story(name)).attach_book(shared)
        self.tales[name].attached.add(shared)

    async def detach(self, name: str) -> None:
        shared = self.choose_shared()
        await (await self.memory.story(name)).detach_book(shared)
        self.tales[name].attached.discard(shared)

    async def add_fact(self, _: str) -> None:
        shared, word = self.choose_shared(), self.word()
        await self.memory.add_shared(shared, f"{word} is a thing of old.")
        self.note_facts(shared, [*self.shared[shared].facts, {word}])

    async def change_facts(self, _: str) -> None:
        shared = self.choose_shared()
        known = self.shared[shared]
        if self.chance.random() < 0.5:
            await self.memory.undo_shared(shared)
            known.facts = known.undoable.pop()
            return
        number = self.chance.randint(1, 3)
        await self.memory.remove_shared(shared, number)
        self.note_facts(shared, known.facts[: number - 1] + known.facts[number:])

    def note_facts(self, shared: str, facts: list[set[str]]) -> None:
        known = self.shared[shared]
        known.undoable.append(known.facts)
        known.facts = facts

    async def rule(self, _: str) -> None:
        shared, learns = self.choose_shared(), self.chance.random() < 0.7
        await self.memory.rule_shared(shared, learns=learns)
        self.shared[shared].learns = learns

    async def keep(self, name: str) -> None:
        shared = self.choose_shared()
        before = await self.memory.shared_memory(shared)
        after = await self.memory.keep_shared(shared, name)
        if after != before:
            self.note_facts(shared, [canaries_in(fact.text) for fact in after.facts])
        fresh = set().union(*(canaries_in(fact.text) for fact in after.facts[len(before.facts) :]), set())
        of = self.shared[shared].of
        known = {word for word, there in self.tales[name].said.items() if there is None or of in there}
        assert fresh <= known, f"{of} never knew {fresh - known} in {name}"

    async def forget(self, name: str) -> None:
        story = await self.memory.story(name)
        length = (await story.branch_info()).messages
        if length:
            at = self.chance.randrange(length)
            (item,) = await story.messages(at, at)
            await self.memory.forget(name, at)
            self.destroy_words(canaries_in(item.entry.message.text), set(self.tales[name].said))

    async def forget_all(self, name: str) -> None:
        if self.chance.random() < 0.5:
            await self.memory.forget(name)
            tale = self.tales.pop(name)
            self.destroy_words(set(tale.said), set(tale.said))

    def destroy_words(self, words: set[str], kept_from: set[str]) -> None:
        """Words are gone everywhere, and with them all facts that were kept from their story."""
        self.forgotten |= words
        for known in self.shared.values():
            for facts in (known.facts, *known.undoable):
                facts[:] = [fact for fact in facts if not fact & kept_from]

    async def destroy(self, _: str) -> None:
        shared = self.choose_shared()
        await self.memory.forget_book(shared)
        self.shared.pop(shared)
        for tale in self.tales.values():
            tale.attached.discard(shared)

    async def rename(self, name: str) -> None:
        free = [other for other in NAMES if other not in self.tales]
        if free:
            await self.memory.rename(name, free[0])
            self.tales[free[0]] = self.tales.pop(name)

    def allowed(self, name: str, reader: str) -> set[str]:
        """The words that a reader may be given in a story."""
        tale = self.tales[name]
        words = set(tale.said) | self.inherited(tale, reader)
        for shared in tale.attached:
            known = self.shared[shared]
            if reader and known.kind != "world" and (known.kind == "project" or known.of != reader):
                continue
            words |= set().union(*known.facts, set())
            for other in self.tales.values():
                if known.learns and shared in other.attached:
                    words |= {word for word, there in other.said.items() if there is None or known.of in there}
        return words - self.forgotten

    def inherited(self, tale: Tale, reader: str) -> set[str]:
        own = {word for word, there in tale.inherited.items() if not reader or there is None or reader in there}
        if reader == STRANGER:
            return set()
        return own | (self.inherited(tale.earlier, reader) if tale.earlier else set())

    async def look(self, name: str, others: set[str], readers: Sequence[str], *, asks: bool = True) -> None:
        """Look through all that readers are given; with `asks`, also when they ask for it."""
        story, chance = await self.memory.story(name), self.chance
        for reader in readers:
            allowed = self.allowed(name, reader)
            given: list[tuple[str, object]] = []
            with suppress(BadInput):  # somebody who takes part in nothing
                who = f"character:{reader}" if reader else chance.choice(("chat", "narrator", "agent"))
                view = await story.view(chance.choice((1_500, 4_000)), reader=who)
                given += [(f"view for {who}", view), ("last view", await story.last_view(reader=who))]
                secret = chance.sample(sorted(others), min(2, len(others)))
                query = " ".join(["mill promise home", *secret])
                if not asks:
                    pass
                elif chance.random() < 0.5:
                    hits = await story.search(query, witness=reader or None)
                    given.append(("search", [hit.text for hit in hits]))
                else:
                    known = await story.ask(query, witness=reader or None, by_model=False)
                    given.append(("ask", [source.text for source in known.sources if source.text]))
            if not reader:
                lists = await story.lore(), await story.threads(), await story.state(), await story.wishes()
                given.append(("lists", lists))
            for where, told in given:
                found = canaries_in(repr(told)) - allowed
                if where == "last view":
                    found &= self.forgotten | others
                assert not found, f"{reader or 'everybody'} is given {found} in {where} of {name}: {told!r:.3000}"


@pytest.mark.random
@pytest.mark.parametrize("seed", range(max(1, CASES // STORIES_OF_A_WORLD // 2)))
def test_nothing_crosses_a_wall(seed: int) -> None:
    asyncio.run(_play(seed))


async def _play(seed: int) -> None:
    chance = random.Random(seed)
    settings = Settings.of("roleplay", tail_messages=2, fold_messages=3, recap_words=60, backbone_words=60, lore="on")
    writer = Fickle(chance, failing=0.1).writer() if chance.random() < 0.4 else None
    async with await Memory.open(":memory:", settings=settings, writer=writer, owner="anna") as memory:
        worlds = [World(memory, chance, seed * 1_000), World(memory.sharing("bela"), chance, seed * 1_000 + 500)]
        told = 0
        while told < 2 * STORIES_OF_A_WORLD:
            world, other = chance.sample(worlds, 2)
            if len(world.tales) < len(NAMES) and (not world.tales or chance.random() < 0.5):
                await world.begin()
                told += 1
            for _ in range(chance.randint(1, 4)):
                if world.tales:
                    await world.deed()
            if world.tales:
                await world.look(chance.choice(sorted(world.tales)), other.words, chance.sample(READERS, 2))
            if len(world.tales) == len(other.tales) == len(NAMES):
                break
        for world, other in (worlds, worlds[::-1]):
            for name in world.tales:
                await world.look(name, other.words, READERS, asks=False)
        assert (await memory.verify()).clean
