"""Every target by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.fuzz.answers import list_answers
from tests.fuzz.directories import list_directories
from tests.fuzz.importers import list_importers
from tests.fuzz.request_bodies import list_requests
from tests.fuzz.target import Target

NO_FORMATS = frozenset(
    f"file: {name}"
    for name in (
        "memories into a store", "import into a store", "kept book", "scene memory", "conversation", "settings",
        "prompt", "waiting turns",
    )
)  # fmt: skip
"""Files that are no story's, or that are not only read."""

TARGETS: Mapping[str, Target] = {
    target.name: replace(target, is_format=target.name.startswith("file: ") and target.name not in NO_FORMATS)
    for target in (*list_importers(), *list_directories(), *list_requests(), *list_answers())
}
