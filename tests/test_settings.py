"""Settings: bounds, the environment, and what a model's window must hold."""

from __future__ import annotations

import pytest

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.settings import settings_from


def test_the_environment_says_otherwise() -> None:
    given = {"PREVIOUSLY_RECAP_WORDS": "200", "PREVIOUSLY_INPUT_PRICE": "0.15", "PREVIOUSLY_DB": "x", "HOME": "y"}
    settings = settings_from(given)
    assert (settings.recap_words, settings.input_price, settings.tail_messages) == (200, 0.15, 12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"PREVIOUSLY_TAIL_MESSAGES": "-1"}, "tail_messages is -1; it must be at least 0"),
        ({"PREVIOUSLY_TAIL_MESSAGES": "twelve"}, "'twelve'; it must be a whole number"),
        ({"PREVIOUSLY_OUTPUT_PRICE": "nan"}, "output_price is nan"),
        ({"PREVIOUSLY_TAIL": "12"}, "PREVIOUSLY_TAIL is no setting"),
    ],
)
def test_a_bad_value_names_itself(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        settings_from(given)


def test_a_window_too_small_for_its_recap_is_refused_where_a_model_is_used() -> None:
    large = Settings(recap_words=2_000)
    BlockingMemory(":memory:", settings=large).close()
    with pytest.raises(BadInput, match="at least 9000"):
        BlockingMemory(":memory:", settings=large, model=ScriptedModel(""))
