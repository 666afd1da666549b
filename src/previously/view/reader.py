"""Readers: who a view is for, which memory they are shown, and how its sections share their budget.

Nothing that a character did not witness is shown to them or to the agent that keeps their memory; what tells of the
whole story is for them only while every message of it was witnessed by all. A row says tokens for budgets of 2,000,
4,000 and 8,000. The tail and the recap have floors, since each tells what nothing else does; everything else is served
by priority, and whoever is served last yields first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from previously.core.budgets import Row, Share, make_row, scale_row
from previously.core.errors import BadInput
from previously.core.path import OnPath
from previously.core.presence import Presence, may_know
from previously.view.view import Section

THREADS_AT_MOST: Row = (100, 200, 450)
STATE_AT_MOST: Row = (0, 100, 250)

SHARES: Mapping[Section, Share] = {
    # 450 words are asked for and take about 700 tokens, 800 of a novel 1,200. It comes before the tail's due: at 2,000
    # a recap cut to 700 answered 5 to 7 questions of 90 less than a whole one beside a shorter tail.
    Section.RECAP: Share(0, (1_200, 1_200, 1_200), floor=(700, 700, 700)),
    # What no memory tells yet, and where the story stands. Floor: 8 to 12 messages of a chat at 2,000, nearly half of
    # the budget at 4,000 and 8,000. Due: the usual ceiling, so that nothing is told twice before all is told once.
    Section.TAIL: Share(1, make_row(60), floor=(700, 1_700, 3_500)),
    Section.BRIEF: Share(2, make_row(20)),
    # A few short lines that steer every answer: little room, and before all that tells of the past.
    Section.WISHES: Share(2, make_row(2), ceiling=make_row(4)),
    # What a character knows takes the place of a recap for them: 3 to 5 sentences and 10 facts are 400 tokens.
    Section.CAST: Share(2, make_row(10), ceiling=make_row(30)),
    # One chapter in full is 550 to 750 tokens, one in short 100. Where the recap is young, its room is free for the
    # chapter before it. More than this would end epochs sooner.
    Section.CHAPTERS: Share(3, (200, 700, 1_200)),
    # 600 words are 800 tokens. Cut to 400, opening and newest sentences stay. Less than that told next to nothing.
    Section.BACKBONE: Share(4, (400, 400, 800)),
    # What the story before this one came to. Enough for a backbone at 8,000 tokens; where the story is young there is
    # room for more, and never more than three tenths: a past that is told elsewhere must not eat this one.
    Section.EARLIER: Share(5, make_row(15), ceiling=make_row(30)),
    # Ten facts of one line are 200 tokens.
    Section.SHARED: Share(2, make_row(5), ceiling=make_row(15)),
    # What recompression dropped, one to eight episodes of 190 tokens.
    Section.EPISODES: Share(5, (200, 700, 1_500)),
    # At small budgets only those that the recap does not tell: `previously.view.choose_memory`.
    Section.THREADS: Share(6, THREADS_AT_MOST, ceiling=THREADS_AT_MOST),
    # Half of it is overtaken by the tail, so it comes late and takes little.
    Section.STATE: Share(7, STATE_AT_MOST, ceiling=STATE_AT_MOST),
    # Constant lore, and a line per person: whoever the turn names is told of beside it in any case.
    Section.LORE: Share(8, make_row(5), ceiling=make_row(15)),
}
"""The shares of sections where nothing else is said. What one does not want goes to the others."""

GAME_SHARES: Mapping[Section, Share] = {
    **SHARES,
    Section.TAIL: Share(0, make_row(60)),
    # 100 words are asked for and take about 170 tokens, a quarter of the 700 that a narrator's prompt leaves. With less
    # it was cut to its first and last sentence.
    Section.RECAP: Share(1, make_row(10), floor=(500, 500, 500), ceiling=make_row(30)),
    # One chapter in short is 85 tokens.
    Section.CHAPTERS: Share(3, make_row(5), floor=(250, 250, 250), ceiling=make_row(15)),
    Section.BACKBONE: Share(4, make_row(10), ceiling=make_row(15)),
    Section.EPISODES: Share(5, make_row(0), ceiling=make_row(0)),
    Section.THREADS: Share(6, make_row(5), ceiling=make_row(8)),
    Section.STATE: Share(7, make_row(5), ceiling=make_row(8)),
}
"""Those of a game's narrator: short memory, much of what was just said."""

VERBATIM_TOKENS: Row = (0, 1_700, 3_500)
"""To how much older messages, which memory tells too, bring the tail of a first view before anything else is told more
finely. At 2,000 they answered no question that memory did not."""

RECALL_TOKENS: Row = (150, 300, 600)
"""The room kept free for recalled passages when an epoch begins: for two passages, or four."""

LORE_TOKENS: Row = (150, 300, 500)
"""The most that lore takes which a turn brings up: 3 to 10 entries of 50 tokens. Half of it is kept free, since it
seldom takes all."""


def find_lore_ceiling(budget_tokens: int) -> int:
    """Return the most that lore of the turn takes of a budget."""
    return scale_row(budget_tokens, LORE_TOKENS)


TOLD_TOKENS: Row = (900, 1_100, 1_500)
"""The room that recap and closed chapters have together before the tail has its due: the recap of a young chapter must
not leave all before it untold. At 2,000 tokens 800 to 1,000 were tried; 900 answered most before and after a chapter
closes."""

