"""The command `previously`: its global options, its commands, and what becomes of errors.

Whatever a user can cause ends in one sentence on stderr and an exit code: 2 for bad input, 1 for what could not be
done, 130 for Ctrl-C. A traceback means a fault of ours. Only the module of the command that is asked for is loaded, and
it imports what it needs when it runs, so that asking for help costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from previously import __version__
from previously.cli import BAD_INPUT, DONE, FAILED, INTERRUPTED, output
from previously.cli.completion import read_typed
from previously.cli.headings import COMMANDS, HEADINGS
from previously.cli.help import ask_for_help, render_front
from previously.cli.old_grammar import translate_old_spelling
from previously.cli.pager import open_pager
from previously.cli.plain_parameters import PlainCommand, PlainGroup
from previously.core.errors import BadInput, PreviouslyError

_USAGE: type[Any] = typer.BadParameter.__bases__[0]  # the usage error itself has no public name

TAKE_POSITIONS = frozenset("why compact show edit remove delete hide unhide pin blame analyze forget".split())
"""Commands for which -1 is a position and not an option."""


class _Commands(PlainGroup):
    """The group of all commands."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that begin so, of which none need be loaded, and the options."""
        from typer._click.shell_completion import CompletionItem

        lines = {name: line for commands in HEADINGS.values() for name, (_, line) in commands.items()}
        named = [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]
        return named or super().shell_complete(ctx, incomplete)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the help of one screen. It asks no command for its line: to load them all takes longer than to read
        it."""
        formatter.write(render_front())


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with these commands. Only their modules are loaded."""
    app = typer.Typer(
        name="previously",
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(cls=_Commands)(_global_options)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(".")
        command = getattr(import_module(f"previously.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            for verb in command.registered_commands:
                verb.cls = PlainCommand
            app.add_typer(command, name=name)
        else:
            settings = {"ignore_unknown_options": True} if name in TAKE_POSITIONS else None
            app.command(name, cls=PlainCommand, context_settings=settings)(command)
    return app


@cache  # to build one takes longer than most commands do: a process that runs many of them builds each once
def make_parser(names: tuple[str, ...] = tuple(COMMANDS)) -> Any:
    """Return the parser of the command line with these commands."""
    return typer.main.get_command(make_app(names))


def find_command(arguments: Sequence[str]) -> str | None:
    """Return the command that is asked for; None where there is none, or none of that name."""
    values = iter(arguments)
    for argument in values:
        if argument == "--db":
            next(values, None)  # its value
        elif not argument.startswith("-"):
            return argument if argument in COMMANDS else None
    return None


def is_for_help(arguments: Sequence[str]) -> bool:
    """Return whether no command is asked for, only what there is."""
    return not arguments or any(one in ("-h", "--help", "--version") for one in arguments)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"previously {__version__}")
        raise typer.Exit


def _global_options(
    ctx: typer.Context,
    db: Annotated[
        str | None,
        typer.Option(
            "--db", metavar="PATH-or-URL", help="Where the stories are; else PREVIOUSLY_DB, else your own data folder."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Long-term memory for stories, role-play and agents."""
    del version  # its callback has seen to it
    if db is not None and not db.strip():
        raise BadInput("--db names no file.")
    ctx.obj = db


def main(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    output.prepare()
    try:
        arguments = ask_for_help(translate_old_spelling(arguments))
        typed = list(arguments) or read_typed()
        asked = find_command(typed)
        needed = (asked,) if asked else () if is_for_help(arguments) else tuple(COMMANDS)
        command = make_parser(needed)
        with open_pager(asked):
            result = command.main(list(arguments) or ["--help"], prog_name="previously", standalone_mode=False)
        code = result if isinstance(result, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else FAILED
    except Exception as error:
        explained = explain(error)
        if explained is None:
            raise
        sentence, code = explained
        output.complain(sentence)
    return code if output.finish() else max(code, FAILED)


def explain(error: Exception) -> tuple[str, int] | None:
    """The sentence and the exit code for an error that a user or the machine can cause; None if it is a fault here."""
    if isinstance(error, BadInput):
        return str(error), BAD_INPUT
    if isinstance(error, PreviouslyError):
        return str(error), FAILED
    if isinstance(error, _USAGE):
        return _explain_usage(error), BAD_INPUT
    if isinstance(error, UnicodeEncodeError):
        return "A name holds characters that cannot be stored.", BAD_INPUT
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return (f"{error.filename}: {reason}." if error.filename else f"{reason}."), FAILED
    if type(error).__module__.partition(".")[0] == "apsw":
        return f"The stories cannot be read or written: {error}.", FAILED
    return None


def _explain_usage(error: Any) -> str:
    sentence = str(error.format_message()).rstrip(". \n")
    if sentence.startswith(("No such option", "Got unexpected")) and "--db" in sentence:
        return f"{sentence}; --db goes before the command."
    if sentence.startswith("No such command 'list'"):
        return "No such command 'list'; `previously stories` lists the stories."
    command = error.ctx.command_path if error.ctx else "previously"
    return f"{sentence} See `{command} --help`." if sentence.endswith("?") else f"{sentence}; see `{command} --help`."
