"""A closed chapter: the question that gives its title and a short form, and renews the backbone.

The full form is the recap brought to the chapter's end and kept whole: it is taken over as it is where a model's recap
reaches there, and asked for here where none does. The short one is for lists and very old chapters. The backbone is the
summary of the whole story: it reads the text before it and full forms, never the messages, so that its size and cost
stay flat while chapters accumulate and the older ones tighten. Each part stands or falls by itself, and what is missing
is asked for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from previously.core.messages import Message, Role, Text
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.path import OnPath
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens, message_tokens
from previously.core.versions import Cost, Kind
from previously.folds.builtin.quotes import quote_whole
from previously.folds.checks import Accepted, Refused, TextRequest, judge_text
from previously.folds.fold import FoldDefaults, Rehearsal, blank_text, count_told, estimate_read, explain_window
from previously.folds.prompts.templates import (
    Template,
    defuse_tags,
    fill_template,
    render_message,
    render_transcript,
    split_form,
)
from previously.folds.summary import parse_cuts, render_cuts
from previously.folds.update_answer import END, Sections, judge_section, read_sections
from previously.text.language import find_language

TITLE, CHAPTER, SHORT, BACKBONE = "TITLE", "CHAPTER", "SHORT", "BACKBONE"
PARTS = (TITLE, CHAPTER, SHORT, BACKBONE)
CLOSING = (TITLE, SHORT, BACKBONE)
"""The parts that an update gives as well whose recap is the full form."""

KINDS = {CHAPTER: Kind.CHAPTER, SHORT: Kind.SHORT, BACKBONE: Kind.BACKBONE}
"""The memory that each part becomes; the title stands with the short form."""

_HEADINGS = {**{name: name for name in (*PARTS, END)}, "RECAP": CHAPTER, "NAME": TITLE}
"""Other words for a heading: the first part is the recap, after all."""

CLOSED = "closed"
"""The mark that a chapter carries whose short form was asked for with it, or is to be asked for."""

FINAL_SCENE, FINAL_TOKENS = 6, 400
"""The last messages that a chapter's full form is made from in any case, and their length together in tokens:
they say how it ended, and the recap tells them already."""

SHORT_WORDS, LONGEST_SHORT = 80, 130
"""A short form has two or three sentences of 60 to 80 words; one half as long again still serves for lists."""

ROOM = 1.45
"""The factor by which a text may be longer than asked, as for recaps: 450 words up to 650. "About" was met within a
fifth."""

FEWEST_WORDS, WORDS_SHARE = 60, 4
"""A full form has 60 words at least, and at most the recap's and a third of the words that are new (a quarter of their
tokens): whoever is asked for more than there is to tell pads it."""

WHOLE = 1.22
"""A recap that is longer than the full form should be is not squeezed, up to 550 words for 450: recaps of 480 to 520
were given where 450 were asked for."""

GROWTH = 2
"""A backbone grows by at most half of its length with a chapter: after the first it would else retell it whole."""

TITLE_WORDS, TITLE_CHARACTERS = 8, 80
"""The longest title: what is longer is a sentence; six words are asked for."""

TOKENS_PER_WORD, SPARE_TOKENS = 2, 400
"""Tokens for a word, which leaves room for a text longer than asked; and for headings and a little thought."""

CLOSING_TOKENS = 750
"""The length of the question without what is known of the chapter, for a rehearsal: that of its instructions."""


@dataclass(frozen=True, slots=True)
class ChapterFold(FoldDefaults):
    """One chapter that has closed: what is known of it, and what is wanted."""

    prompt: ClassVar[str] = "chapter"

    delta: tuple[Message, ...] = ()
    """Its last messages, in order."""
    first: int = 0
    """The position of the first of them."""
    parts: tuple[str, ...] = PARTS
    title: str = ""
    """The title; empty where it has none yet."""
    recap: str = ""
    """Its recap, or its full form where that is not asked for."""
    untold: bool = False
    """True if the recap does not tell its last messages yet."""
    episodes: tuple[str, ...] = ()
    backbone: str = ""
    """The whole story before it."""
    earlier: tuple[str, ...] = ()
    """Chapters before it in full, in order, as many as there is room for."""
    words: int = 450
    """Of the full form; 0 = no target."""
    backbone_words: int = 600
    again: bool = False
    """True if it was asked before and something provisional stands in its place."""
    carry: str = ""

    @property
    def kind(self) -> Kind:
        """Return the kind of the version that its own text becomes."""
        return next(kind for part, kind in KINDS.items() if part in self.parts)

    @property
    def so_far(self) -> str:
        """Return the recap, which every run goes on from."""
        return self.recap

    @property
    def words_read(self) -> int:
        return sum(map(count_words, (self.recap, *self.texts))) + count_told(self.delta)

    @property
    def is_silent(self) -> bool:
        return not (self.recap.strip() or self.episodes or render_transcript(self.delta))

    @property
    def has_builtin(self) -> bool:
        return self.kind is not Kind.SHORT  # quotations make no short form

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text the model is shown beside the recap and the messages, for the checks."""
        return (self.title, self.backbone, *self.earlier, *self.episodes)

    @property
    def chapter_words(self) -> int:
        """Return how long the full form should be: shorter where there is little to tell."""
        if not self.words:
            return 0
        new, recap = (
            sum(estimate_tokens(render_message(one)) for one in self.delta) // WORDS_SHARE,
            count_words(self.recap),
        )
        most = max(self.words, min(recap, round(self.words * WHOLE)))
        return _round_words(min(most, max(FEWEST_WORDS, recap + new)))

    @property
    def spine_words(self) -> int:
        """Return how long the backbone should be: it grows to its length with the first chapters."""
        return _round_words(min(self.backbone_words, count_words(self.backbone) + self.backbone_words // GROWTH))

    @property
    def recap_tokens(self) -> int:
        """Return how many tokens the text may take that the next part of a long ending is told."""
        return TOKENS_PER_WORD * (self.chapter_words or count_words(self.recap)) if CHAPTER in self.parts else 0

    @property
    def beside_tokens(self) -> int:
        """Return how many tokens the short form and the backbone may take."""
        return TOKENS_PER_WORD * sum(self.words_beside.values())

    @property
    def output_tokens(self) -> int:
        """Return how many tokens an answer may take."""
        return self.recap_tokens + self.beside_tokens + SPARE_TOKENS

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """Return the question for a model. `hint` says why its last answer could not be used."""
        values = {
            "backbone": defuse_tags(self.backbone.strip()) or "(nothing: this is the first chapter)",
            "earlier": defuse_tags("\n\n".join(self.earlier)) or "(none)",
            "episodes": defuse_tags("\n\n".join(f"- {' '.join(one.split())}" for one in self.episodes)) or "(none)",
            "title": f", called {defuse_tags(self.title)!r}" if self.title else "",
            "recap": defuse_tags(self.recap.strip()) or "(none yet)",
            "ending": "the recap does not tell them yet" if self.untold else "the recap tells them already",
            "messages": render_transcript(self.delta) or "(none)",
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
        language = find_language("\n".join((self.recap, *map(render_message, self.delta))))
        if language in ("", None, "English"):
            return "Write in the language of the story; only the headings stay English."
        return f"Write in {language}, the language of the story; only the headings stay English."

    def _form(self, template: Template) -> str:
        words = f"about {self.chapter_words} words" if self.words else "as many words as it needs"
        form = "\n\n".join(block for heading, block in split_form(template.form, PARTS) if heading in self.parts)
        return form.replace("about {{chapter_words}} words", words).replace("{{backbone_words}}", str(self.spine_words))

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        """Return what may be kept of an answer: its own text, and beside it those other parts that are usable."""
        sections = read_sections(reply, _HEADINGS, self.parts)
        if isinstance(sections, Refused):
            return sections
        kept, unusable = self.judge_sections(sections, reply)
        if self.kind in unusable:
            return unusable[self.kind]
        beside = tuple((kind, one.text) for kind, one in kept.items() if kind is not self.kind)
        warnings = tuple(one.reason for one in unusable.values())
        return replace(kept[self.kind], carry=self.carry, warnings=warnings, beside=beside)

    def judge_sections(self, sections: Sections, reply: ModelReply) -> tuple[dict[Kind, Accepted], dict[Kind, Refused]]:
        """Return which of the parts that were asked for may be kept, and why the others may not, by their kinds."""
        full = self.recap
        kept: dict[Kind, Accepted] = {}
        unusable: dict[Kind, Refused] = {}
        for part, kind in KINDS.items():
            if part not in self.parts:
                continue
            verdict = judge_section(part, sections, reply, self._asked(part, full))
            if isinstance(verdict, Refused):
                unusable[kind] = verdict
                continue
            if part == CHAPTER:
                full = verdict.text
            if part == SHORT:
                verdict = replace(verdict, text=render_short(self._read_title(sections), verdict.text))
            kept[kind] = verdict
        return kept, unusable

    def judge_text(self, text: str) -> Accepted | Refused:
        part = {Kind.CHAPTER: CHAPTER, Kind.SHORT: SHORT}.get(self.kind, BACKBONE)
        return judge_text(self._asked(part, self.recap), text)

    def _asked(self, part: str, full: str) -> TextRequest:
        said = tuple(f"{one.speaker or ''}: {render_message(one)}" for one in self.delta)
        told_of = (Message(Role.ASSISTANT, (Text(full),)),)
        if part == CHAPTER:
            return TextRequest(
                self.recap,
                self.delta,
                target_words=self.chapter_words,
                ceiling_words=round(max(self.words, self.chapter_words) * ROOM),
                may_stand=True,
                sources=self.texts,
                third_person=True,
            )
        if part == SHORT:  # it need not name everybody whom the full form names
            return TextRequest(
                "",
                told_of,
                target_words=SHORT_WORDS,
                ceiling_words=LONGEST_SHORT,
                retells=True,
                amends=True,
                sources=(*self.texts, self.recap, *said),
                third_person=True,
            )
        return TextRequest(
            self.backbone,
            told_of,
            target_words=self.spine_words,
            ceiling_words=round(self.spine_words * ROOM),
            retells=True,
            sources=(*self.texts, self.recap, *said),
            third_person=True,
        )

    def _read_title(self, sections: Sections) -> str:
        """Return the title in an answer; empty where there is none that could be used."""
        title = " ".join(sections.prose(TITLE).split()).strip(" *_\"'“”„«».") if TITLE in self.parts else ""
        return title if count_words(title) <= TITLE_WORDS and len(title) <= TITLE_CHARACTERS else ""

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> ChapterFold:
        """Return the same for the first of the runs that are left to ask, after this text. All but the last give the
        full form alone."""
        if len(runs) > 1:
            return replace(self, delta=runs[0], recap=so_far, parts=(CHAPTER,), earlier=(), untold=True)
        return replace(self, delta=runs[0], recap=so_far)

    def find_leaner(self, *, fits_whole: bool, fits_run: bool) -> ChapterFold | None:  # noqa: ARG002
        """Return a question without earlier chapters, without episodes, then for its own text alone."""
        if fits_whole:
            return None
        if self.earlier:
            return replace(self, earlier=())
        if self.episodes and (self.recap or self.delta):
            return replace(self, episodes=())
        alone = self.take_first_step()
        return alone if alone != self else None

    def take_first_step(self) -> ChapterFold:
        """Return the question for its own text alone. What else was asked for is due by itself then."""
        own = {Kind.CHAPTER: (CHAPTER,), Kind.SHORT: (TITLE, SHORT), Kind.BACKBONE: (BACKBONE,)}[self.kind]
        return replace(self, parts=tuple(part for part in own if part in self.parts))

    def explain_overflow(self, window_tokens: int) -> str:
        return explain_window(window_tokens)

    def count_growth(self, question: ModelRequest) -> int:  # noqa: ARG002
        return self.recap_tokens

    def builtin(self) -> Accepted:
        """Return quotations, and neither a title nor a short form. Messages that the recap told no more, quotations of
        it do not tell either."""
        full = self.recap
        if CHAPTER in self.parts:
            full = quote_whole([self.recap], self.words, self.delta, self.first)
        spine = quote_whole([self.backbone, full], self.backbone_words) if BACKBONE in self.parts else ""
        carry = render_cuts(parse_cuts(self.carry))
        if self.kind is Kind.BACKBONE:
            return Accepted(spine, carry)
        beside = ((Kind.BACKBONE, spine),) if spine else ()
        return Accepted(full if self.kind is Kind.CHAPTER else "", carry, beside)

    def rehearse(self, *, by_model: bool) -> Rehearsal:
        read = estimate_read(self)
        full = {Kind.CHAPTER: self.chapter_words or read} if CHAPTER in self.parts else {}
        words = full | self.words_beside
        cost = Cost(int(by_model), read + CLOSING_TOKENS * by_model, sum(words.values()) * 4 // 3)
        beside = tuple((kind, blank_text(count)) for kind, count in words.items() if kind is not self.kind)
        return Rehearsal(Accepted(blank_text(words[self.kind]), self.carry if by_model else "", beside), cost)

    @property
    def words_beside(self) -> dict[Kind, int]:
        """Return how long the short form and the backbone should be, of those that are asked for."""
        words = {SHORT: SHORT_WORDS, BACKBONE: self.spine_words}
        return {KINDS[part]: count for part, count in words.items() if part in self.parts}


def _round_words(words: int) -> int:
    """Return a number of words as one asks for them, in tens."""
    return words // 10 * 10 if words > FEWEST_WORDS else words


def find_ending(run: Sequence[OnPath], untold: int) -> Sequence[OnPath]:
    """Return the last messages of a chapter that are shown word for word: those from the position `untold` on, which
    its recap does not tell, and of the final scene as much as there is room for."""
    first = len(run)
    room = FINAL_TOKENS
    for at in range(len(run) - 1, -1, -1):
        room -= message_tokens(run[at].entry.message)
        is_final = at >= len(run) - FINAL_SCENE and (room >= 0 or at == len(run) - 1)
        if run[at].position < untold and not is_final:
            break
        first = at
    return run[first:]


def render_short(title: str, text: str) -> str:
    """Return a title and a short form as the text of one version: a line, and a paragraph behind an empty one."""
    return "\n\n".join(filter(None, (title, " ".join(text.split()))))


def parse_short(text: str) -> tuple[str, str]:
    """Return the title and the short form in the text of a version; an empty title where it has none."""
    title, between, short = text.partition("\n\n")
    return (title, short) if between else ("", text)
