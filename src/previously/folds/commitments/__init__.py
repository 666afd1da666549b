"""What was promised, owed, threatened, kept secret or given a deadline, and is still open.

`commitments_after` reads messages and hands on the list; `put_back` adds to a text what it left out.
"""

from previously.folds.commitments.keeping import LONGEST_WORDS, MOST, commitments_after, put_back

__all__ = ["LONGEST_WORDS", "MOST", "commitments_after", "put_back"]
