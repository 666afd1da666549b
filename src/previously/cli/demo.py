"""`previously demo`: one story folded, looked at, asked, changed, and seen by two of its characters, in seconds.

The engine is the real one. Only the model's answers are recorded, so that nobody needs a model to see what one does.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from previously.cli import output, tour
from previously.cli.arguments import AsJson

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as Styled

    from previously.blocking import BlockingMemory, BlockingStory
    from previously.core.messages import Draft
    from previously.demo.replay_model import RecordedModel
    from previously.runtime.search import SearchHit

AROUND = 44
"""Characters shown before and after a change: with it, two lines."""

MOST_OPEN = 3
"""Open threads that are shown: enough to see what they are."""

_NEXT = (
    ("try MY-CHAT.jsonl", "the same with your own chat"),
    ("import MY-CHAT.jsonl", "keep it, with a memory"),
    ("serve --upstream URL", "memory for any chat program"),
    ("--help", "everything else"),
)


def demo(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Fold a sample story, and show what its memory can do."""
    from previously.blocking import BlockingMemory
    from previously.demo import sample_story
    from previously.demo.replay_model import RecordedModel

    started = perf_counter()
    console = output.console()
    console.quiet = as_json
    model = RecordedModel()
    settings = sample_story.make_settings()
    with open_place(ctx.obj) as place, BlockingMemory(place, settings=settings, model=model) as memory:
        story = memory.story(_find_free_name(memory, "demo-harbour"))
        figures: dict[str, Any] = {"harbour": _show_story(console, story, model)}
        figures["questions"] = _show_questions(console, story)
        figures["edit"] = _show_edit(console, story, model)
        figures["secret"] = _show_secret(console, story)
    figures |= {"db": ctx.obj, "seconds": round(perf_counter() - started, 2)}
    if as_json:
        output.emit(figures)
        return
    tour.print_heading(console, "Your turn")
    kept = f" The story of this demo is in {output.one_line(ctx.obj)}." if ctx.obj else ""
    console.print(f"All of this took {figures['seconds']:.1f} s, and nothing left this machine.{kept}\n")
    tour.print_next(console, _NEXT)


@contextmanager
def open_place(db: str | None) -> Iterator[str]:
    """Give the place that was asked for, or one that is gone afterwards."""
    if db is not None:
        yield db
        return
    with tempfile.TemporaryDirectory(prefix="previously-", ignore_cleanup_errors=True) as folder:
        yield str(Path(folder) / "stories.db")


def _show_story(console: Console, story: BlockingStory, model: RecordedModel) -> dict[str, Any]:
    from previously.demo.sample_story import BUDGET_TOKENS, read_sample

    drafts = read_sample()
    chapters = [str(draft.attributes.extra["chapter"]) for draft in drafts if "chapter" in draft.attributes.extra]
    speakers, tokens = {draft.message.speaker for draft in drafts}, count_tokens(drafts)
    tour.print_heading(console, "A story too long for its model")
    console.print(
        f"Harbour, a role-play in {len(chapters)} chapters ({', '.join(chapters)}): {len(drafts):,} messages of "
        f"{len(speakers)} speakers."
    )
    started = perf_counter()
    story.follow(drafts)
    story.view(BUDGET_TOKENS)  # folding makes room for the view that was last asked for
    with output.progress("Folding") as progress:
        report = story.fold(progress=progress)
    seconds = perf_counter() - started
    console.print(
        f"The old ones were just folded into memory, in {seconds:.1f} s. The model's {report.calls} answers are "
        "recorded, from a strong model; everything else runs here and now. The messages stay as they are."
    )
    _print_missing(console, model)
    seen = story.view(BUDGET_TOKENS)
    tour.print_heading(console, "What the model sees instead")
    tour.print_sizes(console, tokens, seen)
    console.print()
    verbatim = tour.print_view(console, story, seen)
    return {
        "story": story.name,
        "messages": len(drafts),
        "tokens": tokens,
        "folds": len(report.folds),
        "calls": report.calls,
        "missing_answers": len(model.missing),
        "chapters": len(story.chapters()),
        "budget_tokens": seen.budget_tokens,
        "view_tokens": seen.tokens,
        "verbatim_messages": verbatim,
        "left_out": len(seen.left_out),
        "seconds": round(seconds, 3),
    }


def _print_missing(console: Console, model: RecordedModel) -> None:
    if model.missing:
        console.print(
            "The prompts have changed since: a recorded answer is missing, and the built-in writer, which quotes, "
            "stands in for the model.",
            style="yellow",
        )


def _show_questions(console: Console, story: BlockingStory) -> list[dict[str, Any]]:
    from rich.padding import Padding

    from previously.demo.sample_story import QUESTIONS

    tour.print_heading(console, "Ask: the answer comes with its message")
    answered = []
    for question in QUESTIONS:
        hits = story.search(question, top=1)
        tour.print_answer(console, question, hits)
        console.print()
        answered.append({"question": question, "hits": hits_json(hits)})
    threads = story.threads()
    if threads:
        console.print(f"Still open at the end, {min(MOST_OPEN, len(threads))} of {len(threads)} threads:", style="bold")
    for listing in threads[:MOST_OPEN]:
        console.print(Padding(f"{listing.thread.text} (message {listing.thread.touched})", (0, 2)))
    return answered


