"""An attempt: results of handlers that return or raise. Spec: contract 12.2."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidPayload, ResultTooLarge
from jobs.domain.job import Job
from jobs.domain.wire.bounds import MAX_INTERVAL_MS
from jobs.middleware import Chain, Link
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.worker.execution import EXECUTION
from ojs_tasks import Context, Discard, JobTimeout, Retry, current_job, job, registry
from ojs_tasks.worker import chain
from ojs_tasks.worker.errors import InvalidResult
from ojs_tasks.worker.ports import Outcome
from tests.spec import spec


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(registry, "_handlers", {})


def context(kind: str = "a.one", args: bytes = b"[]") -> Context:
    """Return the context of a claimed job, without a database."""
    draft = parse_job({"type": kind, "args": []})
    claimed = Job(
        id=draft.id, type=kind, queue="default", tenant="", priority=0, args=args, meta=b"{}",
        attributes=b"{}", state=4, attempt=2, max_attempts=3, timeout_ms=60_000,
        created_at=None,  # type: ignore[arg-type]  # not read
    )  # fmt: skip
    return Context(claimed, "w1")


def outcome_of(function: Callable[..., Any]) -> Outcome:
    """Run a function as the handler of a job."""
    job("a.one")(function)
    return EXECUTION.execute(context())


def error_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Run a function that fails and return the job's error."""
    outcome = outcome_of(function)
    assert isinstance(outcome, Nack)
    assert outcome.error is not None
    return outcome.error


def raising(problem: BaseException) -> Callable[[], None]:
    """Return a handler that raises."""

    def handler() -> None:
        raise problem

    return handler


