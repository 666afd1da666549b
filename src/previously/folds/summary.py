"""Deferred application: the summary of a story as a reduce over the newest analysis of each fragment.

Nothing here is kept in a second place: the summary is computed from the analyses that are valid on the path, so one
that was made anew changes it wherever it stands, and a deletion takes its words along and applies nothing twice.
Application is contiguous, it stops at the first gap and says which. Positions that tell nothing are passed over and
count as done. The newest `threshold` positions are never applied. Compaction is bounded. A summary knows which messages
it tells no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from previously.core.patterns import lazy_pattern
from previously.core.quote_lines import PREFIX, find_first_line
from previously.core.scene import Fragment
from previously.text.sentences import find_starts

THRESHOLD = 4
"""The number of the newest positions that are not applied yet: the view shows them verbatim."""

MAX_CHARACTERS = 12_000
TARGET_CHARACTERS = 9_000
LEAST_CHARACTERS = 100
"""Both bounds of a compaction are at least so much."""

BETWEEN = "\n"
"""The text between two updates."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The position at which application stops, and the reason."""

    position: int
    reason: Literal["missing_analysis", "empty_summary_update"]


@dataclass(frozen=True, slots=True)
class Application:
    """The updates that could be applied from a position on."""

    applied: tuple[int, ...]
    """The fragments whose updates are in `text`, in order."""
    text: str
    """The text that is appended to the summary."""
    updates: tuple[str, ...]
    """The same, one update for each of them."""
    through: int
    """The last position that is done, those passed over included; one before the start where nothing is."""
    gap: Gap | None = None


def apply_updates(fragments: Sequence[Fragment], start: int = 0, threshold: int = THRESHOLD) -> Application:
    """Return what is applied now. `fragments` are all positions of the path in order, `start` is the first that is not
    done: the position behind the span of a summary that stands, 0 where none does."""
    texts: list[str] = []
    positions: list[int] = []
    through = start - 1
    for fragment in fragments[: _find_cutoff(fragments, threshold)]:
        if fragment.position < start:
            continue
        gap = _find_gap(fragment)
        if gap:
            return Application(tuple(positions), BETWEEN.join(texts), tuple(texts), through, gap)
        through = fragment.position
        if fragment.is_fragment and fragment.analysis:
            positions.append(fragment.position)
            texts.append(fragment.analysis.summary_update.strip())
    return Application(tuple(positions), BETWEEN.join(texts), tuple(texts), through)


def find_gaps(fragments: Sequence[Fragment], threshold: int = THRESHOLD) -> tuple[Gap, ...]:
    """Every gap among the positions that could be applied, not only the first."""
    return tuple(gap for fragment in fragments[: _find_cutoff(fragments, threshold)] if (gap := _find_gap(fragment)))


def _find_cutoff(fragments: Sequence[Fragment], threshold: int) -> int:
    return max(0, len(fragments) - max(0, threshold))


def _find_gap(fragment: Fragment) -> Gap | None:
    if not fragment.is_fragment:
        return None
    if fragment.analysis is None:
        return Gap(fragment.position, "missing_analysis")
    if not fragment.analysis.summary_update.strip():
        return Gap(fragment.position, "empty_summary_update")
    return None


def append_text(summary: str, addition: str) -> str:
    """A summary and what was applied to it, as one text; what stood there stands as it was."""
    if not summary.strip() or not addition:
        return summary if summary.strip() else addition
    return f"{summary}{'' if summary.endswith(BETWEEN) else BETWEEN}{addition}"


_SPACE = lazy_pattern(r"\s+")
_NEAR = 5
"""A better place to cut is taken within a fifth of the target."""


def compact_summary(
    summary: str, max_characters: int = MAX_CHARACTERS, target_characters: int = TARGET_CHARACTERS
) -> str:
    """The summary as it is, or its newest part once it is too long. The last resort: it forgets what is oldest."""
    most = max(LEAST_CHARACTERS, max_characters)
    target = min(most, max(LEAST_CHARACTERS, target_characters))
    if len(summary) <= most:
        return summary
    room = target - len(PREFIX)
    kept = summary[len(summary) - room :]
    line = find_first_line(kept)
    if line:
        return PREFIX + kept[line:]  # a quotation that lost its number would be nobody's
    near = room // _NEAR
    places = [start for start in find_starts(kept)[1:] if start <= near]
    places = places or [match.end() for match in _SPACE.finditer(kept, 0, near) if kept[match.end() :].strip()]
    return PREFIX + kept[places[0] if places else 0 :].lstrip()


