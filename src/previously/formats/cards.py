"""Character cards of versions 1, 2 and 3, in JSON, in a PNG picture or in a `.charx` archive: the opening of a story.

The first greeting is the first message, the others are its swipes. What else the card says of the character is kept
with the story: as it was given under `card` in its header, and with macros replaced under `character`. Its book becomes
a book of its own. Macros are replaced once, as text; those of the book stay, since books are shared between stories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json, parse_object
from previously.core.messages import Draft, Message, Role, Text, clean_draft
from previously.formats.archives import Archive
from previously.formats.files import Document, SourceBook, StorySource, read_value
from previously.formats.png_texts import LARGEST_PICTURE, PNG_LINE, read_picture_text
from previously.lore.books import parse_book
from previously.text.macros import substitute_macros
from previously.wire.fields import read_optional_list, read_optional_text

NAME = "card"

CARD_FILE = "card.json"
"""The file of a `.charx` archive that holds the card."""

DEFAULT_USER = "User"
"""The user's name where nobody gives one, as chat programs have it."""

TOLD = (
    "description",
    "personality",
    "scenario",
    "system_prompt",
    "post_history_instructions",
    "mes_example",
    "creator_notes",
)
"""Fields of a card that say something of the character or to the model, in which macros are replaced."""

_V1_FIELDS = frozenset(("personality", "scenario", "mes_example", "description"))


def is_card(value: object) -> bool:
    """Return whether a parsed file is a character card."""
    if not isinstance(value, Mapping):
        return False
    spec = value.get("spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        return True
    return "first_mes" in value or ("name" in value and len(_V1_FIELDS & value.keys()) > 1)


def read(document: Document) -> StorySource:
    """Read a card, whatever holds it."""
    if document.begins(PNG_LINE):
        return read_picture(document)
    return read_value(document, parse_card)


def read_picture(document: Document) -> StorySource:
    """Read the card in a PNG picture."""
    try:
        return parse_card(document, parse_object(read_picture_text(document.content(LARGEST_PICTURE))))
    except (BadInput, RecursionError) as error:
        raise document.fault(error) from None


def read_archive(document: Document, archive: Archive) -> StorySource:
    """Read the card in a `.charx` archive; its pictures are left out."""
    try:
        return parse_card(document, parse_object(archive.read_text(CARD_FILE)))
    except (BadInput, RecursionError) as error:
        raise document.fault(error) from None


def parse_card(document: Document, card: object) -> StorySource:
    """Return the opening that a card makes; `document.user` is the user's name."""
    if not isinstance(card, dict):
        raise BadInput("A character card must be an object.")
    cleaned, replaced = clean_json(card)
    assert isinstance(cleaned, dict)
    data = cleaned.get("data", cleaned)
    if not isinstance(data, dict):
        raise BadInput('"data" of the card must be an object.')
    name = (read_optional_text(data, "name") or "").strip()
    if not name:
        raise BadInput('"name" of the card is empty.')
    told = {field: read_optional_text(data, field) or "" for field in TOLD}
    macros = _make_macros(data, name, told, document.user)
    book, books = data.get("character_book"), tuple[SourceBook, ...]()
    if isinstance(book, Mapping) and book.get("entries"):
        parse_book(book, name)  # refused before anything is kept
        books = (SourceBook("", {"spec": "lorebook_v3", "data": book}),)
    rest = {field: value for field, value in data.items() if field != "character_book"}
    header = {
        "card": cleaned | {"data": rest} if "data" in cleaned else rest,
        "character": {"name": name, "user": macros["user"]}
        | {field: substitute_macros(text, macros) for field, text in told.items() if text},
    }
    drafts = _make_opening(data, name, macros)
    return StorySource(drafts, NAME, header, replaced, books=books, opening=True)


def _make_macros(data: dict[str, Any], name: str, told: Mapping[str, str], user: str | None) -> dict[str, str]:
    """Return what each macro stands for. Texts of the card are put in as they are: their own macros stay in them."""
    char = (read_optional_text(data, "nickname") or "").strip() or name
    return {
        "user": (user or "").strip() or DEFAULT_USER,
        "char": char,
        "charifnotgroup": char,
        "group": char,
        "description": told["description"],
        "personality": told["personality"],
        "scenario": told["scenario"],
        "mesexamples": told["mes_example"],
        "charprompt": told["system_prompt"],
        "original": "",
    }


def _make_opening(data: dict[str, Any], name: str, macros: Mapping[str, str]) -> list[Draft]:
    """Return the greeting with the others as its swipes; nothing where there is none."""
    others = read_optional_list(data, "alternate_greetings")
    given = [read_optional_text(data, "first_mes") or "", *others]
    for text in others:
        if not isinstance(text, str):
            raise BadInput('"alternate_greetings" of the card must hold texts only.')
    texts = list(dict.fromkeys(substitute_macros(text, macros) for text in given if text.strip()))
    drafts = [Draft(Message(Role.ASSISTANT, (Text(text),), name)) for text in texts]
    if not drafts:
        return []
    first, *alternatives = drafts
    return [clean_draft(Draft(first.message, first.attributes, tuple(alternatives)))[0]]
