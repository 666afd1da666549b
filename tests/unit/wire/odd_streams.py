"""Streams as servers really send them: one answer in many forms, all of which clients read as the same words."""

from __future__ import annotations

import json
from typing import Any

from previously.wire.sse import MAX_LINE_BYTES

SAID = "The ferry left at nine."


def chunk(text: object = None, *, index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One object of a streamed answer."""
    said = ({"content": text} if text is not None else {}) | delta
    return {"model": "small-7b", "choices": [{"index": index, "delta": said, "finish_reason": finish}]}


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def stream(*values: object, end: str = "\n\n", prefix: str = "data: ", done: bool = True) -> bytes:
    lines = [value if isinstance(value, str) else dumped(value) for value in values] + ["[DONE]"] * done
    return "".join(f"{prefix}{line}{end}" for line in lines).encode()


PLAIN = stream(chunk("The ferry "), chunk("left at nine."), chunk(finish="stop"))
EMOJI = stream(*(chunk(f"🦊 čaj {n} 東京 👩‍👩‍👧 ") for n in range(17)), chunk("終", finish="stop"))


TWO_LINES = b'data: {"choices":\ndata: [{"delta":{"content":"The ferry left at nine."}}]}\n\n'
PRETTY = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "The ferry left at nine."}, "finish_reason": "stop"}]},
    indent=2,
).encode()
PIECES = (chunk("The ferry "), chunk("left at nine."))

ODD_FORMS = {
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "lone CR": PLAIN.replace(b"\n", b"\r"),
    "no space": stream(*PIECES, prefix="data:"),
    "many spaces": stream(*PIECES, prefix="data:  \t "),
    "comments": b": OPENROUTER PROCESSING\n\n" + PLAIN.replace(b"\n\n", b"\n\n: still here\n\n"),
    "other fields": PLAIN.replace(b"data:", b"event: message\nid: 7\nretry: 5\nid\ndata:"),
    "two data lines": TWO_LINES,
    "three data lines, pretty": b"".join(b"data: " + line + b"\n" for line in PRETTY.split(b"\n")) + b"\n",
    "one line end": stream(*PIECES, end="\n"),
    "one line end, none at all at the end": stream(*PIECES, end="\n").rstrip(),
    "one object after the other": stream(dumped(PIECES[0]) + dumped(PIECES[1])),
    "one object after the other, with blanks": stream(f"{dumped(PIECES[0])}  {dumped(PIECES[1])} "),
    "events run together": stream(dumped(PIECES[0]) + "data: " + dumped(PIECES[1]) + "data: [DONE]", done=False),
    "no DONE": stream(*PIECES, done=False),
    "nothing after the last brace": stream(*PIECES, done=False).rstrip(),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "blank lines first": b"\r\n\n" + PLAIN,
    "whole messages": stream(*({"choices": [{"message": piece["choices"][0]["delta"]}]} for piece in PIECES)),
    "old completions": stream({"choices": [{"text": "The ferry "}]}, {"choices": [{"text": "left at nine."}]}),
    "null deltas": stream({"choices": [{"delta": None}]}, chunk(content=None), {"choices": [None]}, *PIECES),
    "empty delta beside a message": stream(
        {"choices": [{"delta": {}, "message": {"content": "The ferry left at nine."}}]}
    ),
    "content parts": stream(chunk([{"type": "text", "text": "The ferry "}]), PIECES[1]),
    "a list of chunks": stream([PIECES[0], PIECES[1]]),
    "no stream at all": dumped({"choices": [{"message": {"content": "The ferry left at nine."}}]}).encode(),
    "no stream at all, pretty": PRETTY,
    "no stream, with blank lines and a mark": b"\xef\xbb\xbf\n" + PRETTY.replace(b"\n", b"\r\n\r\n") + b"\n",
    "an object per line": stream(*PIECES, prefix="", end="\n", done=False),
    "a body that goes on as a stream": b"{}\n" + PLAIN,
    "pings": PLAIN.replace(b"data:", b'event: ping\ndata: {"type": "ping"}\n\ndata:', 1),
    "usage null": stream({"usage": None, "choices": []}, *PIECES),
    "words after DONE": PLAIN + stream(chunk("and more"), done=False),
    "junk lines": b"hello\ndata: hello\n\ndata: 12\n\ndata: {]\n\n" + PLAIN + b"<html>\n",
    "junk inside an event of one line end": b"data: {]\n" + stream(*PIECES, end="\n"),
    "a line that is too long": b"data: " + b"x" * (MAX_LINE_BYTES + 1) + b"\n\n" + PLAIN,
    "index missing": stream(*({"choices": [{"delta": piece["choices"][0]["delta"]}]} for piece in PIECES)),
    "index of a wrong kind": stream(*({"choices": [piece["choices"][0] | {"index": "0"}]} for piece in PIECES)),
}  # fmt: skip
