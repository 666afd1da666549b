"""The brief: an agent's conversation in sections, updated as it goes on.

One note for a run of messages, going on from the brief before it. What is kept is the canonical Markdown of a brief,
with every section, under its cap, without secrets. A model's brief stands as it wrote it: what the user laid down is
put back where it is missing, a word about the folding itself is left out, and room that is free goes to files and exact
names. A model reads the conversation in blocks under the names of those who speak, calls and results in square
brackets, capped. Thinking is left out, no secret goes out, and what was said cannot pass for a block, a call or a tag
of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from previously.core.messages import Image, Message, Part, Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelRequest
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.brief_checks import CertainFacts, bound_brief, fill_room, restore_constraints
from previously.folds.builtin.agent_log import read_deeds
from previously.folds.builtin.brief import list_certain_files, redact_brief, write_brief
from previously.folds.builtin.identifiers import locate_names, parse_name_lines
from previously.folds.builtin.statements import find_rules, is_slight, read_requests
from previously.folds.checks import Accepted, Refused, is_open_block, is_tool_call, strip_reasoning
from previously.folds.checks.judgement import read_text
from previously.folds.conversation.rules import OUTPUT_CHARACTERS
from previously.folds.conversation.secrets import redact
from previously.folds.conversation.sections import (
    EARLIER_REQUEST,
    TITLES,
    Brief,
    extend_brief,
    parse_brief,
    render_brief,
)
from previously.folds.fold import NoteFold
from previously.folds.json_answer import DECLINED, LONGEST_ANSWER, refuse_shape
from previously.folds.prompts.templates import Template, defuse_tags, fill_template
from previously.text.language import find_wrong_language
from previously.text.voice import is_refusal

MOST_TOKENS = 1_500
"""The longest brief that a model is asked for: what is beyond it in a larger cap is room for what is put back."""

WORDS_PER_TOKEN = 0.4
"""Words that a brief may have for each token of its cap: exact names take many tokens. Four briefs of real runs, as a
strong model would write them, had 0.43 to 0.46; were more words asked for, lines would have to go again."""

MOST_PARTS = 64
"""The most parts in which a model may be asked: conversations of agents are long, and each part is full."""

RUNAWAY = 4
"""An answer of this many times its cap is no brief."""

TEMPERATURE = 0.2
_SHORT = 60
_MUCH = 60
"""Words of news after which the earlier brief cannot stand unchanged."""

_ECHOED = lazy_pattern(r"^[ \t]*(?:## (?:User|Assistant|System|Tool)[ \t]*$|\[tool(?:-result|-error)?[ \]])", re.M)
_ECHOES = 3
_LONG_COPY = 500

_OF_FOLDING = lazy_pattern(
    r"\b(?:conversation|context|history|session|transcript|messages?)\b.{0,30}\b(?:was|were|has been|have been|"
    r"is being|got) "
    r"(?:automatically |previously )?(?:compacted|summari[sz]ed|truncated|folded|condensed|compressed|shortened)\b|"
    r"\b(?:this|the|my|previous|earlier|anchored|above|updated) (?:summary|brief|recap|notes?)\b|"
    r"\bsummar(?:y|i[sz]ed?|i[sz]ing|i[sz]ation) (?:of )?(?:the|this|our) (?:conversation|session|chat|messages|"
    r"history)\b|"
    r"\bcontext (?:compaction|window (?:is|was) full)\b|\b(?:diese|die) zusammenfassung\b|\b(?:ce|le) résumé\b|"
    r"\beste resumen\b",
    re.I,
)
_CODE = lazy_pattern(r"`[^`\n]{0,400}`|```[^`]*(?:```|\Z)|\S*[/_\\{}<>=]\S*")


@dataclass(frozen=True, slots=True)
class BriefFold(NoteFold):
    """A run of a conversation that is to be told in a brief."""

    kind: ClassVar[Kind] = Kind.RECAP  # it tells what a recap tells, for a story of an agent
    prompt: ClassVar[str] = "brief"
    most_parts: ClassVar[int] = MOST_PARTS

    delta: tuple[Message, ...]
    so_far: str = ""
    """The brief before it, as Markdown; empty at first."""
    again: bool = False
    most_tokens: int = MOST_TOKENS
    """The cap."""
    pins: tuple[str, ...] = ()
    """Short sentences that must stand in it word for word."""
    used: frozenset[str] = frozenset()
    """The exact names in the messages that stay: free room goes to them first."""
    output_characters: int = OUTPUT_CHARACTERS
    """The characters of one tool output that a model is shown."""

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        before = redact_brief(parse_brief(self.so_far))
        asked = min(self.most_tokens, MOST_TOKENS)
        words = max(80, int(asked * WORDS_PER_TOKEN) // 10 * 10)
        system, user = fill_template(
            template,
            {
                "length": f"At most {words} words.",
                "previous": "(none yet)" if before.is_empty else defuse_tags(render_brief(before)),
                "conversation": render_conversation(self.delta, self.output_characters) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, asked * 3 // 2 + 200, temperature=TEMPERATURE)

    def judge_text(self, text: str) -> Accepted | Refused:
        """The brief in a model's answer, with what it may not lose."""
        answer = strip_reasoning(text).strip()
        brief = parse_brief(answer)
        refused = self._refused(text, answer, brief)
        if refused:
            return refused
        brief, dropped = self._without_talk_of_folding(brief)
        before = redact_brief(parse_brief(self.so_far))
        wrong = find_wrong_language(_gather_prose(self.delta, before), _render_prose(brief))
        if wrong:
            return refuse_shape(f"it is in {wrong}; write in the language of the conversation")
        asked = read_requests(self.delta, goes_on=not before.is_empty)
        requests = [redact(request.text) for request in asked if not is_slight(request.text)]
        rules = [rule for request in requests for rule in find_rules(request)]
        brief, missing = restore_constraints(brief, [*self.pins, *before.constraints, *rules])
        warnings = [f"spoke of the folding, left out: {item[:80]}" for item in dropped]
        warnings += [f"left out by the model, put back: {rule[:80]}" for rule in missing]
        told = [item.removeprefix(EARLIER_REQUEST) for item in before.context if item.startswith(EARLIER_REQUEST)]
        return self._accept(brief, warnings, [*told, *requests])

    def builtin(self) -> Accepted:
        brief = write_brief(self.delta, parse_brief(self.so_far))
        missing = [one for one in self.pins if one.strip() and one.strip() not in "\n".join(brief.items())]
        return self._accept(extend_brief(brief, constraints=missing), [], by_rules=True)

    def _accept(
        self, brief: Brief, warnings: list[str], requests: Sequence[str] = (), *, by_rules: bool = False
    ) -> Accepted:
        bounded = bound_brief(redact_brief(brief), self.most_tokens)
        shed = [f"left out for want of room: {item[:80]}" for item in bounded.shed]
        filled = bounded.brief
        if not shed or by_rules:  # where a model's own lines had to go, there is no room for others
            filled = fill_room(filled, self._find_certain(requests), self.used, self.most_tokens)
        return Accepted(render_brief(filled), warnings=(*warnings, *shed))

    def _find_certain(self, requests: Sequence[str]) -> CertainFacts:
        """Return what was said word for word, and what calls and results alone say, of these messages and of those
        before them."""
        before = redact_brief(parse_brief(self.so_far))
        now = locate_names(self.delta, goes_on=not before.is_empty)
        known = parse_name_lines(before.context)
        names = {name: place for name, place in known.items() if name not in now} | now
        return CertainFacts(tuple(requests), list_certain_files(before.files, read_deeds(self.delta)), names)

    def _refused(self, answer: str, text: str, brief: Brief) -> Refused | None:
        if not text:
            return refuse_shape("it is empty")
        if is_open_block(answer):
            return refuse_shape("it is reasoning that never comes to an end")
        if len(text) > LONGEST_ANSWER or estimate_tokens(text) > RUNAWAY * self.most_tokens:
            return refuse_shape("it is far too long")
        if is_tool_call(text):
            return refuse_shape("it is a tool call instead of a text")
        said = " ".join(brief.items()) or text
        if is_refusal(said) and (brief.is_empty or count_words(said) <= _SHORT):
            return DECLINED
        if len(_ECHOED.findall(text)) >= _ECHOES or self._copies(brief, text):
            return refuse_shape("it copies the conversation instead of telling what matters")
        if brief.is_empty:
            titled = any(f"{title}\n" in f"{text}\n" for title in TITLES.values())
            return refuse_shape("it says nothing" if titled else "it has none of the headings")
        news = sum(count_words(read_text(one)) for one in self.delta if one.role is not Role.SYSTEM)
        if self.so_far and brief == parse_brief(self.so_far) and news >= _MUCH:
            return refuse_shape("it is the earlier brief, without what happened since")
        return None

    def _copies(self, brief: Brief, text: str) -> bool:
        """Return whether most of the answer stands in one message, word for word."""
        long = [one for one in brief.items() if len(one) >= _LONG_COPY]
        if sum(map(len, long)) < 0.6 * len(text):
            return False
        said = " ".join(" ".join(read_text(one).split()) for one in self.delta)
        return all(" ".join(one.split()) in said for one in long)

    def _without_talk_of_folding(self, brief: Brief) -> tuple[Brief, list[str]]:
        """The brief without bullets about itself. Where the user works on such things, the words are the user's own."""
        asked = "\n".join(one.text for one in self.delta if one.role is Role.USER).casefold()

        def about_itself(item: str) -> bool:
            match = _OF_FOLDING.search(item)
            return match is not None and match.group().casefold() not in asked

        dropped = [one for one in brief.items() if about_itself(one)]
        if not dropped:
            return brief, []
        return Brief(
            **{name: tuple(one for one in getattr(brief, name) if one not in dropped) for name in TITLES}
        ), dropped


