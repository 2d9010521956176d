"""`ojs_tasks.compat.celery`: tasks with Celery's interface, as jobs."""

import importlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ojs_tasks import Refused, current_job
from ojs_tasks.compat.celery import (
    AsyncResult,
    BoundTask,
    Celery,
    MaxRetriesExceededError,
    Task,
    TaskRevokedError,
    Unsupported,
    shared_task,
)
from ojs_tasks.compat.celery import options as rules
from ojs_tasks.testing import (
    assert_enqueued,
    enqueued,
    in_memory,
    make_due,
    run_available,
    run_now,
)


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """Keep the jobs of the test in memory."""
    with in_memory():
        yield


def add(left: int, right: int = 2) -> int:
    """Return the sum."""
    return left + right


def test_a_task_has_the_name_of_its_function_and_is_called_as_before() -> None:
    task = shared_task(add)

    assert task.name == "tests.ojs_tasks.compat.test_celery.add"
    assert (task(1), task.run(1, 3), task.__doc__) == (3, 4, "Return the sum.")
    assert isinstance(shared_task(name="a.add")(add), Task)


def test_delay_and_apply_async_enqueue_it() -> None:
    task = shared_task(name="a.add")(add)

    first = task.delay(1, right=5)
    assert (first.state, first.ready(), first.result) == ("PENDING", False, None)
    run_available()

    assert (first.state, first.successful(), first.get(timeout=1)) == ("SUCCESS", True, 6)
    assert task.apply_async([1], {"right": 7}).id
    assert_enqueued("a.add", args=[1], kwargs={"right": 7})
    with pytest.raises(TypeError):
        task.delay()  # type: ignore[call-arg]  # a type checker finds it, too


@pytest.mark.parametrize(
    ("options", "member", "value"),
    [
        ({"countdown": 60}, "scheduled_at", "+PT60S"),
        ({"eta": datetime(2026, 5, 1, tzinfo=UTC)}, "scheduled_at", "2026-05-01T00:00:00+00:00"),
        ({"expires": 90}, "expires_at", "+PT90S"),
        ({"queue": "urgent", "retry": True}, "queue", "urgent"),
        ({"priority": 9}, "priority", 9),
        ({"time_limit": 30, "soft_time_limit": 20}, "timeout_ms", 20_000),
        ({"ignore_result": True}, "result_ttl", 0),
    ],
)
def test_options_of_a_call_become_terms(options: dict[str, Any], member: str, value: Any) -> None:
    call = shared_task(name="a.add")(add).s(1).set(**options)

    assert call.members[member] == value


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        ({"link": None}, "use ojs_tasks.chain"),
        ({"link_error": None}, r"on_failure=other\.s"),
        ({"serializer": "pickle"}, "use JSON arguments"),
        ({"exchange": "x"}, "use queue=…"),
        ({"task_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}, "UUIDv7; leave it out"),
        ({"nothing": 1}, "known are countdown, eta"),
    ],
)
def test_other_options_are_errors_that_name_the_replacement(
    options: dict[str, Any], instead: str
) -> None:
    task = shared_task(name="a.add")(add)

    with pytest.raises(Unsupported, match=instead):
        task.apply_async([1], **options)
    assert enqueued() == []


def test_options_of_a_task_become_terms() -> None:
    task = shared_task(
        name="a.add", queue="math", rate_limit="10/m", time_limit=60, acks_late=True,
        autoretry_for=(OSError,), retry_backoff=2, max_retries=7,
    )(add)  # fmt: skip

    members = task.handler.members
    assert (members["queue"], members["timeout_ms"]) == ("math", 60_000)
    assert members["rate_limit"] == {"key": "a.add", "rate": {"limit": 10, "period": "PT60S"}}
    assert members["retry"] == {
        "max_attempts": 8, "initial_interval": "PT2S", "max_interval": "PT600S",
        "backoff_strategy": "exponential", "backoff_coefficient": 2, "jitter": True,
        "non_retryable_errors": ["timeout"],
    }  # fmt: skip
    assert task.handler.autoretry_for == (OSError,)


@pytest.mark.parametrize(
    ("text", "limit", "period"), [("10/s", 10, 1), (5, 5, 1), ("9/h", 9, 3600)]
)
def test_rate_limits_have_three_units(text: object, limit: int, period: int) -> None:
    assert rules.rate_limit(text, "a.b")["rate"] == {"limit": limit, "period": period}


def test_an_exception_alone_is_not_retried() -> None:
    @shared_task(name="a.fail")
    def fail() -> None:
        raise OSError("broken")

    result = fail.delay()
    (run,) = run_available(raises=False)

    assert (run.state, result.state, result.failed()) == ("discarded", "FAILURE", True)
    assert isinstance(result.result, OSError)
    assert "in fail" in (result.traceback or "")
    with pytest.raises(OSError, match="broken"):
        result.get()
    assert isinstance(result.get(propagate=False), OSError)


def test_listed_exceptions_are_retried() -> None:
    @shared_task(name="a.fail", autoretry_for=(OSError,), max_retries=1)
    def fail() -> None:
        raise OSError("broken")

    result = fail.delay()
    run_available(raises=False)

    assert result.state == "RETRY"
    make_due()
    run_available(raises=False)
    assert result.state == "FAILURE"


