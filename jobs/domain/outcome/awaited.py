"""A look at a row whose end a process waits for."""

from typing import NamedTuple


class Look(NamedTuple):
    """A look at a row; `is_certain` false: a transaction that holds the row may be ending it."""

    id: str
    is_certain: bool
    has_ended: bool
