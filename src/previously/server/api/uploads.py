"""Uploads: files that were looked at and are not taken in yet."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from previously.core.errors import BadInput

MOST_KEPT = 20
KEPT_S = 3_600.0
"""A person decides within an hour, or looks at the file once more."""

LONGEST_NAME = 200
"""Bytes of a file's name that are kept, from its end: file systems take 255."""


@dataclass
class Upload:
    """One uploaded file that waits to be taken in."""

    owner: str
    folder: tempfile.TemporaryDirectory[str]
    path: Path
    story: str | None
    file_format: str | None
    user: str | None
    span: tuple[int, int] | None = None
    """The messages that a scene memory is about."""
    at: float = field(default_factory=time.monotonic)


class Uploads:
    """The files that wait, each its owner's own."""

    def __init__(self) -> None:
        self._kept: dict[str, Upload] = {}

    def keep(
        self,
        owner: str,
        content: bytes,
        name: str,
        story: str | None,
        file_format: str | None,
        user: str | None,
        span: tuple[int, int] | None = None,
    ) -> tuple[str, Upload]:
        """Keep a file; the oldest give way."""
        now = time.monotonic()
        for known, upload in list(self._kept.items()):
            if now - upload.at > KEPT_S or len(self._kept) >= MOST_KEPT:
                self._kept.pop(known, None)
                upload.folder.cleanup()
        plain = Path(name).name.strip(". \0") or "story.jsonl"
        folder = tempfile.TemporaryDirectory(prefix="previously-")
        ending = plain.replace("\0", "_").encode(errors="replace")[-LONGEST_NAME:].decode(errors="ignore")
        path = Path(folder.name) / ending
        path.write_bytes(content)
        ident = token_urlsafe(12)
        self._kept[ident] = Upload(owner, folder, path, story, file_format, user, span)
        return ident, self._kept[ident]

    def find(self, owner: str, ident: str) -> Upload:
        """Return the file of that id; one that is another's is not there."""
        upload = self._kept.get(ident)
        if upload is None or upload.owner != owner:
            raise BadInput("This file is not here any more: send it once more.")
        return upload

    def close(self) -> None:
        """Delete every uploaded file."""
        while self._kept:
            self._kept.popitem()[1].folder.cleanup()

    def drop(self, owner: str, ident: str) -> None:
        upload = self.find(owner, ident)
        del self._kept[ident]
        upload.folder.cleanup()
