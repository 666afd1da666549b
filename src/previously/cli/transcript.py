"""The commands that change a story: adding, editing, hiding, branching. None of them destroys anything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Position, Story, Words, open_memory, open_story, read_words
from previously.core.errors import BadInput, UnknownStory
from previously.core.json_values import clean

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory, BlockingStory
    from previously.storage.store import BranchInfo


def add(
    ctx: typer.Context,
    story: Story,
    role: Annotated[str, typer.Option("--role", metavar="R", help="user, assistant, system or tool.")],
    text: Words,
    speaker: Annotated[str | None, typer.Option("--name", metavar="N", help="Who speaks.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="When it was said, in ISO 8601.")] = None,
    witness: Annotated[
        list[str] | None, typer.Option("--witness", metavar="N", help="Who was there; repeatable. None = everyone.")
    ] = None,
    source_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The message's id where it is from.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a message to a story, which is begun if it is new."""
    from previously.core.messages import Attributes, Draft, clean_draft, message

    if at is not None:
        _check_time(at)
    said = message(role, read_words(text), speaker=speaker, witnesses=witness or None)
    draft, replaced = clean_draft(Draft(said, Attributes(at, source_id)))
    note_replaced(replaced)
    with open_memory(ctx) as memory:
        opened = _open_or_begin(memory, story)
        branch = opened.add_drafts([draft], undoable=True)
    report_branch(as_json, story, branch, f"Added message {branch.messages - 1} to {story}.")


def edit_message(ctx: typer.Context, story: str, where: int, text: str, as_json: bool) -> None:
    """Give a message other words."""
    new = read_words(text)
    note_replaced(clean(new)[1])
    _change(ctx, story, where, as_json, lambda found: found.edit(where, new), "Changed message {} of {}.")


def delete(ctx: typer.Context, story: Story, where: Position, as_json: AsJson = False) -> None:
    """Take a message out of the story; the store keeps it."""
    _change(ctx, story, where, as_json, lambda found: found.delete(where), "Took message {} out of {}.")


def hide(ctx: typer.Context, story: Story, where: Position, as_json: AsJson = False) -> None:
    """Stop showing a message in views; it is still remembered."""
    _change(ctx, story, where, as_json, lambda found: found.hide(where), "Hid message {} of {}.")


def unhide(ctx: typer.Context, story: Story, where: Position, as_json: AsJson = False) -> None:
    """Show a hidden message again."""
    _change(ctx, story, where, as_json, lambda found: found.unhide(where), "Message {} of {} is shown again.")


def _change(
    ctx: typer.Context,
    story: str,
    where: int,
    as_json: bool,
    change: Callable[[BlockingStory], BranchInfo],
    sentence: str,
) -> None:
    with open_story(ctx, story) as opened:
        before = opened.branch_info().messages
        now = change(opened)
    report_branch(as_json, story, now, sentence.format(where if where >= 0 else before + where, story))


def report_branch(as_json: bool, story: str, branch: BranchInfo, sentence: str, **more: object) -> None:
    record = {"story": story, "branch": branch.name, "messages": branch.messages, **more}
    output.report(record, sentence, as_json=as_json)


def _open_or_begin(memory: BlockingMemory, story: str) -> BlockingStory:
    try:
        return memory.story(story, create=False)
    except UnknownStory:
        begun = memory.story(story)
        output.note(f"Started a new story, {story}.")
        return begun


def note_replaced(count: int) -> None:
    if count:
        output.note(
            "1 character that cannot be stored was replaced."
            if count == 1
            else f"{count:,} characters that cannot be stored were replaced."
        )


def _check_time(at: str) -> None:
    try:
        datetime.fromisoformat(at)
    except ValueError:
        raise BadInput(f"{at!r} is not a time; write it like 2026-03-02T19:04:00+00:00.") from None
