"""Every statement of the memory that recorded answers left at a story's end, and what two readers found of each.

    python -m benchmarks.exam.statements SET STORY     list the statements, one a line: id, section, words
    python -m benchmarks.exam.statements               say how many are true, by both readers

Verdicts lie beside the answers, `answers/SET/STORY/verdicts.1.tsv` and `.2.tsv`: id, `true`, `unsupported` (the story
does not say so) or `contradicted` (it says otherwise), the messages it rests on, and a remark where there is one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from benchmarks.exam.exams import SETTINGS, load_exam
from benchmarks.exam.recordings import ANSWERS, RecordedModel, recorded_sets
from benchmarks.exam.sittings import fold_story, open_memory, prompts
from previously import Story
from previously.lore.state import TOLD
from previously.text.sentences import split_sentences

BUDGET = 4_000
"""The budget of the line in question; at 8,000 tokens one span less is folded."""

READERS = (1, 2)
VERDICTS = ("true", "unsupported", "contradicted")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or item of memory."""

    section: str
    text: str

    @property
    def id(self) -> str:
        """Return what its verdicts are found by; it changes with its words."""
        return blake2b(f"{self.section}\n{self.text}".encode(), digest_size=5).hexdigest()


async def statements_of(set_name: str, story_name: str) -> list[Statement]:
    """Return the statements in force at the end of a story, each once."""
    exam = load_exam(story_name)
    model = RecordedModel(ANSWERS / set_name / story_name, [one.text for one in exam.messages], prompts())
    async with await open_memory(exam, model) as memory:
        story, _ = await fold_story(memory, exam, BUDGET)
        return list(dict.fromkeys([one async for one in _statements(story)]))


async def _statements(story: Story) -> AsyncIterator[Statement]:
    recap = await story.recap()
    for sentence in split_sentences(recap.text if recap else ""):
        yield Statement("recap", sentence)
    for chapter in await story.chapters():
        for sentence in split_sentences(chapter.text):
            yield Statement(f"chapter {chapter.number}, {chapter.span}", sentence)
        for sentence in split_sentences(chapter.short):
            yield Statement(f"short form of chapter {chapter.number}, {chapter.span}", sentence)
    backbone = await story.backbone()
    for sentence in split_sentences(backbone.text if backbone else ""):
        yield Statement("backbone", sentence)
    for episode in await story.episodes():
        for sentence in split_sentences(episode.text):
            yield Statement(f"episode of {episode.span}", sentence)
    for item in await story.threads(everything=True):
        thread = item.thread
        yield Statement(f"{item.status.value} thread", f"{thread.text} -> {thread.outcome}".removesuffix(" -> "))
    for held in await story.state():
        yield Statement("state", held.text)
    for entry in await story.lore():
        yield Statement("lore", f"{entry.name}: {entry.content}")
    for who in await story.cast():
        for fact in (one for one in who.knowledge.facts if one.source == TOLD):  # the rest are items listed above
            yield Statement("learnt", f"{who.name}: {fact.text}")
    for wish in await story.wishes():
        yield Statement("wish", wish.text)


def read_verdicts(folder: Path, reader: int) -> dict[str, str]:
    """Return what a reader found, by id."""
    path = folder / f"verdicts.{reader}.tsv"
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()] if path.is_file() else []
    return {row[0]: row[1] for row in rows if len(row) > 1 and row[1] in VERDICTS}


def count(set_name: str, story_name: str) -> Iterator[tuple[int, Counter[str], list[Statement]]]:
    """Yield for each reader how many statements have which verdict, and those that have none."""
    statements = asyncio.run(statements_of(set_name, story_name))
    for reader in READERS:
        found = read_verdicts(ANSWERS / set_name / story_name, reader)
        yield (
            reader,
            Counter(found[one.id] for one in statements if one.id in found),
            [one for one in statements if one.id not in found],
        )


def main(arguments: Sequence[str]) -> int:
    """List statements, or count verdicts."""
    if len(arguments) == 2:
        for one in asyncio.run(statements_of(arguments[0], arguments[1])):
            print(f"{one.id}\t{one.section}\t{one.text}")
        return 0
    missing = 0
    for set_name in recorded_sets():
        for story_name in SETTINGS:
            for reader, verdicts, unread in count(set_name, story_name):
                told = ", ".join(f"{verdicts[one]} {one}" for one in VERDICTS)
                print(f"set {set_name}, {story_name}, reader {reader}: {told}; {len(unread)} not read")
                missing += len(unread)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
