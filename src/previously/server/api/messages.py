"""Routes of messages: the pages of a story, and all that is done to a message."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from previously.core.errors import BadInput, HeadMoved, TextChanged
from previously.core.messages import Attributes, Draft, message
from previously.core.path import OnPath
from previously.server.api.door import Condition, Cursor, Limit, OnceKey, Opened, tag
from previously.server.api.problems import Problem
from previously.storage.store import BranchInfo
from previously.story.json_shapes import make_etag, message_json, telling_json
from previously.story.story import Story
from previously.text.times import parse_minute

router: APIRouter = APIRouter(prefix="/stories/{story:name}/messages", tags=["messages"])

Meant = Annotated[
    int | None, Query(alias="id", description="The id of the message that is meant; another one here is left alone.")
]


@router.get("")
async def list_messages(
    story: Opened,
    response: Response,
    first: Annotated[int | None, Query(description="The first message; without one, the newest page.")] = None,
    last: Annotated[int | None, Query(description="The last message.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Return a page of the active branch, and where it goes on in both directions."""
    branch = await story.branch_info()
    total = branch.messages
    begin, end = _find_bounds(total, first, last, limit, cursor)
    items = await story.messages(begin, end) if begin <= end else []
    swipes = await story.count_swipes(begin, end) if items else {}
    tag(response, str(branch.head))
    return {
        "story": story.name,
        "branch": branch.name,
        "head": branch.head,
        "total": total,
        "messages": [{**message_json(item), **_swipe_json(swipes.get(item.position))} for item in items],
        "next": str(end + 1) if items and end + 1 < total else None,
        "previous": str(max(0, begin - limit)) if items and begin > 0 else None,
    }


def _find_bounds(total: int, first: int | None, last: int | None, limit: int, cursor: str | None) -> tuple[int, int]:
    """Return the first and last position of a page; an empty stretch where there is nothing."""
    if cursor is not None:
        if not cursor.isdecimal() or len(cursor) > 18:
            raise BadInput(f"{cursor!r} is not a cursor: take `next` or `previous` of another page.")
        first = int(cursor)
    if first is None:
        end = total - 1 if last is None else last if last >= 0 else total + last
        return max(0, end - limit + 1), min(end, total - 1)
    begin = first if first >= 0 else max(0, total + first)
    end = total - 1 if last is None else last if last >= 0 else total + last
    return begin, min(end, begin + limit - 1, total - 1)


def _swipe_json(swipe: tuple[int, int] | None) -> dict[str, int]:
    return {"swipe": swipe[0], "swipes": swipe[1]} if swipe else {"swipe": 0, "swipes": 1}


class NewMessage(BaseModel):
    """A message to add."""

    role: str
    text: str
    speaker: str | None = None
    at: str | None = Field(default=None, description="When it was said, in ISO 8601.")
    witnesses: list[str] | None = None
    id: str | None = Field(default=None, description="Its id where it is from.")


class EditedMessage(BaseModel):
    """Other words, another speaker or role; what is not given stays."""

    text: str | None = None
    speaker: str | None = Field(default=None, description="Empty for nobody.")
    role: str | None = None


class Inserted(BaseModel):
    """A message to put before another."""

    role: str
    text: str
    speaker: str | None = None


class OwnWords(BaseModel):
    """Words of a person."""

    text: str


@router.post("", status_code=201)
async def add_message(story: Opened, body: NewMessage, condition: Condition, once: OnceKey = None) -> dict[str, Any]:
    """Add a message at the end. `If-Match`: the head that it goes on from."""
    head = None
    if condition is not None:
        if not condition.isdecimal() or len(condition) > 18:
            raise BadInput(f"{condition!r} is no head: send the `head` of the story as `If-Match`.")
        head = int(condition)
    if body.at is not None and parse_minute(body.at) is None:
        raise BadInput(f"{body.at!r} is no time: write it like 2026-11-17T20:15:00.")
    said = message(body.role, body.text, speaker=body.speaker, witnesses=body.witnesses)
    draft = Draft(said, Attributes(body.at, body.id))
    try:
        branch = await story.add_drafts([draft], expected_head=head, idempotency_key=once, undoable=True)
    except HeadMoved as moved:
        if head is None:
            raise
        await raise_moved(story, str(moved), body.text)
    newest = await _show(story, -1)
    return {**_change_json(story, branch, f"Added message {newest['position']} to {story.name}."), "message": newest}


@router.get("/{position}")
async def show_message(story: Opened, position: int, response: Response) -> dict[str, Any]:
    """Return one message."""
    shown = await _show(story, position)
    tag(response, shown["etag"])
    return {"story": story.name, **shown}


@router.put("/{position}")
async def edit_message(
    story: Opened, position: int, body: EditedMessage, condition: Condition, meant: Meant = None
) -> dict[str, Any]:
    """Give a message other words. `If-Match`: the ETag of the words that were read."""
    if body.text is None and body.speaker is None and body.role is None:
        raise BadInput("There is nothing to change: give text, speaker or role.")
    place, head = await _find_meant(story, position, meant, body.text)
    try:
        branch = await story.edit(
            place, body.text, speaker=body.speaker, role=body.role, expected=condition, expected_head=head
        )
    except TextChanged as changed:
        raise_conflict(changed, body.text)
    return {
        **_change_json(story, branch, f"Changed message {place} of {story.name}."),
        "message": await _show(story, place),
    }


