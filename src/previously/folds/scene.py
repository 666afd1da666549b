"""The scene: what a span leaves behind, `{summary, lorebooks}` and its signals.

One question gives both, what happened and what things are. What must stay true: structural faults refuse, all of them
named at once so that one repair ask can mend them, and all else only warns; what was noted of the parts before is
never lost; the summary stays under its ceiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from previously.core.asking import ModelRequest
from previously.core.cutting import beginning_of
from previously.core.lore import TYPES, Scene
from previously.core.messages import Message, Role
from previously.core.signals import NO_SIGNALS, Signals, items_of
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin import Said, rewrite
from previously.folds.builtin.noticing import settled
from previously.folds.builtin.things import things_in
from previously.folds.checks import brief
from previously.folds.combine import joined
from previously.folds.commitments import commitments_after
from previously.folds.noting import MOST_PARTS, Noted, Unusable, object_in
from previously.folds.rendering import Template, as_data, fill, told, transcript
from previously.folds.scene_checks import MOST_SUMMARY_TOKENS, Fault, Validation, validate
from previously.folds.scene_shape import SCHEMA, readable, scene_in, scene_of, scene_text, united
from previously.text.sentences import whole_sentences

__all__ = ["Fault", "SceneNote", "Validation", "scene_of", "scene_text", "validate"]

ANSWER_TOKENS = 2_500
"""Room for an answer: a summary and a dozen entries of ordinary size."""

BUILTIN_WORDS = 180
"""How long a summary without a model may be; well under its ceiling in most scripts."""

MOST_KNOWN = 60
"""How many names a model is told, the first given."""

MOST_FAULTS_TOLD = 6

_UNNAMED = {Role.USER: "The user", Role.TOOL: "A tool"}


@dataclass(frozen=True, slots=True)
class SceneNote:
    """A scene to be noted."""

    delta: tuple[Message, ...]
    so_far: str = ""
    """What was noted of the parts before, as `scene_text` writes it."""
    known: tuple[str, ...] = ()
    """Names of known entries, "Grim (character)", so that they are understood and used again."""
    title: str = ""
    again: bool = False
    open_threads: tuple[str, ...] = ()
    """What was open before it. A model is not told: what it settles is matched afterwards."""

    @property
    def kind(self) -> Kind:
        """A scene."""
        return Kind.SCENE

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return "scene"

    @property
    def most_parts(self) -> int:
        """In how many parts a model may be asked."""
        return MOST_PARTS

    def part(self, delta: tuple[Message, ...], so_far: str) -> Self:
        """The same for a run of its messages."""
        return replace(self, delta=delta, so_far=so_far)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model."""
        earlier = scene_of(self.so_far)
        names = dict.fromkeys([*(f"{one.name} ({one.type})" for one in earlier.entries), *self.known])
        system, user = fill(
            template,
            {
                "types": ", ".join(TYPES),
                "title": f"The scene is called {as_data(self.title)!r}.\n\n" if self.title else "",
                "known": as_data("\n".join(list(names)[:MOST_KNOWN])) or "(none yet)",
                "previous": as_data(earlier.summary) or "(nothing yet)",
                "events": transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=ANSWER_TOKENS, schema=SCHEMA)

    def judge(self, answer: str) -> Noted | Unusable:
        """The scene in an answer, with what was noted so far; or every fault of it in one sentence."""
        found = object_in(answer)
        if isinstance(found, Unusable):
            return found
        given = readable(found)
        validation = validate(given)
        if not validation.valid:
            return Unusable(_all_faults(validation.faults), answer)
        scene = scene_in(given)
        warnings = tuple(str(one) for one in validation.warnings)
        return Noted(scene_text(self._with_earlier(scene)), warnings)

    def builtin(self) -> Noted:
        """The scene by rules: the sentences that matter, recurring names with what is said of them, open promises."""
        said = [Said(one.speaker or _UNNAMED.get(one.role), told(one)) for one in self.delta]
        words = BUILTIN_WORDS
        summary = rewrite("", None, said, target_words=words).text
        while estimate_tokens(summary) > MOST_SUMMARY_TOKENS and words > 1:
            words //= 2
            summary = rewrite("", None, said, target_words=words).text
        scene = Scene(
            beginning_of(" ".join(summary.split()), MOST_SUMMARY_TOKENS) or _excerpt(said),
            things_in(said),
            self._ties(),
        )
        return Noted(scene_text(self._with_earlier(scene)))

    def _ties(self) -> Signals:
        """What is promised or owed from now on, and what of it is settled."""
        before = tuple(dict.fromkeys((*self.open_threads, *scene_of(self.so_far).signals.open_threads)))
        after = commitments_after(before, self.delta)
        fresh = [one for one in after if one not in before]
        return Signals(open_threads=items_of(fresh), resolved_threads=items_of(settled(before, after)))

    def _with_earlier(self, scene: Scene) -> Scene:
        """What was noted of the parts before, and this."""
        if not self.so_far.strip():
            return scene
        return together([scene_of(self.so_far), scene])


def _all_faults(faults: Sequence[Fault]) -> str:
    """Every fault in one short sentence, which is what the model is told."""
    named = [brief(str(one), 140) for one in faults[:MOST_FAULTS_TOLD]]
    more = len(faults) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def together(scenes: Iterable[Scene]) -> Scene:
    """Several parts of one scene as one: their summaries one after the other, each thing once, all signals."""
    listed = list(scenes)
    signals = NO_SIGNALS
    for scene in listed:
        signals = _both(signals, scene.signals)
    summary = " ".join(scene.summary for scene in listed if scene.summary)
    if estimate_tokens(summary) > MOST_SUMMARY_TOKENS:
        summary = joined([scene.summary for scene in listed], MOST_SUMMARY_TOKENS)
    return Scene(summary, united(entry for scene in listed for entry in scene.entries), signals)


def _both(first: Signals, second: Signals) -> Signals:
    """The signals of two parts; what the second settled is no longer open. Of too many the newest stay."""
    settled = {one.casefold() for one in second.resolved_threads}
    still = [one for one in first.open_threads if one.casefold() not in settled]
    return Signals(
        _newest(first.events, second.events),
        _newest(first.state_changes, second.state_changes),
        _newest(still, second.open_threads),
        _newest(first.resolved_threads, second.resolved_threads),
    )


def _newest(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(reversed(items_of([*reversed(second), *reversed(first)])))


def _excerpt(said: Sequence[Said]) -> str:
    """What is left to tell of messages that hold nothing to retell."""
    first = next((sentence for one in said for sentence in whole_sentences(one.text)), "")
    return brief(first, 200) or "Nothing was told."
