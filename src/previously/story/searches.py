"""Searches in one story: by words and meaning alone, or with a model that says how the answer may be worded.

A search asks no model unless it is told to. With one, the model reads the question and what memory tells this reader,
and writes a few lines (`folds.seek`); each is looked up beside the question. Its words are never shown as the story's.
Whatever goes wrong, the ordinary hits are there. The same question is paid for once while memory stands as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from previously.core.tokens import Counter
from previously.core.versions import Cost, Status
from previously.folds.checks import Refused
from previously.folds.seek import SeekFold
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.search import (
    SearchHit,
    SearchOrder,
    catch_up,
    list_allowed,
    list_earlier,
    list_keys,
    search_all,
)
from previously.runtime.story_moment import StoryMoment
from previously.runtime.writer import BuiltinWriter, MemoryWriter
from previously.story.access import StoryAccess
from previously.story.ask_writer import ask_writer
from previously.story.statements import Statement, list_statements
from previously.view.reader import Reader, ReaderKind, parse_reader

KNOWN_TOKENS = 1_500
"""Tokens of memory that a model reads before it writes search words: what the figures were measured with."""

TEXTS_SHARE = 0.6
"""The share of these for texts, which tell the whole of the story: a backbone, or the first chapters."""

NAMES_SHARE = 0.1
"""The share for the names of lore: about 50 of them."""

PROMPT_TOKENS = 1_000
"""The room in the memory model's window beside them: 270 for the instructions, 300 for the answer, and a question."""

LONGEST_QUESTION = 2_000
"""Characters of a query that a model reads: a page is no question any more."""

NO_MODEL = "no model writes memory"

_TEXTS = ("backbone", "chapter", "recap", "brief")
_LINES = ("thread", "state", "cast")


@dataclass(frozen=True, slots=True)
class SoughtWords:
    """Other words for a question, and what they cost."""

    lines: tuple[str, ...]
    reason: str = ""
    """The reason why there are none; empty where there are."""
    model: str = ""
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class ModelSearch:
    """The hits of a search that a model helped with, and its part in it."""

    hits: tuple[SearchHit, ...]
    words: SoughtWords


