"""What a user said, without the memory of this turn that a view puts before it."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"\A<recalled [a-z]{10}>\n.*?\n</recalled [a-z]{10}>\n\n", re.DOTALL)


def remove_turn_memory(text: str) -> str:
    return _BLOCK.sub("", text)
