"""The page of every command and option, from the command line itself."""

from __future__ import annotations

from typing import Any

import typer.main

from previously.cli.command_table import make_app

TOP = """# Every option

Look up what a command takes. This page is made from the program and says what `previously COMMAND --help` says. What a
command does, with examples, is in [commands](../cli.md).

`--json` works on every command; `--db PLACE` stands before the command and says where the stories are.
"""


def render() -> str:
    """Return the page as Markdown."""
    root: Any = typer.main.get_command(make_app())
    return "\n".join([TOP, *(_render_command(name, command) for name, command in sorted(root.commands.items()))])


def _render_command(name: str, command: Any) -> str:
    """Return the section of a command, or of a group with its commands below it."""
    below = getattr(command, "commands", None)
    if below is None:
        return _render_one(f"## {name}", name, command)
    parts = [f"## {name}\n\n{_first_paragraph(command.help)}\n"]
    shown = ((verb, one) for verb, one in below.items() if not one.hidden)
    parts += [_render_one(f"### {name} {verb}", f"{name} {verb}", one) for verb, one in shown]
    return "\n".join(parts)


def _render_one(heading: str, path: str, command: Any) -> str:
    """Return the section of one command: its sentence, how it is called, a table of what it takes."""
    parameters = [one for one in command.params if not getattr(one, "hidden", False) and "--help" not in one.opts]
    arguments = [_show_argument(one) for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option" and "--json" not in one.opts]
    usage = " ".join(["previously", path, *arguments, *(["[OPTIONS]"] if options else [])])
    lines = [heading, "", _first_paragraph(command.help), "", "```text", usage, "```", ""]
    if options:
        lines += ["| option | meaning |", "|---|---|", *(_render_option(one) for one in options), ""]
    return "\n".join(lines)


def _render_option(option: Any) -> str:
    """Return the row of an option: its spellings, what it means, its default."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default if isinstance(option.default, str | int | float) else None
    noted = f" (default: `{default}`)" if default not in (None, "", False, True) else ""
    return f"| {names} | {_escape(option.help or '')}{noted} |"


def _show_argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    name = f"{name}…" if argument.nargs == -1 and "…" not in name else name
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _first_paragraph(text: str | None) -> str:
    return _escape(" ".join((text or "").split("\n\n")[0].split()))


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
