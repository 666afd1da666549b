"""Routes of a story as a directory of files: edits of it brought back. The directory travels as a ZIP file."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from previously.core.errors import BadInput
from previously.formats.archives import Archive
from previously.formats.story_directory import IGNORE, PATHS, RECORD
from previously.server.api.door import Opened
from previously.story.json_results import applied_json

router: APIRouter = APIRouter(tags=["files"])

Items = Annotated[list[str], Query(description="Conflicts by name, or `all`.")]


@router.post(
    "/stories/{story:name}/apply",
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
)
async def apply_directory(
    request: Request,
    story: Opened,
    preview: Annotated[bool, Query(description="Only say what would change.")] = False,
    keep_files: Items = [],  # noqa: B006 (a default of a query)
    keep_story: Items = [],  # noqa: B006
) -> dict[str, Any]:
    """Bring what was edited in an exported directory into the story, each edit as one by hand."""
    files = await asyncio.to_thread(unpack_directory, await request.body())
    result = await story.apply(files, preview=preview, keep_files=keep_files, keep_story=keep_story)
    fresh = {path: content.decode() for path, content in result.files.items() if files.get(path) != content}
    return {**applied_json(result), "preview": preview, "files": fresh, "gone": list(result.gone)}


def unpack_directory(content: bytes) -> dict[str, bytes]:
    """Return the files of a directory by their paths in it; it may stand in a folder of the archive."""
    if not content:
        raise BadInput("The file is empty: send the directory as a ZIP file.")
    try:
        archive = Archive(io.BytesIO(content))
        tops = [name.removesuffix(RECORD) for name in archive.names if name.endswith(RECORD)]
        if len(tops) != 1:
            raise BadInput(f"it holds no exported directory ({RECORD} is missing).")
        paths = {name: name.removeprefix(tops[0]) for name in archive.names if name.startswith(tops[0])}
        return {path: archive.read(name) for name, path in paths.items() if PATHS.fullmatch(path) or path in KEPT}
    except BadInput as error:
        raise BadInput(f"The ZIP file cannot be used: {error}") from None


KEPT = frozenset({RECORD, IGNORE})


def pack_directory(files: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> bytes:
    """Return files as a ZIP file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in dict(files).items():
            archive.writestr(path, content)
    return packed.getvalue()
