"""A game: its world, its characters with their secrets, and its chapters with their beats.

Plain values, and the rules that a whole game must keep: every name that one file gives is there in another, chapters
lead on without going round, and what stands in each prompt leaves room for memory. A fault names file and field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from previously.core.people import NARRATORS
from previously.core.scripts import casefold
from previously.core.tokens import estimate_tokens

MOOD_WORDS = ("calm", "tense", "warm", "eerie", "sad", "angry", "hopeful")
"""The moods a scene can have, as many as a small model keeps apart: a player's screen may show one."""

NARRATOR = "Narrator"

MOST_WORDS_OF_A_PROMPT = 600
"""Tokens of world, chapter and cast in the narrator's prompt: of its 1,550, half is for the story."""

MOST_WORDS_OF_A_PERSON = 260
"""Tokens of one character in their own prompt: of 800, the rest is for what they know and the newest turns."""


@dataclass(frozen=True, slots=True)
class World:
    """The place of a game, how it is told, and what is always so."""

    setting: str
    tone: str = ""
    rules: tuple[str, ...] = ()
    """For the narrator alone."""


@dataclass(frozen=True, slots=True)
class Character:
    """Somebody the player meets."""

    stem: str
    """The name of the file, by which chapters and relationships name them."""
    name: str
    role: str
    personality: str
    secret: str = ""
    """Known to them and to the narrator; nobody else is told of it before it comes out."""
    relationships: Mapping[str, str] = field(default_factory=dict)
    """By the stems of others: what they are to this one, as this one sees it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of a chapter: so many beats are hit, and what is said here has happened."""

    beats: int = 0
    when: str = ""
    """Judged by the state agent; empty where beats alone decide."""


@dataclass(frozen=True, slots=True)
class GameChapter:
    """One chapter of a game: what is to happen, and when it is over."""

    id: str
    title: str
    summary: str
    beats: tuple[str, ...]
    completion: Completion
    characters: tuple[str, ...]
    """The stems of those who may appear."""
    present: tuple[str, ...] = ()
    """Those of them who are there when it opens."""
    opening: str = ""
    """Read out when it begins."""
    next: str = ""
    """The id of the chapter that follows; empty for the last."""


@dataclass(frozen=True, slots=True)
class Game:
    """A whole game."""

    id: str
    title: str
    description: str
    world: World
    characters: Mapping[str, Character]
    """By stem, in the order of the game."""
    chapters: Mapping[str, GameChapter]
    """By id, the first of the game first."""
    player: str = "Player"
    """The name of the player's own character."""
    player_role: str = ""

    @property
    def first(self) -> GameChapter:
        """The chapter that the game begins with."""
        return next(iter(self.chapters.values()))

    def list_names(self, stems: Sequence[str]) -> list[str]:
        """Return the names of characters by their stems."""
        return [self.characters[stem].name for stem in stems]

    def find_character(self, name: str) -> str | None:
        """Return who is meant by a name: the whole of it, their file's, or one of its words that is nobody else's."""
        wanted = casefold(name).strip(" .\"'*_")
        for stem, person in self.characters.items():
            if wanted in (casefold(person.name), casefold(stem)):
                return stem
        words = set(wanted.split())
        alike = [
            stem for stem, person in self.characters.items() if words and words <= set(casefold(person.name).split())
        ]
        return alike[0] if len(alike) == 1 else None


@dataclass(frozen=True, slots=True)
class GameFault:
    """A rule that a game breaks: in which file, and in which of its fields."""

    file: str
    field: str
    reason: str


def find_game_faults(game: Game) -> list[GameFault]:
    """Return every rule of a whole game that this one breaks."""
    faults = _find_name_faults(game)
    for chapter in game.chapters.values():
        file = f"chapters/{chapter.id}.yaml"
        faults += [
            GameFault(file, place, f"there is no character {stem!r}; there are {', '.join(game.characters)}")
            for place, stems in (("characters", chapter.characters), ("present", chapter.present))
            for stem in stems
            if stem not in game.characters
        ]
        faults += [
            GameFault(file, "present", f"{stem!r} is not among the characters of this chapter")
            for stem in chapter.present
            if stem in game.characters and stem not in chapter.characters
        ]
        if chapter.next and chapter.next not in game.chapters:
            known = ", ".join(game.chapters)
            faults.append(GameFault(file, "next", f"there is no chapter {chapter.next!r}; there are {known}"))
        if chapter.completion.beats > len(chapter.beats):
            many = f"{chapter.completion.beats} beats are asked for, and there are {len(chapter.beats)}"
            faults.append(GameFault(file, "completion", many))
        if not chapter.completion.beats and not chapter.completion.when:
            faults.append(GameFault(file, "completion", "say how many beats must be hit, or what must have happened"))
    return faults or _find_path_faults(game) or _find_size_faults(game)


