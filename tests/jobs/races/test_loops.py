"""One leader per loop, and counts that stay true under writers. Design: loops, ADR 0002."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import connection

from jobs import loops, queries
from jobs.domain.claim import FetchRequest
from jobs.domain.states import State, state_of
from jobs.extensions import Loop
from jobs.loops import LoopRunner
from jobs.models import Depth, Event, LoopTick, Total
from jobs.services.ack import Ack, ack
from jobs.services.fetch import fetch
from jobs.services.fold import fold
from jobs.services.nack import Nack, nack
from tests.asserts import assert_depths_equal_recount, assert_store_is_sound, recount
from tests.concurrency import at_once, threads, until, wait_until_settled
from tests.factories import error, stored_ids

pytestmark = pytest.mark.usefixtures("store")

TURNS = 20


class Turns:
    """A loop body that notes which thread runs it and whether two ever do at once."""

    def __init__(self) -> None:
        self.by: Counter[int] = Counter()
        self.met = False
        self._running = threading.Lock()
        self._changed = threading.Condition()

    def __call__(self) -> int:
        self.met = self.met or not self._running.acquire(blocking=False)
        with self._changed:
            self.by[threading.get_ident()] += 1
            self._changed.notify_all()
        if not self.met:
            self._running.release()
        return 0

    def wait_for(self, leaders: int) -> None:
        """Wait until so many threads have had their turns."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(turns >= TURNS for turns in self.by.values()) >= leaders, timeout=30
            )


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch, store: None) -> Iterator[Turns]:
    """Return a loop body; copies that do not lead try again at once."""
    monkeypatch.setattr(loops, "FOLLOW_S", 0.01)
    yield Turns()
    LoopTick.objects.filter(name="turns").delete()


def test_of_two_copies_one_leads_and_the_other_takes_over(turns: Turns) -> None:
    copies = [LoopRunner([Loop("turns", turns, 1)]) for _ in range(2)]
    try:
        for copy in copies:
            copy.start()
        turns.wait_for(1)
        assert len(turns.by) == 1, "two lead"

        leader = next(copy for copy in copies if copy._threads[0].ident in turns.by)
        leader.stop()
        turns.wait_for(2)
        assert not turns.met
    finally:
        for copy in copies:
            copy.stop()


def test_a_leader_that_loses_its_connection_loses_the_lead() -> None:
    with threads(1) as start:
        assert start(lambda: queries.lead(7)).result()  # its connection ends with its work
        until(lambda: queries.lead(7))  # the server notices the end a moment later
        assert not start(lambda: queries.lead(7)).result()
    connection.close()

    until(lambda: queries.lead(7))
    connection.close()


def test_counts_under_writers_and_two_folds_equal_a_recount() -> None:
    writing = threading.Event()

    def write(number: int) -> None:
        queue = f"q{number % 2}"
        for _ in range(15):
            stored_ids(4, queue=queue)
            ids = [job.id for job in fetch(FetchRequest((queue,), count=3)).jobs]
            ack([Ack(job_id) for job_id in ids[:1]])
            nack([Nack(job_id, error(), requeue=job_id == ids[-1]) for job_id in ids[1:]])

    def count() -> int:
        folded = 0
        while not writing.is_set():
            folded += fold(25)
        return folded

    with threads(8) as start:
        counters = [start(count) for _ in range(2)]
        writers = [start(lambda n=n: write(n)) for n in range(6)]  # type: ignore[misc]  # binds
        for writer in writers:
            writer.result()
        assert_depths_equal_recount()
        writing.set()
        folded = sum(counter.result() for counter in counters)

    wait_until_settled()
    while more := fold():
        folded += more
    assert folded == Event.objects.exclude(job_id=None).count()
    counted = {
        (depth.queue, state_of(depth.state)): depth.jobs for depth in Depth.objects.exclude(jobs=0)
    }
    assert counted == recount()
    assert sum(Total.objects.values_list("enqueued", flat=True)) == 6 * 15 * 4
    assert sum(Total.objects.values_list("completed", flat=True)) == sum(
        jobs for (_, state), jobs in counted.items() if state is State.COMPLETED
    )
    assert_store_is_sound()


def test_depths_read_while_a_fold_runs_are_never_off() -> None:
    stored_ids(200)
    wait_until_settled()
    fold(1)

    def read() -> set[int]:
        return {sum(queries.depths().get("default", {}).values()) for _ in range(40)}

    def count() -> set[int]:
        while fold(10):
            pass
        return {200}

    assert set().union(*at_once([read, read, count])) == {200}