def raising_async(problem: BaseException) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a handler that raises in a coroutine."""

    async def handler() -> None:
        raise problem

    return handler


both_kinds = pytest.mark.parametrize(
    "making", [raising, raising_async], ids=["function", "coroutine"]
)


@pytest.mark.parametrize(
    ("value", "stored"),
    [(None, None), ({"a": [1]}, b'{"a":[1]}'), (0, b"0"), ("ü", '"ü"'.encode())],
)
def test_what_a_handler_returns_is_the_result(value: Any, stored: bytes | None) -> None:
    outcome = outcome_of(lambda: value)

    assert isinstance(outcome, Ack)
    assert (outcome.result, outcome.worker_id, outcome.attempt) == (stored, "w1", 2)


def test_the_context_gives_the_result_when_nothing_is_returned() -> None:
    def handler() -> None:
        current_job().result = {"rows": 3}

    outcome = outcome_of(handler)

    assert isinstance(outcome, Ack)
    assert outcome.result == b'{"rows":3}'


class Coded(Exception):
    """An exception with a code, as HTTP clients raise it."""


def coded(code: object) -> Coded:
    """Return an exception with a code."""
    problem = Coded("x")
    problem.code = code  # type: ignore[attr-defined]  # as any library may
    return problem


class Unprintable(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("problem", "kind", "code", "message"),
    [
        (ValueError("no\0good"), "ValueError", "handler_error", "nogood"),
        (ValueError(), "ValueError", "handler_error", "ValueError"),
        (Retry("later"), "Retry", "RETRY", "later"),
        (Discard("never"), "Discard", "DISCARD", "never"),
        (SystemExit(3), "SystemExit", "handler_error", "3"),
        (coded(404), "Coded", "handler_error", "x"),
        (coded("E_MAIL"), "Coded", "E_MAIL", "x"),
        (coded("a\0b\ud800"), "Coded", "ab?", "x"),
        (ValueError("\ud800"), "ValueError", "handler_error", "?"),
        (Unprintable(), "Unprintable", "handler_error", "Unprintable"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "handler_error", "KeyboardInterrupt"),
    ],
)
def test_whatever_a_handler_raises_fails_the_attempt(
    problem: BaseException, kind: str, code: str, message: str
) -> None:
    error = error_of(raising(problem))

    assert (error["type"], error["code"], error["message"]) == (kind, code, message)
    assert "test_execution.py" in error["backtrace"][-1]


@both_kinds
@pytest.mark.parametrize(
    ("problem", "after_ms"),
    [
        (Retry("later", in_=30), 30_000), (Retry(in_=timedelta(minutes=1)), 60_000),
        (Retry(in_=0), 0), (Retry("later"), None), (ValueError("x"), None),
        (Retry(in_=timedelta(days=999_999)), MAX_INTERVAL_MS),
        (ExceptionGroup("one", [Retry(in_=30)]), 30_000),
        (ExceptionGroup("two", [Retry(in_=30), Retry(in_=60)]), None),
    ],
)  # fmt: skip
def test_a_retry_chooses_its_wait(
    making: Callable[..., Any], problem: Exception, after_ms: int | None
) -> None:
    assert error_of(making(problem)).get("retry_after_ms") == after_ms


def group(*problems: Exception) -> Exception:
    """Return exceptions as task groups raise them, here one group in another."""
    return ExceptionGroup("outer", [ExceptionGroup("inner", problems)])


@both_kinds
@pytest.mark.parametrize(
    ("chosen", "problem", "is_retryable"),
    [
        ({}, ValueError(), True),
        ({"dont_retry_for": (ValueError,)}, UnicodeError(), False),
        ({"dont_retry_for": (ValueError,)}, Retry(), True),
        ({"autoretry_for": (OSError,)}, ConnectionError(), True),
        ({"autoretry_for": (OSError,)}, ValueError(), False),
        ({"autoretry_for": (OSError,)}, Retry(in_=5), True),
        ({}, group(ValueError(), OSError()), True),
        ({"dont_retry_for": (ValueError,)}, group(UnicodeError()), False),
        ({"dont_retry_for": (ValueError,)}, group(OSError(), UnicodeError()), False),
        ({"autoretry_for": (OSError,)}, group(ConnectionError(), OSError()), True),
        ({"autoretry_for": (OSError,)}, group(ConnectionError(), ValueError()), False),
        ({"autoretry_for": (OSError,)}, group(ConnectionError(), Retry()), True),
    ],
)
def test_the_handler_decides_by_class_which_exceptions_are_retried(
    making: Callable[..., Any], chosen: dict[str, Any], problem: Exception, is_retryable: bool
) -> None:
    job("a.one", **chosen)(making(problem))

    outcome = EXECUTION.execute(context())

    assert isinstance(outcome, Nack)
    assert outcome.error is not None
    assert outcome.error["retryable"] is is_retryable


def test_a_timeout_names_its_limit() -> None:
    error = error_of(raising(JobTimeout()))

    assert (error["type"], error["code"]) == ("timeout", "timeout")
    assert error["details"]["limit_ms"] == 60_000


@pytest.mark.parametrize(
    "value",
    [{1, 2}, "\0", ["a", {"b\0": 1}], "\ud800", [2**70, float("nan")], "x" * 1_048_577],
    ids=["no json", "nul", "nul in a key", "surrogate", "not a number", "too large"],
)
def test_a_result_that_cannot_be_stored_fails_the_attempt(value: Any) -> None:
    assert error_of(lambda: value)["code"] == "invalid_result"


@both_kinds
@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (InvalidPayload("the job is no JSON"), "invalid_payload"),
        (ResultTooLarge.of("result", 1, 2), "result_too_large"),
        (InvalidResult("mine"), "handler_error"),
    ],
)
def test_a_refusal_that_the_handler_raises_is_its_own_error(
    making: Callable[..., Any], problem: Exception, code: str
) -> None:
    """Such as that of a job that it enqueues: its result was never looked at."""
    error = error_of(making(problem))

    assert (error["type"], error["code"]) == (type(problem).__name__, code)
    assert error["backtrace"]


def test_text_that_looks_like_an_escape_is_a_result() -> None:
    outcome = outcome_of(lambda: "\\u0000")

    assert isinstance(outcome, Ack)


def test_integers_of_any_size_arrive_exactly() -> None:
    job("a.one")(lambda number: number)

    outcome = EXECUTION.execute(context(args=b"[%d]" % 2**70))

    assert isinstance(outcome, Ack)
    assert outcome.result == b"%d" % 2**70


def test_arguments_that_do_not_fit_fail_the_attempt() -> None:
    job("a.one")(lambda: None)

    outcome = EXECUTION.execute(context(args=b"[1, 2]"))

    assert isinstance(outcome, Nack)
    assert (outcome.error or {})["type"] == "TypeError"


def test_keywords_come_as_the_last_argument() -> None:
    job("a.one")(lambda number, *, name: [number, name])

    outcome = EXECUTION.execute(context(args=b'[1, {"__kwargs__": {"name": "ada"}}]'))

    assert isinstance(outcome, Ack)
    assert outcome.result == b'[1,"ada"]'


def outer(context: Context, call: Callable[[Context], Any]) -> Any:
    """Wrap the result."""
    context.extras["seen"] = ["outer"]
    return ["outer", call(context)]


def inner(context: Context, call: Callable[[Context], Any]) -> Any:
    """Wrap the result, inside of `outer`."""
    context.extras["seen"].append("inner")
    return ["inner", call(context)]


def quiet(context: Context, call: Callable[[Context], Any]) -> Any:
    """Turn an exception into a result, deliberately."""
    try:
        return call(context)
    except ZeroDivisionError:
        return "infinite"


def wrapped(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Configure middleware of this module for one test."""
    around(monkeypatch, Chain(Link(name, globals()[name]) for name in names))


