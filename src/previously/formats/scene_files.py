"""Files of scene memories, as they come into a story: of the shape of now, of an older one, or several in a list.

A scene memory does not say which messages it is about; whoever imports it does.
"""

from __future__ import annotations

from collections.abc import Mapping

from previously.core.errors import BadInput
from previously.core.scene import NO_MESSAGES, SpanMemory
from previously.formats.files import Document, StorySource, read_value
from previously.formats.scene_memories import ENTRY_FIELDS, TOLD_FIELDS, migrate

NAME = "scene-memory"
SOURCE = "a scene memory"

_OLDER = frozenset((*TOLD_FIELDS, *ENTRY_FIELDS))


def is_scene_memory(value: object) -> bool:
    """Return whether a parsed file holds scene memories."""
    if isinstance(value, list):
        return bool(value) and all(is_scene_memory(one) for one in value)
    if not isinstance(value, Mapping):
        return False
    return ("summary" in value and "lorebooks" in value) or len(_OLDER & value.keys()) > 1 or "narrative" in value


def read(document: Document) -> StorySource:
    return read_value(document, parse_file)


def parse_file(_: Document, value: object) -> StorySource:
    """Return the scene memories of a file, which are about messages that it does not name."""
    memories: list[SpanMemory] = []
    given = value if isinstance(value, list) else [value]
    for number, one in enumerate(given, 1):
        try:
            scene = migrate(one)
        except BadInput as error:
            raise BadInput(f"scene {number} of {len(given)}: {error}" if len(given) > 1 else str(error)) from None
        memories.append(SpanMemory(NO_MESSAGES, NO_MESSAGES, SOURCE, scene.summary, scene=scene))
    return StorySource([], NAME, {}, 0, memories=tuple(memories))
