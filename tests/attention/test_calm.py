"""Each rule: calm in a healthy installation, and awake in its incident."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Final

import pytest
from django.db.models import F
from django.utils import timezone

from attention.models import Sample
from attention.rules import BY_ID, installed
from attention.services import look as module
from attention.services.look import evaluate
from federation.domain.breaker import State as Breaker
from federation.models import Region, RegionHealth, ReplicationPeer
from federation.services.health.breakers import force
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import (
    Depth,
    Dispatch,
    Event,
    Finished,
    Lease,
    LoopTick,
    Queue,
    Ready,
    Total,
    Worker,
)
from jobs.queries import ago, now, tick
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from jobs.services.record.reconcile import reconcile
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.services.workers.leave import leave
from scheduling.models import Overload
from scheduling.services.watch import watch as watch_queues
from tenancy.domain.tenant import Standing
from tenancy.domain.throttle import Hold
from tenancy.models import Noise, Throttle
from tenancy.services.tenants import set_standing
from tests.attention import test_queues as queues
from tests.attention import test_schedules as schedules
from tests.attention import test_types as types
from tests.attention import test_workers as workers
from tests.attention.incidents import aggregated, an_hour, counted, found
from tests.console.test_pools import define
from tests.console.test_tenants import throttle
from tests.factories import JobFactory, stored
from tests.federation.wire import LOCAL, federate
from tests.scheduling.conftest import entry, make_due, registered
from tests.scheduling.pools import fill, of_tenant
from tests.scheduling.services.test_watch import later as starve_on
from tests.scheduling.services.test_watch import shared
from tests.tenancy.wire import put as put_tenant
from tests.versioning.routing import put as put_rules
from tests.versioning.services.test_held import pass_time as held_on
from tests.versioning.wire import declares, push
from tests.workflows.flows import chain, claimed, created, job
from versioning.services.held import watch as watch_versions
from webhooks.models import Subscription
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft

DAY_MS: Final = 86_400_000
TEN_MINUTES_MS: Final = 600_000
ADA: Final = Caller("ada")


@pytest.fixture(autouse=True)
def loops_run(store: None) -> None:
    """Let the loops have run."""
    LoopTick.objects.all().delete()
    tick("promote")


# --- loops, maintenance, the database -------------------------------------------------------------


def _a_loop_ran_lately() -> None:
    LoopTick.objects.update(ticked_at=ago(2_000))


def _a_loop_stands() -> None:
    LoopTick.objects.update(ticked_at=ago(60_000))


def _maintenance_is_over() -> None:
    maintenance.start(SYSTEM, reason="disks", duration_ms=None)
    maintenance.end(SYSTEM)


def _maintenance() -> None:
    maintenance.start(SYSTEM, reason="disks", duration_ms=None)


def _nothing() -> None:
    """Leave the store empty."""


def _a_statement_takes_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(step=4)
    monkeypatch.setattr(module, "monotonic", lambda: next(clock))


def _events_are_new() -> None:
    aggregated()
    stored(1)


def _events_wait() -> None:
    _events_are_new()
    Event.objects.update(at=F("at") - timedelta(minutes=3))


def _counts_are_right() -> None:
    stored(1)
    aggregated()
    reconcile()


def _counts_differ() -> None:
    stored(1)
    aggregated()
    Depth.objects.update(jobs=5)
    reconcile()


def _ended_jobs_are_kept_by_their_queue() -> None:
    configure("kept", {"retention": {"completed": "P90D"}})
    JobFactory.create(queue="kept", state=State.COMPLETED)
    aggregated()
    Finished.objects.update(finished_at=ago(8 * DAY_MS))


def _ended_jobs_are_old() -> None:
    JobFactory.create(queue="old", state=State.COMPLETED)
    aggregated()
    Finished.objects.update(finished_at=ago(8 * DAY_MS))


# --- queues and pools -----------------------------------------------------------------------------


def _a_plain_worker_runs_a_long_job() -> None:
    """Let a client without heartbeats run a job of the queue for ten minutes, while others wait."""
    queues.waiting(3)
    fetch(FetchRequest(("q",), worker_id="plain"))
    aggregated()
    Event.objects.update(at=F("at") - timedelta(minutes=10))
    Dispatch.objects.update(last_at=ago(TEN_MINUTES_MS))
    Lease.objects.update(lease_until=ago(-TEN_MINUTES_MS))


def _the_plain_worker_is_gone() -> None:
    _a_plain_worker_runs_a_long_job()
    Lease.objects.update(lease_until=ago(1))


def _a_paused_queue_is_empty() -> None:
    pause("q", SYSTEM)
    Queue.objects.update(paused_at=ago(TEN_MINUTES_MS))


def _a_paused_queue_has_jobs() -> None:
    stored(2, queue="q")
    aggregated()
    _a_paused_queue_is_empty()


def _a_bound_is_half_used() -> None:
    configure("q", {"backpressure": {"max_depth": 10}})
    stored(5, queue="q")
    stored(50, queue="unbounded")
    aggregated()


def _a_bound_is_reached() -> None:
    configure("q", {"backpressure": {"max_depth": 10}})
    stored(10, queue="q")
    aggregated()


def _deep(jobs: int, *depths: int) -> None:
    """Let a queue have had depths in the latest minutes, the latest first."""
    Depth.objects.update_or_create(queue="q", state=3, defaults={"jobs": jobs})
    for minute, depth in enumerate(depths, start=1):
        queues.sampled(minute, depth)


def _a_nightly_run_is_worked_off() -> None:
    """Let 5,000 jobs have come at once, three minutes ago."""
    _deep(4_000, 4_500, 5_000, *[0] * 17)
    Sample.objects.get_or_create(at=Sample.objects.latest("at").at, queue="r", jobs=1)


def _a_queue_grows() -> None:
    _deep(4_000, *range(3_900, 100, -200))


def _jobs_wait_for_seconds() -> None:
    counted(1, queue="q", started=1_000, wait_ms=1_000 * 9_000)


def _jobs_wait_for_minutes() -> None:
    for minute in (1, 2, 3):
        counted(minute, queue="q", started=10, wait_ms=10 * 500_000)


def _few_starts_are_late() -> None:
    queues.has_objective()
    queues.judged(0, 360, started=1_000, late=9)


def _many_starts_are_late() -> None:
    queues.has_objective()
    queues.judged(0, 360, started=100, late=15)


def _a_strict_pool_starts_each_queue() -> None:
    shared("a", "b")
    fill(a=9, b=3)
    watch_queues()
    starve_on(40)
    watch_queues()


def _a_queue_of_a_pool_starts_no_job() -> None:
    _a_strict_pool_starts_each_queue()
    starve_on(40)
    watch_queues()


def _full(minutes: int) -> None:
    """Let a pool be at its limit, and have had waiting jobs for some minutes."""
    define("mail", queues=["q"], concurrency=2)
    stored(3, queue="q")
    aggregated()
    Overload.objects.create(pool="mail", told_at=ago(1_000))
    for minute in range(minutes):
        queues.sampled(minute, 3)


def _a_pool_is_full_for_a_short_time() -> None:
    _full(3)


def _a_pool_is_full_for_long() -> None:
    _full(10)


# --- types ----------------------------------------------------------------------------------------


def _some_attempts_fail_as_usual() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=900, failed=100)
    counted(1, completed=85, failed=15)
    counted(1, job_type="new", completed=80, failed=20)


def _most_attempts_fail() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=900, failed=100)
    counted(1, completed=20, failed=80)


def _a_nightly_run_discards_as_usual() -> None:
    """Let a nightly run discard some jobs, as each night, and a new type some of its many jobs."""
    for night in range(1, 8):
        an_hour(24 * night, discarded=90, completed=5_000)
    counted(2, discarded=100, completed=5_000)
    counted(2, job_type="new", discarded=60, completed=5_000)


def _a_new_type_discards_a_fifth() -> None:
    counted(2, discarded=100, completed=400)


def _a_job_runs_as_usual() -> None:
    types.running(minutes=3)
    Total.objects.update(run_ms=100 * 60_000)


def _a_job_runs_for_long() -> None:
    types.running(minutes=3)


def _a_canary_is_like_its_control() -> None:
    put_rules([{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}])
    types.outcomes(2, acked=97, failed=3)
    types.outcomes(1, acked=980, failed=20)


def _a_canary_fails() -> None:
    put_rules([{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}])
    types.outcomes(2, acked=60, failed=40)
    types.outcomes(1, acked=980, failed=20)


def _a_version_has_a_worker() -> None:
    declares("w", ">=1.0")
    push("2.0")
    watch_versions()
    held_on(31)
    watch_versions()


def _a_version_has_no_worker() -> None:
    declares("w", "1.0")
    push("2.0")
    watch_versions()
    held_on(31)
    watch_versions()


# --- workers --------------------------------------------------------------------------------------


def _an_autoscaler_stops_idle_workers() -> None:
    """Let eight of ten workers have stopped in order, while the two left do the little work."""
    workers.fleet(10)
    stored(2, queue="q")
    aggregated()
    for n in range(8):
        leave(f"w{n}")
    Worker.objects.filter(stopped_at__isnull=False).update(stopped_at=ago(300_000))


def _workers_stop_though_jobs_wait() -> None:
    _an_autoscaler_stops_idle_workers()
    stored(20, queue="q")
    aggregated()


def _a_worker_makes_progress() -> None:
    workers.running("w", minutes=20)
    workers.usually("w", TEN_MINUTES_MS)
    workers.running("done", minutes=90)
    ack(
        [
            Ack(str(one))
            for one in Lease.objects.filter(worker_id="done").values_list("id", flat=True)
        ]
    )
    leave("done")


def _no_job_of_a_worker_ends() -> None:
    workers.running("w", minutes=20)
    workers.usually("w", 1_000)


def _clocks_differ_by_seconds() -> None:
    workers.fleet(2)
    Worker.objects.update(started_at=ago(-20_000))


def _the_clock_of_a_worker_is_ahead() -> None:
    workers.fleet(2)
    Worker.objects.filter(id="w0").update(started_at=ago(-120_000))


# --- schedules and workflows ----------------------------------------------------------------------


def _a_run_fails_now_and_then() -> None:
    registered()
    for fails in (True, False, True, True):
        schedules.run(fails=fails)


def _all_runs_fail() -> None:
    registered()
    for _ in range(3):
        schedules.run(fails=True)


def _a_schedule_is_paused_or_just_due() -> None:
    registered()
    make_due(ago=timedelta(minutes=10))
    registered(enabled=False)
    registered("other")
    make_due("other", ago=timedelta(seconds=20))


def _a_schedule_is_missed() -> None:
    registered()
    make_due(ago=timedelta(minutes=10))


def _workflows_wait_by_design() -> None:
    """Let a step be scheduled for later, another run as usual, and a new one run for an hour."""
    created(chain(job(delay_until=_ahead()), job(), name="later"))
    created(chain(job("usual"), job(), name="usual"))
    created(chain(job("new"), job(), name="new"))
    claimed()
    Total.objects.create(
        queue="default", type="usual", tenant="", completed=9, run_ms=9 * 1_800_000
    )
    schedules.later(60)


def _ahead() -> str:
    return (timezone.now() + timedelta(days=1)).isoformat()


def _a_step_runs_far_too_long() -> None:
    created(chain(job("usual"), job(), name="usual"))
    claimed()
    Total.objects.create(queue="default", type="usual", tenant="", completed=9, run_ms=9 * 1_000)
    schedules.later(60)


# --- tenants --------------------------------------------------------------------------------------


def _a_suspended_tenant_has_no_jobs() -> None:
    put_tenant("acme")
    put_tenant("busy")
    of_tenant("busy", 2)
    aggregated()
    set_standing("acme", Standing.SUSPENDED, ADA, reason="unpaid")


def _a_suspended_tenant_has_jobs() -> None:
    put_tenant("acme")
    of_tenant("acme", 2)
    aggregated()
    set_standing("acme", Standing.SUSPENDED, ADA, reason="unpaid")


def _noisy(seconds_ago: int) -> None:
    put_tenant("acme")
    Noise.objects.create(
        tenant="acme", seen_at=ago(1_000 * seconds_ago),
        signals=[{"reason": "active_ratio_exceeded", "value": 9, "compared_with": 1,
                  "threshold": 5}],
    )  # fmt: skip


def _a_tenant_was_noisy() -> None:
    _noisy(300)


def _a_tenant_is_noisy() -> None:
    _noisy(2)


def _throttles_are_over_or_released() -> None:
    for name in ("over", "released"):
        put_tenant(name)
        throttle(name)
    Throttle.objects.filter(tenant_id="over").update(until=ago(1))
    Throttle.objects.filter(tenant_id="released").update(hold=Hold.LIFTED)


def _a_tenant_is_throttled() -> None:
    put_tenant("acme")
    throttle("acme")


# --- regions and webhooks -------------------------------------------------------------------------


def _the_region_has_no_peer() -> None:
    federate()


def _a_disabled_region(**health: object) -> None:
    """Let a region be in trouble that an operator has disabled."""
    federate()
    RegionHealth.objects.update(**health)
    Region.objects.update(enabled=False)


def _trouble(**health: object) -> None:
    federate()
    RegionHealth.objects.update_or_create(region_id=LOCAL, defaults=health)


def _peer(late: bool) -> None:
    federate()
    Region.objects.get_or_create(id="eu", defaults={"url": "http://127.0.0.1:9"})
    ReplicationPeer.objects.update_or_create(
        region="eu", defaults={"late_since": ago(90_000) if late else None, "lag_ms": 900}
    )


def _breaker_opens() -> None:
    federate()
    force(LOCAL, Breaker.OPEN, ADA)


def _webhook(*, active: bool, why: str | None) -> None:
    subscriptions.create(Draft("https://example.org/", ["*"]), ADA)
    Subscription.objects.update(active=active, disabled_reason=why)


Case = Callable[[], object]
# by rule: the healthy installation, and the incident
CASES: Final[dict[str, tuple[Case, Case]]] = {
    "loop_stuck": (_a_loop_ran_lately, _a_loop_stands),
    "maintenance": (_maintenance_is_over, _maintenance),
    "counts_late": (_events_are_new, _events_wait),
    "counts_drifted": (_counts_are_right, _counts_differ),
    "retention_late": (_ended_jobs_are_kept_by_their_queue, _ended_jobs_are_old),
    "queue_without_worker": (_a_plain_worker_runs_a_long_job, _the_plain_worker_is_gone),
    "queue_paused": (_a_paused_queue_is_empty, _a_paused_queue_has_jobs),
    "queue_full": (_a_bound_is_half_used, _a_bound_is_reached),
    "queue_grows": (_a_nightly_run_is_worked_off, _a_queue_grows),
    "queue_late": (_jobs_wait_for_seconds, _jobs_wait_for_minutes),
    "queue_objective": (_few_starts_are_late, _many_starts_are_late),
    "queue_starved": (_a_strict_pool_starts_each_queue, _a_queue_of_a_pool_starts_no_job),
    "pool_full": (_a_pool_is_full_for_a_short_time, _a_pool_is_full_for_long),
    "error_rate": (_some_attempts_fail_as_usual, _most_attempts_fail),
    "dead_letters": (_a_nightly_run_discards_as_usual, _a_new_type_discards_a_fifth),
    "job_slow": (_a_job_runs_as_usual, _a_job_runs_for_long),
    "canary_worse": (_a_canary_is_like_its_control, _a_canary_fails),
    "version_held": (_a_version_has_a_worker, _a_version_has_no_worker),
    "workers_gone": (_an_autoscaler_stops_idle_workers, _workers_stop_though_jobs_wait),
    "worker_stuck": (_a_worker_makes_progress, _no_job_of_a_worker_ends),
    "worker_skewed": (_clocks_differ_by_seconds, _the_clock_of_a_worker_is_ahead),
    "cron_failing": (_a_run_fails_now_and_then, _all_runs_fail),
    "cron_missed": (_a_schedule_is_paused_or_just_due, _a_schedule_is_missed),
    "workflow_waits": (_workflows_wait_by_design, _a_step_runs_far_too_long),
    "tenant_suspended": (_a_suspended_tenant_has_no_jobs, _a_suspended_tenant_has_jobs),
    "tenant_noisy": (_a_tenant_was_noisy, _a_tenant_is_noisy),
    "tenant_throttled": (_throttles_are_over_or_released, _a_tenant_is_throttled),
    "region_open": (_the_region_has_no_peer, _breaker_opens),
    "region_down": (
        lambda: _a_disabled_region(status="unhealthy"),
        lambda: _trouble(status="unhealthy", breaker="closed"),
    ),
    "region_skewed": (_the_region_has_no_peer, lambda: _trouble(skewed_at=now(), skew_s=90)),
    "replication_late": (lambda: _peer(late=False), lambda: _peer(late=True)),
    "webhook_off": (
        lambda: _webhook(active=False, why=None), lambda: _webhook(active=False, why="HTTP 410"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule_id", CASES)
def test_a_rule_is_calm_in_a_healthy_installation(rule_id: str) -> None:
    CASES[rule_id][0]()

    assert found(rule_id) == []


@pytest.mark.parametrize("rule_id", CASES)
def test_a_rule_finds_its_incident(rule_id: str) -> None:
    CASES[rule_id][1]()

    assert {one.rule.id for one in found(rule_id)} == {rule_id}


def test_every_rule_has_its_two_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CASES.keys() | {"database_slow"} == BY_ID.keys()

    assert found("database_slow") == []
    _a_statement_takes_seconds(monkeypatch)
    assert len(found("database_slow")) == 1


def test_no_rule_finds_anything_in_an_installation_that_works() -> None:
    """Workers, finished and some failed jobs, an empty paused queue, a region without a peer."""
    workers.fleet(3)
    types.attempts(good=95, bad=5)
    types.attempts(good=3, bad=1, job_type="new")
    configure("bounded", {"backpressure": {"max_depth": 10}})
    stored(5, queue="bounded")
    pause("idle", SYSTEM)
    Queue.objects.filter(name="idle").update(paused_at=ago(TEN_MINUTES_MS))
    Ready.objects.update(enqueued_at=ago(1_000))
    heartbeat(Report("all"))
    heartbeat(Report("ended", queues=("q",)))
    leave("ended")
    registered()
    schedules.run(fails=False)
    assert entry().enabled
    put_tenant("acme")
    federate()
    declares("all", ">=1.0")
    watch_versions()
    watch_queues()
    reconcile()
    aggregated()

    seen = evaluate(installed(), {})

    assert (seen.failed, seen.found) == ([], [])