YOUNG_RECAP: Row = (450, 700, 700)
"""The recap's floor where chapters are closed: it tells of the open one alone."""


def plan_shares(
    shares: Mapping[Section, Share], wants: Mapping[Section, int], *, weak: bool
) -> Mapping[Section, Share]:
    """Return the shares where sections want so much. Where the recap is weak or missing, threads and state have what
    they have at 8,000, being worth most there. Where there is a past, which closed chapters tell, it shares the recap's
    floor: the backbone as much as it wants, and chapters the rest."""
    if wants.keys() & {Section.BACKBONE, Section.CHAPTERS} and shares is SHARES:
        recap, backbone = wants.get(Section.RECAP, 0), wants.get(Section.BACKBONE, 0)
        small, middle, large = (told - min(young, recap) for told, young in zip(TOLD_TOKENS, YOUNG_RECAP, strict=True))
        rest = (max(0, small - backbone), max(0, middle - backbone), max(0, large - backbone))
        shares = {
            **shares,
            Section.RECAP: replace(shares[Section.RECAP], floor=YOUNG_RECAP),
            Section.BACKBONE: replace(shares[Section.BACKBONE], floor=(small, middle, large)),
            Section.CHAPTERS: replace(shares[Section.CHAPTERS], floor=rest),
        }
    if not weak:
        return shares
    lists = {Section.THREADS: THREADS_AT_MOST[-1], Section.STATE: STATE_AT_MOST[-1]}
    larger = {
        section: replace(shares[section], due=(most, most, most), ceiling=(most, most, most))
        for section, most in lists.items()
    }
    return {**shares, **larger}


def reserve_turn_tokens(budget_tokens: int, recall_tokens: int, lore_tokens: int) -> int:
    """Return what is kept free for volatile memory that may take so much."""
    return min(recall_tokens, scale_row(budget_tokens, RECALL_TOKENS)) + lore_tokens // 2


TIMELINE = frozenset({Section.BACKBONE, Section.CHAPTERS, Section.EPISODES, Section.RECAP, Section.BRIEF})
"""The sections that tell what happened, message after message."""

LISTED = frozenset(
    {Section.WISHES, Section.THREADS, Section.STATE, Section.CAST, Section.SHARED, Section.LORE, Section.EARLIER}
)
"""The sections that say how things stand and what they are, and what comes from elsewhere: they tell of no message of
the story."""


class ReaderKind(StrEnum):
    """The kinds of readers."""

    CHAT = "chat"
    NARRATOR = "narrator"
    CHARACTER = "character"
    MEMORY = "memory"
    STATE = "state"
    AGENT = "agent"


NAMED = frozenset({ReaderKind.CHARACTER, ReaderKind.MEMORY})
"""Those that are somebody."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody a view is for."""

    kind: ReaderKind = ReaderKind.CHAT
    name: str = ""
    sections: frozenset[Section] = TIMELINE | LISTED | {Section.PINS, Section.RECALL}
    """The memory they are shown."""
    turns: int = 0
    """If more than 0: they see this many of the newest turns verbatim and nothing before."""
    shares: Mapping[Section, Share] = field(default_factory=lambda: SHARES)
    window_tokens: int = 0
    """The window they read with if nobody says; 0 = the window of the story."""
    answer_tokens: int | None = None
    """The part of it that is left for their answer; None = as the story has it."""
    presence: Presence | None = field(default=None, repr=False, compare=False)
    """Who was present on the path that is read; where it is not known, messages count by the witnesses they were given
    with."""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}" if self.name else self.kind.value

    def witnessed(self, item: OnPath) -> bool:
        """Return whether they may know of a message of the path."""
        if self.presence is None:
            return may_know(self.name, item.entry.message)
        return self.presence.knows(self.name, item.position)


CHAT = Reader()


def parse_reader(words: str, preset: str = "roleplay") -> Reader:
    """Return the reader of that name in stories of that preset; `BadInput` for one that is none."""
    word, colon, name = words.partition(":")
    known = {kind.value: kind for kind in ReaderKind}
    kind = known.get(word.strip())
    name = name.strip()
    if kind is None or (colon and not name) or bool(name) is not (kind in NAMED):
        readers = ", ".join(f"{one.value}:NAME" if one in NAMED else one.value for one in ReaderKind)
        raise BadInput(f"There is no reader {words!r}; there are {readers}.")
    game = preset == "game"
    match kind:
        case ReaderKind.NARRATOR if game:
            return Reader(kind, shares=GAME_SHARES, window_tokens=2_000, answer_tokens=600)
        case ReaderKind.CHARACTER if game:
            # Their own memory tells of what was before.
            return Reader(kind, name, turns=3, window_tokens=1_000, answer_tokens=200)
        case ReaderKind.CHARACTER:
            return Reader(kind, name)
        case ReaderKind.MEMORY:
            return Reader(kind, name, frozenset({Section.CAST}), turns=1, window_tokens=600, answer_tokens=0)
        case ReaderKind.STATE:
            return Reader(kind, "", frozenset(), turns=1, window_tokens=500, answer_tokens=0)
        case _:
            return Reader(kind)
