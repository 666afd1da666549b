"""The faults of the proxy behind real clients that are known, by client and promise. Whoever mends one takes it out.

A client's name with `, compacted` is its list with a summary of its own. `SOMETIMES` holds faults that depend on when a
fold came between two requests.
"""

from __future__ import annotations

import pytest

FAULTS: dict[str, dict[str, str]] = {}

SOMETIMES = {
    "aider": {
        "use_the_window": "a new epoch of a chat leaves two fifths of the room to grow",
        "know_the_decisions": "without calls of tools there is no brief",
    },
    "open_webui": {"know_the_decisions": "the recap of a chat without a model quotes other words"},
}


def mark_fault(request: pytest.FixtureRequest, promise: str, client: str) -> None:
    """Expect a fault that is known. A mended one fails until its line is gone."""
    if reason := FAULTS.get(client, {}).get(promise):
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    elif reason := SOMETIMES.get(client, {}).get(promise):
        request.applymarker(pytest.mark.xfail(strict=False, reason=reason))
