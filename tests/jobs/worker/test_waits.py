"""The waits of the main thread of a worker process."""

import pytest

from jobs.worker.notices import Notices
from ojs_tasks.worker.waits import Waits
from tests.processes import DEADLINE_S


@pytest.mark.usefixtures("store")
def test_waking_the_main_thread_ends_both_of_its_waits() -> None:
    notices = Notices()
    waits = Waits(notices.wake)
    notices.listen()

    waits.wake_main()

    assert notices.wait(DEADLINE_S)
    waits.tick(DEADLINE_S)
    assert not waits.main.is_set()
