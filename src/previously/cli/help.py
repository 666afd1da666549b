"""The help of all commands: one screen for newcomers, and the whole list under its headings."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson
from previously.cli.headings import COMMANDS, HEADINGS
from previously.core.errors import BadInput

FRONT_WIDTH = 79
"""The help fits the narrowest usual terminal."""

_ENDING = """\
A story comes right after its command: previously show my-story
Things in it have one name: recap, chapter:2, thread:7, message:41, lore:NAME.
`previously help` lists every command, `previously COMMAND --help` explains one.

Options:
  --db PATH-or-URL  Where the stories are. It stands before the command.
  --version         Print the version and exit.
  -h, --help        Show this help, or that of a command.
"""


def render_front() -> str:
    """Return the help of one screen: what a newcomer needs with a line each, the rest by name."""
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


def ask_for_help(arguments: list[str]) -> list[str]:
    """Return the arguments, `help COMMAND` as `COMMAND --help`."""
    if "help" not in arguments:
        return arguments
    at = arguments.index("help")
    front, asked = arguments[:at], [word for word in arguments[at + 1 :] if not word.startswith("-")]
    is_command = all(word.startswith("-") for word in front[::2]) and bool(asked) and asked[0] in COMMANDS
    return [*front, *asked, "--help"] if is_command else arguments


def help_command(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="The command to explain.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all commands with a line each, or explain one."""
    if command:
        raise BadInput(f"There is no command {command[0]!r}; `previously help` lists them.")
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
