"""LangChain's SummarizationMiddleware as a contender, where it is installed.

It gets our counter, the system prompt beside the messages (as its agents have it), and as much of the budget for the
newest messages as a summary leaves. Twice: as it comes, reading the last 4,000 tokens of what it summarizes, and
reading all of it. What must stay true: its own code decides; only messages are translated, in both directions.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.compaction.contenders import FOLD_AT, Contender, Folded, read_by, rules_of, whole
from benchmarks.compaction.weak_model import weak_model
from previously.core.messages import FAILED, Message, Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.tokens import message_tokens

MARKER = "<messages>"
"""Where its prompt ends and the material begins, by its own documentation."""

SUMMARY = "lc_source"


def is_installed() -> bool:
    """Whether it can take part."""
    return importlib.util.find_spec("langchain") is not None


def contenders(writes: int) -> list[Contender]:
    """Both of its ways."""
    return [Middleware("LangChain", writes, 4_000), Middleware("LangChain, reads all", writes, None)]


@dataclass(frozen=True, slots=True)
class Middleware:
    """The middleware with these settings."""

    name: str
    writes: int
    reads: int | None

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """What it makes of the messages behind the system prompt."""
        del memo, pins
        from langchain.agents.middleware import SummarizationMiddleware

        rules = rules_of(messages)
        beside = whole(messages[:rules])
        model = weak_model(self.writes)
        room = max(1, budget - beside - self.writes - 50)
        middleware = SummarizationMiddleware(
            _chat_model(model, self.writes),
            trigger=("tokens", max(1, int(FOLD_AT * budget) - beside)),
            keep=("tokens", room),
            token_counter=lambda given: sum(message_tokens(one) for one in _ours(given)),
            trim_tokens_to_summarize=self.reads,
        )
        changed = await middleware.abefore_model({"messages": _theirs(messages[rules:])}, None)
        if changed is None:
            return Folded(tuple(messages), reason="it fits")
        kept = changed["messages"][1:]
        summary = sum(
            message_tokens(one)
            for one, given in zip(_ours(kept), kept, strict=True)
            if given.additional_kwargs.get(SUMMARY)
        )
        return Folded((*messages[:rules], *_ours(kept)), None, len(model.requests), read_by(model), summary)


def _chat_model(model: Any, writes: int) -> Any:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):  # type: ignore[misc]
        """The scripted model, as LangChain asks models."""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _generate(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> Any:
            instructions, marker, material = str(messages[0].content).partition(MARKER)
            reply = await model.ask(ModelRequest(instructions, marker + material, writes))
            assert isinstance(reply, ModelReply)
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=reply.text))])

    return Scripted()


def _theirs(messages: Sequence[Message]) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    found: list[Any] = []
    for one in messages:
        if one.role is Role.USER:
            found.append(HumanMessage(one.text))
        elif one.role is Role.SYSTEM:
            found.append(SystemMessage(one.text))
        elif one.role is Role.ASSISTANT:
            calls = [
                {"id": part.id, "name": part.name, "args": json.loads(part.arguments or "{}")}
                for part in one.parts
                if isinstance(part, ToolCall)
            ]
            found.append(AIMessage(one.text, tool_calls=calls))
        else:
            found += [
                ToolMessage(part.text, tool_call_id=part.id, status="error" if part.failed else "success")
                for part in one.parts
                if isinstance(part, ToolResult)
            ]
    return found


def _ours(messages: Any) -> list[Message]:
    roles = {"human": Role.USER, "system": Role.SYSTEM, "ai": Role.ASSISTANT}
    found: list[Message] = []
    for one in messages:
        text = one.text if isinstance(one.text, str) else one.text()
        if one.type == "tool":
            found.append(
                Message(Role.TOOL, (ToolResult(one.tool_call_id, text, FAILED if one.status == "error" else ""),))
            )
            continue
        calls = [
            ToolCall(call["id"], call["name"], json.dumps(call["args"])) for call in getattr(one, "tool_calls", ())
        ]
        found.append(Message(roles[one.type], (*((Text(text),) if text or not calls else ()), *calls)))
    return found
