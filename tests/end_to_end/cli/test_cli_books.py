"""Books on the command line: what was changed in them elsewhere is listed, and fields are changed here."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from previously.formats.png_texts import PNG, write_chunk
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.files.test_living_books import find_differences
from tests.unit.lore.test_parse_books import CARD, WORLD


def test_the_command_line_lists_changes_and_makes_them(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "harbour.json"
    path.write_text(json.dumps(WORLD), "utf-8")
    cli("books", "add", path)
    assert "Nothing has changed since." in cli("books", "add", path).out
    changed = json.loads(json.dumps(WORLD))
    changed["entries"]["12"] |= {"comment": "Grim", "STMB_order": 5}
    del changed["entries"]["x/1"]
    path.write_text(json.dumps(changed), "utf-8")
    assert cli("books", "add", path).out.splitlines()[-4:] == [
        "3 changes since.",
        "  Grim: name: The ferryman → Grim",
        "  Grim: STMB_order: {'deep': [1]} → 5",
        "  U: gone",
    ]
    edited = cli("books", "edit", "harbour", "Grim", "--text", "Young.", "--set", "order=7", "--json").json
    assert edited == {"book": "harbour", "edited": "Grim", "uid": "harbour/12", "fields": ["content", "order"]}
    out = tmp_path / "out.json"
    cli("lore", "export", "harbour", "--to", "world-info", "--out", out)
    differences = find_differences(changed, json.loads(out.read_text("utf-8")))
    assert differences == {"/entries/12/content": ("Old.", "Young."), "/entries/12/order": (250, 7)}
    old = cli("books", "export", "harbour", "--to", "world-info")
    assert json.loads(old.out) == json.loads(out.read_text("utf-8"))
    assert "lore export" in old.err


def test_a_book_in_a_picture_goes_out_as_it_came(cli: Cli, tmp_path: Path) -> None:
    text = base64.b64encode(json.dumps(CARD).encode())
    picture = tmp_path / "tess.png"
    picture.write_bytes(PNG + write_chunk(b"tEXt", b"chara\0" + text) + write_chunk(b"IEND", b""))
    cli("books", "add", picture)
    again = tmp_path / "again.png"
    cli("lore", "export", "tess", "--to", "character-book", "--card", picture, "--out", again)
    cli("books", "add", again, "--book", "again")
    first, second = (cli("lore", "export", name, "--to", "character-book").out for name in ("tess", "again"))
    assert json.loads(first) == json.loads(second) == CARD
