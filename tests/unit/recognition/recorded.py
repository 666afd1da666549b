"""Requests of a real client, replayed: the stored path is the chat that was on its screen.

`python -m tests.unit.recognition.recorded --data FOLDER [--meta] [--json]` says for every recorded action whether it
is, and
where it is not, why. With `--meta` the client tells what it knows of its chats in the requests where it was recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously.core.messages import ToolCall
from previously.recognition.client_list import Ask
from previously.runtime.find_story import ClientPlace
from previously.runtime.follow_client import ClientFollower
from previously.server.chat_request import ChatRequest, parse_chat_request
from previously.server.turn import make_replies
from previously.wire.reasoning import split_reasoning
from previously.wire.reply import Reply, ReplyChoice
from tests.contract.storage.verbs import SqliteVerbs

FOLDER = "sillytavern-requests"
OWNER = "local"
ASKS = {"normal": Ask.TURN, "swipe": Ask.TURN, "regenerate": Ask.TURN, "continue": Ask.CONTINUE}
"""What the recorded kinds of request are for; all others are asides."""

NARRATOR = "A narrator's words are told from a note once the story has gone on behind them, so one turn late."
NOTE = "A note in the user's name is there for one request, and leaves the path with the next."
AS_USER = "In this mode a task beside the story comes in the user's name and looks like a turn; the next list ends it."
NO_HISTORY = "The client sent no history at all, so there is nothing that this could be told to belong to."
BROKEN_OFF = "Of an answer that it broke off the client keeps less than was sent to it; its next list tells how much."
CLEANED_UP = "The client cuts off what the model says in the user's name; its next list tells so."
PREFILL = "With a prefill, more of the last message is asked for as by an empty send, which asks for a new one."
SENT_AS = "A message of somebody else begins with a name that nothing in a chat of one character tells for one."
PROMPT_ONLY = "The client sends other words than are on screen, and another's message with a name before it."

DIFFERENCES = {
    "07_continue_prefill_mode": PREFILL,
    "08_after_sysgen_send": NARRATOR,
    "08_sys_narrator_then_send": NARRATOR,
    "12_wi_turn7_moth_user_depth1": NOTE,
    "13_ctx_too_small": NO_HISTORY,
    "14_pp_semi_quiet": AS_USER,
    "14_pp_single_quiet": AS_USER,
    "14_pp_strict_quiet": AS_USER,
    "15_abort_midstream": BROKEN_OFF,
    "15_abort_then_continue_gen": BROKEN_OFF,
    "15_abort_then_swipe_gen": BROKEN_OFF,
    "18_quirk_user_name_only": CLEANED_UP,
    "18_quirk_user_name_tail": CLEANED_UP,
    "21_after_flushinject_send": SENT_AS,
    "21_inject_before_send": SENT_AS,
    "21_inject_depth3_send": SENT_AS,
    "21_sendas_bram_then_send": SENT_AS,
    "22_names_content_send": SENT_AS,
    "22_persona_temp_switch_send": SENT_AS,
    "23_after_move_send": SENT_AS,
    "24_regex_promptonly_send": PROMPT_ONLY,
    "24_regex_promptonly_send2": PROMPT_ONLY,
    "25_after_image_send": SENT_AS,
    "25_image_then_trigger": SENT_AS,
    "26_after_delswipe_send": SENT_AS,
    "26_edit_last_assistant_send": SENT_AS,
    "26_edit_last_user_regenerate": SENT_AS,
    "26_swipe_then_delswipe": SENT_AS,
}
"""What was done where the path is then not the chat on screen, and why nobody could know better at that moment."""


@dataclass
class Outcome:
    """What became of an action that was recorded."""

    number: int
    label: str
    faults: list[str] = field(default_factory=list)
    """What was taken for something else, and in what the path and the chat on screen differ."""
    compared: bool = False
    """Whether there was a chat on screen to hold the path against."""

    @property
    def told(self) -> str:
        """In a line or more."""
        return "\n    ".join([f"{self.number} {self.label}", *self.faults])


@dataclass
class Recording:
    """All that was recorded."""

    requests: list[dict[str, Any]]
    """Each with `kind` and `chat_id` as its author labelled it."""
    states: dict[tuple[str, str], list[dict[str, Any]]]
    """The chat on screen by what was done and in which chat."""

    @classmethod
    def read(cls, data: Path) -> Recording:
        """What lies in a folder of data."""
        aligned = {one["n"]: one for one in _lines(data / FOLDER / "aligned.jsonl")}
        found = sorted(_lines(data / FOLDER / "requests.jsonl"), key=lambda one: one["n"])
        requests = [{**aligned[one["n"]], **one} for one in found if one["method"] == "POST"]
        states: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for state in _lines(data / FOLDER / "states.jsonl"):
            states.setdefault((state["label"], state["chatId"]), state["chat"])
        return cls(requests, states)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class Replay:
    """Follows a recording."""

    def __init__(self, recording: Recording, *, meta: bool = False) -> None:
        self.recording = recording
        self.meta = meta
        self.store = SqliteVerbs(":memory:")
        self.recognising = ClientFollower(self.store)

    async def outcomes(self) -> list[Outcome]:
        """Of every request, in order."""
        last = {one["label"]: one["n"] for one in self.recording.requests}
        return [await self._outcome(one, is_last=last[one["label"]] == one["n"]) for one in self.recording.requests]

    async def _outcome(self, request: dict[str, Any], *, is_last: bool) -> Outcome:
        outcome = Outcome(request["n"], request["label"])
        fields = request["body"] if self.meta else {**request["body"], "chat_meta": None}
        asked = parse_chat_request(
            json.dumps(fields).encode(), {name.lower(): value for name, value in request["headers"].items()}
        )
        place = await self.recognising.follow(asked.client_request(OWNER), f"story {request['n']}")
        taken, wanted = place.ask if place else Ask.ASIDE, ASKS.get(request["kind"], Ask.ASIDE)
        if taken is not wanted:
            outcome.faults.append(f"taken for {taken}, and was {wanted}")
        if place is None:
            return outcome
        await self._answer(place, asked, request["response"])
        state = self.recording.states.get((request["label"], request["chat_id"]))
        if state is not None and is_last:  # a chat was recorded once all that an action did was done
            outcome.compared = True
            outcome.faults += list(_differences(await self._on_screen(place), _shown(state)))
        return outcome

    async def _answer(self, place: ClientPlace, asked: ChatRequest, response: dict[str, Any]) -> None:
        texts = response.get("texts") or [] if response.get("kind") != "error" else []
        broken_off = bool(response.get("aborted"))
        if broken_off:
            texts = [text[: (response["sent_chars"] or [0])[0]] for text in texts[:1]]
        calls = (ToolCall("call_1", response["tool_call"], "{}"),) if response.get("tool_call") else ()
        choices = [
            ReplyChoice(number, text, response.get("reasoning") or "", tool_calls=calls)
            for number, text in enumerate(texts)
        ]
        replies = make_replies(Reply(tuple(choices)), asked.client_list, place.prefill.begins)
        if replies:
            await self.recognising.answer(place, replies, partial=broken_off)
        else:
            await self.recognising.unanswered(place)

    async def _on_screen(self, place: ClientPlace) -> list[str]:
        path = await self.store.path(place.key, place.branch, 0, 1_000_000)
        texts = [_plain(item.entry.message.text) for item in path if not item.entry.attributes.hidden]
        return [text for text in texts if text]


def _shown(chat: list[dict[str, Any]]) -> list[str]:
    """What a chat shows of the story: what is hidden is not sent, nor are comments, nor empty replies; and reasoning is
    kept beside what was said."""
    texts = [_plain(split_reasoning(one["mes"] or "")[1]) for one in chat if not one.get("is_system")]
    return [text for text in texts if text]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _differences(stored: list[str], shown: list[str]) -> Iterator[str]:
    """In what a path and a chat differ. Macros in a chat stand for whatever the client makes of them."""
    macros = [(re.compile(re.sub(r"\\\{\\\{.*?\\\}\\\}", ".*", re.escape(one))), one) for one in shown if "{{" in one]
    alike = [next((one for macro, one in macros if macro.fullmatch(text)), text) for text in stored]
    changes = difflib.SequenceMatcher(None, alike, shown, autojunk=False).get_opcodes()
    for change, first, last, first_shown, last_shown in changes:
        if change != "equal":
            yield f"stored at {first}: {_short(alike[first:last])}; on screen: {_short(shown[first_shown:last_shown])}"


def _short(texts: list[str]) -> str:
    return " | ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in texts[:3]) or "nothing"


def replayed(data: Path, *, meta: bool = False) -> list[Outcome]:
    """What became of everything that was recorded."""
    return asyncio.run(Replay(Recording.read(data), meta=meta).outcomes())


def main() -> None:
    """Replay, and say what differs."""
    parser = argparse.ArgumentParser(description="Recorded requests, and whether the path is the chat on screen.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--meta", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    outcomes = replayed(asked.data, meta=asked.meta)
    different = [one for one in outcomes if one.faults]
    told = {
        "requests": len(outcomes),
        "chats compared": sum(one.compared for one in outcomes),
        "equal": len(outcomes) - len(different),
        "different": len(different),
    }
    if asked.json:
        why = [{"n": one.number, "label": one.label, "why": DIFFERENCES.get(one.label)} for one in different]
        sys.stdout.write(json.dumps({**told, "differences": why}) + "\n")
        return
    for one in different:
        sys.stdout.write(f"{one.told}\n    {DIFFERENCES.get(one.label, 'NOT EXPLAINED')}\n")
    sys.stdout.write(", ".join(f"{name}: {count}" for name, count in told.items()) + "\n")


if __name__ == "__main__":
    main()
