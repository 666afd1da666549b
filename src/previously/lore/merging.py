"""Merging: what a scene says of things goes into the entries that are there.

What must stay true: pure and deterministic; merging the same scene again changes nothing; nothing said is ever lost;
what a person wrote is never touched, what a scene would change in it is a suggestion; the later of two statements that
contradict each other holds, however they arrive; and no scene touches an entry that it does not speak of, but for
retiring those that nobody has spoken of for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from previously.core.lore import Described, Scene
from previously.core.signals import folded
from previously.lore.keywords import is_useful, key_of, refined
from previously.lore.resolving import Entries, found_in, is_called, names_given
from previously.lore.statements import By, Relation, Statement, relation, split, telling
from previously.lore.things import Key, LoreEntry, Suggestion, entry_key

__all__ = ["By", "Entries", "LoreEntry", "Statement", "Suggestion", "merge", "reduce_lore", "written"]

MOST_LIVE = 100
"""Entries that are not retired. Beyond it, those that were not described for longest are."""

MOST_SUGGESTIONS = 50
"""Suggestions kept with an entry, the newest."""

HAND_FIELDS = frozenset({"name", "type", "keywords", "content"})
"""What a person writes of an entry."""


def reduce_lore(entries: Entries, scene: Scene, source: int, *, most_live: int = MOST_LIVE) -> Mapping[Key, LoreEntry]:
    """The entries after a scene. `source` says when it was: of two scenes the later has the larger one."""
    for described in scene.entries:
        entries = merge(entries, described, source)
    return _retired(entries, most_live)


def merge(entries: Entries, described: Described, source: int) -> Mapping[Key, LoreEntry]:
    """The entries after one description."""
    if not key_of(described.name):
        return entries
    known = found_in(entries, described)
    entry = known or LoreEntry(described.name, described.type, touched=source)
    taken = {key_of(name) for one in entries.values() if one.type == entry.type and one is not known
             for name in (one.name, *one.aliases)}  # fmt: skip
    entry = _named(entry, described, taken)
    entry = _with_keywords(entry, described.keywords, source)
    for text in split(described.content, described.type):
        entry = _with_statement(entry, text, source)
    entry = replace(entry, touched=max(entry.touched, source), retired=False)
    if known is None or entry.key == known.key:
        return {**entries, entry.key: entry}
    return {entry.key if one is known else key: entry if one is known else one for key, one in entries.items()}


def written(
    entries: Entries,
    name: str,
    kind: str,
    *,
    keywords: Iterable[str] | None = None,
    content: str | None = None,
    source: int = 0,
    by: By = "person",
) -> Mapping[Key, LoreEntry]:
    """The entries with what a person, or a book, says of one: the fields given are theirs from now on.

    What stood there before is superseded, not lost.
    """
    known = entries.get(entry_key(name, kind))
    entry = known or LoreEntry(name, kind, keywords=refined(name, ()), touched=source)
    entry = replace(entry, name=name, locked=entry.locked | {"name", "type"}, retired=False)
    if keywords is not None:
        entry = replace(entry, keywords=tuple(keywords), locked=entry.locked | {"keywords"})
    if content is not None:
        entry = replace(
            entry,
            statements=(Statement(content, source, by),),
            superseded=(*entry.superseded, *entry.statements),
            locked=entry.locked | {"content"},
        )
    return {**entries, entry.key: entry}


def _named(entry: LoreEntry, described: Described, taken: set[str]) -> LoreEntry:
    """The entry with the other names it now has. One called by an everyday word takes the name it is given."""
    names = [described.name, *names_given(described)]
    if "name" not in entry.locked and entry.key != entry_key(described.name, entry.type) and _is_descriptor(
        entry, described
    ):  # fmt: skip
        names = [entry.name, *names]
        entry = replace(entry, name=described.name)
    aliases = {key_of(one): one for one in entry.aliases}
    for name in names:
        if key_of(name) and key_of(name) != key_of(entry.name) and key_of(name) not in taken:
            aliases.setdefault(key_of(name), name)
    aliases.pop(key_of(entry.name), None)
    return replace(entry, aliases=tuple(aliases.values()))


def _is_descriptor(entry: LoreEntry, described: Described) -> bool:
    """Whether the entry's name is one of the everyday words that the description lists for a thing with a name."""
    known = key_of(described.name) in map(key_of, entry.aliases)
    return not known and is_called(described.keywords, [described.content], entry.name, described)


