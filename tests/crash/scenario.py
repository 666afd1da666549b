"""What the crash tests do to a store: a fixed list of verbs for each of several stories.

The same list can be played on any store, and gone on with from wherever a crash left it. The verbs of one story come
one after another; stories are played at once, so that group commit has something to group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from previously.core.marks import MarkKind
from previously.core.versions import Kind, Status
from tests.contract.storage.verbs import VerbStore
from tests.crash.verbs import (
    AT,
    LATER,
    MUCH_LATER,
    SOON,
    Verb,
    Words,
    append,
    at_the_end,
    attach_book,
    fold,
    forget,
    forget_book,
    fork,
    gc,
    hide,
    keep_answer,
    keep_book,
    lease,
    loosen,
    mark,
    put_back,
    restate,
    set_model_fact,
    siblings,
    splice,
    take_back,
    update,
)


@dataclass(frozen=True, slots=True)
class Story:
    """A story and all that is done to it, the making of it first. Each has an owner of its own."""

    name: str
    verbs: tuple[Verb, ...]

    @property
    def owner(self) -> str:
        """Whose it is."""
        return f"owner of {self.name}"

    async def do(self, store: VerbStore, number: int) -> None:
        """Do the verb of that number."""
        if number == 0:
            await store.create_story(self.owner, self.name, at=AT)
            return
        info = await store.story(self.owner, self.name)
        if info is None and self.verbs[number] is GONE:
            return  # it raised, and is gone all the same
        assert info is not None, "a story that was made is there"
        await self.verbs[number].act(store, info.key)


Told = Callable[[int, int], None]
"""Called with the numbers of a story and of a verb that was acknowledged."""


Do = Callable[[Story, VerbStore, int], Awaitable[None]]
"""How a verb of a story is done."""


async def play(
    store: VerbStore,
    stories: Sequence[Story],
    told: Told,
    *,
    start: Sequence[int],
    end: Sequence[int] | None = None,
    do: Do = Story.do,
) -> None:
    """Do the verbs of each story from `start` up to `end`, all stories at once."""

    async def one(number: int) -> None:
        story = stories[number]
        for verb in range(start[number], end[number] if end else len(story.verbs)):
            await do(story, store, verb)
            told(number, verb)

    async with asyncio.TaskGroup() as playing:
        for number in range(len(stories)):
            playing.create_task(one(number))


def scenario(count: int, seed: int) -> list[Story]:
    """So many stories. The seed says what is written in them, and in which order some of it is done."""
    stories = [Story(name, (CREATED, *verbs(Random(f"{seed} {name}")))) for name in NAMES[:count]]
    return [Story(one.name, (*one.verbs, GONE)) if one.name == FORGOTTEN else one for one in stories]


NAMES = ("harbour", "lighthouse", "tower", "letters", "storm", "market")

REQUESTS = (bytes(32), b"\xff" * 32)
"""The hashes of what models were asked."""

FORGOTTEN = "lighthouse"
"""Is there no more at its end."""

CREATED = Verb("create_story", lambda store, key: store.branches(key))
GONE = Verb("forget_story", lambda store, key: store.forget_story(key))


def verbs(chance: Random) -> list[Verb]:
    """All that can be done to a story: first what each later step needs, then a stretch in random order."""
    words = Words(chance)
    settings, header = f'{{"tail": {chance.randint(4, 40)}}}', f'{{"card": "{words.line(1)}"}}'
    budget = chance.randint(1_000, 9_000)
    loose = [
        splice("main", 4, 1, words.pieces(1), "edit again"),
        Verb("keep_settings", lambda store, key: store.keep_settings(key, settings)),
        Verb("keep_header", lambda store, key: store.keep_header(key, header)),
        Verb("note_budget", lambda store, key: store.note_budget(key, budget)),
        lease("recap", "worker 2", now=LATER, until=MUCH_LATER),
        mark("main", MarkKind.PIN, 3, words.line(2)),
        hide("main", 6),
        siblings("main", 5, words.drafts(2)),
        splice("main", 9, 2, (), "delete"),
        append("main", words.pieces(chance.randint(1, 3)), receipt="second"),
        restate(1, Status.COMMITTED),
        keep_book("people", f'"{words.line(300)}"'),
        keep_answer(REQUESTS[0], words.line(300)),
        keep_answer(REQUESTS[1], words.line(30)),
        set_model_fact("m", words.line(2)),
    ]
    chance.shuffle(loose)
    return [
        append("main", words.pieces(2, swipes=2)),
        append("main", words.pieces(6, swipes=2)),
        append("main", words.pieces(2), receipt="first"),
        append("main", words.pieces(2), receipt="first"),  # seen before: changes nothing
        fold("main", Kind.RECAP, 0, 2, words.line(9)),
        fold("main", Kind.RECAP, 3, 5, words.line(9), goes_on=True),
        hide("main", 1),
        update("main", 6, 7, words.line(9)),
        mark("main", MarkKind.CHAPTER, 5, words.line(1)),
        Verb("append at the end", partial(at_the_end, words.drafts(5))),
        fold("main", Kind.RECAP, 6, 8, words.line(9), behind_mark=0, status=Status.PROVISIONAL),
        fold("main", Kind.RECAP, 6, 8, words.line(9), behind_mark=0),  # takes the place of the provisional one
        fold("main", Kind.CHAPTER, 0, 5, words.line(5)),
        fold("main", Kind.SCENE, 4, 7, words.line(9), own="*"),
        fold("main", Kind.CAST, 0, 2, words.line(9), own="@Odalys"),
        fold("main", Kind.CAST, 3, 7, words.line(9), own="@Odalys", goes_on=True),
        fork("main", "other", 9),
        splice("main", 2, 1, words.pieces(1), "edit"),  # the chain of recaps goes with it
        put_back("main", 2),  # and is back
        splice("other", 1, 2, words.pieces(9, swipes=2), "rewrite in stages"),
        Verb("switch", lambda store, key: store.switch(key, "other")),
        fold("other", Kind.RECAP, 0, 3, words.line(9)),
        splice("other", 3, 5, (), "delete in stages"),
        restate(1, Status.UNDONE),
        loosen(0),
        mark("main", MarkKind.RECAP, 7, words.line(6)),
        mark("main", MarkKind.RECAP, 7, words.line(6), instead=True),
        take_back("main"),
        lease("recap", "worker 1", now=SOON, until=LATER),
        keep_answer(REQUESTS[0], words.line(30)),
        set_model_fact("m", words.line(1)),
        keep_book("people", "{}"),
        keep_book("places", f'"{words.line(30)}"'),
        attach_book("places"),
        attach_book("people"),
        *loose,
        append("main", words.pieces(12, swipes=2), receipt="import"),
        Verb("give_lease", lambda store, key: store.give_lease(key, "recap", "worker 2")),
        fold("main", Kind.BACKBONE, 0, 1, words.line(20)),
        fork("other", "third", 4),
        Verb("switch", lambda store, key: store.switch(key, "main")),
        Verb("gc", gc),
        forget_book("places"),
        forget("other", 1),
        append("main", words.pieces(2)),
        keep_answer(REQUESTS[1], words.line(30)),
        forget("main", 7),
    ]
