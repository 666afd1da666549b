"""What the story has settled stays settled when an earlier message is edited, though the note that opened it is new."""

from __future__ import annotations

import re

import pytest

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.core.model_io import ModelRequest
from tests.end_to_end.runtime.update_answers import answer, is_update, messages, under

RULES = Settings(tail_messages=2, fold_messages=6, fold_words=10_000, fold_tokens=10_000, chapter_messages=0,
                 cast="off", scene_messages=0)  # fmt: skip

PROMISE = "Maya said she would bring Joaquin the forty crowns to the mill before the frost."
PAID = "Maya counted out the forty crowns on the millstone, and Joaquin had them all."


class Teller:
    """Opens the debt where it is promised, in words that change from time to time, and settles it where it is paid."""

    def __init__(self, *wordings: str) -> None:
        self.wordings = list(wordings)
        self.calls = 0

    def reply(self, request: ModelRequest) -> str:
        self.calls += 1
        if not is_update(request):
            return "Maya and Joaquin spoke of the mill and of forty crowns, while parcels went to the mill one by one."
        return answer(request, "Maya and Joaquin spoke of the mill.", threads="\n".join(self.threads(request)))

    def threads(self, request: ModelRequest) -> list[str]:
        said = dict(re.findall(r"#(\d+) \w+: (.*)", messages(request)))
        found = [f"- new #{number} {self.wordings.pop(0)}" for number, text in said.items() if "would bring" in text]
        shown = re.findall(r"^(T\d+) .*forty crowns", under(request, "Open threads"), re.M)
        paid = [number for number, text in said.items() if "counted out" in text]
        return found + [f"- {thread} settled #{number} Maya paid them" for thread in shown for number in paid]


def settled(teller: Teller, changed: dict[int, str]) -> tuple[list[str], list[str], int]:
    """Tell the story, fold it, change messages of it, fold again: what is open, what is settled, calls since."""
    texts = [f"Parcel {at} gos to the mill." for at in range(26)]
    texts[3], texts[14] = PROMISE, PAID
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(teller.reply)) as memory:
        story = memory.story("tale")
        names = ("Maya", "Joaquin")
        story.add_drafts([Draft(message("user", text, speaker=names[at % 2])) for at, text in enumerate(texts)])
        story.fold()
        assert [one.thread.settled for one in story.threads(everything=True)] == [14]
        teller.calls = 0
        for position, text in changed.items():
            story.edit(position, text)
        story.fold()
        threads = story.threads(everything=True)
        return (
            [one.thread.text for one in threads if one.thread.settled is None],
            [one.thread.text for one in threads if one.thread.settled is not None],
            teller.calls,
        )


@pytest.mark.parametrize(
    "anew",
    [
        "Maya to Joaquin: forty crowns, at the mill, before the frost",
        "Maya, to bring Joaquin forty crowns before frost, at the mill",
    ],
)
def test_a_typo_mended_in_an_old_message_opens_no_settled_thread(anew: str) -> None:
    teller = Teller("Maya to Joaquin: forty crowns, at the mill, before the frost", anew)
    still_open, closed, calls = settled(teller, {5: "Parcel 5 goes to the mill."})
    assert (still_open, closed) == ([], [anew])
    assert calls <= 3


def test_what_the_edit_says_otherwise_is_asked_for_again() -> None:
    """The sum is another: the note that settled the old one is asked for again, and is shown the new one."""
    teller = Teller(
        "Maya to Joaquin: forty crowns, before the frost", "Maya to Joaquin: ninety crowns, before the frost"
    )
    still_open, closed, _ = settled(teller, {3: PROMISE.replace("forty", "ninety")})
    assert still_open == ["Maya to Joaquin: ninety crowns, before the frost"], "forty were paid, not ninety"
    assert closed == []


def test_another_thread_is_not_settled_in_its_place() -> None:
    teller = Teller("Maya to Joaquin: forty crowns, before the frost", "Joaquin to Odalys: news of the ferry at noon")
    still_open, closed, _ = settled(teller, {5: "Odalys, parcel 5 goes to the mill."})
    assert (still_open, closed) == (["Joaquin to Odalys: news of the ferry at noon"], [])
