"""The input and the decisions of a scan: which entries fired, and for every entry why or why not, in plain words.

A reason names what decided, so that a person can change it; the reasons of entries that were not even looked at are
worked out when somebody asks. Timed effects (entries that stay, rest or come late) are not stored: the recipes of views
say which entry fired for which answer, and the rest follows. A path that goes back, by an edit, a swipe or a deletion,
has fewer recipes, so no effect has to be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from previously.core.scripts import casefold
from previously.core.tokens import ESTIMATE
from previously.lore.entry import EVERYBODY, NORMAL, SOURCES, TRIGGERS, KeyedEntry, SecondaryLogic
from previously.lore.index import LoreIndex
from previously.lore.keys import Comparison
from previously.lore.matches import InMessage, InSource, KeyMatches


@dataclass(frozen=True, slots=True, order=True)
class Activation:
    """An entry fired when the path had `position` messages, that is for the answer at that position."""

    uid: str
    position: int


@dataclass(frozen=True, slots=True)
class TimedEffects:
    """The effects that hold now, each with the position at which it ends."""

    sticky: Mapping[str, int] = field(default_factory=dict, hash=False)
    cooldown: Mapping[str, int] = field(default_factory=dict, hash=False)


NO_EFFECTS = TimedEffects()


def compute_effects(activations: Iterable[Activation], entries: Mapping[str, KeyedEntry], now: int) -> TimedEffects:
    """Return the effects on an answer at position `now`, from what fired for earlier ones on this path.

    An entry is sticky for so many messages from its activation on; firing again meanwhile does not make it longer. It
    rests from the end of that, or from its activation if it is not sticky. What fired for this very position does not
    count: the answer is being made again.
    """
    starts: dict[str, int] = {}
    for activation in sorted(activations, key=lambda activation: activation.position):
        entry = entries.get(activation.uid)
        if entry is None or activation.position >= now:
            continue
        before = starts.get(activation.uid)
        if before is None or activation.position >= before + max(entry.sticky, 1):
            starts[activation.uid] = activation.position
    sticky: dict[str, int] = {}
    cooldown: dict[str, int] = {}
    for uid, start in starts.items():
        entry = entries[uid]
        end = start + max(entry.sticky, 0)
        if now < end:
            sticky[uid] = end
        elif now < end + entry.cooldown:
            cooldown[uid] = end + entry.cooldown
    return TimedEffects(sticky, cooldown)


@dataclass(frozen=True, slots=True)
class ScanMessage:
    """One message that is read for keys."""

    text: str
    speaker: str = ""
    position: int | None = None
    """Its place on the path; None = as many back from the newest as it stands in the list."""


@dataclass(frozen=True, slots=True)
class ScanInput:
    """Everything that decides about the entries on one turn."""

    messages: tuple[ScanMessage, ...]
    """Newest first."""
    depth: int = 4
    """Number of newest messages that are read for an entry that does not say it itself. 4 is more than two turns."""
    include_names: bool = True
    """If true, the speaker's name is read too."""
    budget_tokens: int | None = None
    counter: Callable[[str], int] = ESTIMATE.tokens
    told: Callable[[KeyedEntry], str] = attrgetter("content")
    """Returns the text that an entry costs: all that stands in the view for it."""
    recursion: bool = True
    """If true, the content of an entry that fired can make others fire."""
    most_steps: int = 3
    """Number of times that may go on: with more, one word brings up half a book."""
    least_fired: int = 0
    """Older messages are read, one at a time, until so many entries have fired."""
    deepest: int = 0
    """But no more messages than this; 0 = all that are given."""
    group_scoring: bool = False
    """If true, of an inclusion group those that match most keys are left."""
    character: str = ""
    """The one who answers; empty = not known."""
    tags: frozenset[str] = frozenset()
    """Their tags; empty = not known."""
    triggers: frozenset[str] = frozenset({NORMAL})
    """The kinds of answers that this is, as `entry.TRIGGERS` names them."""
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts beside the messages that entries may be looked for in, by the names of `entry.SOURCES`."""
    seed: str = ""
    turn: str = ""
    """Seed and turn decide the rolls: the same turn of the same story always rolls the same."""
    timed: TimedEffects = NO_EFFECTS
    message_count: int | None = None
    """Number of messages on the path; None = as many as are given."""

    @property
    def length(self) -> int:
        """Number of messages on the path, which is the position of the answer."""
        return len(self.messages) if self.message_count is None else self.message_count

    def lines(self) -> list[str]:
        """Return the messages as they are read."""
        named = self.include_names
        return [
            f"{message.speaker}: {message.text}" if named and message.speaker else message.text
            for message in self.messages
        ]


@dataclass(frozen=True, slots=True)
class Decision:
    """The fate of an entry on one turn, and the reason."""

    fired: bool
    reason: str


@dataclass(frozen=True, slots=True)
class FiredEntry:
    """An entry the model is told about."""

    entry: KeyedEntry
    reason: str
    tokens: int
    step: int = 0
    """0 for the messages, 1 for what the first entries brought up, and so on."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The entries of lore that came up in a turn, and why the others did not."""

    fired: tuple[FiredEntry, ...]
    """In the order they are shown: the last stands nearest the end."""
    decisions: Mapping[str, Decision]
    """The decision on each entry that had to be looked at; `explain` knows all of them."""
    tokens: int
    index: LoreIndex = field(repr=False, compare=False)
    given: ScanInput = field(repr=False)
    depth: int = 0
    """Number of messages that were read in the end for an entry that does not say it itself."""

    def explain(self, uid: str) -> Decision:
        """Return why an entry fired or did not."""
        decided = self.decisions.get(uid)
        return decided if decided is not None else Decision(False, self._why_not(uid))

    def explain_all(self) -> dict[str, Decision]:
        """Return the decision on every entry, in their own order."""
        return {uid: self.explain(uid) for uid in self.index.entries}

    def _why_not(self, uid: str) -> str:
        """Return why an entry was not even looked at."""
        entry = self.index.entries.get(uid)
        if entry is None:
            return "there is no such entry"
        if not entry.enabled:
            return "disabled"
        if entry.is_blank:
            return "its content is empty"
        blocked = explain_filter(entry, self.given) or explain_rest(entry, self.given)
        if blocked:
            return blocked
        keyed = self.index.keyed(uid)
        if keyed is None or not any(map(str.strip, entry.keys)):
            found = "; it is vectorized, and found by meaning in other programs only" if entry.vectorized else ""
            return f"it has no keys and is not constant{found}"
        if all(key.compared is Comparison.NEVER for key in keyed.primary):
            return f"none of its keys can be used: {keyed.primary[0].text}"
        dead = [
            f"; the key {_quote(text)} cannot be used: {key.text}"
            for text, key in zip(entry.keys, keyed.primary, strict=True)
            if key.compared is Comparison.NEVER and text.strip()
        ]
        unread = [SOURCES[name] for name in entry.sources if name not in self.given.sources]
        beside = f"; there is no text for {' and '.join(unread)} here" if unread else ""
        return explain_no_key(entry, self.depth) + "".join(dead) + beside


