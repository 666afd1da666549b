"""A reply read while its bytes pass by on their way to a client, streamed or in one piece, in any of the interfaces.

Pure and total: `ReplyReader.feed` takes any bytes, split anywhere, and never raises. It reads what clients read and
forgives what they forgive: every kind of line end, `data:` without a space, comments, events of several data lines,
events ended by one line end, objects one after the other on a line, a body that is no stream, and a missing `[DONE]`.
What cannot be read is skipped and counted as junk.

Each object is parsed once, when its line is whole. Memory is bounded: a line of more than `MAX_LINE_BYTES` is junk, and
so is an event; a body that is no stream may have `max_body_bytes`; texts are bounded by `ReplyFold`.
"""

from __future__ import annotations

import json

from previously.core.patterns import lazy_pattern
from previously.wire.chat import ChatEvents
from previously.wire.reply import MAX_TEXT_BYTES, EventParser, Reply, ReplyFailed, ReplyFold

MAX_LINE_BYTES = 1_000_000
"""Far above any chunk of an answer."""

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Of an answer that is one JSON object, which may hold the chances of every token: all that a relay passes on."""

_SLICE_BYTES = 65_536
"""A larger piece is read in slices, so that a piece of nothing but line ends costs no list as long as itself."""

_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n" + _MARK
"""May stand before the first byte that tells a stream from a body: white space and a byte order mark."""

_BETWEEN = lazy_pattern(r"\s*(?:data:\s*)?")
"""May stand between two objects on one line."""

_LINE_COST_CHARS = 8
"""The cost of a line that waits, beside its characters: many empty ones take memory too."""

_read_object = json.JSONDecoder().raw_decode


class ReplyReader:
    """Bytes go in as they pass; `reply` says what the client got by now, `finish` what it got in the end."""

    __slots__ = (
        "_after_return",
        "_body",
        "_fold",
        "_in_error",
        "_longest_line",
        "_max_body_bytes",
        "_overlong",
        "_parser",
        "_partial",
        "_partial_bytes",
        "_waiting",
        "_waiting_chars",
    )

    def __init__(
        self,
        parser: EventParser | None = None,
        /,
        *,
        max_text_bytes: int = MAX_TEXT_BYTES,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        """`parser` knows the interface; without one it is chat completions."""
        self._parser = parser or ChatEvents()
        self._fold = ReplyFold(max_text_bytes, self._parser.finish_arguments)
        self._max_body_bytes = max_body_bytes
        self._body: bool | None = None
        """True for one JSON body instead of a stream; None until the first byte that tells."""
        self._longest_line = MAX_LINE_BYTES
        self._partial: list[bytes] = []
        """The pieces of a line whose end has not come."""
        self._partial_bytes = 0
        self._overlong = False
        self._after_return = False
        self._in_error = False
        """The event under way is called `error`."""
        self._waiting: list[str] = []
        """Data lines that are no object by themselves, and may be one together."""
        self._waiting_chars = 0

    @property
    def done(self) -> bool:
        """True when the server said that this is the end."""
        return self._fold.done

    @property
    def begun(self) -> bool:
        """True when anything came that a client could show or act upon, or an end."""
        return self._fold.begun

    def reply(self) -> Reply:
        """Return what the client got by now, in lines that are whole."""
        return self._fold.reply()

    def finish(self) -> Reply:
        """Return what the client got, now that no more comes. May be called more than once."""
        if self._partial or self._overlong:
            self._end_line(b"")
        self._end_event()
        return self._fold.reply()

    def feed(self, piece: bytes) -> None:
        if len(piece) > _SLICE_BYTES:
            for at in range(0, len(piece), _SLICE_BYTES):
                self.feed(piece[at : at + _SLICE_BYTES])
            return
        if not piece:
            return
        if self._body is None:
            self._look(piece)
        if b"\r" in piece or self._after_return:
            piece = self._normalize_ends(piece)
        first, *lines = piece.split(b"\n")
        if not lines:
            self._keep(first)
            return
        last = lines.pop()
        self._end_line(first)
        for line in lines:
            if line:
                self._line(line)
            elif not self._body:
                self._end_event()
        if last:
            self._keep(last)

    def _look(self, piece: bytes) -> None:
        start = piece.lstrip(_BLANKS)[:1]
        if start:
            self._body = start in b"{["
            self._fold.streamed = not self._body
            self._longest_line = self._max_body_bytes if self._body else MAX_LINE_BYTES

    def _normalize_ends(self, piece: bytes) -> bytes:
        """Return the piece with line feeds for line ends. One that came in two pieces is one."""
        if self._after_return and piece[:1] == b"\n":
            piece = piece[1:]
            self._after_return = False
        if piece:
            self._after_return = piece[-1:] == b"\r"
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, part: bytes) -> None:
        self._partial_bytes += len(part)
        if self._partial_bytes > self._longest_line:
            self._partial.clear()
            self._overlong = True
        elif part:
            self._partial.append(part)

    def _end_line(self, last: bytes) -> None:
        """End the line that was kept, which has come to its end."""
        if self._partial or self._overlong:
            self._keep(last)
            line = b"".join(self._partial)
            self._partial.clear()
        else:
            line = last
        overlong, self._overlong, self._partial_bytes = self._overlong, False, 0
        if overlong:
            self._fold.junk += 1
            self._fold.truncated = True
        elif line:
            self._line(line)
        elif not self._body:
            self._end_event()

    def _line(self, line: bytes) -> None:
        if line[:5] == b"data:":
            if self._body:
                self._become_stream()
            self._data(line[5:])
        elif self._body:
            self._body_line(line)
        elif line[:6] == b"event:":
            self._in_error = line[6:].strip() == b"error"
        elif line[:1] != b":" and line.strip(_BLANKS):
            self._odd_line(line)

    def _data(self, data: bytes) -> None:
        """Read the value of a data line. Nearly always it is one object, whole."""
        text = data.decode("utf-8", "replace").strip()
        if self._fold.done:
            self._fold.junk += bool(text) and text != "[DONE]"  # clients have stopped listening
        elif text == "[DONE]":
            self._end_event()
            self._fold.done = True
        elif text and not self._waiting and self._take_objects(text):
            pass
        elif text:
            self._wait(text)

    def _take_objects(self, text: str) -> bool:
        """Take the objects that stand one after the other; False if the text does not even begin with one."""
        try:
            value, end = _read_object(text)
        except (ValueError, RecursionError):
            return False
        self._take(value)
        while end < len(text):
            start = _BETWEEN.match(text, end).end()  # type: ignore[union-attr] # it also matches nothing
            if text.startswith("[DONE]", start):
                self._fold.done = True
                break
            if start == len(text):
                break
            try:
                value, end = _read_object(text, start)
            except (ValueError, RecursionError):
                self._fold.junk += 1
                break
            self._take(value)
        return True

    def _take(self, value: object) -> None:
        if self._in_error:
            error = value.get("error") if type(value) is dict else None
            self._fail(error or value)
        elif type(value) is dict:
            self._fold.add(self._parser.parse(value))
        elif type(value) is list and all(type(item) is dict for item in value):  # some servers send objects in a list
            for item in value:
                self._fold.add(self._parser.parse(item))
        else:
            self._fold.junk += 1

    def _fail(self, error: object) -> None:
        self._fold.add([ReplyFailed(error)])

    def _wait(self, text: str) -> None:
        """Keep a line that is no object by itself, or that follows one: the event may be whole later."""
        if self._waiting and text[0] == "{" and self._is_answer(text):
            self._end_event()  # a whole one: what came before it stays what it is
            self._take_objects(text)
            return
        self._waiting.append(text)
        self._waiting_chars += len(text) + _LINE_COST_CHARS
        if self._waiting_chars > self._longest_line:
            self._fold.truncated |= bool(self._body)
            self._end_event()

    def _is_answer(self, text: str) -> bool:
        try:
            value, _ = _read_object(text)
        except (ValueError, RecursionError):
            return False
        return type(value) is dict and self._parser.is_part(value)

    def _end_event(self) -> None:
        """End an event: what waited is read together, else line by line, else it is junk."""
        if self._waiting:
            waiting, self._waiting, self._waiting_chars = self._waiting, [], 0
            together = "\n".join(waiting)
            if len(waiting) > 1 and self._take_objects(together):
                pass
            elif self._in_error:
                self._fail(together)
            else:
                for text in waiting:
                    if len(waiting) == 1 or not self._take_objects(text):
                        self._fold.junk += 1
        self._in_error = False

    def _body_line(self, line: bytes) -> None:
        """Read a line of a JSON body, which may have as many as it likes, or one of several such bodies."""
        if line[:6] == b"event:":
            self._become_stream()
            self._line(line)
        else:
            self._data(line.lstrip(_BLANKS))

    def _become_stream(self) -> None:
        """Go on as a stream with what began as a body."""
        self._body = False
        self._fold.streamed = True
        self._longest_line = MAX_LINE_BYTES
        self._end_event()

    def _odd_line(self, line: bytes) -> None:
        """Look at a line of a stream that no client reads. Some servers break off with a bare error object."""
        if line.startswith(_MARK):
            self._line(line[len(_MARK) :])
            return
        if line.partition(b":")[0] in (b"id", b"retry", b"data", b"event"):
            return
        if line[:1] == b"{" and b'"error"' in line:
            try:
                value, _ = _read_object(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                value = None
            if type(value) is dict and value.get("error"):
                self._fail(value["error"])
                return
        self._fold.junk += 1
