"""The setup of a story, as its header holds it: how a model is asked to write on, and what lore is looked for in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from previously.recognition.choose_story import OWN_FIELDS, WRITING, parse_header
from previously.view.setup import WritingSetup, read_card_notes, read_setup


def parse_own_setup(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person set, of a header that was parsed."""
    own = header.get(WRITING)
    return dict(own) if isinstance(own, dict) else {}


def parse_setup(kept: str) -> WritingSetup:
    """Return the setup in force, of a header as a store keeps it."""
    header = parse_header(kept)
    return read_setup(parse_own_setup(header), _find_brought(header))


def parse_sources(kept: str) -> dict[str, str]:
    """Return the texts beside the messages in which keys of lore are looked for, by the names of `lore.entry.SOURCES`;
    those that are empty are left out."""
    setup = parse_setup(kept)
    creator, note = read_card_notes(_find_brought(parse_header(kept)))
    texts = {
        "match_persona_description": setup.user_description,
        "match_character_description": setup.description,
        "match_character_personality": setup.personality,
        "match_character_depth_prompt": note,
        "match_scenario": setup.scenario,
        "match_creator_notes": creator,
    }
    return {name: setup.fill(text) for name, text in texts.items() if text.strip()}


def _find_brought(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the story's file brought along."""
    return {name: value for name, value in header.items() if name not in OWN_FIELDS}
