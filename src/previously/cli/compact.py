"""The command `compact`: an agent's conversation in a file, folded so that it can go on. No story is touched."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, choose_model, parse_budget
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.formats.conversations import Conversation
    from previously.runtime.conversation import FoldedConversation


class Target(StrEnum):
    """The forms in which a folded conversation may be written."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    CLAUDE_CODE = "claude-code"


def _parse_turns(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number of turns.") from None


def compact(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A conversation: messages, or the log of an agent.")],
    tokens: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", parser=parse_budget, help="Tokens that the whole may take afterwards."),
    ] = None,
    tail_turns: Annotated[
        int,
        typer.Option(
            "--tail-turns",
            metavar="N",
            parser=_parse_turns,
            help="How many of the newest turns stay; 0 or less folds all.",
        ),
    ] = 2,
    output_characters: Annotated[
        int, typer.Option("--output-characters", metavar="N", help="How much of each tool output the model is shown.")
    ] = 2_000,
    pin: Annotated[
        list[int] | None,
        typer.Option("--pin", metavar="POSITION", help="A message that stays as it is, from 0; can be repeated."),
    ] = None,
    to: Annotated[
        Target | None, typer.Option("--to", help="What to write it as; else as it came, a log as openai.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="What the file is; else its content shows it.")
    ] = None,
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", metavar="T", help="How tokens are counted: estimate, cl100k, o200k, a file.")
    ] = "estimate",
    out: Annotated[str | None, typer.Option("--out", metavar="PATH", help="Write it to this file.")] = None,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Fold an agent's conversation: a brief of what is old, the rules, the newest turns. The file is left as it is."""
    from previously.blocking import fold_conversation
    from previously.formats.conversations import Dialect, find_list_field, put_system_first, read_conversation
    from previously.settings import resolve
    from previously.settings_file import find_effective

    given = read_conversation(Path(file), format)
    done = fold_conversation(
        put_system_first(given) if to is Target.CLAUDE_CODE else given,
        budget=tokens,
        tail_turns=tail_turns,
        output_characters=output_characters,
        pins=pin or (),
        to=None if to in (None, Target.CLAUDE_CODE) else str(to),
        tokenizer=tokenizer,
        model=choose_model(endpoint, model),
        model_window=resolve(find_effective(os.environ)[1]).memory_window_tokens,
    )
    if to is Target.CLAUDE_CODE:
        _write_result(given, done, _write_transcript(given, done), None, out, as_json)
    else:
        _write_result(
            given, done, done.messages, find_list_field(given.dialect if to is None else Dialect(to)), out, as_json
        )
    _note_result(given, done)


def _write_transcript(given: Conversation, done: FoldedConversation) -> list[dict[str, Any]]:
    """The lines of a transcript that Claude Code goes on with."""
    from uuid import NAMESPACE_URL, uuid5

    from previously.core.messages import NO_ATTRIBUTES
    from previously.formats.claude_code import to_claude_code
    from previously.runtime.clock import time_at

    assert done.result is not None
    known = [NO_ATTRIBUTES if at is None else given.drafts[at].attributes for at in done.result.origin]
    session = str(uuid5(NAMESPACE_URL, "\n".join(message.text for message in done.result.messages)))
    lines = to_claude_code(
        done.result.messages,
        known,
        session_id=session,
        at=time_at(),
        brief_at=done.result.brief_at,
        earlier=done.earlier,
    )
    return [json.loads(line) for line in lines]


def _write_result(
    given: Conversation,
    done: FoldedConversation,
    messages: list[dict[str, Any]],
    listed: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """The conversation to a file or to standard output, as a request with its list in the field `listed` or else as
    lines; with --json all that is known of the fold."""
    if listed is None:
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in messages)
    else:
        body = {**done.body, listed: messages}
        plain = out is None and not output.takes_unicode(sys.stdout)
        text = json.dumps({**body, "previously": dict(done.earlier)}, ensure_ascii=plain, indent=1)
    if out is not None:
        output.write_new(Path(out), text)
    if as_json:
        from previously.story.json_results import conversation_json

        output.emit({**conversation_json(done), "messages": messages, "skipped": dict(given.skipped), "path": out})
    elif out is None:
        output.write_data(text)


def _note_result(given: Conversation, done: FoldedConversation) -> None:
    begins = "" if "nothing to fold" in done.reason else f"{done.status[:1].upper()}{done.status[1:]}: "
    output.note(f"{begins}{done.reason}")
    if given.skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(given.skipped.items(), key=lambda one: -one[1]))
        lines = output.count_nouns(sum(given.skipped.values()), "line")
        output.note(f"Skipped {lines} without a message ({kinds}).")
    if done.note:
        output.note(f"The built-in writer wrote the brief: {done.note}")
    if done.interrupted:
        are = "is" if done.interrupted == 1 else "are"
        output.note(
            f"{output.count_nouns(done.interrupted, 'call')} never got a result and {are} marked as interrupted."
        )
