"""Exceptions of handlers and producers."""

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.domain.errors import Conflict
from ojs_tasks import JobFailed, Refused, Retry


@pytest.mark.parametrize(
    ("given", "after_ms"),
    [({}, None), ({"in_": 30}, 30_000), ({"in_": timedelta(minutes=1)}, 60_000), ({"in_": 0}, 0)],
)
def test_retry_chooses_the_wait(given: dict[str, Any], after_ms: int | None) -> None:
    assert Retry("later", **given).after_ms == after_ms


def test_retry_chooses_the_time() -> None:
    problem = Retry(at=datetime.now(UTC) + timedelta(hours=1))

    assert problem.after_ms is not None
    assert 3_590_000 < problem.after_ms <= 3_600_000


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"in_": "30"}, TypeError), ({"in_": -1}, ValueError), ({"at": 30}, TypeError),
        ({"at": datetime(2026, 1, 1)}, ValueError),  # noqa: DTZ001
        ({"in_": 1, "at": datetime.now(UTC)}, ValueError),
    ],
)  # fmt: skip
def test_a_wrong_time_of_a_retry_is_refused(given: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Retry(**given)


def test_the_failure_of_a_job_can_be_pickled() -> None:
    failed = JobFailed("j", "discarded", {"type": "E", "message": "m", "backtrace": ["a:1"]})

    again = pickle.loads(pickle.dumps(failed))  # noqa: S301 - our own

    assert (again.id, again.type, again.message, again.backtrace) == ("j", "E", "m", ("a:1",))


def test_a_job_may_end_without_an_error() -> None:
    failed = JobFailed("j", "discarded", None)

    assert (failed.type, failed.message) == ("discarded", "the job was discarded")


def test_refusals_of_the_server_have_one_base() -> None:
    with pytest.raises(Refused) as raised:
        raise Conflict("job is active")

    assert (raised.value.code, raised.value.message) == (Conflict.code, "job is active")
