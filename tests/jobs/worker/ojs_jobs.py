"""Handlers that connect to a socket of their test, so that the test controls when they run."""

import socket
import time

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
