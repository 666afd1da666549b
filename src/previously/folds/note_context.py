"""What a note of a span is told beside its own messages: the story before them, names, what is open, how things stood.

A librarian's analysis and a scene are shown the same, so that both call things by the same names and settle threads by
number. Each text has its own room: a long story does not push out what happened a page ago.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from previously.core.messages import Message
from previously.core.note import LoreItem
from previously.folds.rendering import as_data, speaker_of, told
from previously.folds.thread_numbers import OpenThreads, number_threads
from previously.text.cuts import shorten
from previously.text.language import find_language
from previously.text.names import HeardNames, find_unheard

EARLIER_CHARACTERS = 1_500
"""How much is shown of the story before this chapter: who and why, in some 250 words."""

SO_FAR_CHARACTERS = 3_000
"""How much of this chapter: some 500 words, as long as a recap of ordinary size."""

RECENT_CHARACTERS = 1_200
"""How much of what no summary tells yet: eight updates of one or two sentences."""

BRIDGE_CHARACTERS = 500
"""How much of the end of the message before is shown: where the new ones pick up."""


@dataclass(frozen=True, slots=True)
class NoteContext:
    """The story before a span, as far as whoever will read the note may know it."""

    earlier: str = ""
    """What is told of the chapters before."""
    so_far: str = ""
    """What is told of this chapter."""
    recent: str = ""
    """What was noted since and is in no summary yet."""
    known: tuple[LoreItem, ...] = ()
    """The people and things that the span names, whole."""
    others: tuple[str, ...] = ()
    """Others of the story, each in a few words."""
    threads: OpenThreads = ()
    """What was open, each thread with its id; a model is shown them by number."""
    state: tuple[str, ...] = ()
    """How things stood, a line each."""
    bridge: Message | None = None
    """The message before the span."""

    @property
    def story(self) -> str:
        """Return the story before the span as it is shown: of each text the opening and what is newest."""
        rooms = (
            (self.earlier, EARLIER_CHARACTERS),
            (self.so_far, SO_FAR_CHARACTERS),
            (self.recent, RECENT_CHARACTERS),
        )
        return "\n\n".join(filter(None, (shorten(text.strip(), most) for text, most in rooms)))

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text of it: what they name has been heard of."""
        entries = [f"{one.name} {' '.join(one.keywords)} {one.content}" for one in self.known]
        threads = [text for _, text in self.threads]
        bridge = [f"{speaker_of(self.bridge)}: {told(self.bridge)}"] if self.bridge else []
        return (self.earlier, self.so_far, self.recent, *entries, *self.others, *threads, *self.state, *bridge)

    def render(self) -> dict[str, str]:
        """Return the parts of a question that show it, by their placeholders."""
        known = [f"{one.name} | {one.type} | {', '.join(one.keywords)} | {one.content}" for one in self.known]
        others = [f"Others in the story: {'; '.join(self.others)}"] if self.others else []
        return {
            "story": as_data(self.story) or "(nothing yet)",
            "known": _lines([*known, *others]) or "(none yet)",
            "open": as_data(number_threads(self.threads)) or "(none)",
            "state": _lines(self.state) or "(none)",
        }

    def render_bridge(self) -> str:
        """Return the end of the message before the span."""
        text = f"{speaker_of(self.bridge)}: {told(self.bridge)}" if self.bridge and told(self.bridge) else ""
        if len(text) > BRIDGE_CHARACTERS:
            cut = text[-BRIDGE_CHARACTERS:]
            text = f"… {cut[cut.find(' ') + 1 :]}"
        return as_data(text) or "(nothing)"


NO_CONTEXT = NoteContext()


def _lines(lines: Sequence[str]) -> str:
    return as_data("\n".join(" ".join(line.split()) for line in lines))


def language_rule(delta: Sequence[Message], what: str, kept: str) -> str:
    """Return in which language to answer. Where it is known and not English, it is named: models translate what is not
    said to stay."""
    language = find_language("\n".join(told(one) for one in delta))
    named = f"{language}, " if language not in ("", "English") else ""
    return f"Write in {named}the language of the {what}; {kept} stay English."


def stranger_finder(context: NoteContext, delta: Sequence[Message], so_far: str) -> Callable[[str], list[str]]:
    """Return what finds the names in a text of an answer that stand in nothing the model was shown."""
    said = [f"{speaker_of(one)}: {told(one)}" for one in delta]
    heard = HeardNames([*context.texts, so_far, *said])
    language = find_language("\n".join(said)) or "English"
    return lambda text: find_unheard(text, heard, language)
