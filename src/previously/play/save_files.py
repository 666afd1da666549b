"""Saves as a directory of YAML that a person can read and edit, and back.

`state.yaml`, `conversation.yaml`, `summaries.yaml` and `memory/NAME.yaml`, as games of this kind keep them. Read into
the slot it came from, only what a person changed is taken over: what characters know, beats, summaries. Read into a new
slot, all of it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from previously.core.cast import MOST_FACTS
from previously.core.errors import BadInput
from previously.core.messages import Draft
from previously.play.game import NARRATOR, Game
from previously.play.game_files import check_free, import_yaml
from previously.play.progress import GameState
from previously.play.session import GameSession
from previously.play.turn import BEGINS, make_draft
from previously.story.turns import RECORD

ROLES = {"player": "user", "narrator": "assistant", "character": "assistant"}
MOST_BYTES = 32 * 1024 * 1024
"""Of one file: a conversation of a hundred thousand turns."""


async def write_save(session: GameSession, folder: Path) -> list[str]:
    """Write a slot into a directory, which must be empty or not there; return the files."""
    check_free(folder)
    game, story, state = session.game, session.story, session.state
    count = (await story.branch_info()).messages
    told = await story.messages(0, -1) if count else []
    turn = 0
    conversation: list[dict[str, Any]] = []
    for item in told:
        message, begins = item.entry.message, item.entry.attributes.extra.get(BEGINS)
        turn = int(begins["turn"]) if isinstance(begins, Mapping) else turn
        stem = game.find_character(message.speaker or "")
        role = "player" if message.role == "user" else "character" if stem else "narrator"
        entry: dict[str, Any] = {"turn": turn, "role": role}
        entry |= {"character": message.speaker} if role == "character" else {}
        here = [name for name in message.witnesses or () if name != game.player]
        conversation.append({**entry, "content": message.text, "witnesses": here})
    recap, chapters = await story.recap(), await story.chapters()
    summaries = [
        {"chapter_id": ident, "title": chapter.title, "summary": chapter.recap.text if chapter.recap else ""}
        for ident, chapter in zip(state.closed, chapters, strict=False)
    ]
    first = told[recap.span.last] if recap else None
    files: dict[str, Any] = {
        "state.yaml": {
            "game": game.id,
            "player_name": game.player,
            "current_chapter": state.chapter,
            "turn": state.turn,
            "beats_hit": list(state.beats),
            "present": list(state.present),
            "chapter_history": list(state.closed),
            "rolling_summary": recap.text if recap else "",
            "last_summarized_turn": conversation[first.position]["turn"] if first else 0,
            "game_complete": state.complete,
        },
        "conversation.yaml": conversation,
        "summaries.yaml": summaries,
    }
    known = {item.name: item.knowledge for item in await story.cast()}
    for stem, person in game.characters.items():
        if person.name in known:
            knowledge = known[person.name]
            facts = [fact.text for fact in knowledge.facts]
            files[f"memory/{stem}.yaml"] = {"character": person.name, "summary": knowledge.summary, "key_facts": facts}
    for name, value in files.items():
        _write_yaml(folder / name, value)
    return sorted(files)


async def read_save(session: GameSession, folder: Path) -> list[str]:
    """Take over a directory of a save; return what was taken over, in words. A slot that has been played must have the
    same conversation: then what a person changed in its files is taken over and all else stays."""
    state = _expect(_read_yaml(folder / "state.yaml"), dict, "state.yaml", "fields")
    conversation = _expect(_read_yaml(folder / "conversation.yaml"), list, "conversation.yaml", "a list")
    drafts = [_make_message(session.game, number, entry) for number, entry in enumerate(conversation)]
    read = parse_save_state(session.game, state)
    memories = _read_memories(session.game, folder)
    summaries = _read_summaries(folder)
    done: list[str] = []
    count = (await session.story.branch_info()).messages
    stored = await session.story.messages(0, -1) if count else []
    same = [item.entry.message.text for item in stored] == [draft.message.text for draft in drafts]
    if not same:
        if session.state.turn:
            raise BadInput("This slot has another conversation: read the save into a new one with --slot.")
        await _take_conversation(session, drafts, read, summaries, state)
        done.append(f"{len(drafts)} messages of {read.turn} turns")
    elif read != replace(session.state, mood="", reason="", faults=(), repairs=0, chapter_turn=read.chapter_turn):
        await session.story.overrule_turn({**read.as_record(), "reason": "read from files"})
        session.state = read
        done.append("how the game stands")
    known = {item.name: item.knowledge for item in await session.story.cast()}
    for name, (summary, facts) in memories.items():
        before = known.get(name)
        if before is None or before.summary != summary or [fact.text for fact in before.facts] != facts:
            await session.story.write_knowledge(name, summary, facts)
            done.append(f"what {name} knows")
    chapters = await session.story.chapters()
    for number, text in enumerate(summaries if same else (), 1):
        if text and number <= len(chapters):
            told = chapters[number - 1].recap
            if told is None or told.text != text:
                await session.story.write(f"chapter:{number}", text)
                done.append(f"the summary of chapter {number}")
    return done


def parse_save_state(game: Game, fields: Mapping[str, Any]) -> GameState:
    """Return the state in the fields of a `state.yaml`; `BadInput` for what this game does not have."""
    chapter = str(fields.get("current_chapter", ""))
    if chapter not in game.chapters:
        known = ", ".join(game.chapters)
        raise BadInput(f"state.yaml, current_chapter: there is no chapter {chapter!r}; there are {known}.")
    beats = _expect(fields.get("beats_hit") or [], list, "state.yaml", "a list of beats_hit")
    for beat in beats:
        if beat not in game.chapters[chapter].beats:
            raise BadInput(f"state.yaml, beats_hit: the chapter {chapter} has no beat {str(beat)[:80]!r}.")
    turn = fields.get("turn", 0)
    if not isinstance(turn, int) or turn < 0:
        raise BadInput("state.yaml, turn: it must be a whole number from 0 on.")
    history = [str(one) for one in fields.get("chapter_history") or [] if str(one) in game.chapters]
    present = fields.get("present")
    stems = game.chapters[chapter].present if present is None else [str(one) for one in present]
    return GameState(
        turn,
        chapter,
        beats=tuple(str(beat) for beat in beats),
        present=tuple(stem for stem in stems if stem in game.characters),
        closed=tuple(history),
        complete=bool(fields.get("game_complete")),
    )


async def _take_conversation(
    session: GameSession, drafts: Sequence[Draft], state: GameState, summaries: Sequence[str], fields: Mapping[str, Any]
) -> None:
    """Put the messages of a save into a slot that has not been played. A save does not say where its chapters
    ended, but up to which turn its summaries tell it: there one chapter closes, and they are its text."""
    story = session.story
    if not drafts:
        raise BadInput("conversation.yaml holds no messages.")
    await story.replace_end(0, _add_records(drafts, state))
    session.state = state
    told = [*summaries, str(fields.get("rolling_summary") or "").strip()]
    text, through = "\n\n".join(filter(None, told)), fields.get("last_summarized_turn") or 0
    turns = [draft.attributes.extra.get(BEGINS, {}).get("turn", 0) for draft in drafts]
    later = next((at for at, turn in enumerate(turns) if turn > through), len(drafts))
    if text and later:
        titles = [session.game.chapters[ident].title for ident in state.closed]
        await story.close_chapter(", ".join(titles) or session.game.chapters[state.chapter].title, at=later - 1)
        await story.write("chapter:1", text)


def _add_records(drafts: Sequence[Draft], state: GameState) -> list[Draft]:
    """Return the messages with a record at the end of each turn. How the game stood after earlier turns, no save says:
    they are taken to have stood as at its end."""
    recorded: list[Draft] = []
    turn = 0
    for number, draft in enumerate(drafts):
        turn = draft.attributes.extra.get(BEGINS, {}).get("turn", turn)
        ends = number + 1 == len(drafts) or BEGINS in drafts[number + 1].attributes.extra
        record = {RECORD: replace(state, turn=turn).as_record()} if ends else {}
        extra = {**draft.attributes.extra, **record}
        recorded.append(replace(draft, attributes=replace(draft.attributes, extra=extra)))
    return recorded


def _make_message(game: Game, number: int, entry: Any) -> Draft:
    where = f"conversation.yaml, entry {number + 1}"
    fields = _expect(entry, dict, where, "fields")
    role, text = str(fields.get("role", "")), fields.get("content")
    if role not in ROLES:
        raise BadInput(f"{where}, role: {role!r} is none of player, narrator, character.")
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"{where}, content: it must be a text.")
    speaker = {"player": game.player, "narrator": NARRATOR}.get(role) or ""
    if role == "character":
        stem = game.find_character(str(fields.get("character", "")))
        if stem is None:
            raise BadInput(f"{where}, character: {fields.get('character')!r} is nobody of this game.")
        speaker = game.characters[stem].name
    named = fields.get("witnesses")
    heard = [stem for name in named or () if (stem := game.find_character(str(name)))]
    present = list(game.characters) if named is None else heard
    extra = {BEGINS: {"turn": int(fields.get("turn", 0) or 0), "after": 0}} if role == "player" else None
    return make_draft(game, ROLES[role], speaker, text, present, extra)


def _read_memories(game: Game, folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Return what each character knows by the files of a save, by name."""
    memories: dict[str, tuple[str, list[str]]] = {}
    for path in sorted((folder / "memory").glob("*.yaml")):
        where = f"memory/{path.name}"
        fields = _expect(_read_yaml(path), dict, where, "fields")
        stem = game.find_character(path.stem)
        if stem is None:
            raise BadInput(f"{where}: {path.stem!r} is nobody of this game.")
        facts = [str(fact) for fact in _expect(fields.get("key_facts") or [], list, where, "a list of key_facts")]
        if len(facts) > MOST_FACTS:
            raise BadInput(f"{where}, key_facts: a character keeps at most {MOST_FACTS}; these are {len(facts)}.")
        memories[game.characters[stem].name] = (" ".join(str(fields.get("summary") or "").split()), facts)
    return memories


def _read_summaries(folder: Path) -> list[str]:
    if not (folder / "summaries.yaml").is_file():
        return []
    listed = _expect(_read_yaml(folder / "summaries.yaml") or [], list, "summaries.yaml", "a list")
    return [str(_expect(one, dict, "summaries.yaml", "fields").get("summary") or "").strip() for one in listed]


def _read_yaml(path: Path) -> Any:
    yaml = import_yaml()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES // 2**20} MB.")
        return yaml.safe_load(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInput(f"{path} cannot be read: {reason}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise BadInput(f"{path}, line {mark.line + 1 if mark else 1}: it is no YAML.") from None


def _write_yaml(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = import_yaml().safe_dump(value, allow_unicode=True, sort_keys=False, width=100)
    path.write_text(text, encoding="utf-8")


def _expect(value: Any, kind: type[Any], where: str, what: str) -> Any:
    if not isinstance(value, kind):
        raise BadInput(f"{where} must be {what}.")
    return value