def test_a_bound_task_retries_itself() -> None:
    seen: list[tuple[str, int]] = []

    @shared_task(bind=True, name="a.flaky", max_retries=2)
    def flaky(self: BoundTask[..., Any], value: int) -> int:
        seen.append((self.request.id, self.request.retries))
        if self.request.retries < value:
            self.retry(exc=ValueError("broken"), countdown=1)
        return value

    result = flaky.delay(1)
    assert run_available()[0].state == "retryable"
    make_due()
    run_available()

    assert seen == [(result.id, 0), (result.id, 1)]
    assert result.get() == 1


@pytest.mark.parametrize(
    ("exc", "raised"), [(ValueError("broken"), ValueError), (None, MaxRetriesExceededError)]
)
@pytest.mark.parametrize("listed", [(), (ValueError,)])
def test_after_the_last_retry_the_exception_ends_the_task(
    exc: Exception | None, raised: type[Exception], listed: tuple[type[Exception], ...]
) -> None:
    @shared_task(bind=True, name="a.flaky", autoretry_for=listed)
    def flaky(self: BoundTask[..., Any]) -> None:
        self.retry(exc=exc, max_retries=1)

    flaky.delay()
    run_available(raises=False)
    make_due()
    (run,) = run_available(raises=False)

    assert (run.attempt, run.state) == (2, "discarded")
    assert (run.error or {})["type"] == raised.__name__


def test_more_retries_than_the_task_has_are_an_error() -> None:
    @shared_task(bind=True, name="a.flaky")
    def flaky(self: BoundTask[..., Any]) -> None:
        self.retry(max_retries=5)

    with run_now(), pytest.raises(Unsupported, match="set max_retries=5 in the decorator"):
        flaky.delay()


def test_a_cancelled_task_is_revoked() -> None:
    result = shared_task(name="a.add")(add).apply_async([1], countdown=60)
    result.revoke()

    assert result.state == "REVOKED"
    with pytest.raises(TaskRevokedError):
        result.get()


def test_an_unknown_id_is_pending() -> None:
    assert AsyncResult("019a0000-0000-7000-8000-000000000000").state == "PENDING"


def test_signatures_are_calls_for_later() -> None:
    task = shared_task(name="a.add")(add)

    task.si(1).apply_async(queue="urgent")

    assert_enqueued(task.handler, args=[1], queue="urgent")
    with pytest.raises(Unsupported, match="parent_results"):
        task.s(1) | task.s(2)


def test_the_application_makes_tasks_and_sends_them_by_name() -> None:
    app = Celery("shop")

    @app.task(name="a.whoami")
    def whoami() -> str:
        return current_job().type

    with run_now():
        assert app.send_task("a.whoami").get() == "a.whoami"
    for call in (app.autodiscover_tasks, app.config_from_object):
        with pytest.raises(Unsupported):
            call()
    with pytest.raises(Unsupported, match=r"OJS\['SERVER'\]"):
        Celery("shop", broker="redis://")


def test_a_name_that_is_no_job_type_is_an_error() -> None:
    with pytest.raises(Unsupported, match="no job type"):
        shared_task(name="Shop.Add")(add)


def test_names_of_celery_without_a_counterpart_name_the_replacement() -> None:
    module = importlib.import_module("ojs_tasks.compat.celery")

    with pytest.raises(ImportError, match=r"has no 'chord': use ojs_tasks\.chain"):
        module.chord  # noqa: B018 - as `from … import chord` does
    with pytest.raises(AttributeError):
        module.nothing  # noqa: B018


def test_the_server_accepts_the_terms_of_tasks() -> None:
    """The rules of the server hold for terms that the options become."""
    check = importlib.import_module("ojs_tasks.local.check").check
    for options in ({"max_retries": None}, {"retry_backoff": True, "autoretry_for": (OSError,)},
                    {"rate_limit": "10/m", "ignore_result": True, "priority": 9}):  # fmt: skip
        task = shared_task(name=f"a.{next(iter(options))}", bind=False, **options)(add)
        try:
            check(task.s(1).draft)
        except Refused as problem:
            pytest.fail(f"{options}: {problem.message} {problem.details}")


def test_delays_may_be_timedeltas() -> None:
    task = shared_task(name="a.add")(add)

    assert task.apply_async([1], countdown=timedelta(minutes=1)).state == "PENDING"
    assert run_available() == []


@pytest.mark.parametrize(
    ("kind", "name", "instead"),
    [
        (Task, "update_state", "progress"), (Task, "retry", "bind=True"),
        (AsyncResult, "children", "chain"), (Celery, "conf", "terms of tasks"),
        (AsyncResult, "no_such_name", "the manual"),
    ],
)  # fmt: skip
def test_a_name_of_celery_that_is_not_translated_names_its_replacement(
    kind: Any, name: str, instead: str
) -> None:
    owner = shared_task(name="a.add")(add) if kind is Task else kind("1")

    with pytest.raises(Unsupported, match=rf"{name} is not supported: .*{instead}"):
        getattr(owner, name)

    assert not hasattr(owner, name)
