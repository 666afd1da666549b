"""Merge what a note says of things into what was said before.

One thing has one entry. It is known by its name or an alias, and the newest type corrects the older one. A description
is whole, so nothing is appended; the earlier text stays in the entry's history. What people wrote is put over it all
afterwards, by `hand_records`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from previously.core.note import LoreItem
from previously.core.scene import TYPES, find_type
from previously.core.scripts import casefold
from previously.lore.entry import MOST_CONTENT_TOKENS, EntryKey, LoreEntry
from previously.lore.keys import normalize_name, refine_keywords
from previously.text.cuts import cut_to_tokens
from previously.text.stopwords import is_generic

Entries = Mapping[EntryKey, LoreEntry]

MOST_LIVE = 100
"""Entries that are not retired: beyond it a scan of keys brings up too much that nobody speaks of any more."""

MOST_EARLIER_CONTENTS = 12
"""Earlier descriptions of one thing that are kept at hand: more than it is described anew in a long story."""

MOST_ALIASES = 8
"""The same number as of keywords: names are keys too."""

CHARACTER = "character"


def merge_items(
    entries: Entries, items: Iterable[LoreItem], position: int, first: int = 0, *, most_live: int = MOST_LIVE
) -> Entries:
    """Return the entries after the descriptions of a note whose span goes from `first` to `position`."""
    merged = dict(entries)
    for item in items:
        _describe(merged, item, position, first)
    return _retire(merged, most_live)


def find_entry(entries: Entries, name: str) -> LoreEntry | None:
    """Return the entry of that name, or the only one that has it as an alias."""
    key = normalize_name(name)
    if key in entries:
        return entries[key]
    named = [entry for entry in entries.values() if key and key in map(normalize_name, entry.aliases)]
    return named[0] if len(named) == 1 else None


def write_entry(
    before: LoreEntry | None,
    name: str,
    kind: str,
    *,
    keywords: Sequence[str] | None = None,
    content: str | None = None,
    position: int = 0,
) -> LoreEntry:
    """Return an entry with what a person says of it: the fields given are theirs from now on."""
    entry = before or LoreEntry(name, kind, keywords=refine_keywords(name, ()), touched=position)
    if normalize_name(name) != entry.key:
        others = dict.fromkeys([entry.name, *entry.aliases])
        entry = replace(entry, aliases=tuple(one for one in others if normalize_name(one) != normalize_name(name)))
    entry = replace(entry, name=name, type=kind, locked=entry.locked | {"name", "type"}, retired=False)
    if keywords is not None:
        entry = replace(entry, keywords=tuple(keywords), locked=entry.locked | {"keywords"})
    if content is not None:
        earlier = _extend_history(entry.earlier, entry.content, content)
        entry = replace(entry, content=content, earlier=earlier, locked=entry.locked | {"content"})
    return entry


def merge_entries(entries: Entries, name: str, into: str) -> dict[EntryKey, LoreEntry]:
    """Return the entries where two are one, under the second name: the newest description counts, unless a person wrote
    the one of that name. Where one of them is not there, nothing changes."""
    entry, other = find_entry(entries, into), find_entry(entries, name)
    if entry is None or other is None or entry.key == other.key:
        return dict(entries)
    newer = other.touched > entry.touched and "content" not in entry.locked
    content, gone = (other.content, entry.content) if newer else (entry.content, other.content)
    earlier = _extend_history((*other.earlier, *entry.earlier), gone, content)
    names = {normalize_name(one): one for one in (*entry.aliases, other.name, *other.aliases)}
    whole = replace(
        entry,
        aliases=tuple(one for key, one in names.items() if key != entry.key)[:MOST_ALIASES],
        keywords=refine_keywords(entry.name, [*entry.keywords, *other.keywords]),
        content=content,
        earlier=earlier,
        sources=other.sources if newer else entry.sources,
        touched=max(entry.touched, other.touched),
        retired=entry.retired and other.retired,
    )
    return {key: whole if key == entry.key else one for key, one in entries.items() if key != other.key}


def _describe(entries: dict[EntryKey, LoreEntry], item: LoreItem, position: int, first: int) -> None:
    content = cut_to_tokens(item.content.strip(), MOST_CONTENT_TOKENS)
    if not normalize_name(item.name) or not content:
        return
    kind = find_type(item.type)
    kind = kind if kind in TYPES else "concept"
    known = _find_described(entries, item, kind)
    entry = known or LoreEntry(item.name, kind, touched=position)
    entry = _rename_entry(replace(entry, type=kind), item)
    entry = replace(
        entry,
        keywords=refine_keywords(entry.name, [*item.keywords, *entry.keywords]),
        content=content,
        earlier=_extend_history(entry.earlier, entry.content, content),
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


def _find_described(entries: Entries, item: LoreItem, kind: str) -> LoreEntry | None:
    """Return the entry that a description is about: by name, by alias, or as a person's short name among their own
    keywords, where only one fits."""
    entry = find_entry(entries, item.name)
    if entry is not None or kind != CHARACTER:
        return entry
    short = set(map(normalize_name, find_short_names(item.name, item.keywords)))
    named = [entries[key] for key in short if key in entries and entries[key].type == CHARACTER]
    return named[0] if len(named) == 1 else None


def find_short_names(name: str, keywords: Iterable[str]) -> list[str]:
    """Return the keywords that are part of a name: "Ilse" of "Ilse Marrow"."""
    words = set(normalize_name(name).split())
    return [
        one
        for one in keywords
        if set(normalize_name(one).split()) < words and normalize_name(one) and not is_generic(one)
    ]


def _rename_entry(entry: LoreEntry, item: LoreItem) -> LoreEntry:
    """Return the entry with the names it now has. A fuller name takes the place of a part of it."""
    names = [item.name, *entry.aliases]
    if entry.type == CHARACTER:
        names += find_short_names(item.name, item.keywords)
    if set(normalize_name(entry.name).split()) < set(normalize_name(item.name).split()):
        names.append(entry.name)
        entry = replace(entry, name=item.name)
    others = {normalize_name(one): one for one in reversed(names) if normalize_name(one) != entry.key}
    return replace(entry, aliases=tuple(reversed(others.values()))[:MOST_ALIASES])


def _extend_history(earlier: tuple[str, ...], before: str, now: str) -> tuple[str, ...]:
    contents = [one for one in (*earlier, before) if one and casefold(one) != casefold(now)]
    return tuple({casefold(one): one for one in contents}.values())[-MOST_EARLIER_CONTENTS:]


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