def explain_filter(entry: KeyedEntry, given: ScanInput) -> str | None:
    """Return why an entry is not meant for this answer, or for none; None if it is."""
    if entry.triggers and given.triggers.isdisjoint(entry.triggers):
        kind = " or ".join(kind for kind in TRIGGERS if kind in given.triggers)
        return f"trigger: only for {' or '.join(entry.triggers)}, and this is a {kind} answer"
    if entry.characters != EVERYBODY and (reason := _explain_characters(entry, given)):
        return f"character filter: {reason}"
    if "dont_activate" in entry.decorators:
        return "its content begins with @@dont_activate"
    return None


def _explain_characters(entry: KeyedEntry, given: ScanInput) -> str | None:
    names, tags, exclude = entry.characters.names, entry.characters.tags, entry.characters.exclude
    who = given.character or "nobody"
    if names:
        # The names are those of picture files, in which some programs write a space as an underscore.
        known = {casefold(name).replace("_", " ") for name in names}
        if (casefold(who).replace("_", " ") in known) is exclude:
            return f"not for {who}" if exclude else f"only for {' or '.join(names)}, and {who} answers"
    if tags and given.tags and given.tags.isdisjoint(tags) is not exclude:
        return f"{'not ' if exclude else 'only '}for characters tagged {' or '.join(tags)}"
    return None


