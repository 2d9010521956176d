"""The names that other libraries give to calls and results, and the names to use instead.

A class of ours that has one of these tables raises AttributeError with the advice. Type checkers do
not see `__getattr__`: for them an unknown name stays an error.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NoReturn

_ENQUEUE: Final = "enqueue(…)"
_WITH: Final = "options(delay=60, queue=…).enqueue(…)"
_RUN: Final = "a plain call runs the function, ojs_tasks.testing.run_now() runs jobs at once"
_STATE: Final = "refresh().state"

# of a handler and of a signature
CALLS: Final[Mapping[str, str]] = {
    "delay": _ENQUEUE, "delay_on_commit": f"{_ENQUEUE}, which joins the transaction",
    "apply_async": _WITH, "apply_async_on_commit": f"{_WITH}, which joins the transaction",
    "send": _ENQUEUE, "send_with_options": _WITH, "message": "s(…)", "message_with_options": "s(…)",
    "defer": _ENQUEUE, "defer_async": "aenqueue(…)", "batch_defer": "ojs_tasks.enqueue([…])",
    "configure": "options(…)", "schedule": _WITH, "enqueue_in": _WITH, "enqueue_at": _WITH,
    "using": "options(…)", "set": "options(…)", "signature": "s(…)", "si": "s(…)",
    "subtask": "s(…)", "apply": _RUN, "call": _RUN, "call_local": _RUN, "fn": _RUN, "run_now": _RUN,
    "map": "ojs_tasks.enqueue([…])", "starmap": "ojs_tasks.enqueue([…])",
    "chunks": "ojs_tasks.enqueue([…])", "chord": "ojs_tasks.batch([…], on_success=…)",
    "retry": "raise ojs_tasks.Retry(in_=60)", "request": "ojs_tasks.current_job()",
    "update_state": "ojs_tasks.current_job().progress(…)", "name": "type",
    "AsyncResult": "ojs_tasks.get(id)", "get_result": "ojs_tasks.get(id)",
}  # fmt: skip
# of a handle
RESULTS: Final[Mapping[str, str]] = {
    "get": "result(timeout=10)", "wait": "result(timeout=10)", "aget": "aresult(timeout=10)",
    "return_value": "result(timeout=0)", "status": _STATE, "get_status": _STATE, "ready": _STATE,
    "successful": f'{_STATE} == "completed"', "failed": f'{_STATE} == "discarded"',
    "is_finished": _STATE, "is_failed": _STATE, "is_successful": _STATE,
    "revoke": "cancel()", "abort": "cancel()", "forget": "the term result_ttl",
    "traceback": 'errors[-1]["backtrace"]', "exc_info": 'errors[-1]["backtrace"]',
    "info": "progress", "meta": "progress", "task_id": "id", "job_id": "id", "message_id": "id",
    "children": "a workflow's steps", "collect": "a workflow's results()",
    "join": "result(timeout=10)", "completed_count": "progress.done", "retries": "attempt",
    "kind": "type", "name": "type",
}  # fmt: skip


def missing(owner: type, name: str, advice: Mapping[str, str]) -> AttributeError:
    """Return the error of a name that a class lacks, with the name to use instead."""
    problem = f"{owner.__name__} has no {name!r}"
    if name in advice:
        problem += f": use {advice[name]}"
    elif not name.startswith("_"):
        known = [one for one in dir(owner) if not one.startswith("_")]
        if near := get_close_matches(name, known, 1):
            problem += f": did you mean {near[0]!r}?"
    return AttributeError(problem, name=name)


class Calls:
    """A base of the classes that producers call."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError; Python calls it for names that do not exist."""
            raise missing(type(self), name, CALLS)


class Results:
    """A base of handles."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError; Python calls it for names that do not exist."""
            raise missing(type(self), name, RESULTS)
