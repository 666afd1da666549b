"""Looking for keys one at a time, character by character: slow, and plain enough to be believed."""

from __future__ import annotations

import re
import unicodedata

import re2  # type: ignore[import-untyped]

from previously.lore.entry import KeyedEntry, SecondaryLogic


def occurs(key: str, text: str, *, case_sensitive: bool = False, whole_words: bool = True) -> bool:
    """Whether a plain key occurs in a text."""
    key = unicodedata.normalize("NFC", key.strip())
    characters = list(unicodedata.normalize("NFC", text))
    wanted = key if case_sensitive else key.casefold()
    pieces = characters if case_sensitive else [one.casefold() for one in characters]
    for start in range(len(pieces)):
        taken = ""
        for end in range(start, len(pieces)):
            taken += pieces[end]
            if not wanted.startswith(taken):
                break
            if taken == wanted and (not whole_words or whole(characters, start, end + 1)):
                return bool(wanted)
    return False


def whole(characters: list[str], start: int, end: int) -> bool:
    """Whether neither edge of a match cuts a word in two."""
    cut_before = start > 0 and in_word(characters[start - 1]) and in_word(characters[start])
    cut_after = end < len(characters) and in_word(characters[end - 1]) and in_word(characters[end])
    return not cut_before and not cut_after


def in_word(character: str) -> bool:
    """Letters, digits, marks and the underscore, unless their script goes without spaces."""
    name = unicodedata.name(character, "")
    if re.match("CJK|HIRAGANA|KATAKANA|HALFWIDTH KATAKANA|HANGUL|THAI|LAO|KHMER|MYANMAR|IDEOGRAPHIC", name):
        return False
    joins = unicodedata.category(character)[0] in "LNM" or character == "_"
    return joins or name in ("ZERO WIDTH JOINER", "ZERO WIDTH NON-JOINER")


def mentioned(entry: KeyedEntry, messages: list[str], depth: int) -> bool:
    """Whether the keys of an entry are satisfied by the newest messages, key by key."""
    read = messages[: depth if entry.scan_depth is None else entry.scan_depth]

    def found(key: str) -> bool:
        if key.startswith("/") and key.endswith("/"):
            return re2.search(key[1:-1], "\n".join("\x01" + one for one in read)) is not None
        return any(occurs(key, one, case_sensitive=entry.case_sensitive, whole_words=entry.whole_words) for one in read)

    if not any(map(found, entry.keys)):
        return False
    there = [found(key) for key in entry.secondary]
    return (
        not there
        or {
            SecondaryLogic.AND_ANY: any(there),
            SecondaryLogic.AND_ALL: all(there),
            SecondaryLogic.NOT_ANY: not any(there),
            SecondaryLogic.NOT_ALL: not all(there),
        }[entry.logic]
    )
