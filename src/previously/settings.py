"""Every setting, its default and its bounds, and which of several places has the last word. Pure: no file is read here.

The defaults are those of role-play. Values come in layers, and later ones win: the preset, `previously.toml`, variables
`PREVIOUSLY_…`, the story's own. A value that cannot be used is refused and named with its place, never bent silently,
also where a later layer would win over it. The layers below get plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from previously.core.errors import BadInput
from previously.core.lore_rules import LoreRules
from previously.models.tokenizers import is_path
from previously.presets import (
    FOLD_PERCENT,
    PRESETS,
    TAIL_PERCENT,
    compute_fold_tokens,
    find_fault,
    parse_words,
    shorten_value,
)

if TYPE_CHECKING:
    from previously.core.fold_rules import FoldRules, RecapRules
    from previously.core.versions import Cost

PREFIX = "PREVIOUSLY_"

OTHER_KEYS = ("db", "endpoint", "model", "prompts")
"""Keys beside settings that a file or a variable may name."""

OTHER_VARIABLES = frozenset(
    PREFIX + name.upper() for name in (*OTHER_KEYS, "api_key", "config", "pager", "upstream_key")
)
"""Variables of ours that are no settings."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a story's memory. Every value is taken as it is given; `Settings.of` begins with a preset's."""

    preset: str = "roleplay"
    """The kind of story: role-play, a novel, a game or an agent. Its values hold where you give no others."""
    window_tokens: int = 8_192
    """The context window of the model, where nothing else is known."""
    tokenizer: str = "estimate"
    """The counter of tokens: an estimate, `cl100k` or `o200k`, a model of OpenAI's, or the path of a
    `tokenizer.json`."""
    answer_tokens: int = 1_024
    """The part of the window that is left for the model's answer; never more than a quarter."""
    tail_messages: int = 12
    """The newest messages, verbatim and never folded."""
    tail_turns: int = 0
    """If more than 0: the newest turns, verbatim and never folded, instead of `tail_messages`."""
    tail_percent: int = 60
    """The tail's ceiling in percent of a view's budget: when it has grown beyond, new memory is taken up."""
    recall_percent: int = 15
    """The share of a view's budget that recalled passages may take, in percent; 0 = none."""
    fold_messages: int = 60
    """A fold is due when this many messages wait outside the tail."""
    fold_words: int = 3_000
    """It is also due when they have this many words."""
    fold_tokens: int = 2_048
    """And when they have this many tokens: a quarter of the window, 3,000 at most."""
    recap_words: int = 450
    """The target length of the recap; 0 = no target."""
    chapter_messages: int = 120
    """A chapter closes at the first scene end after this many messages, at twice as many in any case; 0 = only by
    command or marker."""
    chapter_words: int = 450
    """The target length of a chapter's permanent recap."""
    backbone_words: int = 600
    """The target length of the backbone; 0 = there is none."""
    timeline: str = "recap"
    """The text that tells of the open chapter: a recap of its messages, the updates of a librarian, or the summaries of
    its scenes."""
    apply_after: int = 4
    """So many of the newest fragments are analysed but not yet part of the librarian's summary."""
    summary_characters: int = 12_000
    """When the librarian's summary is longer than this, only its newest part is kept."""
    summary_target_characters: int = 9_000
    """The length of the part that is kept of a summary that grew too long."""
    scene_messages: int = 40
    """A scene is noted after this many messages at the latest, and from half of it on where it ends; 0 = only by
    command."""
    lore: str = "on"
    """The use of entries that scenes leave behind: `on`, `suggest` (a person accepts them first) or `off`."""
    lore_percent: int = 15
    """The share of a view's budget that lore may take, in percent; 0 = none."""
    lore_depth: int = 4
    """In how many of the newest messages keys are looked for."""
    lore_scan: str = "exact"
    """The way entries are looked for: `exact`, or with all quirks of `sillytavern`."""
    lore_steps: int = 3
    """The number of times that entries may bring up others; 0 = never."""
    lore_least: int = 0
    """Older messages are read until this many entries have come up; 0 = they are not."""
    lore_deepest: int = 0
    """The most messages that are read for that; 0 = as many as are shown."""
    lore_tokens: int = 0
    """The most tokens that lore may take, whatever its share is; 0 = its share alone."""
    lore_scoring: bool = False
    """Of an inclusion group, only those entries count that match most keys."""
    lore_tags: str = ""
    """The tags of the story's character, with commas between, for entries that are only for some; empty = not known."""
    cast: str = "group"
    """For whom is kept what they know: `group` (where several characters speak), `turn` (all, every turn) or `off`."""
    clock: str = "story"
    """Whose time counts: the story's own, told by its words, or the chat's (`chat`): then recalled passages say when
    they were written."""
    dormant_messages: int = 200
    """A thread that nobody touched for this many messages is dormant; 0 = never."""
    folding: str = "automatic"
    """The folding of a proxy: `automatic` (what is due), `ask` (a person says when) or `off` (never: lists go on as
    they came)."""
    review: bool = False
    """Hold every fold until a person approves it."""
    memory_window_tokens: int = 8_192
    """The context window of the model that folds."""
    timeout_s: int = 300
    """The longest time that one call to that model may take, in seconds."""
    calls_per_hour: int = 0
    """The most calls to that model in an hour, for folds and questions; 0 = no limit."""
    calls_per_day: int = 0
    """The most calls to that model in a day, for folds and questions; 0 = no limit."""
    tokens_per_hour: int = 0
    """The most tokens, read and written, that folds and questions may take in an hour; 0 = no limit."""
    tokens_per_day: int = 0
    """The most tokens, read and written, that folds and questions may take in a day; 0 = no limit."""
    input_price: float = 0.0
    """The price of a million tokens read by the model, in any currency; for estimates."""
    output_price: float = 0.0
    """The price of a million tokens written by it."""

    def __post_init__(self) -> None:
        for key in DEFAULTS:
            if fault := find_fault(key, type(DEFAULTS[key]), getattr(self, key)):
                raise BadInput(f"{key} is {shorten_value(getattr(self, key))}; it must be {fault}.")

    @classmethod
    def of(cls, preset: str, **values: Any) -> Settings:
        """The settings of a preset, with these values instead of its own."""
        return resolve([Layer(Origin.CODE, {"preset": preset, **values})])

    def check_memory_window(self) -> None:
        """`BadInput` when the model's window cannot hold the recap before, the one after, and anything new to read."""
        needed = 4 * self.recap_words + 1_000
        if self.memory_window_tokens < needed:
            raise BadInput(
                f"memory_window_tokens is {self.memory_window_tokens}; for a model to fold a recap of "
                f"{self.recap_words} words it must be at least {needed}."
            )

    def budget_tokens(self, window_tokens: int = 0, answer_tokens: int | None = None) -> int:
        """Return the tokens that a view may take: the window (0 = that of the story) but for the answer (None = the
        story's)."""
        window = window_tokens or self.window_tokens
        answer = self.answer_tokens if answer_tokens is None else answer_tokens
        return window - min(answer, window // (2 if window_tokens else 4))

    @property
    def recap_rules(self) -> RecapRules:
        """Return the rules for the recap's fold."""
        from previously.core.fold_rules import RecapRules  # not for who lists stories

        usual = {
            **DEFAULTS,
            **PRESETS[self.preset],
            "fold_tokens": compute_fold_tokens(self.preset, self.window_tokens),
        }
        chosen = any(getattr(self, key) != usual[key] for key in ("fold_messages", "fold_words", "fold_tokens"))
        return RecapRules(
            self.tail_messages, self.fold_messages, self.fold_words, self.fold_tokens, self.recap_words, chosen
        )

    def compute_price(self, costs: Iterable[Cost]) -> float:
        """Return the price of these costs, of those for which a model was or would be asked."""
        asked = [cost for cost in costs if cost.calls]
        read, written = sum(cost.input_tokens for cost in asked), sum(cost.output_tokens for cost in asked)
        return round((read * self.input_price + written * self.output_price) / 1_000_000, 6)

    @property
    def fold_rules(self) -> FoldRules:
        """Return the rules for all folds of a story."""
        from previously.core.fold_rules import FoldRules, Timeline

        return FoldRules(
            recap=self.recap_rules,
            tail_turns=self.tail_turns,
            tail_tokens=self.window_tokens * TAIL_PERCENT[self.preset] // 100,
            chapter_messages=self.chapter_messages,
            chapter_words=self.chapter_words,
            backbone_words=self.backbone_words,
            review=self.review,
            timeline=Timeline(self.timeline),
            apply_after=self.apply_after,
            summary_characters=self.summary_characters,
            summary_target_characters=self.summary_target_characters,
            scene_messages=0 if self.timeline == "recap" else self.scene_messages,  # an update notes what scenes would
            lore=self.lore,
            cast=self.cast,
            dormant_messages=self.dormant_messages,
            lore_rules=self.lore_rules,
        )

    @property
    def lore_rules(self) -> LoreRules:
        """Return the rules for the scan for lore."""
        return LoreRules(
            quirks=self.lore_scan == "sillytavern",
            most_steps=self.lore_steps,
            least_fired=self.lore_least,
            deepest=self.lore_deepest,
            most_tokens=self.lore_tokens,
            group_scoring=self.lore_scoring,
            tags=tuple(filter(None, map(str.strip, self.lore_tags.split(",")))),
        )


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Settings)}
"""Every setting with its default."""

