"""The three-way comparison: every case of one side, the other side and both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously import BadInput
from previously.formats.directory_merge import (
    DirectoryEdit,
    EditAction,
    EditFate,
    check_decisions,
    compare_messages,
    compare_things,
    decide,
    merge_back,
)
from previously.formats.story_directory import (
    DirectoryContent,
    ExportRecord,
    Fields,
    MessageLine,
    describe_record,
    read_files,
    read_record,
    write_files,
    write_new_files,
    write_record,
)

GRIM: Fields = {"name": "Grim", "type": "character", "keywords": ("bar",), "content": "A barkeeper."}
RECAP: Fields = {"chapter": "1", "messages": "0-3", "text": "It rained."}
BASE = DirectoryContent({"recap": RECAP, "lore:grim": GRIM})
CHANGE, ADD, REMOVE = EditAction.CHANGE, EditAction.ADD, EditAction.REMOVE
APPLY, CONFLICT, REFUSED = EditFate.APPLY, EditFate.CONFLICT, EditFate.REFUSED


def with_grim(**fields: str | tuple[str, ...]) -> DirectoryContent:
    return replace(BASE, things={**BASE.things, "lore:grim": {**GRIM, **fields}})


def without_grim() -> DirectoryContent:
    return replace(BASE, things={"recap": RECAP})


def compare(files: DirectoryContent, story: DirectoryContent) -> list[tuple[str, EditAction, EditFate]]:
    edits = compare_things(describe_record(BASE, "tale", "main"), files, story)
    return [(edit.name, edit.action, edit.fate) for edit in edits]


@pytest.mark.parametrize(
    ("files", "story", "expected"),
    [
        (BASE, BASE, []),
        (BASE, with_grim(content="A smith."), []),
        (with_grim(content="A smith."), BASE, [("lore:grim/content", CHANGE, APPLY)]),
        (with_grim(content="A smith."), with_grim(content="A smith."), []),
        (with_grim(content="A smith."), with_grim(content="A baker."), [("lore:grim/content", CHANGE, CONFLICT)]),
        (with_grim(content="A smith."), with_grim(keywords=()), [("lore:grim/content", CHANGE, APPLY)]),
        (with_grim(name="Grimald"), BASE, [("lore:grim/name", CHANGE, APPLY)]),
        (without_grim(), BASE, [("lore:grim", REMOVE, APPLY)]),
        (without_grim(), without_grim(), []),
        (without_grim(), with_grim(content="A baker."), [("lore:grim", REMOVE, CONFLICT)]),
        (BASE, without_grim(), []),
        (with_grim(content="A smith."), without_grim(), [("lore:grim", ADD, CONFLICT)]),
        (replace(BASE, things={"lore:grim": GRIM}), BASE, [("recap", REMOVE, REFUSED)]),
        (
            replace(BASE, things={**BASE.things, "recap": {**RECAP, "messages": "0-9"}}),
            BASE,
            [("recap/messages", CHANGE, REFUSED)],
        ),
    ],
)
def test_things(
    files: DirectoryContent, story: DirectoryContent, expected: list[tuple[str, EditAction, EditFate]]
) -> None:
    assert compare(files, story) == expected


def test_what_both_have_added_is_compared_by_what_is_given() -> None:
    new: Fields = {"name": "The Mill", "content": "By the weir."}
    files = replace(BASE, things={**BASE.things, "lore:mill": new}, new=frozenset({"lore:mill"}))
    assert compare(files, BASE) == [("lore:mill", ADD, APPLY)]
    same = replace(BASE, things={**BASE.things, "lore:mill": {**new, "type": "concept", "keywords": ("mill",)}})
    assert compare(files, same) == []
    other = replace(BASE, things={**BASE.things, "lore:mill": {**new, "type": "place", "content": "Burnt."}})
    assert compare(files, other) == [("lore:mill/content", CHANGE, CONFLICT)]


# Messages: each is a letter; * marks a hidden one, digits an edit of it


def say(texts: str) -> tuple[MessageLine, ...]:
    seen: dict[str, int] = {}
    lines = []
    for word in texts.split():
        text = word.removesuffix("*")
        seen[text] = seen.get(text, 0) + 1
        ident = text if seen[text] == 1 else f"{text}-{seen[text]}"
        lines.append(MessageLine(text, "user", hidden=word.endswith("*"), id=ident))
    return tuple(lines)


def edit_lines(base: str, files: str) -> tuple[MessageLine, ...]:
    """Lines as somebody left them: those that begin like an exported one are it, +x is new."""
    lines = {line.id: line for line in say(base)}
    return tuple(
        MessageLine(word[1:], "user", line=at)
        if word.startswith("+")
        else replace(lines[word[0]], text=word.removesuffix("*"), hidden=word.endswith("*"), line=at)
        for at, word in enumerate(files.split(), 1)
    )


def compare_lines(base: str, files: str, story: str) -> list[DirectoryEdit]:
    exported = describe_record(DirectoryContent({}, say(base)), "", "").messages
    return compare_messages(exported, edit_lines(base, files), say(story))


@pytest.mark.parametrize(
    ("base", "files", "story", "expected"),
    [
        ("a b c", "a b c", "a b c d", []),
        ("a b c", "a b1 c", "a b c d", [("message:1/content", CHANGE, APPLY, 1)]),
        ("a b c", "a b1 c", "a b1 c", []),
        ("a b c", "a b1 c", "a b2 c", [("message:1/content", CHANGE, CONFLICT, 1)]),
        ("a b c", "a b1 c", "a c", [("message:line-2", ADD, CONFLICT, 1)]),
        ("a b c", "a c", "a b c", [("message:1", REMOVE, APPLY, 1)]),
        ("a b c", "a c", "a c", []),
        ("a b c", "a c", "a b2 c", [("message:1", REMOVE, CONFLICT, 1)]),
        ("a b c", "a c", "a b* c", [("message:1", REMOVE, CONFLICT, 1)]),
        ("a b c", "a b* c", "x a b c", [("message:2/hidden", CHANGE, APPLY, 2)]),
        ("a b c", "a b* c", "a b* c", []),
        ("a b c", "a +n b c +m", "a b c d", [("message:new-2", ADD, APPLY, 1), ("message:new-5", ADD, APPLY, 4)]),
        ("a b c", "a b c +n +m", "a b c n", [("message:new-5", ADD, APPLY, 4)]),
        ("a b c", "a b c +n +m", "a b c m", [("message:new-4", ADD, APPLY, 3)]),
        ("a b c", "a b c +n +m", "a b c n m", []),
        ("a b c", "a +n c", "a n c", []),
        ("a b c", "a +n b1 c", "a n c", [("message:line-3", ADD, CONFLICT, 1)]),
        ("", "+n", "", [("message:new-1", ADD, APPLY, 0)]),
        ("a b", "+n a b", "a b", [("message:new-1", ADD, APPLY, 0)]),
        ("y y y", "y", "y y y", [("message:1", REMOVE, APPLY, 1), ("message:2", REMOVE, APPLY, 2)]),
    ],
)
def test_messages(base: str, files: str, story: str, expected: list[tuple[str, EditAction, EditFate, int]]) -> None:
    edits = compare_lines(base, files, story)
    assert [(edit.name, edit.action, edit.fate, edit.position) for edit in edits] == expected


def test_a_message_is_found_by_the_one_that_it_replaces() -> None:
    base = tuple(replace(line, entry=at) for at, line in enumerate(say("a b c"), 1))
    exported = describe_record(DirectoryContent({}, base), "", "").messages
    story = [*say("a x y c")]
    story[2] = replace(story[2], replaces=2)
    edits = compare_messages(exported, edit_lines("a b c", "a b1 c"), story)
    assert [(edit.name, edit.fate, edit.story) for edit in edits] == [("message:2/content", CONFLICT, "y")]


def test_lines_cannot_be_moved_and_ids_not_made_up() -> None:
    with pytest.raises(BadInput, match=r"messages.jsonl, line 2: a message cannot be moved"):
        compare_lines("a b c", "b a c", "a b c")
    unknown = (*say("a"), MessageLine("n", "user", id="zz", line=2))
    with pytest.raises(BadInput, match=r"line 2: the id 'zz' is of no message"):
        compare_messages(describe_record(DirectoryContent({}, say("a")), "", "").messages, unknown, say("a"))


def test_of_a_message_only_words_and_hiding_are_changed() -> None:
    exported = describe_record(DirectoryContent({}, say("a")), "", "").messages
    (edit,) = compare_messages(exported, [replace(say("a")[0], name="Wren")], say("a"))
    assert (edit.fate, edit.reason) == (REFUSED, "of a message only content and hidden can be changed")


# Decisions, and the directory afterwards


def test_conflicts_are_decided_by_name() -> None:
    record = describe_record(BASE, "tale", "main")
    edits = compare_things(
        record, with_grim(content="A smith.", type="item"), with_grim(content="A baker.", type="rule")
    )
    names = [edit.name for edit in edits]
    assert names == ["lore:grim/type", "lore:grim/content"]
    assert [edit.fate for edit in decide(edits, ["lore:grim"], [])] == [APPLY, APPLY]
    assert decide(edits, [], ["all"]) == []
    mixed = decide(edits, ["all"], ["lore:grim/content"])
    assert [(edit.name, edit.fate) for edit in mixed] == [("lore:grim/type", APPLY)]
    check_decisions(edits, ["all", "lore:grim"], ["all", "lore:grim"])
    with pytest.raises(BadInput, match="no conflict in 'recap'"):
        check_decisions(edits, ["recap"], [])
    with pytest.raises(BadInput, match="no edit of 'recap'"):
        check_decisions(edits, [], ["recap"])
    with pytest.raises(BadInput, match="both ways"):
        decide(edits, ["lore:grim"], ["lore:grim/type"])


@pytest.mark.parametrize("name", ["message:1", "message:1/content", "message:b", "message:b/content"])
def test_a_conflict_of_a_message_is_decided_by_its_position_or_its_id(name: str) -> None:
    edits = compare_lines("a b c", "a b1 c", "a b2 c")
    check_decisions(edits, [name], [])
    assert [(edit.name, edit.fate) for edit in decide(edits, [name], [])] == [("message:1/content", APPLY)]


def test_what_is_left_stays_in_the_files_and_is_found_again() -> None:
    base = replace(BASE, messages=say("a b c d"))
    record = describe_record(base, "tale", "main")
    files = replace(with_grim(content="A smith."), messages=edit_lines("a b c d", "a b1 c1 d"))
    story = replace(with_grim(content="A baker.", keywords=("inn",)), messages=say("a b2 d e"))
    edits = compare_things(record, files, story) + compare_messages(record.messages, files.messages, story.messages)
    expected = [("lore:grim", CONFLICT), ("message:b", CONFLICT), ("message:c", CONFLICT)]
    assert [(edit.address, edit.fate) for edit in edits] == expected
    merged, remembered = merge_back(record, files, story, edits)
    assert merged.things["lore:grim"] == {**GRIM, "content": "A smith.", "keywords": ("inn",)}
    assert {"b1", "c1", "e"} <= {line.text for line in merged.messages}
    written = {**write_files(merged), **write_record(remembered)}
    again = read_files(written)
    known = read_record(written)
    found = compare_things(known, again, story) + compare_messages(known.messages, again.messages, story.messages)
    assert [(edit.address, edit.fate) for edit in found] == expected


def test_a_directory_that_nobody_touched_says_what_the_story_says() -> None:
    content = replace(BASE, messages=say("a b* y y"))
    files = write_new_files(content, "tale", "main")
    record: ExportRecord = read_record(files)
    read = read_files(files)
    assert compare_things(record, read, content) == []
    assert compare_messages(record.messages, read.messages, content.messages) == []
    merged, remembered = merge_back(record, read, content, [])
    assert {**write_files(merged), **write_record(remembered)} == files
