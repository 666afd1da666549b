"""Made-up conversations of agents, valid or not, for laws that hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from previously.core.messages import FAILED, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
IDS = st.sampled_from(["a", "b", "call 1", "functions.run:0", ""])
URLS = st.sampled_from(["data:image/png;base64,AAAA", "https://example.org/a.png", "data:image/bmp;base64,AA", "a.png"])

PARTS: st.SearchStrategy[Part] = st.one_of(
    WORDS.map(Text),
    WORDS.map(Thinking),
    st.builds(
        ToolCall, IDS, st.sampled_from(["run", "f.g", ""]), st.sampled_from(['{"a": 1}', "{}", "", "x", "[1]", "{"])
    ),
    st.builds(ToolResult, IDS, WORDS, st.sampled_from(["", FAILED])),
    st.builds(Image, URLS),
)
MESSAGES = st.builds(Message, st.sampled_from(Role), st.lists(PARTS, max_size=4).map(tuple))
CONVERSATIONS = st.lists(MESSAGES, max_size=8)


@st.composite
def sound_conversations(draw: st.DrawFn) -> list[Message]:
    """A conversation as a client would send it: requests, calls with all their results, answers."""
    said = st.text("abc é\n", min_size=1, max_size=8).filter(str.strip)
    number = 0
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 4))):
        messages.append(Message(Role.USER, (Text(draw(said)),)))
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                calls.append(ToolCall(f"c{number}", "run", '{"n": 1}'))
            words: tuple[Part, ...] = (Text(draw(said)),) if draw(st.booleans()) else ()
            messages.append(Message(Role.ASSISTANT, (*words, *calls)))
            results = [ToolResult(call.id, draw(said), draw(st.sampled_from(["", FAILED]))) for call in calls]
            messages.append(Message(Role.TOOL, tuple(results)))
        messages.append(Message(Role.ASSISTANT, (Text(draw(said)),)))
    return messages
