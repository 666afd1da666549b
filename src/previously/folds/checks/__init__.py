"""Checks before any commit: may a model's text become memory?

The list is short, and each check looks at something that matters. A text is accepted as it is or refused with a reason
that the model is told; no check adds a word to it. Other packages use what is exported here.
"""

from previously.folds.checks.judgement import (
    Accepted,
    RefusalKind,
    Refused,
    TextRequest,
    clip_words,
    judge,
    judge_text,
    read_text,
)
from previously.folds.checks.shape import is_open_block, is_tool_call, strip_reasoning

__all__ = [
    "Accepted",
    "RefusalKind",
    "Refused",
    "TextRequest",
    "clip_words",
    "is_open_block",
    "is_tool_call",
    "judge",
    "judge_text",
    "read_text",
    "strip_reasoning",
]
