"""The upstream of real agents: it plays the model from a script, counts real tokens and looks closely at every body.

Tokens are counted by OpenAI's vocabulary `o200k` (package `rs-bpe`): every text, call, result and definition of a tool
in the body, and four tokens around each message. Usage is told as counted. A body over the window gets the provider's
own error, a body with a call or a result that stands alone is refused as the official APIs do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from previously.models.tokenizers import find_counter
from previously.testing import ScriptedAnswer, ScriptedServer, ServedRequest
from previously.testing.answer import Step as WireStep
from previously.testing.answer import plan_steps as plan_wire_steps
from previously.testing.bodies import INTERFACES, PROMPT
from previously.testing.server import _NOTHING
from tests.clients.agent_work import DECISIONS, TALK_1, TALK_2, Step, plan_steps, plan_talk, write_call

MODEL = "quay-1"
AROUND_TOKENS = 4

_COUNTER = find_counter("o200k")
_SUMMARY = re.compile(
    r"create a detailed summary|CONTEXT CHECKPOINT COMPACTION|context summarization agent"
    r"|ummarize this partial conversation"
)
"""A client's own compaction, by words of its request."""

_AT_WORK = {"Edit", "edit", "exec_command", "shell_command", "shell"}
"""Tools of an agent: whoever offers one of them has work to be done."""

_TALK = (*TALK_1, *TALK_2)
_BESIDE = re.compile(r"### Task:|You are a title generator|Git commit message")
"""What clients ask beside the talk, though words of the talk stand in it."""

Fields = dict[str, Any]


@dataclass
class Seen:
    """A body that came in, and what was made of it."""

    path: str
    headers: list[tuple[str, str]]
    body: Fields
    tokens: int
    kind: str
    """`work` (the agent's next step), `beside` (a title, a tag, a check), `summary` (the client's own compaction)."""
    status: int = 200
    faults: list[str] = field(default_factory=list)


class AgentModel(ScriptedServer):
    """Serves while it is entered. `seen` holds every request for an answer, `others` what else was asked."""

    def __init__(
        self, window_tokens: int | None, *, folder: str, on_seen: Callable[[Seen], None] | None = None
    ) -> None:
        super().__init__(self._play, kind="openai", model=MODEL, window_tokens=window_tokens)
        self.seen: list[Seen] = []
        self._folder = folder
        self._steps: Iterator[Step] = plan_steps()
        self._talk: Iterator[Step] = plan_talk()
        self._done = 0
        self._on_seen = on_seen

    @property
    def work(self) -> list[Seen]:
        """The requests of the agent's own work that were answered."""
        return [seen for seen in self.seen if seen.kind == "work" and seen.status == 200]

    def answer(self, request: ServedRequest) -> Iterator[WireStep]:
        path = request.path.partition("?")[0]
        if path.endswith("/messages/count_tokens") and isinstance(request.json, dict):
            self.others.append(request)
            counted = ScriptedAnswer(body={"input_tokens": count_body(request.json)})
            return plan_wire_steps(counted, request, _NOTHING)
        return super().answer(request)

    def _play(self, request: ServedRequest) -> ScriptedAnswer:
        interface = INTERFACES[request.path.partition("?")[0]]
        body: Fields = request.json if isinstance(request.json, dict) else {}
        seen = Seen(request.path, request.raw_headers, body, count_body(body), tell_kind(body), 200)
        seen.faults = [] if interface is PROMPT else interface.faults(body)
        self.seen.append(seen)
        try:
            if self.window_tokens is not None and seen.tokens > self.window_tokens:
                seen.status = 400
                return ScriptedAnswer(status=400, body=interface.too_long(seen.tokens, self.window_tokens))
            alone = [fault for fault in seen.faults if "call" in fault or "tool" in fault]
            if alone:
                seen.status = 400
                return ScriptedAnswer(status=400, body=interface.error(400, " ".join(alone[:3]), "invalid_request"))
            return self._say(seen, usage=lambda _, text: _usage(seen.tokens, text))
        finally:
            if self._on_seen:
                self._on_seen(seen)

    def _say(self, seen: Seen, usage: Callable[[ServedRequest, str], Fields]) -> ScriptedAnswer:
        if seen.kind == "beside":
            return ScriptedAnswer(text=_answer_beside(seen.body), usage=usage)
        if seen.kind == "summary":
            return ScriptedAnswer(text=_summarise(seen.body), usage=usage)
        step = next(
            self._steps if _AT_WORK & set(name_tools(seen.body)) else self._talk, Step("There is nothing left to do.")
        )
        if step.act is None:
            return ScriptedAnswer(text=step.text, usage=usage)
        self._done += 1
        call = write_call(step.act, name_tools(seen.body), f"call_{self._done:03}", self._folder)
        return ScriptedAnswer(text=step.text, tool_calls=[call], usage=usage)


