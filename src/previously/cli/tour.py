"""A short tour of a story on a terminal: how large it is, what a model sees of it, and where questions are answered.

Every sentence about the story comes from the story or its memory, shortened at most; what was left out is marked with …
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from previously.cli import output
from previously.cli.terminal import render_message, share_budget, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as Styled

    from previously.blocking import BlockingStory
    from previously.runtime.search import SearchHit
    from previously.view.view import View

PARAGRAPHS = 2
"""Paragraphs of each section of memory: all sections fit on one screen."""

PARAGRAPH = 150
"""Characters of each of them: two lines of 80 columns."""

NEWEST = 2
"""Messages shown of those that a view holds word for word: who has the word, and what it is about."""

MOST_LISTED = 5
"""Positions in one line; more of them tell nothing."""

PASSAGE = 190
"""Characters of a message that answers a question: its best sentences, in three lines."""

WIDEST_BAR = 48
"""With a label before it and a number behind, a bar of this many cells fits into 80 columns."""


def print_heading(console: Console, text: str) -> None:
    """Print where a part of the tour begins."""
    from rich.text import Text as Styled

    line = "─" if output.takes_unicode(sys.stdout) else "-"
    console.print()
    console.rule(Styled(text, "bold cyan"), align="left", style="dim", characters=line)
    console.print()


def print_sizes(console: Console, story_tokens: int, seen: View) -> None:
    """Print how much of the story's size the view takes, as two bars, and what the view is made of."""
    from rich.padding import Padding
    from rich.text import Text as Styled

    full, empty = ("█", "░") if output.takes_unicode(sys.stdout) else ("#", ".")
    cells = max(8, min(WIDEST_BAR, console.width - 28))
    for label, tokens, style in (("story", story_tokens, "dim"), ("view", seen.tokens, "bold green")):
        filled = max(1, min(cells, round(cells * tokens / max(story_tokens, 1))))
        bar = Styled.assemble((f"{label:<6}", "bold"), (full * filled, style), (empty * (cells - filled), "dim"))
        console.print(bar.append(f" {tokens:>9,} tokens"), no_wrap=True, overflow="crop")
    shares = [f"{name} {tokens:,}" for name, tokens in share_budget(seen).items() if name != "free"]
    console.print(Padding(f"{', '.join(shares)} (of {seen.budget_tokens:,})", (0, 0, 0, 6)), style="dim")


def print_view(console: Console, story: BlockingStory, seen: View) -> int:
    """Print the view in short form; return how many messages it holds word for word."""
    from previously.cli.view import list_placed

    placed = list_placed(seen)
    positions = [position for position, _ in placed if position is not None]
    for position, message in placed:
        if position is None:
            for heading, paragraphs in _split_memory(message.text):
                _print_section(console, heading, paragraphs)
    recalled = sorted({span.first for item in seen.items if item.section.value == "recall" for span in item.sources})
    if recalled:
        more = f" and {len(recalled) - MOST_LISTED} more" if len(recalled) > MOST_LISTED else ""
        listed = f"{'messages' if len(recalled) > 1 else 'message'} {', '.join(map(str, recalled[:MOST_LISTED]))}{more}"
        console.print(f"# Found again for the newest message: {listed}\n", style="bold")
    if positions:
        newest = story.messages(max(positions[0], positions[-1] - NEWEST + 1), positions[-1])
        which = f"message {positions[0]}" if len(positions) == 1 else f"messages {positions[0]}-{positions[-1]}"
        last = ". The last of them" if len(newest) < len(positions) else ""
        console.print(f"# Then {which}, word for word{last} (shortened here):", style="bold")
        console.print(render_message([(item.position, item.entry.message) for item in newest], short=True))
    return len(positions)


