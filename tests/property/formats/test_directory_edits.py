"""Random edits of a directory and of its story: none is lost, none is made twice, and an interrupted run goes on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from previously import BadInput, BlockingMemory, Settings
from previously.formats.directory_merge import EditFate
from previously.formats.story_directory import (
    PATHS,
    DirectoryContent,
    Fields,
    MessageLine,
    read_files,
    write_files,
)
from previously.storage.store import Store
from previously.story.apply_directory import AppliedDirectory
from tests.effort import cases

TOKEN = re.compile(r"tok\d+")
"""Each edit says a word that nothing else says, so that it is known wherever it got to."""

WORDS = st.sampled_from(["The ferry left", "Rain: all day", '- "quoted" # words', "Línea\n\nand more", "是的。", "no"])
ANY = st.integers(0, 1_000)


class Interrupted(Exception):
    """The process ends here."""


class DirectoryMachine(RuleBasedStateMachine):
    """A story and its directory, edited in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = BlockingMemory(":memory:", settings=Settings(tail_messages=1, fold_messages=2))
        self.story = self.memory.story("tale")
        self.numbers = count()
        self.files: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.memory.close()

    def say(self, words: str) -> str:
        return f"{words} tok{next(self.numbers)}"

    @initialize()
    def begin(self) -> None:
        for number in range(5):
            self.story.add("user" if number % 2 else "assistant", self.say("Said"), name="Wren")
        self.story.add("user", "Yes.")
        self.story.add("user", "Yes.")
        self.story.close_chapter("One", 1)
        self.story.fold()
        self.story.write("chapter:1", self.say("A chapter"))
        self.story.write("backbone", self.say("A backbone"))
        self.story.write("recap", self.say("A recap"))
        for name in ("Grim", "The Mill"):
            self.story.write_lore(name, "concept", keywords=[name], content=self.say("It is"))
        self.story.open_thread(self.say("A debt"), due="by Friday")
        self.story.hold(self.say("Wren / place: the mill"))
        self.files = {file.path: file.content for file in self.story.export("directory")}

    # The story goes on

    @rule(words=WORDS)
    def story_adds_a_message(self, words: str) -> None:
        self.story.add("user", self.say(words))

    @rule(at=ANY, words=WORDS, what=st.sampled_from(["edit", "delete", "hide"]))
    def story_changes_a_message(self, at: int, words: str, what: str) -> None:
        messages = self.story.messages()
        if len(messages) < 4:
            return
        position = at % len(messages)
        if what == "edit":
            self.story.edit(position, self.say(words))
        elif what == "delete":
            self.story.delete(position)
        else:
            self.story.hide(position, hidden=not messages[position].entry.attributes.hidden)

    @rule(at=ANY, words=WORDS, what=st.sampled_from(["content", "remove", "rename", "new"]))
    def story_changes_lore(self, at: int, words: str, what: str) -> None:
        entries = self.story.lore()
        if what == "new" or not entries:
            self.story.write_lore(f"Entry {next(self.numbers)}", "item", content=self.say(words))
            return
        entry = entries[at % len(entries)]
        if what == "content":
            self.story.write_lore(entry.name, entry.type, content=self.say(words))
        elif what == "remove":
            self.story.remove_lore(entry.name)
        else:
            self.story.rename_lore(entry.name, f"Renamed {next(self.numbers)}")

    @rule(at=ANY, words=WORDS, what=st.sampled_from(["reword", "settle", "open", "hold", "recap"]))
    def story_changes_the_rest(self, at: int, words: str, what: str) -> None:
        threads = self.story.threads()
        if what in ("reword", "settle") and threads:
            thread = threads[at % len(threads)].thread
            if what == "reword":
                self.story.reword_thread(thread.id, self.say(words))
            else:
                self.story.resolve_thread(thread.id)
        elif what == "hold":
            self.story.hold(self.say("Wren / place: the ferry"))
        elif what == "recap":
            with suppress(BadInput):  # too little was said since the chapter
                self.story.write("recap", self.say(words))
        else:
            self.story.open_thread(self.say(words))

    # Somebody edits files

    def put(self, content: DirectoryContent) -> None:
        """Save what an editor holds; the record stays as it is."""
        hidden = {path: data for path, data in self.files.items() if not PATHS.fullmatch(path)}
        self.files = {**hidden, **write_files(content)}

    @rule(at=ANY, words=WORDS, what=st.sampled_from(["edit", "delete", "hide", "insert", "append"]))
    def files_change_a_message(self, at: int, words: str, what: str) -> None:
        content = read_files(self.files)
        lines = list(content.messages)
        if what == "append" or len(lines) < 3:
            lines.append(MessageLine(self.say(words), "user"))
        elif what == "insert":
            lines.insert(at % len(lines), MessageLine(self.say(words), "assistant", "Odalys"))
        else:
            position = at % len(lines)
            line = lines[position]
            if what == "edit":
                lines[position] = replace(line, text=self.say(words))
            elif what == "hide":
                lines[position] = replace(line, hidden=not line.hidden)
            else:
                del lines[position]
        self.put(replace(content, messages=tuple(lines)))

    @rule(at=ANY, words=WORDS)
    def files_change_a_thing(self, at: int, words: str) -> None:
        content = read_files(self.files)
        address = list(content.things)[at % len(content.things)]
        fields: dict[str, Any] = dict(content.things[address])
        for name in ("content", "text", "line"):
            if name in fields:
                line = f"{fields['line'].partition(': ')[0]}: here" if name == "line" else words
                fields[name] = " ".join(self.say(line).split()) if name == "line" else self.say(words)
                if address.startswith("thread:"):
                    fields[name] = " ".join(fields[name].split())
        if address.startswith("state:") and " / " not in address:
            return
        self.put(replace(content, things={**content.things, address: fields}))

    @rule(at=ANY, what=st.sampled_from(["rename", "remove", "settle", "keywords"]))
    def files_change_a_field(self, at: int, what: str) -> None:
        content = read_files(self.files)
        kind = "thread:" if what == "settle" else "lore:"
        addresses = [address for address in content.things if address.startswith(kind)]
        if not addresses:
            return
        address = addresses[at % len(addresses)]
        things: dict[str, Fields] = dict(content.things)
        changes: Mapping[str, Fields] = {
            "rename": {"name": f"Called {next(self.numbers)}"},
            "settle": {"status": "settled" if at % 2 else "open"},
            "keywords": {"keywords": (f"key {next(self.numbers)}",)},
            "remove": {},
        }
        if what == "remove":
            del things[address]
        else:
            things[address] = {**things[address], **changes[what]}
        self.put(replace(content, things=things))

    @rule(words=WORDS, what=st.sampled_from(["lore", "thread", "state"]))
    def files_add_a_thing(self, words: str, what: str) -> None:
        content, name = read_files(self.files), f"Added {next(self.numbers)}"
        said = " ".join(self.say(words).split())
        things: Mapping[str, Fields] = {
            "lore": {"name": name, "content": said},
            "thread": {"text": said, "status": "open", "due": "", "owner": ""},
            "state": {"line": f"{name} / condition: {said}"},
        }
        address = f"{what}:{name.lower()} / condition" if what == "state" else f"{what}:{name.lower()}"
        new = content.new | ({address} if what != "state" else frozenset())
        self.put(replace(content, things={**content.things, address: things[what]}, new=new))

    # Both meet

    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        self.check(self.interrupt(data))
        again = self.story.apply(self.files)
        assert again.applied == (), "nothing is applied twice"
        assert dict(again.files) == self.files

    @rule(side=st.sampled_from(["keep_files", "keep_story"]))
    def decide(self, side: str) -> None:
        result = self.check(None, **{side: ["all"]})
        assert not [edit for edit in result.left if edit.fate is EditFate.CONFLICT]

    def interrupt(self, data: st.DataObject) -> int | None:
        return data.draw(st.none() | st.integers(0, 4), label="changes until it is interrupted")

    def check(self, stop: int | None, **kept: Any) -> AppliedDirectory:
        files, before, texts = dict(self.files), self.count_tokens(), set(self.find_texts())
        edited = set(TOKEN.findall(" ".join(data.decode() for path, data in files.items() if PATHS.fullmatch(path))))
        plan = self.story.apply(files, preview=True, **kept)
        assert self.count_tokens() == before, "a preview changes nothing"
        if stop is not None:
            with patch_store(stop), suppress(Interrupted):
                self.story.apply(files, **kept)
            kept = {}
        result = self.story.apply(files, **kept)
        self.files = {path: data for path, data in result.files.items() if path not in result.gone}
        after = self.count_tokens()
        in_files = set(TOKEN.findall(" ".join(data.decode() for data in self.files.values())))
        replaced = {token for edit in plan.applied for token in TOKEN.findall(str(edit.story))}
        if any(edit.address.startswith("message:") and edit.files is None for edit in plan.applied):
            replaced |= texts - set(after)  # a chapter without messages is none
        assert set(before) - set(after) <= replaced, "the story loses only what the files have changed"
        given = {token for edit in (*plan.applied, *plan.left) for token in TOKEN.findall(str(edit.files))} & edited
        assert given <= set(after) | in_files, "no edit is lost"
        unchanged = set(before) - replaced
        assert set(after) - set(before) <= given, "only edits come into the story"
        assert unchanged <= set(after)
        return result

    def count_tokens(self) -> Counter[str]:
        said = [item.entry.message.text for item in self.story.messages()]
        said += [entry.content for entry in self.story.lore()]
        said += [listing.thread.text for listing in self.story.threads(everything=True)]
        said += [value.text for value in self.story.state()]
        return Counter([token for text in said for token in TOKEN.findall(text)] + self.find_texts())

    def find_texts(self) -> list[str]:
        """Return the words that people wrote of messages."""
        texts = [self.story.recap(), self.story.backbone(), *(one.recap for one in self.story.chapters())]
        return [token for text in texts if text and text.version is None for token in TOKEN.findall(text.text)]

    @invariant()
    def nothing_is_there_twice(self) -> None:
        twice = [token for token, number in self.count_tokens().items() if number > 1]
        assert not twice


def patch_store(stop: int) -> Any:
    """Let the process end before the change of the store with that number."""
    write, change, made = Store.write, Store._change, count()

    def check() -> None:
        if next(made) >= stop:
            raise Interrupted

    async def write_or_stop(store: Store, *args: Any) -> Any:
        check()
        return await write(store, *args)

    async def change_or_stop(store: Store, *args: Any) -> Any:
        check()
        return await change(store, *args)

    return patch.multiple(Store, write=write_or_stop, _change=change_or_stop)


TestDirectoryMachine = DirectoryMachine.TestCase
TestDirectoryMachine.settings = settings(max_examples=cases(150, quick=5), stateful_step_count=15, deadline=None)
