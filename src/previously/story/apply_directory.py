"""A story as a directory, and edits of its files brought back as edits by hand.

Each edit is one change of the story, made whole or not at all, in the way in which a person makes it elsewhere, so
that `undo` takes it back. An edit that the story refuses is left in the files, as conflicts are. Whoever was
interrupted applies again: what is in the story already is no edit any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Attributes, Draft, message
from previously.core.scripts import casefold
from previously.formats.directory_merge import (
    LISTS,
    DirectoryEdit,
    EditAction,
    EditFate,
    check_decisions,
    compare_messages,
    compare_things,
    decide,
    merge_back,
    refuse_missing,
)
from previously.formats.story_directory import (
    MESSAGES,
    OPEN,
    PATHS,
    SETTLED,
    DirectoryContent,
    ExportRecord,
    Fields,
    read_files,
    read_record,
    write_files,
    write_record,
)
from previously.lore.keys import normalize_name
from previously.runtime.story_moment import StoryMoment
from previously.story.access import StoryAccess
from previously.story.directory_content import read_content
from previously.story.lore_edits import LoreEdits
from previously.story.memory_edits import MemoryEdits, check_text
from previously.story.threads_state import ThreadsState
from previously.story.transcript import Transcript

MOST_TRIES = 5
"""Times that edits of messages are tried while others change the story: a chat moves on once in seconds."""

LATE = frozenset({"cast", "story", "recap", "chapter"})
"""The kinds of things that tell of messages, and hold as long as those are the same."""

Step = tuple[Sequence[DirectoryEdit], Callable[[], Coroutine[Any, Any, object]]]
"""Edits, and what makes them all at once."""


@dataclass(frozen=True, slots=True)
class AppliedDirectory:
    """The outcome of the edits in a directory."""

    story: str
    branch: str
    applied: tuple[DirectoryEdit, ...]
    """Those that were made; in a preview, those that would be."""
    left: tuple[DirectoryEdit, ...]
    """Conflicts, and what the story refused: nothing of them is in the story."""
    files: Mapping[str, bytes]
    """The directory as it should be now; in a preview, as it is."""
    gone: tuple[str, ...] = ()
    """The files that are no part of it any more."""


class DirectoryEdits:
    """Writes one story as a directory, and takes in what was edited there."""

    def __init__(
        self,
        access: StoryAccess,
        name: str,
        transcript: Transcript,
        texts: MemoryEdits,
        lore: LoreEdits,
        state: ThreadsState,
    ) -> None:
        self._access, self._name = access, name
        self._transcript, self._texts, self._lore, self._state = transcript, texts, lore, state

    async def apply(
        self,
        files: Mapping[str, bytes],
        *,
        preview: bool = False,
        keep_files: Collection[str] = (),
        keep_story: Collection[str] = (),
        renamed: bool = False,
    ) -> AppliedDirectory:
        """Bring the edits in an exported directory (its files by their paths) into the story, each as an edit by hand.

        What both sides have changed is a conflict and left alone, unless it is named (`lore:grim/content`, `all`) in
        `keep_files` or `keep_story`. Any other edit that `keep_story` names goes from the files. A fault in a file is a
        `BadInput` that names file and line; then nothing is done. With `renamed`, the story may have had another name
        when it was exported.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.write_lore("Grim", "character", content="A barkeeper.")
        ...     files = {file.path: file.content for file in story.export("directory")}
        ...     files["lore/grim.yaml"] = files["lore/grim.yaml"].replace(b"barkeeper", b"ferryman")
        ...     done = story.apply(files)
        ...     story.lore()[0].content, [edit.name for edit in done.applied]
        ('A ferryman.', ['lore:grim/content'])
        """
        record, given = read_record(files), read_files(files)
        if renamed:
            record = replace(record, story=self._name)
        missing = [path for path in LISTS if path not in files]
        applied: list[DirectoryEdit] = []
        for last in (*[False] * (MOST_TRIES - 1), True):
            there, branch, head = await self._read(record.things)
            known = _adopt_new(record, _fill_lists(given, there, missing), there)
            self._check_story(record, branch)
            edits = compare_things(record, known, there)
            if MESSAGES not in missing:
                edits += compare_messages(record.messages, known.messages, there.messages)
            if not applied:  # else some are decided and done
                check_decisions(edits, keep_files, keep_story)
            edits = decide(edits, keep_files, keep_story)
            to_do = [edit for edit in edits if edit.fate is EditFate.APPLY]
            left = [edit for edit in edits if edit.fate is not EditFate.APPLY]
            unread = [refuse_missing(path, there) for path in missing]
            if preview:
                to_do, refused = await self._foresee(to_do, known, there)
                return AppliedDirectory(self._name, branch, tuple(to_do), (*left, *refused, *unread), files)
            try:
                refused = await self._perform(to_do, applied, known, there, head)
                break
            except HeadMoved:
                if last:
                    raise
        content, _, _ = await self._read({**record.things, **known.things})
        merged, remembered = merge_back(record, known, content, [*left, *refused])
        written = _keep_unchanged(files, {**write_files(merged), **write_record(remembered)})
        gone = tuple(path for path in files if PATHS.fullmatch(path) and path not in written)
        return AppliedDirectory(self._name, branch, tuple(applied), (*left, *refused, *unread), written, gone)

    def _check_story(self, record: ExportRecord, branch: str) -> None:
        if (record.story, record.branch) != (self._name, branch):
            raise BadInput(
                f"This directory is of the story {record.story!r}, branch {record.branch!r}; "
                f"here is {self._name!r}, branch {branch!r}. "
                "If the story was renamed: `previously apply DIR --story NAME`."
            )

    async def _read(self, known: Collection[str] = ()) -> tuple[DirectoryContent, str, int]:
        """Return the story as a directory has it, the branch and its head, all of one moment."""

        def read(moment: StoryMoment) -> tuple[DirectoryContent, str, int]:
            return read_content(moment, self._name, known), moment.snapshot.branch, moment.snapshot.head

        return await self._access.read(read)

    async def _foresee(
        self, edits: Sequence[DirectoryEdit], given: DirectoryContent, there: DirectoryContent
    ) -> tuple[list[DirectoryEdit], list[DirectoryEdit]]:
        """Return the edits that would be made, and those that the story would refuse, as far as that is known before
        others are made: messages that are added may make room for a recap."""
        moves = any(edit.address.startswith("message:") for edit in edits)
        statuses = {edit.address: str(edit.files) for edit in edits if edit.field == "status"}

        def check(moment: StoryMoment, edit: DirectoryEdit) -> None:
            kind = edit.address.partition(":")[0]
            if kind == "thread" and edit.action is EditAction.CHANGE and edit.field != "status":
                was = there.things[edit.address]
                status = statuses.get(edit.address, was["status"])
                _check_thread(edit.field, {**given.things[edit.address], "status": status}, was)
            elif kind in ("story", "recap", "chapter") and edit.field == "text" and not moves:
                check_text(moment.snapshot, moment.rules, _name_text(edit), str(edit.files))

        def read(moment: StoryMoment) -> list[DirectoryEdit]:
            foreseen: list[DirectoryEdit] = []
            for edit in edits:
                try:
                    check(moment, edit)
                    foreseen.append(edit)
                except BadInput as error:
                    foreseen.append(replace(edit, fate=EditFate.REFUSED, reason=_make_reason(error)))
            return foreseen

        foreseen = await self._access.read(read)
        made = [edit for edit in foreseen if edit.fate is EditFate.APPLY]
        return made, [edit for edit in foreseen if edit.fate is not EditFate.APPLY]

    async def _perform(
        self,
        edits: Sequence[DirectoryEdit],
        applied: list[DirectoryEdit],
        given: DirectoryContent,
        there: DirectoryContent,
        head: int,
    ) -> list[DirectoryEdit]:
        """Make the edits and note each as applied; return those that the story refuses. What hangs on notes comes
        before messages, whose edits make notes stale; what tells of messages comes last, so that it is not older than
        they are."""
        groups: dict[str, list[DirectoryEdit]] = {}
        for edit in edits:
            groups.setdefault(edit.address, []).append(edit)
        kinds = {address: address.partition(":")[0] for address in groups}
        steps = {
            address: [
                *self._list_steps(kinds[address], group, given.things.get(address, {}), there.things.get(address, {}))
            ]
            for address, group in groups.items()
            if kinds[address] != "message"
        }
        early, late = (
            [step for address in steps if (kinds[address] in LATE) == is_late for step in steps[address]]
            for is_late in (False, True)
        )
        refused = await _take_steps(early, applied)
        messages = [edit for edit in edits if kinds[edit.address] == "message"]
        refused += await self._change_messages(messages, applied, len(there.messages), head)
        return refused + await _take_steps(late, applied)

    def _list_steps(self, kind: str, group: list[DirectoryEdit], given: Fields, there: Fields) -> Iterator[Step]:
        """Yield the changes that make the edits of one thing."""
        changed = {edit.field: edit for edit in group if edit.field}
        is_gone = group[0].action is EditAction.REMOVE
        match kind:
            case "lore":
                yield from self._list_lore_steps(group, changed, given, there)
            case "cast":
                fields = {} if is_gone else {**there, **{name: given[name] for name in changed or given}}
                name = str((there or given)["name"])
                summary, facts = str(fields.get("summary", "")), tuple(fields.get("facts", ()))
                yield group, lambda: self._texts.write_knowledge(name, summary, facts)
            case "state":
                line = str((there if is_gone else given)["line"])
                yield group, lambda: self._state.end_held(line) if is_gone else self._state.hold(line)
            case "thread":
                yield from self._list_thread_steps(group, changed, given, there)
            case _:
                yield from (([edit], self._make_text_change(edit)) for edit in group)

    def _list_lore_steps(
        self, group: list[DirectoryEdit], changed: Mapping[str, DirectoryEdit], given: Fields, there: Fields
    ) -> Iterator[Step]:
        if group[0].action is EditAction.REMOVE:
            yield group, lambda: self._lore.remove_lore(str(there["name"]))
            return
        if "name" in changed:
            yield [changed["name"]], lambda: self._lore.rename_lore(str(there["name"]), str(given["name"]))
        rest = [edit for edit in group if edit.field != "name"]
        if not rest:
            return

        async def write() -> object:
            known = await self._lore.lore(everything=True)
            names = [entry.name for entry in known if entry.by != "book"]
            wished = (given["name"], there.get("name")) if "name" in changed else (there.get("name"),)
            name = next((name for name in wished if name in names), given["name"])
            keywords = given.get("keywords") if "keywords" in changed or not changed else None
            content = given.get("content") if "content" in changed or not changed else None
            kind = str(given.get("type", "")) if "type" in changed or not changed else str(there["type"])
            return await self._lore.write_lore(
                str(name), kind, keywords=None if keywords is None else tuple(keywords),
                content=None if content is None else str(content),
            )  # fmt: skip

        yield rest, write

    def _list_thread_steps(
        self, group: list[DirectoryEdit], changed: Mapping[str, DirectoryEdit], given: Fields, there: Fields
    ) -> Iterator[Step]:
        ident = group[0].address.partition(":")[2]
        text, due, owner = (str(given.get(name, "")) for name in ("text", "due", "owner"))
        if group[0].action is EditAction.REMOVE:
            yield group, lambda: self._state.remove_thread(ident)
            return
        if not changed:

            async def open_thread() -> object:
                await self._state.open_thread(text, due, owner)
                return await self._state.resolve_thread(text) if given["status"] == SETTLED else None

            yield group, open_thread
            return
        status = str(given["status"] if "status" in changed else there["status"])
        if "status" in changed and status == OPEN:
            yield [changed["status"]], lambda: self._state.reopen_thread(ident)
        rest = [edit for name, edit in changed.items() if name != "status"]

        async def edit_thread() -> object:
            for edit in rest:
                _check_thread(edit.field, {**given, "status": status}, there)
            words, date = text if "text" in changed else "", due if "due" in changed else ""
            return await self._state.edit_thread(ident, words, due=date, owner=owner if "owner" in changed else None)

        if rest:
            yield rest, edit_thread
        if "status" in changed and status == SETTLED:
            yield [changed["status"]], lambda: self._state.resolve_thread(ident)

    def _make_text_change(self, edit: DirectoryEdit) -> Callable[[], Coroutine[Any, Any, object]]:
        words = str(edit.files)
        if edit.field == "title":
            return lambda: self._texts.name_chapter(int(edit.address.partition(":")[2]), words)
        return lambda: self._texts.write(_name_text(edit), words)

    async def _change_messages(
        self, edits: Sequence[DirectoryEdit], applied: list[DirectoryEdit], count: int, head: int
    ) -> list[DirectoryEdit]:
        """Make the edits of messages: what is added at the end first, then from the end to the beginning, so that none
        moves the place of another."""
        refused: list[DirectoryEdit] = []
        ends = [edit.action is EditAction.ADD and edit.position >= count for edit in edits]
        order = sorted(
            range(len(edits)),
            key=lambda at: (0, at) if ends[at] else (1, -edits[at].position, edits[at].action is EditAction.ADD, -at),
        )
        for at in order:
            try:
                head = await self._change_message(edits[at], head, at_end=ends[at])
                applied.append(edits[at])
            except BadInput as error:
                refused.append(replace(edits[at], fate=EditFate.REFUSED, reason=_make_reason(error)))
        return refused

    async def _change_message(self, edit: DirectoryEdit, head: int, *, at_end: bool) -> int:
        line, transcript = edit.line, self._transcript
        if line is None:
            return (await transcript.delete(edit.position, expected_head=head)).head
        if edit.field == "content":
            return (await transcript.edit(edit.position, line.text, expected_head=head)).head
        if edit.field == "hidden":
            return (await transcript.hide(edit.position, hidden=line.hidden, expected_head=head)).head
        if at_end:
            said = message(line.role, line.text, speaker=line.name or None, witnesses=line.witnesses)
            draft = Draft(said, Attributes(line.at or None, hidden=line.hidden))
            return (await transcript.add_drafts([draft], expected_head=head, undoable=True)).head
        branch = await transcript.insert(
            edit.position, line.role, line.text, name=line.name or None, witnesses=line.witnesses, at=line.at or None,
            hidden=line.hidden, expected_head=head,
        )  # fmt: skip
        return branch.head


def _name_text(edit: DirectoryEdit) -> str:
    return "backbone" if edit.address == "story" else edit.address


def _check_thread(field: str, given: Fields, there: Fields) -> None:
    """Raise `BadInput` for a change of a thread that cannot be made."""
    if there["status"] == given["status"] == SETTLED:
        raise BadInput("A settled thread stays as it is; make its status open to change it.")
    if field == "due" and not given.get("due"):
        raise BadInput("The date of a thread can be changed, and not taken away.")


async def _take_steps(steps: Sequence[Step], applied: list[DirectoryEdit]) -> list[DirectoryEdit]:
    refused: list[DirectoryEdit] = []
    for edits, change in steps:
        try:
            await change()
            applied += edits
        except BadInput as error:
            refused += [replace(edit, fate=EditFate.REFUSED, reason=_make_reason(error)) for edit in edits]
    return refused


def _make_reason(error: BadInput) -> str:
    sentence = str(error).rstrip(".")
    return f"{sentence[:1].lower()}{sentence[1:]}"


def _fill_lists(given: DirectoryContent, there: DirectoryContent, missing: Sequence[str]) -> DirectoryContent:
    """Return what the files say, where a list whose file is missing says what the story does."""
    kinds = [LISTS[path] for path in missing]
    told = {address: fields for address, fields in there.things.items() if address.partition(":")[0] in kinds}
    return replace(given, things={**given.things, **told})


def _adopt_new(record: ExportRecord, given: DirectoryContent, there: DirectoryContent) -> DirectoryContent:
    """Return what the files say, where what is new in them and is in the story already has its address there: both
    have added it, or an earlier run was interrupted."""
    addresses = {_find_label(address, fields): address for address, fields in there.things.items()}
    things, paths = dict(given.things), dict(given.paths)
    for address in given.new - record.things.keys():
        label = _find_label(address, given.things[address])
        own = addresses.get(label, address)
        if own == address or (own in given.things and _find_label(own, given.things[own]) != label):
            continue
        if own in given.things:
            raise BadInput(f"{given.paths[address]}: {label[1]!r} is in {given.paths[own]} already.")
        things[own], paths[own] = things.pop(address), paths.pop(address)
    return replace(given, things=things, paths=paths)


def _find_label(address: str, fields: Fields) -> tuple[str, str]:
    """Return what a thing is known by where it has no id yet: its name, or its words."""
    kind, name = address.partition(":")[0], str(fields.get("name", ""))
    return kind, normalize_name(name) if name else casefold(str(fields.get("text", address)))


def _keep_unchanged(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the new files, each as it was where it says the same: with its comments and its own layout."""
    kept = dict(new)
    for path, content in new.items():
        if path in old and old[path] != content and PATHS.fullmatch(path):
            before, after = read_files({path: old[path]}), read_files({path: content})
            if (before.things, before.new) == (after.things, after.new) and _list_said(before) == _list_said(after):
                kept[path] = old[path]
    return kept


def _list_said(content: DirectoryContent) -> list[object]:
    return [replace(line, line=0) for line in content.messages]
