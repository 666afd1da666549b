"""Lore as people see it and change it: the entries of a story, and the books it has attached.

A person's words stand until a person changes them. Nothing is deleted: an entry that was removed comes back with the
next word a person writes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from previously.core.deed import Deed, DeedKind
from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import Mark, MarkKind
from previously.core.note import said_key
from previously.core.scene import TYPES
from previously.lore.entry import EntryKey, KeyedEntry, LoreEntry, find_key_problems
from previously.lore.hand_records import EntryAction, LoreRecord, parse_record, render_record
from previously.lore.index import make_keyed
from previously.lore.keys import normalize_name
from previously.lore.merge import find_entry
from previously.memory.known import KnownState, read_book_entries
from previously.runtime.note_deed import add_deed
from previously.runtime.story_moment import StoryMoment
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, StoryChange
from previously.text.likeness import find_alike

LONGEST_NAME = 100
"""Characters of a name or a keyword: longer ones hardly ever occur in a text."""
LONGEST_CONTENT = 20_000
"""Characters of an entry's content: more than any budget for lore has room for."""
MOST_KEYWORDS = 64
"""Keywords that a person may give an entry: eight times what a model may."""

MOST_MEANT = 5
"""Entries that a name could mean that are named: more would not be read."""


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
    place: str = ""
    """The part of the view in which it stands; empty if it does not come up."""


