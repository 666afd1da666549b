"""A copy of a story that answers as if its ids were those of the original.

Ids differ from place to place, but their order does not: the n-th id of a table here is the n-th there. So what goes
in is told in the ids of the copy and what comes out in those of the original, and the same verbs can be given to both
and all answers compared.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from previously.core.align import KnownEntry
from previously.core.marks import Mark
from previously.core.messages import Entry
from previously.core.path import OnPath, Put, Reuse
from previously.core.versions import NewVersion, Version
from previously.storage.copy import Ids, read_story
from previously.storage.spool import Spool
from previously.storage.store import BranchInfo, Move, StoryInfo, StoryKey
from tests.contract.storage.verbs import VerbStore

SCOPE = "scope"
FIELDS: dict[type, dict[str, str]] = {
    Mark: {"id": "mark", "origin": "mark", "of": "mark", "after": "version"},
    Version: {"id": "version"},
    NewVersion: {"before": "version", "replaces": "version", "anchor": "node", "scope": SCOPE},
    OnPath: {"node": "node"},
    Entry: {"id": "entry", "replaces": "entry"},
    KnownEntry: {"entry": "entry"},
    BranchInfo: {"head": "node"},
    Move: {"old_head": "node", "new_head": "node"},
    Put: {"replaces": "entry"},
    Reuse: {"entry": "entry"},
}
"""What in a value is an id, and of which table."""

ARGUMENTS = {"expected_head": "node", "of": "mark", "origin": "mark", "mark": "mark", "node": "node", "scope": SCOPE}
"""What of a verb's arguments is an id."""

READING = (
    "story branches branch path known siblings marks newest_mark moves versions version newest_versions live cover "
    "spans position_of leading_to settings header notes answer model_fact"
).split()


async def ids_of(store: VerbStore, key: StoryKey) -> Ids:
    """The ids that occur in a story."""
    with Spool(keeping=False) as spool:
        return await store.database.reading(
            key.owner, lambda tables: read_story(tables.session, key, spool, lambda _: None)
        )


class Telling:
    """Tells values of one place in the ids of another."""

    def __init__(self, here: Ids, there: Ids) -> None:
        self._places = {table: {ident: place for place, ident in enumerate(known)} for table, known in here.items()}
        self._there = there

    def ident(self, table: str, value: Any) -> Any:
        """One id, or a scope. One that does not occur is one that does not occur."""
        if table == SCOPE:
            return str(self.ident("mark", int(value))) if value.isdecimal() else value
        if not value or value < 0:
            return value
        place = self._places[table].get(value)
        return value + 10**9 if place is None else self._there[table][place]

    def value(self, value: Any) -> Any:
        """Anything, with all ids in it."""
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(self.value(one) for one in value)
        if not dataclasses.is_dataclass(value) or isinstance(value, type | StoryKey):
            return value
        changed = {
            field.name: self.ident(FIELDS[type(value)][field.name], getattr(value, field.name))
            if field.name in FIELDS.get(type(value), {})
            else self.value(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
        return type(value)(**changed)


class Mirror:
    """The store of a copy, asked about the original."""

    def __init__(self, store: VerbStore, copy: StoryInfo, original: StoryInfo, before: Ids, after: Ids) -> None:
        self._store = store
        self._copy = copy
        self._original = original
        self._before, self._after = before, after
        """The ids of the original before and after it was asked the same."""
        self._here: Ids | None = None

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        async def ask(*arguments: Any, **named: Any) -> Any:
            given = inspect.signature(getattr(VerbStore, verb)).bind(self._store, *arguments, **named).arguments
            asked = _told(verb, dict(given), Telling(self._before, await self._now()))
            del asked["self"]
            if "key" in asked:
                asked["key"] = self._copy.key
            if verb == "story":
                asked["name"] = self._copy.name
            answer = await getattr(self._store, verb)(**asked)
            if verb not in READING:
                self._here = None
            return self._answer(verb, answer, Telling(await self._now(), self._after))

        return ask

    async def at_one_moment(self, _owner: str, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Nobody writes meanwhile: it need not be at one moment."""
        return await work(self)

    async def _now(self) -> Ids:
        if self._here is None:
            self._here = await ids_of(self._store, self._copy.key)
        return self._here

    def _answer(self, verb: str, answer: Any, telling: Telling) -> Any:
        match verb:
            case "cover":
                return [(first, last, telling.ident("version", one)) for first, last, one in answer]
            case "spans":
                return {(telling.ident(SCOPE, scope), first, last) for scope, first, last in answer}
            case "story":
                told = telling.value(answer)
                return dataclasses.replace(told, key=self._original.key, name=self._original.name)
            case _:
                return telling.value(answer)


def _told(verb: str, given: dict[str, Any], telling: Telling) -> dict[str, Any]:
    for name, value in given.items():
        if name == "self":
            continue
        if name in ARGUMENTS:
            given[name] = telling.ident(ARGUMENTS[name], value)
        elif name == "retires":
            given[name] = [telling.ident("mark", one) for one in value]
        elif (name == "versions" and verb != "commit_all") or (name == "version" and isinstance(value, int)):
            several = value if name == "versions" else [value]
            told = [telling.ident("version", one) for one in several]
            given[name] = told if name == "versions" else told[0]
        elif verb == "set_attributes" and name == "changes":
            given[name] = [(telling.ident("entry", entry), attributes) for entry, attributes in value]
        else:
            given[name] = telling.value(value)
    return given
