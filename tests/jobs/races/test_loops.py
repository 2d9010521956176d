"""One leader per loop, and exact counts under concurrent writers. Spec: ADR 0002."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, transaction

from jobs import loops, queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.periods import SPANS
from jobs.domain.states import State, state_of
from jobs.extensions import Loop
from jobs.loops import LoopRunner
from jobs.models import Depth, Event, Latency, LoopTick, Period, TenantPeriod, Total
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_depths_equal_recount, assert_store_is_sound, recount
from tests.concurrency import at_once, threads, until, wait_until_blocked, wait_until_complete
from tests.factories import error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

RUNS = 20


class CountedRuns:
    """A loop body that records its threads, and whether two ever run it at once."""

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
        """Wait until this number of threads has done its runs."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(runs >= RUNS for runs in self.by.values()) >= leaders, timeout=30
            )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, store: None) -> Iterator[CountedRuns]:
    """Return a loop body; copies that do not lead try again at once."""
    monkeypatch.setattr(loops, "FOLLOW_S", 0.01)
    yield CountedRuns()
    LoopTick.objects.filter(name="turns").delete()


def test_of_two_copies_one_leads_and_the_other_takes_over(runs: CountedRuns) -> None:
    copies = [LoopRunner([Loop("turns", runs, 1)]) for _ in range(2)]
    try:
        for copy in copies:
            copy.start()
        runs.wait_for(1)
        assert len(runs.by) == 1, "two lead"

        leader = next(copy for copy in copies if copy._threads[0].ident in runs.by)
        leader.stop()
        runs.wait_for(2)
        assert not runs.met
    finally:
        for copy in copies:
            copy.stop()


def test_a_leader_that_loses_its_connection_loses_the_lead() -> None:
    with threads(1) as start:
        assert start(lambda: queries.lead(7)).result()  # its connection closes with its thread
        until(lambda: queries.lead(7))  # the server notices the closed connection a moment later
        assert not start(lambda: queries.lead(7)).result()
    connection.close()

    until(lambda: queries.lead(7))
    connection.close()


def test_a_run_of_many_batches_rests_between_them_and_is_seen_at_work(
    runs: CountedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "NOTE_S", 0.005)
    left = [RUNS] * RUNS + [0]  # rows that each batch changes
    seen = threading.Event()

    def batch() -> int:
        if len(left) == RUNS // 2 and LoopTick.objects.filter(name="turns").exists():
            seen.set()
        return left.pop(0) if left else 0

    runner = LoopRunner([Loop("turns", batch, 60_000, rest_ms=1)])
    try:
        runner.start()
        until(lambda: not left)
    finally:
        runner.stop()

    assert seen.is_set(), "the loop looked as if it had stopped"


def test_a_loop_that_rests_for_a_minute_is_seen_to_be_there(
    runs: CountedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "NOTE_S", 0.01)
    notes: set[object] = set()

    def is_noted_again() -> bool:
        notes.update(LoopTick.objects.filter(name="turns").values_list("ticked_at", flat=True))
        return len(notes) >= RUNS

    runner = LoopRunner([Loop("turns", lambda: 0, 60_000)])
    try:
        runner.start()
        until(is_noted_again)
    finally:
        runner.stop()


def test_counts_under_writers_and_two_aggregations_equal_a_recount() -> None:
    writing = threading.Event()

    def write(number: int) -> None:
        queue = f"q{number % 2}"
        for _ in range(15):
            stored_ids(4, queue=queue)
            ids = [job.id for job in fetch(FetchRequest((queue,), count=3)).jobs]
            ack([Ack(job_id) for job_id in ids[:1]])
            nack([Nack(job_id, error(), requeue=job_id == ids[-1]) for job_id in ids[1:]])

    def count() -> int:
        aggregated = 0
        while not writing.is_set():
            aggregated += aggregate_events(25)
        return aggregated

    with threads(8) as start:
        counters = [start(count) for _ in range(2)]
        writers = [start(lambda n=n: write(n)) for n in range(6)]  # type: ignore[misc]  # binds
        for writer in writers:
            writer.result()
        assert_depths_equal_recount()
        writing.set()
        aggregated = sum(counter.result() for counter in counters)

    wait_until_complete()
    while more := aggregate_events():
        aggregated += more
    assert aggregated == Event.objects.exclude(job_id=None).count()
    counted = {
        (depth.queue, state_of(depth.state)): depth.jobs for depth in Depth.objects.exclude(jobs=0)
    }
    assert counted == recount()
    assert sum(Total.objects.values_list("enqueued", flat=True)) == 6 * 15 * 4
    assert sum(Total.objects.values_list("completed", flat=True)) == sum(
        jobs for (_, state), jobs in counted.items() if state is State.COMPLETED
    )
    assert_store_is_sound()


def test_depths_read_while_an_aggregation_runs_are_never_off() -> None:
    stored_ids(200)
    wait_until_complete()
    aggregate_events(1)

    def read() -> set[int]:
        return {sum(queries.depths().get("default", {}).values()) for _ in range(40)}

    def count() -> set[int]:
        while aggregate_events(10):
            pass
        return {200}

    assert set().union(*at_once([read, read, count])) == {200}


@pytest.mark.parametrize("table", ["ojs_total", "ojs_period", "ojs_tenant_period"])
@spec("contract 32.6")
def test_an_aggregation_that_is_killed_half_way_counts_everything_once(table: str) -> None:
    ids = stored_ids(3)
    fetch(FetchRequest(("default",), count=3))
    ack([Ack(job_id) for job_id in ids[:1]])
    aggregate_everything()
    ack([Ack(job_id) for job_id in ids[1:]])
    wait_until_complete()

    with threads(1) as start, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {table} FOR UPDATE")  # noqa: S608 - the aggregation waits for this lock
        aggregating = start(aggregate_events)
        wait_until_blocked()
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY ("
            " SELECT unnest(pg_blocking_pids(pid) || pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock')"
            " AND pid <> pg_backend_pid()"
        )
        with pytest.raises(OperationalError):
            aggregating.result()
    aggregate_everything()

    for span_s in SPANS:
        counted = Period.objects.filter(span_s=span_s).values_list("enqueued", "completed")
        assert [sum(numbers) for numbers in zip(*counted, strict=True)] == [3, 3]
        of_tenants = TenantPeriod.objects.filter(span_s=span_s).values_list("completed", flat=True)
        assert sum(of_tenants) == 3
        buckets = Latency.objects.filter(span_s=span_s).values_list("jobs", flat=True)
        assert sum(buckets) == 3
    assert Total.objects.get().completed == 3
    assert_depths_equal_recount()


def aggregate_everything() -> None:
    """Aggregate all events."""
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass
