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
from previously.cli.completion import read_typed
from previously.cli.old_spellings import translate_old_spelling
from previously.cli.pager import open_pager
from previously.core.errors import BadInput, PreviouslyError
from previously.core.json_values import clean

_USAGE: type[Any] = typer.BadParameter.__bases__[0]  # the usage error itself has no public name

HEADINGS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("demo.demo", "See it at work on a sample story."),
        "import": ("transcript.import_files", "Bring chats in from files, or bring them up to date."),
        "stories": ("stories.stories", "List your stories."),
        "show": ("show.show", "Show what is remembered of a story, or one thing of it."),
        "view": ("view.view", "Show exactly what a model would see."),
        "search": ("search.search", "Find messages again."),
        "fold": ("memory.fold", "Fold old messages into memory."),
        "undo": ("memory_edits.undo", "Take back the last thing you did."),
        "serve": ("serve.serve", "Run the memory proxy for SillyTavern, agents and other clients."),
    },
    "Ask where things come from": {
        "why": ("view.why", "Show what the model saw when it gave an answer."),
        "blame": ("versions.blame", "Name the messages behind a sentence of memory."),
        "log": ("versions.log", "Say what folds and people wrote; -v lists every version."),
        "diff": ("versions.diff", "Show word by word what changed in a text."),
        "who-knows": ("cast.who_knows", "Show which characters know of something."),
    },
    "Have the last word": {
        "edit": ("memory_edits.edit", "Put your words in place of a message, a text or a line."),
        "remove": ("memory_edits.remove", "Take a thing away; nothing is destroyed."),
        "lock": ("memory_edits.lock", "Keep a text as it stands."),
        "unlock": ("memory_edits.unlock", "Give up what you wrote or locked."),
        "pin": ("memory_edits.pin", "Show words in every view."),
        "restore": ("backup.restore", "Bring an earlier version back, or stories from a backup."),
        "pending": ("review.pending", "List what waits for your approval."),
        "approve": ("review.approve", "Put a version that waits in force."),
        "reject": ("review.reject", "Refuse a version that waits."),
    },
    "Change a story": {
        "add": ("transcript.add", "Add a message; a new name begins a new story."),
        "delete": ("transcript.delete", "Take a message out of the story; the store keeps it."),
        "hide": ("transcript.hide", "Do not show a message in views; it is still remembered."),
        "unhide": ("transcript.unhide", "Show a hidden message again."),
        "branch": ("branches.branch", "Begin a branch: what if it had gone otherwise?"),
        "switch": ("branches.switch", "Go on with another branch."),
        "presence": ("cast.presence", "Show and correct who was there."),
        "rename": ("stories.rename", "Give a story another name."),
        "set": ("settings.set_values", "Give a story settings of its own, or list those in force."),
        "presets": ("settings.presets", "List the kinds of stories and what each means."),
    },
    "Lists in memory (list, show, add, edit, remove)": {
        "lore": ("lore.app", "What things are: people, places, objects."),
        "threads": ("threads.app", "What is open: promises, debts, questions."),
        "state": ("state.app", "How things stand now."),
        "wishes": ("wishes.app", "What the players asked for about the telling."),
        "cast": ("cast.app", "The characters, and what each knows."),
        "chapters": ("chapters.app", "The chapters of a story."),
        "scenes": ("scenes.app", "The scenes that were noted."),
        "branches": ("branches.app", "The branches of a story."),
        "books": ("books.app", "Sets of lore that any story can use."),
    },
    "Agents and novels": {
        "compact": ("compact.compact", "Make an agent's conversation fit its window."),
        "analyze": ("scenes.analyze", "Analyse fragments of a novel, as the librarian does."),
    },
    "Upkeep": {
        "backup": ("backup.backup", "Copy all stories to a file."),
        "move": ("backup.move", "Copy all stories to another place."),
        "forget": ("forget.forget", "Destroy messages or a whole story, for good."),
        "verify": ("verify.verify", "Check that everything stored is sound."),
        "gc": ("verify.gc", "Take away what no story needs."),
        "doctor": ("stories.doctor", "Check that everything works here."),
        "keys": ("keys.app", "Who may use a server."),
        "completion": ("completion.completion", "Let the Tab key complete commands and names."),
        "help": ("help.help_command", "List all commands, or explain one."),
    },
}
"""The commands under their headings, in the order of the help: the function, or the group of commands, that each is in
this package, and its line in the help. The first heading is what a newcomer needs."""

COMMANDS = {name: target for commands in HEADINGS.values() for name, (target, _) in commands.items()}

TAKE_POSITIONS = frozenset("why compact show edit remove delete hide unhide pin blame analyze forget".split())
"""Commands for which -1 is a position and not an option."""


class _Commands(TyperGroup):
    """All commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_spare_adapter(option) for option in super().get_params(ctx)]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that begin so, of which none need be loaded, and the options."""
        from typer._click.shell_completion import CompletionItem

        lines = {name: line for commands in HEADINGS.values() for name, (_, line) in commands.items()}
        named = [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]
        return named or super().shell_complete(ctx, incomplete)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the help of one screen. It asks no command for its line: to load them all takes longer than to read
        it."""
        from previously.cli.help import render_front

        formatter.write(render_front())


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
    try:
        arguments = translate_old_spelling(arguments)
        typed = list(arguments) or read_typed()
        asked = find_command(typed)
        needed = [asked] if asked else () if is_for_help(arguments) else COMMANDS
        command = typer.main.get_command(make_app(needed))
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
