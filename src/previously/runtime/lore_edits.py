"""Lore as people see it and change it: the entries of a story, and the books it has attached.

A person's words stand until a person changes them. Nothing is deleted: an entry that was removed comes back with the
next word a person writes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import MarkKind
from previously.core.messages import Role
from previously.core.note import said_key
from previously.core.scene import TYPES
from previously.lore.entry import EntryKey, KeyedEntry, LoreEntry, find_key_problems
from previously.lore.hand_records import EntryAction, LoreRecord, parse_record, render_record
from previously.lore.keys import normalize_name
from previously.lore.merge import find_entry
from previously.lore.story_lore import make_keyed
from previously.runtime.handle import StoryHandle
from previously.runtime.knowing import Known
from previously.runtime.lore_in_views import LoreTurn, read_book_entries, scan_turn
from previously.storage.store import Store
from previously.view.reader import parse_reader

LONGEST_NAME = 100
"""Characters of a name or a keyword: longer ones hardly ever occur in a text."""
LONGEST_CONTENT = 20_000
"""Characters of an entry's content: more than any budget for lore has room for."""
MOST_KEYWORDS = 64
"""Keywords that a person may give an entry: eight times what a model may."""

LOOKED_AT = 200
"""Number of further messages that are read for those that a reader has seen, up to the newest of the user's: more than
one turn of a group."""


@dataclass(frozen=True, slots=True)
class LoreListing:
    """An entry of lore as it is told to people."""

    name: str
    type: str
    keywords: tuple[str, ...]
    content: str
    by: str
    """`model` for what scenes left behind, `person` for what somebody wrote, or `book`."""
    book: str = ""
    status: str = "live"
    """`live`, `retired` (found by its names alone), `suggested` (waits to be accepted) or `removed`."""
    locked: tuple[str, ...] = ()
    """The fields that a person wrote."""
    suggestions: tuple[str, ...] = ()
    """Notes made since of what a person wrote."""
    earlier: tuple[str, ...] = ()
    """Earlier descriptions, which hold no more."""
    problems: tuple[str, ...] = ()
    """Reasons why its keywords cannot be found, a sentence each."""


@dataclass(frozen=True, slots=True)
class LoreExplanation:
    """The reason why an entry comes up in the next view, or does not."""

    name: str
    book: str
    fired: bool
    reason: str


