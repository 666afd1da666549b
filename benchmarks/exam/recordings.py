"""Recorded answers: files by set, story, span and kind, and the models that replay and make them.

`answers/SET/STORY/FIRST-LAST.KIND.txt` holds `# request HASH` and, from the second line on, the answer as it came. The
second different request about the same span and kind in one run (a question asked again with the reason why the first
answer could not be used) is `FIRST-LAST.KIND-2.txt`, and so on. Requests are not kept: they are made anew from the
story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.exam.exams import CHARACTERS
from benchmarks.exam.requests import find_kind, find_span, hash_request
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.folds.prompts.templates import Template
from previously.models.client import Model
from previously.wire.model_call import build_reply

ANSWERS = Path(__file__).parent / "answers"

_HEAD = "# request "


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded answer, and the hash of the request it answers."""

    hash: str
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with the answer that was given to it."""

    name: str
    request: ModelRequest
    text: str


def recorded_sets(folder: Path = ANSWERS) -> list[str]:
    """Return the names of the sets there are."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def read_answers(folder: Path) -> dict[str, Answer]:
    """Return the recorded answers of one set and story by their names."""
    found = {}
    for path in sorted(folder.glob("*.txt")):
        head, _, text = path.read_text("utf-8").partition("\n")
        found[path.stem] = Answer(head.removeprefix(_HEAD).strip(), text)
    return found


def write_answer(folder: Path, name: str, answer: Answer) -> None:
    """Keep an answer at once and whole: an interrupted recording goes on behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{name}.unfinished"
    unfinished.write_text(f"{_HEAD}{answer.hash}\n{answer.text}", "utf-8")
    unfinished.replace(folder / f"{name}.txt")


class RecordedModel:
    """Answers from recordings: by the request's hash, else by span and kind, and then the answer is stale.

    Stale answers are used and listed. A request without a recording fails as a model does that cannot be reached, and
    is listed as missing. One story, one fold from its beginning, one of these.
    """

    def __init__(
        self, folder: Path, texts: Sequence[str], templates: Mapping[str, Template], *, name: str = "recorded"
    ) -> None:
        self.stale: list[str] = []
        self.missing: list[str] = []
        self.exchanges: list[Exchange] = []
        self._folder = folder
        self._texts = texts
        self._templates = templates
        self._name = name
        self._answers = read_answers(folder)
        self._asked: dict[str, list[str]] = {}

    @property
    def name(self) -> str:
        """Return the name it was given."""
        return self._name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the recorded answer."""
        name = self.name_request(request)
        found = self.find(request, name)
        if found is None:
            _note(self.missing, name)
            return ModelFailure(FailureKind.CONNECTION, f"No answer is recorded for {name}.")
        return self.replay(request, name, found)

    async def close(self) -> None:
        """Hold nothing open."""

    def name_request(self, request: ModelRequest) -> str:
        """Return the name of a request: its span and kind, and which of several different ones it is."""
        span = find_span(request, self._texts)
        about = f"{span.first}-{span.last}" if span else "none"
        name = f"{about}.{find_kind(request, self._templates)}"
        asked = self._asked.setdefault(name, [])
        _note(asked, hash_request(request))
        number = asked.index(hash_request(request)) + 1
        return name if number == 1 else f"{name}-{number}"

    def find(self, request: ModelRequest, name: str) -> Answer | None:
        """Return the answer to this very request, else the one of its name."""
        wanted = hash_request(request)
        exact = (answer for answer in self._answers.values() if answer.hash == wanted)
        return next(exact, None) or self._answers.get(name)

    def replay(self, request: ModelRequest, name: str, answer: Answer) -> ModelReply:
        """Return a recorded answer as a reply, and list it if it is stale."""
        if answer.hash != hash_request(request):
            _note(self.stale, name)
        self.exchanges.append(Exchange(name, request, answer.text))
        return counted(build_reply(answer.text, request=request, model=self._name), request)

    def keep(self, request: ModelRequest, name: str, text: str) -> None:
        """Record an answer."""
        answer = Answer(hash_request(request), text)
        write_answer(self._folder, name, answer)
        self._answers[name] = answer
        self.exchanges.append(Exchange(name, request, text))


class RecordingModel:
    """Replays what is recorded, asks a model for the rest and records each answer as it arrives."""

    def __init__(
        self, model: Model, recorded: RecordedModel, *, anew: bool = False, say: Callable[[str], None] = print
    ) -> None:
        """`anew` asks again where the recorded answer is stale."""
        self._model = model
        self._recorded = recorded
        self._anew = anew
        self._say = say

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the recorded answer, or the model's."""
        name = self._recorded.name_request(request)
        found = self._recorded.find(request, name)
        if found and (found.hash == hash_request(request) or not self._anew):
            self._say(f"{name}: recorded{'' if found.hash == hash_request(request) else ', stale'}")
            return self._recorded.replay(request, name, found)
        self._say(f"{name}: asked")
        reply = await self._model.ask(request)
        if isinstance(reply, ModelFailure):
            self._say(f"{name}: {reply.reason}")
            return reply
        # What was cut off or is no text would come back from its file as a whole answer.
        if reply.finish_reason in (None, "stop") and not reply.tool_calls:
            self._recorded.keep(request, name, reply.text)
        return counted(reply, request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


class OnceAskedModel:
    """Asks a model each request once, whatever the budget it is asked for, and counts as every row does."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._replies: dict[str, ModelReply] = {}

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the model's answer, or the one it gave to the same request before."""
        known = self._replies.get(hash_request(request))
        reply = known or await self._model.ask(request)
        if isinstance(reply, ModelFailure):
            return reply
        return self._replies.setdefault(hash_request(request), counted(reply, request))

    async def close(self) -> None:
        """Leave the model open for the next copy of the story."""


def counted(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Return a reply whose usage is counted in characters ÷ 4."""
    read, written = CHARACTERS.tokens(f"{request.system}{request.user}"), CHARACTERS.tokens(reply.text)
    return replace(reply, usage=Usage(read, written, reported=True))


def _note(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
