"""The data sets of `benchmarks.recall`, each as conversations with questions.

A question may only be answered from the turns before `limit`. What counts as found is said per data set:

* **evidence**: the share of the gold turns that were taken;
* **session**: the share of the gold sessions of which at least one turn was taken;
* **hit**: whether a gold turn is among the first ten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.exam.exams import STORIES
from previously.recall.outline import GAP_MINUTES
from previously.text.times import parse_day, parse_minute

CAST = {
    "SAM": "Nott", "LAURA": "Jester", "LIAM": "Caleb", "TRAVIS": "Fjord", "MARISHA": "Beau", "TALIESIN": "Molly",
    "ASHLEY": "Yasha", "MATT": "Narrator",
}  # fmt: skip
"""Whom each player of CRD3 plays: with these names the episodes are a role-play of many speakers."""

_EVIDENCE = re.compile(r"D(\d+):0*(\d+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: who, what, when, in which session, and the line that is charged for it."""

    speaker: str
    text: str
    at: str | None
    session: int
    line: str

    @property
    def cost(self) -> float:
        """Tokens in a budget: a quarter of the characters."""
        return len(self.line) / 4


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, what should be found, and how far the asker has got."""

    text: str
    gold: Collection[int]
    limit: int
    category: str = ""
    today: int | None = None
    asked: str | None = None
    """Who is asked, where that differs from question to question."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns and questions about them."""

    name: str
    turns: list[Turn]
    questions: list[Question]
    asker: str | None = None
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class DataSet:
    """Conversations scored in one way."""

    name: str
    conversations: list[Conversation]
    found: str
    """"evidence", "session" or "hit"."""
    budget: float = 2_000
    left_out: Collection[str] = ()
    """Categories that do not count in the mean."""


def data_sets(folder: Path | None) -> list[DataSet]:
    """All that is there: those of the folder, and the bundled role-play."""
    found = []
    for name, load in (("locomo", locomo), ("realmem", realmem), ("crd3", crd3)):
        if folder is not None and (folder / name).is_dir():
            found += load(folder / name)
        elif folder is not None and folder.name == name and folder.is_dir():
            found += load(folder)
    return [*found, harbour(), exam()]


def locomo(folder: Path) -> list[DataSet]:
    """LoCoMo: evidence inside 2,000 tokens; category 5, the unanswerable questions, is shown but not counted."""
    conversations = []
    for path in sorted(folder.glob("*.json")):
        conversations += [_locomo_conversation(raw) for raw in json.loads(path.read_text("utf-8"))]
    return [DataSet("locomo", conversations, "evidence", left_out=("5",))]


def _locomo_conversation(raw: dict[str, Any]) -> Conversation:
    talk = raw["conversation"]
    turns: list[Turn] = []
    place: dict[tuple[int, int], int] = {}
    for session in sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key)):
        said = talk[f"session_{session}_date_time"]
        at = datetime.strptime(said, "%I:%M %p on %d %B, %Y").isoformat()
        for turn in talk[f"session_{session}"]:
            caption = turn.get("blip_caption", "")
            line = f"[{said}] {turn['speaker']}: {turn['text']}" + (f" [image: {caption}]" if caption else "")
            match = _EVIDENCE.fullmatch(turn["dia_id"])
            assert match is not None
            place[int(match[1]), int(match[2])] = len(turns)
            text = f"{turn['text']}\n{caption}" if caption else turn["text"]
            turns.append(Turn(turn["speaker"], text, at, session, line))
    questions = []
    for asked in raw["qa"]:
        named = [(int(one), int(two)) for part in asked["evidence"] for one, two in _EVIDENCE.findall(part)]
        gold = sorted({place[key] for key in named if key in place})
        if gold:
            questions.append(Question(asked["question"], gold, len(turns), str(asked["category"])))
    return Conversation(raw["sample_id"], turns, questions)


def realmem(folder: Path) -> list[DataSet]:
    """RealMem: sessions whose memory the next reply used, found from the user's message in earlier sessions. Of some
    personas fields are missing."""
    conversations = []
    for path in sorted(folder.glob("*.json")):
        turns: list[Turn] = []
        questions: list[Question] = []
        number: dict[str, int] = {}
        for session, raw in enumerate(json.loads(path.read_text("utf-8"))["dialogues"]):
            said = raw.get("current_time") or ""
            at = said[:10] or None
            limit = len(turns)
            talk = raw.get("dialogue_turns") or []
            for turn, reply in zip(talk, [*talk[1:], {}], strict=True):
                who, text = turn.get("speaker") or "User", turn.get("content") or ""
                used = {memory.get("session_uuid") for memory in reply.get("memory_used") or ()}
                gold = {number[one] for one in used if one in number}
                if turn.get("is_query") and gold:
                    questions.append(Question(text, gold, limit, today=parse_day(at)))
                turns.append(Turn(who, text, at, session, f"[{said}] {who}: {text}"))
            number[raw.get("session_uuid") or f"session {session}"] = session
        name = path.stem.removesuffix("_dialogues_256k")
        conversations.append(Conversation(name, turns, questions, asker="User", asked="Assistant"))
    return [DataSet("realmem", conversations, "session")]


