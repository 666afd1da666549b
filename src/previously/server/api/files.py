"""Routes of files: looked at and taken in, exported, compacted, backed up."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from previously.app import Memory
from previously.core.errors import BadInput, UnknownStory
from previously.core.messages import Draft
from previously.formats import read_story
from previously.formats.files import StorySource
from previously.formats.lore_files import NAME as BOOK
from previously.runtime.conversation import fold_conversation_async
from previously.runtime.keys import LOCAL_OWNER
from previously.runtime.whole_stories import NameTaken, Whole
from previously.server.api.directories import pack_directory
from previously.server.api.door import Asked, Asker, Opened, Served
from previously.server.api.problems import Problem
from previously.server.api.responses import answer_file
from previously.server.api.uploads import Upload
from previously.storage.story_file import is_story_file, read_first_line
from previously.story.export import EXPORT_FORMATS
from previously.story.intake import list_stories, preview_new
from previously.story.json_results import conversation_json, copies_json, intake_json

router: APIRouter = APIRouter(tags=["files"])

WHOLE = "jsonl"
SHOWN = 3
"""Messages from each end of a file that are shown before it is taken in: enough to see that it was read right."""

KINDS = {
    "markdown": ("md", "text/markdown; charset=utf-8"), "epub": ("epub", "application/epub+zip"),
    "openai": ("json", "application/json"), "anthropic": ("json", "application/json"),
    "world-info": ("json", "application/json"), "character-book": ("json", "application/json"),
}  # fmt: skip
"""The ending and the kind of a file, by format; lines of JSON for all others."""


@router.post(
    "/imports",
    status_code=201,
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
)
async def look_at_file(
    request: Request,
    memory: Asked,
    caller: Asker,
    served: Served,
    name: Annotated[str, Query(description="The name of the file.", max_length=255)] = "story.jsonl",
    story: str | None = None,
    format: str | None = None,
    user: Annotated[str | None, Query(description="In a plain text: whose lines are the user's.")] = None,
    first: Annotated[int | None, Query(description="The first message that a scene memory is about.")] = None,
    last: Annotated[int | None, Query(description="The last one.")] = None,
) -> dict[str, Any]:
    """Look at a file: which stories it holds, and what would change. Nothing is kept yet."""
    content = await request.body()
    if not content:
        raise BadInput("The file is empty.")
    if (first is None) != (last is None):
        raise BadInput("A scene memory is about messages from `first` to `last`: give both.")
    span = None if first is None or last is None else (first, last)
    ident, upload = await asyncio.to_thread(served.uploads.keep, caller.owner, content, name, story, format, user, span)
    try:
        source = await _read(upload)
        books = await _list_books(memory, upload, source)
        rows = [] if books else await _preview(memory, upload, source)
    except BaseException:
        served.uploads.drop(caller.owner, ident)
        raise
    return {"id": ident, "stories": rows, "books": books}


async def _read(upload: Upload) -> StorySource | None:
    """Return what a file holds; None for a story that was exported whole."""
    if upload.file_format is None and await asyncio.to_thread(is_story_file, upload.path):
        return None
    with _hide_folder(upload):
        source = await asyncio.to_thread(read_story, upload.path, upload.file_format, user=upload.user)
    return source if upload.span is None else source.place_memories(*upload.span)


@contextmanager
def _hide_folder(upload: Upload) -> Iterator[None]:
    """Take the folder that a file lies in meanwhile out of errors: it is no business of whoever sent it."""
    try:
        yield
    except NameTaken as error:
        raise NameTaken("There is another story of this name here: give this one another name.") from error
    except BadInput as error:
        raise BadInput(str(error).replace(f"{upload.path.parent}/", "")) from error


async def _list_books(memory: Memory, upload: Upload, source: StorySource | None) -> list[dict[str, Any]]:
    """Describe the books of a file that holds nothing else and is for no story."""
    if source is None or source.format != BOOK or upload.story is not None:
        return []
    rows = []
    for book in source.books:
        kept = await memory.keep_book(book.name, book.given, preview=True)
        rows.append({"book": book.name, "entries": len(kept.entries), "status": kept.status, "format": BOOK})
    return rows


async def _preview(memory: Memory, upload: Upload, source: StorySource | None) -> list[dict[str, Any]]:
    if source is None:
        with _hide_folder(upload):
            about = await asyncio.to_thread(read_first_line, upload.path)
        name = upload.story or about.story
        exists = name in {info.name for info in await memory.stories()}
        return [{"story": name, "format": "previously", "messages": about.messages, "exists": exists, "whole": True}]
    rows = []
    for name, its_source in list_stories(upload.story, upload.path.stem, source):
        try:
            exists, intake = True, await (await memory.story(name, create=False)).preview(its_source)
        except UnknownStory:
            exists, intake = False, preview_new(its_source, name)
        drafts = its_source.drafts
        rows.append(
            {
                **intake_json(name, its_source, intake),
                "exists": exists,
                "messages": len(drafts),
                "first": [_draft_json(draft) for draft in drafts[:SHOWN]],
                "last": [_draft_json(draft) for draft in drafts[max(SHOWN, len(drafts) - SHOWN) :]],
            }
        )
    return rows


def _draft_json(draft: Draft) -> dict[str, Any]:
    said = draft.message
    return {"role": said.role.value, "speaker": said.speaker, "text": said.text, "at": draft.attributes.at}


@router.post("/imports/{upload}")
async def take_in_file(memory: Asked, caller: Asker, served: Served, upload: str) -> dict[str, Any]:
    """Take a file in that was looked at."""
    kept = served.uploads.find(caller.owner, upload)
    source = await _read(kept)
    books = await _list_books(memory, kept, source)
    results = []
    if source is None:
        with _hide_folder(kept):
            copied = await memory.read_story_file(kept.path, name=kept.story)
        count = {"added" if copied.status == "restored" else "unchanged": copied.messages}
        whole = {"story": copied.story, "added": 0, "updated": 0, "removed": 0, "unchanged": 0, **count}
        results = [{**whole, "format": "previously", "branches": [], "skipped": {}}]
    elif books:
        for book in source.books:
            await memory.keep_book(book.name, book.given)
    else:
        for name, its_source in list_stories(kept.story, kept.path.stem, source):
            taken = await (await memory.story(name)).take_in(its_source)
            results.append(intake_json(name, its_source, taken))
    served.uploads.drop(caller.owner, upload)
    return {"stories": results, "books": books}


@router.delete("/imports/{upload}", status_code=204)
async def drop_file(caller: Asker, served: Served, upload: str) -> None:
    """Let go of a file that was looked at."""
    served.uploads.drop(caller.owner, upload)


@router.get("/stories/{story:name}/export", response_class=Response)
async def export_story(
    memory: Asked,
    story: Opened,
    to: str = WHOLE,
    branches: Annotated[bool, Query(description="All branches, in one zip file.")] = False,
) -> Response:
    """Download a story: whole, for other programs, or for people."""
    ending, kind = KINDS.get(to, ("jsonl", "application/jsonl; charset=utf-8"))
    if to == WHOLE:
        with tempfile.TemporaryDirectory(prefix="previously-") as place:
            path = Path(place) / "story.jsonl"
            await memory.write_story_file(story.name, path)
            return answer_file(await asyncio.to_thread(path.read_bytes), f"{story.name}.jsonl", kind)
    if to not in EXPORT_FORMATS:
        known = ", ".join((WHOLE, *EXPORT_FORMATS))
        raise BadInput(f"There is no format named {to!r} to export to; use one of {known}.")
    files = await story.export(to)
    if files[0].path:
        packed = await asyncio.to_thread(pack_directory, [(file.path, file.content) for file in files])
        return answer_file(packed, f"{story.name}.zip", "application/zip")
    if not branches or len(files) == 1:
        return answer_file(files[0].content, f"{story.name}.{ending}", kind)
    named = []
    for number, file in enumerate(files):
        safe = "".join(char if char.isalnum() or char in " ._-#()" else "_" for char in file.branch)[:60]
        named.append((f"{number}{f' - {safe}' if safe else ''}.{ending}", file.content))
    return answer_file(pack_directory(named), f"{story.name}.zip", "application/zip")


class CompactWish(BaseModel):
    """An agent's conversation that shall fit its window."""

    messages: list[dict[str, Any]]
    budget: int | None = Field(default=None, ge=1, le=10**12)
    tail_turns: int = 2
    output_characters: int = Field(default=2_000, ge=0, le=10**9)
    pins: list[int] = []
    to: str | None = None
    tokenizer: str = "estimate"