class LoreEdits(StoryHandle):
    """The lore of one story."""

    async def lore(self, *, everything: bool = False) -> list[LoreListing]:
        """Return the entries of the story and of its books; with `everything`, also those removed or only suggested."""

        async def read(store: Store) -> list[LoreListing]:
            known = await self._known(store)
            listings = [_list_entry(listing, known) for listing in known.state.lore.values()]
            for name in await store.attached(self._key):
                listings += [
                    _list_book_entry(listing, name) for listing in await read_book_entries(store, self._key.owner, name)
                ]
            return [listing for listing in listings if everything or listing.status in ("live", "retired")]

        return await self._store.at_one_moment(self._key.owner, read)

    async def write_lore(
        self,
        name: str,
        kind: str = "",
        *,
        keywords: Sequence[str] | None = None,
        content: str | None = None,
    ) -> LoreListing:
        """Write an entry, or part of one that is there: what is given stands from now on, whatever scenes say."""
        known = await self._store.at_one_moment(self._key.owner, self._known)
        name = _check_name(name)
        there = find_entry(known.state.lore, name)
        kind = kind or (there.type if there else "concept")
        if kind not in TYPES:
            raise BadInput(f"There is no type {kind!r} of lore; there are {', '.join(TYPES)}.")
        if there is None and not (content or "").strip():
            raise BadInput(f"A new entry needs content; {name!r} has none.")
        if content is not None:
            content = clean(content)[0].strip()
            if not content or len(content) > LONGEST_CONTENT:
                raise BadInput(f"The content of an entry has 1 to {LONGEST_CONTENT:,} characters.")
        words = None if keywords is None else tuple(dict.fromkeys(word.strip() for word in keywords if word.strip()))
        if words is not None and (
            len(words) > MOST_KEYWORDS or any(len(clean(one)[0]) > LONGEST_NAME for one in words)
        ):
            raise BadInput(f"An entry has at most {MOST_KEYWORDS} keywords of {LONGEST_NAME} characters.")
        called = there.name if there else name
        return await self._record(LoreRecord(EntryAction.WRITE, called, kind, words, content, seen=_find_seen(there)))

    async def lock_lore(self, name: str, kind: str = "") -> LoreListing:
        """Keep an entry as it stands, as if a person had written it."""
        entry = await self._entry(name, kind)
        seen = _find_seen(entry)
        return await self._record(
            LoreRecord(EntryAction.WRITE, entry.name, entry.type, entry.keywords, entry.content, seen=seen)
        )

    async def unlock_lore(self, name: str, kind: str = "") -> LoreListing | None:
        """Give up what a person wrote of an entry: it is again what scenes say of it; None if they say nothing."""
        entry = await self._entry(name, kind)
        branch = await self.branch_info()
        known = await self._store.at_one_moment(self._key.owner, self._known)
        marks = [
            mark
            for mark in await self._store.marks(self._key, branch.name, {MarkKind.LORE})
            if isinstance(record := parse_record(mark.text), LoreRecord)
            and find_entry(known.state.lore, record.name) == entry
        ]
        if not marks:
            raise BadInput(f"Nobody wrote or locked the entry {entry.name!r}.")
        await self._add_mark(branch, MarkKind.UNLOCKED, branch.messages - 1, instead_of=marks)
        known = await self._store.at_one_moment(self._key.owner, self._known)
        left = find_entry(known.state.lore, entry.name)
        return _list_entry(left, known) if left else None

    async def accept_lore(self, name: str, kind: str = "") -> LoreListing:
        """Take over an entry that was only suggested."""
        entry = await self._entry(name, kind)
        return await self._record(LoreRecord(EntryAction.ACCEPT, entry.name, entry.type))

    async def remove_lore(self, name: str, kind: str = "") -> LoreListing:
        """Show an entry no more. It is not deleted."""
        entry = await self._entry(name, kind)
        return await self._record(LoreRecord(EntryAction.REMOVE, entry.name, entry.type))

    async def explain_lore(self, reader: str = "chat") -> list[LoreExplanation]:
        """Return why each entry comes up in the view of the newest turn, or does not; those that do first."""
        settings = self._tuning.in_force
        who = parse_reader(reader, settings.preset)

        async def read(store: Store) -> list[LoreExplanation]:
            branch = await store.branch(self._key)
            reader = await self._reader(store, who)
            known = await self._known(store, who.name)
            lorebook = await self._knowing.lorebook(store, self._key, known, who.name)
            first = max(0, branch.messages - max(settings.lore_depth, lorebook.index.deepest) - LOOKED_AT)
            path = await store.path(self._key, branch.name, first, branch.messages - 1) if branch.messages else []
            seen = [one for one in path if reader.witnessed(one) and not one.entry.attributes.hidden]
            asked = next((one for one in reversed(seen) if one.entry.message.role is Role.USER), None)
            last = asked.position if asked else branch.messages - 1
            budget = settings.budget_tokens() * settings.lore_percent // 100
            budget += sum(self._tuning.counter.tokens(one.content) for one in lorebook.constants)  # told elsewhere
            read = [one for one in seen if one.position <= last]
            turn = LoreTurn(read, asked.node if asked else 0, last + 1, settings.lore_depth, budget)
            found = await scan_turn(store, self._key, branch.name, lorebook, turn, self._tuning.counter, str(who))
            entries = lorebook.index.entries
            decided = sorted(found.explain_all().items(), key=lambda one: not one[1].fired)
            return [
                LoreExplanation(entries[uid].name, entries[uid].book, one.fired, one.reason) for uid, one in decided
            ]

        return await self._store.at_one_moment(self._key.owner, read)

    async def attach_book(self, name: str) -> None:
        """Let entries of a book come up in this story."""
        await self._store.attach_book(self._key, name)

    async def detach_book(self, name: str) -> None:
        """Let them come up no more. The book stays."""
        if not await self._store.detach_book(self._key, name):
            raise BadInput(f"The book {name!r} is not attached to this story.")

    async def attached_books(self) -> list[str]:
        """Return the books that are attached, in order."""
        return await self._store.attached(self._key)

    async def _known(self, store: Store, reader: str = "") -> Known:
        branch = await store.branch(self._key)
        return await self._knowing.known(store, self._key, branch, self._rules, reader)

    async def _known_to(self, store: Store, key: EntryKey) -> tuple[str, ...] | None:
        """Return who knows all that is known of an entry; None if there is nothing that not everyone may know."""
        known = await self._known(store)
        entry = known.state.lore.get(key)
        presence = await self._presence(store)
        if entry is None or presence.is_shared:
            return None
        knows = {name: await self._known(store, name) for name in sorted(presence.names.keys)}
        return tuple(name for name, theirs in knows.items() if theirs.state.lore.get(key) == entry)

    async def _entry(self, name: str, kind: str) -> LoreEntry:
        known = await self._store.at_one_moment(self._key.owner, self._known)
        entry = find_entry(known.state.lore, name)
        if entry is None or (kind and entry.type != kind):
            alike = [
                one
                for one in await self.lore(everything=True)
                if one.book and normalize_name(one.name) == normalize_name(name)
            ]
            if alike:
                book = alike[0].book
                raise BadInput(
                    f"{name!r} is an entry of the book {book!r}; change the book's file and import it again."
                )
            raise BadInput(f"There is no entry {name!r} in this story; `lore list` shows those there are.")
        return entry

    async def _record(self, record: LoreRecord) -> LoreListing:
        branch = await self.branch_info()
        if record.deed is EntryAction.WRITE:
            key = normalize_name(record.name)
            known_to = await self._store.at_one_moment(self._key.owner, lambda store: self._known_to(store, key))
            record = replace(record, known_to=known_to)
        await self._add_mark(branch, MarkKind.LORE, branch.messages - 1, render_record(record))
        known = await self._store.at_one_moment(self._key.owner, self._known)
        return _list_entry(known.state.lore[normalize_name(record.name)], known)


