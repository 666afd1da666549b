"""Questions about a story: the memories and messages that answer one, and with a model a sentence that names them.

One function for the library, the command line and the proxy. Messages are found by recall; a memory is a source only if
it bears on the question (`recall.relevance`) and does not merely quote messages. Stories that this one continues are
sources too. Where the sources do not answer, the model is asked for other words to look for and picks of what these
find, and is asked once more with that. Nothing is kept of a question but the model's answers, by the hash of their
requests, so that asking the same twice costs once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.path import Span
from previously.core.tokens import Counter
from previously.core.versions import Status
from previously.folds.ask import NOT_SAID, AskedSource, AskFold, find_cited
from previously.folds.checks import Refused
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.search import SearchHit, SearchOrder, list_allowed, list_earlier, search_all
from previously.runtime.story_moment import StoryMoment
from previously.runtime.writer import BuiltinWriter, MemoryReply, MemoryWriter
from previously.story.access import StoryAccess
from previously.story.ask_writer import ask_writer
from previously.story.searches import LONGEST_QUESTION, ask_for_help, catch_up_all, find_place, find_witness
from previously.story.statements import Statement, list_statements
from previously.text.cuts import cut_around
from previously.view.reader import Reader

BEARS = 0.25
"""The share of a question (by rarity of its words) that a line of memory must hold to be a source. Of the exam's 90
questions 63 are answered by one line of memory: a quarter let such a line pass for 52 of them, a half for 31. A fifth
let pass 28 lines for each question, most of them about something else. Messages and memories together then hold the
answers to 78 questions, messages alone to 62."""

SOURCES_TOKENS = 2_000
"""Tokens of all sources if nobody says: 15 to 20 of them."""

PROMPT_TOKENS = 1_200
"""The room in the memory model's window for what is asked beside the sources: 520 for the instructions, 400 for the
answer, and a question of a few sentences. No window is as small as this: a recap would not fit."""

MEMORY_SHARE = 2
"""Memories take at most half of the budget: they are short, and the messages are what is true."""

WORTH_ASKING = 0.35
"""A message is a source if it scores at least this part of the best one. On the exam the sources then held the answers
to 78 of 90 questions, at a half (as in views, where room is dear) to 73; less than this brought no further one."""

LONGEST_PASSAGE = 300
"""Tokens of one message that are shown: of a longer one the sentences around what it was found by."""

LEAST_PASSAGE = 40
"""In less room than this, a message of usual length would be cut to a few words."""

MOST_PASSAGES = 12
"""Messages that are sources at most: sixteen held no further answer on the exam."""

NOTHING_FOUND = "Nothing in the story speaks of that."
NOTHING_TOLD = "The story has no messages yet."


class Verdict(StrEnum):
    """The outcome of a question."""

    ANSWERED = "answered"
    """A model answered, and named its sources."""
    NOT_SAID = "not said"
    """A model read the sources, and they do not answer."""
    SOURCES = "sources"
    """There are sources and no answer: no model is configured, or its answer could not be shown."""
    NOTHING = "nothing"
    """There is no source."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source of an answer: a memory, or a message."""

    number: int
    """Its number, from 1: what an answer names in square brackets."""
    address: str
    """Its address: `recap`, `chapter:2`, `thread:7`, `lore:Grim`, `message:41`."""
    text: str
    """The words that bear on the question, as they stand there."""
    spans: tuple[Span, ...]
    """The messages it comes from, first and last of each run; none for what comes from a book."""
    speaker: str | None
    """The name on it, if it is a message with one."""
    at: str | None
    note: str
    """Its standing: `open`, `settled`, `stale`, `hidden`, the book it is from, or that a message shares no word with
    the question; mostly empty."""
    score: float
    """A memory: the share of the question that it holds. A message: its score in the search."""
    tokens: int
    story: str = ""
    """The story it is of, where that is one that came before."""

    @property
    def label(self) -> str:
        """The place it comes from, in words: `recap, messages 0 to 41`, `message 12 of ferry, Maya`."""
        kind, _, name = self.address.partition(":")
        thing = f"{kind} {name}".strip() + (f" of {self.story}" if self.story else "")
        if kind == "message":
            return ", ".join(filter(None, (thing, self.speaker, self.note)))
        places = ", ".join(_say_span(span) for span in self.spans)
        of = f"message{'s' if len(self.spans) > 1 or any(len(span) > 1 for span in self.spans) else ''} {places}"
        return ", ".join(filter(None, (thing, self.note, of if places else "")))


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question about a story, and what it rests on.

    >>> from previously import BlockingMemory
    >>> with BlockingMemory(":memory:") as memory:
    ...     story = memory.story("ferry")
    ...     _ = story.add("user", "I hid the ledger under the third stair.", name="Odalys")
    ...     answer = story.ask("Where is the ledger?")
    >>> answer.verdict.value, [source.address for source in answer.sources]
    ('sources', ['message:0'])
    """

    question: str
    verdict: Verdict
    text: str
    """The model's sentences, with the numbers of their sources; else one sentence that says what there is to say, or
    nothing where the sources speak for themselves."""
    reason: str
    """The reason why there is no answer though a model was asked; empty otherwise."""
    sources: tuple[Evidence, ...]
    """Memories first, then messages, the best of each first."""
    model: str = ""
    calls: int = 0

    @property
    def cited(self) -> tuple[Evidence, ...]:
        """The sources that the answer names."""
        numbers = find_cited(self.text) if self.verdict is Verdict.ANSWERED else ()
        return tuple(self.sources[number - 1] for number in numbers)


class Questions:
    """Answers questions about one story."""

    def __init__(self, access: StoryAccess, writer: MemoryWriter) -> None:
        self._access = access
        self._writer = writer

    async def ask(
        self,
        question: str,
        *,
        budget_tokens: int | None = None,
        witness: str | None = None,
        by_model: bool = True,
    ) -> Answer:
        """Answer a question about the story: with the memories and messages that speak of it, and if a model writes
        memory, with its sentence above them, which names them, or "The story does not say." Before it says so, it is
        asked for other words to look for, picks of what these find, and is asked again with that: four calls at most
        instead of one.

        `budget_tokens` is for all sources together, 2,000 if it is not given. With `witness`, nothing is shown that
        this character did not witness. With `by_model=False` no model is asked.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Wren, the brass key is yours now.", name="Odalys")
        ...     [source.text for source in story.ask("Who has the brass key?").sources]
        ['Wren, the brass key is yours now.']
        """
        asked = _check_question(question)
        room = self._access.settings.in_force.memory_window_tokens - PROMPT_TOKENS
        budget = min(SOURCES_TOKENS, room) if budget_tokens is None else budget_tokens
        if budget <= 0:
            raise BadInput(f"A budget of {budget} tokens is no budget; give a positive number.")
        who = find_witness(witness)
        await catch_up_all(self._access)
        sources, place = await self._find(asked, who, budget)
        if place is None:
            return Answer(asked, Verdict.NOTHING, NOTHING_TOLD, "", ())
        if not by_model or self._writer.made_by == BuiltinWriter.made_by:
            return Answer(asked, Verdict.SOURCES, "", "", sources) if sources else _say_nothing(asked)
        answer = await self._answer(asked, sources, place)
        if answer.verdict not in (Verdict.NOT_SAID, Verdict.NOTHING):
            return answer
        words, pick = await ask_for_help(self._access, self._writer, asked, who)
        calls = answer.calls + words.cost.calls + pick.cost.calls
        found, _ = await self._find(asked, who, budget, words.lines, pick.hits)
        if {source.text for source in found} <= {source.text for source in sources}:
            return replace(answer, calls=calls)
        second = await self._answer(asked, found, place)
        chosen = answer if second.verdict is Verdict.SOURCES else second  # no answer is worse than "not said"
        return replace(chosen, calls=calls + second.calls)

    async def _find(
        self,
        question: str,
        who: Reader,
        budget_tokens: int,
        beside: Sequence[str] = (),
        picked: Sequence[SearchHit] = (),
    ) -> tuple[tuple[Evidence, ...], AnswerSource | None]:
        """Return the sources and what an answer is about; None for that where nothing is told yet."""
        counter, dated = self._access.settings.counter, self._access.settings.in_force.clock == "chat"

        def read(moment: StoryMoment) -> tuple[tuple[Evidence, ...], AnswerSource | None]:
            if not moment.snapshot.messages and moment.find_earlier() is None:
                return (), None
            sources = _find_sources(moment, question, who, budget_tokens, counter, beside, picked, dated=dated)
            return sources, find_place(self._access, moment)

        return await self._access.read(read)

    async def _answer(self, question: str, sources: tuple[Evidence, ...], place: AnswerSource) -> Answer:
        if not sources:
            return _say_nothing(question)
        fold = AskFold(question, tuple(AskedSource(source.label, source.text) for source in sources))
        reply = await ask_writer(self._access, self._writer, fold, place, "a question about the story")
        return _make_answer(fold, reply, sources)


def _say_nothing(question: str) -> Answer:
    return Answer(question, Verdict.NOTHING, NOTHING_FOUND, "", ())


def _check_question(question: str) -> str:
    words = " ".join(clean(question)[0].split())
    if not words:
        raise BadInput("The question is empty: ask something about the story.")
    if len(words) > LONGEST_QUESTION:
        raise BadInput(f"A question has at most {LONGEST_QUESTION:,} characters; this one has {len(words):,}.")
    return words


def _make_answer(fold: AskFold, reply: MemoryReply, sources: tuple[Evidence, ...]) -> Answer:
    calls = reply.total_cost.calls
    text, reason = reply.text, reply.reason
    if reply.status is not Status.REFUSED and not reply.checked:
        verdict = fold.judge_text(text)
        text, reason = ("", verdict.reason) if isinstance(verdict, Refused) else (verdict.text, "")
    if reply.status is Status.REFUSED or not text:
        fault = reason.partition("; put ")[0]  # the rest tells the model how to write it
        return Answer(fold.question, Verdict.SOURCES, "", fault or "it is empty", sources, reply.model, calls)
    if text == NOT_SAID:
        return Answer(fold.question, Verdict.NOT_SAID, NOT_SAID, "", sources, reply.model, calls)
    return Answer(fold.question, Verdict.ANSWERED, text, "", sources, reply.model, calls)


def _find_sources(
    moment: StoryMoment,
    question: str,
    reader: Reader,
    budget_tokens: int,
    counter: Counter,
    beside: Sequence[str],
    picked: Sequence[SearchHit],
    *,
    dated: bool,
) -> tuple[Evidence, ...]:
    memories = _choose_memories(moment, question, reader, budget_tokens // MEMORY_SHARE, counter)
    left = budget_tokens - sum(memory.tokens for memory in memories)
    wanted = SearchOrder(question, MOST_PASSAGES, None, counter, dated, WORTH_ASKING, beside, picked)
    hits = search_all(moment, wanted, reader)
    passages = _choose_passages(hits, left, counter, dated=dated)
    return tuple(_number([*memories, *passages]))


def _choose_memories(
    moment: StoryMoment, question: str, reader: Reader, budget_tokens: int, counter: Counter
) -> list[Evidence]:
    """Return the lines of memory that bear on the question, the best first while they fit; lines of one memory that
    are chosen stand together, in their order."""
    statements: list[Statement] = []
    scores: list[float] = []
    for one, who in [(moment, moment.find_reader(reader)), *list_earlier(moment, reader)]:
        for statement, score in _score_statements(one, question, who):
            if not statement.is_quoted and (not one.name or _is_of_its_time(statement)):
                statements.append(replace(statement, story=one.name))
                scores.append(score)
    best = sorted(range(len(statements)), key=lambda at: (-scores[at], -_find_newest(statements[at])))
    chosen: dict[tuple[str, str], list[int]] = {}
    said: set[str] = set()
    left = budget_tokens
    for at in best:
        statement = statements[at]
        if scores[at] < BEARS:
            break
        memory = statement.story, statement.address
        cost = counter.tokens(f"{statement.text}\n") + (0 if memory in chosen else LABEL_TOKENS)
        if statement.text not in said and cost <= left:
            left -= cost
            said.add(statement.text)
            chosen.setdefault(memory, []).append(at)
    return [
        _join_statements([statements[at] for at in sorted(places)], max(scores[at] for at in places), counter)
        for places in chosen.values()
    ]


def _score_statements(moment: StoryMoment, question: str, reader: Reader) -> Iterable[tuple[Statement, float]]:
    from previously.recall.relevance import measure_relevance, weigh_terms

    weights = weigh_terms(*moment.recall(), question, allowed=list_allowed(reader))
    for statement in list_statements(moment, reader):
        yield statement, measure_relevance(weights, f"{statement.subject}: {statement.text}")


def _is_of_its_time(statement: Statement) -> bool:
    """Return whether a statement of an earlier story says what happened there. How things stood there, what was open
    and lore are inherited, and stand among this story's own as they are now."""
    kind = statement.address.partition(":")[0]
    return kind not in ("state", "wish", "lore") and not statement.note.startswith("open")