@router.post("/compact")
async def compact(body: CompactWish) -> dict[str, Any]:
    """Fold an agent's conversation, without a story and without a model."""
    if body.tokenizer not in ("estimate", "cl100k", "o200k"):
        raise BadInput(f"{body.tokenizer!r} counts no tokens here: use estimate, cl100k or o200k.")
    done = await fold_conversation_async(
        body.messages,
        budget=body.budget,
        tail_turns=body.tail_turns,
        output_characters=body.output_characters,
        pins=body.pins,
        to=body.to,
        tokenizer=body.tokenizer,
    )
    return conversation_json(done)


class BackupWish(BaseModel):
    """Stories to back up."""

    stories: list[str] | None = Field(default=None, description="Only these; else all.")


@router.get("/backups")
async def list_backups(memory: Asked, caller: Asker) -> dict[str, Any]:
    """List the backups that were made."""
    expect_operator(caller.owner)
    return {
        "backups": [
            {"path": one.path, "at": one.at, "stories": [_whole_json(story) for story in one.stories]}
            for one in await memory.backups()
        ]
    }


@router.post("/backups", status_code=201)
async def make_backup(memory: Asked, caller: Asker, body: BackupWish) -> dict[str, Any]:
    """Copy all stories to a new file beside the database; those of PostgreSQL to where the server was started."""
    expect_operator(caller.owner)
    beside = None if "://" in memory.place else Path(memory.place).parent
    made = await memory.backup(beside, stories=body.stories)
    return {"path": made.path, "stories": [_whole_json(story) for story in made.stories]}


