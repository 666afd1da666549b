"""Write a file whole or not at all: whoever looks sees the old one or the new one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from previously.core.errors import BadInput


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Put these bytes at a path, in place of a file that is there; a link stays, and what is no file is written to."""
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # a device or a pipe, which nothing may take the place of
            with path.open("wb") as target:
                target.writelines(chunks)
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}-", dir=path.parent)
        partial = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(chunks)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise BadInput(f"{path} cannot be written: {reason}.") from None
