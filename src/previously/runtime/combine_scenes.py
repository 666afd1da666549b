"""Combining scenes: one scene memory out of several.

A model is sent the summaries and nothing else; entries are merged by code, each thing once, as it was described last;
without a model the summaries are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from previously.core.errors import BadInput
from previously.core.tokens import estimate_tokens

if TYPE_CHECKING:
    from previously.core.scene import Described, Scene
    from previously.core.versions import Cost
    from previously.lore.merge import Entries
    from previously.runtime.writer import MemoryWriter

COMBINED_WORDS = 300
"""Words of the combined summary: some 400 tokens, so that one that runs a quarter over may still be a scene's (500)."""

MOST_WORDS = 10_000
EVERY_ENTRY = 1_000_000
"""None is retired: a file has no other place for it."""


@dataclass(frozen=True, slots=True)
class Combined:
    """One scene out of several, and what it took."""

    scene: Scene
    made_by: str
    reason: str
    """Why no model wrote it though one is configured; empty otherwise."""
    cost: Cost
    sent_tokens: int
    """Tokens of the summaries, which are all that is sent."""
    whole_tokens: int
    """Tokens that the scenes would have taken with their entries."""
    left: tuple[str, ...]
    """Earlier descriptions of things that a later scene described anew."""


class Combining:
    """Combines scenes with whoever writes memory."""

    _writer: MemoryWriter

    async def combine(self, scenes: Sequence[Scene], words: int = COMBINED_WORDS) -> Combined:
        """One scene out of several, in their order: a summary of about so many words, and every entry once."""
        from previously.core.scene import Scene
        from previously.folds.combine import CombineFold
        from previously.folds.scene import join_scenes, render_scene

        if len(scenes) < 2:
            raise BadInput(f"Combining takes at least two scenes; there {'is one' if scenes else 'are none'}.")
        if not 0 <= words <= MOST_WORDS:
            raise BadInput(f"A summary of {words} words is not possible; give 1 to {MOST_WORDS:,}, or 0 for no bound.")
        asked = CombineFold.of([scene.summary for scene in scenes], words)
        reply = await self._writer.write(asked)
        entries, left = _merge_entries(scenes)
        attempts = sum((attempt.cost for attempt in reply.attempts), reply.cost)
        return Combined(
            Scene(reply.text, entries, join_scenes(scenes).signals),
            reply.made_by,
            reply.reason,
            attempts,
            sum(estimate_tokens(scene.summary) for scene in scenes),
            sum(estimate_tokens(render_scene(scene)) for scene in scenes),
            left,
        )


def _merge_entries(scenes: Sequence[Scene]) -> tuple[tuple[Described, ...], tuple[str, ...]]:
    from previously.core.note import LoreItem
    from previously.core.scene import Described
    from previously.lore.merge import merge_items

    known: Entries = {}
    for number, scene in enumerate(scenes):
        items = [LoreItem(entry.name, entry.type, entry.keywords, entry.content) for entry in scene.entries]
        known = merge_items(known, items, number, most_live=EVERY_ENTRY)
    entries = tuple(Described(entry.name, entry.type, entry.keywords, entry.content) for entry in known.values())
    return entries, tuple(f"{entry.name}: {text}" for entry in known.values() for text in entry.earlier)
