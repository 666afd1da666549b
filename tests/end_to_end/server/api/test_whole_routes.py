"""Routes of what is whole: directories applied, shared memories, entries of books, places, keys, answers kept."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from previously.runtime.request_answers import RequestAnswers
from tests.end_to_end.server.api.conftest import Api, open_api

S = "/stories/ferry"
PACKED = {"content-type": "application/octet-stream"}


async def send_file(api: Api, path: str, content: bytes, status: int = 200) -> Any:
    response = await api.client.post(path, content=content, headers=PACKED)
    assert response.status_code == status, response.text
    return response.json()


def pack(files: dict[str, bytes], folder: str = "") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(folder + path, content)
    return packed.getvalue()


def read_all(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


async def download_directory(api: Api) -> dict[str, bytes]:
    response = await api.client.get(f"{S}/export", params={"to": "directory"})
    assert response.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    return {name: archive.read(name) for name in archive.namelist()}


async def test_a_directory_is_edited_looked_at_and_applied(api: Api) -> None:
    await api.tell()
    await api.send("POST", f"{S}/lore", {"name": "Grim", "text": "A barkeeper.", "type": "character"}, 201)
    files = await download_directory(api)
    files["lore/grim.yaml"] = files["lore/grim.yaml"].replace(b"barkeeper", b"ferryman")
    seen = await send_file(api, f"{S}/apply?preview=true", pack(files, "ferry/"))
    assert [(edit["item"], edit["files"]) for edit in seen["applied"]] == [("lore:grim/content", "A ferryman.")]
    assert (await api.get(f"{S}/lore"))["lore"][0]["content"] == "A barkeeper.", "nothing is done in a preview"
    await api.send("PATCH", f"{S}/lore/Grim", {"text": "A smith."})
    left = await send_file(api, f"{S}/apply", pack(files))
    assert [edit["item"] for edit in left["conflicts"]] == ["lore:grim/content"]
    done = await send_file(api, f"{S}/apply?keep_files=all", pack(files))
    assert (await api.get(f"{S}/lore"))["lore"][0]["content"] == "A ferryman."
    assert ".previously/exported.json" in done["files"] and done["gone"] == []
    after = files | {path: text.encode() for path, text in done["files"].items()}
    assert (await send_file(api, f"{S}/apply", pack(after)))["applied"] == [], "what came back is what the story says"


async def test_what_is_no_directory_is_a_sentence(api: Api) -> None:
    await api.tell()
    for content in (b"", b"no zip", pack({"story.md": b"x"}), pack({"a/.previously/exported.json": b"{"})):
        problem = await send_file(api, f"{S}/apply", content, 400)
        assert problem["code"] == "bad_input" and problem["detail"]


async def test_a_memory_is_shared(api: Api) -> None:
    await api.tell()
    begun = await api.send("POST", "/shared", {"name": "odalys", "kind": "character", "of": "Odalys"}, 201)
    assert (begun["of"], begun["facts"]) == ("Odalys", [])
    await api.send("POST", "/shared/odalys/facts", {"text": "She fears water."}, 201)
    await api.send("PUT", "/shared/odalys/facts/1", {"text": "She fears deep water."})
    await api.send("PUT", f"{S}/books/odalys")
    shown = await api.get("/shared/odalys")
    assert ([fact["text"] for fact in shown["facts"]], shown["stories"]) == (["She fears deep water."], ["ferry"])
    assert (await api.send("PUT", "/shared/odalys/rule", {"learns": True}))["learns"]
    assert (await api.send("DELETE", "/shared/odalys/facts/1"))["facts"] == []
    assert len((await api.send("POST", "/shared/odalys/undo"))["facts"]) == 1
    assert "Nothing is noted" in (await api.send("POST", "/shared/odalys/keep", {"story": "ferry"}, 400))["detail"]
    refused = await api.send("DELETE", "/shared/odalys", status=428)
    await api.send("DELETE", f"/shared/odalys?confirm={refused['confirm']}")
    assert await api.get("/shared") == {"shared": []}


async def test_one_entry_of_a_book_is_edited(api: Api) -> None:
    given = {"entries": {"0": {"uid": 0, "key": ["Grim"], "comment": "Grim", "content": "A smith.", "order": 7}}}
    await api.send("PUT", "/books/lethen", given)
    done = await api.send("PATCH", "/books/lethen/entries/Grim", {"text": "A ferryman.", "set": {"constant": True}})
    assert done["fields"] == ["content", "constant"]
    file = json.loads((await api.client.get("/books/lethen/export")).content)
    entry = file["entries"]["0"]
    assert (entry["content"], entry["constant"], entry["order"]) == ("A ferryman.", True, 7)
    await api.send("PATCH", "/books/lethen/entries/Grim", {}, 400)
    await api.send("PATCH", "/books/lethen/entries/Nobody", {"text": "x"}, 400)


async def test_stories_move_and_come_back(tmp_path: Path) -> None:
    async with open_api(tmp_path / "here.db") as api:
        await api.tell()
        await api.send("POST", "/move", {"to": "there.db"}, 400)
        moved = await api.send("POST", "/move", {"to": str(tmp_path / "there.db")})
        assert [(one["story"], one["messages"]) for one in moved["stories"]] == [("ferry", 4)]
        made = await api.send("POST", "/backups", {}, 201)
        back = await api.send("POST", "/backups/restore", {"path": made["path"], "stories": ["ferry"], "name": "again"})
        assert [one["story"] for one in back["stories"]] == ["again"]
        await api.send("POST", "/backups/restore", {"path": str(tmp_path / "there.db")}, 400)
    async with open_api(tmp_path / "there.db") as there:
        assert [one["story"] for one in (await there.get("/stories"))["stories"]] == ["ferry"]


async def test_a_scene_memory_is_about_messages_of_a_story(api: Api) -> None:
    await api.tell()
    scene = json.dumps({"summary": "Odalys hid the key, and Wren saw it.", "lorebooks": []}).encode()
    looked = await send_file(api, "/imports?name=scene.json&story=ferry&first=0&last=3", scene, 201)
    await api.send("POST", f"/imports/{looked['id']}")
    memory = await api.get(f"{S}/memory")
    assert "Wren saw it" in json.dumps(memory)
    await send_file(api, "/imports?name=scene.json&story=ferry&first=0", scene, 400)


async def test_nobody_learns_which_names_of_keys_are_taken(api: Api) -> None:
    await api.memory.add_key("phone", owner="odalys")
    key, _ = await api.memory.add_key("wren", owner="wren")
    api.client.headers["Authorization"] = f"Bearer {key}"
    taken = await api.send("POST", "/keys", {"name": "phone"}, 201)
    free = await api.send("POST", "/keys", {"name": "tablet"}, 201)
    assert (taken["name"], free["name"]) == ("wren/phone", "wren/tablet")
    await api.send("POST", "/keys", {"name": "phone"}, 400)
    await api.send("DELETE", "/keys/wren%2Fphone")


async def test_a_row_of_the_state_has_its_name_and_what_it_is_about(api: Api) -> None:
    await api.tell()
    await api.send("POST", f"{S}/state", {"text": "Key / holder: Wren"}, 201)
    (row,) = (await api.get(f"{S}/state"))["state"]
    assert row["thing"] == "state:1"
    assert row["about"] in ("Key", None) and "Wren" in row["text"]
    assert (await api.get(f"{S}/things/{row['thing']}"))["etag"] == row["etag"]


async def test_a_change_is_made_once_also_after_a_restart(tmp_path: Path) -> None:
    place, key = tmp_path / "stories.db", {"Idempotency-Key": "k-1"}
    async with open_api(place) as api:
        await api.tell()
        first = await api.send("POST", f"{S}/threads", {"text": "Who has the key?"}, 201, headers=key)
    async with open_api(place) as api:
        assert await api.send("POST", f"{S}/threads", {"text": "Who has the key?"}, 201, headers=key) == first
        assert len((await api.get(f"{S}/threads"))["threads"]) == 1
        await api.send("POST", f"{S}/threads", {"text": "Another."}, 409, headers=key)
        planned = await api.get(f"{S}/forget")
        await api.send("POST", f"{S}/forget", {"confirm": planned["confirm"]}, headers={"Idempotency-Key": "k-2"})
    assert b"Who has the key?" not in read_all(tmp_path)


async def test_a_message_put_in_and_a_swipe_chosen_are_so_once_though_no_answer_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forget_answer(*_: object) -> None:
        """The server dies behind the change and before its answer is kept."""

    monkeypatch.setattr(RequestAnswers, "keep", forget_answer)
    put = "POST", f"{S}/messages/1/insert", {"role": "user", "text": "Where is she?"}
    other = "POST", f"{S}/messages/4/swipes", {"text": "The ferry never left."}
    chosen: tuple[str, str, dict[str, str]] = "POST", f"{S}/messages/4/swipes/0/choose", {}
    place = tmp_path / "stories.db"

    async def list_texts(api: Api) -> list[str]:
        return [one["text"] for one in (await api.get(f"{S}/messages"))["messages"]]

    async with open_api(place) as api:
        await api.tell()
        for at, (request, status) in enumerate(((put, 201), (other, 201), (chosen, 200))):
            await api.send(*request, status, headers={"Idempotency-Key": f"k-{at}"})
        await api.send("POST", f"{S}/messages/4/swipes", {"text": "It sank."}, 201)
        before, swipes = await list_texts(api), len((await api.get(f"{S}/messages/4/swipes"))["swipes"])
    assert before[1:2] == ["Where is she?"] and before[4:] == ["It sank."] and swipes == 3
    async with open_api(place) as api:
        for at, (request, status) in enumerate(((put, 201), (other, 201), (chosen, 200))):
            await api.send(*request, status, headers={"Idempotency-Key": f"k-{at}"})
        assert await list_texts(api) == before
        assert len((await api.get(f"{S}/messages/4/swipes"))["swipes"]) == swipes


async def test_only_who_runs_the_server_learns_where_backups_lie(tmp_path: Path) -> None:
    async with open_api(tmp_path / "stories.db") as api:
        key, _ = await api.memory.add_key("wren", owner="wren")
        mine, _ = await api.memory.add_key("me")
        theirs = api.memory.sharing("wren")
        await (await theirs.story("boat")).add("user", "Ahoy.")
        await theirs.backup(tmp_path / "of-wren.db")
        await api.tell()
        api.client.headers["Authorization"] = f"Bearer {mine}"
        made = await api.send("POST", "/backups", {}, 201)
        assert (await api.get(f"{S}/forget"))["backups"] == [made["path"]]
        api.client.headers["Authorization"] = f"Bearer {key}"
        planned = await api.get("/stories/boat/forget")
        assert planned["backups"] == ["backup 1"]
        done = await api.send("POST", "/stories/boat/forget", {"confirm": planned["confirm"]})
        assert done["backups"] == ["backup 1"]
        assert str(tmp_path) not in json.dumps([planned, done])
