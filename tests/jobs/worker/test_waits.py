"""The waits of the main thread of a worker process."""

import pytest

from jobs.worker.waits import Waits
from tests.processes import DEADLINE_S


@pytest.mark.usefixtures("store")
def test_waking_the_main_thread_ends_both_of_its_waits() -> None:
    waits = Waits()
    waits.notices.listen()

    waits.wake_main()

    assert waits.notices.wait(DEADLINE_S)
    waits.tick(DEADLINE_S)
    assert not waits.main.is_set()
