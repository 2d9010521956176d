"""A handler that does nothing: what is left is the cost of the worker itself."""

from bench.names import CLAIMED, NOOP, ONE_BY_ONE
from jobs.handlers import job
from ojs_project import env


@job(NOOP, queue=CLAIMED, idempotent=not env.flag(ONE_BY_ONE))
def noop(_number: int, _text: str) -> None:
    """Do nothing."""
