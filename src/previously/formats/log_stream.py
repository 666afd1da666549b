"""Large logs of agents, read as they go: what one look through the file must find for that to give the same story.

A log is one chain if each step follows the one before it and each call is answered before anybody else speaks, as in
nearly all sessions that nobody took back. Anything else has to be held as a whole, and `TangledLog` says so.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence

from previously.core.messages import Draft, Message, Role, Thinking, ToolCall, ToolResult
from previously.formats.log_lines import complete_calls

MOST_HELD = 1_000
"""Messages or lines that are held back at a time: agents make tens of calls together, never hundreds."""

_BUCKETS = 64
"""Parts that words are looked through in, one after the other: a set of all would take ten times their memory."""


_OF_TOOLS = (ToolCall, ToolResult)


class TangledLog(Exception):
    """The log is more than one chain, and has to be read as a whole."""


class UniqueWords:
    """Words of which each is said once, a million of them in 8 MB: their hashes. Two words with the same hash, in one
    of ten million logs that long, are taken for the same: such a log is held as a whole."""

    def __init__(self) -> None:
        self._hashes = [array("q") for _ in range(_BUCKETS)]

    def add(self, word: str) -> None:
        hashed = hash(word)
        self._hashes[hashed % _BUCKETS].append(hashed)

    def check(self, never: Collection[str] = ()) -> None:
        """Raise `TangledLog` if a word was said twice, or one of those that must not be."""
        unwanted = {hash(word) for word in never}
        for bucket in self._hashes:
            said = set(bucket)
            if len(said) < len(bucket) or said & unwanted:
                raise TangledLog


class CallLedger:
    """Notes the calls and results of a log in their order; at the end, those that wait never got a result."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}
        """By call, the number of the message that made it."""
        self._messages = 0

    def note(self, message: Message) -> None:
        """Take the next message. Raise `TangledLog` if its calls and results do not tell by their ids alone what
        belongs together, or a result comes too late to be waited for."""
        self._messages += 1
        parts = [part for part in message.parts if isinstance(part, _OF_TOOLS)]
        for part in parts:
            if not part.id or (part.id in self.waiting) is isinstance(part, ToolCall):
                raise TangledLog
            if isinstance(part, ToolCall):
                self.waiting[part.id] = self._messages
            elif self._messages - self.waiting.pop(part.id) > MOST_HELD:
                raise TangledLog
        if message.role is Role.TOOL and not parts:
            raise TangledLog


class CallWindow:
    """Passes on the messages of a log in which every call has its result, as `complete_calls` makes them: held back
    from a call on until all that will ever be answered is. `never` are the calls that will not be."""

    def __init__(self, never: Collection[str] = ()) -> None:
        self._never = never
        self._held: list[Draft] = []
        self._waiting: set[str] = set()

    def take(self, draft: Draft) -> Sequence[Draft]:
        """Return what can be passed on with this message."""
        parts = [part for part in draft.message.parts if isinstance(part, _OF_TOOLS)]
        if not parts and not self._held:
            return (draft,)
        if not parts and not self._waiting and not all(isinstance(part, Thinking) for part in draft.message.parts):
            return [*self.end(), draft]
        self._held.append(draft)
        calls = {part.id for part in parts if isinstance(part, ToolCall)}
        self._waiting |= calls.difference(self._never)
        self._waiting -= {part.id for part in parts if isinstance(part, ToolResult)}
        # Behind a call that nobody answers another may come that was made together with it.
        return () if calls or not parts or self._waiting else self.end()

    def end(self) -> Sequence[Draft]:
        """Return what was held back."""
        held, self._held = self._held, []
        return complete_calls(held) if held else ()
