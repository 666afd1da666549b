"""One rolling summary, as many tools keep it: rewritten every so often, put before the newest messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.exam.exams import Exam, render
from previously import Message
from previously.core.model_io import ModelFailure, ModelRequest
from previously.core.path import Span
from previously.core.scripts import count_words
from previously.core.versions import Cost
from previously.folds.prompts.templates import Template, fill_template, parse_template
from previously.models.client import Model

KIND = "rolling"

BATCH_MESSAGES = 40
BATCH_WORDS = 3_000
"""What is new at a rewrite: 40 messages, or in prose, whose paragraphs are long, 3,000 words. Larger batches lose less
by rewriting and cost less; these are about as large as a window of 8,192 tokens allows."""

TAIL_MESSAGES = 12
"""The newest messages, which every view shows anyway, are not summarised."""

ANSWER_TOKENS = 2_000
"""Three times what 450 words take, so that no answer is cut off."""

TEMPLATE: Template = parse_template(
    KIND,
    """Summarise a long story so that somebody can go on writing it. You are given the summary so far and the messages that came since. Write one new summary of both in about 450 words: who is who and where they are, what happened, what is promised, owed, secret or still open, names and numbers. Plain prose. Nothing but the summary.
=== user ===
# Summary so far

{{summary}}

# New messages

{{messages}}

# Task

Write the new summary.""",  # noqa: E501
    ("summary", "messages"),
)


def find_batches(messages: Sequence[Message]) -> Iterator[Span]:
    """Yield the spans that are summarised one after the other."""
    end = len(messages) - TAIL_MESSAGES
    first = words = 0
    for index in range(end):
        words += count_words(messages[index].text)
        if index + 1 - first >= BATCH_MESSAGES or words >= BATCH_WORDS or index + 1 == end:
            yield Span(first, index)
            first, words = index + 1, 0


async def summarise(exam: Exam, model: Model) -> tuple[str, Cost]:
    """Return the last summary and what all of them took. A batch that the model fails at is left out of it."""
    summary, cost = "", Cost()
    for span in find_batches(exam.messages):
        batch = exam.messages[span.first : span.last + 1]
        request = ModelRequest(
            *fill_template(TEMPLATE, {"summary": summary or "(none yet)", "messages": render(batch)}), ANSWER_TOKENS
        )
        reply = await model.ask(request)
        cost += Cost(1)
        if isinstance(reply, ModelFailure):
            continue
        cost += Cost(0, reply.usage.input_tokens, reply.usage.output_tokens)
        summary = reply.text.strip() or summary
    return summary, cost
