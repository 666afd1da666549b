"""Commands and groups whose parameters are read without Pydantic where they are plain text or not given."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from previously.core.json_values import clean


class PlainCommand(TyperCommand):
    """A command whose plain parameters are read without Pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_spare_adapter(option) for option in super().get_params(ctx)]


class PlainGroup(TyperGroup):
    """A group whose plain parameters are read without Pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_spare_adapter(option) for option in super().get_params(ctx)]


def _spare_adapter(option: Any) -> Any:
    """Let a parameter pass as it is if it is not given, or plain text. Typer makes a Pydantic adapter for it, `--help`
    included, and to load Pydantic takes a fifth of the time in which stories are listed."""
    process = option.process_value

    def process_given(ctx: Any, value: Any) -> Any:
        is_absent = value is None and not option.required
        if _is_plain_list(option, value):
            return list(value)
        if option.multiple or option.nargs != 1 or not (is_absent or _is_plain_text(option, value)):
            return process(ctx, value)
        parse = option.type_descriptor.parameter_info.parser
        if parse is not None and value is not None:
            try:
                value = parse(value)
            except (ValueError, typer.BadParameter):
                return process(ctx, value)  # which says what is wrong
        return option.callback(ctx, option, value) if option.callback else value

    if process.__name__ != process_given.__name__:
        option.process_value = process_given
    return option


def _is_plain_text(option: Any, value: Any) -> bool:
    """Return whether a value is text for a parameter that takes any. Pydantic refuses what cannot be stored."""
    return option.type_descriptor.annotation is str and isinstance(value, str) and not clean(value)[1]


def _is_plain_list(option: Any, value: Any) -> bool:
    """Return whether values are texts for an argument that takes any number of them, and some are given."""
    is_listed = option.nargs == -1 and not option.callback and option.type_descriptor.parameter_info.parser is None
    texts = value if is_listed and option.type_descriptor.annotation == list[str] else ()
    return bool(texts) and not any(not isinstance(text, str) or clean(text)[1] for text in texts)
