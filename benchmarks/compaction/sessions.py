"""Generated sessions of a coding agent, with a known truth: what was demanded, decided, tried, touched and seen.

One part is one request of the user and the work on it: files read together, searches, a cause, a decision with its
reason, edits, tests that fail and pass, now and then an approach that is given up, a list of tasks. A constraint is
said once. What must stay true: everything comes from the seed; every fact stands in the messages of its part, exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.compaction.facts import (
    CONSTRAINT,
    DECISION,
    EDITED,
    ERROR,
    EXACT,
    FAILURE,
    READ,
    TODO,
    Case,
    Fact,
    needed_later,
    told,
)
from benchmarks.compaction.phrases import AGENTS, CAUSES, ERRORS, REQUESTS, SYSTEM, WORDINGS
from benchmarks.compaction.world import World
from previously.core.messages import FAILED, Message, Role, Text, ToolCall, ToolResult

ASKED = "requests"
_MARKED = re.compile("⟦(.*?)⟧")


@dataclass(slots=True)
class Part:
    """The messages of one request and the work on it, and the facts in them."""

    number: int
    messages: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)


class Session:
    """A session that is written part by part."""

    def __init__(self, seed: int, wording: str = "first") -> None:
        self.world = World(seed)
        self._random = self.world.random
        self._calls = 0
        self._pools = dict(zip((CONSTRAINT, DECISION, FAILURE), WORDINGS[wording], strict=True)) | {ASKED: REQUESTS}
        self._left = {kind: self._random.sample(pool, len(pool)) for kind, pool in self._pools.items()}
        self._part = Part(0)
        self.parts: list[Part] = []

    def opening(self) -> Part:
        """The system prompt and the rules of the repository."""
        part = self._begin()
        self._add(Role.SYSTEM, self.world.filled(SYSTEM))
        self._add(Role.USER, self.world.filled(AGENTS))
        return part

    def worked(self, *, gives_up: bool = False, interrupted: bool = False, long_output: bool = False) -> Part:
        """A request, and all the work until the agent says that it is done."""
        part = self._begin()
        self._request()
        self._looked_around()
        self._decided()
        if gives_up:
            self._gave_up()
        self._edited_and_tested(long_output=long_output)
        self._say(self.world.filled("Fixed. The change is in {file} and the tests pass.", file=part.edited[-1]))
        if interrupted:
            self._call("bash", {"command": f"make deploy-check AREA={self.world.noun()}"}, None)
        return part

    def under_way(self, calls: int = 3) -> Part:
        """The newest request, and the first steps of the work on it."""
        part = self._begin()
        self._request()
        self._parallel_reads(2)
        for _ in range(calls):
            self._call("grep", {"pattern": self.world.noun(), "path": "src"}, self.world.matches(8))
        return part

    def later(self, earlier: Sequence[Part]) -> list[Message]:
        """What the agent does next: it goes back to what was said, touched and seen before."""
        part = self._begin()
        facts = [fact for one in earlier for fact in one.facts]
        files = [path for one in earlier for path in one.edited]
        for path in self._random.sample(files, min(len(files), 6)):
            self._call("edit", {"path": path, "old": "a", "new": "b"}, "ok")
        exact = [fact.needle for fact in facts if fact.kind == EXACT]
        for one in self._random.sample(exact, min(len(exact), 8)):
            self._say(f"This is the same as in {one}.")
        self.parts.remove(part)
        return part.messages

    def headless(self, calls: int) -> Part:
        """One request and many calls, as in a run without a person."""
        part = self._begin()
        self._request(rules=3)
        while self._calls < calls:
            for step in (self._looked_around, self._decided, self._gave_up, self._edited_and_tested):
                step()
        return part

    def _begin(self) -> Part:
        self._part = Part(len(self.parts))
        self.parts.append(self._part)
        return self._part

    def _request(self, rules: int = 1) -> None:
        said = [self._fact(CONSTRAINT, 2) for _ in range(rules)]
        text = self._draw(ASKED).replace("{rules}", " ".join(said))
        self._add(Role.USER, self._exact(text))

    def _looked_around(self) -> None:
        self._todo(0)
        self._parallel_reads(3)
        self._call("grep", {"pattern": self.world.noun(), "path": "src"}, self.world.matches(12))
        self._say(self._exact(self._random.choice(CAUSES)))

    def _parallel_reads(self, count: int) -> None:
        paths = [self.world.file() for _ in range(count)]
        self._part.facts += [Fact(READ, path, 1, self._part.number) for path in paths]
        ids = [self._id() for _ in paths]
        calls = [ToolCall(one, "read_file", json.dumps({"path": path})) for one, path in zip(ids, paths, strict=True)]
        self._part.messages.append(Message(Role.ASSISTANT, (Text("Reading what is involved."), *calls)))
        for one in ids:
            listing = self.world.listing(self._random.randrange(18, 60))
            self._part.messages.append(Message(Role.TOOL, (ToolResult(one, listing),)))

    def _decided(self) -> None:
        self._say(self._fact(DECISION, 1))

    def _edited_and_tested(self, *, long_output: bool = False) -> None:
        path, test, function = self.world.file(), self.world.test(), self.world.function()
        self._edit(path, function)
        error = self.world.filled(self._random.choice(ERRORS))
        self._part.facts.append(Fact(ERROR, error, 1, self._part.number))
        command = f"pytest -q {test}"
        self._call(
            "bash",
            {"command": command},
            f"{self.world.log(6)}\nE   {error}\n1 failed in 3.1s\nExit code: 1",
            failed=True,
        )
        self._edit(path, function)
        self._call(
            "bash",
            {"command": command},
            f"{self.world.log(400 if long_output else 20)}\n12 passed in 4.2s\nExit code: 0",
        )
        commit = self._exact("{hash}")
        self._call("bash", {"command": f"git commit -am '{function}'"}, f"[main {commit}] {function}\n 2 files changed")
        self._todo(2)

    def _gave_up(self) -> None:
        path = self.world.file()
        self._edit(path, self.world.function())
        error = self.world.filled(self._random.choice(ERRORS))
        self._part.facts.append(Fact(ERROR, error, 2, self._part.number))
        self._call(
            "bash",
            {"command": f"make bench AREA={self.world.noun()}"},
            f"{self.world.log(10)}\n{error}\nExit code: 2",
            failed=True,
        )
        self._say(self._fact(FAILURE, 2))
        self._call("bash", {"command": f"git checkout -- {path}"}, "Updated 1 path from the index")

    def _edit(self, path: str, function: str) -> None:
        if path not in self._part.edited:
            self._part.edited.append(path)
            self._part.facts.append(Fact(EDITED, path, 2, self._part.number))
        new = "\n".join(self.world.listing(12).splitlines())
        self._call("edit", {"path": path, "old": f"def {function}", "new": new}, f"The file {path} was changed.")

    def _todo(self, done: int) -> None:
        tasks = [self.world.filled("{noun}: check {function}") for _ in range(4)]
        states = ["completed"] * done + ["in_progress"] + ["pending"] * (3 - done)
        listed = [{"content": task, "status": state} for task, state in zip(tasks, states, strict=True)]
        self._part.facts = [one for one in self._part.facts if one.kind != TODO]
        for part in self.parts:  # an older list is done with
            part.facts = [one for one in part.facts if one.kind != TODO]
        self._part.facts += [Fact(TODO, task, 2, self._part.number) for task in tasks[done:]]
        self._call("todo_write", {"todos": listed}, "The list was updated.")

    def _draw(self, kind: str) -> str:
        if not self._left[kind]:
            self._left[kind] = self._random.sample(self._pools[kind], len(self._pools[kind]))
        return self._left[kind].pop()

    def _fact(self, kind: str, weight: int) -> str:
        """A sentence, its marked words noted as facts."""
        text = self.world.filled(self._draw(kind))
        self._part.facts += [Fact(kind, one, weight, self._part.number) for one in _MARKED.findall(text)]
        return _MARKED.sub(r"\1", text)

    def _exact(self, template: str) -> str:
        """The sentence, the ids, hashes and numbers in it noted as facts."""
        for name in ("ticket", "hash", "number"):
            if f"{{{name}}}" in template:
                drawn = getattr(self.world, name)()
                template = template.replace(f"{{{name}}}", drawn)
                self._part.facts.append(Fact(EXACT, drawn, 1, self._part.number))
        return self.world.filled(template)

    def _id(self) -> str:
        self._calls += 1
        return f"call_{self._calls:04}"

    def _say(self, text: str) -> None:
        self._add(Role.ASSISTANT, text)

    def _add(self, role: Role, text: str) -> None:
        self._part.messages.append(Message(role, (Text(text),)))

    def _call(self, tool: str, arguments: dict[str, object], output: str | None, *, failed: bool = False) -> None:
        call = ToolCall(self._id(), tool, json.dumps(arguments))
        self._part.messages.append(Message(Role.ASSISTANT, (call,)))
        if output is not None:
            result = ToolResult(call.id, output, FAILED if failed else "")
            self._part.messages.append(Message(Role.TOOL, (result,)))


def generated(seed: int, wording: str = "first") -> Case:
    """A session of several requests. Every third has a call that was interrupted right before the newest request."""
    session = Session(seed, wording)
    session.opening()
    for number in range(5):
        session.worked(
            gives_up=number % 2 == 1, interrupted=number == (4 if seed % 3 == 0 else 1), long_output=number == 2
        )
    done = list(session.parts)
    session.under_way()
    return _case(session, f"session {seed}", done)


def headless(seed: int, calls: int = 150, wording: str = "first") -> Case:
    """One request, then as many calls."""
    session = Session(seed, wording)
    session.opening()
    session.headless(calls)
    return _case(session, f"headless {seed}", list(session.parts))


def _case(session: Session, name: str, done: Sequence[Part]) -> Case:
    messages = tuple(message for part in session.parts for message in part.messages)
    later = session.later(done)
    facts = [fact for part in session.parts for fact in part.facts] + needed_later(messages, later)
    request = max(at for at, one in enumerate(messages) if one.role is Role.USER)
    return Case(name, "generated", messages, (0, 1), request, tuple(facts))


def truth_holds(case: Case) -> bool:
    """Whether every fact of a case stands in its conversation."""
    text = told(case.messages)
    return all(one.needle in text for one in case.facts)
