"""The command `previously`: its global options, its commands, and what becomes of errors.

Whatever a user can cause ends in one sentence on stderr and an exit code: 2 for bad input, 1 for what could not be
done, 130 for Ctrl-C. A traceback means a fault of ours. Only the module of the command that is asked for is loaded, and
it imports what it needs when it runs, so that asking for help costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from previously import __version__
from previously.cli import BAD_INPUT, DONE, FAILED, INTERRUPTED, output
from previously.core.errors import BadInput, PreviouslyError
from previously.core.json_values import clean

_USAGE: type[Any] = typer.BadParameter.__bases__[0]  # the usage error itself has no public name

COMMANDS = {
    "demo": "demo.demo",
    "try": "try_file.try_file",
    "play": "play.play",
    "stories": "stories.stories",
    "add": "transcript.add",
    "import": "transcript.import_files",
    "fold": "memory.fold",
    "view": "view.view",
    "why": "view.why",
    "show": "memory.show",
    "ask": "ask.ask",
    "search": "search.search",
    "compact": "compact.compact",
    "log": "versions.log",
    "diff": "versions.diff",
    "blame": "versions.blame",
    "edit": "transcript.edit",
    "delete": "transcript.delete",
    "hide": "transcript.hide",
    "unhide": "transcript.unhide",
    "branch": "transcript.branch",
    "switch": "transcript.switch",
    "chapter": "memory_edits.chapter",
    "chapters": "memory.chapters",
    "rewrite": "memory_edits.rewrite",
    "lock": "memory_edits.lock",
    "unlock": "memory_edits.unlock",
    "pin": "memory_edits.pin",
    "unpin": "memory_edits.unpin",
    "undo": "memory_edits.undo",
    "pending": "memory_edits.pending",
    "approve": "memory_edits.approve",
    "reject": "memory_edits.reject",
    "rebuild": "memory_edits.rebuild",
    "threads": "state.threads",
    "state": "state.state",
    "wishes": "state.wishes",
    "cast": "cast.cast",
    "who-knows": "cast.who_knows",
    "presence": "cast.presence",
    "scene": "state.scene",
    "scenes": "state.scenes",
    "analyze": "state.analyze",
    "lore": "lore.app",
    "set": "settings.set_values",
    "serve": "serve.serve",
    "export": "export.export",
    "backup": "backup.backup",
    "restore": "backup.restore",
    "move": "backup.move",
    "forget": "forget.forget",
    "verify": "verify.verify",
    "gc": "verify.gc",
    "doctor": "stories.doctor",
    "keys": "keys.app",
}
"""Every command in the order of the help, and the function, or the group of commands, that it is in this package."""

TAKE_POSITIONS = frozenset("why compact edit delete hide unhide chapter pin scene analyze forget".split())
"""Commands for which -1 is a position and not an option."""


class _Commands(TyperGroup):
    """All commands, or those of a group."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_spare_adapter(option) for option in super().get_params(ctx)]


class _Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_spare_adapter(option) for option in super().get_params(ctx)]


def _spare_adapter(option: Any) -> Any:
    """Let a parameter pass as it is if it is not given, or plain text. Typer makes a Pydantic adapter for it, `--help`
    included, and to load Pydantic takes a fifth of the time in which stories are listed."""
    process = option.process_value

    def process_given(ctx: Any, value: Any) -> Any:
        is_absent = value is None and not option.required
        if option.multiple or option.nargs != 1 or not (is_absent or _is_plain_text(option, value)):
            return process(ctx, value)
        return option.callback(ctx, option, value) if option.callback else value

    if process.__name__ != process_given.__name__:
        option.process_value = process_given
    return option


def _is_plain_text(option: Any, value: Any) -> bool:
    """Return whether a value is text for a parameter that takes any. Pydantic refuses what cannot be stored."""
    described = option.type_descriptor
    is_any = described.annotation is str and described.parameter_info.parser is None
    return is_any and isinstance(value, str) and not clean(value)[1]


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
            app.add_typer(command, name=name)
        else:
            settings = {"ignore_unknown_options": True} if name in TAKE_POSITIONS else None
            app.command(name, cls=_Command, context_settings=settings)(command)
    return app


def find_command(arguments: Sequence[str]) -> str | None:
    """Return the command that is asked for; None where there is none, or none of that name."""
    values = iter(arguments)
    for argument in values:
        if argument == "--db":
            next(values, None)  # its value
        elif not argument.startswith("-"):
            return argument if argument in COMMANDS else None
    return None


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"previously {__version__}")
        raise typer.Exit


def _global_options(
    ctx: typer.Context,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="PATH-or-URL",
            help="Where the stories are; else PREVIOUSLY_DB, else your own data folder.",
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
    asked = find_command(arguments)
    command = typer.main.get_command(make_app([asked] if asked else COMMANDS))
    try:
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
        return _usage(error), BAD_INPUT
    if isinstance(error, UnicodeEncodeError):
        return "A name holds characters that cannot be stored.", BAD_INPUT
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return (f"{error.filename}: {reason}." if error.filename else f"{reason}."), FAILED
    if type(error).__module__.partition(".")[0] == "apsw":
        return f"The stories cannot be read or written: {error}.", FAILED
    return None


def _usage(error: Any) -> str:
    sentence = str(error.format_message()).rstrip(". \n")
    if sentence.startswith(("No such option", "Got unexpected")) and "--db" in sentence:
        return f"{sentence}; --db goes before the command."
    command = error.ctx.command_path if error.ctx else "previously"
    return f"{sentence}; see `{command} --help`."
