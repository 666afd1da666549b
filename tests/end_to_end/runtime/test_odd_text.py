"""Text that databases trip over comes back the same from every store, what was replaced on the way in included."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from previously import BlockingMemory, Draft, message
from previously.core.errors import BadInput
from previously.core.json_values import MAX_MESSAGE_BYTES
from tests.contract.storage.postgres_server import shared_server
from tests.effort import mark_slow

ODD = {
    "lone surrogates": "\ud83d high, \udc00 low, \ud83d\ude00 as a pair",
    "NUL": "before\x00after\x00",
    "combining marks": "e" + "\u0301" * 100_000,
    "16 MB": "x" * MAX_MESSAGE_BYTES,
    "16 MB of three bytes each": "漢" * (MAX_MESSAGE_BYTES // 3),
    "empty": "",
    "line ends": "a\r\nb\rc\n\u2028d\u2029e\x85f",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x9b",
    "other planes": "\U0001f9f5\U0010ffff\ufeff\ufffe\uffff",
    "both ways": "abc \u202eשלום\u202c def",
    "not composed": "\u1112\u1161\u11ab \u0041\u030a \ufb01",
    "quotes and escapes": "'; DROP TABLE entry; -- \\x00 \\ %s :owner ?1 $1 {} \"",
}


def kept(place: str | Path, text: str) -> tuple[Any, ...]:
    """All that a story tells of one message."""
    with BlockingMemory(place) as memory:
        story = memory.story("tale")
        followed = story.follow([Draft(message("user", text, speaker=text[:20] if 0 < len(text) < 1_000 else None))])
        story.add("assistant", "And then.")
        (item,) = story.messages()[:1]
        said = item.entry.message
        return (
            followed.replaced_characters,
            said.text,
            said.speaker,
            item.entry.digest,
            item.hash,
            story.view(10**9).tokens,
        )


@pytest.mark.parametrize(
    "what",
    [what for what in ODD if "MB" not in what]
    + mark_slow(*(what for what in ODD if "MB" in what), reason="megabytes on three stores"),
)
def test_every_store_keeps_it_alike(what: str, tmp_path: Path) -> None:
    text = ODD[what]
    answers = [kept(place, text) for place in (":memory:", tmp_path / "stories.db", shared_server().emptied())]
    assert answers[0] == answers[1] == answers[2]
    replaced = sum(char == "\0" or "\ud800" <= char <= "\udfff" for char in text)
    assert answers[0][1] == re.sub("[\0\ud800-\udfff]", "\ufffd", text)
    assert bool(answers[0][0]) == bool(replaced) and answers[0][0] >= replaced


def test_a_message_that_is_too_long_is_refused_by_all_and_changes_nothing(tmp_path: Path) -> None:
    for place in (":memory:", tmp_path / "stories.db", shared_server().emptied()):
        with BlockingMemory(place) as memory:
            story = memory.story("tale")
            story.add("user", "a")
            for text in ("x" * (MAX_MESSAGE_BYTES + 1), "漢" * (MAX_MESSAGE_BYTES // 3 + 1)):
                with pytest.raises(BadInput, match="16 MB"):
                    story.add("user", text)
            assert [item.entry.message.text for item in story.messages()] == ["a"]
