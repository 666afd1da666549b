"""What tools gave, where there is no room for it: the note that stands in its place, and an output with its middle cut.

A call keeps its result, of which only the text is another; whatever is cut is counted.
"""

from __future__ import annotations

from previously.core.messages import Message, Part, ToolResult


def note_of(name: str, result: ToolResult) -> str:
    """Return what stands where an output was."""
    what = "error" if result.failed else "output"
    size = f"{len(result.text):,} characters"
    return f"[{what} of {name or 'a tool'}, {size}, left out; ask for it again if it is needed]"


def with_outputs(message: Message, texts: dict[int, str]) -> Message:
    """Return the message with other texts in some of its results, by their places among the parts; itself if there are
    none."""
    if not texts:
        return message
    parts: tuple[Part, ...] = tuple(
        ToolResult(part.id, texts[place], part.status) if isinstance(part, ToolResult) and place in texts else part
        for place, part in enumerate(message.parts)
    )
    return Message(message.role, parts, message.speaker, message.witnesses)


def capped(message: Message, most_characters: int) -> Message:
    """Return the message with outputs of so many characters at most: their beginning and their end."""
    return with_outputs(
        message,
        {
            place: _without_middle(part.text, most_characters)
            for place, part in enumerate(message.parts)
            if isinstance(part, ToolResult) and len(part.text) > most_characters
        },
    )


def _without_middle(text: str, most: int) -> str:
    cut = f"\n[{len(text) - most:,} characters left out]\n"
    front = max(0, most - len(cut)) * 2 // 3
    back = max(0, most - len(cut) - front)
    return f"{text[:front]}{cut}{text[len(text) - back :]}"