class Searches:
    """Searches one story."""

    def __init__(self, access: StoryAccess, writer: MemoryWriter) -> None:
        self._access = access
        self._writer = writer

    async def search(
        self,
        query: str,
        *,
        top: int | None = None,
        budget_tokens: int | None = None,
        witness: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[SearchHit]:
        """Return the messages that say most about a query, best first; only what `witness` witnessed. At most `top`,
        ten if that is not said, or as many as a budget holds: each is charged what it would take in a view. Messages of
        the stories before this one are found too; their `story` names it. The first search after an import indexes it:
        `progress` is told how many of how many messages are done.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "The brass key is under the stair.", name="Odalys")
        ...     [(hit.position, hit.speaker) for hit in story.search("brass key")]
        [(0, 'Odalys')]
        """
        await catch_up_all(self._access, progress)
        return await self._find(query, top, budget_tokens, find_witness(witness), ())

    async def search_with_model(
        self,
        query: str,
        *,
        top: int | None = None,
        budget_tokens: int | None = None,
        witness: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ModelSearch:
        """Return the same, with one call of the model that writes memory: it says how the messages that answer may be
        worded, and these lines are looked up beside the query. Where it has no line to give, the hits are those of
        `search`, and `words.reason` says why.

        >>> from previously import BlockingMemory, ScriptedModel
        >>> with BlockingMemory(":memory:", model=ScriptedModel("The last slate is on.")) as memory:
        ...     story = memory.story("ferry")
        ...     for text in ("Rain again.", "The last slate is on.", "Good night, Wren."):
        ...         _ = story.add("user", text, name="Odalys")
        ...     found = story.search_with_model("Was the roof ever mended?", top=1)
        >>> found.hits[0].position, found.words.lines, found.words.cost.calls
        (1, ('The last slate is on.',), 1)
        """
        await catch_up_all(self._access, progress)
        who = find_witness(witness)
        await self._find(query, top, budget_tokens, who, ())  # bad input is refused before anything is paid for
        words = await seek_words(self._access, self._writer, query, who)
        return ModelSearch(tuple(await self._find(query, top, budget_tokens, who, words.lines)), words)

    async def _find(
        self, query: str, top: int | None, budget_tokens: int | None, who: Reader, beside: Sequence[str]
    ) -> list[SearchHit]:
        settings = self._access.settings
        dated = settings.in_force.clock == "chat"
        wanted = SearchOrder(query, top, budget_tokens, settings.counter, dated, beside=beside)

        def read(moment: StoryMoment) -> list[SearchHit]:
            return search_all(moment, wanted, who)

        return await self._access.read(read)


async def catch_up_all(access: StoryAccess, progress: Callable[[int, int], None] | None = None) -> None:
    """Index what waits in a story and in those it continues."""
    for key in await access.read(list_keys):
        await catch_up(access.store, key, progress=progress)


def find_witness(name: str | None) -> Reader:
    """Return the reader that a search is for: a character, or nobody in particular."""
    return Reader() if name is None else parse_reader(f"{ReaderKind.CHARACTER}:{name}")


async def seek_words(access: StoryAccess, writer: MemoryWriter, question: str, who: Reader) -> SoughtWords:
    """Return the lines that a model would look for beside a question, from what memory tells one reader."""
    if writer.made_by == BuiltinWriter.made_by:
        return SoughtWords((), NO_MODEL)
    room = min(KNOWN_TOKENS, access.settings.in_force.memory_window_tokens - PROMPT_TOKENS)
    counter = access.settings.counter

    def read(moment: StoryMoment) -> tuple[str, AnswerSource]:
        newest = moment.snapshot.path(moment.snapshot.messages - 1, moment.snapshot.messages - 1)
        node, seen = (newest[0].node, newest[0].hash) if newest else (0, b"")
        return render_known(moment, question, who, room, counter), AnswerSource(access.key, node, seen)

    known, place = await access.read(read)
    fold = SeekFold(question[:LONGEST_QUESTION], known)
    reply = await ask_writer(access, writer, fold, place, "other words for a search")
    cost = reply.total_cost
    if reply.status is Status.REFUSED:
        return SoughtWords((), reply.reason, reply.model, cost)
    verdict = fold.judge_text(reply.text)  # a writer of one's own need not have judged it
    if isinstance(verdict, Refused):
        return SoughtWords((), verdict.reason, reply.model, cost)
    return SoughtWords(tuple(verdict.text.splitlines()), "", reply.model, cost)


def render_known(moment: StoryMoment, question: str, reader: Reader, room_tokens: int, counter: Counter) -> str:
    """Return what memory tells a reader, as much as there is room for: the texts in their order, the names of lore, and
    the lines of the lists, those first that hold words of the question."""
    from previously.recall.relevance import measure_relevance, weigh_terms

    there = moment.find_reader(reader)
    statements = [
        statement
        for one, who in [(moment, there), *list_earlier(moment, reader)]
        for statement in list_statements(one, who)
    ]
    kinds: dict[str, list[Statement]] = {}
    for statement in statements:
        kinds.setdefault(statement.address.partition(":")[0], []).append(statement)
    weights = weigh_terms(*moment.recall(), question, allowed=list_allowed(there))
    texts = [statement.text for kind in _TEXTS for statement in kinds.get(kind, ())]
    names = list(dict.fromkeys(statement.subject for statement in kinds.get("lore", ())))
    lines = [_render_statement(statement) for kind in _LINES for statement in kinds.get(kind, ())]
    lines.sort(key=lambda line: -measure_relevance(weights, line))
    told = " ".join(_take(texts, int(room_tokens * TEXTS_SHARE), counter))
    named = "; ".join(_take(names, int(room_tokens * NAMES_SHARE), counter))
    left = room_tokens - counter.tokens(f"{told}\n{named}\n")
    return "\n".join(filter(None, (told, named, *_take(lines, left, counter))))


def _render_statement(statement: Statement) -> str:
    about = ", ".join(filter(None, (statement.note, statement.subject)))
    return f"- {about}: {statement.text}" if about else f"- {statement.text}"


def _take(pieces: Sequence[str], room_tokens: int, counter: Counter) -> list[str]:
    """Return the first pieces that fit, each whole and once."""
    taken: list[str] = []
    for piece in dict.fromkeys(pieces):
        room_tokens -= counter.tokens(f"{piece}\n")
        if room_tokens < 0:
            break
        taken.append(piece)
    return taken