def _usage(read: int, text: str) -> Fields:
    written = _COUNTER.tokens(text)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def tell_kind(body: Fields) -> str:
    """Tell what a request is for, as a model would: by its newest words and its tools."""
    newest = _newest_user_text(body)
    if _SUMMARY.search(newest) or _SUMMARY.search(_system_text(body)[:2_000]):
        return "summary"
    tools = set(name_tools(body))
    beside = _BESIDE.search(f"{newest}\n{_system_text(body)[:2_000]}")
    talks = any(line in newest for line in _TALK) and not beside
    return "work" if tools & _AT_WORK or talks else "beside"


def name_tools(body: Fields) -> dict[str, set[str]]:
    """Return the tools of a body with the names of each one's parameters."""
    named: dict[str, set[str]] = {}
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        told = tool.get("function") if isinstance(tool.get("function"), dict) else tool
        schema = told.get("parameters") or told.get("input_schema") or {}
        named[str(told.get("name"))] = set(schema.get("properties") or {})
    return named


def count_body(body: Fields) -> int:
    """Count all that a model has to read of a body."""
    return sum(_COUNTER.tokens(text) + AROUND_TOKENS for text in _read_texts(body))


def _read_texts(body: Fields) -> Iterator[str]:
    if body.get("tools"):
        yield json.dumps(body["tools"], ensure_ascii=False, separators=(",", ":"))
    for name in ("system", "instructions", "prompt"):
        if body.get(name):
            yield "\n".join(texts_of(body[name]))
    listed = body.get("messages", body.get("input"))
    if isinstance(listed, str):
        yield listed
    for message in listed if isinstance(listed, list) else ():
        yield "\n".join(texts_of(message))


_UNREAD = {"type", "role", "id", "cache_control", "status", "encrypted_content", "signature", "tool_call_id", "call_id"}


def texts_of(value: object) -> Iterator[str]:
    """Every text in a message that a model reads, names and arguments of calls among them."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts_of(item)
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            yield f"{name}({json.dumps(arguments, ensure_ascii=False)})"
        case dict():
            for name, item in value.items():
                if name not in _UNREAD:
                    yield from texts_of(item)


def messages_of(body: Fields) -> list[Fields]:
    """Return the messages or items of a body, whatever its interface."""
    listed = body.get("messages", body.get("input"))
    if isinstance(listed, str):
        return [{"role": "user", "content": listed}]
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def user_texts(body: Fields) -> list[str]:
    """Return the texts that stand in the user's name, results of tools aside."""
    said: list[str] = []
    for message in messages_of(body):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, str):
            said.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                said.append(part["text"])
    return said


def _newest_user_text(body: Fields) -> str:
    return (user_texts(body) or [""])[-1]


def _system_text(body: Fields) -> str:
    heads = [body.get("system"), body.get("instructions")]
    heads += [message.get("content") for message in messages_of(body) if message.get("role") == "system"]
    return "\n".join(text for head in heads for text in texts_of(head))


def _answer_beside(body: Fields) -> str:
    """Answer a title, a tag, a check of a quota: short words that fit any of them."""
    newest = _newest_user_text(body)
    if "### Task:" in newest:  # Open WebUI
        if "follow_ups" in newest:
            return json.dumps({"follow_ups": ["What of the third part?", "How exact is a crane?"]})
        return json.dumps(
            {"tags": ["Harbour", "Units"]} if '"tags"' in newest else {"title": "The quay in millimetres"}
        )
    wanted = json.dumps(body.get("output_config") or body.get("response_format") or body.get("text") or {})
    if '"title"' in wanted:
        return json.dumps({"title": "The quay in millimetres", "branch": "quay-in-millimetres"})
    return "The quay in millimetres"


def _summarise(body: Fields) -> str:
    """Summarise as a model would that reads: what was decided, as far as the body still tells it."""
    whole = "\n".join(_read_texts(body))
    known = [decision for decision in DECISIONS if decision in whole]
    return "<summary>\n" + "\n".join(["The quay goes from metres to millimetres.", *known]) + "\n</summary>"
