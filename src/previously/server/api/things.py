"""Routes of things by their names, and of versions: read, edit, lock, compare, trace, take back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from previously.core.errors import BadInput, TextChanged
from previously.core.versions import Version
from previously.server.api.door import Condition, Cursor, Limit, Named, Opened, tag
from previously.server.api.messages import OwnWords, raise_conflict
from previously.story.json_shapes import full_version_json, lore_json, make_etag, pin_json, trace_json, version_json
from previously.story.sources import SentenceSource
from previously.story.story import Story
from previously.story.thing_name import TEXTS, VERSIONED, Thing, ThingKind, find_thing, parse_thing
from previously.story.things import TextComparison

router: APIRouter = APIRouter(prefix="/stories/{story:name}", tags=["things"])

Sentence = Annotated[str, Query(min_length=1, max_length=10_000, description="A sentence of memory, or part of one.")]


class Rejection(BaseModel):
    """A refusal of a version that waits."""

    reason: str = ""


@router.get("/things/{thing:name}")
async def show_thing(story: Opened, thing: Named, response: Response) -> dict[str, Any]:
    """Return one thing, with its words and their ETag."""
    text = await story.read_thing(thing)
    words = await story.read_words(thing)
    tag(response, make_etag(words))
    record = {"heading": text.heading, "words": text.words, "etag": make_etag(words)}
    return {"story": story.name, "shown": str(thing), **text.record, **record}


@router.put("/things/{thing:name}")
async def edit_thing(story: Opened, thing: Named, body: OwnWords, condition: Condition) -> dict[str, Any]:
    """Put your words in place of a thing. No fold changes them."""
    try:
        named = await story.edit_thing(thing, body.text, expected=condition)
    except TextChanged as changed:
        raise_conflict(changed, body.text)
    behind = "; memory goes on behind them" if thing.kind in TEXTS else ""
    done = f"Your words stand for {named} now{behind}."
    return {"story": story.name, "edited": named, "done": done, "etag": make_etag(body.text)}


@router.delete("/things/{thing:name}")
async def remove_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Take a thing away; nothing is destroyed."""
    return {"story": story.name, "removed": str(thing), "done": await story.remove_thing(thing)}


@router.post("/things/{thing:name}/lock")
async def lock_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Keep a text or an entry as it stands."""
    locked = await story.lock_thing(thing)
    if isinstance(locked, str):
        return {"story": story.name, "locked": locked, "done": f"{locked} is locked; memory goes on behind it."}
    return {
        "story": story.name, "locked": locked.name, "entry": lore_json(locked), "done": f"{locked.name} stays as it is."
    }  # fmt: skip


@router.post("/things/{thing:name}/unlock")
async def unlock_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Give up what you wrote or locked."""
    unlocked = await story.unlock_thing(thing)
    return {"story": story.name, "unlocked": unlocked.name, "gone": unlocked.is_gone, "done": unlocked.sentence}


@router.post("/things/{thing:name}/restore")
async def restore_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Put an earlier version in force again, or bring back what was removed."""
    restored, sentence = await story.restore_thing(thing)
    return {"story": story.name, "restored": restored, "done": sentence}


@router.post("/things/{thing:name}/pin", status_code=201)
async def pin_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Show the words of a thing in every view."""
    pin = await story.pin_thing(thing)
    return {"story": story.name, **pin_json(pin), "done": f"Pin {pin.id}: {pin.text}"}


@router.get("/things/{thing:name}/versions")
async def list_versions_of(story: Opened, thing: Named) -> dict[str, Any]:
    """List the versions of a text, the newest first."""
    rows = [full_version_json(version) for version in await story.versions_of(thing)]
    return {"story": story.name, "thing": str(thing), "versions": rows}


@router.get("/things/{thing:name}/diff")
async def compare_thing(story: Opened, thing: Named, to: str | None = None) -> dict[str, Any]:
    """Show word by word what changed in a text since the version before, or from one version to another."""
    return _comparison_json(story, await story.compare_texts(thing, parse_thing(to) if to else None))


