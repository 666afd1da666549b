"""A writer of memory of your own: this one keeps the first sentence of each message.

python examples/custom_writer.py
"""

import sys

from previously import BlockingMemory, Cost, Fold, MemoryReply, Settings


class FirstSentences:
    """Keeps the first sentence of each message."""

    made_by = "first sentences"
    amends = False

    async def ready(self) -> bool:
        return True

    async def write(self, asked: Fold, *, source: object = None, anew: bool = False) -> MemoryReply:
        told = (message.text.partition(".")[0] + "." for message in asked.delta)
        return MemoryReply(" ".join(filter(None, [asked.so_far, *told])), "", Cost(), made_by=self.made_by)


if __name__ == "__main__":
    rules = Settings(tail_messages=1, fold_messages=2)
    with BlockingMemory(":memory:", settings=rules, writer=FirstSentences()) as memory:
        story = memory.story("ferry")
        story.add("assistant", "Odalys hid the ledger. It rained all night.")
        story.add("assistant", "The ferry left at nine. Nobody waved.")
        story.add("user", "Where is everybody?")
        story.fold()
        recap = story.recap()
        sys.stdout.write(f"{recap.text if recap else '(nothing yet)'}\n")
