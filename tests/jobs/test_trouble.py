"""Repeated failures produce few log lines."""

import logging

import psycopg
import pytest
from django.db import DataError, OperationalError

from jobs import trouble
from jobs.trouble import Attempts, Database

NAME = "ojs.test"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Return a clock that a test moves."""
    now = {"s": 1000.0}
    monkeypatch.setattr(trouble, "monotonic", lambda: now["s"])
    monkeypatch.setattr(trouble, "database", Database(logging.getLogger(NAME)))
    return now


def attempts(loop: str) -> Attempts:
    """Return the record of a loop's attempts."""
    return Attempts(logging.getLogger(NAME), "loop.failed", 1.0, 5.0, loop=loop)


def test_all_loops_share_one_line_of_an_outage_and_one_of_its_end(
    clock: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    loops = [attempts(f"loop-{n}") for n in range(20)]
    for _ in range(30):
        clock["s"] += 1
        for one in loops:
            one.failed(OperationalError("connection refused\nIs the server running?"))
    clock["s"] += 2
    for one in loops:
        one.went_well()

    told = [(record.message, record.exc_info) for record in caplog.records]
    assert told == [("database.lost", None), ("database.back", None)]
    assert caplog.records[0].__dict__["error"] == "connection refused"
    assert caplog.records[1].__dict__["failures"] == 600


def test_an_outage_that_lasts_has_a_line_a_minute(
    clock: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    loop = attempts("fold")
    for _ in range(180):
        clock["s"] += 1
        loop.failed(psycopg.OperationalError("gone"))

    assert [record.message for record in caplog.records] == ["database.lost"] * 3


def test_a_success_beside_failures_is_no_end(
    clock: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    failing, well = attempts("fold"), attempts("heal")
    failing.failed(OperationalError("gone"))
    well.went_well()

    assert [record.message for record in caplog.records] == ["database.lost"]


@pytest.mark.parametrize("problem", [DataError("wrong"), ValueError("wrong")])
def test_a_mistake_has_its_traceback_once_a_minute(
    clock: dict[str, float], caplog: pytest.LogCaptureFixture, problem: Exception
) -> None:
    loop = attempts("fold")
    for _ in range(61):
        clock["s"] += 1
        loop.failed(problem)

    assert [record.message for record in caplog.records] == ["loop.failed"] * 2
    assert all(record.exc_info for record in caplog.records)
    assert [record.__dict__["failures"] for record in caplog.records] == [1, 61]


def test_pauses_grow_to_a_bound_and_differ(clock: dict[str, float]) -> None:
    loop = attempts("fold")
    pauses = [loop.failed(OperationalError("gone")) for _ in range(50)]

    assert all(low <= pause <= high for pause, low, high in zip(
        pauses[:3], (0.5, 1.0, 2.0), (1.0, 2.0, 4.0), strict=True
    ))  # fmt: skip
    assert all(2.5 <= pause <= 5.0 for pause in pauses[3:])
    assert len(set(pauses)) > 40
    loop.went_well()
    assert loop.failed(OperationalError("gone")) <= 1.0
