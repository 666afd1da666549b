"""Routes that change the lists of memory: chapters, scenes, pins, lore, threads, state, cast, presence."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from previously.core.errors import BadInput, TextChanged
from previously.lore.keys import normalize_name
from previously.server.api.door import Condition, Opened
from previously.server.api.messages import OwnWords, raise_conflict
from previously.story.json_shapes import (
    chapter_json,
    knower_json,
    lore_json,
    make_etag,
    pin_json,
    stretch_json,
    thread_json,
)
from previously.story.lore_edits import LoreListing
from previously.story.story import Story
from previously.story.thing_name import Thing, ThingKind

router: APIRouter = APIRouter(prefix="/stories/{story:name}", tags=["lists"])


class ChapterEnd(BaseModel):
    """A place where a chapter ends."""

    title: str = ""
    at: int = -1


class ChapterTitle(BaseModel):
    """The title of a chapter."""

    title: str


class ScenePlace(BaseModel):
    """A place in a story."""

    at: int = -1


class NewPin(BaseModel):
    """Words that every view shows."""

    text: str | None = Field(default=None, description="Your own; else those of the message.")
    at: int = -1


class NewEntry(BaseModel):
    """An entry of lore."""

    name: str
    text: str
    type: str = ""
    keywords: list[str] | None = None


class EditedEntry(BaseModel):
    """Other content, keywords or type; what is not given stays."""

    text: str | None = None
    type: str = ""
    keywords: list[str] | None = None


class Acceptance(BaseModel):
    """A suggestion taken over."""

    type: str = ""


class Merge(BaseModel):
    """Two names of one thing."""

    into: str


class Sentence(BaseModel):
    """A sentence to try."""

    text: str
    reader: str = "chat"


class NewThread(BaseModel):
    """Something that is open."""

    text: str
    due: str = ""
    owner: str = ""


class EditedThread(BaseModel):
    """Other words, another date, another owner; what is not given stays."""

    text: str = ""
    due: str = ""
    owner: str | None = None


class Known(BaseModel):
    """The knowledge of a character."""

    summary: str
    facts: list[str] = []


class PresenceWish(BaseModel):
    """The people who were at some messages."""

    first: int
    last: int
    names: list[str] | None = Field(description="Nobody if empty, everybody if null.")


class Name(BaseModel):
    """The name of a character, or another one of an entry."""

    name: str


@router.post("/chapters", status_code=201)
async def close_chapter(story: Opened, body: ChapterEnd) -> dict[str, Any]:
    """End a chapter with a message."""
    chapter = await story.close_chapter(body.title, body.at)
    return {"story": story.name, **chapter_json(chapter), "done": f"{chapter.name} ends with {chapter.span.last}."}


@router.patch("/chapters/{number}")
async def name_chapter(story: Opened, number: int, body: ChapterTitle) -> dict[str, Any]:
    """Give a chapter a title."""
    chapter = await story.name_chapter(number, body.title)
    return {"story": story.name, **chapter_json(chapter), "done": f"Chapter {number} is called {chapter.title} now."}


@router.post("/scenes", status_code=201)
async def end_scene(story: Opened, body: ScenePlace) -> dict[str, Any]:
    """End a scene with a message."""
    mark = await story.end_scene(body.at)
    return {"story": story.name, "position": mark.position, "done": f"A scene ends with message {mark.position}."}


@router.post("/pins", status_code=201)
async def add_pin(story: Opened, body: NewPin) -> dict[str, Any]:
    """Show words in every view."""
    pin = await story.pin(body.text, at=body.at)
    return {"story": story.name, **pin_json(pin), "done": f"Pin {pin.id}: {pin.text}"}


@router.post("/lore", status_code=201)
async def write_entry(story: Opened, body: NewEntry) -> dict[str, Any]:
    """Write an entry of your own. Scenes never change it."""
    for known in await story.lore():
        if not known.book and normalize_name(known.name) == normalize_name(body.name):
            raise BadInput(f"There is an entry {known.name!r} already; `previously lore edit` changes it.")
    made = await story.write_lore(body.name, body.type, keywords=body.keywords, content=body.text)
    return _entry_json(story, "written", made, f"{made.name} ({made.type}) is written.")


@router.get("/lore/explain")
async def explain_lore(story: Opened, reader: str = "chat") -> dict[str, Any]:
    """Say of each entry why it comes up in the newest turn, or why not."""
    return await _explain(story, reader, None)


@router.post("/lore/test")
async def try_sentence(story: Opened, body: Sentence) -> dict[str, Any]:
    """Say which entries a sentence would bring up, and why not the others."""
    return await _explain(story, body.reader, body.text)


async def _explain(story: Story, reader: str, sentence: str | None) -> dict[str, Any]:
    rows = [
        {"name": one.name, "book": one.book or None, "fired": one.fired, "reason": one.reason}
        for one in await story.explain_lore(reader, sentence=sentence)
    ]
    return {"story": story.name, "reader": reader, "entries": rows}


@router.patch("/lore/{name:name}")
async def edit_entry(story: Opened, name: str, body: EditedEntry, condition: Condition) -> dict[str, Any]:
    """Put your own content, keywords or type in an entry."""
    if body.text is None and body.keywords is None and not body.type:
        raise BadInput("There is nothing to change: give text, keywords or type.")
    known: LoreListing = await story.find_listed(Thing(ThingKind.LORE, name))
    if known.book:
        raise BadInput(
            f"{known.name!r} is an entry of the book {known.book!r}; change the book's file and import it again."
        )
    if condition is not None and make_etag(known.content) != condition and known.content != body.text:
        raise_conflict(TextChanged(known.content), body.text)
    made = await story.write_lore(known.name, body.type or known.type, keywords=body.keywords, content=body.text)
    return _entry_json(story, "edited", made, f"{made.name} is as you say now; what scenes note of it is suggested.")


@router.post("/lore/{name:name}/accept")
async def accept_entry(story: Opened, name: str, body: Acceptance) -> dict[str, Any]:
    """Take over an entry that is only suggested, or bring back one that was removed."""
    made = await story.accept_lore(name, body.type)
    return _entry_json(story, "accepted", made, f"{made.name} is part of the lore now.")


@router.post("/lore/{name:name}/rename")
async def rename_entry(story: Opened, name: str, body: Name) -> dict[str, Any]:
    """Give an entry another name; it is still found by the old one."""
    made = await story.rename_lore(name, body.name)
    return _entry_json(story, "renamed", made, f"{name} is called {made.name} now.")


@router.post("/lore/{name:name}/merge")
async def merge_entry(story: Opened, name: str, body: Merge) -> dict[str, Any]:
    """Say that two entries are of one thing, under the second name."""
    made = await story.merge_lore(name, body.into)
    return _entry_json(story, "merged", made, f"{name} is part of {made.name} now.")


def _entry_json(story: Story, verb: str, made: LoreListing, sentence: str) -> dict[str, Any]:
    record = {"story": story.name, verb: made.name, "entry": lore_json(made)}
    return {**record, "problems": list(made.problems), "done": sentence}


@router.post("/threads", status_code=201)
async def open_thread(story: Opened, body: NewThread) -> dict[str, Any]:
    """Say that something is open."""
    await story.open_thread(body.text, body.due, body.owner)
    return await _threads_json(story, "added", body.text, f"Open: {body.text}")


@router.patch("/threads/{thread:name}")
async def edit_thread(story: Opened, thread: str, body: EditedThread) -> dict[str, Any]:
    """Correct a thread: its words, its date, whose it is."""
    if not body.text and not body.due and body.owner is None:
        raise BadInput("There is nothing to change: give text, due or owner.")
    made = await story.edit_thread(await _find_id(story, thread), body.text, due=body.due, owner=body.owner)
    return await _threads_json(story, "edited", made.text, f"Edited: {made.line}")


@router.post("/threads/{thread:name}/resolve")
async def resolve_thread(story: Opened, thread: str) -> dict[str, Any]:
    """Say that a thread is settled."""
    made = await story.resolve_thread(await _find_id(story, thread))
    return await _threads_json(story, "settled", made.text, f"Settled: {made.line}")


@router.post("/threads/{thread:name}/reopen")
async def reopen_thread(story: Opened, thread: str) -> dict[str, Any]:
    """Say that a settled thread is open all the same."""
    made = await story.reopen_thread(await _find_id(story, thread))
    return await _threads_json(story, "reopened", made.text, f"Open again: {made.line}")


@router.post("/threads/{thread:name}/merge")
async def merge_threads(story: Opened, thread: str, body: Merge) -> dict[str, Any]:
    """Say that two threads are one, under the words of the second."""
    made = await story.merge_threads(await _find_id(story, thread), await _find_id(story, body.into))
    return await _threads_json(story, "merged", made.text, f"One thread now: {made.line}")


async def _find_id(story: Story, thread: str) -> str:
    """Return the id of the thread that a number, an id or words mean."""
    return str((await story.find_listed(Thing(ThingKind.THREAD, thread))).thread.id)


async def _threads_json(story: Story, verb: str, text: str, sentence: str) -> dict[str, Any]:
    rows = [thread_json(one) for one in await story.threads()]
    return {"story": story.name, "threads": rows, verb: text, "done": sentence}


@router.post("/state", status_code=201)
async def hold(story: Opened, body: OwnWords) -> dict[str, Any]:
    """Say how something stands."""
    await story.hold(body.text)
    return {"story": story.name, "held": body.text, "done": f"It stands so: {body.text}"}


@router.put("/cast/{name:name}")
async def write_knowledge(story: Opened, name: str, body: Known) -> dict[str, Any]:
    """Put your words in place of what a character knows."""
    await story.write_knowledge(name, body.summary, body.facts)
    return {"story": story.name, "edited": f"cast:{name}", "done": f"{name} knows what you say now."}


@router.post("/cast/{name:name}/merge")
async def merge_cast(story: Opened, name: str, body: Merge) -> dict[str, Any]:
    """Say that two names are one character's."""
    known = await story.merge_cast(name, body.into)
    return {"story": story.name, "merged": name, "into": known, "done": f"{name} is {known}."}