def around(monkeypatch: pytest.MonkeyPatch, configured: Chain) -> None:
    """Configure a chain of middleware for one test."""
    monkeypatch.setattr(chain, "execution_chain", lambda: configured)
    monkeypatch.setattr(chain, "steps_around", chain.steps_around.__wrapped__)


@spec("contract 12.2")
def test_middleware_wraps_the_handler_the_first_outermost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrapped(monkeypatch, "outer", "inner")

    outcome = outcome_of(lambda: "handler")

    assert isinstance(outcome, Ack)
    assert outcome.result == b'["outer",["inner","handler"]]'


@spec("contract 12.2")
def test_what_the_handler_raises_reaches_the_outermost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    def watching(name: str) -> Callable[[Context, Callable[[Context], Any]], Any]:
        def watch(context: Context, call: Callable[[Context], Any]) -> Any:
            try:
                return call(context)
            except ZeroDivisionError:
                seen.append(name)
                raise

        return watch

    around(monkeypatch, Chain([Link("outer", watching("outer")), Link("inner", watching("inner"))]))

    outcome = outcome_of(lambda: 1 // 0)

    assert seen == ["inner", "outer"]
    assert isinstance(outcome, Nack)
    assert outcome.error is not None
    assert outcome.error["type"] == "ZeroDivisionError"


@spec("contract 12.2")
def test_a_wrapper_may_turn_an_exception_into_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrapped(monkeypatch, "quiet")

    outcome = outcome_of(lambda: 1 // 0)

    assert isinstance(outcome, Ack)
    assert outcome.result == b'"infinite"'


@spec("contract 12.2")
def test_the_context_tells_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def look(context: Context, call: Callable[[Context], Any]) -> Any:
        seen.extend([context.attempt, context.queue, context.worker_id, context.workflow_id,
                     context.parent_results, context.is_cancelled()])  # fmt: skip
        returned = call(context)
        seen.append(context.result)
        return returned

    around(monkeypatch, Chain([Link("look", look)]))

    outcome_of(lambda: "done")

    assert seen == [2, "default", "w1", None, None, False, "done"]


def fail_with_data() -> None:
    """Be a handler whose exception names an argument."""
    raise LookupError("ada@example.org")


@pytest.mark.parametrize("is_debug", [False, True])
def test_a_failed_attempt_is_logged_with_its_place_and_in_debug_with_its_traceback(
    caplog: pytest.LogCaptureFixture, settings: Any, *, is_debug: bool
) -> None:
    settings.DEBUG = is_debug

    outcome_of(fail_with_data)

    (line,) = [record for record in caplog.records if record.message == "attempt.failed"]
    assert line.__dict__["error_type"] == "LookupError"
    assert line.__dict__["error_at"].endswith("in fail_with_data")
    assert ("ada@example.org" in caplog.text) is is_debug


@pytest.mark.parametrize("decided", [Retry("later"), Discard("no use")])
def test_what_a_handler_decides_is_no_failure_in_the_log(
    caplog: pytest.LogCaptureFixture, decided: Exception
) -> None:
    outcome_of(raising(decided))

    assert "attempt.failed" not in caplog.messages
