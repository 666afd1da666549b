"""Routes of books: sets of lore that any story can use."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from pydantic import BaseModel, Field

from previously.core.errors import BadInput
from previously.server.api.door import Asked, Asker, Opened, Served
from previously.server.api.problems import Problem
from previously.server.api.responses import answer_file
from previously.story.json_shapes import book_json

router: APIRouter = APIRouter(tags=["books"])


@router.get("/books")
async def list_books(memory: Asked) -> dict[str, Any]:
    """List your books."""
    return {"books": [book_json(info, await memory.book(info.name)) for info in await memory.books()]}


@router.get("/books/{book:name}")
async def show_book(memory: Asked, book: str) -> dict[str, Any]:
    """Show the entries of a book, and what is wrong with them."""
    rows = [
        {
            "name": one.name, "type": one.type, "keywords": list(one.keys), "content": one.content, "uid": one.uid,
            "problems": problems,
        }
        for one, problems in await memory.book(book)
    ]  # fmt: skip
    return {"book": book, "entries": rows}


@router.put("/books/{book:name}")
async def keep_book(memory: Asked, book: str, body: Annotated[Any, Body()]) -> dict[str, Any]:
    """Keep a file as a book, in place of the one of that name: World Info, a character book or card, or a list."""
    replaced = book in [one.name for one in await memory.books()]
    await memory.keep_book(book, body)
    entries = await memory.book(book)
    unsound = [{"entry": entry.name, "uid": entry.uid, "problems": problems} for entry, problems in entries if problems]
    return {"book": book, "entries": len(entries), "replaced": replaced, "problems": unsound}


class EntryFields(BaseModel):
    """Fields of an entry; what is not given stays."""

    name: str | None = None
    text: str | None = None
    keywords: list[str] | None = None
    set: dict[str, Any] = Field(default={}, description="Any other field: `order`, `constant`, …")


@router.patch("/books/{book:name}/entries/{entry:name}")
async def edit_book_entry(memory: Asked, book: str, entry: str, body: EntryFields) -> dict[str, Any]:
    """Change fields of one entry of a book. Everything else in the book stays as it is."""
    given = {"name": body.name, "content": body.text, "keys": body.keywords}
    values = {field: value for field, value in given.items() if value is not None} | body.set
    if not values:
        raise BadInput("There is nothing to change: give name, text, keywords or set.")
    edited = await memory.edit_book(book, entry, **values)
    done = f"{edited.name} of {book} has a new {', '.join(values)}."
    return {"book": book, "edited": edited.name, "uid": edited.uid, "fields": list(values), "done": done}


@router.delete("/books/{book:name}")
async def forget_book(memory: Asked, caller: Asker, served: Served, book: str, confirm: str = "") -> dict[str, Any]:
    """Destroy a book. Without a `confirm` nothing is done, and the refusal tells it."""
    entries = len(await memory.book(book))
    if not confirm:
        sentence = f"The book {book} goes, {entries:,} entries, from every story it is attached to."
        raise Problem(428, "confirm", sentence, confirm=served.confirmations.make(caller.owner, "book", book, entries))
    served.confirmations.check(confirm, caller.owner, "book", book, entries)
    await memory.forget_book(book)
    return {"forgotten": book, "entries": entries, "done": f"Forgot the book {book}."}


@router.get("/books/{book:name}/export", response_class=Response)
async def export_book(memory: Asked, book: str, to: str = "world-info") -> Response:
    """Download a book as a file of other programs."""
    return answer_file(await memory.export_book(book, to), f"{book}.json", "application/json")


@router.get("/stories/{story:name}/books")
async def list_attached(story: Opened) -> dict[str, Any]:
    """List the books of a story."""
    return {"story": story.name, "books": await story.attached_books()}


@router.put("/stories/{story:name}/books/{book:name}")
async def attach_book(story: Opened, book: str) -> dict[str, Any]:
    """Let the entries of a book come up in a story."""
    await story.attach_book(book)
    return {"story": story.name, "books": await story.attached_books(), "done": f"{book} is attached to {story.name}."}


@router.delete("/stories/{story:name}/books/{book:name}")
async def detach_book(story: Opened, book: str) -> dict[str, Any]:
    """Let them come up there no more. The book stays."""
    await story.detach_book(book)
    done = f"{book} is not attached to {story.name} any more."
    return {"story": story.name, "books": await story.attached_books(), "done": done}