OWNERS_KEYS = frozenset(
    "memory_window_tokens timeout_s calls_per_hour calls_per_day tokens_per_hour tokens_per_day input_price "
    "output_price".split()
)
"""Settings that no story can have of its own: they are about the model that folds, and the cost of all stories
together."""


class Origin(StrEnum):
    """The places that values come from."""

    CODE = "code"
    FILE = "file"
    VARIABLE = "variable"
    STORY = "story"


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place. Those of variables are words still to be read; others have the type of their setting."""

    origin: Origin
    values: Mapping[str, Any]
    place: str = ""
    """The file, or whose settings, for whoever has to mend them."""

    def called(self, key: str) -> str:
        """Return the name that a setting has there."""
        if self.origin is Origin.VARIABLE:
            return PREFIX + key.upper()
        return f"{key} in {self.place}" if self.place else key

    def source(self, key: str) -> str:
        """Return the place that its value comes from, in a word."""
        if self.origin is Origin.VARIABLE:
            return self.called(key)
        return self.place if self.origin is Origin.FILE else self.origin.value


def resolve(layers: Sequence[Layer]) -> Settings:
    """The settings in force, later layers winning over earlier ones and all of them over the preset."""
    return Settings(**{key: value for key, (value, _) in _weigh(layers).items()})


def explain_settings(layers: Sequence[Layer]) -> dict[str, dict[str, Any]]:
    """Every setting as `{"value", "from"}`: what is in force, and the variable, file, preset or story that says so."""
    return {key: {"value": value, "from": source} for key, (value, source) in _weigh(layers).items()}


def read_environment(environment: Mapping[str, str]) -> Layer:
    """Return the settings that variables give. One of ours that is no setting is refused."""
    values = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        key = variable.removeprefix(PREFIX).lower()
        if key not in DEFAULTS or variable != PREFIX + key.upper():
            close = find_close(key, (*DEFAULTS, *OTHER_KEYS, "config"))
            raise refuse_key(variable, PREFIX + close.upper() if close else "")
        values[key] = environment[variable]
    return Layer(Origin.VARIABLE, values)


def make_layer(settings: Settings) -> Layer:
    """A layer that resolves to exactly these settings, and holds no more than it must."""
    named = {"preset": settings.preset, "window_tokens": settings.window_tokens}
    bare = resolve([Layer(Origin.CODE, named)])
    given = {key: value for key, value in named.items() if value != DEFAULTS[key]}
    other = {key: getattr(settings, key) for key in DEFAULTS if getattr(settings, key) != getattr(bare, key)}
    return Layer(Origin.CODE, given | other)


def change_settings(own: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """A story's own settings after `key=value` assignments. `key=default` and `key=` take a value back."""
    new, seen = dict(own), set()
    for assignment in assignments:
        key, equals, words = (part.strip() for part in assignment.partition("="))
        if not key or not equals:
            raise BadInput(f"{shorten_value(assignment)} sets nothing; write key=value, as in recap_words=200.")
        if key in seen:
            raise BadInput(f"{key} is given twice.")
        if key in OWNERS_KEYS:
            raise BadInput(
                f"{key} holds for all stories together; set it in previously.toml or as {PREFIX + key.upper()}."
            )
        seen.add(key)
        if words in ("", "default") and (key in own or key in DEFAULTS):
            new.pop(key, None)
        else:
            new[key] = _read(key, words, key, words=True)
    resolve([Layer(Origin.STORY, new)])
    return new


