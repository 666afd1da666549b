"""The JSON of stories, messages and memories, for the command line and the API alike.

These shapes are relied on from outside; fields may be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from previously.core.messages import list_fields

if TYPE_CHECKING:
    from previously.core.continuation import Continuation
    from previously.core.fact_book import SharedMemory
    from previously.core.marks import Mark
    from previously.core.path import OnPath, Span
    from previously.core.presence import PresenceStretch
    from previously.core.scene import Analysis
    from previously.core.versions import Version
    from previously.folds.cast_facts import Knower
    from previously.lore.current_state import StateValue
    from previously.lore.state import Wish
    from previously.memory.in_force import ChapterText, MemoryText
    from previously.memory.memory_map import MemoryMap
    from previously.runtime.story_list import StoryGlance
    from previously.storage.store import BranchInfo
    from previously.storage.tables.books import BookInfo
    from previously.storage.tables.keys import AccessKey
    from previously.story.history import Telling
    from previously.story.lore_edits import LoreListing
    from previously.story.memory_texts import CastItem, SceneText
    from previously.story.threads_state import ThreadListing


LAST_WORDS = 200
"""Characters of a story's newest message in the list of all: two lines, enough to know where one was."""


def span_json(span: Span) -> Sequence[int]:
    """A span as JSON."""
    return [span.first, span.last]


def chapter_json(one: ChapterText) -> dict[str, Any]:
    """A closed chapter: `recap` is its full form."""
    return {
        "chapter": one.number,
        "title": one.title,
        "span": span_json(one.span),
        "recap": one.recap.text if one.recap else None,
        "short": one.short or None,
        "made_by": one.recap.made_by if one.recap else None,
        "stale": bool(one.recap and one.recap.stale),
    }


def lore_json(one: LoreListing) -> dict[str, Any]:
    """An entry of lore."""
    return {
        "name": one.name,
        "type": one.type,
        "keywords": list(one.keywords),
        "content": one.content,
        "status": one.status,
        "by": one.by,
        "book": one.book or None,
        "locked": list(one.locked),
        "suggestions": list(one.suggestions),
        "earlier": list(one.earlier),
    }


def episode_json(one: MemoryText) -> dict[str, Any]:
    return {"span": [one.span.first, one.span.last], "text": one.text, "id": one.version}


def scene_json(number: int, one: SceneText) -> dict[str, Any]:
    """A scene that was noted."""
    from previously.folds.scene import dump_entry

    return {
        "scene": number,
        "span": [one.span.first, one.span.last],
        "summary": one.summary,
        "lorebooks": [dump_entry(entry) for entry in one.scene.entries],
        "made_by": one.made_by,
        "version": one.version,
    }


def thread_json(one: ThreadListing) -> dict[str, Any]:
    """A thread and how it stands."""
    thread = one.thread
    return {
        "id": thread.id,
        "number": one.number,
        "text": thread.text,
        "status": one.status.value,
        "due": thread.due or None,
        "owner": thread.owner or None,
        "opened": thread.opened,
        "touched": thread.touched,
        "resolved": thread.settled,
        "outcome": thread.outcome or None,
        "by": thread.by,
        "earlier": list(thread.earlier),
        "suggestions": list(one.suggestions),
    }


def held_json(one: StateValue) -> dict[str, Any]:
    """One value of the state; free words of a person have neither thing nor aspect."""
    return {
        "thing": one.thing or None,
        "aspect": one.aspect.value if one.aspect else None,
        "value": one.value,
        "text": one.text,
        "since": one.position,
        "by": one.by,
    }


def wish_json(one: Wish) -> dict[str, Any]:
    return {"id": one.id, "text": one.text, "position": one.position}


def cast_json(one: CastItem) -> dict[str, Any]:
    """Return the knowledge of one character."""
    return {"name": one.name, **one.knowledge.as_json(), "stale": one.stale}


def analysis_json(position: int, one: Analysis) -> dict[str, Any]:
    """Return the analysis of one fragment."""
    return {
        "position": position,
        "summary_update": one.summary_update,
        **one.signals.as_json(),
        "mentions": list(one.mentions),
        "contradictions": list(one.contradictions),
    }


def link_json(link: Continuation) -> dict[str, Any]:
    """The story that another continues; its name is null where it is not here any more."""
    return {"story": link.story or None, "messages": link.messages}


def telling_json(one: Telling) -> dict[str, Any]:
    """A memory that stands for a message; `cut` is the part of its span that it tells no more."""
    cut = span_json(one.cut) if one.cut else None
    return {"kind": one.kind.value, "version": one.version, "span": span_json(one.span), "cut": cut}


def version_json(version: Version) -> dict[str, object]:
    """A version in the shape that is relied on from outside."""
    made = version.made
    return {
        "id": version.id,
        "kind": made.kind.value,
        "scope": made.scope,
        "status": made.status.value,
        "made_by": made.made_by,
        "span": [made.span.first, made.span.last],
        "at": made.at,
        "reason": made.reason,
        "model": made.model,
        "prompt_hash": made.prompt_hash,
        "calls": made.cost.calls,
        "input_tokens": made.cost.input_tokens,
        "output_tokens": made.cost.output_tokens,
    }


def full_version_json(version: Version) -> dict[str, object]:
    """A version with its text, and the versions that it was made after and instead of."""
    made = version.made
    return {**version_json(version), "before": made.before, "replaces": made.replaces, "text": made.text}


