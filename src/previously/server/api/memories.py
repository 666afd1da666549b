"""Routes that read memory: its texts, and its lists."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from previously.server.api.door import Opened
from previously.server.api.messages import OwnWords
from previously.story import json_shapes as shapes
from previously.story.json_shapes import text_json
from previously.story.memory_edits import hash_words
from previously.story.story import Story
from previously.view.memory import HEADINGS
from previously.view.view import MEMORY_SECTIONS, Section

router: APIRouter = APIRouter(prefix="/stories/{story:name}", tags=["memory"])


@router.get("/memory")
async def show_memory(story: Opened) -> dict[str, Any]:
    """Return all that is remembered of a story."""
    info, recap, backbone, brief = (
        await story.info(), await story.recap(), await story.backbone(), await story.brief()
    )  # fmt: skip
    lore = [one for one in await story.lore(everything=True) if not one.book and one.status != "removed"]
    threads = [one for one in await story.threads(everything=True) if one.status.value != "resolved"]
    return {
        "story": story.name,
        "branch": info.active.name,
        "messages": info.active.messages,
        "recap": recap.text if recap and not brief else None,
        "recap_span": shapes.span_json(recap.told) if recap else None,
        "chapters": [shapes.chapter_json(one) for one in await story.chapters()],
        "backbone": backbone.text if backbone else None,
        "backbone_span": shapes.span_json(backbone.span) if backbone else None,
        "pins": [shapes.pin_json(pin) for pin in await story.pins()],
        "stale": await _list_stale(story),
        "flagged": await story.flagged(),
        "episodes": [shapes.episode_json(one) for one in await story.episodes()],
        "scenes": [shapes.scene_json(number, one) for number, one in enumerate(await story.scenes(), 1)],
        "lore": [shapes.lore_json(one) for one in lore],
        "books": await story.attached_books(),
        "cast": [shapes.cast_json(one) for one in await story.cast() if not one.knowledge.is_empty],
        "threads": [shapes.thread_json(one) for one in threads],
        "state": [shapes.held_json(one) for one in await story.state()],
        "players": [
            {"name": one.name, "character": one.character, "since": one.since} for one in await story.players()
        ],
        "wishes": [shapes.wish_json(one) for one in await story.wishes()],
        "brief": brief.text if brief else None,
        "continues": shapes.link_json(link) if (link := await story.continues()) else None,
    }


@router.get("/outdated")
async def list_outdated(story: Opened) -> dict[str, Any]:
    """List the texts of which messages have changed since: those of a model, and those by hand."""
    return {"story": story.name, "stale": await _list_stale(story), "flagged": await story.flagged()}


async def _list_stale(story: Story) -> list[str]:
    texts = {"recap": await story.recap(), "backbone": await story.backbone()}
    return [name for name, text in texts.items() if text and text.stale]


@router.get("/earlier")
async def show_earlier(story: Opened) -> dict[str, Any]:
    """Return the story that this one continues, and what a model is told of it."""
    link = await story.continues()
    if link is None:
        return {"story": story.name, "continues": None, "text": None}
    others = [section.value for section in MEMORY_SECTIONS - {Section.EARLIER}]
    seen = await story.view(exclude=others, aside=True)
    told = [message.text.partition(HEADINGS[Section.EARLIER])[2].strip() for message in seen.messages[:1]]
    return {"story": story.name, "continues": shapes.link_json(link), "text": "".join(told) or None}


@router.get("/recap")
async def show_recap(story: Opened, response: Response) -> dict[str, Any]:
    """Return the recap of the open chapter."""
    return _answer_text(story, response, text_json(await story.recap()))


@router.get("/backbone")
async def show_backbone(story: Opened, response: Response) -> dict[str, Any]:
    """Return the backbone: the story so far, from its closed chapters."""
    return _answer_text(story, response, text_json(await story.backbone()))


@router.get("/brief")
async def show_brief(story: Opened, response: Response) -> dict[str, Any]:
    """Return the brief of an agent's conversation."""
    return _answer_text(story, response, text_json(await story.brief()))


def _answer_text(story: Story, response: Response, text: dict[str, Any]) -> dict[str, Any]:
    response.headers["ETag"] = f'"{text["etag"]}"'
    return {"story": story.name, **text}


