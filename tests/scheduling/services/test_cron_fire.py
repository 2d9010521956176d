"""Due schedules make jobs. Spec: contract 7.3, 7.4."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import extensions
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Duplicate, QueueFull
from jobs.domain.record.events import Kind
from jobs.domain.states import State, state_of
from jobs.domain.wire.times import format_time
from jobs.models import Job
from jobs.services.dispatch.explain import explain
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.activate import activate
from jobs.services.outcome.cancel import cancel
from jobs.services.read.show import show
from scheduling.domain.overlap import MAX_WAITING, Overlap
from scheduling.models import KEPT, CronEntry, CronRun, CronTurn
from scheduling.services.cron_fire import due_in_ms, fire
from scheduling.services.cron_register import Changes, change, delete, switch
from scheduling.services.cron_slots import pass_on_forgotten
from tests.asserts import assert_store_is_sound, state
from tests.factories import JobFactory
from tests.installing import installing
from tests.scheduling.conftest import (
    ANYBODY,
    NORTH,
    allow_all,
    entry,
    event_data,
    last_job,
    make_due,
    registered,
)
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def fire_again(*names: str) -> str:
    """Make schedules due and fire; return the job of the first schedule's latest run."""
    make_due(*names)
    fire()
    return str(CronEntry.objects.order_by("id").values_list("last_job_id", flat=True)[0])


def job_ids() -> set[str]:
    """Return the ids of all jobs."""
    return set(map(str, Job.objects.values_list("id", flat=True)))


def claim(queue: str = "default") -> list[str]:
    """Claim all available jobs."""
    return [job.id for job in fetch(FetchRequest((queue,), count=100)).jobs]


# --- 7.3 ------------------------------------------------------------------------------------------


@spec("contract 7.3")
def test_due_schedule_makes_its_job_and_waits_for_its_next_time() -> None:
    registered(
        job_template={"type": "mail.digest", "args": [1, "a"], "meta": {"x": 1, "cron_name": "y"},
                      "options": {"queue": "mail", "priority": 5, "tags": ["t"]}},
        type=None, timezone="America/New_York", expression="30 2 * * *",
    )  # fmt: skip
    at = make_due()

    assert fire() == 1

    job, after = last_job(), entry()
    assert (job.type, job.queue, job.priority) == ("mail.digest", "mail", 5)
    assert orjson.loads(job.args) == [1, "a"]
    assert orjson.loads(job.meta) == {
        "x": 1, "cron_name": "nightly", "cron_triggered_at": format_time(at)
    }  # fmt: skip
    assert state_of(job.state) is State.AVAILABLE
    assert (after.run_count, after.next_run_at == after.due_at) == (1, True)
    assert after.next_run_at is not None
    assert after.last_run_at is not None
    assert after.next_run_at > after.now >= after.last_run_at > at
    assert fire() == 0
    assert_store_is_sound()


@spec("contract 12.4")
def test_triggered_event_tells_of_the_run() -> None:
    registered(timezone="Europe/Berlin", options={"queue": "mail"})
    at = make_due()

    fire()

    assert event_data(Kind.CRON_TRIGGERED) == [
        {
            "cron_name": "nightly", "cron_expr": "0 * * * *", "cron_expression": "0 * * * *",
            "timezone": "Europe/Berlin", "job_type": "tests.cron", "job_id": last_job().id,
            "scheduled_at": format_time(at), "run_count": 1,
        }
    ]  # fmt: skip


@spec("contract 7.3")
def test_missed_occurrences_are_caught_up_with_once(nightly: CronEntry) -> None:
    at = make_due(ago=timedelta(days=40))

    assert [fire(), fire()] == [1, 0]

    assert Job.objects.count() == 1
    assert orjson.loads(last_job().meta)["cron_triggered_at"] == format_time(at)
    after = entry()
    assert after.next_run_at is not None
    assert timedelta(0) < after.next_run_at - after.now <= timedelta(hours=1)


@spec("contract 7.3")
def test_interval_on_time_keeps_its_beat_and_a_late_one_starts_anew() -> None:
    registered("beat", expression="@every 1h")
    at = make_due(ago=timedelta(minutes=10))
    fire()
    assert entry("beat").next_run_at == at + timedelta(hours=1)

    make_due(ago=timedelta(hours=5))
    cancel(str(entry("beat").last_job_id))
    fire()
    after = entry("beat")
    assert after.next_run_at is not None
    assert after.next_run_at - after.now > timedelta(minutes=59)


