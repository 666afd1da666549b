"""Identity: what changes a digest, what does not, and that no two encodings collide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.digests import SIZE, digest, match_key, node_hash, span_key
from previously.core.messages import FAILED, Image, Message, Role, Text, Thinking, ToolCall, ToolResult, message

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MESSAGES = st.builds(
    Message,
    st.sampled_from(Role),
    st.lists(
        st.one_of(
            st.builds(Text, NAMES),
            st.builds(Thinking, NAMES),
            st.builds(Image, NAMES, NAMES),
            st.builds(ToolResult, NAMES, NAMES, st.sampled_from(("", FAILED))),
        ),
        max_size=3,
    ).map(tuple),
    st.none() | NAMES,
    st.none() | st.frozensets(NAMES, max_size=2).map(lambda names: tuple(sorted(names))),
)


@given(MESSAGES, MESSAGES)
def test_equal_digests_mean_equal_messages(one: Message, other: Message) -> None:
    assert (digest(one) == digest(other)) == (one == other)


def test_the_digest_is_fixed() -> None:
    """Stored hashes depend on it: if this fails, the encoding changed, and every store needs a migration."""
    given = Message(Role.USER, (Text("Hello."), ToolCall("1", "look", "{}")), "Maya", ("Joaquin",))
    assert digest(given).hex() == "fef1a85ef246a4a96228b64e08419875"
    assert len(digest(given)) == SIZE


def test_boundaries_between_fields_count() -> None:
    assert digest(message("user", "ab", speaker="c")) != digest(message("user", "b", speaker="ca"))
    assert digest(Message(Role.USER, (Text("ab"),))) != digest(Message(Role.USER, (Text("a"), Text("b"))))
    assert digest(Message(Role.USER, (Text("x"),))) != digest(Message(Role.USER, (Thinking("x"),)))


def test_a_node_is_its_message_and_all_before_it() -> None:
    a, b = digest(message("user", "a")), digest(message("user", "b"))
    assert node_hash(node_hash(bytes(SIZE), a), b) != node_hash(node_hash(bytes(SIZE), b), a)
    assert span_key([a, b]) != span_key([b, a])
    assert span_key([a]) != node_hash(b"", a)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (message("user", " Hello  there.\n"), message("user", "Hello there.")),
        (message("assistant", "Maya: Hello.", speaker="Maya"), message("assistant", "Hello.", speaker="Maya")),
        (message("assistant", "<think>hm\nhm</think>Hello."), message("assistant", "Hello.")),
        (message("user", "e\u0301"), message("user", "\u00e9")),
    ],
)
def test_match_keys_see_through_what_clients_do(one: Message, other: Message) -> None:
    assert match_key(one) == match_key(other)
    assert digest(one) != digest(other)


def test_match_keys_still_tell_messages_apart() -> None:
    assert match_key(message("user", "Hello.")) != match_key(message("assistant", "Hello."))
    assert match_key(message("user", "Hello.")) != match_key(message("user", "Hello!"))


def test_a_result_that_failed_is_another_and_yet_the_same_to_a_client_that_does_not_tell() -> None:
    given, failed = (Message(Role.TOOL, (ToolResult("1", "no such file", status),)) for status in ("", FAILED))
    assert digest(given) != digest(failed)
    assert match_key(given) == match_key(failed)
    assert digest(given).hex() == "f268b62ecd963c2b08cf186935094700", (
        "what was kept before results could fail stays what it was"
    )
