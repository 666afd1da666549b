"""Pins: the messages of a conversation that stay as they are, its rules and the newest request.

Clients put blocks into messages of the user with which nobody asks for anything; here is the one list of them, by their
form. Words of the user beside such a block are the user's, and a tag that is only spoken of is no block. Looking is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from previously.core.messages import Image, Message, Role, Text, ToolResult
from previously.core.patterns import lazy_pattern

REMINDER = "system-reminder"
"""A block in which clients put rules and much else."""

ENVIRONMENT = "environment_context"
"""A block in which Codex tells the folder, the shell and the date."""

RULES_TAG = lazy_pattern(r"(?:.*[_-])?(?:instructions?|rules?)|(?:agents|claude|gemini)[._-]?md", re.IGNORECASE)
"""The names of blocks that hold rules."""

RULES_HEADING = lazy_pattern(r"\s*#+ (?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b[^\n]*(?:\n|$)\s*", re.IGNORECASE)
"""The line over rules that names their file."""

_ANYWHERE = rf"{REMINDER}|environment_details|ide_(?:opened_file|selection|diagnostics)"
_TAG = lazy_pattern(
    rf"{_ANYWHERE}|{ENVIRONMENT}|local-command-[\w-]+|bash-[\w-]+|command-(?:name|message|args|contents)|"
    r"task-notification|subagent_notification|turn_aborted|permissions instructions|skills?(?:[_-][\w-]+)?|"
    r"user-prompt-submit-hook|function_results?|tool_(?:results?|response|output)|observation",
    re.I,
)
_INSIDE = lazy_pattern(rf"<({_ANYWHERE})>[\s\S]*?(?:</\1>|\Z)")
_LINE = lazy_pattern(
    r"\s*(?:\[Request interrupted by user[^\]\n]{0,80}\]|Caveat: The messages below were generated[^\n]*)", re.I
)
_WHOLE = lazy_pattern(
    r"\s*(?:This session is being continued from a previous conversation|Here is a demonstration of how to|"
    r"#+ AGENTS\.md instructions\b|"
    r"(?:Stop|SubagentStop|PreToolUse|PostToolUse|UserPromptSubmit|SessionStart|SessionEnd|PreCompact|Notification)"
    r"(?::\S{1,80})? hook (?:feedback|error|blocking error|additional context)\b[^\n]{0,200}:|"
    r"I committed the changes with git hash \w+ & commit msg:|I have \*added these files to the chat\*|"
    r"Here are (?:some READ ONLY files, provided for your reference|summaries of some files present in my git)|"
    r"I switched to a new code base\. Please don't consider the above files)",
    re.I,
)
_OBSERVED = lazy_pattern(
    r"\s*(?:OBSERVATION:|EXECUTION RESULT of \[|<returncode>|\[The command completed with exit code|Command output:|"
    r"\[[\w.-]{1,60}(?: for '[^\n]{0,400}')?\] Result:)"
)
_OBSERVED_END = lazy_pattern(
    r"(?:\(Current directory: [^\n]{0,300}\)\s*(?:bash-\$)?|"
    r"\[(?:The command completed|Command finished) with exit code -?\d{1,5}\.?\])\s*\Z"
)
_LOOKED_AT_END = 600
"""Characters at the end of a text where a shell's prompt or an exit code may stand."""
_OPENING = lazy_pattern(r"\s*<(?P<tag>permissions instructions|[A-Za-z][\w.-]*)(?:\s[^<>]*)?>", re.I)


def read_user_words(message: Message) -> str:
    """Return what the user says in a message, without what a client put there; empty where nothing is left."""
    said = (strip_client_blocks(part.text) for part in message.parts if isinstance(part, Text))
    return "\n".join(words for words in said if words)


def strip_client_blocks(text: str) -> str:
    """A text without what a client put there; empty where nothing is left."""
    heading = RULES_HEADING.match(text)
    start = heading.end() if heading else 0
    at = _find_end_of_attached(text, start)
    if heading and at == start:
        at = 0  # a heading alone may be the user's own: what stands under it is then what they say
    if _WHOLE.match(text, at):
        return ""
    rest = text[at:]
    return (_INSIDE.sub("", rest) if "<" in rest else rest).strip()


def is_observation(text: str) -> bool:
    """Return whether a text has the form in which agents without tool messages are given what a tool or a shell said.
    It is one only after the agent spoke: a task may end with the same prompt."""
    return bool(_OBSERVED.match(text) or _OBSERVED_END.search(text[-_LOOKED_AT_END:]))


