"""The words of a file beside its messages, kept with the story for writing it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from previously.core.json_values import clean_json
from previously.recognition.choose_story import OWN_FIELDS, parse_header
from previously.storage.store import StoryKey
from previously.storage.tables import Tables


def keep_file_header(key: StoryKey, header: Mapping[str, Any]) -> Callable[[Tables], None]:
    """Return what writes the words of a file beside its messages; whose story it is, no file says."""
    told = {name: clean_json(value)[0] for name, value in header.items()}

    def write(tables: Tables) -> None:
        kept = parse_header(tables.stories.kept(key, "header"))
        fields = {name: value for name, value in told.items() if name not in OWN_FIELDS}
        fields |= {name: value for name, value in kept.items() if name in OWN_FIELDS}
        tables.stories.keep(key, "header", json.dumps(fields, ensure_ascii=False))

    return write
