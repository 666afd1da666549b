"""Read the plain-text answer to an update: headings first, then each line by itself.

A bad line is dropped and logged, never its section. Numbers in an answer count the new messages from 1; whoever calls
gives the offsets they stand for. Nothing here raises, whatever a model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from previously.core.model_io import ModelReply
from previously.core.note import (
    Aspect,
    LearntItem,
    LoreItem,
    Note,
    PlayerItem,
    PresenceItem,
    StateItem,
    ThreadChange,
    ThreadItem,
    WishItem,
)
from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.folds.checks import Accepted, RefusalKind, Refused, TextRequest, clip_words, judge, strip_reasoning
from previously.text.voice import find_order, is_refusal

EPISODE, RECAP = "EPISODE", "RECAP"
THREADS, STATE, PRESENT, LEARNT, LORE, PLAYERS, WISHES, SCENES = (
    "THREADS", "STATE", "PRESENT", "LEARNT", "LORE", "PLAYERS", "WISHES", "SCENES",
)  # fmt: skip
TEXTS = (EPISODE, RECAP)
LISTS = (THREADS, STATE, PRESENT, LEARNT, LORE, PLAYERS, WISHES, SCENES)
END = "END"

HEADINGS = {
    **{name: name for name in (*TEXTS, *LISTS, END)},
    "HAPPENED": EPISODE, "THREAD": THREADS, "PRESENCE": PRESENT, "LEARNED": LEARNT, "PLAYER": PLAYERS,
    "WISH": WISHES, "SCENE": SCENES,
}  # fmt: skip
"""Other words for a heading: models use the words they know."""

LONGEST_ITEM = 400
"""Characters of one thread, state or wish that are kept: a longer one is a paragraph that belongs in the episode."""

LONGEST_ENTRY = 1_200
"""Characters of a lore entry that are kept: three long sentences have room."""

LONGEST_LINE = 4_000
"""Characters of a line that are looked at: an entry of lore has half as many."""

LONGEST_NAME = 80
"""Characters of a name: what is longer is a sentence."""

MOST_NEW_THREADS, MOST_STATE, MOST_LEARNT, MOST_LORE, MOST_PLAYERS, MOST_WISHES = 12, 16, 10, 16, 8, 8
"""The most items of each list that are kept: about half as many again as are asked for, so that an eager answer is not
cut where it matters, and a runaway one is."""

_BULLET = lazy_pattern(r"\s*(?:[-*•–—·‣]|\d{1,2}[.)])\s+")
_GAP = r"[\s:：.,;()\[\]–—→>=-]*"
_NUMBERS = r"[#＃№]\s?\d+(?:[-–—]\d+|\s*(?:[-–—,、&]|and|to)\s*[#＃№]\s?\d+)*"
"""One message, a stretch or several. After a comma only a number with its mark counts: "#12, 3 crowns" names one."""

_THREAD = lazy_pattern(
    rf"(?P<who>(?:T\s?\d+|new)\b){_GAP}(?P<change>now|settled|new)?{_GAP}(?P<at>{_NUMBERS}|earlier)?{_GAP}(?P<text>.*)",
    re.I | re.S,
)
_STATE = lazy_pattern(
    rf"(?:(?P<at>{_NUMBERS}){_GAP})?(?P<thing>[^/]{{1,80}}?)\s*/\s*(?P<aspect>\w+)\s*[:：]\s*(?P<value>.+)", re.S
)
_PRESENT = lazy_pattern(rf"(?P<at>{_NUMBERS})\s*[:：]\s*(?P<names>.*)", re.S)
_LEARNT = lazy_pattern(rf"(?P<at>{_NUMBERS}){_GAP}(?P<names>[^:：]{{1,200}}?)\s*[:：]\s*(?P<text>.+)", re.S)
_PART = lazy_pattern(r"[:：|]\s*|#\d+\s+")
"""Stands before the words of a line."""

_WITH_NUMBER = lazy_pattern(rf"(?P<at>{_NUMBERS}){_GAP}(?P<text>.+)", re.S)
_ENDS_AT = lazy_pattern(rf"ends? (?:at|after|with){_GAP}(?P<at>{_NUMBERS})", re.I)
_NUMBER = lazy_pattern(r"(\d+)(?:\s*(?:[-–—]|to)\s*[#＃№]?\s?(\d+))?")
_NAMES = lazy_pattern(r" ?(?:[,;，、；&]|\band\b) ?")
_ASIDE = lazy_pattern(r" ?[(（][^()（）]{0,200}[)）]")
_COMMAS = lazy_pattern(r" ?[,;，、；] ?")
_ASPECTS = frozenset(one.value for one in Aspect)
_NOTHING = frozenset({"none", "nothing", "n/a", "-", "–", "—", "nobody", "no one", ""})
_STARTS_ITEM = lazy_pattern(
    rf"\s*(?:{_NUMBERS}|T\s?\d+\b|new\b{_GAP}#|ends? at\b|[^|\n]{{1,120}}\||[^/:\n]{{1,80}}/ ?\w{{4,9}} ?[:：])", re.I
)


@dataclass(frozen=True, slots=True)
class Sections:
    """An answer cut at its headings."""

    lines: Mapping[str, tuple[str, ...]]
    """The lines under each heading that is there."""
    ended: bool
    """True if the line END was reached."""

    def prose(self, heading: str) -> str:
        """Return a text of paragraphs, each on one line; empty where the heading is missing or says nothing."""
        paragraphs: list[list[str]] = [[]]
        for line in self.lines.get(heading, ()):
            if line.strip():
                paragraphs[-1].append(line.strip())
            elif paragraphs[-1]:
                paragraphs.append([])
        text = "\n\n".join(" ".join(lines) for lines in paragraphs if lines)
        return "" if text.strip(" .").casefold() in _NOTHING else text

    def items(self, heading: str) -> list[str]:
        """Return the items of a list. A line without a bullet goes on the item before it."""
        items: list[str] = []
        for line in self.lines.get(heading, ()):
            text = " ".join(_strip_bold(line)[:LONGEST_LINE].split())
            bullet = _BULLET.match(text)
            bare = text[bullet.end() :] if bullet else text
            if not bare.strip() or bare.strip(" .").casefold() in _NOTHING:
                continue
            if items and not bullet and not _STARTS_ITEM.match(bare):
                items[-1] = f"{items[-1]} {bare.strip()}"
            else:
                items.append(bare.strip())
        return items


def cut_sections(answer: str, headings: Mapping[str, str] = HEADINGS) -> Sections:
    """Cut an answer at its headings, given by the words they may be. What stands before the first is left out."""
    lines: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in answer.splitlines():
        heading, rest = _find_heading(line, headings)
        if heading == END:
            return Sections({name: tuple(found) for name, found in lines.items()}, True)
        if heading:
            current = lines.setdefault(heading, [])
            if rest:
                current.append(rest)
        elif current is not None:
            current.append(line)
    return Sections({name: tuple(found) for name, found in lines.items()}, False)


_HEADING_LINE = lazy_pattern(r"[\s#*_>=\[-]*(?P<word>[A-Za-z]+)[\s*_\]=-]*(?P<colon>[:：]?)[\s*_]*(?P<rest>.*)")


def _find_heading(line: str, headings: Mapping[str, str]) -> tuple[str, str]:
    """Return the heading a line is, and what follows it on the same line."""
    match = _HEADING_LINE.fullmatch(line)
    word = match["word"] if match else ""
    name = headings.get(word.upper(), "")
    if not match or not name:
        return "", ""
    rest = match["rest"].strip()
    if not rest:
        return name, ""
    if word != word.upper() or name == END:
        return "", ""  # "State of the ship: …" is a sentence
    if match["colon"] or (name == SCENES and _ENDS_AT.match(rest)) or rest.strip(" .").casefold() in _NOTHING:
        return name, rest
    return "", ""


def _strip_bold(line: str) -> str:
    """Return a line without Markdown's bold marks, which models put around numbers and names."""
    return line.replace("**", "").replace("`", "")


