"""A server that answers from a script, over real HTTP, in the interfaces of OpenAI (chat completions, Responses) and of
Anthropic (messages).

`ScriptedServer` owns the listening socket, the plan and the log. `answer` and `bodies` say what an answer is made of,
`connection` sends it.

- Every request is in the log as it arrived, with what became of it: answered, cut, or given up by the peer, and when.
- The same plan gives the same bytes. Tests wait for the log (`request`, `sent`, `ended`), not for clocks.
- Nothing outlives the server: when it is left, every connection is ended.
- A chunk costs little, so that hundreds of streams can be open.
- It tells its models, window and slots as one of the usual servers would. Each kind tells its window at another path
  and has none of the others' paths; `models.server_facts` reads them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from previously.testing.answer import ScriptedAnswer, Step, plan_steps, refused
from previously.testing.bodies import (
    INTERFACES,
    MESSAGES,
    RESPONSES,
    ScriptedInterface,
    ScriptedReply,
    invent_words,
    split_words,
)
from previously.testing.connection import ChangeSignal, Connection, ServedRequest

Planned = ScriptedAnswer | str
Plan = Planned | Sequence[Planned] | Mapping[int, Planned] | Callable[[ServedRequest], Planned]
"""One answer always; one for each request in turn; for some requests by their number, from 0; or what a function says.
A request that the plan says nothing of gets `ScriptedAnswer()`."""


def count_words(text: str) -> int:
    """Count the tokens of a text as this server does unless it is given another counter: about four for three words."""
    return (len(text.split()) * 4 + 2) // 3


class ScriptedServer:
    """Serves while it is entered: `async with ScriptedServer(plan) as server:` and then `server.base_url`."""

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        kind: ServerKind = "openai",
        model: str = "scripted",
        window_tokens: int | None = None,
        on_overflow: Literal["ignore", "refuse", "cut"] = "ignore",
        count_tokens: Callable[[str], int] = count_words,
        doors: Mapping[str, ScriptedAnswer] | None = None,
        api_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        keep: int | None = None,
        strict: bool = False,
    ) -> None:
        """`kind` decides where it tells its window. A prompt beyond that is taken, refused, or silently cut, which only
        the usage shows. `doors`: answers for other paths. `keep`: so many requests stay in the log. `strict`: requests
        are refused that the official APIs refuse."""
        self.requests: list[ServedRequest] = []
        """Every request for an answer, in the order they came."""
        self.others: list[ServedRequest] = []
        """Every other request: models, windows, embeddings."""
        self.running: int = 0
        """Answers under way now."""
        self.most_running: int = 0
        self.plan = plan
        self.model = model
        self.window_tokens = window_tokens
        self.strict = strict
        self.faults: list[str] = []
        """Each request that a strict server refused, and why."""
        self.changes: ChangeSignal = ChangeSignal()
        self.connections: set[Connection] = set()
        self._kind = kind
        self._on_overflow = on_overflow
        self._count_tokens = count_tokens
        self._doors = doors or {}
        self._api_key = api_key
        self._address = (host, port)
        self._keep = keep
        self._asked = 0
        self._server: asyncio.Server | None = None

    def __repr__(self) -> str:
        return f"ScriptedServer({self.origin!r}, requests={self._asked}, running={self.running})"

    @property
    def origin(self) -> str:
        """Its address, without `/v1`."""
        return f"http://{self._address[0]}:{self._address[1]}"

    @property
    def base_url(self) -> str:
        """The address that a client is given."""
        return f"{self.origin}/v1"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._address[1]

    async def __aenter__(self) -> ScriptedServer:
        host, port = self._address
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), host, port, backlog=4096)
        self._address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop listening and end every connection. May be called more than once."""
        server, self._server = self._server, None
        if server is None:
            return
        await asyncio.sleep(0)  # a connection may be half accepted: its socket is forgotten if the server closes first
        server.close()
        while connections := list(self.connections):
            for connection in connections:
                connection.abort()
            await asyncio.gather(*(connection.lost for connection in connections))
        await server.wait_closed()

    def new_plan(self, plan: Plan | None = None) -> None:
        """Go on by another plan: the log is emptied, and numbers begin at 0 again. What is under way goes on."""
        self.plan = plan
        self._asked = self.most_running = 0
        self.requests.clear()
        self.others.clear()
        self.faults.clear()

    async def request(self, number: int) -> ServedRequest:
        """Wait until the request of that number is there."""
        await self.changes.until(lambda: self._asked > number)
        return next(request for request in self.requests if request.number == number)

    async def idle(self) -> None:
        """Wait until no answer is under way."""
        await self.changes.until(lambda: self.running == 0)

    def answer(self, request: ServedRequest) -> Iterator[Step]:
        """Plan the answer to a request, and write the request into the log."""
        path = request.path.partition("?")[0]
        if (interface := INTERFACES.get(path)) is None or request.method != "POST":
            self.others.append(request)
            _forget_oldest(self.others, self._keep)
            return plan_steps(self._beside(request, path), request, _NOTHING)
        request.number = self._asked
        self._asked += 1
        self.requests.append(request)
        _forget_oldest(self.requests, self._keep)
        self.changes.tell()
        return self._counted(request, interface)

    def _counted(self, request: ServedRequest, interface: ScriptedInterface) -> Iterator[Step]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        request.when_ended(self._one_less)
        answer = self._refused(request, interface) or self._planned(request)
        yield from plan_steps(answer, request, self._decide(answer, request, interface))

    def _refused(self, request: ServedRequest, interface: ScriptedInterface) -> ScriptedAnswer | None:
        """Return the refusal of a request; None for one that is answered."""
        if not self._allowed(request):
            return ScriptedAnswer(
                status=401, body=interface.error(401, "Incorrect API key provided.", "invalid_api_key")
            )
        if self.strict:
            faults = interface.faults(request.json) if isinstance(request.json, dict) else ["The body is no object."]
            if faults:
                self.faults += [f"request {request.number}: {fault}" for fault in faults]
                return ScriptedAnswer(status=400, body=interface.error(400, " ".join(faults[:3]), "invalid_request"))
        if self._on_overflow == "refuse" and self.window_tokens is not None:
            tokens = self._prompt_tokens(request, interface)
            if tokens > self.window_tokens:
                return ScriptedAnswer(status=400, body=interface.too_long(tokens, self.window_tokens))
        return None

    def _one_less(self) -> None:
        self.running -= 1

    def _planned(self, request: ServedRequest) -> ScriptedAnswer:
        planned: Planned | None
        match self.plan:
            case None | str() | ScriptedAnswer() as planned:
                pass
            case Mapping() as by_number:
                planned = by_number.get(request.number)
            case Sequence() as in_turn:
                planned = in_turn[request.number] if request.number < len(in_turn) else None
            case function:
                planned = function(request)
        if isinstance(planned, str):
            return ScriptedAnswer(text=planned)
        return planned or ScriptedAnswer()

    def _decide(self, answer: ScriptedAnswer, request: ServedRequest, interface: ScriptedInterface) -> ScriptedReply:
        """Decide everything about an answer. The request's JSON is read only where something depends on it."""
        lean = answer.choices is not None and answer.usage is False and answer.model is not None
        asked = request.json if not lean and isinstance(request.json, dict) else {}
        count = answer.choices or (n if type(n := asked.get("n")) is int and 0 < n <= 128 else 1)
        match answer.text:
            case None:
                pieces = [] if answer.tool_calls else invent_words(request.number, answer.chunks)
            case str() as text:
                pieces = split_words(text)
            case given:
                pieces = list(given)
        usage = self._usage(answer, request, asked, "".join(pieces), interface)
        return interface.reply(
            number=request.number,
            model=answer.model or str(asked.get("model") or self.model),
            texts=[pieces if index == 0 else [*pieces, f" ({index})"] for index in range(count)],
            reasoning=answer.reasoning,
            tool_calls=answer.tool_calls,
            finish_reason=answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop"),
            usage=usage,
            streamed=request.streamed,
            chat=interface.chat,
            logprobs=bool(asked.get("logprobs")),
            done=answer.done,
            endless=answer.endless,
            error_after=answer.error_after,
            error=answer.error,
            error_event=answer.error_event,
        )

    def _usage(
        self,
        answer: ScriptedAnswer,
        request: ServedRequest,
        asked: dict[str, Any],
        text: str,
        interface: ScriptedInterface,
    ) -> Mapping[str, Any] | None:
        if isinstance(answer.usage, Mapping):
            return answer.usage
        if callable(answer.usage):
            return answer.usage(request, text)
        options = asked.get("stream_options")
        always = interface in (MESSAGES, RESPONSES)
        wanted = always or not request.streamed or (isinstance(options, dict) and bool(options.get("include_usage")))
        if not answer.usage or not wanted:
            return None
        read, written = self._prompt_tokens(request, interface), self._count_tokens(text)
        if self._on_overflow == "cut" and self.window_tokens is not None:
            read = min(read, self.window_tokens)
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}

    def _prompt_tokens(self, request: ServedRequest, interface: ScriptedInterface) -> int:
        asked = request.json if isinstance(request.json, dict) else {}
        return sum(interface.around_tokens + self._count_tokens(text) for text in interface.texts(asked))

    def _allowed(self, request: ServedRequest) -> bool:
        if self._api_key is None:
            return True
        given = request.headers.get("authorization") or f"Bearer {request.headers.get('x-api-key', '')}"
        return given == f"Bearer {self._api_key}"

    def _beside(self, request: ServedRequest, path: str) -> ScriptedAnswer:
        """Return the answer to a request that is not for an answer of the model."""
        if (planned := self._doors.get(path)) is not None:
            return planned
        if not self._allowed(request):
            return refused(401, "Incorrect API key provided.", code="invalid_api_key")
        if request.method == "POST" and path in ("/v1/embeddings", "/embeddings"):
            return ScriptedAnswer(body=embed_texts(request.json, self.model))
        facts = describe_server(
            self._kind, request.method, path, model=self.model, window_tokens=self.window_tokens, running=self.running
        )
        return refused(404, f"There is no {path} here.") if facts is None else ScriptedAnswer(body=facts)


