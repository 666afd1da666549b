"""The three-way comparison of a directory: what was exported, what the files say now, what the story says now.

An edit is what only the files have changed. What both have changed, each otherwise, is a conflict; it is shown and
stays until somebody decides. What only the story has changed comes into the files. Messages are compared in their
order: the ids of lines say what a line was, and the story's messages are found by what they say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum

from previously.core.errors import BadInput
from previously.formats.story_directory import (
    MESSAGES,
    STATE,
    THREADS,
    DirectoryContent,
    ExportedMessage,
    ExportedThing,
    ExportRecord,
    Fields,
    MessageLine,
    describe_record,
    hash_fields,
    make_hash,
)
from previously.formats.yaml_text import FieldValue

ALL = "all"
"""The name of every item, where somebody decides about conflicts."""

FIXED: Mapping[str, frozenset[str]] = {
    "story": frozenset({"story", "branch", "messages", "chapters"}),
    "recap": frozenset({"chapter", "messages"}),
    "chapter": frozenset({"messages"}),
    "cast": frozenset({"name"}),
}
"""The fields that only tell something: a file cannot change them."""

LASTING = frozenset({"story", "recap", "chapter"})
"""The kinds of things that no missing file takes away."""

LISTS: Mapping[str, str] = {MESSAGES: "message", THREADS: "thread", STATE: "state"}
"""The files that hold many things, and their kind: one of these is missing by mistake, for to remove is to take away a
line."""

STAYS = "no missing file takes it away; it is written again"


class EditAction(StrEnum):
    """The change that a file makes."""

    CHANGE = "change"
    ADD = "add"
    REMOVE = "remove"


class EditFate(StrEnum):
    """The decision about a change."""

    APPLY = "apply"
    CONFLICT = "conflict"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DirectoryEdit:
    """One change that the files make in a field of a thing, in a message, or in a thing as a whole."""

    address: str
    field: str
    """Empty for the thing as a whole."""
    action: EditAction
    story: FieldValue | None
    """The words of the story now; None where it has no such thing."""
    files: FieldValue | None
    """The words of the files; None where they have no such thing."""
    fate: EditFate = EditFate.APPLY
    reason: str = ""
    """The reason why it is refused, or a conflict."""
    position: int = -1
    """The place of the message in the story, or the one at which it is put in."""
    gap: int = -1
    """The number of exported messages before a new line."""
    line: MessageLine | None = None

    @property
    def thing(self) -> str:
        """Return what the thing is called where somebody decides about it: a message by its position, for nobody reads
        ids; one that the story does not have by its line in the file."""
        if _find_kind(self.address) != "message" or self.gap >= 0:
            return self.address
        return f"message:line-{self.line.line}" if self.line and self.story is None else f"message:{self.position}"

    @property
    def name(self) -> str:
        """Return what it is called where somebody decides about it."""
        return f"{self.thing}/{self.field}" if self.field else self.thing

    @property
    def names(self) -> set[str]:
        """Return every name by which somebody may decide about it."""
        by_id = f"{self.address}/{self.field}" if self.field else self.address
        return {self.name, self.thing, by_id, self.address}


def compare_things(record: ExportRecord, files: DirectoryContent, story: DirectoryContent) -> list[DirectoryEdit]:
    """Return every change that the files make in things, field by field."""
    edits: list[DirectoryEdit] = []
    for address in dict.fromkeys([*record.things, *files.things]):
        exported, given, there = record.things.get(address), files.things.get(address), story.things.get(address)
        if given is None:
            edits += _compare_missing(address, exported, there)
        elif there is None:
            if exported is None or hash_fields(given) != exported.fields:
                edits.append(_judge_new(address, exported, given))
        else:
            edits += _compare_fields(address, exported.fields if exported else {}, given, there)
    return edits


def _compare_missing(address: str, exported: ExportedThing | None, there: Fields | None) -> Iterator[DirectoryEdit]:
    """Yield the removal of a thing whose file is gone."""
    if there is None or exported is None:
        return
    gone = DirectoryEdit(address, "", EditAction.REMOVE, _show_fields(there), None)
    if _find_kind(address) in LASTING:
        yield replace(gone, fate=EditFate.REFUSED, reason=STAYS)
    elif hash_fields(there) != exported.fields:
        yield replace(gone, fate=EditFate.CONFLICT, reason="the files have removed what the story has changed")
    else:
        yield gone


def refuse_missing(path: str, story: DirectoryContent) -> DirectoryEdit:
    """Return the refusal of a file of many things that is missing."""
    kind = LISTS[path]
    count = len(story.messages) if path == MESSAGES else sum(_find_kind(address) == kind for address in story.things)
    holds = f"{path.partition('.')[0]}: {count:,}"
    return DirectoryEdit(path, "", EditAction.REMOVE, holds, None, fate=EditFate.REFUSED, reason=STAYS)


def _judge_new(address: str, exported: ExportedThing | None, given: Fields) -> DirectoryEdit:
    """Return the addition of a thing that the story does not have."""
    new = DirectoryEdit(address, "", EditAction.ADD, None, _show_fields(given))
    if exported is not None:
        return replace(new, fate=EditFate.CONFLICT, reason="the files have changed what the story has removed")
    if _find_kind(address) in LASTING:
        return replace(new, fate=EditFate.REFUSED, reason="there is no such chapter in the story")
    return new


def _compare_fields(address: str, exported: Mapping[str, str], given: Fields, there: Fields) -> Iterator[DirectoryEdit]:
    for name, stands in there.items():
        says = given.get(name)
        if says is None and exported:
            says = () if isinstance(stands, tuple) else ""
        if says is None or says == stands or make_hash(says) == exported.get(name):
            continue
        edit = DirectoryEdit(address, name, EditAction.CHANGE, stands, says)
        if name in FIXED.get(_find_kind(address), ()):
            yield replace(edit, fate=EditFate.REFUSED, reason=f"{name} cannot be changed in a file")
        elif make_hash(stands) != exported.get(name):
            yield replace(edit, fate=EditFate.CONFLICT, reason="both have changed it")
        else:
            yield edit


def _find_kind(address: str) -> str:
    return address.partition(":")[0]


def _show_fields(fields: Fields) -> str:
    lines = (
        f"{name}: {value if isinstance(value, str) else ', '.join(value)}" for name, value in fields.items() if value
    )
    return "\n".join(lines)


# Messages


def pair_messages(
    exported: Sequence[ExportedMessage], there: Sequence[MessageLine], added: Collection[tuple[str, str, str]] = ()
) -> list[int | None]:
    """Return for each exported message where it stands in the story now, as it was or edited; None where it is gone.
    What the files have `added` is no edit of another: an interrupted run may have put it there."""
    pairs: list[int | None] = [None] * len(exported)
    olds, news = [_find_digest(one.id) for one in exported], [_find_digest(one.id) for one in there]
    for old_first, old_end, new_first, new_end, same in _align(olds, news):
        places = [at for at in range(new_first, new_end) if same or there[at].said not in added]
        if same or len(places) == old_end - old_first:
            for at, place in zip(range(old_first, old_end), places, strict=True):
                if same or exported[at].fixed == there[place].fixed:  # an edit changes only words
                    pairs[at] = place
            continue
        edited = {there[at].replaces: at for at in places if there[at].replaces}
        newest = new_first - 1
        for at in range(old_first, old_end):
            place = edited.get(exported[at].entry, -1)
            if exported[at].entry and place > newest:
                pairs[at] = newest = place
    return pairs


def _find_slot(pairs: Sequence[int | None]) -> int:
    """Return the place behind all of these."""
    return max((place for place in pairs if place is not None), default=-1) + 1


def _find_digest(ident: str) -> str:
    return ident.partition("-")[0]


def _align(olds: Sequence[object], news: Sequence[object]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yield the runs of two lists, and whether they are the same. Equal ends are taken off first, for most are."""
    front = 0
    while front < min(len(olds), len(news)) and olds[front] == news[front]:
        front += 1
    back = 0
    while back < min(len(olds), len(news)) - front and olds[-1 - back] == news[-1 - back]:
        back += 1
    old_end, new_end = len(olds) - back, len(news) - back
    yield 0, front, 0, front, True
    matcher = SequenceMatcher(None, olds[front:old_end], news[front:new_end], autojunk=False)
    for tag, first, end, new_first, end_new in matcher.get_opcodes():
        yield front + first, front + end, front + new_first, front + end_new, tag == "equal"
    yield old_end, len(olds), new_end, len(news), True


