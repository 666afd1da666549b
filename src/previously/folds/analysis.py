"""The librarian: what one fragment adds to the summary, what it changed, and where it contradicts the story so far.

An analysis reads one fragment. The story before it, the names and the open threads are shown so that it can be
understood, and so that a contradiction can be seen at all. What must stay true: a fragment is analysed again only when
its words changed; an answer that notes nothing is no analysis; one that could be better is asked for once more, and
then an empty summary update is derived from the signals, so that it is no gap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from previously.core.analyses import Analysis
from previously.core.asking import ModelRequest
from previously.core.messages import Message, Role
from previously.core.signals import MOST_ITEMS, Signals, folded
from previously.core.versions import Kind
from previously.folds.analysis_answer import (
    LISTS,
    analysis_in,
    analysis_of,
    analysis_text,
    derived,
    joined,
    overfull,
)
from previously.folds.builtin.quotes import quote
from previously.folds.checks import Accepted, Refused, declines
from previously.folds.fold import NoteFold
from previously.folds.json_answer import DECLINED, accept_note, object_in, refuse_shape
from previously.folds.note_context import NO_CONTEXT, NoteContext, language_rule, stranger_finder
from previously.folds.rendering import Template, as_data, fill, told, transcript
from previously.folds.thread_numbers import ASPECTS, name_threads, state_warnings
from previously.text.sentences import plain, whole_sentences

ANSWER_TOKENS = 1_200

BUILTIN_WORDS = 45
"""How long an update without a model may be: one sentence or two."""

_LONG_ENOUGH = 5
"""So many words in a row that stand in the summary so far are told again, not by chance."""

_MARKER = re.compile(
    r"\W*|#{1,6} [^\n]{1,80}|\W*(?:chapter|scene|act|part|book|kapitel|chapitre|capítulo|capitolo|глава) "
    r"(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten)\b[^\n]{0,60}|第\s*\S{1,4}\s*[章幕話话][^\n]{0,40}",
    re.I,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary_update": {"type": "string"},
        **{name: {"type": "array", "items": {"type": "string"}} for name in (*LISTS, "mentions", "contradictions")},
    },
    "required": ["summary_update", *LISTS, "mentions", "contradictions"],
    "additionalProperties": False,
}


def is_fragment(message: Message) -> bool:
    """Whether a message tells something that is analysed: no instruction, no chapter heading, no remark out of
    character, not without words."""
    text = told(message).strip()
    return message.role is not Role.SYSTEM and not _MARKER.fullmatch(text) and not _MARKER.fullmatch(plain(text))


@dataclass(frozen=True, slots=True)
class AnalysisFold(NoteFold):
    """One fragment to be analysed."""

    delta: tuple[Message, ...]
    """The fragment, or a part of it."""
    so_far: str = ""
    """What was noted of the parts before."""
    context: NoteContext = NO_CONTEXT
    """The story before the fragment."""
    again: bool = False
    first: int = 0
    """The position of the fragment."""

    @property
    def kind(self) -> Kind:
        """What kind of memory it is."""
        return Kind.ANALYSIS

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return "analysis"

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model."""
        noted = analysis_of(self.so_far).summary_update if self.so_far else ""
        beginning = "This was noted of how the fragment begins, which is not shown; do not note it again."
        system, user = fill(
            template,
            {
                **self.context.render(),
                "bridge": self.context.render_bridge(),
                "aspects": ASPECTS,
                "language": language_rule(self.delta, "fragment", 'keys, aspects and the word "ended"'),
                "noted": f"\n{beginning}\n<noted>\n{as_data(noted)}\n</noted>\n" if noted else "",
                "fragment": transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, ANSWER_TOKENS, SCHEMA)

    def judge_text(self, text: str) -> Accepted | Refused:
        """What a model's answer notes, with what was noted of the parts before."""
        found = object_in(text)
        if isinstance(found, Refused):
            return found
        analysis = analysis_in(found)
        signals, settled = name_threads(analysis.signals, self.context.threads)
        analysis = replace(analysis, signals=signals, settled=settled)
        if declines(analysis.summary_update) and analysis.signals.is_empty:
            return DECLINED
        if analysis.is_empty:
            return refuse_shape("it notes nothing; write at least summary_update")
        update, again = self._without_retelling(analysis.summary_update)
        warnings = [f"told before, left out: {again[0][:80]}"] if again else []
        faults = [f"{name} has {count} items, of which {MOST_ITEMS} count" for name, count in overfull(found)]
        if not update:
            faults.append("summary_update is empty, or only tells the story so far again")
            update = derived(analysis.signals)
            if not update:
                return refuse_shape("its summary_update only repeats the story so far")
            warnings.append("the summary update was derived from the signals")
        warnings += state_warnings(analysis.signals)
        analysis = replace(analysis, summary_update=update)
        analysis, strangers = self._without_strangers(analysis)
        faults += [f"the name {name} stands neither in the fragment nor in what you were given" for name in strangers]
        return accept_note(analysis_text(self._with_so_far(analysis)), warnings, faults)

    def builtin(self) -> Accepted:
        """What is noted without a model: a sentence or two of the fragment, word for word."""
        earlier = analysis_of(self.so_far)
        update = quote(earlier.summary_update, self.delta, self.first, BUILTIN_WORDS)
        return Accepted(analysis_text(replace(earlier, summary_update=update)))

    def _with_so_far(self, analysis: Analysis) -> Analysis:
        return joined(analysis_of(self.so_far), analysis) if self.so_far else analysis

    def _without_strangers(self, analysis: Analysis) -> tuple[Analysis, list[str]]:
        """Return an analysis without items that name somebody nobody has heard of, and those names. The summary update
        stays: it is all that is remembered of the fragment."""
        strangers: list[str] = []
        find_strangers = stranger_finder(self.context, self.delta, self.so_far)

        def is_heard(text: str) -> bool:
            found = find_strangers(text)
            strangers.extend(found)
            return not found

        is_heard(analysis.summary_update)
        lists = {name: tuple(filter(is_heard, getattr(analysis.signals, name))) for name in LISTS}
        mentions = tuple(name for name in analysis.mentions if is_heard(f"of {name}."))
        settled = tuple(one for one in analysis.settled if is_heard(one.text))
        kept = replace(analysis, signals=Signals(**lists), mentions=mentions, settled=settled)
        return kept, list(dict.fromkeys(strangers))

    def _without_retelling(self, update: str) -> tuple[str, Sequence[str]]:
        """The update without sentences that stand in the summary so far, and those."""
        earlier = folded("\n".join((self.context.earlier, self.context.so_far, self.context.recent)))
        sentences = whole_sentences(update)
        again = [one for one in sentences if len(one.split()) >= _LONG_ENOUGH and folded(one).rstrip(".!? ") in earlier]
        return (" ".join(one for one in sentences if one not in again) if again else update), again