@router.get("/who-knows")
async def find_who_knows(story: Opened, q: Annotated[str, Query(min_length=1)]) -> dict[str, Any]:
    """Say who knows of something, from whom and since when."""
    return {"story": story.name, "query": q, "knows": [knower_json(one) for one in await story.who_knows(q)]}


@router.get("/presence")
async def show_presence(story: Opened) -> dict[str, Any]:
    """Show who was present at each stretch, and where that is known from."""
    return await _presence_json(story)


@router.put("/presence")
async def set_presence(story: Opened, body: PresenceWish) -> dict[str, Any]:
    """Say who was present at some messages."""
    span = await story.set_presence(body.first, body.last, body.names)
    return {**await _presence_json(story), "done": f"Set for {span}."}


@router.delete("/presence/{position}")
async def unset_presence(story: Opened, position: int) -> dict[str, Any]:
    """Take back what was set last there."""
    span = await story.unset_presence(position)
    return {**await _presence_json(story), "done": f"Taken back for {span}."}


@router.post("/presence/leave")
async def leave(story: Opened, body: Name) -> dict[str, Any]:
    """Say who is not there from now on."""
    await story.leave(body.name)
    return {**await _presence_json(story), "done": f"{body.name} is not there from now on."}


@router.post("/presence/enter")
async def enter(story: Opened, body: Name) -> dict[str, Any]:
    """Say who is there, or there again."""
    await story.enter(body.name)
    return {**await _presence_json(story), "done": f"{body.name} is there from now on."}


async def _presence_json(story: Story) -> dict[str, Any]:
    rows = [stretch_json(one) for one in await story.presence()]
    return {
        "story": story.name,
        "absent": await story.absent(),
        "present": await story.present(),
        "stretches": rows,
    }