def _find_name_faults(game: Game) -> list[GameFault]:
    faults: list[GameFault] = []
    names: dict[str, str] = {casefold(game.player): "the player"}
    for stem, person in game.characters.items():
        file, name = f"characters/{stem}.yaml", casefold(person.name)
        if name in NARRATORS:
            faults.append(GameFault(file, "name", f"{person.name!r} is a name for whoever tells the story"))
        if name in names:
            faults.append(GameFault(file, "name", f"{names[name]} has the same name"))
        names[name] = person.name
        faults += [
            GameFault(file, "relationships", f"there is no character {other!r}; there are {', '.join(game.characters)}")
            for other in person.relationships
            if other not in game.characters and other != "player"
        ]
    if casefold(game.player) in NARRATORS:
        faults.append(GameFault("game.yaml", "player", f"{game.player!r} is a name for whoever tells the story"))
    return faults


def _find_path_faults(game: Game) -> list[GameFault]:
    """Return whether chapters lead on from the first to a last one, each once."""
    passed: list[str] = []
    chapter: GameChapter | None = game.first
    while chapter is not None:
        if chapter.id in passed:
            file = f"chapters/{passed[-1]}.yaml"
            return [GameFault(file, "next", f"the story goes round: {chapter.id!r} has been before")]
        passed.append(chapter.id)
        chapter = game.chapters[chapter.next] if chapter.next else None
    return [
        GameFault(f"chapters/{ident}.yaml", "id", "no chapter leads here; the first one is that which game.yaml names")
        for ident in game.chapters
        if ident not in passed
    ]


def _find_size_faults(game: Game) -> list[GameFault]:
    faults: list[GameFault] = []
    for chapter in game.chapters.values():
        size = estimate_tokens(describe_world(game) + describe_chapter(chapter, ()) + describe_cast(game, chapter))
        if size > MOST_WORDS_OF_A_PROMPT:
            most = f"the narrator has room for {MOST_WORDS_OF_A_PROMPT}"
            reason = f"world, cast and this chapter take {size} tokens, and {most}: shorten them"
            faults.append(GameFault(f"chapters/{chapter.id}.yaml", "summary", reason))
    for stem, person in game.characters.items():
        size = estimate_tokens(describe_person(game, person))
        if size > MOST_WORDS_OF_A_PERSON:
            reason = f"it takes {size} tokens, and there is room for {MOST_WORDS_OF_A_PERSON}: shorten it"
            faults.append(GameFault(f"characters/{stem}.yaml", "personality", reason))
    return faults


def describe_world(game: Game) -> str:
    """Return the world as the narrator is told of it."""
    world = game.world
    tone = f"\nTone: {world.tone}" if world.tone else ""
    rules = "".join(f"\n- {rule}" for rule in world.rules)
    who = f"\nThe player is {game.player}{f', {game.player_role}' if game.player_role else ''}."
    return f"{world.setting}{tone}{rules}{who}"


def describe_chapter(chapter: GameChapter, hit: Sequence[str]) -> str:
    """Return a chapter as the narrator is told of it: its beats, and which of them have happened."""
    beats = "\n".join(f"[{'x' if beat in hit else ' '}] {beat}" for beat in chapter.beats)
    return f"{chapter.title}: {chapter.summary}\n{beats}"


def describe_cast(game: Game, chapter: GameChapter) -> str:
    """Return the characters of a chapter as the narrator alone is told of them, with what they keep to themselves."""
    return "\n".join(
        f"- {person.name}, {person.role}." + (f" Secret: {person.secret}" if person.secret else "")
        for person in (game.characters[stem] for stem in chapter.characters)
    )


def describe_person(game: Game, person: Character) -> str:
    """Return a character as they are told of themselves: nothing here is about what others keep to themselves."""
    known = {**{stem: other.name for stem, other in game.characters.items()}, "player": game.player}
    ties = "\n".join(f"- {known[stem]}: {what}" for stem, what in person.relationships.items())
    secret = f"\nSecret, known to nobody else: {person.secret}" if person.secret else ""
    return f"{person.role}. {person.personality}{secret}" + (f"\nPeople {person.name} knows:\n{ties}" if ties else "")
