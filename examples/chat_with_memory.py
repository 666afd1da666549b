"""A chat that never forgets: any OpenAI-compatible server, and a story that goes on.

    python examples/chat_with_memory.py http://127.0.0.1:8080/v1 my-model

Every message is kept; the model sees the view, which stays the same size. Folds are made by the same model. Without
arguments nobody answers but the memory itself, so that you can watch it work with no model. An empty line ends it.
"""

from __future__ import annotations

import asyncio
import sys

from previously import Memory, OpenAICompatibleModel, View
from previously.core.model_io import ModelReply, ModelRequest


def question(view: View) -> ModelRequest:
    """The view as one question: what is remembered, then the newest messages."""
    system = "\n\n".join(message.text for message in view.messages if message.role == "system")
    lines = [f"{message.speaker}: {message.text}" for message in view.messages if message.role != "system"]
    return ModelRequest(system or "You are the narrator.", "\n".join(lines) + "\nNarrator:", max_output_tokens=300)


async def chat(arguments: list[str]) -> None:
    """Talk until an empty line."""
    model = OpenAICompatibleModel(arguments[0], arguments[1]) if len(arguments) == 2 else None
    async with await Memory.open("chat.db", model=model) as memory:
        story = await memory.story("chat")
        while text := sys.stdin.readline().strip():
            await story.add("user", text, name="You")
            view = await story.view(4_000)
            answer = f"(I see {len(view.messages)} messages in {view.tokens} tokens.)"
            if model is not None:
                reply = await model.ask(question(view))
                answer = reply.text if isinstance(reply, ModelReply) else reply.reason
            await story.add("assistant", answer, name="Narrator")
            await story.fold()
            sys.stdout.write(f"{answer}\n")


if __name__ == "__main__":
    asyncio.run(chat(sys.argv[1:]))