@dataclass(frozen=True, slots=True)
class Summary:
    """A running summary, and what of its stretch it tells. Messages are counted from the beginning of the stretch."""

    text: str
    pieces: tuple[tuple[int, int], ...] = ()
    """Each update that is whole in the text: the last message it tells, and how many lines it has. Lines are counted,
    since the numbers in quotations, and so their letters, change where a message is put in before them."""
    cut: int = 0
    """The number of messages at the beginning that are told no more, or only in part."""

    @property
    def carry(self) -> str:
        """Return what a version keeps of it beside the text."""
        return json.dumps({"cut": self.cut, "pieces": self.pieces}, separators=(",", ":"))


def parse_summary(text: str, carry: str, reach: int) -> Summary:
    """Return the summary in a version that stands for so many messages. A text that was not put together here is one
    piece."""
    carried = _read_carry(carry)
    return (
        Summary(text, *carried)
        if carried
        else Summary(text, ((reach - 1, _count_lines(text)),) if text.strip() else ())
    )


def parse_cuts(carry: str) -> tuple[tuple[int, int], ...]:
    """Return the runs of messages that a version tells no more, counted from the beginning of its stretch. A summary
    has one at its front; a backbone has those of its chapters."""
    given = _read_json(carry)
    runs = given.get("cuts", ())
    front = given.get("cut")
    return tuple((int(first), int(last)) for first, last in runs) or (((0, front - 1),) if front else ())


def render_cuts(cuts: Sequence[tuple[int, int]]) -> str:
    """Return what a version keeps of the runs that it tells no more."""
    return json.dumps({"cuts": cuts}, separators=(",", ":")) if cuts else ""


def move_cuts(carry: str, shift: int) -> str:
    """Return what a version carries after so many messages were put in somewhere, or taken out: each of its cuts is as
    long as it may be now."""
    cuts = [(max(0, first + min(0, shift)), last + max(0, shift)) for first, last in parse_cuts(carry)]
    return " ".join(filter(None, (carry.partition("{")[0].strip(), render_cuts(cuts)))) if cuts and shift else carry


def _read_json(carry: str) -> Mapping[str, Any]:
    _, brace, rest = carry.partition("{")  # a chapter carries words of its own before it
    try:
        given = json.loads(f"{brace}{rest}")
    except ValueError:
        return {}
    return given if isinstance(given, Mapping) else {}


def _read_carry(carry: str) -> tuple[tuple[tuple[int, int], ...], int] | None:
    given = _read_json(carry)
    if not isinstance(given.get("cut"), int):
        return None
    return tuple((int(last), int(lines)) for last, lines in given.get("pieces", ())), given["cut"]


def grow_summary(
    summary: Summary,
    updates: Iterable[tuple[int, str]],
    max_characters: int = MAX_CHARACTERS,
    target_characters: int = TARGET_CHARACTERS,
) -> Summary:
    """Return a summary with further updates, each with its message, compacted where it has grown too long. The newest
    update counts as told even where a target leaves room for a part of it only."""
    added = list(updates)
    text = append_text(summary.text, BETWEEN.join(update for _, update in added))
    pieces = [*summary.pieces, *((last, _count_lines(update)) for last, update in added)]
    short = compact_summary(text, max_characters, target_characters)
    if short == text:
        return Summary(text, tuple(pieces), summary.cut)
    kept = short.removeprefix(PREFIX)
    left = kept.count("\n") + (text[len(text) - len(kept) - 1] == "\n")  # the first line may have lost its beginning
    whole = len(pieces)
    while whole and pieces[whole - 1][1] <= left:
        whole -= 1
        left -= pieces[whole][1]
    whole = min(whole, len(pieces) - 1)
    return Summary(short, tuple(pieces[whole:]), pieces[whole - 1][0] + 1 if whole > 0 else summary.cut)


def _count_lines(text: str) -> int:
    return text.count("\n") + 1