def explain_rest(entry: KeyedEntry, given: ScanInput) -> str | None:
    """Return what keeps an entry from firing on this turn whatever is said; None if nothing does."""
    if given.length < entry.delay:
        return f"delayed until message {entry.delay}"
    if entry.uid in given.timed.cooldown and entry.uid not in given.timed.sticky:
        return f"cooldown until message {given.timed.cooldown[entry.uid]}"
    return None


def explain_no_key(entry: KeyedEntry, depth: int) -> str:
    """Return the sentence that none of an entry's keys was found."""
    depth = depth if entry.scan_depth is None else max(entry.scan_depth, 0)
    if depth == 0:
        return "no key found: it reads no messages"
    return f"no key found in the newest {depth} messages" if depth > 1 else "no key found in the newest message"


def explain_key(entry: KeyedEntry, matches: KeyMatches, given: ScanInput) -> str | None:
    """Return which primary key of an entry was found and where; None if none was."""
    keyed = matches.index.keyed(entry.uid)
    if keyed is None:
        return None
    for text, key in zip(entry.keys, keyed.primary, strict=True):
        where = matches.where(key, entry)
        if where is None:
            continue
        if isinstance(where, InSource):
            return f"key {_quote(text)} in {SOURCES[where.name]}"
        if isinstance(where, InMessage):
            message = given.messages[where.number]
            position = given.length - 1 - where.number if message.position is None else message.position
            by = f" by {message.speaker}" if message.speaker else ""
            return f"key {_quote(text)} in message {position}{by}"
        return f"key {_quote(text)} found in the entry {_quote(matches.index.entries[where.uid].name)}"
    return None


def explain_secondary(entry: KeyedEntry, matches: KeyMatches) -> str | None:
    """Return what the secondary keys of an entry object to; None if they agree or there are none."""
    keyed = matches.index.keyed(entry.uid) if any(map(str.strip, entry.secondary)) else None
    if keyed is None:
        return None
    missing: list[str] = []
    present: list[str] = []
    for text, key in zip(entry.secondary, keyed.secondary, strict=True):
        if text.strip():
            (missing if matches.where(key, entry) is None else present).append(_quote(text))
    match entry.logic:
        case SecondaryLogic.AND_ANY if not present:
            return f"secondary key missing: needs {' or '.join(missing)}"
        case SecondaryLogic.AND_ALL if missing:
            return f"secondary key missing: needs {' and '.join(missing)}"
        case SecondaryLogic.NOT_ANY if present:
            return f"secondary key {present[0]} found, and none of them may be"
        case SecondaryLogic.NOT_ALL if not missing:
            return "all secondary keys found, and one of them must be missing"
        case _:
            return None


def count_keys(entry: KeyedEntry, matches: KeyMatches) -> int:
    """Return how many keys of an entry count where inclusion groups are scored: each primary one that was found, and of
    the secondary ones each (AND_ANY) or, if none is missing, all (AND_ALL)."""
    keyed = matches.index.keyed(entry.uid)
    if keyed is None:
        return 0
    found = [sum(matches.where(key, entry) is not None for key in keys) for keys in (keyed.primary, keyed.secondary)]
    counts = entry.logic is SecondaryLogic.AND_ANY or (
        entry.logic is SecondaryLogic.AND_ALL and found[1] == len(keyed.secondary)
    )
    return found[0] + (found[1] if counts else 0) if keyed.primary else 0


def _quote(text: str) -> str:
    return f'"{text.strip()}"'