def _render_prose(brief: Brief) -> str:
    items = [one for name in TITLES if name != "files" for one in getattr(brief, name)]
    return _CODE.sub(" ", "\n".join(items))


def _gather_prose(delta: tuple[Message, ...], before: Brief) -> str:
    said = [one.text for one in delta if one.role in (Role.USER, Role.ASSISTANT)]
    return _CODE.sub(" ", "\n".join([_render_prose(before), *said]))


ARGUMENTS_CHARACTERS = 1_000
"""The characters of a call's arguments that are told: a command, or the head of a file that is written."""

TEXT_CHARACTERS = 20_000
"""The characters of one text that are told: what is longer was pasted."""

_LOOKED_AT = 25_000
"""Characters at either end of a text that are looked at, so that no secret is met half way."""

_AT_THE_END = 0.4
"""The share of a capped text that is its end: outputs tell what went wrong last."""

_NAMES = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System", Role.TOOL: "Tool"}

_OURS = lazy_pattern(
    r"^(?=[ \t]*(?:#{1,6}[ \t]*(?:User|Assistant|System|Tool)[ \t]*$|\[(?:tool|tool-result|tool-error)(?:[ \]]|$)))",
    re.M | re.I,
)
_DATA_URL = lazy_pattern(r"data:(?P<type>[\w.+/\-]{1,80});base64,(?P<data>[A-Za-z0-9+/=]{64,})")


