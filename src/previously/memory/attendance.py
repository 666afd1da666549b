"""The people who are there now: who was there last, less who has left since, and who has entered.

Once a person says who leaves or enters, the people who are there are counted: each message that is added without
witnesses is given those who are there, and whoever speaks is there from then on. Only who has left is not there until
they enter, even if they speak. Counting ends with the scene in which somebody entered, if nobody is away any more. One
message follows from the one before, so that a story need not be read again for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.marks import Mark, MarkKind
from previously.core.messages import Draft, Message
from previously.core.people import NARRATORS
from previously.core.presence import NameBook, Presence, find_speaker
from previously.core.scripts import casefold
from previously.folds.boundary import is_scene_end

COMINGS = frozenset({MarkKind.LEFT, MarkKind.ENTERED})
"""The marks that say who left and who came back."""


@dataclass(frozen=True, slots=True)
class Attendance:
    """The people who are there when the next message is said."""

    names: tuple[str, ...]
    """As they are written in the story, in the order of their names."""
    gone: tuple[str, ...]
    """Those who have left and not come back, in the order they left."""
    has_entered: bool
    """True where somebody has entered in this scene."""
    book: NameBook
    """Knows which names are one person's."""
    newest: Message | None = None
    """The message before the next one."""

    @property
    def is_counted(self) -> bool:
        """Return whether a person's word decides who is there."""
        return self.has_entered or bool(self.gone)

    def has(self, name: str) -> bool:
        """Return whether somebody is there."""
        return any(self.book.same_person(name, other) for other in self.names)

    def find_gone(self, name: str) -> str:
        """Return the name by which somebody left; the given one if they have not, or if only its case differs."""
        if casefold(name) in map(casefold, self.gone):
            return name
        return next((other for other in self.gone if self.book.same_person(name, other)), name)

    def add_names(self, names: Iterable[str]) -> Attendance:
        """Return these people and others, but for those who are gone."""
        return replace(self, names=_leave_out((*self.names, *names), self.gone, self.book))

    def hear(self, message: Message) -> Attendance:
        """Return who is there once a message is said: whoever heard it, and whoever speaks, but for those who are gone.
        What nobody heard says nothing of who is there."""
        ends = self.newest is not None and is_scene_end(self.newest, message)
        after = replace(self, newest=message, has_entered=self.has_entered and not ends)
        if message.witnesses == ():
            return after
        before = after if message.witnesses is None else replace(after, names=())
        return before.add_names((*(message.witnesses or ()), find_speaker(message)))

    def witness(self, drafts: Sequence[Draft]) -> tuple[list[Draft], Attendance]:
        """Return messages with their witnesses, those that are given or else those who are there; and who is there
        then. Where nobody counts who is there, they stay as they are."""
        now, witnessed = self, list[Draft]()
        for draft in drafts:
            now, message = now.hear(draft.message), draft.message
            if now.is_counted and message.witnesses is None:
                message = replace(message, witnesses=now.names)
            witnessed.append(replace(draft, message=message))
        return witnessed, now


def find_attendance(presence: Presence, comings: Sequence[Mark], newest: Message | None) -> Attendance:
    """Return who is there at the end of a path, whose newest message is given, by the marks of comings and goings."""
    entered = [mark for mark in comings if mark.kind is MarkKind.ENTERED]
    came = [mark.text for mark in entered if mark.position == presence.messages - 1]
    has_entered = any(mark.position + 1 >= presence.scene_first for mark in entered)
    attendance = Attendance((), tuple(list_absent(comings)), has_entered, presence.names, newest)
    return attendance.add_names((*presence.list_last(), *presence.show_names(came)))


def list_absent(comings: Sequence[Mark]) -> list[str]:
    """Return who is not there by the marks of comings and goings, in the order they left."""
    gone: dict[str, str] = {}
    for mark in comings:
        if mark.kind is MarkKind.LEFT:
            gone.setdefault(casefold(mark.text), mark.text)
        else:
            gone.pop(casefold(mark.text), None)
    return list(gone.values())


def _leave_out(names: Iterable[str], gone: Sequence[str], book: NameBook) -> tuple[str, ...]:
    """Return people but for narrators and those who are gone, each name once."""
    left = {book.key(name) for name in gone}
    named = {casefold(name): name.strip() for name in names if book.key(name) not in left}
    return tuple(sorted(name for key, name in named.items() if key not in NARRATORS | {""}))
