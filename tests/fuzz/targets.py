"""Every target by its name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.answers import list_answers
from tests.fuzz.importers import list_importers
from tests.fuzz.requests import list_requests
from tests.fuzz.target import Target

TARGETS: Mapping[str, Target] = {
    target.name: target for target in (*list_importers(), *list_requests(), *list_answers())
}