class RestoreWish(BaseModel):
    """Stories to bring back from a backup."""

    path: str = Field(description="A backup that `GET /backups` lists.")
    stories: list[str] | None = None
    name: str | None = Field(default=None, description="The name of the one story restored.")
    replace: bool = Field(default=False, description="A story of that name is kept under a new name.")


@router.post("/backups/restore")
async def restore_backup(memory: Asked, caller: Asker, body: RestoreWish) -> dict[str, Any]:
    """Bring stories back from a backup that was made here."""
    expect_operator(caller.owner)
    if body.path not in [made.path for made in await memory.backups()]:
        raise BadInput("There is no such backup; GET /backups lists those that were made.")
    done = await memory.restore(body.path, stories=body.stories, name=body.name, replace=body.replace)
    return copies_json(done)


class MoveWish(BaseModel):
    """Another place for stories."""

    to: str = Field(description="The whole path of a file, or `postgresql://…`")
    stories: list[str] | None = None
    replace: bool = False


@router.post("/move")
async def move_stories(memory: Asked, caller: Asker, body: MoveWish) -> dict[str, Any]:
    """Copy all stories to another place. What is here stays as it is."""
    expect_operator(caller.owner)
    if "://" not in body.to and not Path(body.to).is_absolute():
        raise BadInput("Name the place by its whole path, or as postgresql://…")
    return copies_json(await memory.move(body.to, stories=body.stories, replace=body.replace))


def _whole_json(story: Whole) -> dict[str, Any]:
    return {"story": story.story, "messages": story.messages, "digest": story.digest}


def expect_operator(owner: str) -> None:
    """Refuse what concerns the whole place for whoever has only a key to their own stories."""
    if owner != LOCAL_OWNER:
        raise Problem(403, "not_yours", "Only whoever runs this server may do that.")