def _split_memory(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of a view's memory, each with the paragraphs or lines under it."""
    heading, paragraphs = "", list[str]()
    for line in output.printable(text).splitlines():
        if line.startswith("# "):
            if paragraphs:
                yield heading, paragraphs
            heading, paragraphs = line, []
        elif line.strip():
            paragraphs.append(line)
    if paragraphs:
        yield heading, paragraphs


def _print_section(console: Console, heading: str, paragraphs: Sequence[str]) -> None:
    if heading:
        console.print(heading, style="bold")
    for paragraph in paragraphs[:PARAGRAPHS]:
        console.print(shorten(paragraph, PARAGRAPH))
    if len(paragraphs) > PARAGRAPHS:
        console.print(f"… and {output.count_nouns(len(paragraphs) - PARAGRAPHS, 'more line')}", style="dim")
    console.print()


def print_answer(console: Console, question: str, hits: Sequence[SearchHit], *, who: str = "") -> None:
    """Print a question and the messages that answer it, word for word with their positions."""
    from rich.table import Table
    from rich.text import Text as Styled

    if question:
        console.print(Styled.assemble((f"{who}: " if who else "", "bold magenta"), (output.one_line(question), "bold")))
    if not hits:
        console.print("  No message was found.")
        return
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="cyan", no_wrap=True, width=6)
    grid.add_column(overflow="fold")
    for hit in hits:
        speaker = f"{output.one_line(hit.speaker)}: " if hit.speaker else ""
        grid.add_row(str(hit.position), Styled.assemble((speaker, "bold"), quote_passage(hit)))
    console.print(grid)


def quote_passage(hit: SearchHit) -> Styled:
    """Return the sentences of a message in which most of what was looked for stands, with that marked."""
    from rich.text import Text as Styled

    start, end = _find_passage(hit.text, hit.highlights)
    drawn, at = Styled("… " if start else ""), start
    for first, last in hit.highlights:
        if at <= first and last <= end:
            drawn.append(_show_line(hit.text[at:first]))
            drawn.append(_show_line(hit.text[first:last]), "bold underline")
            at = last
    drawn.append(_show_line(hit.text[at:end]).rstrip())
    return drawn.append(" …" if end < len(hit.text) else "")


_MARKS = '"“”«»„*'
_NO_QUOTES = str.maketrans(dict.fromkeys(_MARKS.replace("*", ""), " "))
"""Takes quotation marks away: all that is said in one go is one sentence to the splitter, and several without them."""


def _step_back(text: str, start: int) -> int:
    """Return where a sentence begins with the marks before it."""
    while start and text[start - 1] in _MARKS:
        start -= 1
    return start


def _find_passage(text: str, highlights: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return where the passage begins and ends: whole sentences from the best one on, at least one of them."""
    from previously.text.sentences import find_starts

    starts = [*dict.fromkeys([0, *(_step_back(text, start) for start in find_starts(text.translate(_NO_QUOTES)))])]
    starts.append(len(text))
    marks = [first for first, _ in highlights]

    def count_marks(index: int) -> int:
        return sum(1 for mark in marks if starts[index] <= mark < starts[index + 1])

    best = max(range(len(starts) - 1), key=count_marks, default=0)
    first, last = best, best + 1
    while last < len(starts) - 1 and starts[last + 1] - starts[first] <= PASSAGE:
        last += 1
    while first > 0 and starts[last] - starts[first - 1] <= PASSAGE:
        first -= 1
    end = starts[last]
    if end - starts[first] > 2 * PASSAGE:  # one sentence without end
        end = starts[first] + 2 * PASSAGE
    return starts[first], end


def _show_line(text: str) -> str:
    return output.printable(text).replace("\n", " ")


def print_next(console: Console, commands: Sequence[tuple[str, str]]) -> None:
    """Print what to type next, each command as it can be typed here; what it does beside it, or above where that is
    too long."""
    lines = [(f"  {name_program()} {command}", what) for command, what in commands]
    width = max(len(line) for line, _ in lines) + 3
    fits = width + max(len(what) for _, what in lines) <= console.width
    for line, what in lines:
        if not fits:
            console.print(f"  {what}:", style="dim")
        console.print(line.ljust(width) if fits else line, style="bold", end="" if fits else "\n", soft_wrap=True)
        if fits:
            console.print(what)


def name_program() -> str:
    """Return how this program is called here: by its name alone, where that finds it."""
    given = sys.argv[0] if sys.argv else ""
    return "previously" if shutil.which("previously") or not given.endswith("previously") else given