@spec("contract 7.3")
def test_disabled_schedule_does_not_fire(nightly: CronEntry) -> None:
    make_due()
    switch("nightly", ANYBODY, allow_all, enabled=False)

    assert fire() == 0
    assert entry().next_run_at is None

    switch("nightly", ANYBODY, allow_all, enabled=True)
    assert fire() == 0
    assert entry().next_run_at is not None


@spec("contract 7.3")
def test_schedules_that_are_not_due_cost_one_statement(nightly: CronEntry) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert fire() == 0

    ran = [query["sql"].split()[0] for query in captured.captured_queries]
    assert ran == ["BEGIN", "SELECT", "COMMIT"]


@pytest.mark.parametrize("number", [1, 50])
@spec("contract 7.3")
def test_a_batch_takes_a_fixed_number_of_statements(number: int) -> None:
    registered("first")
    fire_again()  # now the lane is known
    cancel(last_job("first").id)
    for n in range(number):
        registered(f"n{n}", overlap_policy=("skip", "allow")[n % 2])
    make_due(*(f"n{n}" for n in range(number)))

    with CaptureQueriesContext(connection) as captured:
        assert fire() == number

    ran = [q["sql"] for q in captured.captured_queries]
    ran = [sql for sql in ran if not sql.startswith(("BEGIN", "COMMIT", "SAVE", "RELEASE"))]
    # read due rows, enqueue, advance, write events, wake
    assert len(ran) == 5, ran
    assert Job.objects.count() == number + 1


@spec("contract 7.3")
def test_next_run_in_ms_is_known(nightly: CronEntry) -> None:
    found = due_in_ms()
    assert found is not None
    assert 0 < found <= 3_600_000
    make_due(ago=timedelta(milliseconds=1500))
    assert -3000 < (due_in_ms() or 0) <= -1500

    delete("nightly", ANYBODY, allow_all)
    assert due_in_ms() is None


def set_due(at: datetime, run_at: datetime, name: str = "nightly") -> None:
    CronEntry.objects.filter(name=name).update(due_at=at, next_run_at=run_at)


@spec("contract 7.3")
def test_time_that_the_clocks_skip_is_told_and_makes_no_job() -> None:
    registered(expression="30 2 * * *", timezone="America/New_York")
    jump = datetime(2026, 3, 8, 7, tzinfo=UTC)
    set_due(jump, datetime(2099, 3, 9, 6, 30, tzinfo=UTC))

    assert fire() == 1

    assert Job.objects.count() == 0
    (event,) = event_data(Kind.CRON_SKIPPED)
    assert (event["reason"], event["cron_name"]) == ("dst_skip", "nightly")
    assert event["scheduled_at"] == "2026-03-08T07:00:00Z"
    after = entry()
    assert after.due_at is not None
    assert (after.run_count, after.due_at > after.now) == (0, True)


@spec("contract 7.3")
def test_skipped_time_and_run_of_one_moment_are_both_handled() -> None:
    registered(expression="0,30 2,3 * * *", timezone="America/New_York")
    jump = datetime(2026, 3, 8, 7, tzinfo=UTC)
    set_due(jump, jump)

    fire()

    assert [event["reason"] for event in event_data(Kind.CRON_SKIPPED)] == ["dst_skip"] * 2
    assert Job.objects.count() == 1
    assert CronRun.objects.count() == 3


def test_schedule_that_is_no_longer_understood_is_switched_off_and_holds_up_nobody() -> None:
    for name in ("broken", "lost", "sound"):
        registered(name)
    CronEntry.objects.filter(name="broken").update(expression="nonsense")
    CronEntry.objects.filter(name="lost").update(timezone="Europe/Atlantis")
    make_due()

    assert fire() == 3

    assert not entry("broken").enabled
    assert not entry("lost").enabled
    assert entry("sound").run_count == 1
    assert fire() == 0


# --- refusals -------------------------------------------------------------------------------------


