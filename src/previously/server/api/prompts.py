"""Routes of prompts: the words that a model is asked with, a person's own in their place, and the next question.

Prompts belong to whoever runs the server: they are files beside the settings. Somebody who came in with a key reads
them and changes none.
"""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from previously.app import find_prompts
from previously.core.errors import BadInput
from previously.core.tokens import estimate_tokens
from previously.folds.prompts.templates import PLACEHOLDERS
from previously.runtime.prompts import Prompts, read_prompt, remove_prompt, write_prompt
from previously.server.api.door import Asker, Opened
from previously.server.callers import Caller
from previously.settings_file import find_effective
from previously.story.json_shapes import span_json

router: APIRouter = APIRouter(tags=["prompts"])

LONGEST_PROMPT = 100_000
"""Characters of a prompt: ten times the longest of ours."""

PromptName = Annotated[str, Path(description="One of the names that `GET /prompts` lists.")]


class PromptText(BaseModel):
    """A prompt."""

    text: str = Field(max_length=LONGEST_PROMPT, description="Instruction, a line `=== user ===`, and what is given.")


@router.get("/prompts")
async def list_prompts(caller: Asker) -> dict[str, Any]:
    """List the prompts, and which of them are a person's own."""
    directory = _find_directory()
    rows = [_describe(name, directory) for name in PLACEHOLDERS]
    is_editable = directory is not None and not caller.ours
    return {"prompts": rows, "editable": is_editable, "directory": str(directory) if is_editable else None}


@router.put("/prompts/{prompt:name}")
async def change_prompt(prompt: PromptName, body: PromptText, caller: Asker) -> dict[str, Any]:
    """Put one's own words in place of a prompt; they count from the next question on."""
    directory = _find_writable(caller)
    write_prompt(prompt, body.text, directory)
    return _describe(prompt, directory)


@router.delete("/prompts/{prompt:name}")
async def drop_prompt(prompt: PromptName, caller: Asker) -> dict[str, Any]:
    """Take the package's own prompt again."""
    directory = _find_writable(caller)
    remove_prompt(prompt, directory)
    return _describe(prompt, directory)


@router.get("/stories/{story:name}/next-question")
async def show_next_question(story: Opened) -> dict[str, Any]:
    """Return what a model would be asked next, word for word; nothing is sent."""
    asked = await story.next_question(Prompts(_find_directory()))
    if asked is None:
        return {"story": story.name, "prompt": None}
    request = asked.request
    return {
        "story": story.name,
        "prompt": asked.prompt,
        "span": span_json(asked.span),
        "due": asked.due,
        "system": request.system,
        "user": request.user,
        "tokens": estimate_tokens(request.system) + estimate_tokens(request.user),
    }


def _describe(name: str, directory: FilePath | None) -> dict[str, Any]:
    own, text = read_prompt(name, directory)
    return {"prompt": name, "text": text, "own": own is not None, "placeholders": list(PLACEHOLDERS[name])}


def _find_directory() -> FilePath | None:
    return find_prompts(find_effective(os.environ)[0])


def _find_writable(caller: Caller) -> FilePath:
    directory = _find_directory()
    if caller.ours or directory is None:
        raise BadInput("Whoever runs this server sets its prompts, in a folder beside its settings.")
    return directory