LABEL_TOKENS = 12
"""Tokens for the number of a source and the place it comes from: `[3] chapter 2, messages 40 to 119: `."""


def _find_newest(statement: Statement) -> int:
    return max((span.last for span in statement.spans), default=-1)


def _join_statements(statements: Sequence[Statement], score: float, counter: Counter) -> Evidence:
    first, text = statements[0], " ".join(statement.text for statement in statements)
    spans = tuple(dict.fromkeys(span for statement in statements for span in statement.spans))
    tokens = counter.tokens(text) + LABEL_TOKENS
    return Evidence(0, first.address, text, spans, None, None, first.note, round(score, 4), tokens, first.story)


def _choose_passages(
    hits: Sequence[SearchHit], budget_tokens: int, counter: Counter, *, dated: bool
) -> Iterable[Evidence]:
    """Yield the messages that were found while they fit, the best first."""
    left = budget_tokens
    for hit in hits:
        if left < LEAST_PASSAGE:
            break
        text = cut_around(hit.text, hit.highlights, min(LONGEST_PASSAGE, left - LABEL_TOKENS), counter.tokens)
        tokens = counter.tokens(text) + LABEL_TOKENS
        if text and tokens <= left:
            left -= tokens
            standing = ("hidden" if hit.hidden else "", "no word of the question" if hit.only_alike else "")
            note, at = ", ".join(filter(None, standing)), hit.at if dated else None
            span = Span(hit.position, hit.position)
            place = f"message:{hit.position}"
            yield Evidence(0, place, text, (span,), hit.speaker, at, note, hit.score, tokens, hit.story)


def _number(sources: Iterable[Evidence]) -> Iterable[Evidence]:
    return (replace(source, number=number) for number, source in enumerate(sources, 1))


def _say_span(span: Span) -> str:
    return str(span.first) if span.first == span.last else f"{span.first} to {span.last}"
