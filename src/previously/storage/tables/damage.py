"""`Damaged`: the error for rows that no version of Previously wrote, in place of any error of the code that reads them.

Decoders of rows are marked with `mark_decoder`; a row that must be there is asked for with `expect_row`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from previously.core.errors import StoreProblem

R = TypeVar("R")
T = TypeVar("T")


class Damaged(StoreProblem):
    """Something in the store is not as it must be."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"The store is damaged: {what} {why}. `previously verify` names all that is damaged; `previously restore` "
            "brings stories back from a backup."
        )
        self.what: str = what
        self.why: str = why


def mark_decoder(what: str) -> Callable[[Callable[[R], T]], Callable[[R], T]]:
    """A decoder whose row is damaged wherever its columns hold what cannot be decoded."""

    def marked(decode: Callable[[R], T]) -> Callable[[R], T]:
        @wraps(decode)
        def decoded(row: R) -> T:
            try:
                return decode(row)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise Damaged(what, f"cannot be read ({type(error).__name__}: {error})") from error

        return decoded

    return marked


def expect_row(row: T | None, what: str) -> T:
    """A row that others refer to."""
    if row is None:
        raise Damaged(what, "is not there")
    return row
