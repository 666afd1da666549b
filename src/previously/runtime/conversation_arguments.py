"""The arguments of folding a conversation, checked before anything is done.

Whatever is given, it is either used or refused in one sentence that names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput

System = str | Sequence[Mapping[str, Any]] | None
Tools = Sequence[Mapping[str, Any]] | None


def check_numbers(**numbers: object) -> None:
    """Refuse what is no whole number; None is one that was not given."""
    for name, given in numbers.items():
        if given is not None and not _is_number(given):
            raise BadInput(f"`{name}` is a whole number, not {_shown(given)}.")


def check_model(model: object) -> None:
    """Refuse what cannot be asked."""
    if model is not None and not (callable(getattr(model, "ask", None)) and not isinstance(model, type)):
        raise BadInput(
            f"`model` is an object that can be asked, such as an OpenAICompatibleModel, not {_shown(model)}."
        )


def texts_beside(system: object, tools: object) -> list[str]:
    """Return the system prompt and the tools as texts to be counted."""
    if isinstance(system, str) or system is None:
        told = [system or ""]
    elif isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        told = [_block_text(block) for block in system]
    else:
        raise BadInput(f"`system` is text or a list of text blocks, not {_shown(system)}.")
    if tools is None:
        return told
    if isinstance(tools, str) or not isinstance(tools, Sequence) or not all(isinstance(one, Mapping) for one in tools):
        raise BadInput(f"`tools` is a list of objects, not {_shown(tools)}.")
    return [*told, *(str(tool) for tool in tools)]


def places(pins: object, length: int) -> list[int]:
    """Return the positions of pins, from the front."""
    pins = () if pins is None else pins
    if isinstance(pins, str) or not isinstance(pins, Iterable):
        raise BadInput(f"`pins` are positions of messages, as [0, 3], not {_shown(pins)}.")
    found = list(pins)
    for pin in found:
        if not _is_number(pin):
            raise BadInput(f"A pin is the position of a message, not {_shown(pin)}.")
        if not -length <= pin < length:
            raise BadInput(f"There is no message {pin}; the conversation has {length}.")
    return [pin % length for pin in found]


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _block_text(block: Mapping[str, Any]) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else json.dumps(dict(block), ensure_ascii=False, default=str)


def _shown(given: object) -> str:
    text = ascii(given)
    return text if len(text) <= 60 else f"{text[:60]}..."