def hits_json(hits: Sequence[SearchHit]) -> list[dict[str, Any]]:
    """Return the messages that were found, for other programs."""
    return [{"position": hit.position, "speaker": hit.speaker, "text": hit.text, "score": hit.score} for hit in hits]


def _show_edit(console: Console, story: BlockingStory, model: RecordedModel) -> dict[str, Any]:
    from rich.padding import Padding

    from previously.demo import sample_story

    position, question = sample_story.EDITED, sample_story.EDIT_QUESTION
    before, missing = _list_texts(story), len(model.missing)
    old = story.messages(position, position)[0].entry.message
    sample_story.edit_sample(story)
    new = story.messages(position, position)[0].entry.message
    current = _list_texts(story)
    broken = [what for what in before if what not in current or current[what][1]]
    with output.progress("Folding") as progress:
        report = story.fold(progress=progress)
    after = _list_texts(story)
    changes = {what: (before[what][0], after[what][0]) for what in broken if what in after}

    tour.print_heading(console, "Change the past: memory follows")
    console.print(f"Message {position}, {old.speaker}", style="bold")
    console.print(Padding(_draw_change(old.text, new.text), (0, 2)))
    asked = f"{output.count_nouns(report.calls, 'question')} to the model set {'it' if len(broken) == 1 else 'them'}"
    console.print(
        f"\n{len(broken)} of {len(before)} texts of memory no longer hold: {'; '.join(broken)}. {asked} right, and the "
        f"{len(before) - len(broken)} others stay as they were:\n"
    )
    for what, texts in changes.items():
        console.print(f"{what[0].upper()}{what[1:]}", style="bold")
        console.print(Padding(_draw_change(*texts), (0, 2)))
    if len(model.missing) > missing:
        _print_missing(console, model)
    console.print()
    hits = story.search(question, top=1)
    tour.print_answer(console, question, hits)
    return {
        "position": position,
        "old": old.text,
        "new": new.text,
        "texts": len(before),
        "no_longer_hold": broken,
        "calls": report.calls,
        "changed": [{"text": what, "old": gone, "new": come} for what, (gone, come) in changes.items()],
        "question": question,
        "hits": hits_json(hits),
    }


def _list_texts(story: BlockingStory) -> dict[str, tuple[str, bool]]:
    """Return the texts of memory in force by what they are, and for each whether it is stale."""
    texts = {chapter.name: chapter.recap for chapter in story.chapters()}
    texts["the story so far"], texts["the recap of the open chapter"] = story.backbone(), story.recap()
    texts |= {f"the episode of {episode.span}": episode for episode in story.episodes()}
    return {what: (text.text, text.stale) for what, text in texts.items() if text}


def _draw_change(old: str, new: str) -> Styled:
    """Return the words that were changed, from the first to the last, with some of those around them."""
    from rich.text import Text as Styled

    gone, come = output.one_line(old).split(" "), output.one_line(new).split(" ")
    before = _count_common(gone, come)
    after = _count_common(gone[before:][::-1], come[before:][::-1])
    front, back = " ".join(gone[:before]), " ".join(gone[len(gone) - after :])
    if len(front) > AROUND:
        front = f"… {front[-AROUND:].split(' ', 1)[-1]}"
    if len(back) > AROUND:
        back = f"{back[:AROUND].rsplit(' ', 1)[0]} …"
    drawn = Styled(f"{front} ").append(" ".join(gone[before : len(gone) - after]), "red")
    drawn.append(f" {'→' if output.takes_unicode(sys.stdout) else '->'} ")
    return drawn.append(" ".join(come[before : len(come) - after]), "green").append(f" {back}")


def _count_common(words: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words two lists begin with together."""
    pairs = enumerate(zip(words, others, strict=False))
    return next((index for index, (word, other) in pairs if word != other), min(len(words), len(others)))


def _show_secret(console: Console, story: BlockingStory) -> dict[str, Any]:
    from previously.demo.sample_story import BUDGET_TOKENS, SECRET_NAME, SECRET_QUESTION, WHO_IS_ASKED

    tour.print_heading(console, "Secrets stay with those who heard them")
    console.print("One question, asked as two of the characters. Each is shown only what they witnessed.\n")
    answers: dict[str, Any] = {}
    for name in WHO_IS_ASKED:
        hits = story.search(SECRET_QUESTION, top=1, witness=name)
        seen = story.view(BUDGET_TOKENS, reader=f"character:{name}")
        named = sum(message.text.count(SECRET_NAME) for message in seen.messages)
        tour.print_answer(console, SECRET_QUESTION, hits, who=name)
        times = ("not once", "once")[named] if named < 2 else f"{named} times"
        console.print(f"        A view made for {name} names {SECRET_NAME} {times}.\n", style="dim")
        answers[name] = {"hits": hits_json(hits), "named_in_view": named}
    return {"question": SECRET_QUESTION, "answers": answers}


def count_tokens(drafts: Sequence[Draft]) -> int:
    """Return the tokens of messages, as a view counts them."""
    from previously.core.tokens import message_tokens

    return sum(message_tokens(draft.message) for draft in drafts)


def _find_free_name(memory: BlockingMemory, wanted: str) -> str:
    """A name that no story has: whatever is there already is not the demo's to change."""
    taken = {info.name for info in memory.stories()}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name
