"""`previously completion`: let the Tab key complete commands, options and the names of stories."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson

VARIABLE = "_PREVIOUSLY_COMPLETE"
"""The variable by which a shell asks for completions."""


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def read_typed() -> list[str]:
    """Return what stands on the line so far, where a shell asks how it goes on; nothing where none asks."""
    if VARIABLE not in os.environ:
        return []
    from typer._completion_classes import completion_init  # no public module exports it

    completion_init()
    return os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()[1:]


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
    install: Annotated[bool, typer.Option("--install", help="Put it where your shell finds it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what a shell needs to complete commands with the Tab key, or install it."""
    from typer import _completion_shared as typers  # no public module exports what is in it

    if install:
        _, path = typers.install(shell=shell.value, prog_name="previously", complete_var=VARIABLE)
        sentence = f"Installed for {shell.value} in {path}; a new terminal knows it."
        output.report({"shell": shell.value, "path": str(path)}, sentence, as_json=as_json)
        return
    script = typers.get_completion_script(prog_name="previously", complete_var=VARIABLE, shell=shell.value)
    if as_json:
        output.emit({"shell": shell.value, "script": script})
    else:
        output.write_data(script)
