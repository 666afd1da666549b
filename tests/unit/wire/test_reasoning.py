"""Thinking is taken off the front of an answer, and nothing else is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.wire.reasoning import split_reasoning

ANSWER = "Wren tuned the piano."

FORMS = {
    "think": f"<think>The user wants a recap.</think>{ANSWER}",
    "think on its own lines": f"<think>\nThe user wants a recap.\n</think>\n\n{ANSWER}",
    "empty think": f"<think>\n\n</think>\n\n{ANSWER}",
    "capitals": f"<THINK>hm</THINK>{ANSWER}",
    "mixed case": f"<Think>hm</think>{ANSWER}",
    "space before": f"\n  <think>hm</think>{ANSWER}",
    "byte order mark before": f"\ufeff<think>hm</think>{ANSWER}",
    "attribute": f'<think type="deep" budget=20>hm</think>{ANSWER}',
    "space in the tags": f"< think >hm</ think >{ANSWER}",
    "thinking": f"<thinking>hm</thinking>{ANSWER}",
    "reasoning": f"<reasoning>hm</reasoning>{ANSWER}",
    "reason": f"<reason>hm</reason>{ANSWER}",
    "thought": f"<thought>hm</thought>{ANSWER}",
    "thoughts": f"<thoughts>hm</thoughts>{ANSWER}",
    "reflection": f"<reflection>hm</reflection>{ANSWER}",
    "analysis": f"<analysis>hm</analysis>{ANSWER}",
    "scratchpad": f"<scratchpad>hm</scratchpad>{ANSWER}",
    "inner monologue": f"<inner_monologue>hm</inner_monologue>{ANSWER}",
    "with a namespace": f"<seed:think>hm</seed:think>{ANSWER}",
    "closed by another name": f"<think>hm</thinking>{ANSWER}",
    "pipes": f"<|thinking|>hm<|/thinking|>{ANSWER}",
    "pipes, end": f"<|thinking|>hm<|end_thinking|>{ANSWER}",
    "pipes, start and end": f"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
    "pipes, begin of": f"<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>{ANSWER}<|end_of_solution|>",
    "pipes, think": f"<|think|>hm<|/think|>{ANSWER}",
    "square": f"[THINK]hm[/THINK]{ANSWER}",
    "square, small": f"[think]hm[/think]\n{ANSWER}",
    "triangles": f"◁think▷hm◁/think▷{ANSWER}",
    "unused tokens": f"<unused94>thought\nhm<unused95>{ANSWER}",
    "channel of thought": f"<|channel>thought\nhm<channel|>{ANSWER}",
    "harmony": f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    "harmony, whole": (
        f"<|start|>assistant<|channel|>analysis<|message|>hm<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
    "harmony, final only": f"<|channel|>final<|message|>{ANSWER}<|end|>",
    "harmony, commentary": (
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>well<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
    "harmony, constrained": f"<|channel|>final <|constrain|>json<|message|>{ANSWER}",
    "harmony, opened in the prompt": f"hm<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    "harmony, marks lost": f"analysisThe user wants a recap.assistantfinal{ANSWER}",
    "end without start": f"The user wants a recap, so\n</think>\n{ANSWER}",
    "end of thinking without start": f"hm</thinking>{ANSWER}",
    "end of square without start": f"hm[/THINK]{ANSWER}",
    "end of triangles without start": f"hm◁/think▷{ANSWER}",
    "end of pipes without start": f"hm<|END_THINKING|>{ANSWER}",
    "end at the very front": f"</think>{ANSWER}",
    "two blocks": f"<think>one</think>\n<think>two</think>\n{ANSWER}",
    "two kinds": f"<think>one</think><reflection>two</reflection>{ANSWER}",
    "nested": f"<think>a<think>b</think>c</think>{ANSWER}",
    "a tag mentioned in thinking": f"<think>I shall not write <think> again.</think>{ANSWER}",
    "closed twice": f"<think>hm</think></think>\n{ANSWER}",
    "answer in a bracket": f"<think>hm</think><answer>{ANSWER}</answer>",
    "response in a bracket": f"<think>hm</think>\n<response>\n{ANSWER}\n</response>\n",
    "other brackets in thinking": f"<think>a [THINK] or ◁think▷ or <b>bold</b></think>{ANSWER}",
    "code in thinking": f"<think>if a < b and c > d:</think>{ANSWER}",
}

NOTHING_LEFT = {
    "unterminated": "<think>The user wants",
    "unterminated thinking": "<thinking>\nThe user wants",
    "unterminated pipes": "<|thinking|>The user wants",
    "unterminated square": "[THINK]The user wants",
    "unterminated triangles": "◁think▷The user",
    "unterminated harmony": "<|channel|>analysis<|message|>The user wants",
    "harmony without a final": "<|channel|>commentary to=functions.x<|message|>{}<|call|>",
    "only the tag": "<think>",
    "only an empty block": "<think></think>",
    "end at the very end": "The user wants a recap.</think>",
    "second block unterminated": "<think>one</think><think>two",
    "closed by another kind": "<think>one[/THINK]",
}

KEPT = {
    "no tag": ANSWER,
    "empty": "",
    "space": " \n ",
    "tag in the story": "She wrote <think>hm</think> on the wall.",
    "tag at the end": "She wrote <think>",
    "a longer word": "<thinker>Rodin</thinker>",
    "a bracket word": "[THINKING CAP] He put it on.",
    "bold": "<b>Now</b> it rained.",
    "another tag": "<summary>It rained.</summary>",
    "answer bracket without thinking": "<answer>It rained.</answer>",
    "JSON with an end tag in it": json.dumps({"summary": "He typed </think> and left."}),
    "JSON with harmony in it": json.dumps({"summary": "<|channel|>final<|message|>"}),
    "list with an end tag in it": json.dumps(["a </thinking>"]),
    "a word like a lost mark": "analysis of the ferry: it sank.",
    "the word think": "I think so.",
    "escaped": "&lt;think&gt;hm&lt;/think&gt; It rained.",
}


@pytest.mark.parametrize("form", FORMS)
def test_only_the_answer_remains(form: str) -> None:
    reasoning, answer = split_reasoning(FORMS[form])
    assert answer == ANSWER
    assert ANSWER not in reasoning


@pytest.mark.parametrize("form", NOTHING_LEFT)
def test_nothing_remains(form: str) -> None:
    assert split_reasoning(NOTHING_LEFT[form])[1] == ""


@pytest.mark.parametrize("form", KEPT)
def test_what_is_no_leading_thinking_is_kept(form: str) -> None:
    assert split_reasoning(KEPT[form]) == ("", KEPT[form])


def test_thinking_is_kept_beside() -> None:
    assert split_reasoning("<think> one </think><think>two</think>Rain.") == ("one\ntwo", "Rain.")


def test_tags_in_the_answer_outlive_a_leading_block() -> None:
    text = "She wrote <think>hm</think> and </think> on the wall."
    assert split_reasoning(f"<think>x</think>{text}") == ("x", text)


def test_endless_blocks_do_not_take_endless_time() -> None:
    blocks = "<think><think></think>" * 20_000
    assert split_reasoning(blocks)[1] != blocks


PIECES = [
    "<think>", "</think>", "<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "<|start|>", "assistant",
    "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<thinking ", ">", "{", '"', " ", "\n", "It rained.",
    "<|START_THINKING|>", "<|END_THINKING|>", "<answer>", "</answer>", "\ufeff",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join))
def test_it_is_total_and_adds_nothing(text: str) -> None:
    reasoning, answer = split_reasoning(text)
    assert answer in text
    assert len(reasoning) <= len(text)