def trace_json(version: Version, in_force: bool) -> dict[str, object]:
    """A version with all that is known of where it came from; `cuts` are spans that it tells no more."""
    from previously.memory.in_force import cuts_from

    made, cuts = version.made, [span_json(cut) for cut in cuts_from(version.made)]
    record = {**full_version_json(version), "in_force": in_force}
    return record | {"shed": list(made.shed), "unverified": list(made.unverified)} | ({"cuts": cuts} if cuts else {})


def pin_json(pin: Mark) -> dict[str, Any]:
    return {"pin": pin.id, "position": pin.position, "text": pin.text}


def glance_json(glance: StoryGlance) -> dict[str, Any]:
    """Return a story in the list of all: its size, its last words, what its memory has cost."""
    info, last = glance.info, glance.last
    said = last.entry.message if last else None
    return {
        "story": info.name,
        "messages": info.active.messages,
        "branches": info.branches,
        "branch": info.active.name,
        "head": info.active.head,
        "last": {
            "position": last.position,
            "role": said.role.value,
            "speaker": said.speaker,
            "text": said.text[:LAST_WORDS],
            "at": last.entry.attributes.at,
        }
        if last and said
        else None,
        "memories": glance.memories,
        "calls": glance.cost.calls,
        "input_tokens": glance.cost.input_tokens,
        "output_tokens": glance.cost.output_tokens,
    }


def key_json(key: AccessKey) -> dict[str, Any]:
    return {"name": key.name, "owner": key.owner, "created": key.at, "ending": key.ending}


def branch_json(branch: BranchInfo, active: str) -> dict[str, Any]:
    return {"branch": branch.name, "messages": branch.messages, "head": branch.head, "active": branch.name == active}


def message_json(item: OnPath) -> dict[str, Any]:
    """Return a message on a path. `parts` are there where it holds more than words."""
    message, attributes = item.entry.message, item.entry.attributes
    parts = [{"kind": type(part).__name__.lower(), **list_fields(part)} for part in message.parts]
    return {
        "position": item.position,
        "id": item.entry.id,
        "node": item.node,
        "replaces": item.entry.replaces,
        "role": message.role.value,
        "speaker": message.speaker,
        "text": message.text,
        "at": attributes.at,
        "hidden": attributes.hidden,
        "witnesses": None if message.witnesses is None else list(message.witnesses),
        **({"parts": parts} if any(part["kind"] != "text" for part in parts) else {}),
        "etag": make_etag(message.text),
    }


def make_etag(words: str) -> str:
    """Return a short name of these words, by which a writer says which text they have read."""
    return blake2b(words.encode(errors="surrogatepass"), digest_size=9).hexdigest()


def text_json(text: MemoryText | None) -> dict[str, Any]:
    """Return a text of memory in force, such as the recap; `text` is None where there is none."""
    if text is None:
        return {"text": None, "span": None, "made_by": None, "stale": False, "version": None, "etag": make_etag("")}
    return {
        "text": text.text,
        "span": span_json(text.told),
        "made_by": text.made_by,
        "stale": text.stale,
        "version": text.version,
        "etag": make_etag(text.text),
    }


def map_json(drawn: MemoryMap) -> dict[str, Any]:
    """Return the memory map. `sentences` says where the sentences of a text begin."""
    from previously.text.sentences import find_starts

    return {
        "messages": drawn.messages,
        "tail_first": drawn.tail_first,
        "untold": [span_json(span) for span in drawn.untold],
        "bands": [
            {
                "kind": band.kind,
                "thing": band.thing,
                "title": band.title or None,
                "span": span_json(band.span),
                "text": band.text,
                "sentences": find_starts(band.text),
                "status": band.status.value,
                "version": band.version,
            }
            for band in drawn.bands
        ],
        "threads": [
            {
                "number": arc.number,
                "thing": f"thread:{arc.number}",
                "text": arc.text,
                "opened": arc.opened,
                "settled": arc.settled,
                "outcome": arc.outcome or None,
                "by_hand": arc.by_hand,
            }
            for arc in drawn.threads
        ],
        "presence": [stretch_json(stretch) for stretch in drawn.presence],
        "by_hand": [{"kind": mark.kind, "position": mark.position, "text": mark.text} for mark in drawn.by_hand],
    }


def stretch_json(one: PresenceStretch) -> dict[str, Any]:
    """Who was present at some messages; everybody if `names` is null."""
    names = None if one.names is None else list(one.names)
    return {"span": span_json(one.span), "names": names, "source": one.source.value}


def knower_json(one: Knower) -> dict[str, Any]:
    facts = [fact.as_json() for fact in one.facts]
    return {"name": one.name, "facts": facts, "sentences": list(one.summary_sentences)}


def book_json(info: BookInfo, entries: Sequence[tuple[object, Sequence[str]]]) -> dict[str, Any]:
    """A book in the list of all; each entry comes with its problems."""
    return {
        "book": info.name,
        "entries": len(entries),
        "with_problems": sum(bool(problems) for _, problems in entries),
        "size_bytes": info.size,
        "at": info.at,
    }


def shared_json(shared: SharedMemory) -> dict[str, Any]:
    """A shared memory, its facts by number from 1."""
    facts = [{"number": at, "text": one.text, "from": one.story or None} for at, one in enumerate(shared.facts, 1)]
    return {
        "name": shared.name,
        "kind": shared.kind.value,
        "of": shared.of or None,
        "learns": shared.learns,
        "facts": facts,
    }
