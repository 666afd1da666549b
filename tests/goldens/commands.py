"""The JSON of every command: all of them on the beginning of the sample story, those that read and fold on each of the
others.

`serve` is no command that answers: see `upstream`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.goldens.corpora import Corpus
from tests.goldens.memory_texts import Apart
from tests.goldens.normal_form import normalise, shorten
from tests.goldens.run_cli import run_cli

Seen = dict[str, Any]
"""The last answer of each command as it came, ids and all."""

Argument = str | Callable[[Seen], object]
Step = tuple[Argument, ...]

GROUPS = ("lore", "threads", "state", "wishes", "cast", "chapters", "scenes", "branches", "books", "keys")
"""Commands that have commands of their own."""

FULL = "sample-begin"
"""Where every command is run: short, since there are more than a hundred steps."""

BOOK = {"entries": {"0": {"uid": 0, "key": ["Petronel"], "content": "The Petronel is a steamer.", "comment": "ship"}}}
SCENE = {
    "summary": "Wren asked Grim for the salt key. He refused, and she left without it.",
    "lorebooks": [{"name": "Grim", "type": "character", "keywords": ["Grim"], "content": "Gruff barkeeper in Lethen."}],
}
OLDER_SCENE = {"narrative": "Alice met Bob at the forge.", "npcs_facts": {"Bob": "A smith with one hand."}}
CONVERSATION = [
    {"role": "system", "content": "You mend the bridge. Never push to main."},
    *(
        {
            "role": role,
            "content": f"{role} {number}: the {number}. stone of the bridge is loose and weighs {number} tons.",
        }
        for number in range(60)
        for role in ("user", "assistant")
    ),
]

READING: tuple[Step, ...] = (
    ("import", "{file}", "--story", "tale"),
    ("import", "{file}", "--story", "tale"),
    ("fold", "tale", "--plan"),
    ("fold", "tale", "--once"),
    ("fold", "tale"),
    ("fold", "tale"),
    ("stories",),
    ("show", "tale"),
    ("show", "tale", "--gaps"),
    ("log", "tale"),
    ("blame", "tale"),
    ("diff", "tale"),
    ("view", "tale"),
    ("view", "tale", "--budget", "3000", "--explain"),
    ("view", "tale", "--budget", "3000", "--reader", "narrator", "--before", "20"),
    ("search", "tale", "the key and the letter", "--top", "5"),
    ("threads", "list", "tale", "--all"),
    ("state", "list", "tale"),
    ("wishes", "list", "tale"),
    ("cast", "list", "tale"),
    ("scenes", "list", "tale"),
    ("presence", "tale"),
    ("chapters", "list", "tale"),
    ("branches", "list", "tale"),
    ("show", "tale", "message:3"),
    ("blame", "tale", "message:3"),
    ("lore", "list", "tale", "--all"),
    ("lore", "explain", "tale"),
    ("verify",),
)
"""What every story goes through."""

CHANGING: tuple[Step, ...] = (
    ("add", "tale", "--role", "user", "--name", "Ines Quillan", "--text", "Where is the key now?", "--id", "m-1"),
    ("view", "tale", "--budget", "3000", "--exclude", "threads"),
    ("view", "tale", "--budget", "3000"),
    ("add", "tale", "--role", "assistant", "--name", "Wick", "--text", "Under the third stone, in my shoe."),
    ("why", "tale", "-1"),
    ("why", "tale", "0"),
    ("search", "tale", "third stone", "--top", "2", "--as", "Wick"),
    ("ask", "tale", "Where is the third stone?"),
    ("who-knows", "tale", "Ashdell"),
    ("cast", "show", "tale", "Wick"),
    ("edit", "tale", "10", "--text", "The lamp was out that night."),
    ("edit", "tale", "-1", "--text", "Under the fourth stone."),
    ("fold", "tale", "--plan"),
    ("fold", "tale"),
    ("delete", "tale", "12"),
    ("delete", "tale", "9999"),
    ("hide", "tale", "3"),
    ("unhide", "tale", "3"),
    ("branch", "tale", "aside", "--at", "90"),
    ("branches", "add", "tale", "early", "--at", "9"),
    ("branches", "edit", "tale", "early", "--name", "front"),
    ("branches", "show", "tale", "front"),
    ("switch", "tale", "aside"),
    ("show", "tale"),
    ("switch", "tale", "main"),
    ("stories",),
    ("pin", "tale", "--text", "Wick is twelve."),
    ("pin", "tale", "--at", "0"),
    ("show", "tale"),
    ("remove", "tale", lambda seen: f"pin:{seen['show']['pins'][0]['pin']}"),
    ("undo", "tale"),
    ("undo", "tale"),
    ("chapters", "add", "tale", "--title", "The platform"),
    ("chapters", "show", "tale", "1"),
    ("chapters", "edit", "tale", "platform", "--title", "The train"),
    ("chapters", "remove", "tale", "1"),
    ("undo", "tale"),
    ("undo", "tale"),
    ("undo", "tale"),
    ("edit", "tale", "recap", "--text", "Ines left Dunmarrow with Wick."),
    ("blame", "tale", "Ines left Dunmarrow"),
    ("lock", "tale", "recap"),
    ("show", "tale"),
    ("unlock", "tale", "recap"),
    ("undo", "tale"),
    ("log", "tale"),
    ("restore", "tale", lambda seen: _version(seen["log"]["versions"][0]["id"])),
    ("restore", "tale", lambda seen: _version(_newest_recap(seen["log"]))),
    ("blame", "tale", lambda seen: _version(seen["log"]["versions"][0]["id"])),
    ("diff", "tale", *(lambda seen, at=at: _version(seen["log"]["versions"][at]["id"]) for at in (0, 1))),
    ("undo", "tale", lambda seen: _version(_newest_recap(seen["log"]))),
    ("undo", "tale"),
    ("threads", "add", "tale", "Who lit the lamp?", "--due", "within 3 days", "--owner", "Wick"),
    ("threads", "add", "tale", "Who put out that lamp?"),
    ("threads", "show", "tale", "who lit"),
    ("threads", "edit", "tale", "who lit", "--owner", "Ines Quillan"),
    ("threads", "merge", "tale", "put out the lamp", "who lit"),
    ("threads", "settle", "tale", "the lamp"),
    ("threads", "reopen", "tale", "the lamp"),
    ("threads", "remove", "tale", "thread"),
    ("threads", "remove", "tale", "the lamp"),
    ("threads", "tale", "--open", "In the old spelling."),
    ("state", "add", "tale", "Wick is in the lamp room."),
    ("state", "show", "tale", "lamp room"),
    ("state", "edit", "tale", "lamp room", "--text", "Wick is on the train."),
    ("state", "remove", "tale", "train"),
    ("wishes", "edit", "tale", "nothing", "--text", "Something."),
    ("wishes", "remove", "tale", "nothing"),
    ("cast", "merge", "tale", "Wick", "Ines Quillan"),
    ("undo", "tale"),
    ("presence", "tale", "--leave", "Wick"),
    ("presence", "tale", "--enter", "Wick"),
    ("scenes", "add", "tale"),
    ("scenes", "show", "tale", "1"),
    ("analyze", "tale", "0"),
    ("analyze", "tale", "0", "--again"),
    ("lore", "add", "tale", "Salt key", "--text", "Heavy, of grey iron.", "--type", "item", "--keyword", "salt key"),
    ("lore", "edit", "tale", "Salt key", "--text", "Heavy, and rusty."),
    ("lock", "tale", "lore:the salt key"),
    ("lore", "show", "tale", "A salt key"),
    ("lore", "list", "tale"),
    ("lore", "accept", "tale", "Salt key"),
    ("lore", "remove", "tale", "Salt key"),
    ("lore", "add", "tale", "Tide mark", "--text", "A line of salt.", "--type", "concept", "--keyword", "tide"),
    ("lore", "merge", "tale", "Tide mark", "Salt key"),
    ("undo", "tale"),
    ("unlock", "tale", "lore:Tide mark"),
    ("books", "add", "{directory}/ships.json"),
    ("books", "list"),
    ("books", "show", "ships"),
    ("books", "attach", "tale", "ships"),
    ("lore", "explain", "tale", "--reader", "narrator"),
    ("books", "edit", "ships", "ship", "--text", "The Petronel is a steamer of iron."),
    ("lore", "export", "ships", "--to", "world-info", "--out", "{directory}/ships-again.json"),
    ("books", "detach", "tale", "ships"),
    ("books", "remove", "ships", "--yes"),
    ("lore", "validate", "{directory}/scene.json"),
    ("lore", "migrate", "{directory}/older.json"),
    ("lore", "combine", "{directory}/scene.json", "{directory}/scene.json"),
    ("set", "tale"),
    ("set", "tale", "review=true", "fold_messages=20", "recap_words=120"),
    ("fold", "tale"),
    ("pending", "tale"),
    ("reject", "tale", lambda seen: _first(seen["pending"]), "--reason", "dull"),
    ("fold", "tale"),
    ("pending", "tale"),
    ("approve", "tale", lambda seen: _first(seen["pending"])),
    ("set", "tale", "review=false"),
    ("fold", "tale", "--anew"),
    ("presets",),
    ("rename", "tale", "journey"),
    ("rename", "journey", "tale"),
    ("export", "tale", "--to", "jsonl", "--out", "{directory}/tale.jsonl"),
    ("compact", "{directory}/conversation.json", "--budget", "1200", "--pin", "3"),
    ("keys", "add", "phone", "--owner", "ines"),
    ("keys", "list"),
    ("keys", "remove", "phone"),
    ("backup", "{directory}/kept.db"),
    ("backup", "--list"),
    ("restore", "{directory}/kept.db", "--story", "tale", "--as", "again"),
    ("move", "--to", "{directory}/moved.db"),
    ("forget", "tale", "0", "3", "--yes"),
    ("forget", "again", "--yes"),
    ("gc", "--older-than", "0"),
    ("verify",),
    ("doctor",),
    ("demo",),
    ("lore", "rename", "tale", "Nobody at all", "Somebody"),
)
"""What one story goes through besides: every command that changes something, some of them refused."""

LOGGED: tuple[Step, ...] = (
    ("import", "{file}", "--story", "tale"),
    ("fold", "tale"),
    ("show", "tale"),
    ("log", "tale"),
    ("view", "tale", "--reader", "agent", "--budget", "3000"),
    ("search", "tale", "test failed", "--top", "3"),
    ("compact", "{file}", "--budget", "2000"),
    ("verify",),
)
"""What the log of an agent goes through."""


def take_commands(corpus: Corpus, directory: Path, apart: Apart) -> dict[str, Any]:
    """Return the answer of every command of the corpus's sequence, in order."""
    values = {"{file}": str(corpus.write_into(directory)), "{directory}": str(directory)}
    _write_files(directory)
    db = directory / f"{corpus.name}-commands.db"
    seen: Seen = {}
    taken: dict[str, Any] = {}
    for number, step in enumerate(sequence_of(corpus)):
        arguments = [_filled(part, seen, values) for part in step]
        command = name_of(step)
        answer = run_cli(db, *arguments, "--json")
        seen[command] = answer
        place = f"{number + 1:03} {command}"
        told = apart.of_command(command, f"{corpus.name}/{place}", normalise(answer, str(directory)))
        taken[place] = {
            "arguments": [shorten(part) for part in step if isinstance(part, str)],
            "answer": shorten(told),
        }
    return taken


