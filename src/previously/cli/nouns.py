"""Nouns: groups of commands with one grammar, `previously NOUN VERB STORY [WHICH]`.

The verbs are `list`, `show`, `add`, `edit` and `remove`, as far as they make sense of a thing, and some of its own.
Without a verb a noun lists.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from previously.cli.plain_parameters import PlainGroup
from previously.core.errors import BadInput

LISTS = "list"
"""The verb that is meant where none is given."""

Which = Annotated[str, typer.Argument(metavar="WHICH", help="Which one: its number, its words, or some of them.")]
NewWords = Annotated[
    str | None, typer.Option("--text", metavar="T", help="The new words; - reads them from standard input.")
]


class _Noun(PlainGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and self._needs_story(ctx):
            return super().parse_args(ctx, ["--help"])
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            if len([word for word in args if not word.startswith("-")]) > 1:
                raise BadInput(f"{ctx.info_name} has no verb {args[0]!r}: it has {', '.join(self.commands)}.")
            args = [LISTS, *args]
        return super().parse_args(ctx, args)

    def _needs_story(self, ctx: Any) -> bool:
        verb = self.commands.get(LISTS)
        return verb is not None and any(one.required for one in verb.get_params(ctx))


def make_noun(explained: str) -> typer.Typer:
    """Return a group for the commands about one kind of thing."""
    return typer.Typer(
        cls=_Noun, rich_markup_mode=None, help=explained, context_settings={"help_option_names": ["-h", "--help"]}
    )


def expect_change(*given: object) -> None:
    """Raise `BadInput` where an edit says nothing new."""
    if all(one is None for one in given):
        raise BadInput("There is nothing to change: give at least one option.")
