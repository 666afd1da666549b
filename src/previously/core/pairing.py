"""Calls and their results: which belong together, what is never parted, and how a broken list is mended.

Calls that a model makes together wait together: those of one message, and those of the messages behind it as long as no
result has come (some clients write one item for each call). Their results follow at once, in any order. A result
belongs to the nearest earlier calls that used its id, so ids may be used again; without ids the order decides.

`find_units` covers every message once and never parts a call from its result. `mend` gives back a list in which every
call has exactly one result right behind it, whatever it was given; mending that list changes nothing. `add_call_ids`
gives ids where those that came cannot be sent, and outputs for which there is no room get a note or lose their middle:
a call keeps its result, and whatever is cut is counted. A message that needs nothing is given back as the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from previously.core.file_reads import find_read, find_repeated
from previously.core.messages import FAILED, Message, Part, Role, Text, Thinking, ToolCall, ToolResult

INTERRUPTED = "[interrupted: this call never got a result]"
"""Stands where a call was cut off before its result came."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A list in which every call has its result, and what had to be done for it."""

    messages: tuple[Message, ...]
    origin: tuple[int | None, ...]
    """The place of each message before; None = it was made here. A message that had to be parted names its place twice;
    one that lost or changed a part is no longer the same object as the one at its place."""
    interrupted: int
    """Results that were made here."""
    orphans: tuple[int, ...]
    """Messages that held a result of no call; it is left out."""

    def now_at(self, index: int) -> int | None:
        """Return where the message stands now that stood at that place; None = it was left out."""
        return next((at for at in reversed(range(len(self.origin))) if self.origin[at] == index), None)


def find_units(messages: Sequence[Message]) -> list[range]:
    """Return the messages, those that belong together as one: calls made together and all their results, and a message
    of thinking alone with the message of the assistant behind it."""
    if all(len(message.parts) == 1 and type(message.parts[0]) is Text for message in messages):
        return [range(at, at + 1) for at in range(len(messages))]  # a story without tools, as most are
    reading = _Reading(messages)
    reach = list(range(len(messages)))  # the last message that belongs with each
    for batch in reading.batches:
        reach[batch.first] = max(reach[batch.first], batch.last_call, *batch.answered_in)
    for at in range(len(messages) - 1):
        if _is_thinking(messages[at]) and messages[at + 1].role is Role.ASSISTANT:
            reach[at] = max(reach[at], at + 1)
    units: list[range] = []
    start, last = 0, -1
    for at, end in enumerate(reach):
        if at > last:
            if at:
                units.append(range(start, at))
            start = at
        last = max(last, end)
    if messages:
        units.append(range(start, len(messages)))
    return units


def find_unpaired(messages: Sequence[Message]) -> list[str]:
    """Return a sentence for each fault in how calls and results stand; none = all is well."""
    return [sentence for _, sentence in sorted(_Reading(messages).faults())]


def find_answered_calls(messages: Sequence[Message]) -> dict[tuple[int, int], ToolCall]:
    """Return the call that each result answers, by the result's message and its place among the parts."""
    return {place: call for place, (_, call) in _Reading(messages).answers.items()}


def find_repeated_reads(messages: Sequence[Message]) -> frozenset[tuple[int, int]]:
    """Return the results that show lines of a file which a later result shows again, by message and place."""
    calls = find_answered_calls(messages)
    reads = ((place, find_read(call)) for place, call in calls.items() if not _is_failed(messages, place))
    return find_repeated((place, read) for place, read in reads if read)


def _is_failed(messages: Sequence[Message], place: tuple[int, int]) -> bool:
    part = messages[place[0]].parts[place[1]]
    return isinstance(part, ToolResult) and part.failed


def mend(messages: Sequence[Message]) -> Mended:
    """Return the messages with every call answered: what came late is moved up to its call, what never came is said to
    be interrupted, and a result of no call is left out."""
    reading = _Reading(messages)
    kept: list[Message] = []
    origin: list[int | None] = []
    behind: dict[int, list[tuple[Message, int | None]]] = {}
    stays: list[Message | None] = []
    for at, current in enumerate(messages):
        rest, moved = reading.parted(at)
        stays.append(rest)
        for batch, part in moved:
            behind.setdefault(batch.behind, []).append((part, at))
        if moved and rest is None and len(moved) == 1 and moved[0][1].parts == current.parts:
            behind[moved[0][0].behind][-1] = (current, at)
    interrupted = 0
    for batch in reading.batches:
        for call in batch.waiting:
            answer = Message(Role.TOOL, (ToolResult(call.id, INTERRUPTED, FAILED),))
            behind.setdefault(batch.behind, []).append((answer, None))
            interrupted += 1
    for at, stayed in enumerate(stays):
        here = [] if stayed is None else [(stayed, at)]
        for message, place in [*here, *behind.get(at, [])]:
            kept.append(message)
            origin.append(place)
    return Mended(tuple(kept), tuple(origin), interrupted, tuple(sorted({at for at, _ in reading.orphans})))


