"""`@job`: what it makes of functions, and what it refuses at import."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from asgiref.sync import markcoroutinefunction

from jobs.domain.errors import OJSError
from ojs_tasks import Discard, Retry, UnknownTerm, job
from ojs_tasks.handlers import AsyncHandler, SyncHandler
from ojs_tasks.registry import handlers


def test_a_call_of_a_handler_calls_the_function() -> None:
    @job("a.one")
    def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert double(4) == 8
    assert isinstance(double, SyncHandler)
    assert (double.__doc__, double.type) == ("Double it.", "a.one")
    assert not double.is_async


def test_a_call_of_an_asynchronous_handler_is_awaited() -> None:
    @job("a.one")
    async def double(number: int) -> int:
        return number * 2

    assert asyncio.run(double(4)) == 8
    assert isinstance(double, AsyncHandler)
    assert double.is_async


class Sender:
    """A handler that is an object."""

    __name__ = "Sender"

    async def __call__(self) -> int:
        """Return a number."""
        return 1


@markcoroutinefunction
def marked() -> Coroutine[Any, Any, int]:
    """Return a coroutine, as functions of some decorators do."""
    return Sender()()


async def added(one: int, other: int) -> int:
    """Return the sum."""
    return one + other


@pytest.mark.parametrize("function", [Sender(), marked, partial(added, 1, 0)])
def test_whatever_returns_coroutines_by_its_definition_is_asynchronous(
    function: Callable[[], Coroutine[Any, Any, int]],
) -> None:
    handler = job("a.one")(function)

    assert isinstance(handler, AsyncHandler)
    assert asyncio.run(handler()) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"prioritty": 1}, UnknownTerm), ({"countdown": 60}, UnknownTerm),
        ({"id": "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"}, UnknownTerm),
        ({"timeout": "60"}, TypeError), ({"delay": -1}, ValueError),
        ({"versions": "x"}, ValueError), ({"priority": 1000}, OJSError),
        ({"queue": "Not A Queue"}, OJSError), ({"retry": {"max_attempts": -1}}, OJSError),
    ],
)  # fmt: skip
def test_a_wrong_option_fails_at_import(options: dict[str, Any], problem: type[Exception]) -> None:
    with pytest.raises(problem):
        job("a.one", **options)
    assert handlers() == []


def test_a_function_without_a_readable_signature_becomes_a_handler() -> None:
    function: Callable[..., int] = max

    assert job("a.one")(function)(1, 3) == 3


def test_a_type_that_is_none_fails_at_import() -> None:
    with pytest.raises(OJSError, match="type must be dot-separated"):
        job("Not A Type")


def test_a_type_has_one_handler() -> None:
    job("a.one")(print)

    with pytest.raises(ValueError, match=r"'a\.one' has a handler"):
        job("a.one")(print)


@pytest.mark.parametrize(
    ("chosen", "is_retried"),
    [
        ({}, True),
        ({"autoretry_for": (OSError,)}, True),
        ({"autoretry_for": (ValueError,)}, False),
        ({"dont_retry_for": (OSError,)}, False),
        ({"dont_retry_for": (ValueError,)}, True),
        ({"autoretry_for": (OSError,), "dont_retry_for": (ConnectionError,)}, False),
    ],
)
def test_classes_decide_about_the_retry_of_their_subclasses(
    chosen: dict[str, Any], is_retried: bool
) -> None:
    handler = job("a.one", **chosen)(print)

    assert handler.retries(ConnectionResetError()) is is_retried


@pytest.mark.parametrize("problem", [Retry(), Discard()])
def test_retry_and_discard_keep_their_messages(problem: Exception) -> None:
    assert str(problem) == ""
    assert str(type(problem)("why")) == "why"