def compare_messages(
    exported: Sequence[ExportedMessage], lines: Sequence[MessageLine], there: Sequence[MessageLine]
) -> list[DirectoryEdit]:
    """Return every change that the lines make in messages, each with its position in the story, in their order."""
    index = {one.id: at for at, one in enumerate(exported)}
    pairs = pair_messages(exported, there, {line.said for line in lines if line.id not in index})
    given: dict[int, MessageLine] = {}
    gaps: dict[int, list[MessageLine]] = {}
    before = 0
    for line in lines:
        at = index.get(line.id)
        if at is None:
            gaps.setdefault(before, []).append(line)
        elif at < before:
            raise BadInput(f"messages.jsonl, line {line.line}: a message cannot be moved; it stood further up.")
        else:
            given[at] = line
            before = at + 1
    edits: list[DirectoryEdit] = []
    slot = 0  # behind all that were met so far
    for at in range(len(exported) + 1):
        edits += _compare_gap(at, gaps.get(at, []), pairs, there)
        if at < len(exported):
            place = pairs[at]
            message = None if place is None else there[place]
            position = slot if place is None else place
            slot = slot if place is None else place + 1
            edits += _compare_line(exported[at], given.get(at), message, position)
    return edits


def _compare_line(
    exported: ExportedMessage, given: MessageLine | None, there: MessageLine | None, position: int
) -> Iterator[DirectoryEdit]:
    address = f"message:{exported.id}"
    if given is None:
        if there is not None:
            gone = DirectoryEdit(address, "", EditAction.REMOVE, there.text, None, position=position)
            same = make_hash(there.text) == exported.text and there.hidden == exported.hidden
            reason = "the files have removed what the story has changed"
            yield gone if same else replace(gone, fate=EditFate.CONFLICT, reason=reason)
        return
    reworded = make_hash(given.text) != exported.text
    if given.fixed != exported.fixed and (there is None or given.fixed != there.fixed):
        was, now = _show_message(there) if there else None, _show_message(given)
        edit = DirectoryEdit(address, "fixed", EditAction.CHANGE, was, now, position=position, line=given)
        yield replace(edit, fate=EditFate.REFUSED, reason="of a message only content and hidden can be changed")
    elif there is None:
        if reworded or given.hidden != exported.hidden:
            new = DirectoryEdit(address, "", EditAction.ADD, None, given.text, position=position, line=given)
            yield replace(new, fate=EditFate.CONFLICT, reason="the files have changed what the story has removed")
    else:
        if reworded and there.text != given.text:
            edit = DirectoryEdit(
                address, "content", EditAction.CHANGE, there.text, given.text, position=position, line=given
            )
            if make_hash(there.text) != exported.text:
                edit = replace(edit, fate=EditFate.CONFLICT, reason="both have changed it")
            yield edit
        if given.hidden != exported.hidden and there.hidden != given.hidden:
            was, now = ("hidden" if line.hidden else "shown" for line in (there, given))
            yield DirectoryEdit(address, "hidden", EditAction.CHANGE, was, now, position=position, line=given)


