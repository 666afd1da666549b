"""Searches in one story: by words and meaning alone, or with a model that says how the answer may be worded.

A search asks no model unless it is told to. With one, the model is asked twice. It reads the question and what memory
tells this reader, and writes a few lines (`folds.seek`); each is looked up beside the question. Then it reads excerpts
of the best hits and picks those that help (`folds.pick`); these come first. Its words are never shown as the story's.
Whatever goes wrong, the ordinary hits are there. The same question is paid for once while memory stands as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from previously.core.tokens import Counter
from previously.core.versions import Cost, Status
from previously.folds.ask import AskedSource
from previously.folds.checks import Refused
from previously.folds.fold import Fold
from previously.folds.pick import NONE, PickFold, read_picked
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
from previously.text.cuts import cut_to_tokens, cut_window
from previously.text.words import find_places, read_terms
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

MOST_OFFERED = 60
"""Hits that a model picks among: what the first trial was made with. Of what it was shown it missed nothing."""

EXCERPT_CHARACTERS, EXCERPT_TOKENS = 180, 70
"""The most that is shown of one: about 30 words. The tokens bound scripts whose letters are tokens; 180 characters of a
script with spaces take fewer."""

OFFERED_TOKENS = 3_000
"""Tokens of all excerpts together: 55 to 60 of them, if every message is longer than its excerpt."""

FEWEST_OFFERED = 2
"""One hit needs no picking."""

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
class PickedHits:
    """The hits that a model picked, and what they cost."""

    hits: tuple[SearchHit, ...]
    """These, the most helpful first."""
    offered: int = 0
    """The number of hits that it picked among."""
    reason: str = ""
    """The reason why there are none; empty where there are."""
    warnings: tuple[str, ...] = ()
    """The parts of its answer that were dropped."""
    model: str = ""
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class ModelSearch:
    """The hits of a search that a model helped with, and its part in it."""

    hits: tuple[SearchHit, ...]
    """Those that it picked (`picked`) come first."""
    words: SoughtWords
    pick: PickedHits

    @property
    def cost(self) -> Cost:
        """Return what both calls cost together."""
        return self.words.cost + self.pick.cost


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
        return await self._find(query, top, budget_tokens, find_witness(witness))

    async def search_with_model(
        self,
        query: str,
        *,
        top: int | None = None,
        budget_tokens: int | None = None,
        witness: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ModelSearch:
        """Return the same, with two calls of the model that writes memory. It says how the messages that answer may be
        worded, and these lines are looked up beside the query. Of the best 60 hits it then picks those that help, which
        come first. Where it has no line to give, or picks nothing, the hits are as they were, and `words.reason` or
        `pick.reason` says why.

        >>> from previously import BlockingMemory, ScriptedModel
        >>> with BlockingMemory(":memory:", model=ScriptedModel(["The last slate is on.", "2"])) as memory:
        ...     story = memory.story("ferry")
        ...     for text in ("The roof leaks.", "The last slate is on.", "Good night, Wren."):
        ...         _ = story.add("user", text, name="Odalys")
        ...     found = story.search_with_model("Was the roof ever mended?")
        >>> found.hits[0].position, found.hits[0].picked, found.words.lines, found.cost.calls
        (1, True, ('The last slate is on.',), 2)
        """
        await catch_up_all(self._access, progress)
        who = find_witness(witness)
        await self._find(query, top, budget_tokens, who)  # bad input is refused before anything is paid for
        words, pick = await ask_for_help(self._access, self._writer, query, who)
        hits = await self._find(query, top, budget_tokens, who, words.lines, pick.hits)
        return ModelSearch(tuple(hits), words, pick)

    async def _find(
        self,
        query: str,
        top: int | None,
        budget_tokens: int | None,
        who: Reader,
        beside: Sequence[str] = (),
        picked: Sequence[SearchHit] = (),
    ) -> list[SearchHit]:
        settings = self._access.settings
        dated = settings.in_force.clock == "chat"
        wanted = SearchOrder(query, top, budget_tokens, settings.counter, dated, beside=beside, picked=picked)

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


async def ask_for_help(
    access: StoryAccess, writer: MemoryWriter, question: str, who: Reader
) -> tuple[SoughtWords, PickedHits]:
    """Return what a model would look for, and what it picks of all that is found then. One that gave no answer to the
    first question is not asked the second."""
    words = await _seek_words(access, writer, question, who)
    if words.reason and not words.cost.output_tokens:
        return words, PickedHits((), reason=words.reason)
    return words, await _pick_hits(access, writer, question, who, words.lines)


async def _seek_words(access: StoryAccess, writer: MemoryWriter, question: str, who: Reader) -> SoughtWords:
    """Return the lines that a model would look for beside a question, from what memory tells one reader."""
    if writer.made_by == BuiltinWriter.made_by:
        return SoughtWords((), NO_MODEL)
    room = min(KNOWN_TOKENS, access.settings.in_force.memory_window_tokens - PROMPT_TOKENS)
    counter = access.settings.counter

    def read(moment: StoryMoment) -> tuple[str, AnswerSource]:
        return render_known(moment, question, who, room, counter), find_place(access, moment)

    known, place = await access.read(read)
    fold = SeekFold(question[:LONGEST_QUESTION], known)
    answer = await _ask_and_judge(access, writer, fold, place, "other words for a search")
    return SoughtWords(tuple(answer.text.splitlines()), answer.reason, answer.model, answer.cost)


async def _pick_hits(
    access: StoryAccess, writer: MemoryWriter, question: str, who: Reader, beside: Sequence[str]
) -> PickedHits:
    """Return the hits for a question and other words for it that a model picks, from what one reader witnessed."""
    room = min(OFFERED_TOKENS, access.settings.in_force.memory_window_tokens - PROMPT_TOKENS)
    counter, dated = access.settings.counter, access.settings.in_force.clock == "chat"
    wanted = SearchOrder(question, MOST_OFFERED, None, counter, dated, beside=beside)
    sought = tuple(term for line in (question, *beside) for term in read_terms(line).terms)

    def read(moment: StoryMoment) -> tuple[list[SearchHit], AnswerSource]:
        found = search_all(moment, wanted, who)
        fitting = len(_take([str(_cut_excerpt(hit, sought)) for hit in found], room, counter))
        stories = [*(earlier.name for earlier, _ in reversed(list_earlier(moment, who))), ""]
        offered = sorted(found[:fitting], key=lambda hit: (stories.index(hit.story), hit.position))
        return offered, find_place(access, moment)

    hits, place = await access.read(read)
    if len(hits) < FEWEST_OFFERED:
        return PickedHits((), len(hits), "there is nothing to choose between")
    excerpts = tuple(_cut_excerpt(hit, sought) for hit in hits)
    fold = PickFold(question[:LONGEST_QUESTION], excerpts, who.name)
    answer = await _ask_and_judge(access, writer, fold, place, "a choice among hits")
    reason = "it says that none of them helps" if answer.text == NONE else answer.reason
    picked = tuple(hits[number - 1] for number in read_picked(answer.text))
    return PickedHits(picked, len(hits), reason, answer.warnings, answer.model, answer.cost)


def _cut_excerpt(hit: SearchHit, sought: Sequence[str]) -> AskedSource:
    """Return the part of a hit that holds most of what was searched for, with its place and speaker. The terms it was
    found by are those of one line; the answer may stand beside the words of another."""
    place = f"message {hit.position}" + (f" of {hit.story}" if hit.story else "")
    places = find_places(hit.text, (*sought, *hit.terms))
    text = cut_to_tokens(cut_window(hit.text, places, EXCERPT_CHARACTERS), EXCERPT_TOKENS)
    return AskedSource(f"{place}, {hit.speaker}" if hit.speaker else place, text)


@dataclass(frozen=True, slots=True)
class _Answer:
    """A model's answer that was accepted, or the reason why there is none."""

    text: str
    reason: str
    warnings: tuple[str, ...]
    model: str
    cost: Cost


async def _ask_and_judge(
    access: StoryAccess, writer: MemoryWriter, fold: Fold, place: AnswerSource, what: str
) -> _Answer:
    reply = await ask_writer(access, writer, fold, place, what)
    cost = reply.total_cost
    if reply.status is Status.REFUSED:
        return _Answer("", reply.reason, (), reply.model, cost)
    verdict = fold.judge_text(reply.text)  # a writer of one's own need not have judged it
    if isinstance(verdict, Refused):
        return _Answer("", verdict.reason, (), reply.model, cost)
    return _Answer(verdict.text, "", reply.warnings or verdict.warnings, reply.model, cost)


def find_place(access: StoryAccess, moment: StoryMoment) -> AnswerSource:
    """Return what an answer is about: the story up to its newest message."""
    newest = moment.snapshot.path(moment.snapshot.messages - 1, moment.snapshot.messages - 1)
    node, seen = (newest[0].node, newest[0].hash) if newest else (0, b"")
    return AnswerSource(access.key, node, seen)


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
