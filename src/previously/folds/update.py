"""The update: the one question a fold asks in a story. It gives the new recap, an episode and a note of what is new.

The same question can be asked for some of its parts only: for the texts alone where a model cannot give all at once,
for the lists alone where a note is missing, and for episode and lists where an old message was changed. Recap and
episode are accepted together or not at all; the note is accepted by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from previously.core.messages import Message, Role
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.note import NO_NOTE, LoreItem, Note, render_note, said_key
from previously.core.scripts import casefold, count_words
from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Kind
from previously.folds.builtin.quotes import quote
from previously.folds.chapter import CLOSING, WORDS_SHARE, ChapterFold
from previously.folds.checks import Accepted, RefusalKind, Refused, TextRequest, judge_text
from previously.folds.context import NO_UPDATE_CONTEXT, UpdateContext
from previously.folds.fold import FoldDefaults, Rehearsal, blank_text, count_told, estimate_read, explain_window
from previously.folds.prompts.templates import (
    Template,
    defuse_tags,
    fill_template,
    name_speaker,
    render_message,
    split_form,
)
from previously.folds.update_answer import (
    EPISODE,
    HEADINGS,
    LISTS,
    RECAP,
    STATE,
    TEXTS,
    NoteReader,
    Sections,
    judge_section,
    read_sections,
)
from previously.text.language import find_language
from previously.text.names import HeardNames, find_unheard
from previously.text.numbers import find_numbers

UPDATED = "update"
"""The mark that a recap carries which an update made: its span has an episode and a note, or is to have them."""

ANSWER_TOKENS = 2_600
"""The room for an answer: 1,300 to 1,950 were needed."""

TOKENS_PER_WORD, LISTS_TOKENS, SPARE_TOKENS = 2, 1_300, 400
"""Tokens for a word, which leaves room for a text longer than asked; for the lists beside the texts; and for headings
and a little thought where only texts are asked for."""

EPISODE_SHARE = 0.05
"""Words of an episode per token of new messages: 150 for 3,000."""

FEWEST_EPISODE_WORDS, MOST_EPISODE_WORDS = 60, 150
"""Below 60 words names are dropped; beyond 150 an episode retells."""

EPISODE_ROOM, RECAP_ROOM = 2.0, 1.45
"""The factors by which a text may be longer than asked: a recap of 450 words up to 650. "About" was met within a
fifth."""

ROOM_WORDS = 80
"""But a short text may be so many words longer: a recap of 80 was given in 124, and every sentence of it was needed."""

PEOPLE = frozenset({"person", "character"})
"""The kinds whose names must have been heard: things are called by words of any kind."""

MAY_BE_MISSING = 4
"""The number of the eight lists that an answer may leave out: some models skip those with nothing to say. One with
fewer than half of them was not finished."""

FIRST_LORE, LATER_LORE = 12, 6
"""The number of entries that are asked for: a first fold meets everybody."""

INSTRUCTION_TOKENS, REHEARSED_TOKENS = 1_200, 1_700
"""For a rehearsal: what the instructions and headings of a question take, and about how long an answer is (1,300 to
1,950 were seen)."""


class Part(Enum):
    """The parts of the answer that are asked for."""

    WHOLE = (*TEXTS, *LISTS)
    TEXTS = TEXTS
    LISTS = LISTS
    SPAN = (EPISODE, *LISTS)
    """All that reads the span alone."""
    EPISODE = (EPISODE,)

    @property
    def has_recap(self) -> bool:
        return RECAP in self.value

    @property
    def has_episode(self) -> bool:
        return EPISODE in self.value

    @property
    def has_lists(self) -> bool:
        return LISTS[0] in self.value


@dataclass(frozen=True, slots=True)
class UpdateFold(FoldDefaults):
    """One update: the messages of a span, what is told beside them, and what is wanted."""

    prompt: ClassVar[str] = "update"
    splits_for_good: ClassVar[bool] = True

    delta: tuple[Message, ...]
    """The messages of the span, all of them, in order."""
    context: UpdateContext = NO_UPDATE_CONTEXT
    part: Part = Part.WHOLE
    recap_words: int = 450
    """0 = no target."""
    first: int = 0
    """The position of the first message of the span."""
    skipped: int = 0
    """The number of the first messages that are the opening, which is no event."""
    offsets: tuple[int, ...] = ()
    """The place of each message in the span; none = one after the other from its beginning."""
    again: bool = False
    """True if it was asked before and something provisional stands in its place."""
    closing: ChapterFold | None = None
    """The chapter that ends with the span, with what else is wanted of it: the recap is its full form."""

    @property
    def kind(self) -> Kind:
        """Return the kind of the version that its first text becomes."""
        return Kind.RECAP if self.part.has_recap else Kind.EPISODE if self.part.has_episode else Kind.NOTE

    @property
    def so_far(self) -> str:
        return self.context.recap

    @property
    def words_read(self) -> int:
        return sum(map(count_words, (self.context.recap, *self.context.texts))) + count_told(self.delta)

    @property
    def shown(self) -> list[tuple[int, Message]]:
        """Return the messages that tell something, each with its offset in the span: the n-th of them is `#n`."""
        places = self.offsets or range(len(self.delta))
        return [
            (at, one) for at, one in zip(places, self.delta, strict=True) if at >= self.skipped and render_message(one)
        ]

    @property
    def tokens(self) -> int:
        """Return how long the new messages are."""
        return sum(estimate_tokens(render_message(one)) for _, one in self.shown)

    @property
    def episode_words(self) -> int:
        """Return how long the episode should be."""
        return min(MOST_EPISODE_WORDS, max(FEWEST_EPISODE_WORDS, int(self.tokens * EPISODE_SHARE) // 10 * 10))

    @property
    def asked_words(self) -> int:
        """Return how long the recap should be. A chapter's full form is not short for being its first."""
        if not self.recap_words or self.closing is None or not self._closing_parts:
            return self.recap_words
        return max(self.recap_words, min(self.closing.words, self.tokens // WORDS_SHARE))

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """Return the question for a model. `hint` says why its last answer could not be used."""
        values = {
            **self.context.render(),
            "messages": defuse_tags(
                "\n\n".join(
                    f"#{n} {name_speaker(one)}: {render_message(one)}" for n, (_, one) in enumerate(self.shown, 1)
                )
            ),
            "form": self._form(template),
            "language": self._language,
            "hint": f"\n\n{hint}" if hint else "",
        }
        system, user = fill_template(template, values)
        return ModelRequest(system, user, max_output_tokens=self.output_tokens)

    @property
    def _language(self) -> str:
        """Return in which language to answer. Where it is known and not English, it is named: models translate what is
        not said to stay."""
        language = find_language("\n".join(render_message(one) for _, one in self.shown))
        kept = "the words new, now, settled, earlier, ended and ends at"
        if language == "English":
            return f"Write in the language of the new messages; only the headings and {kept} stay English."
        named = f"{language}, the language of the new messages" if language else "the language of the new messages"
        return (
            f"Write in {named}. The headings, {kept}, the aspects (place, holder, "
            "holds, condition, office, time) and the kinds (person, place, thing, group, rule, idea) stay English."
        )

    @property
    def output_tokens(self) -> int:
        """Return how many tokens an answer may take."""
        texts = self.recap_tokens + (TOKENS_PER_WORD * self.episode_words if self.part.has_episode else 0)
        texts += self.closing.beside_tokens if self.closing and self._closing_parts else 0
        return max(ANSWER_TOKENS, texts + LISTS_TOKENS) if self.part.has_lists else texts + SPARE_TOKENS

    @property
    def recap_tokens(self) -> int:
        """Return how many tokens its recap may take."""
        words = self.asked_words or count_words(self.context.recap) + self.episode_words
        return TOKENS_PER_WORD * words if self.part.has_recap else 0

    def _form(self, template: Template) -> str:
        length = f"about {self.asked_words} words" if self.asked_words else "as many words as it needs"
        words = {
            "about {{recap_words}} words": length,
            "{{episode_words}}": str(self.episode_words),
            "{{lore_entries}}": str(LATER_LORE if self.context.known or self.context.others else FIRST_LORE),
        }
        blocks = dict(split_form(template.form, (*TEXTS, *CLOSING, *LISTS)))
        if self.part.has_episode and not self.part.has_recap:  # how both texts are written stands under the recap
            style = (
                blocks[RECAP].rpartition("\n")[2].replace("Both texts are plain paragraphs", "Write plain paragraphs")
            )
            blocks[EPISODE] = f"{blocks[EPISODE]}\n{style}"
        if self.closing:
            words["{{backbone_words}}"] = str(self.closing.spine_words)
        wanted = (*self.part.value, *self._closing_parts)
        form = "\n\n".join(block for heading, block in blocks.items() if heading in wanted)
        for placeholder, value in words.items():
            form = form.replace(placeholder, value)
        return form

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        """Return what may be kept of an answer. The text is the recap, if one was asked for; episode and note stand
        beside it."""
        headings = {**HEADINGS, **{part: part for part in self._closing_parts}}
        sections = read_sections(reply, headings, self.part.value)
        if isinstance(sections, Refused):
            return sections
        texts: dict[str, Accepted] = {}
        for heading in (one for one in TEXTS if one in self.part.value):
            verdict = judge_section(heading, sections, reply, self._asked(heading, _collect_sums(sections)))
            if isinstance(verdict, Refused):
                return verdict
            texts[heading] = verdict
        note, dropped = self._read_note(sections, reply)
        kept, unusable = self._judge_closing(texts, sections, reply)
        return self._accepted(texts, note, [*dropped, *unusable], kept)

    @property
    def _closing_parts(self) -> tuple[str, ...]:
        return self.closing.parts if self.closing and self.part.has_recap else ()

    def _judge_closing(
        self, texts: Mapping[str, Accepted], sections: Sections, reply: ModelReply
    ) -> tuple[list[tuple[Kind, str]], list[str]]:
        """Return what an answer gives of a chapter that ends with the span, and why it does not give the rest."""
        if self.closing is None or not self._closing_parts:
            return [], []
        said = tuple(one for _, one in self.shown)
        closing = replace(self.closing, recap=texts[RECAP].text, delta=said, earlier=(self.context.before,))
        kept, unusable = closing.judge_sections(sections, reply)
        return [(kind, one.text) for kind, one in kept.items()], [one.reason for one in unusable.values()]

    def _accepted(
        self,
        texts: Mapping[str, Accepted],
        note: Note | None,
        dropped: Sequence[str],
        closing: Sequence[tuple[Kind, str]],
    ) -> Accepted | Refused:
        beside = list(closing)
        if note is not None:
            beside.insert(0, (Kind.NOTE, render_note(note)))
        if EPISODE in texts:
            beside.insert(0, (Kind.EPISODE, texts[EPISODE].text))
        if RECAP in texts:
            return replace(texts[RECAP], carry=UPDATED, warnings=tuple(dropped), beside=tuple(beside))
        if not beside:
            why = dropped[0] if dropped else "the lists are missing or not in the form that was asked for"
            return Refused(RefusalKind.SHAPE, why)
        return Accepted("", UPDATED, tuple(beside), tuple(dropped))

    def judge_text(self, text: str) -> Accepted | Refused:
        """Return whether a recap that came another way may be kept."""
        return judge_text(self._asked(RECAP), text)

    def _asked(self, heading: str, sums: str = "") -> TextRequest:
        is_recap = heading == RECAP
        shown = (*self.context.texts, sums)
        words = self.asked_words if is_recap else self.episode_words
        return TextRequest(
            previous=self.context.recap if is_recap else "",
            delta=tuple(one for _, one in self.shown),
            target_words=words,
            ceiling_words=round(max(words * (RECAP_ROOM if is_recap else EPISODE_ROOM), words + ROOM_WORDS)),
            sources=shown if is_recap else (*shown, self.context.recap),
            third_person=True,
        )

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> UpdateFold:
        """Return the same for the first of the runs that are left to ask, after this recap. Pieces of a message that
        was cut all stand where the message stands."""
        left = sum(len(render_message(message)) for run in runs for message in run)
        places = self.offsets or range(len(self.delta))
        starts, at = [], 0
        for message in self.delta:
            starts.append(at)
            at += len(render_message(message))
        at -= left  # how much of all was read before these runs
        offsets: list[int] = []
        for message in runs[0]:
            offsets.append(places[max(0, bisect_right(starts, at) - 1)] if render_message(message) else 0)
            at += len(render_message(message))
        closing = self.closing if len(runs) == 1 else None  # only the last run ends the chapter
        context = replace(self.context, recap=so_far)
        return replace(self, delta=runs[0], offsets=tuple(offsets), context=context, closing=closing)

    def take_first_step(self) -> UpdateFold:
        """Return the question for the texts. The lists are due by themselves then."""
        first = {Part.WHOLE: Part.TEXTS, Part.SPAN: Part.EPISODE}
        return replace(self, part=first.get(self.part, self.part))

    def find_leaner(self, *, fits_whole: bool, fits_run: bool) -> UpdateFold | None:
        """Return a question without the end of the chapter, which is due by itself then; or for the texts alone."""
        if self.closing and not fits_whole:
            return replace(self, closing=None)
        texts = self.take_first_step()
        return texts if texts != self and not fits_run else None

    def explain_overflow(self, window_tokens: int) -> str:
        return explain_window(window_tokens)

    def count_growth(self, question: ModelRequest) -> int:  # noqa: ARG002
        return self.recap_tokens

    def builtin(self) -> Accepted:
        """Return a recap or episode of quotations, and a note that notes nothing."""
        said, first = self.delta[self.skipped :], self.first + self.skipped
        if self.part.has_recap:
            return Accepted(quote(self.context.recap, said, first, self.recap_words))
        episode = [(Kind.EPISODE, quote("", said, first, self.episode_words))] if self.part.has_episode else []
        return Accepted("", beside=(*episode, *([(Kind.NOTE, render_note(NO_NOTE))] if self.part.has_lists else [])))

    def rehearse(self, *, by_model: bool) -> Rehearsal:
        read = estimate_read(self)
        recap = blank_text(self.asked_words or read) if self.part.has_recap else ""
        if not by_model:
            return Rehearsal(Accepted(recap), Cost(0, read, len(recap) // 4))
        kinds = [(Kind.EPISODE, self.part.has_episode), (Kind.NOTE, self.part.has_lists)]
        beside = tuple((kind, "{}") for kind, wanted in kinds if wanted)
        ending = self.closing.words_beside if self.closing and self.part.has_recap else {}
        beside += tuple((kind, blank_text(count)) for kind, count in ending.items())
        written = REHEARSED_TOKENS if self.part.has_lists else len(recap) // 4
        cost = Cost(1, read + INSTRUCTION_TOKENS, written + sum(ending.values()) * 4 // 3)
        return Rehearsal(Accepted(recap, UPDATED, beside), cost)

    @property
    def _writers(self) -> frozenset[str]:
        """Return who wrote the new messages: only they can be players of them."""
        return frozenset(casefold(one.speaker or "") for _, one in self.shown)

    def _read_note(self, sections: Sections, reply: ModelReply) -> tuple[Note | None, list[str]]:
        """Return the note, or None where the lists are missing, cut off or cannot be read at all."""
        if not self.part.has_lists or not any(one in sections.lines for one in LISTS):
            return None, []
        last_reached = reply.finish_reason != "length" and any(one in sections.lines for one in LISTS[-2:])
        if not sections.ended and not last_reached:
            return None, ["the lists were cut off"]
        missing = [one for one in LISTS if one not in sections.lines]
        if len(missing) > MAY_BE_MISSING:
            return None, [f"the lists {', '.join(missing)} are missing"]
        by_user = {at for at, one in self.shown if one.role is Role.USER}
        reader = NoteReader([at for at, _ in self.shown], [ident for ident, _ in self.context.threads], by_user)
        read = reader.read(sections)
        shown = dict(self.context.threads)
        threads = tuple(replace(one, was=shown.get(one.thread, "")) for one in read.threads)
        note = self._without_strangers(replace(read, threads=threads), reader.dropped)
        note = replace(note, lore=tuple(map(self._in_sight, note.lore)))
        if note == NO_NOTE and reader.dropped:
            return None, reader.dropped
        return note, reader.dropped

    def _in_sight(self, item: LoreItem) -> LoreItem:
        """Return a description with what stands for the one that was shown of the same thing."""
        words = set(casefold(item.name).split())
        for shown in self.context.known:
            others = set(casefold(shown.name).split())
            if words <= others or others <= words:
                return replace(item, in_sight_of=said_key(shown.content))
        return item

    def _without_strangers(self, note: Note, dropped: list[str]) -> Note:
        """Return a note without items that name somebody nobody has heard of; what is noted counts as heard later."""
        said = [f"{name_speaker(one)}: {render_message(one)}" for _, one in self.shown]
        heard = HeardNames([*self.context.texts, self.context.recap, *said])
        language = find_language("\n".join(said)) or "English"

        def is_heard(words: str, name: str = "") -> bool:
            """Names are told by capitals inside a sentence, so a name by itself is put into one."""
            strangers = [*find_unheard(f"of {name}.", heard, language), *find_unheard(words, heard, language)]
            dropped.extend(f"the name {one} stands nowhere: {name} {words[:120]}" for one in strangers[:1])
            return not strangers

        return replace(
            note,
            threads=tuple(one for one in note.threads if is_heard(one.text)),
            state=tuple(one for one in note.state if is_heard(one.value)),
            learnt=tuple(one for one in note.learnt if is_heard(one.text)),
            lore=tuple(one for one in note.lore if is_heard(one.content, one.name if one.type in PEOPLE else "")),
            players=tuple(
                one for one in note.players if casefold(one.player) in self._writers and is_heard("", one.character)
            ),
        )


def _collect_sums(sections: Sections) -> str:
    """Return the numbers of the state that an answer gives. Sums are reckoned there, and the texts may tell them."""
    return " ".join(one.written for line in sections.items(STATE) for one in find_numbers(line))
