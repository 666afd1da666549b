"""Files in and out: what other programs write, as drafts, and messages as other programs take them.

It may import `wire`, `folds`, `lore`, `text` and `core`. Others use what is exported here, and `conversations` and
`scene_memories` for files that hold no story. Names load when they are first used: a command that reads no file loads
no format.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from previously.formats.claude_code import to_claude_code
    from previously.formats.detect_format import FORMATS, FileReader, open_story, read_story
    from previously.formats.files import SideStory, SourceBook, SourceBranch, StorySource
    from previously.wire.anthropic_request import to_anthropic
    from previously.wire.chat import to_openai
    from previously.wire.responses import to_responses

__all__ = [
    "FORMATS",
    "FileReader",
    "SideStory",
    "SourceBook",
    "SourceBranch",
    "StorySource",
    "open_story",
    "read_story",
    "to_anthropic",
    "to_claude_code",
    "to_openai",
    "to_responses",
]

_HOMES = {
    **dict.fromkeys(("FORMATS", "FileReader", "open_story", "read_story"), "previously.formats.detect_format"),
    **dict.fromkeys(("SideStory", "SourceBook", "SourceBranch", "StorySource"), "previously.formats.files"),
    "to_claude_code": "previously.formats.claude_code",
    "to_anthropic": "previously.wire.anthropic_request",
    "to_openai": "previously.wire.chat",
    "to_responses": "previously.wire.responses",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
