"""The help of all commands: one screen for newcomers, and the whole list under its headings."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson

FRONT_WIDTH = 79
"""The help fits the narrowest usual terminal."""

_ENDING = """\
A story comes right after its command: previously show my-story
Things in it have one name everywhere: recap, chapter:2, thread:7, message:41,
lore:NAME. `previously help` lists every command, `previously COMMAND --help`
explains one.

Options:
  --db PATH-or-URL  Where the stories are; else PREVIOUSLY_DB, else your own
                    data folder. It stands before the command.
  --version         Print the version and exit.
  -h, --help        Show this help, or that of a command.
"""


def render_front() -> str:
    """Return the help of one screen: what a newcomer needs with a line each, the rest by name."""
    from previously.cli.command_table import HEADINGS

    (first, begin), *others = HEADINGS.items()
    lines = [
        "Usage: previously [--db PATH-or-URL] COMMAND STORY …",
        "",
        "Long-term memory for stories, role-play and agents.",
        "",
    ]
    lines += [f"{first}:", *(f"  {name:<9}{line}" for name, (_, line) in begin.items())]
    for heading, commands in others:
        lines += [
            "",
            f"{heading}:",
            *textwrap.wrap(
                ", ".join(commands),
                FRONT_WIDTH - 2,
                initial_indent="  ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            ),
        ]
    return "\n".join([*lines, "", _ENDING])


def help_command(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="The command to explain.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all commands with a line each, or explain one."""
    from previously.cli.command_table import HEADINGS, main

    if command:
        raise typer.Exit(main([*command, "--help"]))
    if as_json:
        output.emit(
            {
                "commands": [
                    {"command": name, "heading": heading, "line": line}
                    for heading, commands in HEADINGS.items()
                    for name, (_, line) in commands.items()
                ]
            }
        )
        return
    console = output.console()
    for heading, commands in HEADINGS.items():
        console.print(heading, style="bold")
        console.print("\n".join(f"  {name:<11}{line}" for name, (_, line) in commands.items()))
        console.print()
