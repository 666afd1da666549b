"""A minute of the soak; and that its audit finds what is missing, doubled or misplaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import Memory
from tests.soak.audit import audit
from tests.soak.run import SoakPlan, soak
from tests.soak.tellers import Tale


@pytest.mark.slow(reason="two servers are told stories for a minute, and killed")
async def test_nothing_acknowledged_is_lost_in_a_minute(tmp_path: Path) -> None:
    report = await soak(SoakPlan(minutes=1.0, stories=20, rate=4.0, every_s=8.0, seed=0), tmp_path)
    assert report["ok"], report
    assert report["acknowledged_turns"] and report["disturbances"]["kills"], report


def tell(number: int, turns: int) -> Tale:
    tale = Tale(number, named=True)
    for turn in range(1, turns + 1):
        tale.history += [("user", f"S{number}T{turn} hello"), ("assistant", f"S{number}R{turn}a1 hello")]
    return tale


async def store(db: Path, **stories: list[tuple[str, str]]) -> None:
    async with await Memory.open(db) as memory:
        for name, path in stories.items():
            story = await memory.story(name)
            for role, text in path:
                await story.add(role, text)


async def test_the_audit_is_content_with_what_is_all_there(tmp_path: Path) -> None:
    tale, other = tell(1, 3), tell(2, 2)
    # What was said and never acknowledged may be there too.
    await store(tmp_path / "s.db", one=[*tale.history, ("user", "S1T4 hello")], two=other.history)
    found = await audit(tmp_path / "s.db", [tale, other])
    assert found.sound, found
    assert found.messages == 10


async def test_the_audit_finds_what_is_wrong(tmp_path: Path) -> None:
    lost, doubled, apart, mixed = tell(1, 3), tell(2, 2), tell(3, 2), tell(4, 2)
    await store(
        tmp_path / "s.db",
        lost=lost.history[:-1],
        doubled=[*doubled.history, doubled.history[-1]],
        apart=apart.history[:3],
        apart_too=apart.history[3:],
        mixed=[*mixed.history[2:], *mixed.history[:2]],
    )
    found = await audit(tmp_path / "s.db", [lost, doubled, apart, mixed, tell(5, 1)])
    assert found.lost == [
        "assistant 'S1R3a1 hello' (its last turn)",
        "user 'S5T1 hello' (its last turn)",
        "assistant 'S5R1a1 hello' (its last turn)",
    ]
    assert found.doubled == ["assistant 'S2R2a1 hello' (its last turn)"]
    assert found.elsewhere == ["assistant 'S3R2a1 hello' (its last turn)"]
    assert len(found.split) == 1 and found.disordered == ["story 4"]


async def test_what_the_server_said_is_unsaved_is_not_looked_for(tmp_path: Path) -> None:
    tale = tell(1, 2)
    tale.unsaved = {text for _, text in tale.history[2:]}
    await store(tmp_path / "s.db", one=tale.history[:2])
    assert (await audit(tmp_path / "s.db", [tale])).sound