def _with_keywords(entry: LoreEntry, keywords: Iterable[str], source: int) -> LoreEntry:
    if "keywords" not in entry.locked:
        return replace(entry, keywords=refined(entry.name, [*entry.keywords, *keywords, *entry.aliases]))
    known = set(map(key_of, entry.keywords))
    for word in keywords:
        if key_of(word) not in known and is_useful(word):
            entry = _suggested(entry, "keywords", word, source)
    return entry


def _with_statement(entry: LoreEntry, text: str, source: int) -> LoreEntry:
    """The entry with one more statement, where it says anything new."""
    words = telling(text, entry.name)
    same = [one for one in entry.superseded if telling(one.text, entry.name) == words]
    if any(one.source <= source <= one.newest for one in same):
        return entry
    related = [(one, relation(one.text, text, entry.name)) for one in entry.statements]
    fixed = "content" in entry.locked
    against = [one for one, how in related if how is Relation.CONTRADICTS]
    if any(one.by != "model" for one in against) or (fixed and not any(how is Relation.REPEATS for _, how in related)):
        return _suggested(entry, "content", text, source)
    if fixed:
        return entry
    if any(one.newest > source for one in against):
        return replace(entry, superseded=_noted(entry.superseded, same, text, source))
    repeated = next((one for one, how in related if how is Relation.REPEATS and one not in against), None)
    shorter = [one for one, how in related if how is Relation.SAYS_MORE and repeated is None and one.by == "model"]
    live = [one for one in entry.statements if one not in against and one not in shorter]
    superseded = (*entry.superseded, *against, *shorter)
    if repeated is None:
        live.append(Statement(text, source))
    else:
        live[live.index(repeated)] = _said_again(repeated, source)
        if words != telling(repeated.text, entry.name):
            superseded = _noted(superseded, same, text, source)  # a part of what holds, should that one day not hold
    return _revived(replace(entry, statements=tuple(live), superseded=superseded), against)


def _noted(superseded: tuple[Statement, ...], same: list[Statement], text: str, source: int) -> tuple[Statement, ...]:
    """History with a statement that does not stand for itself; what it says in the same words already is said again."""
    if not same:
        return (*superseded, Statement(text, source))
    again = replace(same[-1], source=min(same[-1].source, source), again=max(same[-1].newest, source))
    return tuple(again if one is same[-1] else one for one in superseded)


def _revived(entry: LoreEntry, gone: list[Statement]) -> LoreEntry:
    """What was told as part of something that holds no more stands for itself again, if nothing contradicts it."""
    live, history = list(entry.statements), list(entry.superseded)
    for one in entry.superseded if gone else ():
        part = one not in gone and any(relation(old.text, one.text, entry.name) is Relation.REPEATS for old in gone)
        if part and all(relation(old.text, one.text, entry.name) is Relation.APART for old in live):
            live.append(one)
            history.remove(one)
    return replace(entry, statements=tuple(live), superseded=tuple(history))


def _said_again(statement: Statement, source: int) -> Statement:
    return replace(statement, again=source) if source > statement.newest else statement


def _suggested(entry: LoreEntry, field: str, text: str, source: int) -> LoreEntry:
    """The entry with a suggestion more; the newest are kept, and each once."""
    if any(one.field == field and folded(one.text) == folded(text) for one in entry.suggestions):
        return entry
    found = sorted([*entry.suggestions, Suggestion(field, text, source)], key=lambda one: (one.source, one.text))
    return replace(entry, suggestions=tuple(found[-MOST_SUGGESTIONS:]))


def _retired(entries: Entries, most_live: int) -> Mapping[Key, LoreEntry]:
    """The entries with those retired that were not described for longest, where there are too many."""
    own = [one for one in entries.values() if not one.locked]
    recent = sorted(own, key=lambda one: (-one.touched, one.key))
    stale = {one.key for one in recent[max(most_live, 0) :]}
    return {
        key: one if one.locked or one.retired == (key in stale) else replace(one, retired=key in stale)
        for key, one in entries.items()
    }
