"""The memory that a view can show, as its items: texts of the timeline, and the lists of what is known.

Of chapters and episodes only as many are read as a view of that budget has use for. `view.build` decides which of them
it shows.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import Stretch
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind
from previously.lore import current_state, threads
from previously.lore.index import StoryLore, make_keyed
from previously.lore.reader_state import FactWeight
from previously.memory.in_force import ChapterText, InForce, MemoryText, find_cuts
from previously.memory.known import CastFacts, KnownState, is_told_all
from previously.memory.notes import apply_analyses
from previously.runtime.story_moment import StoryMoment
from previously.view.build import ViewRequest
from previously.view.choose_memory import DATED, PERSON, PastRoom, choose_layers, find_first_sentence
from previously.view.memory import Remembered
from previously.view.reader import Reader
from previously.view.view import Section

MOST_CHAPTERS = 24
"""Closed chapters that are read at most: at 100 tokens for each short form as many as 16,000 tokens have use for."""

TOKENS_A_CHAPTER = 800
"""Tokens of a budget for one chapter more: 4 are read at 2,000 and 12 at 8,000, a few in full and the rest in short."""

MOST_EPISODE_MESSAGES = 768
"""Messages in which episodes are looked for: a dozen, if each tells of 60 messages."""

TOKENS_A_MESSAGE = 8
"""Tokens of a budget for one message more of which episodes are looked for: those of 250 messages at 2,000."""

MOST_PERSONS = 40
"""Persons who may have a line in a view: twice as many as 400 tokens hold, since of small views only some are told."""

BUILTIN = "builtin"

BEFORE = "since before this story"
"""The reason of what a story inherits."""


def read_texts(snapshot: Snapshot, rules: FoldRules, budget_tokens: int, *, episodes: bool) -> list[Remembered]:
    """Return all texts that a view of that budget could show, in the order of the story; episodes only if they are
    wanted."""
    in_force = InForce(snapshot)
    # Without a backbone nothing else stands for the older chapters.
    most = min(MOST_CHAPTERS, 2 + budget_tokens // TOKENS_A_CHAPTER) if rules.backbone_words else None
    *closed, open_chapter = in_force.timeline(most)
    chapters = in_force.chapters(closed)
    pins, by_hand = in_force.standing_marks()
    recap = in_force.recap(open_chapter, rules.recap.tail_messages)
    if recap and rules.timeline is Timeline.LIBRARIAN:
        recap[-1] = _renew_recap(snapshot, rules, open_chapter.last_stretch, recap[-1])
    items = [Remembered(Section.PINS, mark.text, None, "pinned", "a pin") for mark in pins]
    if chapters:
        ends = [*(chapter.span.first - 1 for chapter in chapters), chapters[-1].span.last]
        backbones = in_force.backbones(ends, by_hand)
        items += [_text_item(Section.BACKBONE, "the backbone", text) for text in backbones]
    items += [_make_chapter_item(chapter, chapter.recap) for chapter in chapters if chapter.recap]
    section = Section.BRIEF if rules.timeline is Timeline.BRIEF else Section.RECAP
    items += [_text_item(section, f"the {section.value}", text) for text in recap]
    last = recap[-1].span.last if recap else open_chapter.first - 1
    if episodes and last >= 0:
        messages = min(MOST_EPISODE_MESSAGES, budget_tokens // TOKENS_A_MESSAGE)
        first = max(chapters[0].span.first if chapters else 0, last - messages + 1)
        items += _make_episode_items(in_force.newest_episodes(first, last), chapters)
    return items


def _make_episode_items(texts: Sequence[MemoryText], chapters: Sequence[ChapterText]) -> list[Remembered]:
    """Return the episodes. Those of a chapter that has no text of its own yet stand for their messages."""
    untold = [chapter.span for chapter in chapters if not chapter.recap]
    items = []
    for text in texts:
        item = _text_item(Section.EPISODES, "an episode", text)
        if not any(span.first <= text.span.first and text.span.last <= span.last for span in untold):
            item = replace(item, reason=f"{item.reason}, of {text.span}", span=None, beside=text.span)
        items.append(item)
    return items


def _make_chapter_item(chapter: ChapterText, text: MemoryText) -> Remembered:
    label = f"{chapter.name}: "
    item = _text_item(Section.CHAPTERS, f"the recap of {chapter.name}", text, label)
    return replace(item, short=f"{label}{chapter.short}" if chapter.short else "")


def _renew_recap(snapshot: Snapshot, rules: FoldRules, stretch: Stretch, recap: MemoryText) -> MemoryText:
    """Return a librarian's recap; if it waits to be put together anew, as it will be."""
    if recap.version is None:
        return recap
    firm = snapshot.live(Kind.RECAP, stretch.scope, firm=True, through=recap.span.last)
    if firm and firm.version.id == recap.version:
        return recap
    summary = apply_analyses(snapshot, rules, stretch, firm, recap.span.last)
    if summary is None or not summary.text:
        return recap
    return replace(recap, text=summary.text, stale=False, cuts=find_cuts(recap.span, summary.carry, len(recap.span)))


def _text_item(section: Section, what: str, text: MemoryText, label: str = "") -> Remembered:
    reason = f"{section.value.removesuffix('s')}, {text.reason}"
    words = f"{label}{text.text}" if text.text else ""
    weak = section is Section.RECAP and text.made_by == BUILTIN
    by_hand = text.version is None
    return Remembered(section, words, text.span, reason, what, text.stale, by_hand=by_hand, lost=text.cuts, weak=weak)


