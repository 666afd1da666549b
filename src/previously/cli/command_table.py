"""The command `previously`: its global options, its commands, and what becomes of errors.

Whatever a user can cause ends in one sentence on stderr and an exit code: 2 for bad input, 1 for what could not be
done, 130 for Ctrl-C. A traceback means a fault of ours. Commands import what they need when they run, so that asking
for help costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from previously import __version__
from previously.cli import (
    BAD_INPUT,
    DONE,
    FAILED,
    INTERRUPTED,
    backup,
    cast,
    compact,
    demo,
    forget,
    keys,
    lore,
    memory,
    memory_edits,
    output,
    search,
    serve,
    settings,
    state,
    stories,
    transcript,
    verify,
    versions,
    view,
)
from previously.core.errors import BadInput, PreviouslyError

_USAGE: type[Any] = typer.BadParameter.__bases__[0]  # the usage error itself has no public name

app = typer.Typer(
    name="previously",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_TAKES_POSITIONS = {"ignore_unknown_options": True}  # so that -1 is a position and not an option

app.command("demo")(demo.demo)
app.command("stories")(stories.stories)
app.command("add")(transcript.add)
app.command("import")(transcript.import_files)
app.command("fold")(memory.fold)
app.command("view")(view.view)
app.command("why", context_settings=_TAKES_POSITIONS)(view.why)
app.command("show")(memory.show)
app.command("search")(search.search)
app.command("compact", context_settings=_TAKES_POSITIONS)(compact.compact)
app.command("log")(versions.log)
app.command("diff")(versions.diff)
app.command("blame")(versions.blame)
app.command("edit", context_settings=_TAKES_POSITIONS)(transcript.edit)
app.command("delete", context_settings=_TAKES_POSITIONS)(transcript.delete)
app.command("hide", context_settings=_TAKES_POSITIONS)(transcript.hide)
app.command("unhide", context_settings=_TAKES_POSITIONS)(transcript.unhide)
app.command("branch")(transcript.branch)
app.command("switch")(transcript.switch)
app.command("chapter", context_settings=_TAKES_POSITIONS)(memory_edits.chapter)
app.command("chapters")(memory.chapters)
app.command("rewrite")(memory_edits.rewrite)
app.command("lock")(memory_edits.lock)
app.command("unlock")(memory_edits.unlock)
app.command("pin", context_settings=_TAKES_POSITIONS)(memory_edits.pin)
app.command("unpin")(memory_edits.unpin)
app.command("undo")(memory_edits.undo)
app.command("pending")(memory_edits.pending)
app.command("approve")(memory_edits.approve)
app.command("reject")(memory_edits.reject)
app.command("rebuild")(memory_edits.rebuild)
app.command("threads")(state.threads)
app.command("state")(state.state)
app.command("wishes")(state.wishes)
app.command("cast")(cast.cast)
app.command("who-knows")(cast.who_knows)
app.command("presence")(cast.presence)
app.command("scene", context_settings=_TAKES_POSITIONS)(state.scene)
app.command("scenes")(state.scenes)
app.command("analyze", context_settings=_TAKES_POSITIONS)(state.analyze)
app.add_typer(lore.app, name="lore")
app.command("set")(settings.set_values)
app.command("serve")(serve.serve)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("move")(backup.move)
app.command("forget", context_settings=_TAKES_POSITIONS)(forget.forget)
app.command("verify")(verify.verify)
app.command("gc")(verify.gc)
app.command("doctor")(stories.doctor)
app.add_typer(keys.app, name="keys")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"previously {__version__}")
        raise typer.Exit


@app.callback()
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
    command = typer.main.get_command(app)
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
