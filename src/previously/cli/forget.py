"""The command that destroys: it says what would go, and asks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_memory, parse_position
from previously.core.errors import BadInput
from previously.core.exact_names import show_name

if TYPE_CHECKING:
    from previously.runtime.forget import Destroyed, ToForget


def forget(
    ctx: typer.Context,
    story: Story,
    first: Annotated[
        int | None,
        typer.Argument(metavar="POSITION", parser=parse_position, help="The message; without one, the whole story."),
    ] = None,
    last: Annotated[
        int | None, typer.Argument(metavar="LAST", parser=parse_position, help="The last one, to forget several.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    keep_backups: Annotated[bool, typer.Option("--keep-backups", help="Leave the backups as they are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Destroy messages, or a whole story, with the memory made of them, in the backups too. There is no way back."""
    with open_memory(ctx) as memory:
        plan = memory.to_forget(story, first, last)
        if not yes:
            _ask(plan, keep_backups)
        done = memory.forget(story, first, last, backups=not keep_backups)
    if as_json:
        from previously.story.json_results import forgotten_json

        output.emit(forgotten_json(done))
        return
    _report(done, plan)


def _ask(plan: ToForget, keep_backups: bool) -> None:
    for line in _describe_plan(plan, keep_backups):
        output.note(line)
    confirm_forgetting()


def confirm_forgetting() -> None:
    """Ask whether to go on; refuse where nobody can answer."""
    if not sys.stdin or not sys.stdin.isatty():
        raise BadInput("Nothing was forgotten: there is nobody to ask here. If it shall be, add --yes.")
    if not typer.confirm("Forget it for good?", err=True):
        raise BadInput("Nothing was forgotten.")


def _describe_plan(plan: ToForget, keep_backups: bool) -> list[str]:
    if plan.span is None:
        lines = [f"The whole story {output.one_line(plan.story)} goes: {output.count_nouns(plan.messages, 'message')}"]
        lines[0] += f" on its active branch, every branch and swipe, {output.count_nouns(plan.texts, 'memory text')}."
    else:
        what = f"message {plan.span.first}" if plan.messages == 1 else f"messages {plan.span.first} to {plan.span.last}"
        lines = [f"Of {output.one_line(plan.story)} {what} would go, on every branch."]
        if plan.others:
            lines.append(f"With it {output.count_nouns(plan.others, 'earlier wording')} or swipes.")
        if plan.texts:
            lines.append(
                f"{output.count_nouns(plan.texts, 'memory text')} that could tell of it would go and be made anew."
            )
        if plan.by_hand:
            lines.append(
                f"{output.count_nouns(plan.by_hand, 'text')} written by hand would stay: see whether they tell of it."
            )
    lines += [f"{show_name(name)} continues it and would remember it no more." for name in plan.continued_by]
    for path in plan.backups:
        lines.append(f"{'It stays' if keep_backups else 'It would go'} in the backup {output.one_line(path)}.")
    lines += [f"A backup cannot be opened and may keep it: {output.one_line(path)}." for path in plan.missing]
    lines += [f"The same story is here as {show_name(name)} too; that stays." for name in plan.copies]
    return lines


def _report(done: Destroyed, plan: ToForget) -> None:
    console = output.console()
    what = f"the story {done.story}" if plan.span is None else output.count_nouns(done.messages, "message")
    console.print(f"Forgot {output.one_line(what)}.", soft_wrap=True)
    if plan.span is not None and done.texts:
        console.print("Memory that was made from there on is gone too; `previously fold` makes it anew.")
    if plan.by_hand:
        output.note(f"{output.count_nouns(plan.by_hand, 'text')} written by hand stayed: see whether they tell of it.")
    for path in done.backups:
        console.print(f"Forgotten in the backup too: {output.one_line(path)}", soft_wrap=True)
    for path in done.still_in:
        output.note(f"A backup may still hold it: {path}")
    if not done.cleared:
        output.note("Somebody is reading: the log beside the file still holds it. `previously gc` empties that later.")
