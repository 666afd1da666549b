"""Who plays in the client tests: two characters, the user's persona, and a long chat of theirs to import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Character:
    """A character card, as far as it matters here."""

    name: str
    description: str
    personality: str
    scenario: str
    greeting: str
    examples: str = ""
    other_greetings: tuple[str, ...] = ()
    colour: tuple[int, int, int] = (90, 90, 90)

    def card(self) -> dict[str, Any]:
        """The card in the second version of the format, which every front end reads."""
        shared = {
            "name": self.name,
            "description": self.description,
            "personality": self.personality,
            "scenario": self.scenario,
            "first_mes": self.greeting,
            "mes_example": self.examples,
        }
        more = {
            "creator_notes": "",
            "system_prompt": "",
            "post_history_instructions": "",
            "alternate_greetings": list(self.other_greetings),
            "tags": [],
            "creator": "",
            "character_version": "",
            "extensions": {},
        }
        return {"spec": "chara_card_v2", "spec_version": "2.0", **shared, "data": {**shared, **more}}


PERSONA = "Juno"
PERSONA_DESCRIPTION = "{{user}} travels with a cello case that holds no cello, and pays for everything in coins."

OTTOLINE = Character(
    name="Ottoline",
    description=(
        "{{char}} runs the left-luggage office of Harrow Junction, a station where eleven lines cross and nobody "
        "changes on purpose. She is sixty, wears a ball gown under her coat, and knows every case by its smell."
    ),
    personality="brisk, curious, generous with tea and never with keys",
    scenario="{{user}} has come to fetch a trunk that was left at Harrow Junction nineteen years ago.",
    greeting=(
        "*Ottoline puts down her cup before {{user}} has reached the counter.* "
        '"Nineteen years and four days. You owe the office for the four days."'
    ),
    examples=(
        "<START>\n{{user}}: Do people come back for all of it?\n"
        '{{char}}: "They come back for the small things. Nobody ever came back for the harp."\n'
        "<START>\n{{user}}: What is behind that door?\n"
        '{{char}}: "Tuesday, mostly."'
    ),
    other_greetings=(
        '*The office is dark but for one lamp. Ottoline is already stamping the form.* "Name, and do not spell it."',
    ),
    colour=(122, 62, 72),
)

PELL = Character(
    name="Pell",
    description=(
        "{{char}} is the night porter of Harrow Junction. He mends the station's forty clocks in his own time, none of "
        "which agree, and he has never been seen to sit down."
    ),
    personality="patient, literal, quietly proud",
    scenario="{{char}} looks after whoever has missed the last train.",
    greeting='*Pell sets a lantern on the bench beside {{user}}.* "The last train left at nine or twenty past. Soup?"',
    colour=(58, 88, 120),
)

CAST = (OTTOLINE, PELL)

_DOCS = Path(__file__).parents[2] / "docs" / "clients.md"
CHAT_META = _DOCS.read_text("utf-8").split("```yaml\n")[1].split("```")[0]
"""What the docs tell users to put into *Include Body Parameters*: an id of the chat, and what is asked."""

_PLACES = ("platform nine", "the signal box", "the lamp room", "the lost umbrellas", "the buffet", "the iron bridge")
_DEEDS = (
    "counts the coins twice and finds one too many",
    "promises to bring the brass key back before the snow",
    "asks whose initials are burnt into the lid",
    "hears a clock strike thirteen and writes it down",
    "owes the porter three bowls of soup by now",
    "reads the label aloud and stops at the date",
    "hides the ticket stub inside the cello case",
)
_STARTED = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def long_chat(messages: int) -> Iterator[tuple[str, bool, str]]:
    """A chat of that many messages, no two alike: speaker, whether it is the user, and text."""
    yield OTTOLINE.name, False, OTTOLINE.greeting.replace("{{user}}", PERSONA)
    for number in range(1, messages):
        user = number % 2 == 1
        name = PERSONA if user else OTTOLINE.name
        place, deed = _PLACES[number % len(_PLACES)], _DEEDS[number % len(_DEEDS)]
        yield name, user, f"{name} waits by {place} and {deed}. It is entry {number} in the luggage book."


def write_chat_file(path: Path, messages: int) -> Path:
    """That chat as the file SillyTavern would have saved."""
    lines: list[dict[str, Any]] = [{"chat_metadata": {}, "user_name": PERSONA, "character_name": OTTOLINE.name}]
    for number, (name, user, text) in enumerate(long_chat(messages)):
        sent = (_STARTED + timedelta(minutes=number)).isoformat().replace("+00:00", "Z")
        lines.append({"name": name, "is_user": user, "is_system": False, "send_date": sent, "mes": text, "extra": {}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