def render_conversation(messages: Iterable[Message], most_characters: int = OUTPUT_CHARACTERS) -> str:
    """Messages in blocks, one for each that tells something; results stand under the calls they answer."""
    blocks: list[list[str]] = []
    calls = _Calls()
    for message in messages:
        lines = [line for part in message.parts if (line := _render_part(part, calls, most_characters))]
        if not lines:
            continue
        if message.role is Role.TOOL and blocks:
            blocks[-1] += lines
        else:
            blocks.append([f"## {_NAMES[message.role]}", *lines])
    return defuse_tags("\n\n".join("\n".join(lines) for lines in blocks))


class _Calls:
    """The calls that wait for results, and whether several were made together: only then a result names its call."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._together = 0

    def made(self, call: ToolCall) -> None:
        self._together = self._together + 1 if self._waiting else 1
        self._waiting[call.id] = call.name

    def answered(self, call_id: str) -> str:
        """The name to be told with this result."""
        name = self._waiting.pop(call_id, "")
        return f" {_one_line(name)}" if name and self._together > 1 else ""


def _render_part(part: Part, calls: _Calls, most: int) -> str:
    match part:
        case Text(text):
            return cap_text(_as_said(text), TEXT_CHARACTERS)
        case ToolCall(_, name, arguments):
            calls.made(part)
            return f"[tool {_one_line(name)} {cap_text(_as_said(arguments) or '{}', ARGUMENTS_CHARACTERS)}]"
        case ToolResult(call, text):
            tag = "tool-error" if part.failed else "tool-result"
            return f"[{tag}{calls.answered(call)}] {cap_text(_as_said(text), most) or '(empty)'}"
        case Image(_, caption):
            return f"[image: {redact(_one_line(caption))[:300]}]" if caption.strip() else "[image]"
        case _:
            return ""


def _as_said(text: str) -> str:
    """Return what was said, so that no line of it looks like ours."""
    return _OURS.sub("\\\\", text.strip())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def cap_text(text: str, most: int) -> str:
    """At most so many characters of a text without its secrets, beginning and end, with the count of what was cut."""
    text = _DATA_URL.sub(lambda found: f"[{found['type']}, {len(found['data']):,} characters]", text)
    if len(text) <= 2 * _LOOKED_AT:
        clear = redact(text)
        cut = len(clear) - most
        if cut <= 0:
            return clear
        first, last = clear, clear
    else:
        first, last = redact(text[:_LOOKED_AT]), redact(text[-_LOOKED_AT:])
        cut = len(text) - most
    end = int(most * _AT_THE_END)
    return f"{first[: most - end].rstrip()}\n…[{cut:,} characters cut]…\n{last[len(last) - end :].lstrip()}"
