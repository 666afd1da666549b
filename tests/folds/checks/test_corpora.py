"""No bad reply becomes memory, and good recaps pass: the two corpora, counted."""

from __future__ import annotations

from collections import Counter

import pytest

from previously.core.words import count_words
from previously.folds.checks import Accepted, Refusal, Refused, judge, judge_text
from tests.folds.checks import corpus

EXPECTED = {
    "empty": {Refusal.EMPTY, Refusal.REASONING, Refusal.NOT_PROSE, Refusal.TRUNCATED},
    "whitespace": {Refusal.EMPTY},
    "refusal": {Refusal.REFUSAL, Refusal.PEOPLE_MISSING, Refusal.REASONING, Refusal.EMPTY},
    "reasoning": {Refusal.REASONING},
    "truncated": {Refusal.TRUNCATED},
    "tool call": {Refusal.TOOL_CALL, Refusal.TRUNCATED, Refusal.NOT_PROSE},
    "echo": {Refusal.ECHO},
    "too long": {Refusal.TOO_LONG},
    "wrong language": {Refusal.WRONG_LANGUAGE},
    "invented speakers": {Refusal.SPEAKERS_INVENTED, Refusal.PEOPLE_MISSING},
    "markup or preamble": {Refusal.NOT_PROSE, Refusal.ECHO, Refusal.REASONING, Refusal.TRUNCATED, Refusal.EMPTY},
    "dropped threads": {Refusal.THREAD_DROPPED, Refusal.PEOPLE_MISSING},
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
    assert len(corpus.bad_cases()) >= 600
    assert len({(case.asked, case.reply) for case in corpus.bad_cases()}) >= 590
    assert {case.label for case in corpus.bad_cases()} == set(corpus.CLASSES)


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
    assert len(cases) >= 900
    assert len({case.reply.text for case in cases}) >= 700
    assert len(corpus.recaps()) >= 60
    sizes = [count_words(case.reply.text) for case in cases]
    assert min(sizes) < 20
    assert max(sizes) > 500
    languages = Counter(recap.scene.language for recap in corpus.recaps())
    assert len(languages) == 8
    assert all(count >= 3 for count in languages.values())


def test_tidying_leaves_the_recap_itself() -> None:
    for index, recap in enumerate(corpus.recaps()):
        for wrapped in (*corpus.TRIMMINGS[index % 4 :: 4], corpus.LOCAL_TRIMMINGS[recap.scene.language]):
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
