"""Middleware of both kinds around handlers of both kinds. Spec: contract 12.2."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction, sync_to_async
from django.utils.decorators import sync_and_async_middleware

from jobs.middleware import Chain, Link
from jobs.worker.execution import EXECUTION
from ojs_tasks import Context, current_job, job
from ojs_tasks.middleware import Wrapper
from ojs_tasks.registry import handler_of
from ojs_tasks.worker import chain
from ojs_tasks.worker.chain import steps_for
from tests.jobs.worker.loops import Attempts
from tests.processes import DEADLINE_S
from tests.spec import spec

Following = Callable[[Context], Any]
request: ContextVar[str] = ContextVar("request", default="none")


def plain(context: Context, following: Following) -> Any:
    """Wrap the result, as a function."""
    context.extras.setdefault("order", []).append("plain")
    request.set("plain")
    return ["plain", following(context)]


async def native(context: Context, following: Following) -> Any:
    """Wrap the result, as a coroutine function."""
    context.extras.setdefault("order", []).append("native")
    request.set("native")
    return ["native", await following(context)]


@sync_and_async_middleware
def both(context: Context, following: Following) -> Any:
    """Wrap the result, as the handler needs it."""
    context.extras.setdefault("order", []).append("both")
    if not iscoroutinefunction(following):
        return ["both", following(context)]

    async def around() -> Any:
        return ["both", await following(context)]

    return around()


class Made:
    """A middleware that is an object."""

    async def __call__(self, context: Context, following: Following) -> Any:
        """Wrap the result."""
        return ["made", await following(context)]


def quiet(context: Context, following: Following) -> Any:
    """Turn an exception into a result, deliberately."""
    try:
        return following(context)
    except ZeroDivisionError:
        return "infinite"


def function() -> list[Any]:
    """Return what a handler sees."""
    return [*current_job().extras.get("order", []), request.get()]


async def coroutine() -> list[Any]:
    """Return what a handler sees."""
    await asyncio.sleep(0)
    return function()


@pytest.fixture
def around(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that configures middleware for one test."""
    request.set("none")

    def configure(*wrappers: Wrapper) -> None:
        made = Chain(Link(str(n), wrapper) for n, wrapper in enumerate(wrappers))
        monkeypatch.setattr(chain, "execution_chain", lambda: made)
        monkeypatch.setattr(chain, "steps_around", chain.steps_around.__wrapped__)

    return configure


CHAINS = [
    ((), "none"),
    ((plain,), "plain"),
    ((native,), "native"),
    ((both,), "none"),
    ((plain, native), "native"),
    ((native, plain), "plain"),
    ((plain, both, native, both, plain), "plain"),
]


@spec("contract 12.2")
@pytest.mark.parametrize(("wrappers", "variable"), CHAINS)
@pytest.mark.parametrize("handler", [function, coroutine])
@pytest.mark.parametrize("way", ["worker", "test"])
def test_the_order_and_the_result_do_not_depend_on_the_kinds(
    attempts: Attempts,
    around: Callable[..., None],
    wrappers: tuple[FunctionType, ...],
    variable: str,
    handler: Callable[..., Any],
    way: str,
) -> None:
    around(*wrappers)
    job("a.one")(handler)
    attempt = attempts.prepare("a.one")
    steps = steps_for(handler_of(attempt.entry.context.job))

    if way == "worker" and steps.on_loop:
        attempts.run(attempt)
    else:
        attempt.ended.put(EXECUTION.execute(attempt.entry.context, steps))

    names = [wrapper.__name__ for wrapper in wrappers]
    expected: Any = [*names, variable]
    for name in reversed(names):
        expected = [name, expected]
    assert attempt.result() == expected


def test_an_object_may_be_a_middleware(attempts: Attempts, around: Callable[..., None]) -> None:
    around(Made())

    assert attempts.start(coroutine).result() == ["made", ["none"]]


@spec("contract 12.2")
def test_a_function_around_a_coroutine_may_turn_its_exception_into_a_result(
    attempts: Attempts, around: Callable[..., None]
) -> None:
    around(quiet)

    async def handler() -> float:
        return 1 / 0

    assert attempts.start(handler).result() == "infinite"


def test_a_function_and_the_synchronous_code_of_its_coroutine_share_a_thread(
    attempts: Attempts, around: Callable[..., None]
) -> None:
    """So a transaction of the middleware holds the statements of the handler."""
    seen: list[int] = []

    def note(context: Context, following: Following) -> Any:
        seen.append(threading.get_ident())
        return following(context)

    async def handler() -> None:
        seen.append(await sync_to_async(threading.get_ident)())

    around(note)
    attempts.start(handler).result()

    assert len(set(seen)) == 1


def test_attempts_with_a_function_as_middleware_run_at_once(
    attempts: Attempts, around: Callable[..., None]
) -> None:
    around(plain)
    met = asyncio.Barrier(10)

    async def handler() -> None:
        await met.wait()

    started = [attempts.start(handler) for _ in range(10)]

    assert [one.result() for one in started] == [["plain", None]] * 10


def test_stop_iteration_is_an_error(attempts: Attempts, around: Callable[..., None]) -> None:
    around(native)

    def handler() -> None:
        raise StopIteration

    assert attempts.start(handler).error()["type"] == "RuntimeError"


def test_a_function_that_returns_a_coroutine_says_so(attempts: Attempts) -> None:
    def handler() -> Any:
        return coroutine()

    job("a.hidden")(handler)
    attempt = attempts.prepare("a.hidden")

    attempt.ended.put(EXECUTION.execute(attempt.entry.context))

    assert "is no coroutine function" in attempt.error()["message"]


def test_a_handler_that_waits_in_a_thread_ends_with_its_timeout(
    attempts: Attempts, around: Callable[..., None]
) -> None:
    """Check a function within asynchronous middleware: it gets JobTimeout in its thread."""
    around(native)
    begun = threading.Event()

    def handler() -> None:
        begun.set()
        while not threading.Event().wait(0.01):
            pass

    attempt = attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempts.expire(attempt)

    assert attempt.error()["code"] == "timeout"


def test_a_coroutine_within_a_function_ends_with_its_timeout(
    attempts: Attempts, around: Callable[..., None]
) -> None:
    around(plain)
    begun = threading.Event()

    async def handler() -> None:
        begun.set()
        await asyncio.Event().wait()

    attempt = attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempts.expire(attempt)

    assert attempt.error()["code"] == "timeout"
