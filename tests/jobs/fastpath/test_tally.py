"""Deferred metrics: jobs/fastpath/tally.py."""

import os
from collections.abc import Iterator

import pytest

from jobs.fastpath import tally
from tests.processes import until


@pytest.fixture(autouse=True)
def _written() -> Iterator[None]:
    tally.write_now()
    yield
    tally.write_now()


def test_what_is_noted_is_written_by_itself_and_in_order() -> None:
    written: list[float] = []

    for number in range(100):
        tally.later(written.append, number)

    until(lambda: len(written) == 100)
    assert written == list(range(100))


def test_write_now_does_not_wait() -> None:
    written: list[float] = []
    tally.later(written.append, 1)

    tally.write_now()

    assert written == [1]


def test_one_that_cannot_be_written_does_not_keep_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    written: list[float] = []

    def fail(number: float) -> None:
        raise OSError("the disk is full")

    tally.later(fail, 1)
    tally.later(written.append, 2)
    tally.write_now()

    assert written == [2]
    assert "metrics.lost" in caplog.messages


def test_a_forked_process_leaves_to_its_parent_what_was_before() -> None:
    written: list[float] = []
    tally._pending.append((written.append, 1))

    child = os.fork()
    if not child:
        os._exit(len(tally._pending) + len(tally._begun))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    tally.write_now()
    assert written == [1]