def _show_message(line: MessageLine) -> str:
    """Return a message with all that a file cannot change of it."""
    return _show_fields({
        "role": line.role, "name": line.name, "witnesses": line.witnesses or (), "at": line.at, "content": line.text,
    })  # fmt: skip


def _compare_gap(
    gap: int, new: Sequence[MessageLine], pairs: Sequence[int | None], there: Sequence[MessageLine]
) -> Iterator[DirectoryEdit]:
    """Yield the new lines between two exported messages that the story does not have there yet."""
    if not new:
        return
    first = _find_slot(pairs[:gap])
    end = min((place for place in pairs[gap:] if place is not None), default=len(there))
    known = {place for place in pairs if place is not None}
    places = [place for place in range(first, end) if place not in known]
    for new_first, new_end, _, end_there, same in _align([one.said for one in new], [there[at].said for at in places]):
        position = places[end_there] if end_there < len(places) else max(first, end)
        for line in () if same else new[new_first:new_end]:
            if line.id:
                raise BadInput(
                    f"messages.jsonl, line {line.line}: the id {line.id[:40]!a} is of no message that was exported; "
                    "a new message has no id."
                )
            address = f"message:new-{line.line}"
            yield DirectoryEdit(
                address, "", EditAction.ADD, None, line.text, position=position, gap=gap, line=line
            )  # fmt: skip


# Decisions, and the directory afterwards


def check_decisions(edits: Sequence[DirectoryEdit], keep_files: Collection[str], keep_story: Collection[str]) -> None:
    """Raise `BadInput` where somebody decides about what is no conflict, or gives up what is no edit."""
    conflicts = {name for edit in edits if edit.fate is EditFate.CONFLICT for name in edit.names}
    every = {name for edit in edits for name in edit.names}
    for name in keep_files:
        if name not in conflicts | {ALL}:
            raise BadInput(f"There is no conflict in {name!r}.")
    for name in keep_story:
        if name not in every | {ALL}:
            raise BadInput(f"There is no edit of {name!r}.")


