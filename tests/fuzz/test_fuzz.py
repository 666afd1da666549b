"""A small run of the fuzzer over every target; that it finds what is broken; and what it found, for good."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from previously.blocking import BlockingMemory
from previously.core.errors import BadInput
from previously.core.json_values import parse_json
from previously.folds.cast import read_cast_answer
from previously.folds.checks import Accepted, clip_words
from previously.folds.json_answer import find_object
from previously.folds.prompts.templates import parse_template
from previously.formats import read_story
from previously.formats.scene_memories import migrate
from previously.lore.books import parse_book
from previously.lore.entry import KeyedEntry, find_problems
from previously.lore.keys import LONGEST_PATTERN, Comparison, prepare_key
from previously.models.server_facts import find_listed_window
from previously.server.chat_request import parse_chat_request
from previously.server.pending_turns import PendingTurns
from previously.wire.errors import Redaction
from previously.wire.interface import RESPONSES
from tests.fuzz.answers import FOLDS
from tests.fuzz.mutations import Sample
from tests.fuzz.target import FuzzInput, Target, check
from tests.fuzz.targets import TARGETS
from tests.fuzz.watch import make_input
from tests.fuzz.workers import fuzz

SOME, FEW = 2_000, 60
"""Inputs of each format of files, and of each other target, in `make test`: 37 seconds of CPU in all on a
machine that was busy with other work (load 11). `make fuzz` tries 100,000."""


def test_no_reader_breaks_on_a_few_inputs() -> None:
    """The whole command: every target in processes of its own."""
    counts = ["--cases", str(SOME), "--other-cases", str(FEW)]
    command = [sys.executable, "-m", "tests.fuzz", *counts, "--seed", "7", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["targets"].keys() == TARGETS.keys()
    for name, tally in report["targets"].items():
        assert tally["accepted"] + tally["refused"] == (SOME if TARGETS[name].is_format else FEW), name
        assert tally["accepted"], f"{name}: no input was right, so its samples are none"


def read_badly(given: FuzzInput) -> None:
    """A reader with every fault that is looked for, each for some inputs."""
    match given.content[:1]:
        case b"a":
            raise KeyError("role")
        case b"b":
            while True:
                pass
        case b"c":
            bytearray(2_000_000_000)
        case b"d":
            Path("/etc/hostname").read_text()
        case b"e":
            (given.folder.parent / "previously-fuzz-escaped").write_text("x")
        case b"f":
            raise BadInput("two\nlines")
        case b"g":
            raise BadInput("x" * 5_000)
        case b"h":
            check(False, "half of it was stored")
        case b"i":
            os._exit(3)
        case b"j":
            subprocess.run(["true"], check=False)
        case b"k":
            raise BadInput("This is refused, as it should be.")


EXPECTED = {
    "a": "KeyError", "b": "TooSlow", "c": "MemoryError", "d": "Trespass", "e": "Trespass", "f": "printable line",
    "g": "5000 characters", "h": "half of it was stored", "i": "its process ended with 3", "j": "Trespass",
}  # fmt: skip


def test_it_finds_every_fault_of_a_broken_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.watch.LONGEST_S", 0.2)
    monkeypatch.setattr("tests.fuzz.watch.mutate", lambda chance, samples: samples[0].content)
    for letter, expected in EXPECTED.items():
        tally = fuzz(Target(letter, read_badly, [Sample.of(letter)]), 0, range(2), 1)
        assert (tally.inputs, tally.broken) == (2, 2), letter
        assert expected in tally.faults[0].words, (letter, tally.faults)
    assert not (Path(tempfile.gettempdir()) / "previously-fuzz-escaped").exists()


def test_a_refusal_and_a_right_input_are_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.watch.mutate", lambda chance, samples: chance.choice(samples).content)
    tally = fuzz(Target("sound", read_badly, [Sample.of("k"), Sample.of("l")]), 0, range(20), 2)
    assert (tally.accepted + tally.refused, tally.broken, len(tally.sentences)) == (20, 0, 1)
    assert tally.accepted and tally.refused


def test_the_same_seed_gives_the_same_inputs() -> None:
    target = TARGETS["file: sillytavern"]
    first, again = ([make_input(target, 3, case, Path()).content for case in range(50)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 45
    assert first != [make_input(target, 4, case, Path()).content for case in range(50)]


# What it found


def test_a_database_with_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(TARGETS["file: opencode database"].samples[0].content.replace(b'"Hi."', b'"\x90i."'))
    with pytest.raises(BadInput, match="cannot be read"):
        read_story(path)


def test_an_id_that_cannot_be_a_directory_has_no_messages(tmp_path: Path) -> None:
    for name in ("session", "message"):
        (tmp_path / name).mkdir()
    (tmp_path / "session" / "a.json").write_text(json.dumps({"id": "ses" + "x" * 300, "time": {}}))
    with pytest.raises(BadInput, match="no session with messages"):
        read_story(tmp_path)


def test_a_book_with_half_a_character_is_kept() -> None:
    with BlockingMemory(":memory:") as memory:
        memory.keep_book("Vale", parse_json('[{"name": "Mill\\ud800", "content": "\\u0000"}]', "file"))
        ((entry, _),) = memory.book("Vale")
    assert (entry.name, entry.content) == ("Mill\ufffd", "\ufffd")


def test_a_scene_memory_with_half_a_character_can_be_stored() -> None:
    assert migrate(parse_json('"Ada came. \\ud800"', "file")).summary == "Ada came. \ufffd"


def test_what_a_model_escapes_in_json_can_be_stored() -> None:
    assert find_object('{"summary": "a\\ud800b\\u0000", "n": NaN}') == {"summary": "a\ufffdb\ufffd", "n": None}
    fold, _ = FOLDS["scene"]
    answer = {"summary": "Ada came to Finn at the mill. \ud800", "lorebooks": []}
    verdict = fold.judge_text(json.dumps(answer))
    assert isinstance(verdict, Accepted), verdict
    verdict.text.encode()


def test_a_fact_of_blank_lines_is_read_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.watch.mutate", lambda chance, samples: samples[0].content)
    blank = Sample.of({"add": ["\n" * 40_000]})  # it took 20 s of CPU time, with the square of the lines
    assert not fuzz(replace(TARGETS["answer: cast"], samples=[blank]), 0, range(1), 1).faults


def test_a_dash_inside_a_fact_stays() -> None:
    answer = read_cast_answer('{"add": ["Bram left - at night"]}')
    assert getattr(answer, "add", None) == ("Bram left - at night",)


def test_a_new_story_is_named_by_what_can_be_shown() -> None:
    body = {"messages": [{"role": "user", "content": "Hi."}], "chat_meta": {"char": "Fi\u202enn\u001b[2J"}}
    name = parse_chat_request(json.dumps(body).encode(), {}).make_story_name()
    assert name.startswith("Fi nn [2J ") and name.isprintable()


def test_words_of_an_answer_are_quoted_in_a_line_that_can_be_shown() -> None:
    assert clip_words("It broke\x8e\u202e off\n here") == "It broke off here"


def test_an_entry_is_named_in_a_line_that_can_be_shown() -> None:
    with pytest.raises(BadInput, match="cannot be read") as refusal:
        parse_book({"entries": [{"id": "a\r\n", "keys": 5}]})
    assert str(refusal.value).isprintable()


def test_a_prompt_is_refused_in_a_short_sentence() -> None:
    text = "{{hint}}{{" + "x" * 5_000 + "}}\n=== user ===\n"
    with pytest.raises(BadInput, match="has an unknown") as refusal:
        parse_template("combine", text, ["hint"])
    assert len(str(refusal.value)) < 300


async def test_a_waiting_answer_that_is_no_message_is_put_aside(tmp_path: Path) -> None:
    asked = {"id": 1, "owner": "ann", "story": None, "names": [None, None, []]}
    asked["body"] = {"messages": [{"role": "user", "content": "Hi."}]}
    lines = [asked, {"answers": 1, "replies": [["text"]]}]
    (tmp_path / "1-00.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    pending = PendingTurns(tmp_path, 1_000_000)
    await pending.take_over()
    (key,) = pending.list_keys()
    assert await pending.read(key) is None
    assert not pending.list_keys()
    await pending.close()
    assert "text" in (tmp_path / "1-00.jsonl.damaged").read_text("utf-8")


def test_an_item_of_any_type_is_read() -> None:
    reader = RESPONSES.open_reader()
    reader.feed(b'data: {"type": "response.output_item.done", "item": {"type": {"a": 1}}}\n\n')
    reader.finish()


def test_a_list_of_models_with_odd_names_is_read() -> None:
    assert find_listed_window({"data": [{"id": ["m"], "max_model_len": 9}]}, "m") == 9


def test_a_server_is_quoted_in_one_line_that_can_be_shown() -> None:
    assert Redaction().quote("busy\x00\x1b[2J\u202e now") == "busy [2J now"


def test_a_key_without_end_is_refused_at_once_and_shown_in_short() -> None:
    key = '{"a":' * 20_000
    assert prepare_key(key).compared is Comparison.NEVER
    assert prepare_key("x" * LONGEST_PATTERN).compared is Comparison.CASEFOLD
    entry = KeyedEntry("u", "x", content="y", keys=(key, f"/{key}/", "/a\x07(/"))
    problems = find_problems(entry)
    assert len(problems) == 3
    assert all(len(problem) < 500 and problem.isprintable() for problem in problems)
