"""Events and their log lines. Spec: contract 32.5."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.domain.record.events import Kind
from jobs.domain.record.loglines import SHAPES, THINNED, Recorded, line_of, wanted_kinds
from tests.spec import spec

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def recorded(kind: Kind, **members: Any) -> Recorded:
    """Return an event of a job."""
    given: dict[str, Any] = dict.fromkeys(Recorded._fields)
    given |= {"at": NOW, "kind": kind, "job_id": "j", "tenant": "_default", "data": {}}
    return Recorded(**{**given, **members})


TABLE = [  # contract 32.5
    (Kind.ENQUEUED, None, "job.enqueued", logging.INFO),
    (Kind.COMPLETED, None, "job.completed", logging.INFO),
    (Kind.CANCELLED, None, "job.cancelled", logging.INFO),
    (Kind.STARTED, None, "job.started", logging.DEBUG),
    (Kind.HEARTBEAT, None, "job.heartbeat", logging.DEBUG),
    (Kind.RETRYING, "handler_error", "job.retrying", logging.WARNING),
    (Kind.MOVED, "worker_death", "job.retrying", logging.WARNING),
    (Kind.DISCARDED, "handler_error", "job.discarded", logging.ERROR),
    (Kind.FAILED, "timeout", "job.timeout", logging.ERROR),
    (Kind.FAILED, "visibility_timeout", "job.stalled", logging.ERROR),
    (Kind.FAILED, "worker_death", "job.stalled", logging.ERROR),
    (Kind.WORKER_STARTED, None, "worker.started", logging.INFO),
    (Kind.WORKER_STOPPED, None, "worker.stopped", logging.INFO),
    (Kind.WORKER_QUIET, None, "worker.quiet", logging.INFO),
]


@pytest.mark.parametrize(("kind", "code", "name", "level"), TABLE)
@spec("contract 32.5")
def test_events_have_the_levels_of_the_table(
    kind: Kind, code: str | None, name: str, level: int
) -> None:
    data = {} if code is None else {"error": {"code": code, "type": "T", "message": "m"}}

    line = line_of(recorded(kind, data=data))

    assert line is not None
    assert (line.name, line.level, line.at) == (name, level, NOW)


@spec("contract 32.5")
def test_an_ordinary_failure_is_told_by_what_follows() -> None:
    assert line_of(recorded(Kind.FAILED, data={"error": {"code": "handler_error"}})) is None
    assert line_of(recorded(Kind.FAILED)) is None


@spec("contract 32.5")
def test_what_a_line_does_not_know_is_left_out() -> None:
    line = line_of(recorded(Kind.COMPLETED, data={"result": "hidden", "error": "none"}))

    assert line is not None
    assert line.facts == {"category": "lifecycle", "job_id": "j", "state": "active"}


@spec("contract 32.5")
def test_levels_choose_kinds() -> None:
    assert wanted_kinds(lambda _: True) == [int(kind) for kind in SHAPES]
    assert wanted_kinds(lambda _: False) == []
    errors = wanted_kinds(lambda level: level >= logging.ERROR)
    assert set(errors) == {Kind.FAILED, Kind.DISCARDED, Kind.EXPIRED, Kind.PROGRESS_STALLED}


@spec("contract 32.5")
def test_warnings_and_errors_are_never_thinned_out() -> None:
    assert all(SHAPES[kind].level < logging.WARNING for kind in THINNED)