def raise_conflict(changed: TextChanged, yours: str | None) -> NoReturn:
    """Raise the problem that shows both texts."""
    current = {"text": changed.current, "etag": make_etag(changed.current)}
    raise Problem(412, "changed", str(changed), current=current, yours=yours) from None


async def raise_moved(story: Story, sentence: str, yours: str | None) -> NoReturn:
    """Raise the problem that says where the branch ends now."""
    now = await story.branch_info()
    current = {"branch": now.name, "head": now.head, "messages": now.messages, "etag": str(now.head)}
    raise Problem(412, "changed", sentence, current=current, yours=yours) from None


@router.delete("/{position}")
async def delete_message(story: Opened, position: int, meant: Meant = None) -> dict[str, Any]:
    """Take a message out of the story; the store keeps it."""
    place, head = await _find_meant(story, position, meant)
    branch = await story.delete(place, expected_head=head)
    return _change_json(story, branch, f"Took message {place} out of {story.name}.")


@router.post("/{position}/hide")
async def hide_message(story: Opened, position: int, meant: Meant = None) -> dict[str, Any]:
    """Do not show a message in views; it is still remembered."""
    place, head = await _find_meant(story, position, meant)
    branch = await story.hide(place, expected_head=head)
    return _change_json(story, branch, f"Hid message {place} of {story.name}.")


@router.post("/{position}/unhide")
async def unhide_message(story: Opened, position: int, meant: Meant = None) -> dict[str, Any]:
    """Show a hidden message again."""
    place, head = await _find_meant(story, position, meant)
    branch = await story.hide(place, hidden=False, expected_head=head)
    return _change_json(story, branch, f"Message {place} of {story.name} is shown again.")


@router.post("/{position}/insert", status_code=201)
async def insert_message(story: Opened, position: int, body: Inserted, once: OnceKey = None) -> dict[str, Any]:
    """Put a message before this one."""
    place = await _find(story, position)
    branch = await story.insert(place, body.role, body.text, name=body.speaker, idempotency_key=once)
    return {
        **_change_json(story, branch, f"Put a message before message {place} of {story.name}."),
        "message": await _show(story, place),
    }


@router.get("/{position}/swipes")
async def list_swipes(story: Opened, position: int) -> dict[str, Any]:
    """List the messages that ever stood at this place, the oldest first."""
    place = await _find(story, position)
    entries = await story.swipes(place)
    chosen, _ = (await story.count_swipes(place, place))[place]
    rows = [{"swipe": number, **message_json(OnPath(place, 0, b"", entry))} for number, entry in enumerate(entries)]
    return {"story": story.name, "position": place, "chosen": chosen, "swipes": rows}


@router.post("/{position}/swipes", status_code=201)
async def add_swipe(story: Opened, position: int, body: OwnWords, once: OnceKey = None) -> dict[str, Any]:
    """Put other words in place of the newest message, which stays beside them as a swipe."""
    place = await _find(story, position)
    if place != (await story.branch_info()).messages - 1:
        raise BadInput("Only the newest message gets swipes; an earlier one is edited.")
    branch = await story.regenerate(body.text, idempotency_key=once, undoable=True)
    return {
        **_change_json(story, branch, f"Message {place} of {story.name} has one more swipe."),
        "message": await _show(story, place),
    }


@router.post("/{position}/swipes/{number}/choose")
async def choose_swipe(story: Opened, position: int, number: int, once: OnceKey = None) -> dict[str, Any]:
    """Put a swipe on the path."""
    place = await _find(story, position)
    branch = await story.choose(number, place, idempotency_key=once)
    return {
        **_change_json(story, branch, f"Swipe {number} of message {place} is chosen."),
        "message": await _show(story, place),
    }


@router.get("/{position}/told-by")
async def list_telling(story: Opened, position: int) -> dict[str, Any]:
    """List the memories that stand for a message."""
    rows = [telling_json(one) for one in await story.telling(position)]
    return {"story": story.name, "position": position, "told_by": rows}


async def _find_meant(
    story: Story, position: int, meant: int | None, yours: str | None = None
) -> tuple[int, int | None]:
    """Return a position counted from the front, and the head that the branch must still have, where one message is
    meant and no other."""
    if meant is None:
        return await _find(story, position), None
    branch = await story.branch_info()
    items = await story.messages(position, position) if position < branch.messages else []
    if not items:
        raise Problem(412, "changed", "This message is not here any more: look at the story again.", yours=yours)
    entry = items[0].entry
    was_sent_twice = entry.replaces == meant and entry.message.text == yours
    if entry.id != meant and not was_sent_twice:
        sentence = "Another message stands here by now, or this one was changed: look at the story again."
        raise Problem(412, "changed", sentence, current=message_json(items[0]), yours=yours)
    return items[0].position, branch.head


async def _find(story: Story, position: int) -> int:
    """Return a position counted from the front."""
    return (await story.messages(position, position) or [_refuse_empty()])[0].position


def _refuse_empty() -> OnPath:
    raise BadInput("This story has no messages yet.")


async def _show(story: Story, position: int) -> dict[str, Any]:
    item = (await story.messages(position, position) or [_refuse_empty()])[0]
    counts = await story.count_swipes(item.position, item.position)
    return {**message_json(item), **_swipe_json(counts.get(item.position))}


def _change_json(story: Story, branch: BranchInfo, sentence: str) -> dict[str, Any]:
    return {
        "story": story.name,
        "branch": branch.name,
        "head": branch.head,
        "messages": branch.messages,
        "done": sentence,
    }
