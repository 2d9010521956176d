"""The functions of `ojs_tasks.testing`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from ojs_tasks.handlers import Handler
from ojs_tasks.server import is_local, server, standing_in
from ojs_tasks.testing.bench import bench
from ojs_tasks.testing.eager import Eager
from ojs_tasks.testing.matching import Wanted, describe
from ojs_tasks.testing.memory import discover, in_memory
from ojs_tasks.testing.records import Enqueued, Run

MOST: Final = 1000


def run_available(
    queues: Sequence[str] = (), *, raises: bool = True, most: int = MOST
) -> list[Run]:
    """Run available jobs, and the jobs they enqueue, until none is left; return every attempt.

    `queues`: if empty, the queues of the handlers. `raises`: re-raise a handler's exception, after
    its attempt was failed, except Retry and Discard; with False look at `Run.error`. Raises
    TooManyJobs above `most` attempts, NoServer without a database or jobs in memory.
    """
    return bench().run_available(queues, raises=raises, most=most)


def make_due() -> int:
    """Make scheduled and retryable jobs due now; return how many there were."""
    return bench().make_due()


@contextmanager
def run_now(*, raises: bool = True) -> Iterator[None]:
    """Run each job and workflow at its enqueue, in a `with` block or in a decorated function.

    The enqueue claims available jobs of the same queues and runs them by their handlers: of a
    workflow all steps in order, with the results of the steps before. Then it returns the handle,
    whose state is the present one. Jobs that handlers enqueue run inside them. A job with a later
    time waits, a failed attempt waits for its retry: `make_due` and `run_available` run them.
    `raises`: the enqueue raises the handler's exception, except Retry and Discard. Without a
    database the jobs are in memory.
    """
    with ExitStack() as stack:
        if not is_local():
            stack.enter_context(in_memory())
        discover()
        inner = server()
        if isinstance(inner, Eager):  # of an outer `run_now`, whose `raises` this one replaces
            inner = inner.inner
        eager = Eager(inner, bench(), raises=raises)
        stack.enter_context(standing_in(eager, is_local=is_local()))
        yield


def enqueued(
    what: "str | Handler[..., Any] | None" = None,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    queue: str | None = None,
    count: int | None = None,
) -> list[Enqueued]:
    """Return the jobs that this test has enqueued, in any state, the oldest first.

    `what` is a type or a handler. `args` and `kwargs` are all arguments of the call, as it passed
    them. With `count` it raises AssertionError unless it finds as many.
    """
    wanted = Wanted.of(what, args, kwargs, queue)
    jobs = bench().enqueued()
    found = [job for job in jobs if not wanted.differences(job)]
    if count is not None and len(found) != count:
        raise AssertionError(describe(wanted, jobs, str(count)))
    return found


def assert_enqueued(
    what: "str | Handler[..., Any] | None" = None,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    queue: str | None = None,
    count: int | None = None,
) -> list[Enqueued]:
    """Return the matching jobs, as `enqueued` does. Raises AssertionError if there is none."""
    found = enqueued(what, args=args, kwargs=kwargs, queue=queue, count=count)
    if not found and count is None:
        wanted = Wanted.of(what, args, kwargs, queue)
        raise AssertionError(describe(wanted, bench().enqueued(), "at least 1"))
    return found


def assert_not_enqueued(
    what: "str | Handler[..., Any] | None" = None,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    queue: str | None = None,
) -> None:
    """Raise AssertionError if a matching job was enqueued."""
    enqueued(what, args=args, kwargs=kwargs, queue=queue, count=0)