def _tag(thing: str, shape: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the shape of something with its address, and the tag that a change of its text is based on."""
    return {**shape, "thing": thing, "etag": shapes.make_etag(text)}


@router.get("/chapters")
async def list_chapters(story: Opened) -> dict[str, Any]:
    """List the closed chapters."""
    rows = [_tag(f"chapter:{one.number}", shapes.chapter_json(one), one.text or "") for one in await story.chapters()]
    return {"story": story.name, "chapters": rows}


@router.get("/episodes")
async def list_episodes(story: Opened) -> dict[str, Any]:
    """List the episodes, the oldest first."""
    rows = [
        _tag(f"episode:{number}", shapes.episode_json(one), one.text)
        for number, one in enumerate(await story.episodes(), 1)
    ]
    return {"story": story.name, "episodes": rows}


@router.get("/scenes")
async def list_scenes(story: Opened) -> dict[str, Any]:
    """List the scenes that were noted."""
    rows = [
        {"thing": f"scene:{number}", **shapes.scene_json(number, one)}
        for number, one in enumerate(await story.scenes(), 1)
    ]
    return {"story": story.name, "scenes": rows}


@router.get("/lore")
async def list_lore(story: Opened, all: bool = False) -> dict[str, Any]:
    """List the entries of lore; with `all`, those suggested or removed too."""
    rows = [
        _tag(f"lore:{one.name}", shapes.lore_json(one), one.content)
        for one in await story.lore(everything=True)
        if all or one.status in ("live", "retired")
    ]
    return {"story": story.name, "lore": rows, "books": await story.attached_books()}


@router.get("/cast")
async def list_cast(story: Opened, all: bool = False) -> dict[str, Any]:
    """List the characters and the key facts that each knows; with `all`, every fact that is kept."""
    rows = [
        {"thing": f"cast:{one.name}", **shapes.cast_json(one)}
        | ({"all_facts": [fact.as_json() for fact in one.facts]} if all else {})
        for one in await story.cast()
    ]
    return {"story": story.name, "cast": rows}


@router.get("/threads")
async def list_threads(story: Opened, all: bool = False) -> dict[str, Any]:
    """List the threads; with `all`, the settled ones too."""
    rows = [
        _tag(f"thread:{one.number}", shapes.thread_json(one), one.thread.text)
        for one in await story.threads(everything=True)
        if all or one.status.value != "resolved"
    ]
    return {"story": story.name, "threads": rows}


@router.get("/state")
async def list_state(story: Opened) -> dict[str, Any]:
    """List how things stand now."""
    rows = [
        _tag(f"state:{number}", {**shapes.held_json(one), "about": one.thing or None}, one.text)
        for number, one in enumerate(await story.state(), 1)
    ]
    return {"story": story.name, "state": rows}


@router.get("/wishes")
async def list_wishes(story: Opened) -> dict[str, Any]:
    """List what the players asked for about the telling."""
    rows = [
        _tag(f"wish:{number}", shapes.wish_json(one), one.text) for number, one in enumerate(await story.wishes(), 1)
    ]
    return {"story": story.name, "wishes": rows}


@router.get("/pins")
async def list_pins(story: Opened) -> dict[str, Any]:
    """List the words that every view shows."""
    rows = [_tag(f"pin:{pin.id}", shapes.pin_json(pin), pin.text) for pin in await story.pins()]
    return {"story": story.name, "pins": rows}


@router.get("/analyses")
async def list_analyses(story: Opened) -> dict[str, Any]:
    """List the librarian's analyses, one for each fragment."""
    dismissed = await story.dismissed()
    rows = [
        {
            **shapes.analysis_json(position, one),
            "dismissed": [text for text in one.contradictions if (position, hash_words(text)) in dismissed],
        }
        for position, one in await story.analyses()
    ]
    return {"story": story.name, "analyses": rows}


@router.post("/analyses/{position}/dismiss")
async def dismiss_contradiction(story: Opened, position: int, body: OwnWords) -> dict[str, Any]:
    """Say that a contradiction which the librarian saw at a message is none."""
    await story.dismiss(position, body.text)
    return {"story": story.name, "dismissed": body.text, "done": "This is no contradiction any more."}


@router.get("/gaps")
async def list_gaps(story: Opened) -> dict[str, Any]:
    """List where the librarian's summary cannot go on, and why."""
    rows = [{"position": gap.position, "reason": gap.reason} for gap in await story.gaps()]
    return {"story": story.name, "gaps": rows}


@router.get("/map")
async def show_map(story: Opened) -> dict[str, Any]:
    """Return the memory map: which memory stands for which messages, and what stands for none."""
    return {"story": story.name, **shapes.map_json(await story.memory_map())}
