"""No bad reply becomes memory, and good recaps pass: the two corpora, counted."""

from __future__ import annotations

from collections import Counter

import pytest

from previously.core.scripts import count_words
from previously.folds.checks import Accepted, RefusalKind, Refused, judge, judge_text
from tests.effort import cases
from tests.unit.folds.checks import corpus

EXPECTED = {
    "empty": {RefusalKind.EMPTY, RefusalKind.REASONING, RefusalKind.NOT_PROSE},
    "whitespace": {RefusalKind.EMPTY},
    "refusal": {
        RefusalKind.REFUSAL,
        RefusalKind.FIRST_PERSON,
        RefusalKind.TALK,
        RefusalKind.EMPTY,
        RefusalKind.COLLAPSE,
    },
    "reasoning": {RefusalKind.REASONING, RefusalKind.TALK, RefusalKind.FIRST_PERSON},
    "truncated": {RefusalKind.TRUNCATED, RefusalKind.TALK},
    "tool call": {RefusalKind.TOOL_CALL, RefusalKind.NOT_PROSE},
    "echo": {RefusalKind.ECHO, RefusalKind.NOT_PROSE, RefusalKind.TALK},
    "unchanged": {RefusalKind.UNCHANGED},
    "assistant's talk": {RefusalKind.TALK, RefusalKind.REFUSAL},
    "first person": {RefusalKind.FIRST_PERSON},
    "unknown person": {RefusalKind.UNKNOWN_PERSON, RefusalKind.TALK},
    "changed number": {RefusalKind.UNKNOWN_NUMBER},
    "collapse": {RefusalKind.COLLAPSE},
    "people missing": {RefusalKind.PEOPLE_MISSING, RefusalKind.COLLAPSE, RefusalKind.EMPTY},
    "too long": {RefusalKind.TOO_LONG, RefusalKind.FIRST_PERSON},
    "wrong language": {RefusalKind.WRONG_LANGUAGE},
    "invented speakers": {
        RefusalKind.UNKNOWN_PERSON,
        RefusalKind.NOT_PROSE,
        RefusalKind.TRUNCATED,
        RefusalKind.COLLAPSE,
    },
    "markup or preamble": {
        RefusalKind.NOT_PROSE,
        RefusalKind.ECHO,
        RefusalKind.TALK,
        RefusalKind.TRUNCATED,
        RefusalKind.TOOL_CALL,
    },
}
"""What a class may be refused for: any fault an answer has will do, but not just any."""


EVERY = cases(1, quick=5)
"""`make test` reads a part of each corpus: every fifth."""


@pytest.mark.random
@pytest.mark.parametrize("label", corpus.CLASSES)
def test_no_bad_reply_is_accepted(label: str) -> None:
    replies = [case for case in corpus.bad_cases() if case.label == label]
    assert len(replies) >= 20
    for case in replies[::EVERY]:
        verdict = judge(case.asked, case.reply)
        assert isinstance(verdict, Refused), case.reply.text
        assert verdict.kind in EXPECTED[label], (verdict, case.reply.text)
        assert "\n" not in verdict.reason
        assert len(verdict.reason) < 200


def test_there_are_enough_bad_replies() -> None:
    assert len(corpus.bad_cases()) >= 1_200
    assert {case.label for case in corpus.bad_cases()} == set(corpus.CLASSES)


def test_what_makes_a_recap_bad_is_its_fault_alone() -> None:
    """The recaps that the bad ones were made from are kept: the checks see the change and nothing else."""
    for recap in corpus.recaps():
        verdict = judge(corpus.asked_of(recap.scene), corpus.reply_of(recap.text))
        assert isinstance(verdict, Accepted), (recap.scene.name, verdict)
        assert verdict.text == recap.text
        assert verdict.unverified == ()


@pytest.mark.random
def test_at_most_one_good_recap_in_a_hundred_is_refused() -> None:
    recaps = corpus.good_cases()[::EVERY]
    refused = [
        f"{case.label}: {verdict.kind}: {verdict.reason}"
        for case in recaps
        if isinstance(verdict := judge(case.asked, case.reply), Refused)
    ]
    assert len(refused) <= len(recaps) // 100, "\n".join(refused)


def test_the_good_recaps_are_many_and_varied() -> None:
    recaps = corpus.good_cases()
    assert len(recaps) >= 700
    assert len({case.reply.text for case in recaps}) >= 500
    assert len(corpus.recaps()) >= 60
    sizes = [count_words(case.reply.text) for case in recaps]
    assert min(sizes) < 20
    assert max(sizes) > 500
    languages = Counter(recap.scene.language for recap in corpus.recaps())
    assert len(languages) == 8
    assert all(count >= 3 for count in languages.values())


def test_tidying_leaves_the_recap_itself() -> None:
    for index, recap in enumerate(corpus.recaps()):
        for wrapped in corpus.TRIMMINGS[index % 3 :: 3]:
            verdict = judge(corpus.asked_of(recap.scene), corpus.reply_of(wrapped.format(recap.text)))
            assert isinstance(verdict, Accepted), (verdict, wrapped)
            assert verdict.text == recap.text, wrapped


def test_what_was_accepted_is_accepted_again_unchanged() -> None:
    for case in corpus.good_cases()[::15]:
        verdict = judge(case.asked, case.reply)
        if isinstance(verdict, Accepted):
            again = judge_text(case.asked, verdict.text)
            assert isinstance(again, Accepted), again
            assert again.text == verdict.text
