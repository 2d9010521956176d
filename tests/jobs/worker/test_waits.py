"""The waits of the main thread of a worker process."""

import threading

from jobs.worker.waits import Waits
from tests.processes import DEADLINE_S


def test_waking_the_main_thread_ends_both_of_its_waits() -> None:
    waits = Waits()
    waits.listener._thread = threading.current_thread()  # the test needs no connection
    seen = waits.listener.rounds()

    waits.wake_main()

    assert waits.listener.rounds() != seen
    waits.listener.wait(seen, DEADLINE_S)
    waits.tick(DEADLINE_S)
    assert not waits.main.is_set()