class LoreEdits:
    """The lore of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def lore(self, *, everything: bool = False) -> list[LoreListing]:
        """Return the entries of the story and of its books; with `everything`, also those removed or only suggested.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.write_lore("Grim", "character", content="A barkeeper.")
        ...     [entry.name for entry in story.lore()]
        ['Grim']
        """
        return await self._access.read(lambda moment: _list_lore(moment, everything=everything))

    async def write_lore(
        self, name: str, kind: str = "", *, keywords: Sequence[str] | None = None, content: str | None = None
    ) -> LoreListing:
        """Write an entry, or part of one that is there: what is given stands from now on, whatever scenes say.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.write_lore("Grim", "character", keywords=["Grim"], content="A barkeeper.").type
        'character'
        """

        def make_record(moment: StoryMoment) -> LoreRecord:
            called = _check_name(name)
            entry = find_entry(moment.read_known().state.lore, called)
            entry_type = kind or (entry.type if entry else "concept")
            if entry_type not in TYPES:
                raise BadInput(f"There is no type {entry_type!r} of lore; there are {', '.join(TYPES)}.")
            if entry is None and not (content or "").strip():
                raise BadInput(f"A new entry needs content; {called!r} has none.")
            said, words = _check_content(content), _check_keywords(keywords)
            called = entry.name if entry else called
            return LoreRecord(EntryAction.WRITE, called, entry_type, words, said, seen=_find_seen(entry))

        return await self._record(make_record)

    async def lock_lore(self, name: str, kind: str = "") -> LoreListing:
        """Keep an entry as it stands, as if a person had written it."""

        def make_record(moment: StoryMoment) -> LoreRecord:
            entry = _find_entry(moment, name, kind)
            seen = _find_seen(entry)
            return LoreRecord(EntryAction.WRITE, entry.name, entry.type, entry.keywords, entry.content, seen=seen)

        return await self._record(make_record)

    async def unlock_lore(self, name: str, kind: str = "") -> LoreListing | None:
        """Give up what a person wrote of an entry: it is again what scenes say of it; None if they say nothing."""

        def read(moment: StoryMoment) -> tuple[LoreEntry, list[Mark]]:
            entry = _find_entry(moment, name, kind)
            lore = moment.read_known().state.lore
            marks = [
                mark
                for mark in moment.snapshot.marks({MarkKind.LORE})
                if isinstance(record := parse_record(mark.text), LoreRecord) and find_entry(lore, record.name) == entry
            ]
            if not marks:
                raise BadInput(f"Nobody wrote or locked the entry {entry.name!r}.")
            return entry, marks

        def change(change: StoryChange) -> None:
            change.add_mark(MarkKind.UNLOCKED, change.snapshot.messages - 1, instead_of=marks)

        def read_left(moment: StoryMoment) -> LoreListing | None:
            known = moment.read_known()
            left = find_entry(known.state.lore, entry.name)
            return _list_entry(left, known) if left else None

        entry, marks = await self._access.read(read)
        await self._access.change(change)
        return await self._access.read(read_left)

    async def accept_lore(self, name: str, kind: str = "") -> LoreListing:
        """Take over an entry that was only suggested."""
        return await self._decide(EntryAction.ACCEPT, name, kind)

    async def remove_lore(self, name: str, kind: str = "") -> LoreListing:
        """Show an entry no more. It is not deleted.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.write_lore("Grim", "character", content="A barkeeper.")
        ...     _ = story.remove_lore("Grim")
        ...     story.lore()
        []
        """
        return await self._decide(EntryAction.REMOVE, name, kind)

    async def merge_lore(self, name: str, into: str) -> LoreListing:
        """Say that two entries are of one thing, under the second name. Whoever knows only one of them is not told."""

        def make_record(moment: StoryMoment) -> LoreRecord:
            entry, other = _find_entry(moment, name, ""), _find_entry(moment, into, "")
            if entry.key == other.key:
                raise BadInput(f"These are one entry already: {entry.name!r}.")
            return LoreRecord(EntryAction.MERGE, entry.name, entry.type, into=other.name)

        return await self._record(make_record)

    async def rename_lore(self, name: str, new: str) -> LoreListing:
        """Give an entry another name; it is still found by the old one. Whoever knows less of it is not told.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.write_lore("Grim", "character", content="A barkeeper.")
        ...     story.rename_lore("Grim", "Grimald").name
        'Grimald'
        """

        def make_record(moment: StoryMoment) -> LoreRecord:
            entry, called = _find_entry(moment, name, ""), _check_name(new)
            other = moment.read_known().state.lore.get(normalize_name(called))
            if other is not None and other.key != entry.key:
                raise BadInput(f"There is an entry {other.name!r} already; `lore merge` says that two are one.")
            return LoreRecord(EntryAction.RENAME, entry.name, entry.type, into=called)

        return await self._record(make_record)

    async def explain_lore(self, reader: str = "chat", *, sentence: str | None = None) -> list[LoreExplanation]:
        """Return why each entry comes up in the view of the newest turn, or does not; those that do first. With a
        `sentence`, as if it were all that was said."""
        return await self._access.read(lambda moment: self._explain(moment, reader, sentence))

    async def attach_book(self, name: str) -> None:
        """Let entries of a book come up in this story.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
        ...     story.attach_book("lethen")
        ...     story.attached_books()
        ['lethen']
        """
        key = self._access.key

        def write(tables: Tables) -> None:
            if name not in tables.books.attached(key):
                tables.books.attach(key, name)
                add_deed(tables, key, Deed(DeedKind.ATTACHED, what=name))

        await self._access.store.write(key, write)

    async def detach_book(self, name: str) -> None:
        """Let them come up no more. The book stays."""
        key = self._access.key

        def write(tables: Tables) -> None:
            if not tables.books.detach(key, name):
                raise BadInput(f"The book {name!r} is not attached to this story.")
            add_deed(tables, key, Deed(DeedKind.DETACHED, what=name))

        await self._access.store.write(key, write)

    async def attached_books(self) -> list[str]:
        """Return the books that are attached, in order."""
        return await self._access.read(lambda moment: moment.snapshot.attached())

    def _explain(self, moment: StoryMoment, reader: str, sentence: str | None) -> list[LoreExplanation]:
        from previously.lore.placement import describe_place
        from previously.runtime.story_setup import parse_setup
        from previously.runtime.view_lore import make_turn, scan_turn  # not for who lists lore
        from previously.view.reader import parse_reader

        settings, counter = self._access.settings.in_force, self._access.settings.counter
        who = moment.find_reader(parse_reader(reader, settings.preset))
        lore = moment.read_lore(moment.read_known(who.name), who.name)
        turn = make_turn(moment, lore, who, settings, counter, sentence=sentence)
        scan = scan_turn(moment, lore, turn, counter, str(who))
        entries, outlets = lore.index.entries, parse_setup(moment.read_header()).outlets
        decided = sorted(scan.explain_all().items(), key=lambda decision: not decision[1].fired)
        return [
            LoreExplanation(
                entries[uid].name,
                entries[uid].book,
                decision.fired,
                decision.reason,
                describe_place(entries[uid], outlets) if decision.fired else "",
            )
            for uid, decision in decided
        ]

    async def _decide(self, action: EntryAction, name: str, kind: str) -> LoreListing:
        def make_record(moment: StoryMoment) -> LoreRecord:
            entry = _find_entry(moment, name, kind)
            return LoreRecord(action, entry.name, entry.type)

        return await self._record(make_record)

    async def _record(self, make_record: Callable[[StoryMoment], LoreRecord]) -> LoreListing:
        def read(moment: StoryMoment) -> LoreRecord:
            record = make_record(moment)
            if record.deed not in (EntryAction.WRITE, EntryAction.MERGE, EntryAction.RENAME):
                return record
            known_to = _list_knowing(moment, [normalize_name(name) for name in (record.name, record.into) if name])
            return replace(record, known_to=known_to)

        def change(change: StoryChange) -> None:
            change.add_mark(MarkKind.LORE, change.snapshot.messages - 1, render_record(record))

        def read_again(moment: StoryMoment) -> LoreListing:
            known = moment.read_known()
            return _list_entry(known.state.lore[normalize_name(record.into or record.name)], known)

        record = await self._access.read(read)
        await self._access.change(change)
        return await self._access.read(read_again)


def _list_lore(moment: StoryMoment, *, everything: bool) -> list[LoreListing]:
    known = moment.read_known()
    listings = [_list_entry(entry, known) for entry in known.state.lore.values()]
    for name in moment.snapshot.attached():
        listings += [_list_book_entry(entry, name) for entry in read_book_entries(moment.snapshot, name)]
    return [listing for listing in listings if everything or listing.status in ("live", "retired")]


def _list_knowing(moment: StoryMoment, keys: Sequence[EntryKey]) -> tuple[str, ...] | None:
    """Return who knows all that is known of these entries; None if there is nothing that not everyone may know."""
    lore, presence = moment.read_known().state.lore, moment.read_presence()
    entries = {key: lore[key] for key in keys if key in lore}
    if not entries or presence.is_shared:
        return None

    def knows(name: str) -> bool:
        own = moment.read_known(name).state.lore
        return all(own.get(key) == entry for key, entry in entries.items())

    return tuple(name for name in sorted(presence.names.keys) if knows(name))


def _find_entry(moment: StoryMoment, name: str, kind: str) -> LoreEntry:
    entry = find_entry(moment.read_known().state.lore, name)
    if entry is not None and kind in ("", entry.type):
        return entry
    for listing in _list_lore(moment, everything=True):
        if listing.book and normalize_name(listing.name) == normalize_name(name):
            raise BadInput(
                f"{name!r} is an entry of the book {listing.book!r}; change the book's file and import it again."
            )
    listed = list(moment.read_known().state.lore.values())
    alike = find_alike(name, [(one.name, *one.aliases) for one in listed]) if not kind else []
    if len(alike) > 1:
        shown = ", ".join(repr(listed[at].name) for at in alike[:MOST_MEANT])
        raise BadInput(f"{name!r} could mean {len(alike)} entries: {shown}.")
    if alike:
        return listed[alike[0]]
    raise BadInput(f"There is no entry {name!r} in this story; `lore list` shows those there are.")


def _check_content(content: str | None) -> str | None:
    if content is None:
        return None
    words = clean(content)[0].strip()
    if not words or len(words) > LONGEST_CONTENT:
        raise BadInput(f"The content of an entry has 1 to {LONGEST_CONTENT:,} characters.")
    return words


def _check_keywords(keywords: Sequence[str] | None) -> tuple[str, ...] | None:
    if keywords is None:
        return None
    words = tuple(dict.fromkeys(word.strip() for word in keywords if word.strip()))
    if len(words) > MOST_KEYWORDS or any(len(clean(word)[0]) > LONGEST_NAME for word in words):
        raise BadInput(f"An entry has at most {MOST_KEYWORDS} keywords of {LONGEST_NAME} characters.")
    return words


def _list_book_entry(entry: KeyedEntry, book: str) -> LoreListing:
    status, unsound = "live" if entry.enabled else "removed", tuple(find_key_problems(entry.keys))
    return LoreListing(entry.name, entry.type, entry.keys, entry.content, "book", book, status, problems=unsound)


def _list_entry(entry: LoreEntry, known: KnownState) -> LoreListing:
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
