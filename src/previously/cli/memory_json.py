"""Memory beside the timeline as JSON: scenes, lore, threads, the current state, who knows what.

One shape for each, wherever it is printed. These shapes are relied on from outside; fields may be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.core.note import Note
    from previously.core.path import Span
    from previously.core.scene import Analysis
    from previously.core.versions import Version
    from previously.lore.current_state import StateValue
    from previously.lore.state import Wish
    from previously.memory.in_force import ChapterText, MemoryText
    from previously.story.lore_edits import LoreListing
    from previously.story.memory_texts import CastItem, SceneText
    from previously.story.threads_state import ThreadListing


def remembered_json(story: BlockingStory) -> dict[str, Any]:
    """The parts of `show` that are lists: what scenes left behind, what is open, how things stand, who knows what."""
    lore = [one for one in story.lore(everything=True) if not one.book and one.status != "removed"]
    return {
        "episodes": [episode_json(one) for one in story.episodes()],
        "scenes": [scene_json(number, one) for number, one in enumerate(story.scenes(), 1)],
        "lore": [lore_json(one) for one in lore],
        "books": story.attached_books(),
        "cast": [cast_json(one) for one in story.cast() if not one.knowledge.is_empty],
        "threads": [thread_json(one) for one in story.threads(everything=True) if one.status.value != "resolved"],
        "state": [held_json(one) for one in story.state()],
        "players": [{"name": one.name, "character": one.character, "since": one.since} for one in story.players()],
        "wishes": [wish_json(one) for one in story.wishes()],
    }


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


def render_version(version: Version) -> str:
    """Return the text of a version for people: a note under headings, with the messages its items come from."""
    from previously.core.note import parse_note
    from previously.core.versions import Kind

    made = version.made
    return render_note(parse_note(made.text), made.span.first) if made.kind is Kind.NOTE else made.text


def render_note(note: Note, first: int) -> str:
    """Return a note whose span begins at that position, in lines under headings; empty lists are left out."""

    def at(*offsets: int | None) -> str:
        return " ".join(f"#{first + one}" for one in offsets if one is not None)

    lists = {
        "THREADS": [f"{one.change.value} {at(one.at) or 'earlier'}: {one.text}" for one in note.threads],
        "STATE": [f"{at(one.at)} {one.thing} / {one.aspect.value}: {one.value or 'ended'}" for one in note.state],
        "PRESENT": [f"{at(one.first)}-{at(one.last)}: {', '.join(one.names) or '-'}" for one in note.present],
        "LEARNT": [f"{at(one.at)} {', '.join(one.names)}: {one.text}" for one in note.learnt],
        "LORE": [f"{at(*one.at)} {one.name} | {one.type} | {one.content}" for one in note.lore],
        "PLAYERS": [f"{at(one.at)} {one.player}: {one.character}" for one in note.players],
        "WISHES": [f"{at(one.at)} {one.text}" for one in note.wishes],
        "SCENES": [f"ends at {at(one)}" for one in note.scene_ends],
    }
    blocks = [
        "\n".join([heading, *(f"- {item.strip()}" for item in items)]) for heading, items in lists.items() if items
    ]
    return "\n\n".join(blocks) or "nothing to note"