def find_close(key: str, known: Iterable[str]) -> str:
    """The known key that somebody may have meant; empty if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(key[:40].lower().replace("-", "_"), list(known), 1, 0.55)), "")


def refuse_key(called: str, meant: str) -> BadInput:
    """The refusal of a key that is none."""
    hint = f" (did you mean {meant}?)" if meant else ""
    return BadInput(f"{called} is no setting of Previously{hint}; docs/settings.md lists them.")


def _weigh(layers: Sequence[Layer]) -> dict[str, tuple[Any, str]]:
    """Every setting with its value and where that comes from."""
    given: dict[str, tuple[Any, str]] = {}
    for layer in layers:
        for key, raw in layer.values.items():
            value = _read(key, raw, layer.called(key), words=layer.origin is Origin.VARIABLE)
            if layer.origin is Origin.STORY and key == "tokenizer" and is_path(value):
                raise BadInput(  # stories travel, and must not decide which files are read
                    f"A file that counts tokens is named in previously.toml or as {PREFIX}TOKENIZER, not by a story."
                )
            given[key] = value, layer.source(key)
    preset = given["preset"][0] if "preset" in given else DEFAULTS["preset"]
    weighed = {key: (value, "default") for key, value in DEFAULTS.items()}
    weighed |= {key: (value, f"preset {preset}") for key, value in PRESETS[preset].items()}
    weighed |= given
    if "fold_tokens" not in given and "fold_tokens" not in PRESETS[preset]:
        tokens = compute_fold_tokens(preset, weighed["window_tokens"][0])
        share = f"{FOLD_PERCENT[preset]} % of window_tokens"
        weighed["fold_tokens"] = tokens, "default" if tokens == DEFAULTS["fold_tokens"] else share
    return weighed


def _read(key: str, raw: Any, called: str, *, words: bool) -> Any:
    """A value as its setting has it, or `BadInput`."""
    if key not in DEFAULTS:
        raise refuse_key(called, find_close(key, DEFAULTS))
    kind = type(DEFAULTS[key])
    value = parse_words(kind, raw) if words else raw
    if fault := find_fault(key, kind, value):
        raise BadInput(f"{called} is {shorten_value(value)}; it must be {fault}.")
    return kind(value)
