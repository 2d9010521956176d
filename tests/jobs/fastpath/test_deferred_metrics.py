"""Deferred metrics: jobs/fastpath/deferred_metrics.py."""

import os
from collections.abc import Iterator

import pytest

from jobs.fastpath import deferred_metrics
from tests.processes import until


@pytest.fixture(autouse=True)
def _written() -> Iterator[None]:
    deferred_metrics.write_now()
    yield
    deferred_metrics.write_now()


def test_what_is_noted_is_written_by_itself_and_in_order() -> None:
    written: list[float] = []

    for number in range(100):
        deferred_metrics.later(written.append, number)

    until(lambda: len(written) == 100)
    assert written == list(range(100))


def test_write_now_does_not_wait() -> None:
    written: list[float] = []
    deferred_metrics.later(written.append, 1)

    deferred_metrics.write_now()

    assert written == [1]


def test_one_that_cannot_be_written_does_not_keep_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    written: list[float] = []

    def fail(number: float) -> None:
        raise OSError("the disk is full")

    deferred_metrics.later(fail, 1)
    deferred_metrics.later(written.append, 2)
    deferred_metrics.write_now()

    assert written == [2]
    assert "metrics.lost" in caplog.messages


def test_a_forked_process_leaves_to_its_parent_what_was_before() -> None:
    written: list[float] = []
    deferred_metrics._pending.append((written.append, 1))

    child = os.fork()
    if not child:
        os._exit(len(deferred_metrics._pending) + len(deferred_metrics._begun))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    deferred_metrics.write_now()
    assert written == [1]
