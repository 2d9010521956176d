"""Rules about queues: incidents with real jobs, and the calm case of each."""

from datetime import timedelta

import pytest
from django.db.models import F

from attention.domain.rule import Severity
from attention.models import Sample
from attention.queries.findings import sample
from attention.rules import BY_ID
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Dispatch, ObjectivePeriod, Queue, Ready, Worker
from jobs.queries import ago, now
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.queue_config import configure
from jobs.services.operate.queues import pause, resume
from jobs.services.outcome.ack import Ack, ack
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.services.workers.leave import leave
from jobs.services.workers.workers import direct
from tests.attention.incidents import aggregated, counted, found, subjects
from tests.factories import stored

pytestmark = pytest.mark.usefixtures("store")


def works(name: str, *queues: str) -> None:
    """Let a worker be alive that fetches these queues."""
    heartbeat(Report(name, queues=queues or None))


def waiting(number: int, queue: str = "q", minutes: int = 5) -> None:
    """Store jobs that have waited for some minutes."""
    stored(number, queue=queue)
    Ready.objects.update(enqueued_at=F("enqueued_at") - timedelta(minutes=minutes))
    aggregated()


# --- paused ---------------------------------------------------------------------------------------


def test_a_paused_queue_with_jobs_is_found_since_its_pause_with_the_reason() -> None:
    waiting(3)
    pause("q", Caller("ada"), "bad deploy")
    Queue.objects.update(paused_at=ago(300_000))

    (one,) = found("queue_paused")

    assert (one.hit.subject, one.hit.jobs) == ("q", 3)
    assert one.hit.since == Queue.objects.get(name="q").paused_at
    assert one.rule.cause(one.hit) == "ada paused it: bad deploy"
    assert (one.rule.remedies(one.hit)[0].action, one.severity) == ("resume", Severity.WARNING)


def test_a_queue_is_calm_while_paused_without_jobs_just_paused_or_resumed() -> None:
    waiting(1)
    pause("q", SYSTEM)
    pause("empty", SYSTEM)
    assert found("queue_paused") == []  # too short

    Queue.objects.update(paused_at=ago(300_000))
    assert subjects("queue_paused") == ["q"]
    resume("q", SYSTEM)
    assert found("queue_paused") == []


# --- without a worker -----------------------------------------------------------------------------


def test_a_queue_that_no_worker_ever_took_is_found_since_its_oldest_job() -> None:
    works("w", "other")
    waiting(2)

    (one,) = found("queue_without_worker")

    assert (one.hit.subject, one.hit.jobs, one.severity) == ("q", 2, Severity.CRITICAL)
    assert one.hit.since == Ready.objects.order_by("enqueued_at")[0].enqueued_at
    assert "No worker has named this queue" in one.rule.cause(one.hit)


def test_a_queue_is_alone_since_its_last_worker_died() -> None:
    works("w", "q")
    waiting(2)
    assert found("queue_without_worker") == []
    Worker.objects.update(last_heartbeat_at=ago(120_000))

    (one,) = found("queue_without_worker")

    assert one.hit.since == Worker.objects.get(id="w").last_heartbeat_at
    assert "stopped or died" in one.rule.cause(one.hit)


def test_a_queue_of_a_quiet_worker_is_mended_by_its_resume() -> None:
    works("w", "q")
    waiting(1)
    direct("w", "quiet")

    (one,) = found("queue_without_worker")

    remedy = one.rule.remedies(one.hit)[0]
    assert (remedy.action, remedy.target) == ("unquiet", "w")
    direct("w", "resume")
    assert found("queue_without_worker") == []


@pytest.mark.parametrize("queues", [("q", "r"), ()])
def test_a_queue_is_calm_with_a_worker_that_takes_it(queues: tuple[str, ...]) -> None:
    works("w", *queues)
    waiting(2)

    assert found("queue_without_worker") == []


def test_a_queue_is_calm_while_a_worker_without_heartbeats_gets_its_jobs() -> None:
    waiting(3)
    (job,) = fetch(FetchRequest(("q",), worker_id="plain")).jobs
    ack([Ack(job.id)])
    aggregated()

    assert found("queue_without_worker") == []

    Dispatch.objects.update(last_at=ago(120_000))
    (one,) = found("queue_without_worker")
    assert one.hit.since == Dispatch.objects.get(queue="q").last_at


