"""Handlers without work: the remaining cost is the worker's own."""

import time

from bench.names import CLAIMED, NOOP, ONE_BY_ONE, SLOW, TIMED
from ojs_project import env
from ojs_tasks import job


@job(NOOP, queue=CLAIMED, idempotent=not env.flag(ONE_BY_ONE))
def noop(_number: int, _text: str) -> None:
    """Do nothing."""


@job(TIMED, queue=TIMED)
def timed() -> float:
    """Return the start time of the handler, in seconds since 1970."""
    return time.time()


@job(SLOW, timeout=3600)
def slow(wanted: dict[str, float]) -> None:
    """Run for the given seconds."""
    time.sleep(wanted["seconds"])
