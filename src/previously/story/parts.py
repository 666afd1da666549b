"""The parts of a story, each loaded when it is first used.

To list lore, or what was logged, needs a fraction of the engine; a command that does so would wait for all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from previously.story.access import StoryAccess

if TYPE_CHECKING:
    from previously.models.client import Model
    from previously.runtime.writer import MemoryWriter
    from previously.story.apply_directory import DirectoryEdits
    from previously.story.ask import Questions
    from previously.story.export import StoryExport
    from previously.story.history import History
    from previously.story.intake import StoryIntake
    from previously.story.lore_edits import LoreEdits
    from previously.story.memory_edits import MemoryEdits
    from previously.story.memory_texts import MemoryTexts
    from previously.story.presence import PresenceEdits
    from previously.story.replies import Replies
    from previously.story.searches import Searches
    from previously.story.sources import Sources
    from previously.story.things import Things
    from previously.story.threads_state import ThreadsState
    from previously.story.transcript import Transcript
    from previously.story.tree import StoryTree
    from previously.story.turns import Turns
    from previously.story.views import StoryViews


class StoryParts:
    """The parts of one story."""

    def __init__(self, access: StoryAccess, name: str, writer: MemoryWriter, model: Model | None) -> None:
        self._access, self._name, self._writer, self._model = access, name, writer, model

    @cached_property
    def presence(self) -> PresenceEdits:
        from previously.story.presence import PresenceEdits

        return PresenceEdits(self._access)

    @cached_property
    def transcript(self) -> Transcript:
        from previously.story.transcript import Transcript

        return Transcript(self._access, self.presence)

    @cached_property
    def views(self) -> StoryViews:
        from previously.story.views import StoryViews

        return StoryViews(self._access, self._name)

    @cached_property
    def texts(self) -> MemoryTexts:
        from previously.story.memory_texts import MemoryTexts

        return MemoryTexts(self._access)

    @cached_property
    def edits(self) -> MemoryEdits:
        from previously.story.memory_edits import MemoryEdits

        return MemoryEdits(self._access)

    @cached_property
    def history(self) -> History:
        from previously.story.history import History

        return History(self._access)

    @cached_property
    def sources(self) -> Sources:
        from previously.story.sources import Sources

        return Sources(self._access)

    @cached_property
    def lore(self) -> LoreEdits:
        from previously.story.lore_edits import LoreEdits

        return LoreEdits(self._access)

    @cached_property
    def state(self) -> ThreadsState:
        from previously.story.threads_state import ThreadsState

        return ThreadsState(self._access)

    @cached_property
    def turns(self) -> Turns:
        from previously.story.turns import Turns

        return Turns(self._access)

    @cached_property
    def things(self) -> Things:
        from previously.story.things import Things

        return Things(
            self._access, self._name, self.transcript, self.texts, self.edits, self.history, self.lore, self.state
        )

    @cached_property
    def replies(self) -> Replies:
        from previously.story.replies import Replies

        return Replies(self._access, self._name, self.transcript, self.views, self.presence, self._model)

    @cached_property
    def tree(self) -> StoryTree:
        from previously.story.tree import StoryTree

        return StoryTree(self._access)

    @cached_property
    def searches(self) -> Searches:
        from previously.story.searches import Searches

        return Searches(self._access, self._writer)

    @cached_property
    def questions(self) -> Questions:
        from previously.story.ask import Questions

        return Questions(self._access, self._writer)

    @cached_property
    def export(self) -> StoryExport:
        from previously.story.export import StoryExport

        return StoryExport(self._access, self._name, self.transcript, self.texts, self.lore, self.state)

    @cached_property
    def directory(self) -> DirectoryEdits:
        from previously.story.apply_directory import DirectoryEdits

        return DirectoryEdits(self._access, self._name, self.transcript, self.edits, self.lore, self.state)

    @cached_property
    def intake(self) -> StoryIntake:
        from previously.story.intake import StoryIntake

        return StoryIntake(self._access, self._name, self.transcript)


class StoryPart(NamedTuple):
    """A part of a story: where its class is, and the public async methods of it, which are the story's own."""

    module: str
    kind: str
    methods: str

    def load(self) -> type:
        """Return the class."""
        kind: type = getattr(import_module(f"previously.story.{self.module}"), self.kind)
        return kind


PARTS: Mapping[str, StoryPart] = {
    "transcript": StoryPart(
        "transcript",
        "Transcript",
        "add add_drafts branch branch_info branches choose compare count_swipes delete edit follow "
        "follow_branch header hide insert keep_header messages moves regenerate rename_branch swipes switch "
        "unhide",
    ),
    "views": StoryPart("views", "StoryViews", "continues info last_view report_usage view view_at_once why"),
    "searches": StoryPart("searches", "Searches", "search search_with_model"),
    "questions": StoryPart("ask", "Questions", "ask"),
    "texts": StoryPart(
        "memory_texts",
        "MemoryTexts",
        "analyses backbone brief cast chapters end_scene episodes gaps list_key_facts memory_map notes "
        "notes_in_force recap scenes who_knows",
    ),
    "edits": StoryPart(
        "memory_edits",
        "MemoryEdits",
        "close_chapter dismiss dismissed flagged lock name_chapter open_chapter pin pins reword_pin unlock "
        "unpin write write_knowledge",
    ),
    "history": StoryPart(
        "history",
        "History",
        "approve failures log pending reject restore take_back telling to_undo undo",
    ),
    "sources": StoryPart("sources", "Sources", "blame"),
    "presence": StoryPart(
        "presence",
        "PresenceEdits",
        "absent enter leave merge_cast presence present set_presence unset_presence",
    ),
    "lore": StoryPart(
        "lore_edits",
        "LoreEdits",
        "accept_lore attach_book attached_books detach_book explain_lore lock_lore lore merge_lore "
        "remove_lore rename_lore unlock_lore write_lore",
    ),
    "state": StoryPart(
        "threads_state",
        "ThreadsState",
        "edit_thread end_held hold merge_threads open_thread people players remove_thread reopen_thread "
        "resolve_thread reword_held reword_thread reword_wish state threads wishes withdraw_wish",
    ),
    "turns": StoryPart("turns", "Turns", "finish_turn newest_version overrule_turn replace_end rewind turn_record"),
    "things": StoryPart(
        "things",
        "Things",
        "compare_texts edit_thing find_listed lock_thing pin_thing read_thing read_words remove_thing "
        "restore_thing trace unlock_thing versions_of",
    ),
    "replies": StoryPart("replies", "Replies", "change_setup reply reply_again reply_longer setup"),
    "tree": StoryPart("tree", "StoryTree", "tree"),
    "export": StoryPart("export", "StoryExport", "export"),
    "directory": StoryPart("apply_directory", "DirectoryEdits", "apply"),
    "intake": StoryPart("intake", "StoryIntake", "preview take_in"),
}
"""The parts by the attributes of `StoryParts` that hold them. A test keeps the names true."""


def load_parts() -> None:
    """Load all that stories need, the folds too: for a server, where nobody is to wait for it later."""
    for part in PARTS.values():
        part.load()
    import_module("previously.runtime.fold_loop")