def find_leading_blocks(text: str, at: int = 0) -> Iterator[tuple[str, str, int]]:
    """The blocks that a text begins with: tag, what is inside, and where it ends."""
    while opened := _OPENING.match(text, at):
        closing = f"</{opened['tag']}>"
        end = text.find(closing, opened.end())
        if end < 0:
            return
        at = end + len(closing)
        yield opened["tag"], text[opened.end() : end], at


def _find_end_of_attached(text: str, at: int) -> int:
    """Return where the blocks and lines of a client end that stand there, one behind the other."""
    while True:
        line = _LINE.match(text, at)
        tag, _, end = next(find_leading_blocks(text, at), ("", "", at))
        if line:
            at = line.end()
        elif tag and (_TAG.fullmatch(tag) or RULES_TAG.fullmatch(tag)):
            at = end
        else:
            opened = None if tag else _OPENING.match(text, at)
            # A block of a client that never ends was cut off: all of it is the client's.
            return len(text) if opened and _TAG.fullmatch(opened["tag"]) else at


_RULES_FILE = lazy_pattern(r"\b(?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b|^# claudeMd\b|\.cursorrules\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pins:
    """The messages that stay as they are."""

    messages: tuple[int, ...]
    """Those that are pinned, in order."""
    held: frozenset[int]
    """Those, and what belongs to them: the call whose result came with the request."""
    request: int | None
    """The newest request."""


def find_pins(
    messages: Sequence[Message],
    units: Sequence[range],
    *,
    brief_at: int | None = None,
    extra: frozenset[int] = frozenset(),
) -> Pins:
    """The pins of a conversation. The earlier brief is none, whatever it says."""
    request = find_newest_request(messages, brief_at)
    pinned = {at for at in extra if 0 <= at < len(messages)}
    if request is not None:
        pinned.add(request)
    pinned.update(at for at, message in enumerate(messages) if message.role is Role.SYSTEM)
    pinned.update(find_rules(messages))
    pinned.discard(-1 if brief_at is None else brief_at)
    whole = {at for unit in units if not pinned.isdisjoint(unit) for at in unit}
    whole.discard(-1 if brief_at is None else brief_at)
    return Pins(tuple(sorted(pinned)), frozenset(whole), request)


def find_newest_request(messages: Sequence[Message], brief_at: int | None = None) -> int | None:
    """Return where the user asked for something last."""
    return max(find_requests(messages, brief_at), default=None)


def find_requests(messages: Sequence[Message], brief_at: int | None = None, *, goes_on: bool = False) -> frozenset[int]:
    """Return where the user asked for something: neither what a client attached nor what a tool said in the user's
    name. An earlier brief is no request, and the agent spoke before it; where these messages go on from one that is
    not among them, it spoke before all of them."""
    spoke = (at for at, message in enumerate(messages) if message.role is Role.ASSISTANT or at == brief_at)
    answered = -1 if goes_on else next(spoke, len(messages))
    return frozenset(
        at
        for at, message in enumerate(messages)
        if at != brief_at and is_request(message) and not (at > answered and is_observation(message.text))
    )


def is_request(message: Message) -> bool:
    """Return whether the user says something in it: words or a picture besides results and what a client attached."""
    if message.role is not Role.USER:
        return False
    answers = any(isinstance(part, ToolResult) for part in message.parts)  # their pictures belong to the tool
    return any(
        bool(strip_client_blocks(part.text)) if isinstance(part, Text) else isinstance(part, Image) and not answers
        for part in message.parts
    )


def find_rules(messages: Sequence[Message]) -> list[int]:
    """Return where the rules of a conversation stand, and what its client tells of the place it works in: of each kind
    the newest, where it came first."""
    newest = {kinds: message for message in messages if (kinds := name_rules(message))}
    return sorted(messages.index(message) for message in newest.values())


def name_rules(message: Message) -> tuple[str, ...]:
    """Return the kinds of rules that a client put into a message, as blocks at the beginning of a text; a newer message
    with the same kinds takes its place. Empty where it holds none."""
    if message.role is not Role.USER or any(isinstance(part, ToolResult) for part in message.parts):
        return ()
    return tuple(kind for part in message.parts if isinstance(part, Text) for kind in _name_kinds(part.text))


def _name_kinds(text: str) -> Iterator[str]:
    heading = RULES_HEADING.match(text)
    if heading:
        yield heading[0].strip()
    for tag, inside, _ in find_leading_blocks(text):
        if RULES_TAG.fullmatch(tag) or tag == ENVIRONMENT:
            yield tag
        elif tag == REMINDER and (file := _RULES_FILE.search(inside)):
            yield file[0]
