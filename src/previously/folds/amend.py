"""Amending: one fold that sets a text right after messages under it were changed.

A link whose earlier messages changed is stale. Instead of reading the story again, the text is given to the writer with
the old and the new words of what changed. Only what really changed is given, found by digest. What is too much to be
amended is folded again instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile
from typing import ClassVar

from previously.core.messages import Message
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.path import OnPath
from previously.core.scripts import count_words
from previously.core.versions import Cost, Kind, NewVersion
from previously.folds.checks import Accepted, RefusalKind, Refused, TextRequest, judge, judge_text
from previously.folds.fold import Amends, FoldDefaults, Rehearsal, blank_text, count_told, estimate_read
from previously.folds.prompts.templates import Template, defuse_tags, fill_template, render_message, render_transcript
from previously.folds.recap import skip_opening
from previously.text.compare import find_residue

AMENDED = "an earlier message was changed"

MOST_WORDS = 3_000
"""More changed words than this are not amended but folded again: a small model would lose its way."""


@dataclass(frozen=True, slots=True)
class PathDifference:
    """The difference between two runs of messages."""

    removed: tuple[OnPath, ...]
    added: tuple[OnPath, ...]
    kept: tuple[OnPath, ...]
    """Unchanged messages of the new run: what they say is no residue."""


def find_change(old: Sequence[OnPath], new: Sequence[OnPath]) -> PathDifference:
    """Return what was removed and added between two runs, in path order."""
    same = sum(1 for _ in takewhile(_are_equal, zip(old, new, strict=False)))
    most = min(len(old), len(new)) - same
    same_end = min(most, sum(1 for _ in takewhile(_are_equal, zip(reversed(old), reversed(new), strict=False))))
    old_middle, new_middle = old[same : len(old) - same_end], new[same : len(new) - same_end]
    digests = [[item.entry.digest for item in run] for run in (old_middle, new_middle)]
    matcher = SequenceMatcher(None, digests[0], digests[1], autojunk=False)
    removed: list[OnPath] = []
    added: list[OnPath] = []
    kept = [*new[:same], *new[len(new) - same_end :]]
    for tag, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if tag == "equal":
            kept += new_middle[new_first:new_end]
        else:
            removed += old_middle[old_first:old_end]
            added += new_middle[new_first:new_end]
    return PathDifference(tuple(removed), tuple(added), tuple(kept))


def _are_equal(pair: tuple[OnPath, OnPath]) -> bool:
    return pair[0].entry.digest == pair[1].entry.digest


def plan_amend(stale: NewVersion, change: PathDifference, target_words: int, before: str = "") -> AmendFold | None:
    """Return the fold that makes a stale text true of the new run; None when that is too much to amend. `before` is a
    text about what comes before the run: what it names is no residue."""
    removed, added = skip_opening(change.removed), skip_opening(change.added)
    if count_told((*removed, *added)) > MOST_WORDS:
        return None
    kept = (before, *(render_message(message) for message in skip_opening(change.kept)))
    return AmendFold(stale.kind, stale.text, added, target_words, Amends(removed, kept), carry=stale.carry)


@dataclass(frozen=True, slots=True)
class AmendFold(FoldDefaults):
    """A text to be set right after words under it were changed."""

    prompt: ClassVar[str] = "amend"

    kind: Kind
    so_far: str
    """The text as it stands."""
    delta: tuple[Message, ...]
    """The new words."""
    target_words: int
    change: Amends
    again: bool = False
    carry: str = ""
    """The carry of the text before."""

    @property
    def amends(self) -> Amends:
        return self.change

    @property
    def has_builtin(self) -> bool:
        return False  # quotations cannot be set right: the text is folded again

    @property
    def is_silent(self) -> bool:
        return False

    @property
    def words_read(self) -> int:
        return count_words(self.so_far) + count_told((*self.change.removed, *self.delta))

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        system, user = fill_template(
            template,
            {
                "previous": defuse_tags(self.so_far.strip()) or "(none yet)",
                "removed": render_transcript(self.change.removed) or "(nothing)",
                "events": render_transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        # Well over the target, so that an answer which is cut off ran away.
        return ModelRequest(system, user, max_output_tokens=2 * (self.target_words or self.words_read) + 100)

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        verdict = judge(self._asked, reply)
        if isinstance(verdict, Refused):
            return verdict
        removed = [render_message(message) for message in self.change.removed]
        kept = [*self.change.kept, *(render_message(message) for message in self.delta)]
        left = find_residue(removed, kept, verdict.text)
        if left:
            return Refused(RefusalKind.RESIDUE, f"it still tells of what was removed: {', '.join(left[:5])}")
        return replace(verdict, carry=self.carry)

    def judge_text(self, text: str) -> Accepted | Refused:
        if text.strip():
            return judge_text(self._asked, text)
        something = self.so_far.strip() or render_transcript(self.delta)
        return Refused(RefusalKind.EMPTY, "the text is empty") if something else Accepted("")

    @property
    def _asked(self) -> TextRequest:
        sources = tuple(filter(None, self.change.kept))
        return TextRequest(self.so_far, self.delta, self.target_words, amends=True, sources=sources, third_person=True)

    def builtin(self) -> Accepted:
        raise NotImplementedError("no text is set right without a model")

    def rehearse(self, *, by_model: bool) -> Rehearsal:
        written = self.target_words or self.words_read
        cost = Cost(int(by_model), estimate_read(self), written * 4 // 3)
        return Rehearsal(Accepted(blank_text(written), self.carry), cost)

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> AmendFold:
        return replace(self, delta=runs[0], so_far=so_far)

    def explain_overflow(self, window_tokens: int) -> str:  # noqa: ARG002
        return "what changed does not fit the model's window"
