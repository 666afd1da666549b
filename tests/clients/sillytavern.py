"""A real SillyTavern server with a fresh data folder: set up, started on a free loopback port, and stopped.

It is the npm package, put into `.clients/` by `make test-clients`. Settings and characters are written as files before
it starts, as if a user had made them earlier. Two settings are for the sake of the mouse (no animations, no folded-up
buttons); everything else is left as a fresh profile has it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import struct
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.cast import CAST, PERSONA, PERSONA_DESCRIPTION, Character
from tests.ports import find_port

CLIENTS = Path(__file__).parents[2] / ".clients"
"""Where `make test-clients` installs what is not Python."""

PACKAGE = CLIENTS / "node_modules" / "sillytavern"
MODEL = "storyteller-1"
AVATAR = "user-default.png"

_CONFIG = """\
whitelistDockerHosts: false
browserLaunch: {enabled: false}
enableDownloadableTokenizers: false
extensions: {enabled: true, autoUpdate: false, models: {autoDownload: false}}
thumbnails: {enabled: false}
logging: {enableAccessLog: false, minLogLevel: 1}
"""
"""Nothing is looked up or fetched: the tests need no network."""


@dataclass(frozen=True)
class SillyTavern:
    """A server that is running."""

    url: str
    folder: Path

    @property
    def user_folder(self) -> Path:
        """Where it keeps what the one user has."""
        return self.folder / "data" / "default-user"

    @property
    def log(self) -> str:
        """What the server said so far."""
        return (self.folder / "server.log").read_text("utf-8", errors="replace")


@asynccontextmanager
async def serving(folder: Path, cast: Sequence[Character] = CAST) -> AsyncIterator[SillyTavern]:
    """SillyTavern with its data in `folder`, set to *Custom (OpenAI-compatible)* with streaming, not connected yet."""
    port = find_port()
    tavern = SillyTavern(f"http://127.0.0.1:{port}", folder)
    _furnish(tavern, cast)
    with (folder / "server.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "node", str(PACKAGE / "server.js"), "--configPath", str(folder / "config.yaml"),
            "--dataRoot", str(folder / "data"), "--port", str(port),
            stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            # Its compiled scripts are cached by git revision: ours must not count as its own.
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(CLIENTS)},
        )  # fmt: skip
    try:
        await _until_it_listens(tavern, port, process)
        yield tavern
    finally:
        await stop(process)


async def stop(process: asyncio.subprocess.Process, patience_s: float = 10.0) -> None:
    """End a server as a user would, with an interrupt; a deaf one is killed."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), patience_s)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _until_it_listens(tavern: SillyTavern, port: int, process: asyncio.subprocess.Process) -> None:
    for _ in range(6_000):  # the first start ever compiles the scripts of the page: minutes on a busy machine
        if process.returncode is not None:
            raise RuntimeError(f"SillyTavern ended at once:\n{tavern.log}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        writer.close()
        await writer.wait_closed()
        return
    raise RuntimeError(f"SillyTavern does not answer:\n{tavern.log}")


def _furnish(tavern: SillyTavern, cast: Sequence[Character]) -> None:
    (tavern.user_folder / "characters").mkdir(parents=True)
    for character in cast:
        (tavern.user_folder / "characters" / f"{character.name}.png").write_bytes(_portrait(character))
    (tavern.user_folder / "settings.json").write_text(json.dumps(_settings()), "utf-8")
    (tavern.folder / "config.yaml").write_text(_CONFIG, "utf-8")
    scripts = CLIENTS / "webpack"
    scripts.mkdir(exist_ok=True)
    (tavern.folder / "data" / "_webpack").symlink_to(scripts)


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((PACKAGE / "default" / "content" / "settings.json").read_text("utf-8"))
    settings |= {"firstRun": False, "username": PERSONA, "user_avatar": AVATAR, "main_api": "openai"}
    settings["power_user"] |= {
        "reduced_motion": True,
        "expand_message_actions": True,
        "personas": {AVATAR: PERSONA},
        "default_persona": AVATAR,
        "persona_description": PERSONA_DESCRIPTION,
        "persona_descriptions": {AVATAR: {"description": PERSONA_DESCRIPTION, "position": 0}},
    }
    settings["oai_settings"] |= {
        "chat_completion_source": "custom",
        "custom_model": MODEL,
        "stream_openai": True,
        "max_context_unlocked": True,
        "openai_max_context": 8_192,
        "openai_max_tokens": 300,
    }
    return settings


def _portrait(character: Character) -> bytes:
    """A small picture that carries the card, the way such cards are shared."""
    width, height = 64, 96
    row = b"\0" + bytes(character.colour) * width
    card = base64.b64encode(json.dumps(character.card()).encode()).decode()
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * height)),
        (b"tEXt", b"chara\0" + card.encode()),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
