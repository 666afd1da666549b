"""List the names and numbers in recorded answers that their requests do not hold.

    python -m benchmarks.exam.invented [SET …] [--json]

Each request is made anew from the story and the recorded answers before it. A name is a capitalised word that does not
begin a sentence; a number is written in digits or in words, and its value counts ("twelve" is 12). What is listed is to
be read by a person: a title that the answer gives a known man is listed as well as a man nobody has heard of.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.exam.__main__ import BUDGETS
from benchmarks.exam.exams import Exam, load_exams
from benchmarks.exam.recordings import ANSWERS, Exchange, RecordedModel, read_answers, recorded_sets
from benchmarks.exam.rolling import KIND, summarise
from benchmarks.exam.sittings import fold_story, open_memory, prompts

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:]|[-–—*>|]\s|#\d+|[\"“”‘(])[\"“”‘’'()*\s]*$")
"""What stands before the first word of a sentence, an item, a table's cell, a quotation or a remark in brackets."""

_DIGITS = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?!\w)|(?<![\w.#])\d+(?=(?:st|nd|rd|th|s)\b)")
_MESSAGE_NUMBER = re.compile(r"#\d+(?:\s*[-–]\s*#?\d+)?|\bT\d+\b")
"""Numbers of messages and threads, which an answer names as it was asked to."""

_ONES = {
    word: value
    for value, words in enumerate(
        (
            "zero one first two second three third four fourth five fifth six sixth seven seventh eight eighth "
            "nine ninth ten tenth eleven eleventh twelve twelfth thirteen thirteenth fourteen fourteenth fifteen "
            "fifteenth sixteen sixteenth seventeen seventeenth eighteen eighteenth nineteen nineteenth"
        ).split(),
        start=0,
    )
    for word in (words,)
}
"""Filled below: the words of one number stand in pairs, cardinal and ordinal."""
