"""What is noticed of a fragment without a model."""

from __future__ import annotations

from previously.core.messages import Message, message
from previously.core.words import count_words
from previously.folds.analysis import is_fragment
from previously.folds.builtin.noticing import SUMMARY_WORDS, noticed

FRAGMENT = """Three days later Maya reached the mill. The wheel had stopped. Joaquin was waiting by the door.

"I promise I will bring the lantern back to you before dawn, Maya," Joaquin said.

Maya took the brass key from the table. She went to the cellar. The miller was killed in the storm, and Odalys broke
her wrist on the stairs. Was Wren wounded? He would have entered the house. Outside the rain went on and on."""


def of(*said: Message, open_threads: tuple[str, ...] = ()) -> tuple[str, ...]:
    return noticed(said, open_threads=open_threads).signals.resolved_threads


def test_the_state_takes_a_model() -> None:
    assert noticed([message("assistant", FRAGMENT)]).signals.state_changes == ()


def test_a_promise_is_an_open_thread() -> None:
    threads = noticed([message("assistant", FRAGMENT)]).signals.open_threads
    assert len(threads) == 1
    assert "lantern" in threads[0]


def test_what_is_settled_is_known_by_what_was_open() -> None:
    open_threads = ("Maya owes Wren forty crowns.", "Odalys promised to mend the roof.")
    paid = message("assistant", "That evening Maya went to Wren and paid him the forty crowns.")
    assert of(paid, open_threads=open_threads) == ("Maya owes Wren forty crowns.",)
    assert of(message("assistant", "Rain fell."), open_threads=open_threads) == ()
    assert of(paid) == ()


def test_who_is_named_and_who_speaks_is_mentioned() -> None:
    assert noticed([message("assistant", FRAGMENT)]).mentions[:3] == ("Maya", "Joaquin", "Odalys")
    spoken = noticed([message("user", "Where did Joaquin go?", speaker="Wren")], known=("Joaquin",))
    assert spoken.mentions == ("Wren", "Joaquin")


def test_the_summary_is_short_and_never_empty_where_there_are_words() -> None:
    assert 0 < count_words(noticed([message("assistant", FRAGMENT * 5)]).summary_update) <= SUMMARY_WORDS
    for text in ("Hm.", "((brb, pizza is here))", "https://example.org/a", "雨。", "**", "a" * 5_000, "1 2 3"):
        said = message("user", text, speaker="Maya")
        assert bool(noticed([said]).summary_update.strip()) >= is_fragment(said), text


def test_it_gives_the_same_every_time() -> None:
    said = [message("assistant", FRAGMENT)]
    assert noticed(said) == noticed(list(said))
