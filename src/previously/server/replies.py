"""An answer as messages of the story."""

from __future__ import annotations

from previously.core.messages import Draft, Message, Part, Role, Text, Thinking, cleaned
from previously.recognition.client_list import ClientList
from previously.view.volatile import without_echo
from previously.wire.reasoning import split_reasoning
from previously.wire.reply import Reply, ReplyChoice


def messages_of(reply: Reply, heard: ClientList, begins: str = "") -> list[Message]:
    """The choices of an answer as messages, those without anything left out. `begins`: what the client has put before
    the answer, and shows before it."""
    speaker = heard.speaker or (heard.names.character if not heard.names.members else None)
    return [
        cleaned(Draft(_message(choice, speaker, begins)))[0].message for choice in reply.choices if not choice.empty
    ]


def _message(choice: ReplyChoice, speaker: str | None, begins: str) -> Message:
    thought, text = split_reasoning(choice.text)
    if not text.strip():
        thought, text = "", choice.text  # words that only look like reasoning are all there is
    text = without_echo(text)
    if speaker and text.lstrip().startswith(f"{speaker}:"):
        text = text.lstrip()[len(speaker) + 1 :].lstrip()  # as clients do: a name is no part of what is said
    parts: list[Part] = [Thinking(part) for part in (choice.reasoning, thought) if part.strip()]
    said = begins + (text or choice.refusal)
    if said or not choice.tool_calls:
        parts.append(Text(said))
    return Message(Role.ASSISTANT, (*parts, *choice.tool_calls), speaker)