def decide(
    edits: Sequence[DirectoryEdit], keep_files: Collection[str], keep_story: Collection[str]
) -> list[DirectoryEdit]:
    """Return the edits with the conflicts decided that somebody has decided: those for the story are gone, and so is
    any other edit that is named for it."""
    decided: list[DirectoryEdit] = []
    for edit in edits:
        is_open = edit.fate is EditFate.CONFLICT
        for_files, for_story = edit.names & set(keep_files), edit.names & set(keep_story)
        if for_files and for_story:
            raise BadInput(f"{edit.name!r} cannot be kept both ways.")
        if is_open and (for_files or (ALL in keep_files and not for_story)):
            decided.append(replace(edit, fate=EditFate.APPLY))
        elif not (for_story or (is_open and ALL in keep_story)):
            decided.append(edit)
    return decided


def merge_back(
    record: ExportRecord, files: DirectoryContent, story: DirectoryContent, left: Sequence[DirectoryEdit]
) -> tuple[DirectoryContent, ExportRecord]:
    """Return the directory after edits were applied, and what is remembered of it: all is as the story says now, but
    for the edits that were left, which stand in the files as they were."""
    things: dict[str, Fields] = dict(story.things)
    made = describe_record(replace(story, paths={**files.paths, **story.paths}), record.story, record.branch)
    exported = dict(made.things)
    new: set[str] = set()
    for edit in left:
        address = edit.address
        if _find_kind(address) == "message" or (edit.files is None and _find_kind(address) in LASTING):
            continue
        before = record.things.get(address)
        if edit.files is None:
            things.pop(address, None)
        elif not edit.field or address not in things:
            things[address] = files.things[address]
        else:
            things[address] = {**things[address], edit.field: edit.files}
        if not edit.field or address not in exported:
            exported.pop(address, None)
            exported |= {address: before} if before else {}
            new |= {address} & files.new if before is None else set()
        else:
            hashes = dict(exported[address].fields)
            hashes.pop(edit.field)
            hashes |= {edit.field: before.fields[edit.field]} if before and edit.field in before.fields else {}
            exported[address] = replace(exported[address], fields=hashes)
    messages, known = _merge_messages(record, files, story, left)
    paths = {**story.paths, **{address: path for address, path in files.paths.items() if address in things}}
    content = DirectoryContent(things, tuple(messages), paths, frozenset(new))
    return content, ExportRecord(record.story, record.branch, exported, tuple(known))


def _merge_messages(
    record: ExportRecord, files: DirectoryContent, story: DirectoryContent, left: Sequence[DirectoryEdit]
) -> tuple[list[MessageLine], list[ExportedMessage]]:
    addresses = dict.fromkeys(edit.address for edit in left if _find_kind(edit.address) == "message")
    idents = [address.partition(":")[2] for address in addresses]
    numbered = _avoid_ids(story.messages, set(idents))
    made = describe_record(DirectoryContent({}, tuple(numbered)), "", "").messages
    lines: list[list[MessageLine]] = [[]] + [[line] for line in numbered]
    known: list[list[ExportedMessage]] = [[]] + [[one] for one in made]
    index = {one.id: at for at, one in enumerate(record.messages)}
    added = {line.said for line in files.messages if line.id not in index}
    pairs = pair_messages(record.messages, story.messages, added)
    given = {line.id: line for line in files.messages if line.id}
    for ident in idents:
        edit = next(edit for edit in left if edit.address == f"message:{ident}")
        at = index.get(ident)
        slot = _find_slot(pairs[: edit.gap if at is None else at])
        if at is None:
            lines[slot] += [edit.line] if edit.line else []
            continue
        place = pairs[at]
        if place is None:
            lines[slot] += [given[ident]] if ident in given else []
            known[slot].append(record.messages[at])
        else:
            lines[place + 1][0:1] = [given[ident]] if ident in given else []
            known[place + 1][0:1] = [record.messages[at]]
    return [line for slot in lines for line in slot], [one for slot in known for one in slot]


def _avoid_ids(lines: Sequence[MessageLine], taken: Collection[str]) -> list[MessageLine]:
    """Return messages with other ids where theirs are those of lines that are left."""
    used, renamed = {*taken, *(line.id for line in lines)}, []
    for line in lines:
        ident = line.id
        if ident in taken:
            digest = _find_digest(ident)
            ident = next(other for number in range(2, len(used) + 3) if (other := f"{digest}-{number}") not in used)
            used.add(ident)
        renamed.append(replace(line, id=ident))
    return renamed
