"""Long-term memory for stories, role-play and agents.

`Memory` opens a place where stories live; `BlockingMemory` is the same without `await`. Everything named in `__all__`
is the public interface; names load when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from previously.app import Memory
    from previously.blocking import BlockingMemory, BlockingStory, fold_conversation
    from previously.core.continuation import Continuation
    from previously.core.errors import (
        BadInput,
        BudgetTooSmall,
        HeadMoved,
        PreviouslyError,
        StoreProblem,
        StoryGone,
        TextChanged,
        UnknownBranch,
        UnknownStory,
    )
    from previously.core.fact_book import SharedFact, SharedKind, SharedMemory
    from previously.core.marks import Mark
    from previously.core.messages import (
        Attributes,
        Draft,
        Entry,
        Image,
        Message,
        Role,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
        message,
    )
    from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
    from previously.core.note import Note
    from previously.core.path import OnPath, Span
    from previously.core.people import Person
    from previously.core.presence import PresenceStretch
    from previously.core.scene import Analysis, Scene
    from previously.core.versions import Cost, Kind, Status, Version
    from previously.folds.cast_facts import Knower
    from previously.folds.fold import Fold
    from previously.folds.prompts.templates import Template
    from previously.folds.summary import Gap
    from previously.formats import read_story
    from previously.formats.conversations import Conversation
    from previously.formats.directory_merge import DirectoryEdit
    from previously.formats.files import StorySource
    from previously.lore.books import LoreBook
    from previously.lore.current_state import StateValue
    from previously.lore.entry import KeyedEntry
    from previously.lore.state import Player, Wish
    from previously.lore.threads import Thread, ThreadStatus
    from previously.memory.in_force import ChapterText, MemoryText
    from previously.memory.memory_map import Band, BandStatus, HandMark, MemoryMap, ThreadArc
    from previously.models.client import Model
    from previously.models.http import OpenAICompatibleModel
    from previously.runtime.answer_cache import AnswerSource
    from previously.runtime.backup import Copied, Copies
    from previously.runtime.combine_scenes import Combined
    from previously.runtime.continue_story import Continued
    from previously.runtime.conversation import FoldedConversation, fold_conversation_async
    from previously.runtime.fold_report import FoldDone, FoldReport
    from previously.runtime.forget import Destroyed, ToForget
    from previously.runtime.preview_question import NextQuestion
    from previously.runtime.search import SearchHit
    from previously.runtime.story_list import StoryGlance
    from previously.runtime.whole_stories import Backup, Whole
    from previously.runtime.writer import Attempt, BuiltinWriter, MemoryReply, MemoryWriter
    from previously.settings import Settings
    from previously.storage.findings import Collected, Fault, Verified
    from previously.storage.store import BranchInfo, Move, StoryInfo
    from previously.storage.tables.books import BookInfo
    from previously.storage.tables.keys import AccessKey
    from previously.story.apply_directory import AppliedDirectory
    from previously.story.ask import Answer, Evidence, Verdict
    from previously.story.export import ExportFile
    from previously.story.history import Telling
    from previously.story.intake import BookIntake, Intake
    from previously.story.lore_edits import LoreExplanation, LoreListing
    from previously.story.memory_texts import CastItem, SceneText
    from previously.story.replies import StoryReply
    from previously.story.searches import ModelSearch, PickedHits, SoughtWords
    from previously.story.sources import SentenceSource
    from previously.story.story import Story
    from previously.story.thing_name import Thing, ThingKind
    from previously.story.things import TextComparison, ThingText, Unlocked
    from previously.story.threads_state import ThreadListing
    from previously.story.transcript import Changes
    from previously.story.tree import StoryWay
    from previously.testing import ScriptedAnswer, ScriptedModel, ScriptedServer
    from previously.text.compare import WordChange
    from previously.view.setup import WritingSetup
    from previously.view.view import Furniture, Item, LeftOut, Report, Section, View

__version__ = "0.2.0"

_HOMES = {
    "Memory": "app",
    "BlockingMemory": "blocking",
    "BlockingStory": "blocking",
    "fold_conversation": "blocking",
    "BadInput": "core.errors",
    "BudgetTooSmall": "core.errors",
    "HeadMoved": "core.errors",
    "PreviouslyError": "core.errors",
    "StoreProblem": "core.errors",
    "StoryGone": "core.errors",
    "UnknownBranch": "core.errors",
    "UnknownStory": "core.errors",
    "Mark": "core.marks",
    "Attributes": "core.messages",
    "Draft": "core.messages",
    "Entry": "core.messages",
    "Image": "core.messages",
    "Message": "core.messages",
    "Role": "core.messages",
    "Text": "core.messages",
    "Thinking": "core.messages",
    "ToolCall": "core.messages",
    "ToolResult": "core.messages",
    "message": "core.messages",
    "FailureKind": "core.model_io",
    "ModelFailure": "core.model_io",
    "ModelReply": "core.model_io",
    "ModelRequest": "core.model_io",
    "Usage": "core.model_io",
    "Note": "core.note",
    "OnPath": "core.path",
    "Span": "core.path",
    "Person": "core.people",
    "PresenceStretch": "core.presence",
    "Analysis": "core.scene",
    "Scene": "core.scene",
    "Cost": "core.versions",
    "Kind": "core.versions",
    "Status": "core.versions",
    "Version": "core.versions",
    "Knower": "folds.cast_facts",
    "Fold": "folds.fold",
    "Gap": "folds.summary",
    "read_story": "formats",
    "Conversation": "formats.conversations",
    "DirectoryEdit": "formats.directory_merge",
    "LoreBook": "lore.books",
    "StateValue": "lore.current_state",
    "KeyedEntry": "lore.entry",
    "Player": "lore.state",
    "Wish": "lore.state",
    "Thread": "lore.threads",
    "ThreadStatus": "lore.threads",
    "ChapterText": "memory.in_force",
    "Band": "memory.memory_map",
    "BandStatus": "memory.memory_map",
    "HandMark": "memory.memory_map",
    "ThreadArc": "memory.memory_map",
    "BookIntake": "story.intake",
    "Intake": "story.intake",
    "StoryGlance": "runtime.story_list",
    "StorySource": "formats.files",
    "Template": "folds.prompts.templates",
    "TextChanged": "core.errors",
    "TextComparison": "story.things",
    "Thing": "story.thing_name",
    "ThingKind": "story.thing_name",
    "ThingText": "story.things",
    "Unlocked": "story.things",
    "WordChange": "text.compare",
    "MemoryMap": "memory.memory_map",
    "MemoryText": "memory.in_force",
    "Model": "models.client",
    "OpenAICompatibleModel": "models.http",
    "AnswerSource": "runtime.answer_cache",
    "Copied": "runtime.backup",
    "Copies": "runtime.backup",
    "Combined": "runtime.combine_scenes",
    "FoldedConversation": "runtime.conversation",
    "fold_conversation_async": "runtime.conversation",
    "FoldDone": "runtime.fold_report",
    "FoldReport": "runtime.fold_report",
    "NextQuestion": "runtime.preview_question",
    "Destroyed": "runtime.forget",
    "ToForget": "runtime.forget",
    "Continuation": "core.continuation",
    "Continued": "runtime.continue_story",
    "SharedMemory": "core.fact_book",
    "SharedFact": "core.fact_book",
    "SharedKind": "core.fact_book",
    "SearchHit": "runtime.search",
    "Backup": "runtime.whole_stories",
    "Whole": "runtime.whole_stories",
    "Attempt": "runtime.writer",
    "BuiltinWriter": "runtime.writer",
    "MemoryReply": "runtime.writer",
    "MemoryWriter": "runtime.writer",
    "Settings": "settings",
    "Collected": "storage.findings",
    "Fault": "storage.findings",
    "Verified": "storage.findings",
    "BranchInfo": "storage.store",
    "Move": "storage.store",
    "StoryInfo": "storage.store",
    "BookInfo": "storage.tables.books",
    "AccessKey": "storage.tables.keys",
    "AppliedDirectory": "story.apply_directory",
    "Answer": "story.ask",
    "Evidence": "story.ask",
    "Verdict": "story.ask",
    "ExportFile": "story.export",
    "Telling": "story.history",
    "LoreExplanation": "story.lore_edits",
    "LoreListing": "story.lore_edits",
    "CastItem": "story.memory_texts",
    "SceneText": "story.memory_texts",
    "StoryReply": "story.replies",
    "ModelSearch": "story.searches",
    "PickedHits": "story.searches",
    "SoughtWords": "story.searches",
    "SentenceSource": "story.sources",
    "Story": "story.story",
    "ThreadListing": "story.threads_state",
    "Changes": "story.transcript",
    "StoryWay": "story.tree",
    "ScriptedAnswer": "testing",
    "ScriptedModel": "testing",
    "ScriptedServer": "testing",
    "WritingSetup": "view.setup",
    "Furniture": "view.view",
    "Item": "view.view",
    "LeftOut": "view.view",
    "Report": "view.view",
    "Section": "view.view",
    "View": "view.view",
}

__all__ = [
    "AccessKey",
    "Analysis",
    "Answer",
    "AnswerSource",
    "AppliedDirectory",
    "Attempt",
    "Attributes",
    "Backup",
    "BadInput",
    "Band",
    "BandStatus",
    "BlockingMemory",
    "BlockingStory",
    "BookInfo",
    "BookIntake",
    "BranchInfo",
    "BudgetTooSmall",
    "BuiltinWriter",
    "CastItem",
    "Changes",
    "ChapterText",
    "Collected",
    "Combined",
    "Continuation",
    "Continued",
    "Conversation",
    "Copied",
    "Copies",
    "Cost",
    "Destroyed",
    "DirectoryEdit",
    "Draft",
    "Entry",
    "Evidence",
    "ExportFile",
    "FailureKind",
    "Fault",
    "Fold",
    "FoldDone",
    "FoldReport",
    "FoldedConversation",
    "Furniture",
    "Gap",
    "HandMark",
    "HeadMoved",
    "Image",
    "Intake",
    "Item",
    "KeyedEntry",
    "Kind",
    "Knower",
    "LeftOut",
    "LoreBook",
    "LoreExplanation",
    "LoreListing",
    "Mark",
    "Memory",
    "MemoryMap",
    "MemoryReply",
    "MemoryText",
    "MemoryWriter",
    "Message",
    "Model",
    "ModelFailure",
    "ModelReply",
    "ModelRequest",
    "ModelSearch",
    "Move",
    "NextQuestion",
    "Note",
    "OnPath",
    "OpenAICompatibleModel",
    "Person",
    "PickedHits",
    "Player",
    "PresenceStretch",
    "PreviouslyError",
    "Report",
    "Role",
    "Scene",
    "SceneText",
    "ScriptedAnswer",
    "ScriptedModel",
    "ScriptedServer",
    "SearchHit",
    "Section",
    "SentenceSource",
    "Settings",
    "SharedFact",
    "SharedKind",
    "SharedMemory",
    "SoughtWords",
    "Span",
    "StateValue",
    "Status",
    "StoreProblem",
    "Story",
    "StoryGlance",
    "StoryGone",
    "StoryInfo",
    "StoryReply",
    "StorySource",
    "StoryWay",
    "Telling",
    "Template",
    "Text",
    "TextChanged",
    "TextComparison",
    "Thing",
    "ThingKind",
    "ThingText",
    "Thinking",
    "Thread",
    "ThreadArc",
    "ThreadListing",
    "ThreadStatus",
    "ToForget",
    "ToolCall",
    "ToolResult",
    "UnknownBranch",
    "UnknownStory",
    "Unlocked",
    "Usage",
    "Verdict",
    "Verified",
    "Version",
    "View",
    "Whole",
    "Wish",
    "WordChange",
    "WritingSetup",
    "fold_conversation",
    "fold_conversation_async",
    "message",
    "read_story",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'previously' has no attribute {name!r}")
    value = getattr(import_module(f"previously.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