def test_a_queue_is_calm_while_it_is_paused_or_its_jobs_are_new() -> None:
    stored(1, queue="q")
    waiting(0)
    stored(1, queue="paused")
    Ready.objects.update(enqueued_at=ago(600_000))
    stored(1, queue="fresh")
    pause("paused", SYSTEM)
    aggregated()

    assert subjects("queue_without_worker") == ["q"]


def test_a_queue_whose_worker_left_in_order_is_alone() -> None:
    works("w", "q")
    waiting(1)
    leave("w")
    Worker.objects.update(stopped_at=ago(90_000))

    assert subjects("queue_without_worker") == ["q"]


# --- full, growing, late --------------------------------------------------------------------------


def test_a_bounded_queue_is_found_when_it_is_full() -> None:
    configure("q", {"backpressure": {"max_depth": 10}})
    waiting(9)
    assert found("queue_full") == []

    waiting(1)

    (one,) = found("queue_full")
    assert one.rule.text(one.hit) == "Queue q is 100 % full: 10 of 10 jobs."
    assert (one.hit.jobs, one.severity) == (10, Severity.CRITICAL)
    assert subjects("queue_full", percent=100) == ["q"]
    assert one.rule.cause(one.hit).startswith("No job has started for 15 minutes;")


def test_the_cause_of_a_full_queue_is_what_holds_its_jobs() -> None:
    configure("q", {"backpressure": {"max_depth": 2}})
    stored(2, queue="q")
    fetch(FetchRequest(("q",), worker_id="w"))
    stored(1, queue="q")
    aggregated()

    (one,) = found("queue_full")
    assert one.rule.cause(one.hit).startswith("More jobs come than workers start.")

    pause("q", SYSTEM)
    (one,) = found("queue_full")
    assert one.rule.cause(one.hit).startswith("The queue is paused.")


def sampled(minutes_ago: int, jobs: int, queue: str = "q") -> None:
    """Store the depth of a past minute."""
    at = now().replace(second=0, microsecond=0) - timedelta(minutes=minutes_ago)
    Sample.objects.update_or_create(at=at, queue=queue, defaults={"jobs": jobs})


def test_a_queue_that_multiplies_is_found_since_its_lowest_depth() -> None:
    for minute in range(1, 40):
        sampled(minute, 2 if minute >= 20 else 25 - minute)
    stored(30, queue="q")
    aggregated()

    (one,) = found("queue_grows", min_jobs=20)

    assert (one.hit.subject, one.hit.jobs, one.hit.facts["had"]) == ("q", 30, 10)
    lowest = now().replace(second=0, microsecond=0) - timedelta(minutes=20)
    assert one.hit.since == lowest


def test_a_queue_is_calm_while_it_is_deep_but_steady_or_shrinks() -> None:
    stored(30, queue="q")
    aggregated()
    assert found("queue_grows", min_jobs=20) == []  # no samples to compare with yet
    sampled(15, 29)
    sampled(5, 31)
    assert found("queue_grows", min_jobs=20) == []
    sampled(15, 3)

    assert found("queue_grows", min_jobs=20) == []  # it shrinks again

    sampled(5, 12)
    assert subjects("queue_grows", min_jobs=20) == ["q"]


def test_depths_are_sampled_once_a_minute_and_forgotten_after_an_hour() -> None:
    stored(2, queue="q")
    aggregated()
    sampled(70, 9)

    sample()
    stored(1, queue="q")
    aggregated()
    sample()

    rows = list(Sample.objects.values_list("queue", "jobs"))
    assert rows in ([("q", 2)], [("q", 2), ("q", 3)])  # a new minute may have begun


def test_a_queue_is_late_against_its_own_objective_since_the_first_late_minute() -> None:
    for minute in range(10, 60):
        counted(minute, started=10, wait_ms=1_000)
    since = counted(7, started=10, wait_ms=10 * 400_000)
    for minute in (1, 2, 3):
        counted(minute, started=10, wait_ms=10 * 500_000)

    (one,) = found("queue_late")

    assert (one.hit.subject, one.hit.since) == ("q", since)
    assert one.rule.text(one.hit) == (
        "Jobs of queue q wait 8 min 20 s until they start; the objective is 5 min."
    )
    assert found("queue_late", {"q": {"slo_s": 3_600}}) == []


