"""Merging: what a note says of a thing replaces what was said of it before.

One thing has one entry. It is known by its name or an alias, and the newest type corrects the older one. A description
is whole, so nothing is appended; the earlier text stays in the entry's history. What people wrote is put over it all
afterwards, by `by_hand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from previously.core.note import LoreItem
from previously.core.scene import TYPES, find_type
from previously.core.scripts import casefold
from previously.lore.keywords import key_of, refined
from previously.lore.things import MOST_TOKENS, Key, LoreEntry
from previously.text.cuts import cut_to_tokens
from previously.text.stopwords import is_generic

Entries = Mapping[Key, LoreEntry]

MOST_LIVE = 100
"""Entries that are not retired: beyond it a scan of keys brings up too much that nobody speaks of any more."""

MOST_EARLIER = 12
MOST_ALIASES = 8
"""As many as keywords: names are keys too."""

CHARACTER = "character"


def merge(
    entries: Entries, items: Iterable[LoreItem], position: int, first: int = 0, *, most_live: int = MOST_LIVE
) -> Entries:
    """Return the entries after the descriptions of a note whose span goes from `first` to `position`."""
    found = dict(entries)
    for item in items:
        _describe(found, item, position, first)
    return _retire(found, most_live)


def find_entry(entries: Entries, name: str) -> LoreEntry | None:
    """Return the entry of that name, or the only one that has it as an alias."""
    key = key_of(name)
    if key in entries:
        return entries[key]
    named = [one for one in entries.values() if key and key in map(key_of, one.aliases)]
    return named[0] if len(named) == 1 else None


def write(
    before: LoreEntry | None,
    name: str,
    kind: str,
    *,
    keywords: Sequence[str] | None = None,
    content: str | None = None,
    position: int = 0,
) -> LoreEntry:
    """Return an entry with what a person says of it: the fields given are theirs from now on."""
    entry = before or LoreEntry(name, kind, keywords=refined(name, ()), touched=position)
    if key_of(name) != entry.key:
        others = dict.fromkeys([entry.name, *entry.aliases])
        entry = replace(entry, aliases=tuple(one for one in others if key_of(one) != key_of(name)))
    entry = replace(entry, name=name, type=kind, locked=entry.locked | {"name", "type"}, retired=False)
    if keywords is not None:
        entry = replace(entry, keywords=tuple(keywords), locked=entry.locked | {"keywords"})
    if content is not None:
        earlier = _history(entry.earlier, entry.content, content)
        entry = replace(entry, content=content, earlier=earlier, locked=entry.locked | {"content"})
    return entry


def _describe(entries: dict[Key, LoreEntry], item: LoreItem, position: int, first: int) -> None:
    content = cut_to_tokens(item.content.strip(), MOST_TOKENS)
    if not key_of(item.name) or not content:
        return
    kind = find_type(item.type)
    kind = kind if kind in TYPES else "concept"
    known = _same_thing(entries, item, kind)
    entry = known or LoreEntry(item.name, kind, touched=position)
    entry = _named(replace(entry, type=kind), item)
    entry = replace(
        entry,
        keywords=refined(entry.name, [*item.keywords, *entry.keywords]),
        content=content,
        earlier=_history(entry.earlier, entry.content, content),
        sources=tuple(first + offset for offset in item.at),
        touched=max(entry.touched, position),
        retired=False,
    )
    if known is not None and known.key != entry.key:
        # It goes by another name now, and keeps its place.
        renamed = {entry.key if key == known.key else key: one for key, one in entries.items()}
        entries.clear()
        entries.update(renamed)
    entries[entry.key] = entry


def _same_thing(entries: Entries, item: LoreItem, kind: str) -> LoreEntry | None:
    """Return the entry that a description is about: by name, by alias, or as a person's short name among their own
    keywords, where only one fits."""
    found = find_entry(entries, item.name)
    if found is not None or kind != CHARACTER:
        return found
    short = set(map(key_of, short_names(item.name, item.keywords)))
    named = [entries[key] for key in short if key in entries and entries[key].type == CHARACTER]
    return named[0] if len(named) == 1 else None


def short_names(name: str, keywords: Iterable[str]) -> list[str]:
    """Return the keywords that are part of a name: "Ilse" of "Ilse Marrow"."""
    words = set(key_of(name).split())
    return [one for one in keywords if set(key_of(one).split()) < words and key_of(one) and not is_generic(one)]


def _named(entry: LoreEntry, item: LoreItem) -> LoreEntry:
    """Return the entry with the names it now has. A fuller name takes the place of a part of it."""
    names = [item.name, *entry.aliases]
    if entry.type == CHARACTER:
        names += short_names(item.name, item.keywords)
    if set(key_of(entry.name).split()) < set(key_of(item.name).split()):
        names.append(entry.name)
        entry = replace(entry, name=item.name)
    others = {key_of(one): one for one in reversed(names) if key_of(one) != entry.key}
    return replace(entry, aliases=tuple(reversed(others.values()))[:MOST_ALIASES])


def _history(earlier: tuple[str, ...], before: str, now: str) -> tuple[str, ...]:
    kept = [one for one in (*earlier, before) if one and casefold(one) != casefold(now)]
    return tuple({casefold(one): one for one in kept}.values())[-MOST_EARLIER:]


def _retire(entries: Entries, most_live: int) -> Entries:
    """Return the entries with those retired that were not described for longest, where there are too many."""
    if len(entries) <= most_live and not any(one.retired for one in entries.values()):
        return entries
    recent = sorted(entries.values(), key=lambda one: (-one.touched, one.key))
    stale = {one.key for one in recent[most_live:]}
    return {
        key: one if one.retired == (key in stale) else replace(one, retired=key in stale)
        for key, one in entries.items()
    }