_NOTHING = ScriptedReply(
    number=-1, model="", texts=(), reasoning="", tool_calls=(), finish_reason="stop", usage=None, streamed=False,
    chat=True, logprobs=False, done=True, endless=False, error_after=None, error=None, error_event=False,
)  # fmt: skip


def _forget_oldest(log: list[ServedRequest], keep: int | None) -> None:
    if keep is not None and len(log) > 2 * keep:
        del log[:-keep]


ServerKind = Literal["openai", "llama.cpp", "ollama", "lm studio", "koboldcpp", "vllm", "openrouter"]


def describe_server(
    kind: ServerKind, method: str, path: str, *, model: str, window_tokens: int | None, running: int
) -> dict[str, Any] | list[Any] | None:
    """Return what a kind of server tells of itself at a path; None when it has no such path."""
    match kind, method, path:
        case _, "GET", "/v1/models" | "/models":
            return {"object": "list", "data": [_listed(kind, model, window_tokens)]}
        case "llama.cpp", "GET", "/props":
            settings: dict[str, Any] = {"n_ctx": window_tokens, "params": {}}
            return {"default_generation_settings": settings, "total_slots": 1, "model_path": f"{model}.gguf"}
        case "llama.cpp", "GET", "/slots":
            return [{"id": 0, "n_ctx": window_tokens, "is_processing": running > 0}]
        case "ollama", "GET", "/api/ps":
            return {
                "models": [{"name": f"{model}:latest", "model": f"{model}:latest", "context_length": window_tokens}]
            }
        case "ollama", "POST", "/api/show":
            return {
                "parameters": f"stop  x\nnum_ctx    {window_tokens}\n",
                "model_info": {"any.context_length": 131_072},
            }
        case "lm studio", "GET", "/api/v0/models":
            entry = {
                "id": model,
                "state": "loaded",
                "loaded_context_length": window_tokens,
                "max_context_length": 131_072,
            }
            return {"object": "list", "data": [entry]}
        case "koboldcpp", "GET", "/api/extra/true_max_context_length":
            return {"value": window_tokens}
        case "koboldcpp", "GET", "/api/v1/model":
            return {"result": f"koboldcpp/{model}"}
        case _:
            return None


def _listed(kind: ServerKind, model: str, window_tokens: int | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": model, "object": "model", "created": 1_700_000_000, "owned_by": kind}
    if kind == "vllm":
        entry["max_model_len"] = window_tokens
    elif kind == "openrouter":
        entry |= {"context_length": 131_072, "top_provider": {"context_length": window_tokens}}
    elif kind == "llama.cpp":
        entry["meta"] = {"n_ctx_train": 131_072}
    return entry


def embed_texts(asked: object, model: str) -> dict[str, Any]:
    """Return vectors of eight numbers, the same for the same text."""
    given = asked.get("input") if isinstance(asked, dict) else None
    texts = given if isinstance(given, list) else [given]
    data = [{"object": "embedding", "index": at, "embedding": _vector(str(text))} for at, text in enumerate(texts)]
    return {
        "object": "list",
        "model": model,
        "data": data,
        "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
    }


def _vector(text: str) -> list[float]:
    return [byte / 128 - 1 for byte in hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8]]
