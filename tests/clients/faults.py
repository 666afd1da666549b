"""The faults of the proxy behind real clients that are known, by client and promise. Whoever mends one takes it out.

A client's name with `, compacted` is its list with a summary of its own. `SOMETIMES` holds faults that depend on when a
fold came between two requests.
"""

from __future__ import annotations

import pytest

_RESERVED = (
    "the room for an answer is taken off the window (half of it: 32,000 tokens are asked for), tools are learnt as "
    "part of the text and taken off once more, and a request that does not fit the rest goes on without memory"
)
_TOOLS_TWICE = (
    "definitions of tools are learnt as part of the text and taken off the window again, and the tail gets no more "
    "than 60 % of the rest, however small the memory is"
)
_NAME = "a story is named by the time or by the client's id"

FAULTS = {
    "opencode": {
        "use_the_window": _TOOLS_TWICE,
        "say_nothing_in_the_users_name": "the request for a title has the session's id and becomes its first turn",
        "name_the_story": _NAME,
        "choose_the_preset": "the preset is chosen at the request for a title, which has no tools",
    },
    "opencode, compacted": {
        "send_what_was_asked": "the request for a summary has the session's id and gets its history",
    },
    "codex": {
        "use_the_window": _TOOLS_TWICE,
        "keep_the_rules": "AGENTS.md comes as a user's message and is folded like one",
        "keep_the_environment": "<environment_context> comes as a user's message and is folded like one",
        "name_the_story": _NAME,
        "two_projects": "`session-id` is no header by which a conversation is known",
    },
    "claude_code": {
        "use_the_window": _RESERVED,
        "leave_alone_what_fits": _RESERVED,
        "keep_the_rules": "CLAUDE.md comes inside the first request and is cut away with it",
        "keep_the_environment": "a system message inside `messages` is dropped when the list is made anew",
        "know_the_decisions": _RESERVED,
        "degrade_nothing": _RESERVED,
        "name_the_story": _NAME,
    },
    "claude_code, compacted": {
        "leave_alone_what_fits": _RESERVED,
        "know_the_decisions_in_summaries": _RESERVED,
        "keep_one_story": "the list after the client's own summary becomes another story",
    },
    "aider": {
        "keep_the_rules": "files for reading come as a user's message and are folded like one",
        "keep_one_story": "each request for the message of a commit becomes a story",
        "name_the_story": _NAME,
        "two_projects": "the messages before the talk are the same in every project",
    },
    "open_webui": {
        "name_the_story": _NAME,
        "choose_the_preset": "the preset is chosen by tools alone, which Open WebUI sends with every chat",
    },
}

SOMETIMES = {
    "claude_code": {
        "keep_to_the_interface": "a system message inside `messages` goes on as one, which the interface refuses",
    },
    "opencode": {"know_the_decisions": "without the preset for agents there is no brief"},
    "codex": {"know_the_decisions": "the brief leaves decisions out"},
    "aider": {
        "use_the_window": "the fold leaves less than the window holds",
        "know_the_decisions": "without tools there is no brief",
    },
    "open_webui": {
        "know_the_decisions": "what was decided is left out of a chat that has the preset for agents",
        "degrade_nothing": "the proxy warns that the upstream seems to cut prompts",
    },
}


def mark_fault(request: pytest.FixtureRequest, promise: str, client: str) -> None:
    """Expect a fault that is known. A mended one fails until its line is gone."""
    if reason := FAULTS.get(client, {}).get(promise):
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    elif reason := SOMETIMES.get(client, {}).get(promise):
        request.applymarker(pytest.mark.xfail(strict=False, reason=reason))
