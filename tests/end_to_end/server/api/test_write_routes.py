"""The routes that change: messages, branches, things, lists, settings, books, files."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from previously import Settings
from tests.end_to_end.server.api.conftest import LINES, Api, open_api

S = "/stories/ferry"


async def test_a_story_is_begun_renamed_and_forgotten_only_when_confirmed(api: Api) -> None:
    made = await api.send("POST", "/stories", {"story": "ferry", "settings": ["tail_messages=4"]}, 201)
    assert (made["story"], made["messages"]) == ("ferry", 0)
    assert (await api.send("PATCH", S, {"story": "boat"}))["was"] == "ferry"
    await api.send("POST", "/stories/boat/forget", {"confirm": "yes"}, 428)
    assert (await api.send("POST", "/stories/boat/forget", {}, 428))["code"] == "confirm"
    plan = await api.get("/stories/boat/forget")
    await (await api.memory.story("boat")).add("user", "Wait!")
    await api.send("POST", "/stories/boat/forget", {"confirm": plan["confirm"]}, 428)  # it was another story then
    plan = await api.get("/stories/boat/forget")
    done = await api.send("POST", "/stories/boat/forget", {"confirm": plan["confirm"]})
    assert done["messages"] == 1
    await api.send("POST", "/stories/boat/undo", {}, 404)


async def test_messages_are_added_edited_hidden_deleted_and_undone(api: Api) -> None:
    await api.tell()
    head = (await api.get(S))["head"]
    added = await api.send(
        "POST", f"{S}/messages", {"role": "user", "text": "Rain."}, 201, headers={"If-Match": f'"{head}"'}
    )
    assert (added["message"]["position"], added["done"]) == (4, "Added message 4 to ferry.")
    stale = await api.send(
        "POST", f"{S}/messages", {"role": "user", "text": "Snow."}, 412, headers={"If-Match": str(head)}
    )
    assert (stale["code"], stale["yours"]) == ("changed", "Snow.")
    assert stale["current"] == {"branch": "main", "head": added["head"], "messages": 5, "etag": str(added["head"])}
    edited = await api.send("PUT", f"{S}/messages/-1", {"text": "Hail.", "speaker": "Odalys"})
    assert (edited["message"]["text"], edited["message"]["speaker"]) == ("Hail.", "Odalys")
    assert (await api.send("POST", f"{S}/messages/4/hide"))["done"] == "Hid message 4 of ferry."
    assert (await api.get(f"{S}/messages/4"))["hidden"] is True
    await api.send("POST", f"{S}/messages/4/unhide")
    await api.send("POST", f"{S}/messages/0/insert", {"role": "user", "text": "Before."}, 201)
    assert (await api.get(f"{S}/messages/0"))["text"] == "Before."
    assert (await api.send("DELETE", f"{S}/messages/0"))["messages"] == 5
    assert (await api.send("POST", f"{S}/undo"))["done"].startswith("Undone: ")
    assert (await api.get(f"{S}/messages/0"))["text"] == "Before."


async def test_of_two_who_edit_one_message_the_second_sees_both_texts(api: Api) -> None:
    await api.tell()
    etag = (await api.client.get(f"{S}/messages/1")).headers["etag"]
    await api.send("PUT", f"{S}/messages/1", {"text": "Mine."}, headers={"If-Match": etag})
    refused = await api.send("PUT", f"{S}/messages/1", {"text": "Yours."}, 412, headers={"If-Match": etag})
    assert (refused["current"]["text"], refused["yours"], refused["code"]) == ("Mine.", "Yours.", "changed")
    again = await api.send("PUT", f"{S}/messages/1", {"text": "Mine."}, headers={"If-Match": etag})
    assert again["message"]["text"] == "Mine.", "sent twice is saved once"
    assert len((await api.get(f"{S}/messages/1/swipes"))["swipes"]) == 2
    kept = await api.send(
        "PUT", f"{S}/messages/1", {"text": "Yours."}, headers={"If-Match": refused["current"]["etag"]}
    )
    assert kept["message"]["text"] == "Yours."


async def test_a_change_reaches_the_message_that_is_meant_or_none(api: Api) -> None:
    await api.tell(lines=["Yes.", "Yes.", "No."])
    first, second, _ = (await api.get(f"{S}/messages"))["messages"]
    edit = f"{S}/messages/0?id={first['id']}"
    changed = (await api.send("PUT", edit, {"text": "Aye."}, headers={"If-Match": first["etag"]}))["message"]
    assert changed["replaces"] == first["id"]
    await api.send("PUT", edit, {"text": "Aye."}, headers={"If-Match": first["etag"]})  # sent twice
    await api.send("PUT", edit, {"text": "Nay."}, 412)
    await api.send("DELETE", f"{S}/messages/0?id={changed['id']}")
    refused = await api.send("PUT", f"{S}/messages/1?id={second['id']}", {"text": "Nay."}, 412)
    assert (refused["code"], refused["current"]["text"], refused["yours"]) == ("changed", "No.", "Nay.")
    for method, address in (("DELETE", "1"), ("POST", "1/hide"), ("POST", "1/unhide"), ("DELETE", "2")):
        await api.send(method, f"{S}/messages/{address}?id={second['id']}", None, 412)
    await api.send("POST", f"{S}/messages/0/hide?id={second['id']}")
    shown = (await api.get(f"{S}/messages"))["messages"]
    assert [(one["text"], one["hidden"]) for one in shown] == [("Yes.", True), ("No.", False)]


async def test_what_is_sent_at_once_with_one_key_is_done_once(tmp_path: Path) -> None:
    async with open_api(tmp_path / "stories.db") as api:
        await api.tell()
        body = {"role": "user", "text": "Once."}
        sent = (
            api.send("POST", f"{S}/messages/1/insert", body, 201, headers={"Idempotency-Key": "k2"}) for _ in range(4)
        )
        answers = await asyncio.gather(*sent)
        assert all(answer == answers[0] for answer in answers)
        assert (await api.get(S))["messages"] == len(LINES) + 1


async def test_what_is_sent_twice_with_one_key_is_done_once(api: Api) -> None:
    await api.tell()
    key = {"Idempotency-Key": "k1"}
    body = {"role": "user", "text": "Once."}
    both = await asyncio.gather(*(api.send("POST", f"{S}/messages", body, 201, headers=key) for _ in range(3)))
    assert both[0] == both[1] == both[2]
    assert (await api.get(S))["messages"] == len(LINES) + 1
    reused = await api.send("POST", f"{S}/messages", {"role": "user", "text": "Other."}, 409, headers=key)
    assert reused["code"] == "key_reused"
    for _ in range(2):
        await api.send("POST", f"{S}/threads", {"text": "Who has the key?"}, 201, headers={"Idempotency-Key": "k2"})
    assert len((await api.get(f"{S}/threads"))["threads"]) == 1


async def test_swipes_are_added_and_chosen(api: Api) -> None:
    await api.tell()
    added = await api.send("POST", f"{S}/messages/3/swipes", {"text": "The ferry sank."}, 201)
    assert (added["message"]["swipe"], added["message"]["swipes"]) == (1, 2)
    chosen = await api.send("POST", f"{S}/messages/-1/swipes/0/choose")
    assert chosen["message"]["text"] == LINES[3]
    listed = await api.get(f"{S}/messages/3/swipes")
    assert (listed["chosen"], [swipe["text"] for swipe in listed["swipes"]]) == (0, [LINES[3], "The ferry sank."])
    await api.send("POST", f"{S}/messages/1/swipes", {"text": "No."}, 400)


async def test_branches_are_made_renamed_and_switched_to(api: Api) -> None:
    await api.tell()
    made = await api.send("POST", f"{S}/branches", {"branch": "what/if", "at": 1}, 201)
    assert (made["messages"], made["active"]) == (2, "main")
    await api.send("PATCH", f"{S}/branches/what%2Fif", {"branch": "other"})
    assert (await api.send("POST", f"{S}/branches/other/switch"))["messages"] == 2
    assert [one["active"] for one in (await api.get(f"{S}/branches"))["branches"]] == [False, True]
    await api.send("POST", f"{S}/branches/nowhere/switch", {}, 404)


async def fold(api: Api) -> dict[str, Any]:
    """Fold the story, and return how the run ended."""
    await api.send("POST", f"{S}/fold", {}, 202)
    response = await api.client.get(f"{S}/fold/events")
    last = response.text.strip().split("\n\n")[-1]
    assert last.startswith("event: end\n")
    ended: dict[str, Any] = json.loads(last.partition("data: ")[2])
    return ended


async def tell_long(api: Api) -> None:
    await api.tell(lines=[f"Odalys carried lantern number {number} to the quay." for number in range(12)])
    await api.send("PATCH", f"{S}/settings", {"set": ["tail_messages=2", "fold_messages=4"]})


async def test_a_fold_is_planned_run_and_followed(api: Api) -> None:
    await tell_long(api)
    assert (await api.get(f"{S}/fold"))["state"] == "none"
    plan = await api.get(f"{S}/fold/plan")
    ended = await fold(api)
    assert (ended["state"], len(ended["report"]["folds"])) == ("done", len(plan["folds"]))
    assert (await api.get(f"{S}/recap"))["text"]
    assert (await api.get(f"{S}/health"))["ok"] is True
    assert (await api.send("DELETE", f"{S}/fold"))["state"] == "done"


async def test_a_text_is_edited_locked_compared_traced_and_restored(api: Api) -> None:
    await tell_long(api)
    await fold(api)
    response = await api.client.get(f"{S}/things/recap")
    etag, old = response.headers["etag"], response.json()["words"]
    edited = await api.send("PUT", f"{S}/things/recap", {"text": "Odalys drowned."}, headers={"If-Match": etag})
    assert edited["done"] == "Your words stand for recap now; memory goes on behind them."
    refused = await api.send("PUT", f"{S}/things/recap", {"text": "She swam."}, 412, headers={"If-Match": etag})
    assert refused["current"]["text"] == "Odalys drowned."
    assert (await api.get(f"{S}/recap"))["text"] == "Odalys drowned."
    diff = await api.get(f"{S}/diff")
    assert {run["kind"] for run in diff["changes"]} >= {"added"}
    versions = (await api.get(f"{S}/things/recap/versions"))["versions"]
    assert versions[0]["text"] == "Odalys drowned."
    assert (await api.get(f"{S}/things/recap/blame"))["in_force"] is True
    assert (await api.get(f"{S}/versions", limit=1))["next"]
    await api.send("POST", f"{S}/undo")
    assert (await api.get(f"{S}/recap"))["text"] == old
    assert (await api.send("POST", f"{S}/things/recap/lock"))["locked"] == "recap"
    assert "folded again" in (await api.send("POST", f"{S}/things/recap/unlock"))["done"]
    pinned = await api.send("POST", f"{S}/things/message:1/pin", {}, 201)
    await api.send("DELETE", f"{S}/things/pin:{pinned['pin']}")
    assert (await api.get(f"{S}/messages/0/told-by"))["told_by"]
    assert (await api.get(f"{S}/blame", sentence="lantern number 1"))["found"]


async def test_lists_of_memory_are_written_by_hand(api: Api) -> None:
    await api.tell()
    await api.send("POST", f"{S}/lore", {"name": "Key/brass", "text": "Opens the lamp room.", "keywords": ["key"]}, 201)
    await api.send("POST", f"{S}/lore", {"name": "key/brass", "text": "Again."}, 400)
    entry = (await api.get(f"{S}/lore"))["lore"][0]
    stale = await api.send("PATCH", f"{S}/lore/Key%2Fbrass", {"text": "No."}, 412, headers={"If-Match": "x"})
    assert stale["current"]["etag"] == entry["etag"]
    await api.send("PATCH", f"{S}/lore/Key%2Fbrass", {"text": "Opens all."}, headers={"If-Match": entry["etag"]})
    tried = await api.send("POST", f"{S}/lore/test", {"text": "Where is the key?"})
    assert [row["fired"] for row in tried["entries"]] == [True]
    tried = await api.send("POST", f"{S}/lore/test", {"text": "Where is the oar?"})
    assert [row["fired"] for row in tried["entries"]] == [False]
    await api.send("POST", f"{S}/threads", {"text": "Odalys owes Wren a boat.", "due": "Friday"}, 201)
    assert (await api.send("PATCH", f"{S}/threads/1", {"owner": "Odalys"}))["threads"][0]["owner"] == "Odalys"
    assert (await api.send("POST", f"{S}/threads/1/resolve"))["threads"] == []
    await api.send("POST", f"{S}/threads/1/reopen")
    await api.send("POST", f"{S}/state", {"text": "The lamp is out."}, 201)
    await api.send("PUT", f"{S}/things/state:1", {"text": "The lamp burns."})
    assert (await api.get(f"{S}/state"))["state"][0]["text"] == "The lamp burns."
    await api.send("POST", f"{S}/chapters", {"title": "The key", "at": 1}, 201)
    await api.send("PATCH", f"{S}/chapters/1", {"title": "The brass key"})
    assert (await api.get(f"{S}/things/chapter:1"))["title"] == "The brass key"
    await api.send("POST", f"{S}/pins", {"text": "Never forget the key."}, 201)
    memory = await api.get(f"{S}/memory")
    assert memory["pins"][0]["text"] == "Never forget the key."


async def test_presence_is_shown_and_corrected(api: Api) -> None:
    await api.tell()
    done = await api.send("PUT", f"{S}/presence", {"first": 1, "last": 2, "names": ["Odalys"]})
    assert done["done"].startswith("Set for")
    assert any(row["names"] == ["Odalys"] for row in done["stretches"])
    await api.send("DELETE", f"{S}/presence/1")
    shown = await api.get(f"{S}/presence")
    newest = shown["stretches"][-1]["names"]
    assert newest is None or shown["present"] == sorted(newest)
    gone = await api.send("POST", f"{S}/presence/leave", {"name": "Wren"})
    assert gone["absent"] == ["Wren"] and "Wren" not in gone["present"]
    assert (await api.send("POST", f"{S}/presence/enter", {"name": "Wren"}))["absent"] == []


async def test_settings_say_where_they_come_from_and_are_tried_before_they_are_kept(api: Api) -> None:
    await tell_long(api)
    shown = await api.get(f"{S}/settings")
    assert shown["settings"]["tail_messages"]["value"] == 2
    assert shown["settings"]["tail_messages"]["from"] == "story"
    assert shown["settings"]["tail_messages"]["default"] == Settings().tail_messages
    tried = await api.send("POST", f"{S}/settings/preview", {"set": ["tail_messages=10"]})
    assert tried["settings"]["tail_messages"]["value"] == 10
    assert tried["then"]["folds"] < tried["now"]["folds"]
    assert (await api.get(f"{S}/settings"))["own"]["tail_messages"] in (2, "2")
    await api.send("PATCH", f"{S}/settings", {"set": ["nonsense=1"]}, 400)
    assert (await api.get("/settings"))["settings"]["preset"]["from"]
    assert (await api.get("/presets", preset="novel"))["presets"][0]["preset"] == "novel"


async def test_books_are_kept_attached_exported_and_forgotten(api: Api) -> None:
    await api.tell()
    entries = [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}]
    assert (await api.send("PUT", "/books/lethen", entries))["entries"] == 1
    assert (await api.send("PUT", f"{S}/books/lethen"))["books"] == ["lethen"]
    assert (await api.get("/books/lethen"))["entries"][0]["name"] == "Grim"
    exported = await api.client.get("/books/lethen/export", params={"to": "world-info"})
    assert "Grim" in exported.text
    assert "attachment" in exported.headers["content-disposition"]
    assert (await api.send("DELETE", f"{S}/books/lethen"))["books"] == []
    refused = await api.send("DELETE", "/books/lethen", None, 428)
    await api.send("DELETE", f"/books/lethen?confirm={refused['confirm']}")
    assert (await api.get("/books"))["books"] == []


async def upload(api: Api, content: bytes, name: str, status: int = 201) -> Any:
    response = await api.client.post(
        "/imports", params={"name": name}, content=content, headers={"content-type": "application/octet-stream"}
    )
    assert response.status_code == status, response.text
    return response.json()


async def test_a_file_is_looked_at_before_it_is_taken_in(api: Api) -> None:
    seen = await upload(api, b"Wren: Is the ferry in?\n\nOdalys: Not yet.", "ferry.txt")
    row = seen["stories"][0]
    assert (row["story"], row["messages"], row["added"], row["exists"]) == ("ferry", 2, 2, False)
    assert (row["first"][0]["text"], row["last"]) == ("Is the ferry in?", [])
    assert (await api.get("/stories"))["stories"] == [], "nothing is kept yet"
    done = await api.send("POST", f"/imports/{seen['id']}")
    assert done["stories"][0]["added"] == 2
    planned = await api.get(f"{S}/undo")
    assert planned == {"story": "ferry", "what": "what the import changed", "messages": 2}
    assert (await api.get(S))["messages"] == 2, "nothing is taken back yet"
    await api.send("POST", f"/imports/{seen['id']}", {}, 400)
    await upload(api, b"", "empty.txt", 400)


async def test_a_short_file_is_shown_once_and_a_long_name_is_cut(api: Api) -> None:
    lines = [f"{'Wren' if at % 2 else 'Odalys'}: Line {at}." for at in range(4)]
    seen = await upload(api, "\n\n".join(lines).encode(), "渡" * 100 + ".txt")
    row = seen["stories"][0]
    assert [one["text"] for one in row["first"] + row["last"]] == [f"Line {at}." for at in range(4)]
    assert row["story"].startswith("渡")
    await api.send("DELETE", f"/imports/{seen['id']}", None, 204)


async def test_a_whole_story_is_previewed_by_its_own_name_and_another_of_that_name_is_refused(tmp_path: Path) -> None:
    async with open_api(tmp_path / "stories.db") as api:
        await api.tell()
        whole = (await api.client.get(f"{S}/export")).content
        seen = await upload(api, whole, "x.jsonl")
        row = seen["stories"][0]
        assert (row["story"], row["exists"], row["whole"], row["messages"]) == ("ferry", True, True, len(LINES))
        assert (await api.send("POST", f"/imports/{seen['id']}"))["stories"][0]["unchanged"] == len(LINES)
        await api.send("POST", f"{S}/messages", {"role": "user", "text": "Rain."}, 201)
        seen = await upload(api, whole, "x.jsonl")
        refused = await api.send("POST", f"/imports/{seen['id']}", {}, 400)
        await api.send("DELETE", f"/imports/{seen['id']}", None, 204)
        assert refused["detail"] == "There is another story of this name here: give this one another name."
        damaged = await upload(api, whole[: len(whole) // 2], "x.jsonl")
        assert str(tmp_path.parent) not in (await api.send("POST", f"/imports/{damaged['id']}", {}, 400))["detail"]
        await api.send("DELETE", f"/imports/{damaged['id']}", None, 204)
        await api.send("PATCH", S, {"story": "boat"})
        seen = await upload(api, whole, "x.jsonl")
        assert seen["stories"][0]["exists"] is False
        await api.send("DELETE", f"/imports/{seen['id']}", None, 204)


async def test_a_book_alone_is_kept_as_a_book_and_no_story_is_made_of_it(api: Api) -> None:
    book = json.dumps({"entries": {"0": {"key": ["Grim"], "content": "Grim is a dog.", "comment": "Grim"}}}).encode()
    seen = await upload(api, book, "Eldoria.json")
    added = {"book": "Eldoria", "entries": 1, "status": "added", "format": "book"}
    assert (seen["stories"], seen["books"]) == ([], [added])
    assert (await api.get("/books"))["books"] == [], "nothing is kept yet"
    assert (await api.send("POST", f"/imports/{seen['id']}")) == {"stories": [], "books": [added]}
    assert [one["book"] for one in (await api.get("/books"))["books"]] == ["Eldoria"]
    assert (await api.get("/stories"))["stories"] == []
    again = await upload(api, book, "Eldoria.json")
    assert again["books"][0]["status"] == "unchanged"
    await api.client.delete(f"/imports/{again['id']}")


async def test_a_story_is_exported_for_people_and_for_other_programs(api: Api) -> None:
    await api.tell()
    markdown = await api.client.get(f"{S}/export", params={"to": "markdown"})
    assert LINES[1] in markdown.text
    response = await api.client.get(f"{S}/export", params={"to": "nonsense"})
    assert response.status_code == 400


async def test_a_story_is_exported_whole_backed_up_and_comes_back(tmp_path: Path) -> None:
    async with open_api(tmp_path / "stories.db") as api:
        await api.tell()
        whole = await api.client.get(f"{S}/export")
        assert "ferry.jsonl" in whole.headers["content-disposition"]
        plan = await api.get(f"{S}/forget")
        await api.send("POST", f"{S}/forget", {"confirm": plan["confirm"]})
        seen = await upload(api, whole.content, "ferry.jsonl")
        assert seen["stories"][0]["format"] == "previously"
        assert (await api.send("POST", f"/imports/{seen['id']}"))["stories"][0]["added"] == len(LINES)
        made = await api.send("POST", "/backups", {}, 201)
        assert (await api.get("/backups"))["backups"][0]["path"] == made["path"]
        assert Path(made["path"]).parent == tmp_path, "beside the database"


async def test_keys_checks_and_questions(api: Api) -> None:
    await api.tell()
    assert (await api.get("/verify"))["clean"] is True
    await api.send("POST", "/gc")
    assert (await api.get("/doctor"))["ok"] is True
    answer = await api.send("POST", f"{S}/ask", {"question": "Where is the brass key?"})
    assert any("brass key" in source["text"] for source in answer["sources"])
    found = await api.get(f"{S}/search", q="brass key", with_model=True)
    assert (found["hits"][0]["position"], found["words"]["lines"]) == (1, [])
    assert found["words"]["reason"], "the ordinary hits, and why the model gave no words"
    assert (found["pick"]["picked"], found["pick"]["reason"]) == (0, found["words"]["reason"])
    assert (await api.get(f"{S}/who-knows", q="brass key"))["knows"] == []
    folded = await api.send("POST", "/compact", {"messages": [{"role": "user", "content": "Hello."}]})
    assert folded["messages"]
    assert (await api.get("/server"))["owner"] == "local"
    made = await api.send("POST", "/keys", {"name": "tablet"}, 201)
    assert made["key"].startswith("pk-")


@pytest.mark.parametrize("text", ["", "recap:", "chapter:0", "lore:", "nonsense:1"])
async def test_a_name_that_names_no_thing_is_refused(api: Api, text: str) -> None:
    await api.tell()
    response = await api.client.get(f"{S}/things/{text}")
    assert response.status_code in (400, 404)


async def test_what_no_database_keeps_is_refused_with_a_sentence(api: Api) -> None:
    await api.tell()
    response = await api.client.post(
        f"{S}/state", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
    )
    assert (response.status_code, response.json()["code"]) == (400, "bad_input")
    assert (await api.get(f"{S}/state"))["state"] == [], "nothing was kept"
    refused = await api.send("POST", f"{S}/versions/{10**20}/restore", {}, 400)
    assert "too large" in refused["detail"]


async def test_what_cannot_be_read_is_named_without_our_folders(api: Api) -> None:
    kind = {"content-type": "application/octet-stream"}
    answer = await api.client.post("/imports?name=junk.bin", content=b"\xff\xfe\x00junk\x80", headers=kind)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("junk.bin")
    broken = await api.client.post("/stories", content=b'{"story": ', headers={"content-type": "application/json"})
    assert broken.status_code == 422
    assert broken.json()["detail"].startswith("The body is no JSON: ")


async def test_a_message_is_said_at_a_time_or_at_none(api: Api) -> None:
    await api.tell()
    said = {"role": "user", "text": "Rain."}
    refused = await api.send("POST", f"{S}/messages", {**said, "at": "yesterday"}, 400)
    assert "'yesterday' is no time" in refused["detail"]
    added = await api.send("POST", f"{S}/messages", {**said, "at": "2026-11-17T20:15:00"}, 201)
    assert added["message"]["at"] == "2026-11-17T20:15:00"


async def test_an_entry_gets_another_name_and_keeps_its_old_one(api: Api) -> None:
    await api.tell()
    await api.send("POST", f"{S}/lore", {"name": "Grim", "text": "A barkeeper."}, 201)
    named = await api.send("POST", f"{S}/lore/Grim/rename", {"name": "Grimald"})
    assert (named["renamed"], named["done"]) == ("Grimald", "Grim is called Grimald now.")
    tried = await api.send("POST", f"{S}/lore/test", {"text": "Where is Grim?"})
    assert [row["fired"] for row in tried["entries"]] == [True]
