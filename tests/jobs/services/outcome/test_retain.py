"""Retention: removed rows, their ages, and rows that stay. Spec: contract 10.6, 28.3, 25.2, D46."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection

from jobs import loops, queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.domain.record.periods import SPANS
from jobs.domain.states import CODES, TERMINAL, State
from jobs.extensions import TransitionHooks
from jobs.models import (
    ArchivedJob,
    Audit,
    Event,
    Finished,
    Latency,
    Period,
    Progress,
    Queue,
    ResultExpiry,
    TenantPeriod,
    Total,
)
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome import dead_letter
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.progress import Progress as Report
from jobs.services.outcome.progress import report
from jobs.services.outcome.retain import Retainer, retention_of
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import assert_depths_equal_recount, assert_store_is_sound, removed_counts
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DAY, HOUR = 86_400, 3_600
ENDS = sorted(TERMINAL)


@pytest.fixture
def set_to(settings: Any) -> Callable[..., None]:
    """Return a function that changes settings of the core."""

    def change(**ojs: Any) -> None:
        settings.OJS = {**settings.OJS, **ojs}

    return change


def age(seconds: float, *job_ids: str) -> None:
    """Move the ends of jobs into the past by this number of seconds."""
    with connection.cursor() as cursor:
        for table in ("ojs_job", "ojs_finished"):
            cursor.execute(
                f"UPDATE {table} SET finished_at = finished_at - %s * interval '1 second'"  # noqa: S608
                " WHERE id = ANY (%s::uuid[])",
                [seconds, list(job_ids)],
            )


def aggregate_all() -> None:
    """Aggregate all events."""
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass


def retain_all(batch: int = 1000) -> int:
    """Aggregate, remove all rows whose retention has passed, and return their number."""
    aggregate_all()
    retain = Retainer()
    total = 0
    while removed := retain(batch):
        total += removed
    return total


def ended(state: State, number: int = 1, *, ago: float = 0.0, **envelope: Any) -> list[str]:
    """Store jobs that ended some seconds ago."""
    ids = [JobFactory.create(state=state, **envelope).id for _ in range(number)]
    age(ago, *ids)
    return ids


def dead(number: int = 1, *, ago: float = 0.0, queue: str = "default") -> list[str]:
    """Store jobs in the dead letter, the oldest first."""
    retry = {"on_exhaustion": "dead_letter"}
    ids = ended(State.DISCARDED, number, queue=queue, retry=retry)
    for n, job_id in enumerate(ids):
        age(ago + number - n, job_id)
    return ids


def kept() -> set[str]:
    """Return the ids of all stored jobs."""
    return set(map(str, Row.objects.values_list("id", flat=True)))


# --- ages -----------------------------------------------------------------------------------------

LIMITS = {State.COMPLETED: 7 * DAY, State.CANCELLED: 7 * DAY, State.DISCARDED: 30 * DAY}


@pytest.mark.parametrize("state", ENDS)
@spec("contract 10.6")
def test_an_ended_job_leaves_at_its_age_and_not_before(state: State) -> None:
    old = ended(state, ago=LIMITS[state] + 5, queue="old")
    young = ended(state, ago=LIMITS[state] - HOUR, queue="young")

    assert retain_all() == 1

    assert kept() == {*young}
    assert not kept() & {*old}
    assert_store_is_sound()


@spec("contract 10.6")
def test_the_dead_letter_leaves_after_180_days() -> None:
    dead(ago=181 * DAY, queue="old")
    young = dead(ago=179 * DAY, queue="young")

    assert retain_all() == 1

    assert kept() == {*young}


@spec("contract 10.6")
def test_a_live_job_never_leaves() -> None:
    ids = {JobFactory.create(state=state, queue=state.value).id for state in set(State) - TERMINAL}
    Row.objects.update(created_at=queries.ago(10**11), enqueued_at=queries.ago(10**11))

    assert retain_all() == 0
    assert kept() == ids


@spec("contract 28.3")
def test_a_queue_has_a_retention_of_its_own() -> None:
    short, usual = (
        [ended(state, ago=3 * HOUR, queue=queue)[0] for state in ENDS]
        + dead(ago=3 * HOUR, queue=queue)
        for queue in ("short", "usual")
    )
    ages = dict.fromkeys(("completed", "cancelled", "discarded", "dead_letter"), "PT2H")
    Queue.objects.filter(name="short").update(config={"retention": ages})

    assert retain_all() == len(short)

    assert kept() == {*usual}


@spec("contract 28.3")
def test_zero_keeps_for_ever() -> None:
    ids = ended(State.COMPLETED, ago=5000 * DAY)
    Queue.objects.update(config={"retention": {"completed": "0"}})

    assert retain_all() == 0
    assert kept() == {*ids}


@spec("contract 28.3")
def test_settings_are_the_default_of_every_queue(set_to: Callable[..., None]) -> None:
    set_to(RETENTION_COMPLETED="PT1H", RETENTION_CANCELLED="0")
    ended(State.COMPLETED, ago=2 * HOUR)
    cancelled = ended(State.CANCELLED, ago=5000 * DAY)

    assert retain_all() == 1
    assert kept() == {*cancelled}


def test_a_configuration_that_cannot_be_read_leaves_the_default() -> None:
    ended(State.COMPLETED, ago=8 * DAY)
    Queue.objects.update(config={"retention": {"completed": "soon"}})

    assert retention_of("default") == retention_of(None)
    assert retain_all() == 1


@pytest.mark.parametrize("batch", [1, 4, 5, 1000])
def test_jobs_of_many_queues_leave_whatever_the_batch(batch: int) -> None:
    old = [
        job_id
        for n in range(9)
        for state in ENDS[: n % 4]
        for job_id in ended(state, n % 3, ago=31 * DAY, queue=f"q{n}")
    ]
    young = [ended(State.COMPLETED, queue=f"q{n}")[0] for n in range(9)]

    assert retain_all(batch) == len(old) > 0

    assert kept() == {*young}
    assert_store_is_sound()


def test_jobs_of_a_queue_that_was_deleted_leave_too() -> None:
    ended(State.COMPLETED, ago=8 * DAY)
    Queue.objects.all().delete()

    assert retain_all() == 1


# --- the bound of the dead letter -----------------------------------------------------------------


def limit_dead_letter(number: int, queue: str = "default") -> None:
    config = {"retention": {"dead_letter": {"max_count": number}}}
    Queue.objects.filter(name=queue).update(config=config)


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
@spec("contract 28.3")
def test_beyond_its_number_the_oldest_of_the_dead_letter_leave(batch: int) -> None:
    ids = dead(7)
    limit_dead_letter(4)

    assert retain_all(batch) == 3

    assert kept() == {*ids[3:]}
    assert_store_is_sound()


@spec("contract 28.3")
def test_jobs_that_ended_in_the_same_instant_are_counted_one_by_one() -> None:
    ids = dead(6)
    at = queries.now()
    for table in (Row, Finished):
        table.objects.update(finished_at=at)
    limit_dead_letter(4)

    assert retain_all() == 2
    assert kept() == {*sorted(ids)[2:]}


@spec("contract 28.3")
def test_the_number_counts_the_dead_letter_of_one_queue_alone() -> None:
    ids = [*dead(3), *dead(3, queue="b"), *ended(State.DISCARDED, 5)]
    limit_dead_letter(3)

    assert retain_all() == 0
    assert kept() == {*ids}


@spec("contract 28.3")
def test_the_default_number_is_a_setting(set_to: Callable[..., None]) -> None:
    set_to(RETENTION_DEAD_LETTER_JOBS=2)
    dead(5)
    dead(3, queue="b")

    assert retain_all() == 3 + 1


@spec("contract 28.3")
def test_what_was_pruned_from_the_dead_letter_is_told_by_queue_and_reason() -> None:
    dead(2, ago=200 * DAY)
    dead(3)
    limit_dead_letter(1)
    ended(State.DISCARDED, ago=31 * DAY)

    assert retain_all() == 5

    told = Event.objects.filter(kind=Kind.DEAD_LETTER_PRUNED).values_list("queue", "data")
    assert sorted(
        (queue, data["reason"], data["count"], data["queue"]) for queue, data in told if data
    ) == [
        ("default", "max_age", 2, "default"),
        ("default", "max_count", 2, "default"),
    ]


# --- rows that leave with a job -------------------------------------------------------------------


@spec("contract 10.6")
def test_all_rows_of_a_job_leave_with_it() -> None:
    job = JobFactory.create(state=State.ACTIVE, result_ttl=DAY)
    report(job.id, Report(0.5))
    ack([Ack(job.id, b'{"rows": 3}')])
    age(8 * DAY, job.id)
    assert Progress.objects.exists()
    assert ResultExpiry.objects.exists()

    assert retain_all() == 1

    tables = [m._meta.db_table for m in (Row, Finished, Progress, ResultExpiry, ArchivedJob)]
    assert dict.fromkeys(tables, 0) == {t: rows(t) for t in tables}


def rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - a constant
        return int(cursor.fetchone()[0])


@spec("contract 10.3")
def test_counts_of_states_follow_and_totals_stay() -> None:
    ended(State.COMPLETED, 3, ago=8 * DAY)
    ended(State.COMPLETED, 2)
    ended(State.CANCELLED, 2, ago=8 * DAY, queue="b")
    aggregate_all()
    totals = set(Total.objects.values_list("queue", "enqueued", "completed", "cancelled"))

    retain_all()

    assert_depths_equal_recount()
    assert queries.depths(["default"])["default"][CODES[State.COMPLETED]] == 2
    aggregate_all()
    assert_depths_equal_recount()
    assert set(Total.objects.values_list("queue", "enqueued", "completed", "cancelled")) == totals


def test_one_event_stands_for_a_batch_of_jobs() -> None:
    ids = stored_ids(40)
    fetched = [job.id for job in fetch_all()]
    ack([Ack(job_id) for job_id in fetched])
    age(8 * DAY, *ids)

    retain_all(batch=20)

    assert removed_counts() == [20, 20]


def fetch_all() -> list[Any]:
    return fetch(FetchRequest(("default",), count=100)).jobs


@spec("contract 28.3")
def test_archive_keeps_the_row(set_to: Callable[..., None]) -> None:
    set_to(PRUNING_POLICY="archive")
    job = JobFactory.create(state=State.COMPLETED, args=[1, {"a": None}], meta={"b": 2})
    age(8 * DAY, job.id)

    assert retain_all() == 1

    archived = ArchivedJob.objects.get()
    assert (str(archived.id), archived.queue) == (job.id, "default")
    assert archived.job["args"] == [1, {"a": None}]
    assert archived.job["meta"] == {"b": 2}
    assert archived.job["state"] == CODES[State.COMPLETED]
    assert not kept()


@spec("contract 28.3")
def test_archive_takes_an_id_again(set_to: Callable[..., None]) -> None:
    set_to(PRUNING_POLICY="archive")
    first = JobFactory.create(state=State.COMPLETED)
    age(8 * DAY, first.id)
    retain_all()
    JobFactory.create(state=State.CANCELLED, id=first.id)
    age(8 * DAY, first.id)

    retain_all()

    assert ArchivedJob.objects.get().job["state"] == CODES[State.CANCELLED]


def test_delete_by_hand_archives_nothing(set_to: Callable[..., None]) -> None:
    set_to(PRUNING_POLICY="archive")
    dead_letter.delete(JobFactory.create(state=State.DISCARDED).id)

    assert not ArchivedJob.objects.exists()


# --- the veto of extensions -----------------------------------------------------------------------


class Keeper(TransitionHooks):
    """Extension that retains chosen jobs and records the ids that it was asked about."""

    retained: set[str] = set()
    asked: list[Sequence[str]] = []

    def retained_jobs(self, job_ids: Sequence[str]) -> set[str]:
        self.asked.append(job_ids)
        return self.retained & {*job_ids}


@pytest.fixture
def keeper(set_to: Callable[..., None]) -> type[Keeper]:
    """Install the extension."""
    Keeper.retained, Keeper.asked = set(), []
    set_to(EXTENSIONS=[f"{__name__}.Keeper"])
    return Keeper


def watched(number: int) -> list[str]:
    """Store jobs that an extension follows and whose retention has passed."""
    ids = ended(State.CANCELLED, number, ago=8 * DAY)
    Row.objects.filter(id__in=ids).update(watched=True)
    return ids


@pytest.mark.parametrize("batch", [1, 2, 100])
@spec("contract 28.3")
def test_a_retained_job_stays_and_the_others_behind_it_leave(
    keeper: type[Keeper], batch: int
) -> None:
    ids = watched(6)
    keeper.retained = {ids[0], ids[1], ids[4]}

    assert retain_all(batch) == 3

    assert kept() == keeper.retained
    asked = Counter(job_id for batch in keeper.asked for job_id in batch)
    assert asked == dict.fromkeys(ids, 1), "a job was looked at twice"
    assert_store_is_sound()


@spec("contract 28.3")
def test_a_retained_job_leaves_when_it_is_let_go(keeper: type[Keeper]) -> None:
    keeper.retained = {*watched(3)}
    assert retain_all() == 0

    keeper.retained = set()

    assert retain_all() == 3


def test_an_extension_is_asked_about_watched_jobs_alone(keeper: type[Keeper]) -> None:
    ended(State.CANCELLED, 3, ago=8 * DAY)

    assert retain_all() == 3
    assert keeper.asked == []


# --- results --------------------------------------------------------------------------------------


def completed_with_result(**envelope: Any) -> str:
    job = JobFactory.create(state=State.ACTIVE, **envelope)
    ack([Ack(job.id, b'{"rows": 3}')])
    return job.id


def result_of(job_id: str) -> object:
    return Row.objects.values_list("result", flat=True).get(id=job_id)


@pytest.mark.parametrize("envelope", [{}, {"result_ttl": -1}, {"options": {"result_ttl": -1}}])
@spec("contract 10.6")
def test_a_result_stays_with_the_job(envelope: dict[str, Any]) -> None:
    job_id = completed_with_result(**envelope)

    assert retain_all() == 0
    assert result_of(job_id) == {"rows": 3}
    assert Event.objects.get(kind=Kind.COMPLETED).data == {"result": {"rows": 3}}
    assert not ResultExpiry.objects.exists()


@pytest.mark.parametrize("envelope", [{"result_ttl": 0}, {"options": {"result_ttl": 0}}])
@spec("contract 10.6")
def test_a_result_with_no_time_to_live_is_not_stored(envelope: dict[str, Any]) -> None:
    job_id = completed_with_result(**envelope)

    assert result_of(job_id) is None
    assert Event.objects.get(kind=Kind.COMPLETED).data is None
    assert not ResultExpiry.objects.exists()


@spec("contract 10.6")
def test_a_result_leaves_before_its_job() -> None:
    soon, later = (completed_with_result(result_ttl=ttl) for ttl in (5, HOUR))
    assert result_of(soon) == {"rows": 3}
    ResultExpiry.objects.filter(id=soon).update(due_at=queries.ago(1))

    assert retain_all() == 1

    assert result_of(soon) is None
    assert result_of(later) == {"rows": 3}
    assert kept() == {soon, later}
    assert not any(event.data for event in Event.objects.filter(kind=Kind.COMPLETED))


@spec("contract 10.6")
def test_a_job_without_a_result_has_nothing_to_expire() -> None:
    job = JobFactory.create(state=State.ACTIVE, result_ttl=5)
    ack([Ack(job.id)])

    assert not ResultExpiry.objects.exists()


# --- events and minutes ---------------------------------------------------------------------------


@spec("contract 25.2")
def test_events_leave_at_their_age() -> None:
    old, young = stored_ids(1), stored_ids(1)
    aggregate_all()
    Event.objects.filter(job_id__in=old).update(at=queries.ago(8 * DAY * 1000))

    assert retain_all() == 1

    assert [str(event.job_id) for event in Event.objects.all()] == young
    assert_depths_equal_recount()


@pytest.mark.parametrize("batch", [1, 2, 1000])
@spec("contract 25.2")
def test_beyond_their_number_the_oldest_events_leave(
    set_to: Callable[..., None], batch: int
) -> None:
    set_to(RETENTION_EVENT_ROWS=15)
    ids = [stored_ids(1)[0] for _ in range(40)]

    retain_all(batch)

    events = Event.objects.order_by("stamp", "seq")
    assert [str(event.job_id) for event in events] == ids[-15:]


@spec("contract 25.2")
def test_events_stay_without_bounds(set_to: Callable[..., None]) -> None:
    set_to(RETENTION_EVENT_ROWS=0, RETENTION_EVENTS="0")
    stored_ids(5)
    aggregate_all()
    Event.objects.update(at=queries.ago(5000 * DAY * 1000))

    assert retain_all() == 0


def test_events_that_are_not_counted_yet_stay() -> None:
    stored_ids(5)
    aggregate_all()
    Event.objects.update(at=queries.ago(8 * DAY * 1000))
    stored_ids(3)
    Event.objects.update(at=queries.ago(8 * DAY * 1000))

    assert Retainer()() == 5
    assert Event.objects.count() == 3
    assert_depths_equal_recount()


def counted(span_s: int, *hours_ago: float) -> None:
    """Store counts of a span, with a start these hours ago, in each table."""
    for hours in hours_ago:
        at = queries.ago(round(hours * HOUR * 1000))
        Period.objects.create(span_s=span_s, at=at, queue="a", type="t")
        Latency.objects.create(span_s=span_s, at=at, queue="a", bucket=1, jobs=1)
        TenantPeriod.objects.create(
            tenant="t", span_s=span_s, at=at, queue="a",
            enqueued=1, started=0, completed=0, failed=0, wait_ms=0, run_ms=0,
        )  # fmt: skip


@pytest.mark.parametrize(("span_s", "hours"), [(60, 48), (3600, 90 * 24), (86_400, 730 * 24)])
@spec("contract 28.3")
def test_counts_leave_by_their_span_after_two_days_90_days_and_two_years(
    span_s: int, hours: int
) -> None:
    counted(span_s, hours - 1, hours + 1, hours + 5000)

    assert retain_all() == 2
    for model in (Period, Latency, TenantPeriod):
        kept = model.objects.filter(at__gt=queries.ago(hours * HOUR * 1000))
        assert (kept.count(), model.objects.count()) == (1, 1)


@spec("contract 28.3")
def test_counts_stay_without_bound(set_to: Callable[..., None]) -> None:
    set_to(RETENTION_MINUTES="0", RETENTION_HOURS="0", RETENTION_DAYS="0")
    for span_s in SPANS:
        counted(span_s, 50_000)

    assert retain_all() == 0


@spec("contract 28.3")
def test_audit_entries_leave_after_a_year(set_to: Callable[..., None]) -> None:
    for days in (364, 366, 800):
        at = queries.ago(days * DAY * 1000)
        Audit.objects.create(at=at, actor="a", action="queue.paused", target=str(days))

    assert retain_all() == 2
    assert Audit.objects.get().target == "364"
    set_to(RETENTION_AUDIT="P1D")
    assert retain_all() == 1


# --- the loop -------------------------------------------------------------------------------------


def test_the_loops_have_it_at_least_every_five_minutes() -> None:
    loop = next(loop for loop in loops.CORE if loop.name == "retention")
    ended(State.COMPLETED, 3, ago=8 * DAY)
    aggregate_all()

    assert loop.interval_ms <= 300_000
    assert loops.run_once(["retention"]) == 3


def test_a_job_that_was_passed_is_looked_at_in_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended(State.COMPLETED, ago=8 * DAY)
    aggregate_all()
    retain = Retainer()
    assert retain() == 1
    late = ended(State.COMPLETED, ago=9 * DAY)  # committed behind the position of the current round
    assert retain() == 0

    monkeypatch.setattr("jobs.services.outcome.retain.ROUND_S", 0.0)

    assert retain() == 1
    assert not kept() & {*late}
