"""A chat that never forgets, with any OpenAI-compatible server. An empty line ends it; the next time it goes on.

pip install openai
python examples/chat_loop.py http://127.0.0.1:8080/v1 my-model
"""

import asyncio
import sys

from openai import AsyncOpenAI

from previously import Memory, OpenAICompatibleModel


async def chat(url: str, model: str, key: str = "none") -> None:
    """Talk until an empty line."""
    client = AsyncOpenAI(base_url=url, api_key=key)
    async with await Memory.open("chat.db", model=OpenAICompatibleModel(url, model, key)) as memory:
        story = await memory.story("chat")
        while text := (await asyncio.to_thread(sys.stdin.readline)).strip():
            await story.add("user", text)
            view = await story.view(4_000)  # tokens, however long the story is
            reply = await client.chat.completions.create(model=model, messages=view.to_openai())
            answer = reply.choices[0].message.content or ""
            await story.add("assistant", answer)
            story.fold_soon()  # in the background; closing waits for it
            sys.stdout.write(f"{answer}\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("Say where the model is and its name: chat_loop.py URL MODEL [KEY]")
    asyncio.run(chat(*sys.argv[1:]))
