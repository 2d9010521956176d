"""Repeat transactions that the database undid because of other transactions."""

import random
import threading
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg
from django.db import Error, InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs import baton
from jobs.database import connection
from jobs.domain.sqlstates import MISTAKE, Refusal, refusal_of

T = TypeVar("T")

TRIES: Final = 4
PAUSE_S: Final = 0.02  # at most, before the first repetition; longer before each other


def refusal(problem: BaseException) -> Refusal | None:
    """Return the meaning of an error of Django or psycopg; None: not an error of the database."""
    if isinstance(problem, Error):
        kind: tuple[type[Exception], ...] = (OperationalError, InterfaceError)
        cause: BaseException | None = problem.__cause__
    elif isinstance(problem, psycopg.Error):
        kind, cause = (psycopg.OperationalError, psycopg.InterfaceError), problem
    else:
        return None
    state: str | None = getattr(cause, "sqlstate", None)
    if state is None and not isinstance(problem, kind):
        return MISTAKE
    return refusal_of(state)


def repeated(run: Callable[[], T], on: BaseDatabaseWrapper | None = None, tries: int = TRIES) -> T:
    """Run one whole transaction; repeat it if the database undid it for a temporary reason.

    Inside of a transaction `run` runs once: only the owner of the transaction can repeat it.
    """
    for attempt in range(1, tries + 1):
        try:
            return run()
        except OperationalError as problem:
            found = refusal(problem)
            if attempt == tries or found is None or not found.may_repeat:
                raise
            mine = on or connection
            if mine.in_atomic_block or not mine.autocommit:
                raise
        baton.pass_on()
        # other transactions need a moment; a random one, so that two do not meet again
        threading.Event().wait(random.random() * PAUSE_S * attempt)  # noqa: S311 - no secret
    raise AssertionError("the loop returns or raises")
