"""Conversations of an agent, made from a seed: whole ones, and broken ones as clients leave them behind.

Large outputs are a few texts that are used again and again, so that thousands of conversations cost little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from previously.core.messages import (
    FAILED,
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    message,
)
from previously.core.tokens import ESTIMATE
from previously.folds.conversation.compaction import OPENING
from previously.folds.conversation.rules import CompactRules

OUTPUTS = (
    "",
    "ok",
    "Error: no such file or directory: src/app/main.py",
    "line of a log with words in it\n" * 20,
    "def look(at: int) -> str:\n    return names[at]\n" * 40,
    "日本語のログ行です。\n" * 60,
    "🙂 done\n" * 30,
    "x = 1\n" * 2_000,
    "a row of the table, with figures 123 456\n" * 700,
    "0123456789abcdef" * 37_500,
)
"""From nothing to 600,000 characters."""
OUTPUT_WEIGHTS = (3, 6, 4, 8, 6, 2, 2, 2, 1, 0.3)

SAID = (
    "Please make the tests pass.",
    "And now the same for the reader, in src/previously/formats.",
    "No, that is not what I meant: keep the old name.",
    "Bitte erkläre mir kurz, was du geändert hast. Grüße!",
    "请继续",
    "why?",
    "Here is the whole specification. " * 30,
    OPENING,
    f"{OPENING}\n\n## Goal\n- do what I say",
)
ANSWERED = (
    "Done.",
    "I looked at the file and will change it now.",
    "Ich habe es geändert.",
    "A long answer. " * 80,
    "",
)
RULES = (
    "# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\nNever push to main.\n</INSTRUCTIONS>",
    "<user_instructions>\nAnswer in German.\n</user_instructions>",
    "<system-reminder>\nContents of CLAUDE.md (project rules):\nUse tabs.\n</system-reminder>",
    "<environment_context>\n  <cwd>/project</cwd>\n</environment_context>",
)
TOOLS = ("read", "bash", "edit", "Skill", "grep")


@dataclass
class Maker:
    """Makes one conversation, message by message."""

    rng: Random
    made: list[Message] = field(default_factory=list)
    calls: int = 0

    def call_id(self) -> str:
        """Mostly new, sometimes used before, sometimes none."""
        self.calls += 1
        return self.rng.choices((f"call_{self.calls}", "call_0", ""), (20, 2, 1))[0]

    def output(self, call_id: str) -> ToolResult:
        text = self.rng.choices(OUTPUTS, OUTPUT_WEIGHTS)[0]
        return ToolResult(call_id, text, FAILED if self.rng.random() < 0.1 else "")

    def work(self, broken: float) -> None:
        """Calls and their results, in one of the shapes that clients write."""
        rng = self.rng
        ids = [self.call_id() for _ in range(rng.choices((1, 2, 3), (6, 2, 1))[0])]
        calls: list[Part] = [ToolCall(one, rng.choice(TOOLS), '{"path": "src/app.py"}') for one in ids]
        if rng.random() < 0.2:
            self.made.append(Message(Role.ASSISTANT, (Thinking("Which file is it?"),)))
        if rng.random() < 0.3:  # one item for each call
            self.made += [Message(Role.ASSISTANT, (call,)) for call in calls]
        else:
            said: list[Part] = [Text(rng.choice(ANSWERED))] if rng.random() < 0.4 else []
            self.made.append(Message(Role.ASSISTANT, (*said, *calls)))
        if rng.random() < broken:
            self.breach(ids)
            return
        results: list[Part] = [self.output(one) for one in ids]
        rng.shuffle(results)
        if rng.random() < 0.1:
            results.append(Image("data:image/png;base64,AAAA"))
        match rng.randrange(4):
            case 0:
                self.made.append(Message(Role.TOOL, tuple(results)))
            case 1 if rng.random() < 0.3:
                self.made.append(Message(Role.USER, (*results, Text(rng.choice(SAID)))))
            case _:
                self.made += [Message(Role.TOOL, (part,)) for part in results if isinstance(part, ToolResult)]

    def breach(self, ids: list[str]) -> None:
        """What goes wrong: no result, a result of another call, too late, twice."""
        match self.rng.randrange(5):
            case 0:
                pass
            case 1:
                self.made += [Message(Role.TOOL, (self.output(one),)) for one in ids[1:]]
            case 2:
                self.made.append(Message(Role.TOOL, (self.output("nobody"),)))
            case 3:
                self.made.append(message("user", "stop, wait"))
                self.made += [Message(Role.TOOL, (self.output(one),)) for one in ids]
            case _:
                self.made += [Message(Role.TOOL, (self.output(one),)) for one in (*ids, *ids)]

    def turn(self, steps: int, broken: float) -> None:
        rng = self.rng
        asked: list[Part] = [Text(rng.choice(SAID))]
        if rng.random() < 0.08:
            asked.append(Image("https://example.org/a.png", "a door"))
        if rng.random() < 0.05:
            asked.insert(0, Text(rng.choice(RULES)))
        self.made.append(Message(Role.USER, tuple(asked)))
        for _ in range(steps):
            self.work(broken)
            if rng.random() < 0.03:
                self.made.append(Message(Role.ASSISTANT, (Error("the connection was lost"),)))
            if rng.random() < 0.03:
                self.made.append(message("system", "The time is up soon."))
        if rng.random() < 0.8:
            self.made.append(message("assistant", rng.choice(ANSWERED)))


def conversation(seed: int) -> list[Message]:
    """The conversation of that number."""
    rng = Random(seed)
    maker = Maker(rng)
    if rng.random() < 0.8:
        maker.made.append(message("system", "You are a careful engineer. " * rng.choice((1, 10, 100))))
    shape = rng.choices(("turns", "one turn", "only system", "empty", "no user", "only results"), (60, 25, 3, 1, 4, 2))[
        0
    ]
    broken = rng.choice((0.0, 0.0, 0.1, 0.4))
    if shape in ("turns", "one turn") and rng.random() < 0.5:
        maker.made += [message("user", text) for text in rng.sample(RULES, rng.randint(1, 3))]
    match shape:
        case "turns":
            for _ in range(rng.randint(1, 8)):
                maker.turn(rng.choice((0, 1, 2, 4)), broken)
        case "one turn":
            maker.turn(rng.randint(0, 25), broken)
        case "no user":
            for _ in range(rng.randint(1, 6)):
                maker.work(broken)
        case "only results":
            maker.made += [Message(Role.TOOL, (maker.output("lost"),)) for _ in range(3)]
        case "empty":
            maker.made.clear()
        case _:
            pass
    return maker.made


def rules(seed: int) -> CompactRules:
    """Rules of that number: mostly a budget that asks for a fold, sometimes a strange one."""
    rng = Random(-seed - 1)
    return CompactRules(
        budget_tokens=rng.choice((None, 600, 2_000, 4_000, 8_000, 16_000, 32_000, 128_000)),
        overhead_tokens=rng.choice((0, 0, 500, 3_000)),
        tail_turns=rng.choice((2, 2, 2, 1, 3, 0, -1)),
        tail_tokens=rng.choice((None, None, None, 0, 100, 1_000, 50_000)),
        brief_tokens=rng.choice((1_500, 1_500, 300, 60)),
        prune_keep_tokens=rng.choice((None, None, 0, 2_000)),
        prune_least_tokens=rng.choice((None, None, 0)),
        fold_at=rng.choice((0.85, 0.85, 0.85, 0.5, 1.0, 0.0)),
    )


_WORDS = "kept src/previously/core/pairing.py and ran make test ".split()


def stand_in_brief(most_tokens: int) -> str:
    """A brief as long as it may be: what is proved of it holds for any shorter one."""
    lines = "## Goal\n-"
    while ESTIMATE.tokens(longer := f"{lines} {_WORDS[len(lines) % len(_WORDS)]}") <= most_tokens:
        lines = longer
        if len(lines) > 9 * most_tokens:
            break
    return lines
