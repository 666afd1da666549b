"""What holds of every view, whatever the story, reader and budget.

Random stories with secrets, tool calls, hidden messages, edits, branches and folds; every reader; budgets from 200 to
200,000 tokens. `VIEW_CASES` says how many views are looked at (`make views` looks at 10,000).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from previously import BadInput, BlockingMemory, BudgetTooSmall, Draft, Furniture, Message, Settings, message
from previously.blocking import BlockingStory
from previously.core.messages import Attributes, Part, Role, Text, ToolCall, ToolResult
from previously.core.tokens import message_tokens
from previously.models.tokenizers import find_counter
from previously.view.view import Reason, Section, View
from tests.effort import cases

CASES = int(os.environ.get("VIEW_CASES", cases(2_000, quick=100)))
VIEWS_OF_A_STORY = 50
PEOPLE = ("Ines", "Bram", "Odalys")
READERS = (
    "chat",
    "narrator",
    "agent",
    "state",
    *(f"character:{name}" for name in PEOPLE),
    *(f"memory:{name}" for name in PEOPLE),
)
WORDS = "the lamp on the quay was out so they counted 40 crowns by hand 雨が降る 🌧️ and went to Königstraße".split()
COUNTER = find_counter("cl100k")


def drafts(chance: random.Random, number: int) -> Iterator[Draft]:
    """Some messages, all with a number of their own. What is said before some only holds their names as canaries."""
    words = " ".join(chance.choices(WORDS, k=chance.choice((3, 20, 60))))
    kind = chance.random()
    hidden = Attributes(hidden=chance.random() < 0.05)
    if kind < 0.1:
        call = f"call{number}"
        yield Draft(Message(Role.ASSISTANT, (ToolCall(call, "look", f'{{"at": "{words}"}}'),)))
        yield Draft(Message(Role.TOOL, (ToolResult(call, f"seen {number}: {words}"),)))
    elif kind < 0.35:
        there = chance.sample(PEOPLE, chance.choice((1, 2)))
        absent = " ".join(f"canary-{name}" for name in PEOPLE if name not in there)
        said = message("user", f"{number}: {words} {absent}", speaker=there[0], witnesses=there)
        yield Draft(said, hidden)
    elif kind < 0.45:
        yield Draft(Message(Role.ASSISTANT, (Text(f"{number}: {words}"), Text("and more")), "Narrator"), hidden)
    else:
        role, name = chance.choice((("user", "Ines"), ("assistant", "Bram"), ("assistant", None)))
        yield Draft(message(role, f"{number}: {words}", speaker=name), hidden)


def told(story: BlockingStory, chance: random.Random) -> None:
    """A story with whatever people do to one."""
    if chance.random() < 0.5:
        story.add("system", "You are the narrator of a story about a harbour.")
    number = 0
    for _ in range(chance.randint(1, 12)):
        batch = [draft for at in range(number, number + 10) for draft in drafts(chance, at)]
        number += 10
        story.add_drafts(batch)
        deed = chance.random()
        length = story.branch_info().messages
        if deed < 0.2:
            story.edit(chance.randrange(length), f"{number}: changed {chance.random()}")
        elif deed < 0.3:
            story.branch(f"branch {number}", chance.randrange(length))
            story.switch(f"branch {number}")
        elif deed < 0.4:
            story.pin(f"Bram is left-handed, {number}.")
        elif deed < 0.5:
            story.close_chapter(f"Part {number}")
        if chance.random() < 0.6:
            story.fold()


def check(story: BlockingStory, view: View, reader: str, budget: int, furniture: Furniture) -> None:
    path = story.messages()
    tools = COUNTER.tokens(furniture.tools) + COUNTER.request_overhead_tokens
    exact = sum(message_tokens(shown, COUNTER) for shown in view.messages) + tools
    assert exact == view.tokens == sum(item.tokens for item in view.items)
    assert exact <= budget

    called = [part.id for shown in view.messages for part in shown.parts if isinstance(part, ToolCall)]
    answered = [part.id for shown in view.messages for part in shown.parts if isinstance(part, ToolResult)]
    assert set(answered) <= set(called)
    newest = view.messages[-1] if view.messages else None
    waiting = {part.id for part in (newest.parts if newest else ()) if isinstance(part, ToolCall)}
    assert set(called) - waiting <= set(answered), "a call without its result"

    shown = {at for item in view.items for span in item.sources for at in range(span.first, span.last + 1)}
    listed = {at for one in view.left_out if one.span for at in range(one.span.first, one.span.last + 1)}
    assert shown | listed == set(range(len(path))), "every message is accounted for"
    verbatim = [at for item in view.items if item.section is Section.TAIL for at in [item.sources[0].first]]
    words = [_but_for_outputs(path[at].entry.message) for at in verbatim]
    said = [_but_for_outputs(one) for one in view.messages]
    assert all(parts in said or _recalled(view) for parts in words)

    kind, _, name = reader.partition(":")
    text = "\n".join(repr(shown.parts) for shown in view.messages)
    if name:
        assert f"canary-{name}" not in text, "nothing that was not witnessed"
        for at in verbatim:
            witnesses = path[at].entry.message.witnesses
            assert witnesses is None or name in witnesses
    if kind in ("memory", "state"):
        assert sum(path[at].entry.message.role is Role.USER for at in verbatim) <= 1, "the current turn only"
    assert not any(path[at].entry.attributes.hidden for at in verbatim)
    for one in view.left_out:
        assert name or one.reason is not Reason.UNWITNESSED


def _but_for_outputs(said: Message) -> tuple[Part, ...]:
    """An agent is shown old tool outputs as notes."""
    return tuple(replace(part, text="") if isinstance(part, ToolResult) else part for part in said.parts)


def _takes_part(story: BlockingStory, name: str) -> bool:
    """Whether a reader is nobody by name, or somebody who spoke or was said to be there."""
    heard = [item.entry.message for item in story.messages()]
    return not name or any(one.speaker == name or name in (one.witnesses or ()) for one in heard)


def _recalled(view: View) -> bool:
    return view.volatile_tokens > 0


@pytest.mark.random
@pytest.mark.parametrize("seed", range(max(1, CASES // VIEWS_OF_A_STORY)))
def test_whatever_the_story_reader_and_budget(seed: int) -> None:
    chance = random.Random(seed)
    settings = Settings.of(
        chance.choice(("roleplay", "novel", "game", "agent")),
        tokenizer="cl100k",
        fold_messages=8,
        recap_words=40,
        backbone_words=40,
        chapter_words=15,
    )
    with BlockingMemory(":memory:", settings=settings) as memory:
        story = memory.story("tale")
        told(story, chance)
        looked = 0
        while looked < VIEWS_OF_A_STORY:
            reader = chance.choice(READERS)
            budget = round(200 * 1_000 ** chance.random())
            furniture = Furniture(tools='{"name": "look"}' if chance.random() < 0.2 else "")
            if chance.random() < 0.2:
                note = message("system", "Keep it short.")
                furniture = Furniture((message("system", "House rules."),), ((2, note),), furniture.tools)
            if not _takes_part(story, reader.partition(":")[2]):
                with pytest.raises(BadInput, match="Nobody called"):
                    story.view(budget, reader=reader, furniture=furniture)
                looked += 1
                continue
            try:
                view = story.view(budget, reader=reader, furniture=furniture)
            except BudgetTooSmall as error:
                assert error.needed_tokens > budget
                check(
                    story,
                    story.view(error.needed_tokens, reader=reader, furniture=furniture),
                    reader,
                    error.needed_tokens,
                    furniture,
                )
            else:
                check(story, view, reader, budget, furniture)
                assert story.view(budget, reader=reader, furniture=furniture).messages == view.messages
            looked += 1
            if chance.random() < 0.3:
                story.add_drafts(list(drafts(chance, 10_000 + looked)))
            if chance.random() < 0.1:
                story.fold()
