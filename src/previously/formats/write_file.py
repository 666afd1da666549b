"""Write a file whole or not at all: whoever looks sees the old one or the new one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from previously.core.errors import BadInput


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Put these bytes at a path, in place of a file that is there."""
    try:
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
