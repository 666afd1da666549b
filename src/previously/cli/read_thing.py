"""Reading one thing of a story: its heading, its words, and what the JSON says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from previously.cli import memory_json, output
from previously.cli.memory_json import chapter_json, span_json
from previously.cli.things import Thing, ThingKind, find_listed
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingStory


def read_words_of(story: BlockingStory, thing: Thing) -> str:
    """Return the words of a thing."""
    return read_thing(story, thing)[1]


def read_thing(story: BlockingStory, thing: Thing) -> tuple[str, str, dict[str, Any]]:
    """Return a thing: its heading, its words, and what the JSON says of it."""
    from previously.cli.terminal import render_body

    match thing.kind:
        case ThingKind.RECAP | ThingKind.BACKBONE | ThingKind.BRIEF:
            text = getattr(story, thing.kind.value)()
            if text is None:
                raise BadInput(f"There is no {thing.kind.value} yet.")
            record = {"text": text.text, "span": span_json(text.told), "made_by": text.made_by, "stale": text.stale}
            return f"{thing.kind.value.capitalize()} ({text.told}, by {text.made_by})", text.text, record
        case ThingKind.MESSAGE:
            item = story.messages(thing.position, thing.position)[0]
            message = item.entry.message
            who = message.speaker or message.role.value
            record = {"position": item.position, "role": message.role.value, "speaker": message.speaker}
            record |= {"at": item.entry.attributes.at, "hidden": item.entry.attributes.hidden, "text": message.text}
            return f"Message {item.position}, {who}", render_body(message), record
        case ThingKind.VERSION:
            version = _find_version(story, thing.number)
            return (
                f"Version {version.id}, {version.made.kind.value} of {version.made.span}",
                memory_json.render_version(version),
                {"version": version.id, "kind": version.made.kind.value, "text": version.made.text},
            )
        case ThingKind.BRANCH:
            branch = next((one for one in story.branches() if one.name == thing.which), None)
            if branch is None:
                raise BadInput(f"There is no branch {thing.which!r}; `branches list` shows those there are.")
            counted = output.count_nouns(branch.messages, "message")
            return f"Branch {branch.name}", counted, {"branch": branch.name, "messages": branch.messages}
        case _:
            return _read_listed(find_listed(story, thing), thing)


def _read_listed(one: Any, thing: Thing) -> tuple[str, str, dict[str, Any]]:
    match thing.kind:
        case ThingKind.CHAPTER:
            return f"{one.name} ({one.span})", one.text or "Its recap waits to be folded.", chapter_json(one)
        case ThingKind.EPISODE:
            return f"Episode ({one.span})", one.text, memory_json.episode_json(one)
        case ThingKind.SCENE:
            return f"Scene {thing.which} ({one.span})", one.summary, memory_json.scene_json(thing.number, one)
        case ThingKind.THREAD:
            record = memory_json.thread_json(one)
            words = f"{one.thread.line}{f' Ended: {one.thread.outcome}' if one.thread.outcome else ''}"
            return f"Thread {one.number}, {one.status.value} since message {one.thread.opened}", words, record
        case ThingKind.STATE:
            return f"Since message {one.position}, by {one.by}", one.text, memory_json.held_json(one)
        case ThingKind.WISH:
            return f"A wish since message {one.position}", one.text, memory_json.wish_json(one)
        case ThingKind.PIN:
            return (
                f"Pin {one.id} at message {one.position}",
                one.text,
                {"pin": one.id, "position": one.position, "text": one.text},
            )
        case ThingKind.LORE:
            keywords = f"\nKeywords: {', '.join(one.keywords)}" if one.keywords else ""
            return (
                f"{one.name} ({one.type}, {one.status}, by {one.by})",
                one.content + keywords,
                memory_json.lore_json(one),
            )
        case _:
            facts = [f"- {fact.text} ({fact.source}, message {fact.since})" for fact in one.knowledge.facts]
            words = "\n".join([one.knowledge.summary, *facts]).strip() or "Nothing is noted of what they know."
            return one.name, words, memory_json.cast_json(one)


def _find_version(story: BlockingStory, number: int) -> Any:
    for version in story.log():
        if version.id == number:
            return version
    raise BadInput(f"There is no version {number} here; `log -v` lists them.")
