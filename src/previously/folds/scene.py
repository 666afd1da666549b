"""The scene: what a span leaves behind, `{summary, lorebooks}` and its signals.

One question gives both, what happened and what things are. What must stay true: structural faults refuse, all of them
named at once so that one repair ask can mend them; faults of meaning lead to one such ask and then warn; all else only
warns; what was noted of the parts before is never lost; the summary stays under its ceiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.asking import ModelRequest
from previously.core.cutting import beginning_of
from previously.core.lore import TYPES, Scene
from previously.core.messages import Message
from previously.core.note import LoreItem
from previously.core.signals import NO_SIGNALS, Signals, folded, items_of
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin.quotes import quote
from previously.folds.checks import Accepted, Refused
from previously.folds.combine import join_summaries
from previously.folds.fold import NoteFold
from previously.folds.json_answer import accept_note, faults_told, object_in, refuse_shape
from previously.folds.note_context import NO_CONTEXT, NoteContext, language_rule, stranger_finder
from previously.folds.rendering import Template, as_data, fill, transcript
from previously.folds.scene_checks import MOST_SUMMARY_TOKENS, validate
from previously.folds.scene_shape import SCHEMA, newest_of_each, readable, scene_in, scene_of, scene_text
from previously.folds.thread_numbers import ASPECTS, name_threads, state_warnings

ANSWER_TOKENS = 2_500
"""Room for an answer: a summary and a dozen entries of ordinary size."""

BUILTIN_WORDS = 180
"""How long a summary without a model may be; well under its ceiling in most scripts."""

NOTHING_TOLD = "Nothing was told."
"""The summary of messages without a word: a scene has one."""


@dataclass(frozen=True, slots=True)
class SceneFold(NoteFold):
    """A scene to be noted."""

    delta: tuple[Message, ...]
    so_far: str = ""
    """What was noted of the parts before, as `scene_text` writes it."""
    context: NoteContext = NO_CONTEXT
    """The story before it."""
    title: str = ""
    again: bool = False
    first: int = 0
    """The position of the first message."""

    @property
    def kind(self) -> Kind:
        """A scene."""
        return Kind.SCENE

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return "scene"

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model."""
        earlier = scene_of(self.so_far)
        described = [LoreItem(one.name, one.type, one.keywords, one.content) for one in earlier.entries]
        anew = {folded(one.name) for one in described}
        known = (*described, *(one for one in self.context.known if folded(one.name) not in anew))
        beginning = "This was noted of how the scene begins, which is not shown; do not tell it again."
        system, user = fill(
            template,
            {
                "types": ", ".join(TYPES),
                "aspects": ASPECTS,
                "title": f"The scene is called {as_data(self.title)!r}.\n\n" if self.title else "",
                **replace(self.context, known=known).render(),
                "language": language_rule(self.delta, "scene", 'keys, types, aspects and the word "ended"'),
                "noted": f"\n{beginning}\n<noted>\n{as_data(earlier.summary)}\n</noted>\n" if earlier.summary else "",
                "events": transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=ANSWER_TOKENS, schema=SCHEMA)

    def judge_text(self, text: str) -> Accepted | Refused:
        """The scene in an answer, with what was noted so far; or every fault of it in one sentence."""
        found = object_in(text)
        if isinstance(found, Refused):
            return found
        given = readable(found)
        validation = validate(given)
        if not validation.valid:
            return refuse_shape(faults_told(validation.faults))
        scene = scene_in(given)
        signals, settled = name_threads(scene.signals, self.context.threads)
        scene = replace(scene, signals=signals, settled=settled)
        scene, strangers = self._without_strangers(scene)
        faults = [str(one) for one in validation.warnings if one.mendable]
        faults += [f"the name {name} stands neither in the scene nor in what you were given" for name in strangers]
        warnings = [str(one) for one in validation.warnings if not one.mendable]
        warnings += state_warnings(signals)
        return accept_note(scene_text(self._with_earlier(scene)), warnings, faults)

    def builtin(self) -> Accepted:
        """The scene without a model: sentences of it, word for word. What things are, a model or a person says."""
        words = BUILTIN_WORDS
        earlier = scene_of(self.so_far)
        summary = quote(earlier.summary, self.delta, self.first, words)
        while estimate_tokens(summary) > MOST_SUMMARY_TOKENS and words > 1:
            words //= 2
            summary = quote(earlier.summary, self.delta, self.first, words)
        told = beginning_of(summary, MOST_SUMMARY_TOKENS) or NOTHING_TOLD
        return Accepted(scene_text(replace(earlier, summary=told)))

    def _without_strangers(self, scene: Scene) -> tuple[Scene, list[str]]:
        """Return a scene without entries of people nobody has heard of, and the names that stand nowhere. What else
        says such a name stays: it is all that is remembered of the scene."""
        find_strangers = stranger_finder(self.context, self.delta, self.so_far)
        texts = (scene.summary, *(one.content for one in scene.entries))
        strangers = [name for text in texts for name in find_strangers(text)]
        made_up = [one for one in scene.entries if one.type == "character" and find_strangers(f"of {one.name}.")]
        strangers += [one.name for one in made_up]
        entries = tuple(one for one in scene.entries if one not in made_up)
        return replace(scene, entries=entries), list(dict.fromkeys(strangers))

    def _with_earlier(self, scene: Scene) -> Scene:
        """What was noted of the parts before, and this."""
        if not self.so_far.strip():
            return scene
        return together([scene_of(self.so_far), scene])


def together(scenes: Iterable[Scene]) -> Scene:
    """Several parts of one scene as one: their summaries one after the other, each thing once, all signals."""
    listed = list(scenes)
    signals = NO_SIGNALS
    for scene in listed:
        signals = _both(signals, scene.signals)
    summary = " ".join(scene.summary for scene in listed if scene.summary)
    if estimate_tokens(summary) > MOST_SUMMARY_TOKENS:
        summary = join_summaries([scene.summary for scene in listed], MOST_SUMMARY_TOKENS)
    settled = tuple(one for scene in listed for one in scene.settled)
    return Scene(summary, newest_of_each(entry for scene in listed for entry in scene.entries), signals, settled)


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
