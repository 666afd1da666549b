"""Files in and out: what other programs write, as drafts, and messages as other programs take them.

It may import `wire`, `folds`, `lore`, `text` and `core`. Others use what is exported here, and `conversations` and
`scene_memories` for files that hold no story.
"""

from previously.formats.claude_code import to_claude_code
from previously.formats.detect_format import FORMATS, FileReader, read_story
from previously.formats.files import SideStory, SourceBranch, StorySource
from previously.wire.anthropic_request import to_anthropic
from previously.wire.chat import to_openai
from previously.wire.responses import to_responses

__all__ = [
    "FORMATS",
    "FileReader",
    "SideStory",
    "SourceBranch",
    "StorySource",
    "read_story",
    "to_anthropic",
    "to_claude_code",
    "to_openai",
    "to_responses",
]