def list_facts(facts: CastFacts, reader: Reader, listed: Sequence[Remembered]) -> list[Remembered]:
    """Return the lines of what the reader knows, but for what other lists of the view tell."""
    lists = {Section.THREADS: FactWeight.THREAD, Section.STATE: FactWeight.STATE}
    without = frozenset(weight for section, weight in lists.items() if section in reader.sections)
    lore = [item.text for item in listed if item.section is Section.LORE]
    knowledge = facts.choose_beside(without, lambda fact: any(fact.text.rstrip("…") in line for line in lore))
    lines = [knowledge.summary, *(f"- {fact.text}" for fact in knowledge.facts)]
    why = f"what {reader.name} knows" + (", stale: an earlier message was changed" if facts.stale else "")
    return [_line_item(Section.CAST, line, why) for line in lines if line]


def read_earlier_texts(earlier: StoryMoment | None, asked: ViewRequest) -> list[Remembered]:
    """Return what stories before this one came to, the oldest first, each in the forms that fit their share: as far as
    a reader was there for all of it."""
    reader, counter = asked.reader, asked.counter
    if earlier is None or Section.EARLIER not in reader.sections - asked.without:
        return []
    items = read_earlier_texts(earlier.find_earlier(), asked)
    if reader.name:
        presence = earlier.read_presence()
        if not presence.has(reader.name) or not is_told_all(earlier.snapshot, reader.name, presence):
            return items
    texts = read_texts(earlier.snapshot, earlier.rules, asked.budget_tokens, episodes=False)
    most = reader.shares[Section.EARLIER].most(asked.budget_tokens)
    exact = [text for text in texts if not text.stale]  # a stale one may tell of another branch, behind the link
    for text in choose_layers(exact, PastRoom(most, most // 2), counter):
        where = f"{text.span} of the story {earlier.name!r}" if text.span else f"the story {earlier.name!r}"
        reason, what = f"{text.reason}; from {where}", f"{text.what} of {earlier.name!r}"
        items.append(Remembered(Section.EARLIER, text.shown, None, reason, what, origin=earlier.name))
    return items


def list_shared(moment: StoryMoment, reader: Reader) -> list[Remembered]:
    """Return the lines of shared memories that a reader is told."""
    items = []
    for memory, fact, story in moment.list_shared(reader.name):
        reason = f"from the shared memory {memory.name!r}" + (f", known in the story {story!r}" if story else "")
        line = _line_item(Section.SHARED, memory.write_line(fact, reader.name), reason)
        items.append(replace(line, origin=memory.name))
    return items


def list_known(known: KnownState, lore: StoryLore | None, rules: FoldRules, messages: int) -> list[Remembered]:
    """Return what the lists of a view say, the most important of each first; entries of lore if they are given."""
    items: list[Remembered] = []
    if lore:
        inherited = {make_keyed(entry).uid for entry in known.entries if entry.touched < 0}
        by_people = {make_keyed(entry).uid for entry in known.entries if entry.locked}
        for entry in lore.constants:
            written = bool(entry.book) or entry.uid in by_people
            why = f"constant lore, {BEFORE}" if entry.uid in inherited else "constant lore"
            constant = _line_item(Section.LORE, f"{entry.name}: {entry.content}", why, by_hand=written)
            items.append(replace(constant, about=entry.name))
        items += _make_person_items(known, {item.about for item in items})
    asleep = rules.dormant_messages or messages + 1
    for player in known.state.players.values():
        items.append(_line_item(Section.WISHES, f"- {player.line}.", f"a player {_say_since(player.since)}"))
    for wish in reversed(known.state.wishes):
        why = f"a wish {_say_since(wish.position)}"
        items.append(_line_item(Section.WISHES, f"- {wish.text}", why, by_hand=wish.by == threads.PERSON))
    for thread in threads.list_awake_threads(known.state.threads.threads, messages, asleep):
        line = f"- {thread.line}"
        kind = DATED if any(mark.isdigit() for mark in line) else ""
        by_hand = thread.by == threads.PERSON
        why = "an open thread" if thread.opened >= 0 else f"a thread open {_say_since(thread.opened)}"
        items.append(_line_item(Section.THREADS, line, why, by_hand=by_hand, kind=kind))
    for standing in reversed(known.state.current.standing):
        why = f"how things stand {_say_since(standing.position)}"
        item = _line_item(Section.STATE, f"- {standing.text}", why, by_hand=standing.by == current_state.PERSON)
        items.append(replace(item, about=standing.thing, kind=standing.aspect or ""))
    return items


def _say_since(position: int) -> str:
    """Return since when something is so; a position below 0 is one of the story before."""
    return f"since message {position}" if position >= 0 else BEFORE


def _make_person_items(known: KnownState, listed: Container[str]) -> list[Remembered]:
    """Return a line for each person who is not listed already, whoever was described last first."""
    named = [entry for entry in known.entries if entry.type == "character" and entry.name not in listed]
    persons = sorted(named, key=lambda entry: -entry.touched)
    return [
        replace(_line_item(Section.LORE, f"- {entry.name}: {line}", "who somebody is"), about=entry.name, kind=PERSON)
        for entry in persons[:MOST_PERSONS]
        if (line := find_first_sentence(entry.content))
    ]


def _line_item(section: Section, text: str, reason: str, *, by_hand: bool = False, kind: str = "") -> Remembered:
    line = " ".join(text.split())
    return Remembered(section, line, None, reason, f"a line of {section.value}", by_hand=by_hand, kind=kind)
