"""No bad reply becomes memory, and good recaps pass: the two corpora, counted."""

from __future__ import annotations

from collections import Counter

import pytest

from previously.core.words import count_words
from previously.folds.checks import Accepted, Refusal, Refused, judge, judge_text
from tests.folds.checks import corpus

EXPECTED = {
    "empty": {Refusal.EMPTY, Refusal.REASONING, Refusal.NOT_PROSE},
    "whitespace": {Refusal.EMPTY},
    "refusal": {Refusal.REFUSAL, Refusal.FIRST_PERSON, Refusal.TALK, Refusal.EMPTY, Refusal.COLLAPSE},
    "reasoning": {Refusal.REASONING, Refusal.TALK, Refusal.FIRST_PERSON},
    "truncated": {Refusal.TRUNCATED, Refusal.TALK},
    "tool call": {Refusal.TOOL_CALL, Refusal.NOT_PROSE},
    "echo": {Refusal.ECHO, Refusal.NOT_PROSE, Refusal.TALK},
    "unchanged": {Refusal.UNCHANGED},
    "assistant's talk": {Refusal.TALK, Refusal.REFUSAL},
    "first person": {Refusal.FIRST_PERSON},
    "unknown person": {Refusal.UNKNOWN_PERSON, Refusal.TALK},
    "changed number": {Refusal.UNKNOWN_NUMBER},
    "collapse": {Refusal.COLLAPSE},
    "people missing": {Refusal.PEOPLE_MISSING, Refusal.COLLAPSE, Refusal.EMPTY},
    "too long": {Refusal.TOO_LONG, Refusal.FIRST_PERSON},
    "wrong language": {Refusal.WRONG_LANGUAGE},
    "invented speakers": {Refusal.UNKNOWN_PERSON, Refusal.NOT_PROSE, Refusal.TRUNCATED, Refusal.COLLAPSE},
    "markup or preamble": {Refusal.NOT_PROSE, Refusal.ECHO, Refusal.TALK, Refusal.TRUNCATED, Refusal.TOOL_CALL},
}
"""What a class may be refused for: any fault an answer has will do, but not just any."""


@pytest.mark.parametrize("label", corpus.CLASSES)
def test_no_bad_reply_is_accepted(label: str) -> None:
    cases = [case for case in corpus.bad_cases() if case.label == label]
    assert len(cases) >= 20
    for case in cases:
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


def test_at_most_one_good_recap_in_a_hundred_is_refused() -> None:
    cases = corpus.good_cases()
    refused = [
        f"{case.label}: {verdict.kind}: {verdict.reason}"
        for case in cases
        if isinstance(verdict := judge(case.asked, case.reply), Refused)
    ]
    assert len(refused) <= len(cases) // 100, "\n".join(refused)


def test_the_good_recaps_are_many_and_varied() -> None:
    cases = corpus.good_cases()
    assert len(cases) >= 700
    assert len({case.reply.text for case in cases}) >= 500
    assert len(corpus.recaps()) >= 60
    sizes = [count_words(case.reply.text) for case in cases]
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
