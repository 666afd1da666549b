"""Folders of Errata: a story told in fragments of prose, with its timelines, chapters, librarian and what it knows.

`meta.json` names the story. Each timeline is a folder under `branches/` (in older stories the folder itself) with the
order of its prose in `prose-chain.json`, every fragment in a file of its own under `fragments/`, and the librarian's
analyses under `librarian/analyses/`. How they come in:

- the shown variation of a section is a message, its other variations are swipes; the other timelines are branches;
- a chapter marker gives the next message the name of its chapter, and what it says is that chapter's recap;
- summaries are memories of the fragments they cover, analyses are analyses of theirs, the newest of each;
- characters, guidelines and knowledge are a book.

Ids are used as file names only if they can be nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean, clean_json, parse_object, shown
from previously.core.messages import Attributes, Draft, Message, Role, Text
from previously.core.patterns import lazy_pattern
from previously.core.scene import SpanMemory
from previously.folds.analysis import read_analysis
from previously.formats.files import SourceBook, StorySource, open_document
from previously.formats.log_lines import DraftCleaner, find_branches, make_name
from previously.lore.books import parse_book

NAME = "errata"
SOURCE = "Errata"

_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = {"character": "character", "guideline": "rule"}
"""Types of fragments that are entries of lore, and their kind here; all others that say something are lore."""
_NOT_LORE = frozenset({"prose", "marker", "summary", "image", "icon"})

MOST_ANALYSES = 20_000
"""Analyses that are read: several for each fragment of the longest novels."""

Item = dict[str, Any]


def is_story(folder: Path) -> bool:
    """Return whether a directory is a story of Errata."""
    return (folder / "meta.json").is_file() and (
        (folder / "branches").is_dir() or (folder / "prose-chain.json").is_file()
    )


def read_folder(folder: Path) -> StorySource:
    """Read a story: the timeline that is shown, and the others as branches."""
    skipped: Counter[str] = Counter()
    cleaner = DraftCleaner(skipped)
    meta = _read_object(folder / "meta.json")
    listed, active = _list_timelines(folder)
    timelines = {ident: _read_timeline(root, skipped) for ident, (_, root) in listed.items()}
    main = timelines[active]
    paths = {ident: _make_path(timeline, cleaner) for ident, timeline in timelines.items()}
    others = [(listed[ident][0], path) for ident, path in paths.items() if ident != active]
    book = _make_book(main)
    header = {key: value for key, value in meta.items() if key not in ("summary",)}
    source = StorySource(
        paths[active],
        NAME,
        cleaner.header({NAME: header}),
        cleaner.replaced,
        dict(skipped),
        find_branches(paths[active], others),
        books=(SourceBook("", book),) if book["entries"] else (),
        memories=tuple(_list_memories(meta, main)),
    )
    if not source.drafts and not source.books:
        raise BadInput(f"{shown(str(folder))}: this story of Errata holds no prose.")
    return source


@dataclass(slots=True)
class ErrataTimeline:
    """One timeline as its files have it."""

    sections: list[list[Item]]
    """The fragments of each section of prose, the shown one first; a marker is a section of its own."""
    fragments: dict[str, Item]
    analyses: list[Item]
    state: Item
    places: dict[str, int] = field(default_factory=dict)
    """The position of each fragment on the path."""


def _list_timelines(folder: Path) -> tuple[dict[str, tuple[str, Path]], str]:
    """Return the timelines by their ids, each with its name and folder, and the id of the one that is shown."""
    if not (folder / "branches").is_dir():
        return {"main": ("main", folder)}, "main"
    index = _read_object(folder / "branches.json") if (folder / "branches.json").is_file() else {}
    given = index.get("branches")
    listed: dict[str, tuple[str, Path]] = {}
    names: Counter[str] = Counter()
    for branch in given if isinstance(given, list) else [{"id": "main"}]:
        ident = branch.get("id") if isinstance(branch, dict) else None
        if not _is_id(ident) or ident in listed or not (folder / "branches" / str(ident)).is_dir():
            continue
        name = branch.get("name")
        called = make_name(" ".join(name.split())) if isinstance(name, str) and name.strip() else str(ident)
        names[called] += 1
        called = called if names[called] == 1 else f"{called} {names[called]}"
        listed[str(ident)] = called, folder / "branches" / str(ident)
    active = index.get("activeBranchId")
    if not listed:
        raise BadInput(f"{shown(str(folder))}: this story of Errata has no timeline.")
    return listed, active if isinstance(active, str) and active in listed else next(iter(listed))


def _read_timeline(root: Path, skipped: Counter[str]) -> ErrataTimeline:
    files = sorted((root / "fragments").glob("*.json")) if (root / "fragments").is_dir() else []
    fragments = {path.stem: _read_object(path) for path in files if _is_id(path.stem)}
    chain = _read_object(root / "prose-chain.json") if (root / "prose-chain.json").is_file() else {}
    entries = chain.get("entries")
    sections: list[list[Item]] = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        others = entry.get("proseFragments")
        wanted = [entry.get("active"), *(others if isinstance(others, list) else ())]
        there = [fragments[one] for one in dict.fromkeys(filter(_is_id, wanted)) if one in fragments]
        if there:
            sections.append(there)
        else:
            skipped["section without its fragment"] += 1
    folder = root / "librarian" / "analyses"
    analyses = [_read_object(path) for path in sorted(folder.glob("*.json"))[:MOST_ANALYSES]] if folder.is_dir() else []
    state = root / "librarian" / "state.json"
    return ErrataTimeline(sections, fragments, analyses, _read_object(state) if state.is_file() else {})


def _is_id(value: object) -> bool:
    return isinstance(value, str) and bool(_ID.fullmatch(value))


def _read_object(path: Path) -> Item:
    with open_document(path) as document:
        try:
            return parse_object(document.text())
        except BadInput as error:
            raise document.fault(error) from None


def _make_path(timeline: ErrataTimeline, cleaner: DraftCleaner) -> list[Draft]:
    """Return the messages of a timeline, and note where each fragment stands."""
    drafts: list[Draft] = []
    chapter = ""
    for section in timeline.sections:
        shown_one = section[0]
        if shown_one.get("type") == "marker":
            timeline.places[str(shown_one.get("id"))] = len(drafts)
            chapter = _read_text(shown_one, "name")
            continue
        made = [draft for fragment in section if (draft := _make_draft(fragment, chapter))]
        draft = cleaner.draft(Draft(made[0].message, made[0].attributes, tuple(made[1:]))) if made else None
        for fragment in section:
            timeline.places[str(fragment.get("id"))] = len(drafts)
        if draft:
            drafts.append(draft)
            chapter = ""
    return drafts


def _make_draft(fragment: Item, chapter: str) -> Draft | None:
    text = _read_text(fragment, "content")
    if not text:
        return None
    kept = {key: value for key, value in fragment.items() if key not in ("id", "content", "createdAt")}
    extra: Item = {NAME: kept} | ({"chapter": chapter} if chapter else {})
    at = fragment.get("createdAt")
    ident = fragment.get("id")
    attributes = Attributes(at if isinstance(at, str) else None, ident if isinstance(ident, str) else None, extra)
    return Draft(Message(Role.ASSISTANT, (Text(text),)), attributes)


def _read_text(item: Item, key: str) -> str:
    value = item.get(key)
    return clean(value)[0].strip() if isinstance(value, str) else ""


def _list_memories(meta: Item, timeline: ErrataTimeline) -> Iterator[SpanMemory]:
    """Yield what Errata remembers of a timeline. Where a chapter was summed up, that stands for its messages."""
    chapters = list(_list_chapters(timeline))
    yield from chapters
    yield from (one for one in _list_summaries(meta, timeline) if not any(_overlaps(one, other) for other in chapters))
    newest: dict[str, Item] = {}
    for analysis in timeline.analyses:
        of = analysis.get("fragmentId")
        if isinstance(of, str) and of in timeline.places:
            newest[of] = max(newest.get(of, analysis), analysis, key=_age)
    shown_ones = {str(section[0].get("id")) for section in timeline.sections if section[0].get("type") != "marker"}
    for of in sorted(shown_ones & newest.keys(), key=lambda one: timeline.places[one]):
        memory = _read_analysis(newest[of], timeline.places[of], timeline.fragments)
        if memory:
            yield memory


def _age(analysis: Item) -> tuple[str, str]:
    return str(analysis.get("createdAt")), str(analysis.get("id"))


def _overlaps(memory: SpanMemory, other: SpanMemory) -> bool:
    return memory.first <= other.last and other.first <= memory.last


def _list_chapters(timeline: ErrataTimeline) -> Iterator[SpanMemory]:
    """Yield the chapters that were summed up: a marker and the messages to the next one."""
    markers = [section[0] for section in timeline.sections if section[0].get("type") == "marker"]
    ends = [timeline.places[str(marker.get("id"))] for marker in markers]
    length = max((place for place in timeline.places.values()), default=-1) + 1
    for marker, first, end in zip(markers, ends, [*ends, length][1:], strict=True):
        text = _read_text(marker, "content")
        if text and end > first and end < length:  # the last chapter is still open
            yield SpanMemory(first, end - 1, SOURCE, text, _read_text(marker, "name"))


def _list_summaries(meta: Item, timeline: ErrataTimeline) -> Iterator[SpanMemory]:
    """Yield the summaries of stretches, and that of all that was summed up in older stories."""
    reached = -1
    for fragment in timeline.fragments.values():
        given = fragment.get("meta")
        covered = given if fragment.get("type") == "summary" and isinstance(given, Mapping) else None
        text = _read_text(fragment, "content")
        if covered is None or not text or fragment.get("archived") is True:
            continue
        first, last = (timeline.places.get(str(covered.get(key)), -1) for key in ("coverageStart", "coverageEnd"))
        if 0 <= first <= last:
            reached = max(reached, last)
            yield SpanMemory(first, last, SOURCE, text, _read_text(fragment, "name"))
    rolling, last = _read_text(meta, "summary"), timeline.places.get(str(timeline.state.get("summarizedUpTo")), -1)
    if rolling and reached < 0 <= last:
        yield SpanMemory(0, last, SOURCE, rolling)


def _read_analysis(given: Item, place: int, fragments: Mapping[str, Item]) -> SpanMemory | None:
    told = given.get("structuredSummary")
    signals = told if isinstance(told, Mapping) else {}
    listed = given.get("mentions")
    ids = [one.get("characterId") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = given.get("contradictions")
    answer, _ = clean_json(
        {
            "summary_update": given.get("summaryUpdate") if isinstance(given.get("summaryUpdate"), str) else "",
            "events": signals.get("events"),
            "state_changes": signals.get("stateChanges"),
            "open_threads": signals.get("openThreads"),
            "mentions": [
                _read_text(fragments[one], "name") for one in ids if isinstance(one, str) and one in fragments
            ],
            "contradictions": [one.get("description") for one in found if isinstance(one, dict)]
            if isinstance(found, list)
            else [],
        }
    )
    assert isinstance(answer, dict)
    analysis = read_analysis(answer)
    return None if analysis.is_empty else SpanMemory(place, place, SOURCE, analysis=analysis)


def _make_book(timeline: ErrataTimeline) -> Item:
    """Return what a story knows as World Info: what always stands in Errata's prompt is constant."""
    entries: Item = {}
    for fragment in timeline.fragments.values():
        kind = str(fragment.get("type"))
        name, content = _read_text(fragment, "name"), _read_text(fragment, "content")
        content = content or _read_text(fragment, "description")
        if kind in _NOT_LORE or not name or not content:
            continue
        uid = len(entries)
        entries[str(uid)] = {
            "uid": uid,
            "key": [name],
            "comment": name,
            "content": content,
            "constant": fragment.get("sticky") is True,
            "disable": fragment.get("archived") is True,
            "extensions": {"previously": {"type": _KINDS.get(kind, "lore"), "name": name}, NAME: fragment},
        }
    book, _ = clean_json({"entries": entries})
    assert isinstance(book, dict)
    parse_book(book, NAME)
    return book