@dataclass(slots=True)
class NoteReader:
    """Reads the lists of an answer into a note. `offsets` are those of the numbered messages, `threads` the ids of the
    open threads in the order of their numbers, `by_user` the offsets of what players wrote."""

    offsets: Sequence[int]
    threads: Sequence[str]
    by_user: Collection[int]
    dropped: list[str] = field(default_factory=list)
    """The lines that could not be used, each with the reason."""

    def read(self, sections: Sections) -> Note:
        return Note(
            threads=self._threads(self._drop_orders(sections.items(THREADS))),
            state=self._state(self._drop_orders(sections.items(STATE))),
            present=self._present(sections.items(PRESENT)),
            learnt=self._learnt(self._drop_orders(sections.items(LEARNT))),
            lore=self._lore(self._drop_orders(sections.items(LORE))),
            players=self._players(sections.items(PLAYERS)),
            wishes=self._wishes(sections.items(WISHES)),
            scene_ends=self._ends(sections.items(SCENES)),
        )

    def _drop(self, line: str, reason: str) -> None:
        self.dropped.append(f"{reason}: {line[:120]}")

    def _drop_orders(self, lines: Sequence[str]) -> list[str]:
        """Return the lines that order nothing. A player's wishes may: they are asked for as such."""
        kept = []
        for line in lines:
            if any(map(find_order, _PART.split(line[:LONGEST_LINE]))):
                self._drop(line, "it gives its reader an order")
            else:
                kept.append(line)
        return kept

    def _numbers(self, text: str | None) -> list[int]:
        """Return the offsets of all messages that the numbers name, first and last of each range; those outside the
        span are left out."""
        offsets: list[int] = []
        for match in _NUMBER.finditer(text or ""):
            offsets += [self.offsets[int(one) - 1] for one in match.groups() if one and self._is_number(one)]
        return offsets

    def _is_number(self, digits: str) -> bool:
        return len(digits) < 7 and 1 <= int(digits) <= len(self.offsets)

    def _threads(self, lines: Sequence[str]) -> tuple[ThreadItem, ...]:
        threads: list[ThreadItem] = []
        changed: set[str] = set()
        for line in lines:
            match = _THREAD.fullmatch(line)
            text = clip_words(match["text"], LONGEST_ITEM) if match else ""
            settled = match is not None and (match["change"] or "").lower() == "settled"
            if not match or not (text or settled):
                self._drop(line, "a thread says new, now or settled, a message and its words")
                continue
            numbers = self._numbers(match["at"])
            at = numbers[0] if numbers else None
            word = (match["change"] or "").lower()
            if match["who"].lower() == "new":
                if at is None:
                    self._drop(line, "no message of the span is named")
                elif sum(one.change is ThreadChange.NEW for one in threads) < MOST_NEW_THREADS:
                    threads.append(ThreadItem(ThreadChange.NEW, text, at))
                else:
                    self._drop(line, "too many threads")
                continue
            number = int(re.sub(r"\D", "", match["who"])[:6])
            if not 1 <= number <= len(self.threads) or word not in ("now", "settled"):
                self._drop(line, "it names no open thread, or not what became of it")
                continue
            thread = self.threads[number - 1]
            earlier = (match["at"] or "").lower() == "earlier"
            if at is None and not (word == "settled" and earlier):
                self._drop(line, "no message of the span is named")
            elif f"{word} {thread}" in changed:
                self._drop(line, "the thread was changed already")
            else:
                changed.add(f"{word} {thread}")
                threads.append(ThreadItem(ThreadChange(word), text, at, thread))
        return tuple(threads)

    def _state(self, lines: Sequence[str]) -> tuple[StateItem, ...]:
        values: dict[tuple[str, Aspect], StateItem] = {}
        for line in lines:
            match = _STATE.fullmatch(line)
            if not match or match["aspect"].lower() not in _ASPECTS:
                self._drop(line, "a state is Thing / aspect: value, and the aspect one of the list")
                continue
            thing, aspect = " ".join(match["thing"].split()), Aspect(match["aspect"].lower())
            value = clip_words(match["value"], LONGEST_ITEM)
            ended = value.strip(" .").casefold() == "ended"
            numbers = self._numbers(match["at"])
            if not thing or (not numbers and not ended):
                self._drop(line, "no message of the span is named")
                continue
            key = thing.casefold(), aspect
            values.pop(key, None)
            if len(values) < MOST_STATE:
                values[key] = StateItem(thing, aspect, "" if ended else value, numbers[0] if numbers else None)
        return tuple(values.values())

    def _present(self, lines: Sequence[str]) -> tuple[PresenceItem, ...]:
        stretches: list[PresenceItem] = []
        covered: set[int] = set()
        for line in lines:
            match = _PRESENT.fullmatch(line)
            spans = self._spans(match["at"]) if match else []
            if not match or not spans:
                self._drop(line, "presence is a stretch of messages and names")
                continue
            names = _split_names(match["names"])
            for first, last in spans:
                fresh = [one for one in range(first, last + 1) if one not in covered]
                covered.update(fresh)
                if fresh:
                    stretches.append(PresenceItem(fresh[0], fresh[-1], names))
        return tuple(sorted(stretches, key=lambda one: one.first))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for match in _NUMBER.finditer(text):
            ends = [one for one in match.groups() if one]
            if all(self._is_number(one) for one in ends):
                numbers = sorted(int(one) for one in ends)
                spans.append((self.offsets[numbers[0] - 1], self.offsets[numbers[-1] - 1]))
        return spans

    def _learnt(self, lines: Sequence[str]) -> tuple[LearntItem, ...]:
        learnt: list[LearntItem] = []
        for line in lines:
            match = _LEARNT.fullmatch(line)
            numbers = self._numbers(match["at"]) if match else []
            names = _split_names(match["names"]) if match else ()
            if not match or not numbers or not names:
                self._drop(line, "what was learnt has a message, names and words")
            elif len(learnt) < MOST_LEARNT:
                learnt.append(LearntItem(names, clip_words(match["text"], LONGEST_ITEM), numbers[0]))
        return tuple(learnt)

    def _lore(self, lines: Sequence[str]) -> tuple[LoreItem, ...]:
        entries: dict[str, LoreItem] = {}
        for line in lines:
            parts = [part.strip() for part in line.split("|")]
            match = _WITH_NUMBER.fullmatch(parts[0])
            numbers = self._numbers(match["at"]) if match else []
            name = " ".join((match["text"] if match else parts[0]).split()).strip("*: ")
            if len(parts) < 4 or not name or len(name) > LONGEST_NAME or (match and not numbers):
                self._drop(line, "an entry is name | kind | words that call it up | text, with its message")
                continue
            keywords = tuple(dict.fromkeys(one for one in _COMMAS.split(parts[2]) if one and one != "-"))[:8]
            content = clip_words(" ".join(parts[3:]), LONGEST_ENTRY)
            if content and len(entries) < MOST_LORE:
                offsets = tuple(sorted(set(numbers)))
                entries[name.casefold()] = LoreItem(name, parts[1].casefold(), keywords or (name,), content, offsets)
        return tuple(entries.values())

    def _players(self, lines: Sequence[str]) -> tuple[PlayerItem, ...]:
        players: dict[str, PlayerItem] = {}
        for line in lines:
            match = _LEARNT.fullmatch(line)
            numbers = self._numbers(match["at"]) if match else []
            names = _split_names(match["names"]) if match else ()
            plays = _split_names(match["text"]) if match else ()
            if len(names) != 1 or len(plays) != 1 or not numbers:
                self._drop(line, "a player is a message, one writer and one character")
            elif len(players) < MOST_PLAYERS and casefold(names[0]) != casefold(plays[0]):
                players[casefold(names[0])] = PlayerItem(names[0], plays[0], numbers[0])
        return tuple(players.values())

    def _wishes(self, lines: Sequence[str]) -> tuple[WishItem, ...]:
        wishes: list[WishItem] = []
        for line in lines:
            match = _WITH_NUMBER.fullmatch(line)
            numbers = self._numbers(match["at"]) if match else []
            by_user = [one for one in numbers if one in self.by_user]
            if not match or not by_user:
                self._drop(line, "a wish names the message of a player")
            elif len(wishes) < MOST_WISHES:
                wishes.append(WishItem(clip_words(match["text"], LONGEST_ITEM), by_user[0]))
        return tuple(wishes)

    def _ends(self, lines: Sequence[str]) -> tuple[int, ...]:
        ends: set[int] = set()
        for line in lines:
            match = _ENDS_AT.search(line)
            ends.update(self._numbers(match["at"])[:1] if match else ())
        return tuple(sorted(ends))


