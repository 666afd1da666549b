"""A small chat about a lighthouse, and a model that folds it with one false sentence in it."""

from __future__ import annotations

import json

from previously.testing.connection import ServedRequest

STORY = "The lamp at Skerry"
FALSE = "Mira gave the brass key to Tobias."
TRUE = "Mira gave the brass key to Odile."

LINES = [
    ("Mira", "Mira climbed the stairs of the lighthouse at Skerry with a can of oil."),
    ("Odile", "Odile waited above, her hand on the cold lamp. Tobias slept below."),
    ("Mira", "Mira took the brass key from her pocket and gave it to Odile."),
    ("Odile", "Odile hung the brass key on the nail beside the lamp and thanked Mira."),
    ("Mira", "Mira promised Odile that the lamp would burn until the ferry was in."),
    ("Odile", "Odile lit the lamp. Tobias slept below and saw nothing of it."),
    ("Mira", "Mira trimmed the wick and looked out for the ferry."),
    ("Odile", "Odile counted the seconds between two waves."),
    ("Mira", "The ferry showed its green light, far out."),
    ("Odile", "Odile shaded her eyes and said nothing."),
]

RECAP = (
    f"Mira brought oil up to the lamp at Skerry, where Odile waited. {FALSE} "
    "Mira promised Odile that the lamp would burn until the ferry was in. Tobias slept below."
)

UPDATE = f"""EPISODE
Mira climbed the lighthouse at Skerry with oil while Odile waited at the lamp. {FALSE}
Mira promised Odile that the lamp would burn until the ferry was in.

RECAP
{RECAP}

THREADS
- new #5 Mira to Odile: the lamp burns until the ferry is in

STATE
- #3 Brass key / holder: Tobias

PRESENT
- #1-#6: Mira, Odile

LEARNT
none

LORE
- #1, #3 Mira | person | Mira, keeper | Keeper of the light at Skerry, who carries the oil

PLAYERS
none

WISHES
none

SCENES
none

END"""


def write_chat() -> str:
    """Return the chat as SillyTavern keeps it."""
    head = {"user_name": "Mira", "character_name": "Odile", "create_date": "2026-11-01@10h00m00s"}
    rows = [
        {
            "name": name,
            "is_user": name == "Mira",
            "is_system": False,
            "send_date": f"2026-11-01T10:{at:02}:00Z",
            "mes": text,
        }
        for at, (name, text) in enumerate(LINES)
    ]
    return "\n".join(json.dumps(row) for row in [head, *rows])


def read_prompt(request: ServedRequest) -> str:
    """Return all that a request shows a model."""
    return "\n".join(str(message.get("content")) for message in request.json["messages"])


def is_fold(request: ServedRequest) -> bool:
    return "EPISODE" in read_prompt(request)


def answer(request: ServedRequest) -> str:
    """Answer a fold with the false sentence, a turn with a line of the story."""
    return UPDATE if is_fold(request) else "The lamp burned on."