def test_a_queue_is_calm_within_the_objective_or_with_few_starts() -> None:
    counted(1, queue="fast", started=100, wait_ms=100 * 2_000)
    counted(1, queue="rare", started=2, wait_ms=2 * 9_000_000)

    assert found("queue_late") == []


# --- objectives -----------------------------------------------------------------------------------


def judged(begin: int, end: int, started: int, late: int, queue: str = "q") -> None:
    """Store equal starts of each minute from `begin` to before `end` minutes ago."""
    at = now().replace(second=0, microsecond=0)
    ObjectivePeriod.objects.bulk_create(
        ObjectivePeriod(
            span_s=60, at=at - timedelta(minutes=minute), queue=queue, within_ms=30_000,
            started=started, late=late,
        )
        for minute in range(begin, end)
    )  # fmt: skip


def has_objective(queue: str = "q", percent: float = 99) -> None:
    """Configure an objective of half a minute."""
    configure(queue, {"objective": {"start_within_ms": 30_000, "percent": percent}})


def test_a_queue_that_burns_its_budget_fast_is_critical() -> None:
    has_objective()
    judged(0, 60, started=100, late=15)
    judged(60, 360, started=100, late=0)

    (one,) = found("queue_objective")

    assert (one.hit.subject, one.severity) == ("q", Severity.CRITICAL)
    assert one.rule.text(one.hit) == (
        "Queue q misses its objective: 900 of 6,000 starts of the last hour took more than 30 s."
    )
    assert one.rule.cause(one.hit) == (
        "The error budget burns 15 times as fast as 99 % permit: at this rate it lasts 2 d."
    )


def test_a_queue_that_burns_its_budget_slowly_is_a_warning() -> None:
    has_objective()
    judged(0, 360, started=100, late=7)

    (one,) = found("queue_objective")

    assert (one.hit.facts["is_fast"], one.severity) == (False, Severity.WARNING)
    assert (one.hit.facts["late"], one.hit.facts["started"]) == (2_520, 36_000)
    assert one.hit.facts["burn_rate"] == 7


@pytest.mark.parametrize(
    ("late_now", "late_before"),
    [
        (100, 0),  # the latest five minutes only: an hour is 8.3 times too late
        (0, 16),  # over: nothing was late in the latest half an hour
    ],
)
def test_a_queue_is_calm_after_a_short_burst_and_once_it_is_over(
    late_now: int, late_before: int
) -> None:
    has_objective()
    judged(0, 5, started=100, late=late_now)
    judged(5, 30, started=100, late=0)
    judged(30, 360, started=100, late=late_before)

    assert found("queue_objective") == []


def test_a_queue_within_its_objective_without_one_or_with_few_late_starts_is_calm() -> None:
    has_objective("calm")
    judged(0, 360, started=1_000, late=10, queue="calm")
    has_objective("rare")
    judged(0, 4, started=1, late=1, queue="rare")
    judged(0, 360, started=100, late=100, queue="none")
    has_objective("changed")
    configure("changed", {"objective": {"start_within_ms": 60_000}})
    judged(0, 360, started=100, late=100, queue="changed")

    assert found("queue_objective") == []
    assert subjects("queue_objective", min_late=4) == ["rare"]


def test_the_thresholds_are_parts_of_the_budget_of_thirty_days() -> None:
    has_objective()
    judged(0, 60, started=1_000, late=140)  # 14 times the permitted rate
    judged(60, 360, started=1_000, late=0)

    assert subjects("queue_objective", slow_percent=100) == []
    assert subjects("queue_objective", fast_percent=1, slow_percent=100) == ["q"]


def test_the_worst_objective_comes_first_and_hides_the_mean_wait() -> None:
    has_objective("slow")
    judged(0, 360, started=100, late=7, queue="slow")
    has_objective("fast")
    judged(0, 360, started=100, late=50, queue="fast")

    assert subjects("queue_objective") == ["fast", "slow"]
    assert "queue_objective" in BY_ID["queue_late"].yields_to
