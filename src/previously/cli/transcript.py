"""The commands that change a story: adding, importing, editing, hiding, branching. None of them destroys anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import (
    AsJson,
    Position,
    Story,
    Words,
    check_name,
    open_memory,
    read_words,
)
from previously.core.errors import BadInput, UnknownStory
from previously.core.json_values import clean

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory, BlockingStory
    from previously.formats.files import StorySource
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
    _note_replaced(replaced)
    with open_memory(ctx) as memory:
        opened = _open_or_begin(memory, story)
        branch = opened.add_drafts([draft], undoable=True)
    report_branch(as_json, story, branch, f"Added message {branch.messages - 1} to {story}.")


def import_files(
    ctx: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="The files; each becomes a story.")],
    story: Annotated[
        str | None,
        typer.Option("--story", metavar="NAME", parser=check_name, help="The story's name; else the file's."),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="The file's format; else it is recognised.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="N", help="In a plain text: whose lines are the user's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import files as stories, or bring stories up to date."""
    from previously.formats import read_story
    from previously.storage.story_file import is_story_file

    names = _name_stories(files, story)
    whole = [file for file in files if file_format is None and is_story_file(Path(file))]
    # All are read before anything is written.
    sources = {
        its_name: read_story(Path(file), file_format, user=user)
        for its_name, file in zip(names, files, strict=True)
        if file not in whole
    }
    stories = [one for its_name, source in sources.items() for one in _read_stories(its_name, source)]
    with open_memory(ctx) as memory:
        results = [_take_in(memory, file, story) for file in whole]
        results += [_import(memory, its_name, source) for its_name, source in stories]
    if as_json:
        output.emit(results[0] if len(results) == 1 else {"stories": results})
        return
    console = output.console()
    for result in results:
        counts = ", ".join(f"{result[what]:,} {what}" for what in _COUNTS)
        beside = f", {output.count_nouns(len(result['branches']), 'branch')}" if result["branches"] else ""
        console.print(f"{output.one_line(result['story'])}: {counts} ({result['format']}{beside}).", soft_wrap=True)


def edit_message(ctx: typer.Context, story: str, where: int, text: str, as_json: bool) -> None:
    """Give a message other words."""
    new = read_words(text)
    _note_replaced(clean(new)[1])
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
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
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
        output.note(f"Started a new story, {story}.")
        return memory.story(story)


def _name_stories(files: Sequence[str], story: str | None) -> list[str]:
    if story is not None:
        if len(files) > 1:
            raise BadInput(f"--story names one story, but {len(files)} files are given.")
        return [story]
    names = [check_name(Path(file).stem) for file in files]
    twice = next((its_name for its_name in names if names.count(its_name) > 1), None)
    if twice is not None:
        raise BadInput(f"Two files would both become the story {twice!r}; import them one by one with --story.")
    return names


def _read_stories(story: str, source: StorySource) -> list[tuple[str, StorySource]]:
    """Return the conversations of a file, each with the name of its story."""
    others = [(check_name(f"{story} {other.name}"), other.source) for other in source.others]
    return [(story, source), *others] if source.drafts else others


_COUNTS = ("added", "updated", "removed", "unchanged")


def _take_in(memory: BlockingMemory, file: str, story: str | None) -> dict[str, Any]:
    """Take in a story that `export --to jsonl` wrote, with all its memory."""
    copied = memory.read_story_file(file, name=story)
    is_new = copied.status == "restored"
    counts = dict.fromkeys(_COUNTS, 0) | {"added" if is_new else "unchanged": copied.messages}
    return {"story": copied.story, **counts, "format": "previously", "branches": [], "skipped": {}}


def _import(memory: BlockingMemory, story: str, source: StorySource) -> dict[str, Any]:
    from previously.storage.store import MAIN

    opened = memory.story(story)
    # The active branch follows the file, unless the file itself has a branch of that name.
    active = opened.branch_info().name
    beside = MAIN if active in [branch.name for branch in source.branches] else active
    every = [opened.follow(source.drafts, on=beside, undoable=True)]
    for branch in source.branches:
        path = [*source.drafts[: branch.at], *branch.drafts]
        changes = opened.follow_branch(branch.name, path, beside=beside, shared=branch.at)
        every.append(replace(changes, unchanged=changes.unchanged - branch.at))
    if source.header:
        opened.keep_header(source.header)
    _note_replaced(source.replaced + sum(changes.replaced_characters for changes in every))
    _note_skipped(story, source.skipped)
    return {
        "story": story,
        **{what: sum(getattr(changes, what) for changes in every) for what in _COUNTS},
        "format": source.format,
        "branches": [branch.name for branch in source.branches],
        "skipped": dict(source.skipped),
    }


def _note_skipped(story: str, skipped: Mapping[str, int]) -> None:
    if skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(skipped.items(), key=lambda one: -one[1]))
        lines = output.count_nouns(sum(skipped.values()), "line")
        output.note(f"{story}: skipped {lines} without a message ({kinds}).")


def _note_replaced(count: int) -> None:
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
