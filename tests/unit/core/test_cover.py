"""The rule of validity, on paths of letters: a digest is a letter, a link a word."""

from __future__ import annotations

from previously.core.cover import Covered, Link, place
from previously.core.digests import span_key
from previously.core.marks import Mark, MarkKind, find_starts
from previously.core.path import Span


def link(version: int, before: int | str, run: str) -> Link:
    return Link(version, before, len(run), span_key(letter.encode() for letter in run))


def covers(path: str, *links: Link, **options: object) -> list[tuple[int, int, int]]:
    digests = [letter.encode() for letter in path]
    found = place(
        lambda before: [one for one in links if one.before == before],
        len(digests),
        lambda first, last: digests[first : last + 1],
        **({"after": [("", 0)]} | options),  # type: ignore[arg-type]
    )
    return [(cover.version, cover.span.first, cover.span.last) for cover in found]


CHAIN = (link(1, "", "abc"), link(2, 1, "de"), link(3, 2, "f"))


def test_a_chain_is_valid_as_far_as_its_runs_follow_one_another() -> None:
    assert covers("abcdefg", *CHAIN) == [(1, 0, 2), (2, 3, 4), (3, 5, 5)]
    assert covers("abcdXfg", *CHAIN) == [(1, 0, 2)]
    assert covers("abcde", *CHAIN) == [(1, 0, 2), (2, 3, 4)]
    assert covers("Xbcdef", *CHAIN) == []
    assert covers("", *CHAIN) == []


def test_a_link_is_not_valid_because_its_run_stands_elsewhere() -> None:
    assert covers("abcXdef", *CHAIN) == [(1, 0, 2)]
    assert covers("deabc", *CHAIN) == []


def test_a_chain_begins_where_its_scope_does() -> None:
    later = (link(5, "9", "de"), link(6, 5, "f"))
    assert covers("abcdef", *CHAIN, *later, after=[("", 0), ("9", 3)]) == [
        (1, 0, 2), (5, 3, 4), (2, 3, 4), (6, 5, 5), (3, 5, 5),
    ]  # fmt: skip
    assert covers("abcdef", *later, after=[("", 0), ("9", 2)]) == []


def test_several_links_may_go_on_from_one() -> None:
    other = link(4, 1, "def")
    assert covers("abcdef", *CHAIN, other) == [(1, 0, 2), (2, 3, 4), (4, 3, 5), (3, 5, 5)]


def test_only_what_reaches_far_enough_is_looked_for() -> None:
    assert covers("abcdefg", *CHAIN, after=[(2, 5)], reaching=5) == [(3, 5, 5)]
    assert covers("abcdefg", *CHAIN, reaching=3) == []


def test_a_chain_of_its_own_is_valid_beside_marks_and_a_note_of_a_span_is_placed_nowhere() -> None:
    own = (link(7, "@Maya", "ab"), link(8, 7, "cd"))
    note = link(9, "*", "bc")
    begun = find_starts([Mark(5, 5, MarkKind.CHAPTER, 1, "", "person", "")], ["@Maya", "*"])
    behind = link(10, "5", "cd")
    assert covers("abcdef", *own, note, behind, after=begun.items()) == [(7, 0, 1), (10, 2, 3), (8, 2, 3)]
    assert covers("Xabcd", *own, note, behind, after=begun.items()) == []


def test_covers_are_values() -> None:
    assert Covered(1, Span(0, 2)) == Covered(1, Span(0, 2))