def _split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list; none for a dash."""
    names = [one.strip(" .*\"'") for one in _NAMES.split(_ASIDE.sub("", text))]
    kept = [one for one in names if one.casefold() not in _NOTHING and len(one) <= LONGEST_NAME]
    return tuple(dict.fromkeys(kept))


def read_sections(reply: ModelReply, headings: Mapping[str, str], wanted: Sequence[str]) -> Sections | Refused:
    """Return an answer cut at its headings, or why it cannot be: it has none of those that were wanted."""
    if reply.tool_calls:
        return Refused(RefusalKind.TOOL_CALL, "it called a tool instead of answering")
    answer = strip_reasoning(reply.text).strip()
    if not answer:
        return Refused(RefusalKind.EMPTY, "the answer is empty")
    sections = cut_sections(answer, headings)
    if sections.lines:
        return sections
    if reply.finish_reason == "content_filter" or is_refusal(answer):
        return Refused(RefusalKind.REFUSAL, "the model declined")
    return Refused(RefusalKind.SHAPE, f"it has none of the headings {', '.join(wanted)}")


def judge_section(heading: str, sections: Sections, reply: ModelReply, asked: TextRequest) -> Accepted | Refused:
    """Return whether the text under a heading may be kept."""
    text = sections.prose(heading)
    if not text:
        return Refused(RefusalKind.SHAPE, f"there is nothing under {heading}")
    if reply.finish_reason == "length" and list(sections.lines)[-1] == heading:
        return Refused(RefusalKind.TRUNCATED, f"it was cut off within {heading}")
    # Whether the answer came to its end is judged here: what was cut off behind this text does it no harm.
    verdict = judge(asked, replace(reply, text=text, finish_reason="stop"))
    return replace(verdict, reason=f"{heading}: {verdict.reason}") if isinstance(verdict, Refused) else verdict