def crd3(folder: Path) -> list[DataSet]:
    """CRD3: a summary chunk as question over all turns of all episodes; once with the players' names as speakers, once
    with those of whom they play."""
    return [
        DataSet(name, [_crd3_conversation(folder, names)], "hit") for name, names in (("crd3", {}), ("crd3 cast", CAST))
    ]


def _crd3_conversation(folder: Path, names: dict[str, str]) -> Conversation:
    turns: list[Turn] = []
    asked: list[tuple[str, range]] = []
    for session, path in enumerate(sorted((folder / "cleaned").glob("*.json"))):
        first = len(turns)
        for turn in json.loads(path.read_text("utf-8"))["TURNS"]:
            speaker = " and ".join(names.get(name, name) for name in turn["NAMES"])
            text = " ".join(turn["UTTERANCES"])
            turns.append(Turn(speaker, text, None, session, f"{speaker}: {text}"))
        for aligned in sorted((folder / "aligned").glob(f"{path.stem}_*.json")):
            for chunk in json.loads(aligned.read_text("utf-8")):
                span = chunk["ALIGNMENT"]
                if chunk["CHUNK"].strip():
                    gold = range(first + span["TURN START"], first + span["TURN END"] + 1)
                    asked.append((chunk["CHUNK"], gold))
    return Conversation("crd3", turns, [Question(text, gold, len(turns)) for text, gold in asked])


def harbour() -> DataSet:
    """The bundled role-play (nine speakers) and questions its player might ask: evidence inside 1,000 tokens."""
    lines = files("previously.demo").joinpath("harbour.jsonl").read_text("utf-8").splitlines()
    story = [json.loads(line) for line in lines]
    minutes = [parse_minute(message["at"]) or 0 for message in story]
    starts = [at for at in range(1, len(story)) if minutes[at] - minutes[at - 1] >= GAP_MINUTES]
    turns = [
        Turn(
            message["name"],
            message["content"],
            message["at"],
            sum(1 for start in starts if start <= at),
            f"[{message['at'][:10]}] {message['name']}: {message['content']}",
        )
        for at, message in enumerate(story)
    ]
    asked = json.loads(Path(__file__).with_name("harbour_questions.json").read_text("utf-8"))
    questions = [Question(one["question"], one["gold"], len(turns)) for one in asked]
    return DataSet("role-play", [Conversation("harbour", turns, questions, "Ines Quillan")], "evidence", budget=1_000)


WAYS = ("plain", "addressed", "second person", "small talk")
"""The ways in which each question of the exams is asked; 24 of 90 are asked in German."""


def exam() -> DataSet:
    """The stories of `benchmarks.exam` and their questions: evidence inside 1,000 tokens. Each is asked as it is, with
    somebody addressed, of somebody in the second person, and inside a message of small talk; the first counts."""
    asked = json.loads(Path(__file__).with_name("exam_questions.json").read_text("utf-8"))
    conversations = []
    for path in sorted(STORIES.glob("*.exam.json")):
        raw = json.loads(path.read_text("utf-8"))
        told = (STORIES / raw["story"]).read_text("utf-8")
        turns = []
        if path.with_name(raw["story"]).suffix == ".jsonl":
            for message in map(json.loads, told.splitlines()):
                line = f"{message['name']}: {message['content']}"
                turns.append(Turn(message["name"], message["content"], None, 0, line))
        else:
            turns = [Turn("", piece.strip(), None, 0, piece.strip()) for piece in told.split("\n\n") if piece.strip()]
        questions = []
        for one in raw["questions"]:
            ways = {"plain": one["question"]} | asked[one["id"]]
            tongue = ", German" if "language" in ways else ""
            questions += [
                Question(ways[way.replace(" ", "_")], one["evidence"], len(turns), way + tongue, asked=ways["to"])
                for way in WAYS
            ]
            if tongue:
                questions.append(Question(one["question"], one["evidence"], len(turns), "plain"))
        conversations.append(Conversation(raw["story"].partition(".")[0], turns, questions))
    others = [way + tongue for way in WAYS for tongue in ("", ", German") if way + tongue != "plain"]
    return DataSet("exam", conversations, "evidence", budget=1_000, left_out=others)
