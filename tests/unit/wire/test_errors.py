"""What servers say when they refuse, and what it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.model_io import FailureKind
from previously.wire.errors import (
    Redaction,
    build_failure,
    collect_error_words,
    find_counted_tokens,
    find_named_window,
    find_retry_after_s,
    judge_failure,
)

KIND = FailureKind


def openai(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


OVERFLOWS: dict[str, tuple[int, object, int | None]] = {
    "llama.cpp": (
        400,
        openai(
            "request (5031 tokens) exceeds the available context size (2048 tokens), try increasing it",
            code=400, type="exceed_context_size_error", n_prompt_tokens=5031, n_ctx=2048,
        ),
        2_048,
    ),
    "llama.cpp, older": (400, openai("the request exceeds the available context size, try increasing it"), None),
    "llama.cpp, oldest": (500, openai("Context size has been exceeded.", code=500, type="server_error"), None),
    "vLLM": (
        400,
        openai("This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens."),
        4_096,
    ),
    "vLLM, older": (
        400,
        {"object": "error", "message": "This model's maximum context length is 6048 tokens. However, 6616"},
        6_048,
    ),
    "vLLM, too little left": (
        400,
        openai("'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096"),
        4_096,
    ),
    "vLLM, nothing left": (400, {"message": "max_tokens must be at least 1, got -186."}, None),
    "OpenAI": (
        400,
        openai("Please reduce the length of the messages.", code="context_length_exceeded", param="messages"),
        None,
    ),
    "OpenAI, newer": (400, openai("Your input exceeds the context window of this model."), None),
    "OpenAI, configured": (400, openai("Input tokens exceed the configured limit of 272000 tokens."), 272_000),
    "OpenAI, too large for the minute": (429, openai("Request too large for gpt-4o on tokens per min (TPM)"), None),
    "OpenRouter": (
        400,
        openai("This endpoint's maximum context length is 32768 tokens. However, you requested about 40000", code=400),
        32_768,
    ),
    "Ollama": (400, openai("input length exceeds maximum context length"), None),
    "Ollama, prompt": (400, openai("prompt too long; exceeded max context length by 4 tokens"), None),
    "Ollama, runner": (500, {"error": "the input length exceeds the context length"}, None),
    "LM Studio": (
        400,
        {"error": "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with "
                  "context length of only 7866 tokens, which is not enough."},
        7_866,
    ),
    "LM Studio, newer": (
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
        None,
    ),
    "LM Studio, n_keep": (400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, 7_424),
    "KoboldCpp": (400, {"detail": {"msg": "Prompt is too long for the context.", "type": "bad_input"}}, None),
    "Anthropic": (400, openai("prompt is too long: 213462 tokens > 200000 maximum"), 200_000),
    "Anthropic, with the answer": (
        400,
        openai("input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length"),
        200_000,
    ),
    "Anthropic, in bytes": (413, openai("Request exceeds the maximum size", type="request_too_large"), None),
    "Anthropic, by its type": (400, openai("No.", type="request_too_large"), None),
    "Bedrock": (400, {"message": "Input is too long for requested model."}, None),
    "Gemini, with numbers": (
        400,
        openai("The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."),
        1_048_576,
    ),
    "Copilot": (400, openai("prompt token count of 138374 exceeds the limit of 128000"), 128_000),
    "Groq, by the message": (400, openai("Please reduce the length of the messages or completion."), None),
    "Groq, by the minute": (
        413,
        openai("Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7312"),
        6_000,
    ),
    "z.ai": (400, openai("Prompt exceeds max length"), None),
    "z.ai, by its reason": (400, openai("model_context_window_exceeded"), None),
    "MiniMax": (400, openai("invalid params, context window exceeds limit"), None),
    "Poolside": (400, openai("Input exceeds the maximum allowed input length of 131,072 tokens"), 131_072),
    "Together": (
        422,
        openai("The input (70000 tokens) is longer than the model's context length (65536 tokens)."),
        65_536,
    ),
    "DashScope": (400, openai("Range of input length should be [1, 98304]"), 98_304),
    "DS4": (400, openai("prompt has 9,001 tokens, but the configured context size is 8,192 tokens"), 8_192),
    "in general": (400, openai("token limit exceeded"), None),
    "Gemini": (400, openai("The input token count (1196265) exceeds the maximum number of tokens allowed"), None),
    "Mistral": (400, openai("40000 tokens, too large for model with 32768 maximum context length"), 32_768),
    "xAI": (400, {"error": "This model's maximum prompt length is 131072 but the request has 537812."}, 131_072),
    "Groq": (413, openai("Request too large for model"), None),
    "a proxy": (413, "<html>413 Request Entity Too Large</html>", None),
    "Kimi": (400, openai("Invalid request: Your request exceeded model token limit: 131072"), 131_072),
}  # fmt: skip

FILTERS: dict[str, tuple[int, object]] = {
    "Azure": (400, openai("Filtered due to the content management policy.", code="content_filter")),
    "Azure, inner": (400, openai("Blocked.", innererror={"code": "ResponsibleAIPolicyViolation"})),
    "OpenAI": (400, openai("Rejected.", code="content_policy_violation")),
    "OpenRouter": (403, openai("Your chosen model requires moderation and your input was flagged", code=403)),
    "OpenRouter, metadata": (403, openai("No.", metadata={"reasons": ["violence"], "raw": "moderation"})),
    "Qwen": (400, openai("Input data may contain inappropriate content.", code="data_inspection_failed")),
    "DeepSeek": (400, openai("Content Exists Risk")),
    "xAI": (403, openai("Content violates usage guidelines.")),
    "Gemini": (400, openai("PROHIBITED_CONTENT")),
}  # fmt: skip

OTHERS: list[tuple[int, object, FailureKind]] = [
    (400, openai("Unknown field"), KIND.BAD_REQUEST),
    (400, "", KIND.BAD_REQUEST),
    (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, KIND.BAD_REQUEST),
    (405, "", KIND.BAD_REQUEST),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, KIND.BAD_REQUEST),
    (301, "", KIND.BAD_REQUEST),
    (401, openai("Incorrect API key provided: sk-abcd****wxyz."), KIND.UNAUTHORIZED),
    (402, openai("Insufficient credits"), KIND.UNAUTHORIZED),
    (403, openai("Country not supported"), KIND.UNAUTHORIZED),
    (407, "", KIND.UNAUTHORIZED),
    (429, openai("You exceeded your current quota", code="insufficient_quota"), KIND.UNAUTHORIZED),
    (429, openai("Rate limit reached for tokens per min"), KIND.RATE_LIMITED),
    (429, "slow down", KIND.RATE_LIMITED),
    (400, openai("ThrottlingException: Too many tokens, please wait: rate limit"), KIND.BAD_REQUEST),
    (503, openai("Too many requests: input tokens per minute exceeded the maximum"), KIND.SERVER),
    (408, "", KIND.TIMEOUT),
    (500, "", KIND.SERVER),
    (502, "<html>Bad Gateway</html>", KIND.SERVER),
    (503, openai("Loading model", code=503, type="unavailable_error"), KIND.SERVER),
    (503, {"detail": {"msg": "Server is busy; please try again later."}}, KIND.SERVER),
    (504, "", KIND.SERVER),
    (529, openai("Overloaded"), KIND.SERVER),
    (599, None, KIND.SERVER),
]


@pytest.mark.parametrize("server", OVERFLOWS)
def test_an_input_that_is_too_long(server: str) -> None:
    status, body, window = OVERFLOWS[server]
    failure = build_failure(status, body, redaction=Redaction())
    assert failure.kind is KIND.OVERFLOW
    assert failure.window_tokens == window


@pytest.mark.parametrize("server", FILTERS)
def test_a_content_filter(server: str) -> None:
    status, body = FILTERS[server]
    assert build_failure(status, body, redaction=Redaction()).kind is KIND.FILTERED


@pytest.mark.parametrize(("status", "body", "kind"), OTHERS)
def test_everything_else(status: int, body: object, kind: FailureKind) -> None:
    assert build_failure(status, body, redaction=Redaction()).kind is kind


def test_the_server_is_quoted_where_that_helps() -> None:
    failure = build_failure(
        404, openai('model "x" not found, try pulling it first.'), redaction=Redaction("secret", "Once.")
    )
    assert failure.reason == (
        'The server did not accept the request (status 404): model "x" not found, try pulling it first.'
    )


@pytest.mark.parametrize(
    "said",
    [
        "bad key hunter2-hunter2",
        "Incorrect key sk-abcd1234****wxyz",
        "Bearer abcdefgh is wrong",
        'could not parse "Odalys hid the ledger under the third stair"',
        'could not parse "Odalys hid the\\nledger under the third stair" and more'.replace("\\n", "\n  "),
    ],
)
def test_neither_keys_nor_prompts_are_quoted(said: str) -> None:
    redaction = Redaction("hunter2-hunter2", "Recap this:\nOdalys hid the ledger under the third stair.")
    assert redaction.quote(said) == ""
    assert (
        build_failure(400, openai(said), redaction=redaction).reason
        == "The server did not accept the request (status 400)."
    )


def test_long_words_are_cut_and_put_on_one_line() -> None:
    quoted = Redaction().quote("no\n\nwords " * 500)
    assert len(quoted) == 200
    assert "\n" not in quoted


def test_an_echo_of_the_request_is_not_read() -> None:
    body = {"detail": [{"loc": ["body", "n"], "msg": "bad", "input": {"messages": "maximum context length"}}]}
    assert collect_error_words(body) == "bad body n"
    assert build_failure(422, body, redaction=Redaction()).kind is KIND.BAD_REQUEST


NOON = 784_111_777.0 - 60  # a minute before Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 60.0),
        ({"retry-after": "Sunday, 06-Nov-94 08:49:37 GMT"}, 60.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:40:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 99 Nov 1994 08:49:37 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert find_retry_after_s(headers, NOON) == seconds


def test_a_wait_is_told_only_where_waiting_helps() -> None:
    assert build_failure(429, "", redaction=Redaction(), retry_after_s=9.0).retry_after_s == 9.0
    assert build_failure(503, "", redaction=Redaction(), retry_after_s=9.0).retry_after_s == 9.0
    assert build_failure(400, "", redaction=Redaction(), retry_after_s=9.0).retry_after_s is None


@given(st.integers(100, 999), st.text(), st.text())
def test_it_is_total(status: int, words: str, header: str) -> None:
    assert judge_failure(status, words) in KIND
    find_named_window(words)
    find_retry_after_s({"retry-after": header}, NOON)


@given(st.text(alphabet="0123456789,", max_size=14))
def test_odd_numbers_do_no_harm(digits: str) -> None:
    find_named_window(f"n_ctx {digits} context length {digits}")


def test_how_much_was_sent_by_the_count_of_the_server() -> None:
    assert find_counted_tokens("prompt is too long: 213462 tokens > 200000 maximum") == 213_462
    assert find_counted_tokens("request (5031 tokens) exceeds the available context size (2048 tokens)") == 5_031
    assert find_counted_tokens("This model's maximum context length is 4096 tokens.") is None
    assert find_counted_tokens("exceed context limit: 190000 + 21333 > 200000") is None, (
        "no number is beyond the window"
    )
    assert find_counted_tokens("12345") is None, "no window is told"
