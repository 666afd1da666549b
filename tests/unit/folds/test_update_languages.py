"""The update in other languages: a strong model's answers to the very question; headings found, language kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from previously.core.messages import message
from previously.core.model_io import ModelReply, Usage
from previously.core.note import parse_note
from previously.core.versions import Kind
from previously.folds.checks import Accepted
from previously.folds.context import UpdateContext
from previously.folds.update import UpdateFold
from previously.text.language import find_language

FOLDER = Path(__file__).parent / "languages"
VOICES = {
    "german": ("Jule", "Erzähler", "German"),
    "russian": ("Вера", "Рассказчик", "Russian"),
    "japanese": ("宗助", "語り手", "Japanese"),
}


def fold_of(language: str) -> UpdateFold:
    player, teller, _ = VOICES[language]
    rows = [json.loads(line) for line in (FOLDER / f"{language}.jsonl").read_text("utf-8").splitlines()]
    messages = tuple(message(row["role"], row["content"], speaker=row["name"]) for row in rows)
    return UpdateFold(messages, UpdateContext(players=(player,), tellers=(teller,)), recap_words=150)


@pytest.mark.parametrize("language", VOICES)
def test_headings_are_found_and_the_language_is_the_storys(language: str) -> None:
    fold = fold_of(language)
    text = (FOLDER / f"{language}.answer.txt").read_text("utf-8")
    verdict = fold.judge(ModelReply(text, "by hand", "stop", Usage(0, 0, False)))
    assert isinstance(verdict, Accepted), verdict
    beside = dict(verdict.beside)
    assert find_language(verdict.text) == find_language(beside[Kind.EPISODE]) == VOICES[language][2]
    note = parse_note(beside[Kind.NOTE])
    assert note.threads and note.state and note.lore and note.present
    assert len(note.wishes) == 1, "the one thing a player asked for out of character"
    assert {offset for item in note.present for offset in range(item.first, item.last + 1)} == set(range(7))
    assert not verdict.warnings, "no line was dropped"


@pytest.mark.parametrize("language", VOICES)
def test_an_answer_in_english_is_refused(language: str) -> None:
    english = (
        "She came to the shop in the evening and asked for the papers of her family. She paid a part of the debt and "
        "promised to pay the rest later. Then she went home and said nothing to anybody about the letter."
    )
    reply = ModelReply(f"EPISODE\n{english}\n\nRECAP\n{english}\n\nEND", "m", "stop", Usage(0, 0, False))
    assert not isinstance(fold_of(language).judge(reply), Accepted)