@dataclass(slots=True)
class _Batch:
    """Calls that stand together, in one message or in several in a row, and wait for their results."""

    first: int
    last_call: int
    behind: int
    """The message after which results that came late are put: the last of calls and results alone."""
    run_end: int
    """The last message of the calls and of the results right behind them."""
    open: bool = True
    """Return whether the next message may still hold a result in its place: nothing else has been said."""
    waiting: list[ToolCall] = field(default_factory=list)
    answered_in: list[int] = field(default_factory=list)

    def take(self, call_id: str, *, any_call: bool = False) -> ToolCall | None:
        """Return the oldest waiting call of that id, or of any, which waits no longer."""
        for place, call in enumerate(self.waiting):
            if any_call or call.id == call_id:
                return self.waiting.pop(place)
        return None


class _Reading:
    """One pass over the messages: which result answers which call, and which of them stand where they may."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._newest_with: dict[str, _Batch] = {}
        self.batches: list[_Batch] = []
        self.answers: dict[tuple[int, int], tuple[_Batch, ToolCall]] = {}
        self.late: set[tuple[int, int]] = set()
        self.orphans: set[tuple[int, int]] = set()
        # Message and place of each result of no call; -1 stands for a tool's message without any.
        for at, message in enumerate(messages):
            for place, part in enumerate(message.parts):
                if isinstance(part, ToolCall):
                    self._call(at, part)
                elif isinstance(part, ToolResult):
                    self._result(at, place, part)
            if message.role is Role.TOOL and not any(isinstance(part, ToolResult | ToolCall) for part in message.parts):
                self.orphans.add((at, -1))

    def _call(self, at: int, call: ToolCall) -> None:
        newest = self.batches[-1] if self.batches else None
        between = range(newest.last_call + 1, at) if newest else range(0)
        if newest is None or (
            newest.last_call != at
            and (newest.answered_in or not all(_is_thinking(self._messages[one]) for one in between))
        ):
            newest = _Batch(at, at, at, at)
            self.batches.append(newest)
        newest.last_call = newest.behind = newest.run_end = at
        newest.waiting.append(call)
        self._newest_with[call.id] = newest

    def _result(self, at: int, place: int, result: ToolResult) -> None:
        call = self._answered(result.id)
        if call is None:
            self.orphans.add((at, place))
            return
        batch, _ = call
        self.answers[at, place] = call
        batch.answered_in.append(at)
        if at in (batch.last_call, batch.run_end):
            return
        if batch is not self.batches[-1] or at != batch.run_end + 1 or not batch.open:
            self.late.add((at, place))
            return
        batch.run_end = at
        if _says_more(self._messages[at]):
            batch.open = False
        else:
            batch.behind = at

    def _answered(self, call_id: str) -> tuple[_Batch, ToolCall] | None:
        newest = self.batches[-1] if self.batches else None
        with_id = self._newest_with.get(call_id)
        if not call_id and newest:  # no id: the order decides
            call = newest.take("") or newest.take("", any_call=True)
            if call:
                return newest, call
        if with_id:
            call = with_id.take(call_id)
            return (with_id, call) if call else None
        if newest and (call := newest.take("")):
            return newest, call
        return None

    def parted(self, at: int) -> tuple[Message | None, list[tuple[_Batch, Message]]]:
        """Return what of a message stays in its place, and what is moved behind which calls."""
        message = self._messages[at]
        if (at, -1) in self.orphans:
            return None, []
        stays: list[Part] = []
        moved: dict[int, tuple[_Batch, list[Part]]] = {}
        beside: list[Part] = []  # what belongs with the results of a tool's message: its pictures
        changed = False
        for place, part in enumerate(message.parts):
            if not isinstance(part, ToolResult):
                (beside if message.role is Role.TOOL and not isinstance(part, ToolCall) else stays).append(part)
                continue
            answer = self.answers.get((at, place))
            if answer is None:
                changed = True
                continue
            batch, call = answer
            names_it = call.id == part.id
            result = part if names_it else ToolResult(call.id, part.text, part.status)
            changed = changed or not names_it
            if (at, place) in self.late:
                moved.setdefault(batch.first, (batch, []))[1].append(result)
            else:
                stays.append(result)
        if not changed and not moved:
            return message, []
        parts = [parts for _, parts in moved.values()]
        if beside and (stays or parts):
            (stays or parts[0]).extend(beside)
        rest = Message(message.role, tuple(stays), message.speaker, message.witnesses) if stays else None
        return rest, [
            (batch, Message(Role.TOOL, tuple(held), message.speaker, message.witnesses))
            for batch, held in moved.values()
        ]

    def faults(self) -> list[tuple[int, str]]:
        """Return what is wrong, each with the message it is seen in."""
        faults: list[tuple[int, str]] = []
        for batch in self.batches:
            faults += [
                (batch.last_call, f"Message {batch.last_call} waits for the result of {_named(call.name, call.id)}.")
                for call in batch.waiting
            ]
        called_later: dict[str, int] = {}
        for at, message in enumerate(self._messages):
            called_later.update({part.id: at for part in message.parts if isinstance(part, ToolCall)})
        for at, place in self.orphans:
            part = self._messages[at].parts[place] if place >= 0 else None
            if not isinstance(part, ToolResult):
                faults.append((at, f"Message {at} comes from a tool and holds no result."))
            elif part.id not in called_later:
                faults.append((at, f"Message {at} holds {_named('a result', part.id)} that no call asked for."))
            elif called_later[part.id] > at:
                faults.append((at, f"Message {at} holds {_named('a result', part.id)} that comes before its call."))
            else:
                faults.append((at, f"Message {at} holds {_named('a second result', part.id)} for one call."))
        for (at, place), (_, call) in self.answers.items():
            part = self._messages[at].parts[place]
            if (at, place) in self.late:
                faults.append((at, f"Message {at} holds the result of {_named(call.name, call.id)} apart from it."))
            elif isinstance(part, ToolResult) and part.id != call.id:
                faults.append(
                    (at, f"Message {at} does not name the call that it answers, {_named(call.name, call.id)}.")
                )
        return faults


def _is_thinking(message: Message) -> bool:
    return (
        message.role is Role.ASSISTANT
        and bool(message.parts)
        and all(isinstance(part, Thinking) for part in message.parts)
    )


def _says_more(message: Message) -> bool:
    """Return whether something besides results is said, so that no further result may follow."""
    if message.role is Role.TOOL:
        return any(isinstance(part, ToolCall) for part in message.parts)
    return not all(isinstance(part, ToolResult) for part in message.parts)


def _named(what: str, call_id: str) -> str:
    return f"{what} ({call_id})" if call_id else what


def add_call_ids(messages: Sequence[Message], *, once: bool) -> list[Message]:
    """Return these messages, which must be mended, with an id for every call: no two that wait together have the same,
    and with `once` no two at all."""
    changed: list[Message] = []
    used: set[str] = set()
    for unit in find_units(messages):
        used = used if once else set()
        waiting: dict[str, list[str]] = {}
        for at in unit:
            parts = tuple(_named_call_ids(part, used, waiting) for part in messages[at].parts)
            changed.append(messages[at] if parts == messages[at].parts else replace(messages[at], parts=parts))
    return changed


def _named_call_ids(part: Part, used: set[str], waiting: dict[str, list[str]]) -> Part:
    if isinstance(part, ToolCall):
        given, number = part.id or "call_1", 1
        while given in used:
            number += 1
            given = f"{part.id or 'call'}_{number}"
        used.add(given)
        waiting.setdefault(part.id, []).append(given)
        return replace(part, id=given)
    if isinstance(part, ToolResult) and waiting.get(part.id):
        return replace(part, id=waiting[part.id].pop(0))
    return part


def render_left_out(call: ToolCall | None, result: ToolResult, *, repeated: bool = False) -> str:
    """Return what stands where the output of a call was: which file and lines, where it was one, and what shows it
    again. (A client may refuse to read an unchanged file a second time.) `repeated`: a later output shows it."""
    what = "error" if result.failed else "output"
    name, size = (call.name if call else "") or "a tool", f"{len(result.text):,} characters"
    read = find_read(call) if call and not result.failed else None
    if read and repeated:
        return f"[{what} of {name}: {read}, {size}, left out; it was read again later]"
    if read is None or read.by_command:
        return f"[{what} of {name}, {size}, left out; ask for it again if it is needed]"
    return f"[{what} of {name}: {read}, {size}, left out; read it again if it is needed, or use cat if refused]"


def replace_outputs(message: Message, texts: dict[int, str]) -> Message:
    """Return the message with other texts in some of its results, by their places among the parts; itself if there are
    none."""
    if not texts:
        return message
    parts: tuple[Part, ...] = tuple(
        ToolResult(part.id, texts[place], part.status) if isinstance(part, ToolResult) and place in texts else part
        for place, part in enumerate(message.parts)
    )
    return Message(message.role, parts, message.speaker, message.witnesses)


def cap_outputs(message: Message, most_characters: int) -> Message:
    """Return the message with outputs of so many characters at most: their beginning and their end."""
    return replace_outputs(
        message,
        {
            place: _without_middle(part.text, most_characters)
            for place, part in enumerate(message.parts)
            if isinstance(part, ToolResult) and len(part.text) > most_characters
        },
    )


def _without_middle(text: str, most: int) -> str:
    cut = f"\n[{len(text) - most:,} characters left out]\n"
    front = max(0, most - len(cut)) * 2 // 3
    back = max(0, most - len(cut) - front)
    return f"{text[:front]}{cut}{text[len(text) - back :]}"
