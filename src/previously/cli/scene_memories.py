"""The commands about scene memories in files: judging one, bringing an older one to the shape of now, and making one
out of several.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, open_for_folding, parse_number
from previously.core.errors import BadInput, UnknownStory

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory
    from previously.core.scene import Scene
    from previously.runtime.combine_scenes import Combined

File = Annotated[str, typer.Argument(metavar="FILE", help="A scene memory.")]
Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="Write it to a new file instead of printing it.")
]


def validate(file: File, as_json: AsJson = False) -> None:
    """Judge a scene memory: {"summary", "lorebooks"}. Exit code 0 if it is valid, 1 if not."""
    from previously.core.json_values import parse_json
    from previously.folds.scene_checks import SceneFault, Validation
    from previously.folds.scene_checks import validate_scene as judge

    text = _read_text(file)
    try:
        validation = judge(parse_json(text, "file"))
    except BadInput as error:
        validation = Validation((SceneFault("file", str(error).rstrip(".")),), ())
    if as_json:
        output.emit(
            {
                "valid": validation.valid,
                "faults": _faults_json(validation.faults),
                "warnings": _faults_json(validation.warnings),
            }
        )
    else:
        console = output.console()
        for fault in validation.faults:
            console.print(output.one_line(f"fault: {fault}"), soft_wrap=True)
        for warning in validation.warnings:
            console.print(output.one_line(f"warning: {warning}"), soft_wrap=True)
        verdict = "a valid scene memory" if validation.valid else "no valid scene memory"
        console.print(f"{output.one_line(file)} is {verdict}.", soft_wrap=True)
    if not validation.valid:
        raise typer.Exit(1)


def migrate(file: File, out: Out = None, as_json: AsJson = False) -> None:
    """Make a scene memory of one of an older shape, or of plain text. Nothing it says is lost."""
    _write_scene(_migrate_file(file), {}, out, as_json)


def combine(
    ctx: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="NAME-or-FILE…", help="A story, or two and more files of scene memories.")
    ],
    scenes: Annotated[
        str, typer.Option("--scenes", metavar="FIRST..LAST", help="Which scenes of the story; else all.")
    ] = "",
    target: Annotated[
        int | None,
        typer.Option(
            "--words", metavar="N", parser=parse_number, help="How long the summary should be; 300 if not given."
        ),
    ] = None,
    out: Out = None,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Make one scene memory of several. Only summaries are sent to a model; entries are merged by code."""
    from previously.runtime.combine_scenes import COMBINED_WORDS

    with open_for_folding(ctx, endpoint, model) as memory:
        given = _read_scenes(memory, what, scenes)
        made = memory.combine(given, COMBINED_WORDS if target is None else target)
    record = {
        "scenes": len(given),
        "made_by": made.made_by,
        "reason": made.reason or None,
        "calls": made.cost.calls,
        "tokens": made.sent_tokens,
        "tokens_with_entries": made.whole_tokens,
        "tokens_saved": made.whole_tokens - made.sent_tokens,
        "left": list(made.left),
    }
    _write_scene(made.scene, record, out, as_json)
    _note_combined(made, len(given))


def _read_scenes(memory: BlockingMemory, what: Sequence[str], chosen: str) -> list[Scene]:
    """The scenes of a story, or those in files."""
    if len(what) == 1 and not Path(what[0]).is_file():
        story = what[0]
        try:
            kept = [one.scene for one in memory.story(story, create=False).scenes()]
        except UnknownStory:
            raise BadInput(f"There is neither a story nor a file named {story!r}.") from None
        first, last = _parse_choice(chosen, len(kept))
        return kept[first - 1 : last]
    if chosen:
        raise BadInput("--scenes chooses among the scenes of a story; files are combined as they are given.")
    return [_migrate_file(file) for file in what]


def _migrate_file(file: str) -> Scene:
    """The scene in a file of any known shape."""
    from previously.formats.scene_memories import migrate as migrated

    text = _read_text(file)  # what cannot be read names its file itself
    try:
        return migrated(text)
    except BadInput as error:
        raise BadInput(f"{output.one_line(file)}: {error}") from None


def _parse_choice(text: str, count: int) -> tuple[int, int]:
    """The first and the last scene that is meant, from 1."""
    if not text:
        return 1, count
    match = re.fullmatch(r"([0-9]{1,9})(?:\.\.|-)([0-9]{1,9})", text)
    if not match:
        raise BadInput(f"{text!r} chooses no scenes: write FIRST..LAST, as in 1..3.")
    first, last = int(match[1]), int(match[2])
    if not 1 <= first <= last <= count:
        there = f"there are {count}" if count else "none is noted yet"
        raise BadInput(f"There are no scenes {first} to {last}; {there}.")
    return first, last


def _write_scene(scene: Scene, more: dict[str, Any], out: str | None, as_json: bool) -> None:
    """Print a scene memory, or write it to a file."""
    from previously.folds.scene import dump_entry

    shape: dict[str, Any] = {"summary": scene.summary, "lorebooks": [dump_entry(one) for one in scene.entries]}
    shape |= {key: items for key, items in scene.signals.as_json().items() if items}
    if out is None:
        if as_json:
            output.emit({**shape, **more})
        else:
            plain = not output.takes_unicode(sys.stdout)
            output.console().print(json.dumps(shape, ensure_ascii=plain, indent=2), soft_wrap=True)
            output.note(f"A summary and {output.count_nouns(len(scene.entries), 'entry')}.")
        return
    output.write_new(Path(out), json.dumps(shape, ensure_ascii=False, indent=2))
    sentence = f"{out}: a summary and {output.count_nouns(len(scene.entries), 'entry')}."
    output.report({"path": out, **shape, **more}, sentence, as_json=as_json)


def _note_combined(made: Combined, count: int) -> None:
    saved = made.whole_tokens - made.sent_tokens
    percent = round(100 * saved / made.whole_tokens) if made.whole_tokens else 0
    output.note(
        f"{count} scenes combined from {made.sent_tokens:,} tokens of summaries; with their entries it would have been "
        f"{made.whole_tokens:,} ({percent} % saved)."
    )
    if made.reason:
        output.note(f"The built-in writer joined the summaries: {made.reason}.")
    if made.left:
        output.note(f"{output.count_nouns(len(made.left), 'earlier description')} gave way to later ones.")


def _read_text(file: str) -> str:
    from previously.formats.files import open_document

    with open_document(Path(file)) as document:
        return document.text()


def _faults_json(faults: Sequence[Any]) -> list[dict[str, str]]:
    return [{"where": one.where, "reason": one.reason} for one in faults]
