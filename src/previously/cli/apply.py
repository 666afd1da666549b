"""`previously apply`: edits of an exported directory brought back into its story."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import FAILED, output
from previously.cli.arguments import AsJson, check_name, open_memory
from previously.core.errors import BadInput, UnknownStory

if TYPE_CHECKING:
    from rich.console import Console

    from previously.formats.directory_merge import DirectoryEdit
    from previously.story.apply_directory import AppliedDirectory

FIRST_WORDS = 40
"""Characters of a message by which one knows it again: half a line, beside its name and the reason."""

_DONE = {"change": "changed", "add": "added", "remove": "removed"}


def apply(
    ctx: typer.Context,
    directory: Annotated[str, typer.Argument(metavar="DIR", help="A directory that `export --to directory` wrote.")],
    preview: Annotated[
        bool, typer.Option("--preview", "--dry-run", help="Show what would change, word by word, and do nothing.")
    ] = False,
    keep_files: Annotated[
        list[str] | None,
        typer.Option("--keep-files", metavar="ITEM", help="Of a conflict, take what the files say; all for every one."),
    ] = None,
    keep_story: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-story",
            metavar="ITEM",
            help="Of a conflict, or any edit, take what the story says; all for every conflict.",
        ),
    ] = None,
    story: Annotated[
        str | None,
        typer.Option(
            "--story", metavar="NAME", parser=check_name, help="The story's name now, where it was renamed since."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring what you edited in a directory into its story, each edit as one by hand. What both sides have changed is
    shown and left alone until you decide."""
    from previously.formats.directory_files import read_directory, write_directory
    from previously.formats.story_directory import read_record
    from previously.story.json_results import applied_json

    place = Path(directory).absolute()
    seen = read_directory(place)
    exported = read_record(seen).story
    with open_memory(ctx) as memory:
        try:
            opened = memory.story(story or exported, create=False)
        except UnknownStory as error:
            hint = "" if story else " If it was renamed, name it with --story NAME."
            raise BadInput(f"{error}{hint}") from None
        result = opened.apply(
            seen, preview=preview, keep_files=keep_files or (), keep_story=keep_story or (), renamed=story is not None
        )
    if not preview:
        for path in write_directory(place, result.files, seen=seen, gone=result.gone):
            output.note(f"{path} was changed meanwhile and is left as it is.")
    if as_json:
        output.emit({**applied_json(result), "directory": str(place), "preview": preview})
    else:
        _print_result(result, preview=preview)
    if result.left:
        raise typer.Exit(FAILED)


def _print_result(result: AppliedDirectory, *, preview: bool) -> None:
    from previously.cli.terminal import print_changes
    from previously.formats.directory_merge import STAYS
    from previously.text.compare import diff_words

    console = output.console()
    for edit in result.applied:
        console.print(output.one_line(f"{_name(edit)} ({_DONE[edit.action.value]})"), style="bold", soft_wrap=True)
        print_changes(console, diff_words(_show(edit.story), _show(edit.files)))
    for edit in result.left:
        console.print(output.one_line(f"{_name(edit)} is left: {edit.reason}"), style="bold yellow", soft_wrap=True)
        _print_sides(console, edit)
    verb = "would be" if preview else "is" if len(result.applied) == 1 else "are"
    parts = [f"{output.count_nouns(len(result.applied), 'edit')} {verb} in {result.story}"] if result.applied else []
    conflicts = sum(edit.fate.value == "conflict" for edit in result.left)
    if conflicts:
        parts.append(f"{output.count_nouns(conflicts, 'conflict')}: decide with --keep-files ITEM or --keep-story ITEM")
    missing = sum(edit.reason == STAYS for edit in result.left)
    if len(result.left) > conflicts + missing:
        refused = output.count_nouns(len(result.left) - conflicts - missing, "edit")
        parts.append(f"{refused} refused: change the file, or give the edit up with --keep-story ITEM")
    if missing:
        parts.append(
            f"{output.count_nouns(missing, 'missing file')} {'takes' if missing == 1 else 'take'} nothing away"
        )
    sentence = (
        "; ".join(parts) if parts else f"There is nothing to apply: the files hold no edit that {result.story} lacks"
    )
    console.print(output.one_line(f"{sentence}."), soft_wrap=True)


def _name(edit: DirectoryEdit) -> str:
    """Return the name of an edit; of a message with the words it begins with."""
    from previously.cli.terminal import shorten

    said = edit.files if edit.story is None else edit.story
    if not edit.address.startswith("message:") or not isinstance(said, str) or edit.field == "hidden":
        return edit.name
    return f"{edit.name} “{shorten(said, FIRST_WORDS)}”"


def _print_sides(console: Console, edit: DirectoryEdit) -> None:
    for side, value in (("the story", edit.story), ("the files", edit.files)):
        words = "(nothing)" if value is None else _show(value) or "(no words)"
        console.print(output.printable(f"  {side}: {words}"), soft_wrap=True)


def _show(value: str | tuple[str, ...] | None) -> str:
    return value if isinstance(value, str) else "\n".join(value or ())
