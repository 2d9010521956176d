"""Handlers that connect to a socket of their test, so that the test controls when they run."""

import asyncio
import socket
import threading
import time

from asgiref.sync import sync_to_async
from django.db import connection

from ojs_tasks import current_job, job


@job("tests.echo", queue="tests", idempotent=True)
def echo(value: object) -> object:
    """Return the argument."""
    return value


@job("tests.meet", queue="tests", retry={"max_attempts": 3, "initial_interval": "PT0.1S"})
def meet(address: str) -> str:
    """Send "<pid> <attempt>", wait for the test's answer and return it."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        context = current_job()
        line.sendall(f"{_pid()} {context.attempt}\n".encode())
        return line.recv(100).decode()


@job("tests.meet_async", queue="tests", retry={"max_attempts": 3, "initial_interval": "PT0.1S"})
async def meet_async(address: str) -> str:
    """Do as `meet` in a coroutine; when it is cancelled, send "cancelled"."""
    reader, writer = await asyncio.open_unix_connection(address)
    try:
        writer.write(f"{_pid()} {current_job().attempt}\n".encode())
        return (await reader.read(100)).decode()
    except asyncio.CancelledError:
        writer.write(b"cancelled")
        raise
    finally:
        writer.close()


@job("tests.spin", queue="tests", timeout=1, retry={"max_attempts": 1})
def spin() -> None:
    """Never end, in Python code that swallows every Exception."""
    while True:
        try:
            _pid()
        except Exception:  # noqa: S112 - the purpose of this handler
            continue


@job("tests.block", queue="tests", timeout=1, retry={"max_attempts": 1})
def block() -> None:
    """Never end, in a C call that no exception reaches."""
    time.sleep(600)


@job("tests.wait", queue="tests", timeout=1, retry={"max_attempts": 1})
async def wait() -> None:
    """Never end, and swallow every Exception."""
    while True:
        try:
            await asyncio.Event().wait()
        except Exception:  # noqa: S112 - the purpose of this handler
            continue


@job("tests.block_loop", queue="tests", timeout=1, retry={"max_attempts": 1})
async def block_loop() -> None:
    """Never end, in a call that blocks the event loop."""
    time.sleep(600)


_crowd: list[int] = []
_crowd_is_complete = asyncio.Event()


@job("tests.crowd", queue="tests")
async def crowd(number: int) -> dict[str, object]:
    """Wait until `number` attempts run at once; return the names of threads and a backend's pid."""
    _crowd.append(number)
    if len(_crowd) == number:
        _crowd_is_complete.set()
    await _crowd_is_complete.wait()
    names = [thread.name for thread in threading.enumerate()]
    return {"threads": names, "backend": await sync_to_async(_backend)()}


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@job("tests.report", queue="tests")
def report() -> None:
    """Report progress and set the result by the context."""
    context = current_job()
    context.progress(0.5, "half", {"rows": 10})
    context.result = {"cancelled": context.is_cancelled()}


@job("tests.broken", queue="tests", retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
def broken(number: int) -> float:
    """Fail for 0."""
    return 1 / number


def _pid() -> int:
    import os  # noqa: PLC0415

    return os.getpid()
