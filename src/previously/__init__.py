"""Long-term memory for stories, role-play and agents.

`Memory` opens a place where stories live; `BlockingMemory` is the same without `await`. Everything named in `__all__`
is the public interface; names load when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from previously.app import Memory
    from previously.blocking import BlockingMemory, fold_conversation
    from previously.core.errors import BadInput, BudgetTooSmall, HeadMoved, PreviouslyError, StoreProblem
    from previously.core.messages import Attributes, Draft, Message, message
    from previously.formats import read_story
    from previously.models.http import OpenAICompatibleModel
    from previously.runtime.conversation import FoldedConversation, fold_conversation_async
    from previously.runtime.writer import BuiltinWriter, MemoryWriter
    from previously.settings import Settings
    from previously.storage.findings import Collected, Fault, Verified
    from previously.story.story import Story
    from previously.testing import ScriptedAnswer, ScriptedModel, ScriptedServer
    from previously.view.view import Furniture, Report, View

__version__ = "0.2.0"

_HOMES = {
    "Memory": "app",
    "BlockingMemory": "blocking",
    "fold_conversation": "blocking",
    "BadInput": "core.errors",
    "BudgetTooSmall": "core.errors",
    "HeadMoved": "core.errors",
    "PreviouslyError": "core.errors",
    "StoreProblem": "core.errors",
    "Attributes": "core.messages",
    "Draft": "core.messages",
    "Message": "core.messages",
    "message": "core.messages",
    "read_story": "formats",
    "FoldedConversation": "runtime.conversation",
    "fold_conversation_async": "runtime.conversation",
    "BuiltinWriter": "runtime.writer",
    "MemoryWriter": "runtime.writer",
    "Story": "story.story",
    "Settings": "settings",
    "OpenAICompatibleModel": "models.http",
    "ScriptedModel": "testing",
    "ScriptedAnswer": "testing",
    "ScriptedServer": "testing",
    "Collected": "storage.findings",
    "Fault": "storage.findings",
    "Verified": "storage.findings",
    "Furniture": "view.view",
    "Report": "view.view",
    "View": "view.view",
}

__all__ = [
    "Attributes",
    "BadInput",
    "BlockingMemory",
    "BudgetTooSmall",
    "BuiltinWriter",
    "Collected",
    "Draft",
    "Fault",
    "FoldedConversation",
    "Furniture",
    "HeadMoved",
    "Memory",
    "MemoryWriter",
    "Message",
    "OpenAICompatibleModel",
    "PreviouslyError",
    "Report",
    "ScriptedAnswer",
    "ScriptedModel",
    "ScriptedServer",
    "Settings",
    "StoreProblem",
    "Story",
    "Verified",
    "View",
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