@router.get("/things/{thing:name}/blame")
async def blame_thing(story: Opened, thing: Named) -> dict[str, Any]:
    """Say where a thing comes from."""
    if thing.kind in VERSIONED:
        return await _trace_json(story, thing)
    if thing.kind is ThingKind.MESSAGE:
        raise BadInput("A message comes from no other: ask which memories tell it at `told-by`.")
    words = (await story.read_thing(thing)).words
    return _sources_json(story, words, await story.blame(words))


@router.get("/blame")
async def blame_sentence(story: Opened, sentence: Sentence) -> dict[str, Any]:
    """Name the memories that say a sentence, and the messages behind it."""
    thing = find_thing(sentence)
    if thing is not None and thing.kind is not ThingKind.MESSAGE:
        return await blame_thing(story, thing)
    return _sources_json(story, sentence, await story.blame(sentence))


@router.get("/diff")
async def compare(story: Opened, old: str | None = None, new: str | None = None) -> dict[str, Any]:
    """Show word by word what changed; by default in what was written last."""
    things = [parse_thing(name) for name in (old, new) if name]
    return _comparison_json(story, await story.compare_texts(*things))


@router.get("/versions")
async def list_versions(story: Opened, limit: Limit = 100, cursor: Cursor = None) -> dict[str, Any]:
    """List what folds and people wrote, the newest first."""
    if cursor is not None and (not cursor.isdecimal() or len(cursor) > 18):
        raise BadInput(f"{cursor!r} is not a cursor: take `next` of another page.")
    before = int(cursor) if cursor else None
    versions = [one for one in reversed(await story.log()) if before is None or one.id < before]
    rows = [version_json(version) for version in versions[:limit]]
    return {"story": story.name, "versions": rows, "next": str(rows[-1]["id"]) if len(versions) > limit else None}


@router.get("/versions/{version}")
async def show_version(story: Opened, version: int) -> dict[str, Any]:
    """Return a version with its text, and where it came from."""
    return await _trace_json(story, Thing(ThingKind.VERSION, str(version)))


@router.post("/versions/{version}/restore")
async def restore_version(story: Opened, version: int) -> dict[str, Any]:
    """Put an earlier version in force again."""
    restored = await story.restore(version)
    return {"story": story.name, "restored": restored.id, "done": f"Version {restored.id} is in force again."}


@router.post("/versions/{version}/undo")
async def take_back_version(story: Opened, version: int) -> dict[str, Any]:
    """Take back what a fold wrote; the next fold makes another."""
    taken = await story.take_back(version)
    undone = f"version {taken.id}, {taken.made.kind.value} of {taken.made.span}"
    return {"story": story.name, "undone": undone, "done": f"Undone: {undone}."}


@router.get("/pending")
async def list_pending(story: Opened) -> dict[str, Any]:
    """List what waits for your approval."""
    rows = [{**version_json(one), "text": one.made.text} for one in await story.pending()]
    return {"story": story.name, "versions": rows}


@router.post("/versions/{version}/approve")
async def approve_version(story: Opened, version: int) -> dict[str, Any]:
    """Put a version that waits in force."""
    return _decision_json(story, await story.approve(version))


@router.post("/versions/{version}/reject")
async def reject_version(story: Opened, version: int, body: Rejection) -> dict[str, Any]:
    """Refuse a version that waits."""
    return _decision_json(story, await story.reject(version, body.reason))


def _decision_json(story: Story, version: Version) -> dict[str, Any]:
    status = version.made.status.value
    return {"story": story.name, status: version.id, "done": f"Version {version.id} is {status}."}


async def _trace_json(story: Story, thing: Thing) -> dict[str, Any]:
    return {"story": story.name, **trace_json(*await story.trace(thing))}


def _comparison_json(story: Story, compared: TextComparison) -> dict[str, Any]:
    runs = [{"kind": change.kind.value, "text": change.text} for change in compared.changes]
    return {"story": story.name, "old": compared.older.id, "new": compared.newer.id, "changes": runs}


def _sources_json(story: Story, sentence: str, sources: list[SentenceSource]) -> dict[str, Any]:
    return {"story": story.name, "sentence": sentence, "found": [one.as_json() for one in sources]}
