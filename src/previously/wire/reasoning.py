"""A model's thinking, taken off the front of its answer.

Pure and total. Models that think aloud put it first, in one of many kinds of brackets, and servers pass it on in the
text when they do not know the model.

- Only what stands *first* is taken. Tags inside the answer are part of it: a story may hold any tag.
- A bracket that is opened first and never closed leaves nothing: the model ran out of tokens while thinking.
- A closing bracket that was never opened ends the thinking: the chat template had opened it.
- Nothing is guessed from wording. Thinking without brackets stays, for the fold's checks to refuse.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from previously.core.patterns import lazy_pattern

MAX_LEADING_BLOCKS = 8
"""More blocks in a row than any model writes; what follows them stays, and a fold will refuse it."""

_NAMES = (
    "think|thinking|thought|thoughts|reasoning|reason|reflection|analysis|scratchpad|inner_monologue|internal_thought"
    "|seed:think|antml:thinking"
)


@dataclass(frozen=True, slots=True)
class _Brackets:
    """The marks that open and close thinking in an answer."""

    opens: re.Pattern[str]
    closes: re.Pattern[str]


def _compile_brackets(opens: str, closes: str) -> _Brackets:
    return _Brackets(re.compile(opens, re.IGNORECASE), re.compile(closes, re.IGNORECASE))


_ALL = (
    # <think>, <thinking type="x">, closed by any name of the family: models mix them
    _compile_brackets(rf"<\s?(?:{_NAMES})(?:\s[^<>]{{0,200}})?>", rf"<\s?/\s?(?:{_NAMES})\s?>"),
    # <|thinking|> … <|/thinking|>, <|START_THINKING|> … <|END_THINKING|>, <|begin_of_thought|> … <|end_of_thought|>
    _compile_brackets(
        rf"<\|(?:(?:start|begin)_(?:of_)?)?(?:{_NAMES})\|>",
        rf"<\|(?:/|end_(?:of_)?)(?:{_NAMES})\|>|<\|(?:start|begin)_(?:of_)?(?:response|solution)\|>",
    ),
    # [THINK] … [/THINK]
    _compile_brackets(r"\[(?:think|thinking|reasoning)\]", r"\[/(?:think|thinking|reasoning)\]"),
    # ◁think▷ … ◁/think▷
    _compile_brackets(r"◁(?:think|thinking)▷", r"◁/(?:think|thinking)▷"),
    # <|channel>thought … <channel|>
    _compile_brackets(r"<\|channel>\s?(?:thought|analysis)", r"<channel\|>"),
    # <unused94>thought … <unused95>
    _compile_brackets(r"<unused94>", r"<unused95>"),
)

_HARMONY = lazy_pattern(r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>", re.IGNORECASE)
_HARMONY_FINAL = lazy_pattern(
    r"(?:<\|end\|>\s*)?(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*final\b[^<>]{0,60}"
    r"(?:<\|constrain\|>[^<>]{0,60})?<\|message\|>",
    re.IGNORECASE,
)
_HARMONY_END = lazy_pattern(r"<\|(?:return|end|call)\|>")
_HARMONY_LOST = lazy_pattern(r"analysis(?=[A-Z\s])")
_HARMONY_LOST_FINAL = lazy_pattern(r"assistant\s?final(?=[^a-z])")

_WRAPPED = lazy_pattern(r"<(answer|response|output|final)>(.*)</\1>", re.IGNORECASE | re.DOTALL)
_RESPONSE_OPENS = lazy_pattern(r"<\|(?:start|begin)_(?:of_)?(?:response|solution)\|>", re.IGNORECASE)
_RESPONSE_CLOSES = lazy_pattern(r"<\|end_(?:of_)?(?:response|solution)\|>\Z", re.IGNORECASE)
_ANY_MARK = lazy_pattern(r"[<\[◁]")
_SPACE = lazy_pattern(r"[\s\ufeff\u200b]*")


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the thinking at the front of an answer, and the answer. Without thinking the text comes back as it was."""
    if not _ANY_MARK.search(text) and not _HARMONY_LOST.match(text, _skip_space(text, 0)):
        return "", text  # nearly every answer, and the searches below take long where it is one
    harmony = _split_harmony(text)
    if harmony is not None:
        return harmony
    taken: list[str] = []
    at = 0
    for _ in range(MAX_LEADING_BLOCKS):
        block = _find_leading_block(text, _skip_space(text, at))
        if block is None:
            break
        thought, at = block
        taken.append(thought)
    if not taken:
        orphan = _find_orphan_close(text)
        if orphan is None:
            return "", text
        thought, at = orphan
        taken.append(thought)
    at = _skip_stray_closes(text, at)
    return "\n".join(part for part in taken if part), _unwrap(text[at:])


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _find_leading_block(text: str, at: int) -> tuple[str, int] | None:
    """Return the thinking of the block that opens right here, and its end; that of the text when it never closes."""
    for brackets in _ALL:
        opened = brackets.opens.match(text, at)
        if opened is None:
            continue
        closed = _find_matching_close(brackets, text, opened.end()) or brackets.closes.search(text, opened.end())
        if closed is None:
            return text[opened.end() :].strip(), len(text)
        return text[opened.end() : closed.start()].strip(), closed.end()
    return None


def _find_matching_close(brackets: _Brackets, text: str, at: int) -> re.Match[str] | None:
    """Return the close that balances an open before `at`; None when thinking only mentions a tag."""
    depth = 1
    opening = brackets.opens.search(text, at)
    for closing in brackets.closes.finditer(text, at):
        while opening is not None and opening.start() < closing.start():
            depth += 1
            opening = brackets.opens.search(text, opening.end())
        depth -= 1
        if depth == 0:
            return closing
    return None


def _find_orphan_close(text: str) -> tuple[str, int] | None:
    """Return thinking that the prompt has opened: all up to the first close, if nothing opens before it."""
    for brackets in _ALL:
        closed = brackets.closes.search(text)
        if closed is None:
            continue
        opened = brackets.opens.search(text, 0, closed.start())
        if opened is None and not _is_json(text):
            return text[: closed.start()].strip(), closed.end()
    return None


def _skip_stray_closes(text: str, at: int) -> int:
    """Go past closes that follow at once: some models close twice."""
    for _ in range(MAX_LEADING_BLOCKS):
        here = _skip_space(text, at)
        close = next((match for brackets in _ALL if (match := brackets.closes.match(text, here))), None)
        if close is None:
            break
        at = close.end()
    return at


def _split_harmony(text: str) -> tuple[str, str] | None:
    """Split the channels of the harmony format, whole, with their opening in the prompt, or with their marks lost."""
    start = _skip_space(text, 0)
    final = _HARMONY_FINAL.search(text)
    if final is None and _HARMONY_LOST.match(text, start):
        final = _HARMONY_LOST_FINAL.search(text)
    if final is None:
        return (text.strip(), "") if _HARMONY.match(text, start) else None
    if not _HARMONY.match(text, start) and _is_json(text):
        return None
    answer = text[final.end() :]
    ended = _HARMONY_END.search(answer)
    return text[: final.start()].strip(), (answer[: ended.start()] if ended else answer).strip()


def _unwrap(answer: str) -> str:
    """Take off the bracket that some models put around their answer when they have thought."""
    answer = answer.strip()
    if opened := _RESPONSE_OPENS.match(answer):
        answer = answer[opened.end() :]
    answer = _RESPONSE_CLOSES.sub("", answer)
    wrapped = _WRAPPED.fullmatch(answer.strip())
    return (wrapped.group(2) if wrapped else answer).strip()


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
