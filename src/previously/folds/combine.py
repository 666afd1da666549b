"""Combining scenes: one timeline out of several, from their summaries alone.

Entries are no part of the question: they say what things are and are merged by code. That is what makes combining
cheap. What must stay true: no word of an entry reaches the model; the answer is plain prose and passes the checks of
any such text; without a model the summaries are joined and cut to size, and the newest is always in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.messages import Message, Role, Text
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens
from previously.folds.builtin.quotes import quote_whole
from previously.folds.checks import Accepted, Asked, Refused, judge, judge_text
from previously.folds.rendering import Template, as_data, fill
from previously.text.cuts import cut_to_tokens

PROMPT = "combine"
"""The name of its prompt."""

NEWEST_SHARE = 4
"""A quarter is kept for the newest summary: what happens next goes on from it."""


def build(template: Template, summaries: Sequence[str], target_words: int, hint: str = "") -> ModelRequest:
    """The question for a model: nothing but the summaries, in order."""
    system, user = fill(
        template,
        {
            "length": f"about {target_words} words" if target_words else "as long as it needs to be",
            "summaries": as_data(numbered(summaries)) or "(none)",
            "hint": f" {hint}" if hint else "",
        },
    )
    room = target_words or sum(count_words(one) for one in summaries)
    return ModelRequest(system, user, max_output_tokens=2 * room + 100)


def numbered(summaries: Sequence[str]) -> str:
    """The summaries as a model reads them."""
    told = [one.strip() for one in summaries]
    return "\n\n".join(f"Scene {number}: {one}" for number, one in enumerate(told, 1) if one)


def check_reply(
    summaries: Sequence[str], question: ModelRequest, reply: ModelReply, target_words: int
) -> Accepted | Refused:
    """Whether a model's answer may be kept as the timeline of these scenes."""
    return judge(_asked(summaries, f"{question.system}\n{question.user}", target_words), reply)


def check(summaries: Sequence[str], text: str, target_words: int) -> Accepted | Refused:
    """The same for a text that came without a wire reply."""
    return judge_text(_asked(summaries, "", target_words), text)


def _asked(summaries: Sequence[str], prompt: str, target_words: int) -> Asked:
    told = tuple(Message(Role.ASSISTANT, (Text(one),)) for one in summaries if one.strip())
    return Asked("", told, prompt, target_words, retells=True)


def joined(summaries: Sequence[str], most_tokens: int) -> str:
    """The timeline without a model: the summaries one after the other, or the lines and sentences of them that say
    most, each as it stands; the newest has its share."""
    told = [one.strip() for one in summaries if one.strip()]
    text = "\n".join(told)
    words = count_words(text)
    while estimate_tokens(text) > most_tokens and words > 1:
        words = min(words * most_tokens // estimate_tokens(text), words - 1) or 1
        newest = quote_whole(told[-1:], words // NEWEST_SHARE) if len(told) > 1 else ""
        older = quote_whole(told[:-1] or told, max(1, words - count_words(newest)))
        text = quote_whole([older, newest], 0)
    return cut_to_tokens(text, most_tokens)
