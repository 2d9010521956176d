"""Attempts on the event loop: results, errors, variables, threads, and their end."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from ojs_tasks import Discard, Retry, current_job
from ojs_tasks.worker.lanes import SHARED
from tests.jobs.worker.loops import Attempts
from tests.processes import DEADLINE_S


def test_a_coroutine_returns_its_result(attempts: Attempts) -> None:
    async def handler() -> list[int]:
        await asyncio.sleep(0)
        return [1]

    assert attempts.start(handler).result() == [1]


def test_all_attempts_share_one_loop_and_its_thread(attempts: Attempts) -> None:
    async def handler() -> int:
        return id(asyncio.get_running_loop())

    async def thread() -> str:
        return threading.current_thread().name

    assert attempts.start(handler).result() == attempts.start(handler).result()
    assert attempts.start(thread).result() == "ojs-loop"


def test_many_attempts_run_at_once(attempts: Attempts) -> None:
    met = asyncio.Barrier(50)

    async def handler() -> None:
        await met.wait()

    started = [attempts.start(handler) for _ in range(50)]

    assert all(isinstance(one.outcome(), Ack) for one in started)


def test_the_current_job_is_known_in_the_tasks_of_a_handler(attempts: Attempts) -> None:
    async def name() -> str:
        await asyncio.sleep(0)
        return current_job().job.id

    async def handler() -> list[str]:
        inside = sync_to_async(lambda: current_job().job.id)
        return [*await asyncio.gather(name(), name()), await inside()]

    first, second = attempts.start(handler), attempts.start(handler)

    assert first.result() == [first.entry.context.job.id] * 3
    assert second.result() == [second.entry.context.job.id] * 3


def test_a_cancelled_job_is_told_to_its_coroutine(attempts: Attempts) -> None:
    begun, cancelled = threading.Event(), asyncio.Event()

    async def handler() -> bool:
        begun.set()
        await cancelled.wait()
        return current_job().is_cancelled()

    attempt = attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempt.entry.context.cancel()
    attempts.start(_setting(cancelled)).outcome()

    assert attempt.result() is True


def _setting(event: asyncio.Event) -> Callable[[], Coroutine[None, None, None]]:
    async def handler() -> None:
        event.set()

    return handler


async def fail() -> NoReturn:
    """Raise."""
    await asyncio.sleep(0)
    raise ValueError("no")


def test_an_error_has_the_frames_of_all_coroutines(attempts: Attempts) -> None:
    async def handler() -> None:
        await fail()

    error = attempts.start(handler).error()

    assert (error["type"], error["message"]) == ("ValueError", "no")
    assert [frame.rpartition(" ")[2] for frame in error["backtrace"][-2:]] == ["handler", "fail"]


def test_the_only_error_of_a_task_group_is_the_error(attempts: Attempts) -> None:
    async def handler() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(asyncio.Event().wait())

    error = attempts.start(handler).error()

    assert (error["type"], error["message"]) == ("ValueError", "no")
    assert error["backtrace"][-1].endswith(" in fail")


def test_all_errors_of_a_task_group_are_named(attempts: Attempts) -> None:
    async def handler() -> None:
        raise BaseExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")])])

    error = attempts.start(handler).error()

    assert error["type"] == "ExceptionGroup"
    assert error["message"] == "two (2 sub-exceptions): ValueError: a; KeyError: 'b'"


def test_discard_within_a_task_group_discards(attempts: Attempts) -> None:
    async def discard() -> NoReturn:
        raise Discard("never")

    async def handler() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(discard())

    assert attempts.start(handler).error()["code"] == "DISCARD"


def test_a_coroutine_chooses_the_wait_for_its_retry(attempts: Attempts) -> None:
    async def handler() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(again())

    async def again() -> NoReturn:
        raise Retry(in_=30)

    assert attempts.start(handler).error()["retry_after_ms"] == 30_000


@pytest.mark.parametrize(
    "options", [{"dont_retry_for": (ValueError,)}, {"autoretry_for": (OSError,)}]
)
def test_a_coroutine_is_not_retried_for_an_excluded_exception(
    attempts: Attempts, options: dict[str, Any]
) -> None:
    async def handler() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    assert attempts.start(fail, options).error()["retryable"] is False
    assert attempts.start(handler, options).error()["retryable"] is False


@pytest.mark.parametrize("problem", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_no_exception_of_a_handler_ends_the_loop(
    attempts: Attempts, problem: type[BaseException]
) -> None:
    async def handler() -> NoReturn:
        raise problem

    async def after() -> str:
        return "alive"

    assert attempts.start(handler).error()["type"] == problem.__name__
    assert attempts.start(after).result() == "alive"


def test_a_task_that_was_left_behind_does_not_end_the_loop(
    attempts: Attempts, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[asyncio.Task[None]] = []

    async def leave() -> NoReturn:
        raise SystemExit

    async def handler() -> None:
        left.append(asyncio.create_task(leave()))

    async def after() -> str:
        return "alive"

    attempts.start(handler).outcome()

    assert attempts.start(after).result() == "alive"
    assert "event_loop.interrupted" in caplog.messages


@pytest.mark.usefixtures("store")
def test_attempts_share_a_few_connections(attempts: Attempts) -> None:
    def backend() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    async def handler() -> int:
        return await sync_to_async(backend)()

    pids = {one.result() for one in [attempts.start(handler) for _ in range(20)]}

    assert 1 < len(pids) <= SHARED


@pytest.mark.usefixtures("store")
def test_a_broken_connection_is_replaced_after_the_failure(attempts: Attempts) -> None:
    def use(*, breaks: bool) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            if breaks:
                connection.connection.close()
                cursor.execute("SELECT 1")
            return threading.get_ident()

    async def broken() -> int:
        return await sync_to_async(use)(breaks=True)

    async def handler() -> int:
        return await sync_to_async(use)(breaks=False)

    for _ in range(SHARED):
        assert isinstance(attempts.start(broken).outcome(), Nack)

    assert len({attempts.start(handler).result() for _ in range(SHARED)}) == SHARED


def test_the_database_is_refused_on_the_loop_itself(attempts: Attempts) -> None:
    async def handler() -> None:
        connection.cursor()

    assert attempts.start(handler).error()["type"] == "SynchronousOnlyOperation"


def test_the_end_cancels_the_attempts_and_lets_them_clean_up(attempts: Attempts) -> None:
    begun = threading.Event()
    cleaned: list[str] = []

    async def handler() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempts.event_loop.stop(DEADLINE_S)

    assert cleaned == ["up"]
    assert not any(thread.name == "ojs-loop" for thread in threading.enumerate())