def sequence_of(corpus: Corpus) -> tuple[Step, ...]:
    """Return the commands that a corpus goes through."""
    if corpus.logged:
        return LOGGED
    if corpus.long:
        return tuple(step for step in READING if "--plan" not in step and "--once" not in step)
    return (*READING, *CHANGING) if corpus.name == FULL else READING


def name_of(step: Step) -> str:
    """Return the name of the command, with that of its group."""
    words = [part for part in step if isinstance(part, str)]
    return " ".join(words[:2] if words[0] in GROUPS else words[:1])


def _filled(part: Argument, seen: Seen, values: dict[str, str]) -> str:
    if not isinstance(part, str):
        return str(part(seen))
    for name, value in values.items():
        part = part.replace(name, value)
    return part


def _first(pending: Any) -> object:
    return next((version["id"] for version in pending["versions"]), 0)


def _version(ident: object) -> str:
    return f"version:{ident}"


def _newest_recap(log: Any) -> object:
    recaps = [one["id"] for one in log["versions"] if one["kind"] == "recap" and one["status"] == "committed"]
    return recaps[-1] if recaps else 0


def _write_files(directory: Path) -> None:
    given = {"ships": BOOK, "scene": SCENE, "older": OLDER_SCENE, "conversation": {"messages": CONVERSATION}}
    for name, value in given.items():
        (directory / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