def _list_book_entry(entry: KeyedEntry, book: str) -> LoreListing:
    status, unsound = "live" if entry.enabled else "removed", tuple(find_key_problems(entry.keys))
    return LoreListing(entry.name, entry.type, entry.keys, entry.content, "book", book, status, problems=unsound)


def _list_entry(entry: LoreEntry, known: Known) -> LoreListing:
    shown, status = make_keyed(entry), "retired" if entry.retired else "live"
    if entry.key in known.corrected.removed:
        status = "removed"
    elif entry in known.suggested:
        status = "suggested"
    return LoreListing(
        entry.name,
        entry.type,
        shown.keys,
        entry.content,
        "person" if entry.locked else "model",
        "",
        status,
        tuple(sorted(entry.locked)),
        tuple(one.text for one in entry.suggestions),
        entry.earlier,
        tuple(find_key_problems(shown.keys)),
    )


def _find_seen(entry: LoreEntry | None) -> tuple[str, ...]:
    """Return the keys of what is said of an entry by now, its history included."""
    contents = (entry.content, *entry.earlier) if entry else ()
    return tuple(dict.fromkeys(said_key(one) for one in contents if one))


def _check_name(name: str) -> str:
    words = " ".join(clean(name)[0].split())
    if not normalize_name(words) or len(words) > LONGEST_NAME:
        raise BadInput(f"An entry needs a name of 1 to {LONGEST_NAME} characters.")
    return words