class Gate(extensions.EnqueueHooks):
    """Extension that refuses jobs by their type."""

    def __init__(self) -> None:
        self.problems: dict[str, Callable[[], Exception]] = {}
        self.dropped: set[str] = set()

    def prepare(self, draft: JobDraft, caller: object) -> JobDraft | None:
        if problem := self.problems.get(draft.type):
            raise problem()
        return None if draft.type in self.dropped else draft


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return an extension that every enqueue asks."""
    made = Gate()
    with installing(*extensions.installed(), made):
        yield made


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda: QueueFull("the queue is full"), "queue_full"),
        (lambda: Duplicate("there is one", details={"existing_job_id": "x"}), "duplicate"),
        (lambda: RuntimeError("a bug"), "error"),
    ],
)
@spec("BP-10")
def test_refused_run_is_skipped_and_the_others_run(
    gate: Gate, problem: Callable[[], Exception], reason: str
) -> None:
    registered("bad", type="tests.bad")
    for n in range(3):
        registered(f"good{n}")
    gate.problems["tests.bad"] = problem
    make_due()

    assert fire() == 4

    assert Job.objects.count() == 3
    (event,) = event_data(Kind.CRON_SKIPPED)
    assert (event["cron_name"], event["reason"]) == ("bad", reason)
    assert event.get("existing_job_id") == ("x" if reason == "duplicate" else None)
    bad = entry("bad")
    assert bad.apart
    assert bad.next_run_at is not None
    assert (bad.run_count, bad.last_job_id, bad.next_run_at > bad.now) == (0, None, True)


def test_schedule_that_was_refused_is_fired_by_itself_until_it_runs_again(gate: Gate) -> None:
    registered("bad", type="tests.bad", overlap_policy="allow")
    registered("good", overlap_policy="allow")
    gate.problems["tests.bad"] = lambda: QueueFull("the queue is full")
    fire_again()

    fire_again()
    assert (entry("good").run_count, entry("bad").run_count) == (2, 0)
    gate.problems.clear()
    fire_again()

    assert not entry("bad").apart
    assert (entry("good").run_count, entry("bad").run_count) == (3, 1)


@spec("contract 7.3")
def test_job_dropped_by_a_middleware_counts_as_skipped(gate: Gate) -> None:
    registered("gone", type="tests.gone")
    gate.dropped.add("tests.gone")

    fire_again()

    assert [event["reason"] for event in event_data(Kind.CRON_SKIPPED)] == ["dropped"]


@spec("contract 7.3")
def test_job_is_enqueued_with_everything_as_at_push(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered()
    settings.OJS = {**settings.OJS, "ENQUEUE_MIDDLEWARE": ("tests.scheduling.stamp",)}
    monkeypatch.setattr("tests.scheduling.stamp", stamp, raising=False)

    fire_again()

    assert orjson.loads(last_job().meta)["stamped"] is True


def stamp(job: JobDraft, following: Callable[[JobDraft], JobDraft | None]) -> JobDraft | None:
    """Add a marker to the job."""
    job.meta["stamped"] = True
    return following(job)


# --- 7.4 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "running", [State.SCHEDULED, State.PENDING, State.AVAILABLE, State.ACTIVE, State.RETRYABLE]
)
@spec("contract 7.4")
def test_skip_makes_no_job_while_the_latest_run_has_not_ended(running: State) -> None:
    registered()
    job = JobFactory.create(state=running)
    CronEntry.objects.update(last_job_id=job.id)

    fire_again()

    assert job_ids() == {job.id}
    (event,) = event_data(Kind.CRON_SKIPPED)
    assert (event["reason"], event["existing_job_id"]) == ("overlap_skip", job.id)
    after = entry()
    assert after.next_run_at is not None
    assert after.next_run_at > after.now
    assert not after.apart


@pytest.mark.parametrize("ended", [State.COMPLETED, State.CANCELLED, State.DISCARDED, None])
@spec("contract 7.4")
def test_skip_runs_again_when_the_latest_run_has_ended_or_is_gone(
    ended: State | None,
) -> None:
    registered()
    last = JobFactory.create(state=ended).id if ended else "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"
    CronEntry.objects.update(last_job_id=last)

    assert fire_again() != last
    assert event_data(Kind.CRON_SKIPPED) == []


@spec("contract 7.4")
def test_allow_makes_jobs_whatever_runs() -> None:
    registered(overlap_policy="allow")

    assert len({fire_again() for _ in range(3)}) == 3
    assert entry().run_count == 3


@pytest.mark.parametrize("is_active", [False, True])
@spec("contract 7.4")
def test_cancel_previous_cancels_it_and_runs(*, is_active: bool) -> None:
    registered(overlap_policy="cancel_previous")
    first = fire_again()
    if is_active:
        assert claim() == [first]

    second = fire_again()

    assert state(first) is State.CANCELLED
    assert state(second) is State.AVAILABLE
    assert entry().run_count == 2
    assert_store_is_sound()


@spec("contract 7.4")
def test_cancel_previous_cancels_nothing_when_the_new_run_is_refused(gate: Gate) -> None:
    registered(overlap_policy="cancel_previous", type="tests.bad")
    first = fire_again()
    gate.problems["tests.bad"] = lambda: QueueFull("the queue is full")

    fire_again()

    assert state(first) is State.AVAILABLE
    assert [event["reason"] for event in event_data(Kind.CRON_SKIPPED)] == ["queue_full"]


@spec("contract 7.4")
def test_enqueue_holds_runs_and_lets_them_follow_each_other() -> None:
    registered(overlap_policy="enqueue")
    first, second, third = (fire_again() for _ in range(3))
    assert [state(one) for one in (first, second, third)] == [
        State.AVAILABLE, State.PENDING, State.PENDING,
    ]  # fmt: skip

    assert claim() == [first]
    ack([Ack(first)])
    assert [state(second), state(third)] == [State.AVAILABLE, State.PENDING]
    assert claim() == [second]
    ack([Ack(second)])
    assert claim() == [third]
    ack([Ack(third)])

    assert CronTurn.objects.count() == 0
    assert state(fire_again()) is State.AVAILABLE
    assert_store_is_sound()


@spec("contract 7.4")
def test_a_run_that_waits_tells_for_which() -> None:
    registered(overlap_policy="enqueue")
    first, second, third = (fire_again() for _ in range(3))

    told_of = [
        [gate for gate in explain(show(one), None).gates if gate.gate == "schedule_turn"]
        for one in (first, second, third)
    ]

    assert told_of[0] == []
    assert [gate.message for gates in told_of[1:] for gate in gates] == [
        f"It waits until job {first} of the same schedule has ended.",
        f"It waits until job {first} of the same schedule has ended, and 1 run after that.",
    ]
    assert all(gate.is_closed for gates in told_of[1:] for gate in gates)


@spec("contract 7.4")
def test_enqueue_lets_ten_wait_and_skips_the_next() -> None:
    registered(overlap_policy="enqueue")
    ids = [fire_again() for _ in range(1 + MAX_WAITING)]
    assert len(set(ids)) == 11

    assert fire_again() == ids[-1]

    (event,) = event_data(Kind.CRON_SKIPPED)
    assert (event["reason"], event["existing_job_id"]) == ("overlap_skip", ids[0])
    claim()
    ack([Ack(ids[0])])
    assert fire_again() not in ids


def end(job_id: str) -> None:
    """End a job without the notice to its schedule, then run the loop that passes slots on."""
    cancel(job_id)
    pass_on_forgotten()


@spec("contract 7.4")
def test_enqueue_passes_over_runs_that_ended_while_they_waited() -> None:
    registered(overlap_policy="enqueue")
    first, second, third = (fire_again() for _ in range(3))
    cancel(second)

    end(first)

    assert state(third) is State.AVAILABLE
    assert CronTurn.objects.get().waiting == []


@spec("contract 7.4")
def test_enqueue_waits_for_a_run_that_somebody_started_by_hand() -> None:
    registered(overlap_policy="enqueue")
    first, second, third = (fire_again() for _ in range(3))
    activate(second)

    end(first)
    assert state(third) is State.PENDING
    end(second)

    assert state(third) is State.AVAILABLE


@spec("contract 7.4")
def test_waiting_runs_follow_each_other_after_their_schedule_is_deleted() -> None:
    registered(overlap_policy="enqueue")
    first, second, third = (fire_again() for _ in range(3))
    delete("nightly", ANYBODY, allow_all)

    assert state(second) is State.PENDING
    end(first)
    end(second)

    assert state(third) is State.AVAILABLE


@spec("contract 7.4")
def test_policy_that_becomes_enqueue_waits_for_the_run_that_goes_on() -> None:
    registered(overlap_policy="allow")
    first = fire_again()
    change("nightly", Changes(overlap=Overlap.ENQUEUE), ANYBODY, allow_all)

    second = fire_again()
    assert state(second) is State.PENDING
    end(first)

    assert state(second) is State.AVAILABLE


# --- tenants and history --------------------------------------------------------------------------


@spec("multi-tenancy 13")
def test_job_belongs_to_the_tenant_of_its_schedule() -> None:
    registered("mine", NORTH)
    registered("ours")
    make_due()

    fire()

    assert last_job("mine").tenant == "north"
    assert orjson.loads(last_job("mine").meta)["tenant_id"] == "north"
    assert last_job("ours").tenant == "_default"


def test_history_keeps_the_latest_runs_only() -> None:
    registered(overlap_policy="allow")
    CronEntry.objects.update(noted=KEPT - 2)

    ids = [fire_again() for _ in range(5)]

    rows = CronRun.objects.order_by("number")
    assert [str(run.job_id) for run in rows] == ids
    assert [run.number for run in rows] == list(range(KEPT - 2, KEPT + 3))
    assert sorted(run.slot for run in rows) == [0, 1, 2, KEPT - 2, KEPT - 1]
    CronEntry.objects.update(noted=KEPT - 2)
    fire_again()
    assert CronRun.objects.count() == 5
