"""The context of a fold: the story before its messages, names, open threads and the state of things.

A librarian's analysis and a scene are shown the same, so that both call things by the same names and settle threads by
number. Each text has its own room: a long story does not push out what happened a page ago. Numbers of threads are for
one question only; what is kept names a thread by its id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message
from previously.core.note import Aspect, LoreItem, Note, ThreadChange, ThreadItem, parse_state_line
from previously.core.patterns import lazy_pattern
from previously.core.scene import Settled, Signals, parse_items
from previously.core.scripts import casefold
from previously.folds.prompts.templates import defuse_tags, name_speaker, render_message
from previously.text.cuts import shorten
from previously.text.language import find_language
from previously.text.names import HeardNames, find_unheard

EARLIER_CHARACTERS = 1_500
"""The room for the story before this chapter: who and why, in some 250 words."""

SO_FAR_CHARACTERS = 3_000
"""The room for this chapter: some 500 words, as long as a recap of ordinary size."""

RECENT_CHARACTERS = 1_200
"""The room for what no summary tells yet: eight updates of one or two sentences."""

BRIDGE_CHARACTERS, UPDATE_BRIDGE = 500, 700
"""The characters of the end of the message before that a note and an update are shown: the new ones pick up there."""


@dataclass(frozen=True, slots=True)
class NoteContext:
    """The story before a span, as far as whoever will read the note may know it."""

    earlier: str = ""
    """The summary of the chapters before."""
    so_far: str = ""
    """The summary of this chapter."""
    recent: str = ""
    """The notes made since, which are in no summary yet."""
    known: tuple[LoreItem, ...] = ()
    """The people and things that the span names, whole."""
    others: tuple[str, ...] = ()
    """Others of the story, each in a few words."""
    threads: OpenThreads = ()
    """The open threads, each with its id; a model is shown them by number."""
    state: tuple[str, ...] = ()
    """The state of things, a line each."""
    bridge: Message | None = None
    """The message before the span."""

    @property
    def story(self) -> str:
        """Return the story before the span as it is shown: of each text the opening and what is newest."""
        rooms = ((self.earlier, EARLIER_CHARACTERS), (self.so_far, SO_FAR_CHARACTERS), (self.recent, RECENT_CHARACTERS))
        return "\n\n".join(filter(None, (shorten(text.strip(), most) for text, most in rooms)))

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text of it: what they name has been heard of."""
        return (self.earlier, self.so_far, self.recent, *_list_shown(self))

    def render(self) -> dict[str, str]:
        """Return the parts of a question that show it, by their placeholders."""
        return {
            "story": defuse_tags(self.story) or "(nothing yet)",
            "known": _render_known(self.known, self.others) or "(none yet)",
            "open": defuse_tags(number_threads(self.threads)) or "(none)",
            "state": _render_lines(self.state) or "(none)",
        }

    def render_bridge(self) -> str:
        """Return the end of the message before the span."""
        text = _render_said(self.bridge) if self.bridge and render_message(self.bridge) else ""
        if len(text) > BRIDGE_CHARACTERS:
            cut = text[-BRIDGE_CHARACTERS:]
            text = f"… {cut[cut.find(' ') + 1 :]}"
        return defuse_tags(text) or "(nothing)"


NO_CONTEXT = NoteContext()


@dataclass(frozen=True, slots=True)
class UpdateContext:
    """The story before an update, as the model is shown it beside the new messages."""

    before: str = ""
    """The story before this chapter."""
    recap: str = ""
    bridge: Message | None = None
    known: tuple[LoreItem, ...] = ()
    """The people and things that the new messages name, whole."""
    others: tuple[str, ...] = ()
    """All other people and things, a few words each."""
    threads: tuple[tuple[str, str], ...] = ()
    """The open threads, each with its id."""
    state: tuple[str, ...] = ()
    """Lines `Thing / aspect: value`."""
    players: tuple[str, ...] = ()
    """Those who write as a user, each with their character where that has another name."""
    tellers: tuple[str, ...] = ()
    """Those who write as the model."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text the model is shown, for the checks: what they name has been heard of."""
        return (self.before, *_list_shown(self), *self.players, *self.tellers)

    def render(self) -> dict[str, str]:
        """Return the parts of a question that show it, by their placeholders."""
        return {
            "voices": self._voices,
            "known": _render_known(self.known, self.others) or "(none yet)",
            "before": defuse_tags(self.before.strip()) or "(nothing: this is the first chapter)",
            "recap": defuse_tags(self.recap.strip()) or "(none yet)",
            "threads": _render_lines([f"T{n} {text}" for n, (_, text) in enumerate(self.threads, 1)]) or "(none yet)",
            "state": _render_lines(self.state) or "(none yet)",
            "bridge": self._bridge,
        }

    @property
    def _voices(self) -> str:
        """Return who writes, in a sentence or two; nothing where nobody has a name."""
        players = f"Players write under the name: {', '.join(self.players)}." if self.players else ""
        tellers = f"The storyteller writes under the name: {', '.join(self.tellers)}." if self.tellers else ""
        return defuse_tags(" ".join(filter(None, (players, tellers))))

    @property
    def _bridge(self) -> str:
        if self.bridge is None or not render_message(self.bridge):
            return "(none: the story begins with the new messages)"
        text = _render_said(self.bridge)
        return defuse_tags(text if len(text) <= UPDATE_BRIDGE else f"…{text[-UPDATE_BRIDGE:]}")


def _list_shown(context: NoteContext | UpdateContext) -> list[str]:
    """Return the texts that stand beside the summaries: what is known, what is open, how things stand, the bridge."""
    entries = [f"{one.name} {' '.join(one.keywords)} {one.content}" for one in context.known]
    threads = [text for _, text in context.threads]
    return [
        *entries,
        *context.others,
        *threads,
        *context.state,
        *([_render_said(context.bridge)] if context.bridge else []),
    ]


def _render_said(message: Message) -> str:
    return f"{name_speaker(message)}: {render_message(message)}"


def _render_known(known: Sequence[LoreItem], others: Sequence[str]) -> str:
    lines = [f"{entry.name} | {entry.type} | {', '.join(entry.keywords)} | {entry.content}" for entry in known]
    return _render_lines([*lines, *([f"Others in the story: {'; '.join(others)}"] if others else [])])


def _render_lines(lines: Sequence[str]) -> str:
    return defuse_tags("\n".join(" ".join(line.split()) for line in lines))


def render_language_rule(delta: Sequence[Message], what: str, kept: str) -> str:
    """Return in which language to answer. Where it is known and not English, it is named: models translate what is not
    said to stay."""
    language = find_language("\n".join(render_message(one) for one in delta))
    named = f"{language}, " if language not in ("", "English") else ""
    return f"Write in {named}the language of the {what}; {kept} stay English."


def build_stranger_finder(context: NoteContext, delta: Sequence[Message], so_far: str) -> Callable[[str], list[str]]:
    """Return what finds the names in a text of an answer that stand in nothing the model was shown."""
    said = [f"{name_speaker(one)}: {render_message(one)}" for one in delta]
    heard = HeardNames([*context.texts, so_far, *said])
    language = find_language("\n".join(said)) or "English"
    return lambda text: find_unheard(text, heard, language)


NO_UPDATE_CONTEXT = UpdateContext()

OpenThreads = tuple[tuple[str, str], ...]
"""Open threads, each with its id and its words, in the order of their numbers."""

ASPECTS = ", ".join(list(Aspect)[:-1]) + f" or {list(Aspect)[-1]}"
"""The aspects that a line of the state may be about, in words."""

_NUMBERED = lazy_pattern(r"\W*T\s?(\d{1,3})\b[\s.:;,)\]–—-]*(.*)", re.I | re.S)


def number_threads(threads: Sequence[tuple[str, str]]) -> str:
    """Return open threads as a model is shown them, one per line."""
    return "\n".join(f"T{number} {text}" for number, (_, text) in enumerate(threads, 1))


def name_threads(signals: Signals, threads: Sequence[tuple[str, str]]) -> tuple[Signals, tuple[Settled, ...]]:
    """Return signals without numbers, and the threads that they settle. A known thread that is said to be open is no
    new one."""
    texts: list[str] = []
    settled: dict[str, Settled] = {}
    for item in signals.resolved_threads:
        thread, rest = _find_meant_thread(item, threads)
        if thread is None:
            texts.append(item)
            continue
        ident, words = thread
        texts.append(rest or words)
        settled[ident] = Settled(ident, rest or words)
    fresh = [item for item in signals.open_threads if _find_meant_thread(item, threads)[0] is None]
    changed = replace(signals, open_threads=parse_items(fresh), resolved_threads=parse_items(texts))
    return changed, tuple(settled.values())


def _find_meant_thread(item: str, threads: Sequence[tuple[str, str]]) -> tuple[tuple[str, str] | None, str]:
    """Return the thread that an item means, by its number or its very words, and what else the item says."""
    match = _NUMBERED.fullmatch(item)
    if match and 0 < int(match[1]) <= len(threads):
        thread = threads[int(match[1]) - 1]
        rest = match[2].strip()
        return thread, "" if casefold(rest) == casefold(thread[1]) else rest
    return next((one for one in threads if casefold(one[1]) == casefold(item)), None), ""


def find_state_faults(signals: Signals) -> tuple[str, ...]:
    """Return what is said of lines of the state that cannot be kept as such."""
    lost = [one for one in signals.state_changes if parse_state_line(one) is None]
    return (f"not kept as state, for want of an aspect: {lost[0][:80]}",) if lost else ()


def build_signals_note(signals: Signals, settled: Iterable[Settled]) -> Note:
    """Return the note in signals. Threads are settled before others are opened: what is opened and settled at once
    stays open, since a settled promise told again costs a line and a lost one costs the story."""
    known = list(settled)
    named = {casefold(one.text) for one in known}
    threads = [ThreadItem(ThreadChange.SETTLED, one.text, thread=one.thread) for one in known]
    worded = [one for one in signals.resolved_threads if casefold(one) not in named]
    threads += [ThreadItem(ThreadChange.SETTLED, one) for one in worded]
    threads += [ThreadItem(ThreadChange.NEW, one) for one in signals.open_threads]
    state = [item for line in signals.state_changes if (item := parse_state_line(line))]
    return Note(threads=tuple(threads), state=tuple(state))
