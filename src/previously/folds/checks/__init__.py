"""Whether an answer may become memory.

One question, asked before any commit: `judge` for what a model sent over the wire, `judge_text` for text that came
another way, `lost_commitments` for what a text dropped, `residue` for what an amended one still holds of removed words.
Pure, total, and wary of refusing: a text that a reader would call a fair recap passes, whatever its length, style and
language.
"""

from previously.folds.checks.judging import judge, judge_text, lost_commitments
from previously.folds.checks.residue import residue
from previously.folds.checks.support import Support, find_support
from previously.folds.checks.verdict import Accepted, Asked, Refusal, Refused

__all__ = [
    "Accepted",
    "Asked",
    "Refusal",
    "Refused",
    "Support",
    "find_support",
    "judge",
    "judge_text",
    "lost_commitments",
    "residue",
]
