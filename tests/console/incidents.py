"""Twenty incidents: what happens, and how an operator ends it.

The loops of the server run meanwhile, so each incident lasts until the operator ends it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from federation.domain.breaker import State as Breaker
from federation.models import RegionHealth
from federation.services.health.breakers import force
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.outcome.retry import normalise_error
from jobs.domain.states import State
from jobs.models import Lease, Queue, Ready, Worker
from jobs.queries import ago
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Report, heartbeat
from jobs.services.workers.workers import direct
from scheduling.models import Overload, PoolRow
from scheduling.services.cron_fire import fire
from tenancy.domain.tenant import Standing
from tenancy.models import Noise, Tenant, Throttle
from tenancy.services.tenants import set_standing
from tests.attention.incidents import aggregated, an_hour, counted
from tests.attention.test_queues import sampled
from tests.attention.test_schedules import later
from tests.attention.test_types import attempts, outcomes, running
from tests.attention.test_workers import die, fleet
from tests.attention.test_workers import running as stuck
from tests.console.operator import Operator
from tests.console.test_operations import run_tasks
from tests.console.test_pools import define
from tests.console.test_tenants import throttle
from tests.factories import JobFactory, stored
from tests.federation.wire import LOCAL, federate
from tests.processes import until
from tests.scheduling.conftest import entry, make_due, registered
from tests.scheduling.pools import of_tenant
from tests.tenancy.wire import put as put_tenant
from tests.versioning.routing import put as put_rules
from tests.versioning.wire import TYPE, declares
from tests.workflows.flows import chain, claimed, created, job
from versioning.models import Routing
from webhooks.models import Subscription
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft
from workflows.models import Workflow

AN_HOUR_AHEAD: Final = -3_600_000  # as `ago` counts
TEN_MINUTES: Final = 600_000
REASON: Final = "an incident"


@dataclass(frozen=True, slots=True)
class Incident:
    """What happens, the sentence of the overview, how an operator ends it, and the proof."""

    happens: Callable[[], object]
    text: str
    mend: Callable[[Operator], object]
    is_mended: Callable[[], object]
    ends: bool = True  # the finding ends at once; not if its rule judges a past period


def _wait(number: int, queue: str = "q", **envelope: Any) -> None:
    stored(number, queue=queue, **envelope)
    aggregated()


def _live_on() -> None:
    """Keep all workers alive and their jobs leased, however long the test takes."""
    Worker.objects.filter(stopped_at=None).update(last_heartbeat_at=ago(AN_HOUR_AHEAD))
    Lease.objects.update(lease_until=ago(AN_HOUR_AHEAD), timeout_at=ago(AN_HOUR_AHEAD))


# --- types


def _attempts_fail() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=98, failed=2)
    attempts(good=27, bad=73)


def _jobs_are_discarded() -> None:
    for _ in range(25):
        JobFactory.create(type="mail", state=State.DISCARDED)
    aggregated()


def _retry_all(operator: Operator) -> None:
    operator.follow("Retry all")
    operator.sees("25")
    operator.fill(reason=REASON)
    operator.send("Retry jobs")
    run_tasks()


def _canary_fails() -> None:
    put_rules([{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}])
    declares("w", ">=1.0")
    outcomes(2, acked=60, failed=40)
    outcomes(1, acked=495, failed=5)


def _job_is_slow() -> None:
    running(minutes=30)
    _live_on()


# --- queues and pools


def _worker_is_quiet() -> None:
    heartbeat(Report("w", queues=("q",)))
    _wait(1)
    Ready.objects.update(enqueued_at=ago(TEN_MINUTES))
    direct("w", "quiet")
    _live_on()


def _queue_is_full() -> None:
    configure("q", {"backpressure": {"max_depth": 10}})
    _wait(10)


def _raise_the_bound(operator: Operator) -> None:
    operator.follow("Change the bound")
    operator.fill(max_depth="1000")
    operator.send("Save")


def _queue_is_paused() -> None:
    _wait(2)
    pause("q", Caller("ada"), "bad deploy")
    Queue.objects.filter(name="q").update(paused_at=ago(TEN_MINUTES))


def _queue_is_late() -> None:
    configure("q", {"concurrency": 1})
    for minute in (1, 2, 3):
        counted(minute, started=10, wait_ms=10 * 500_000)


def _raise_the_concurrency(operator: Operator) -> None:
    operator.follow("Show queue")
    operator.fill(concurrency="50")
    operator.send("Save")


def _pool_is_full() -> None:
    define("mail", queues=["q"], concurrency=2)
    Overload.objects.create(pool="mail", told_at=ago(AN_HOUR_AHEAD))
    _wait(3)
    for minute in range(10):
        sampled(minute, 3)


def _raise_the_limit(operator: Operator) -> None:
    operator.follow("Change the limit")
    operator.fill(concurrency="20")
    operator.send("Save")


# --- workers


def _worker_is_stuck() -> None:
    stuck("w", minutes=60)
    _live_on()


def _workers_are_gone() -> None:
    fleet(9)
    die(*(f"w{n}" for n in range(1, 9)))
    _wait(2)


def _start_workers(operator: Operator) -> None:
    """Read which host is down, and start workers on another one."""
    operator.follow("Show workers")
    operator.sees("host-1")
    for n in range(1, 9):
        heartbeat(Report(f"new{n}", queues=("q",), hostname="host-2"))


# --- schedules and workflows


def _schedule_fails() -> None:
    registered()
    for _ in range(3):
        make_due()
        fire()
        until(Ready.objects.exists)  # perhaps the loop of the server fires it
        (one,) = claimed()
        problem = {"code": "handler_error", "message": "no route", "retryable": False}
        nack([Nack(one.id, normalise_error(problem))])


def _schedule_is_missed() -> None:
    registered()
    maintenance.start(SYSTEM, reason="disks", duration_ms=None)
    make_due()
    _missed_for_long()


def _missed_for_long() -> None:
    found = entry()
    type(found).objects.filter(pk=found.pk).update(
        due_at=ago(TEN_MINUTES), next_run_at=ago(TEN_MINUTES)
    )


def _has_run() -> bool:
    until(lambda: entry().last_run_at is not None)
    return True


def _workflow_waits() -> None:
    created(chain(job(), job(), name="import"))
    later(45)


# --- tenants, regions, webhooks, maintenance


def _tenant_is_suspended() -> None:
    put_tenant("acme")
    of_tenant("acme", 2)
    aggregated()
    set_standing("acme", Standing.SUSPENDED, Caller("ada"), reason="unpaid")


def _tenant_is_throttled() -> None:
    put_tenant("acme")
    throttle("acme")
    Throttle.objects.update(until=ago(AN_HOUR_AHEAD))


def _tenant_is_noisy() -> None:
    put_tenant("acme")
    of_tenant("acme", 2)
    aggregated()
    Noise.objects.create(
        tenant="acme", seen_at=ago(AN_HOUR_AHEAD),
        signals=[{"reason": "queue_depth_ratio_exceeded", "value": 9, "compared_with": 1,
                  "threshold": 5}],
    )  # fmt: skip


def _limit(operator: Operator) -> None:
    operator.follow("Show tenant")
    operator.open("#limit-one")
    operator.fill(value="5", reason=REASON)
    operator.send("Set limit")


def _breaker_is_open() -> None:
    federate()
    force(LOCAL, Breaker.OPEN, Caller("ada"))


def _webhook_is_off() -> None:
    subscriptions.create(Draft("https://example.org/", ["*"]), Caller("ada"))
    Subscription.objects.update(active=False, disabled_reason="HTTP 410")


def _maintenance() -> None:
    _wait(2)
    maintenance.start(Caller("ada"), reason="disks", duration_ms=None)


INCIDENTS: Final[dict[str, Incident]] = {
    "error_rate": Incident(
        _attempts_fail, "73 % of the attempts of mail fail",
        lambda operator: operator.press("Pause queue q"),
        lambda: Queue.objects.get(name="q").paused_at, ends=False,
    ),
    "dead_letters": Incident(
        _jobs_are_discarded, "25 jobs of mail were discarded within an hour", _retry_all,
        lambda: Ready.objects.count() == 25,
        ends=False,
    ),
    "canary_worse": Incident(
        _canary_fails, f"Version 2.0 of {TYPE} fails more often than 1.0",
        lambda operator: operator.press("Roll back"),
        lambda: Routing.objects.get(type=TYPE).rolled_back_at,
    ),
    "job_slow": Incident(
        _job_is_slow, "1 job of mail has run far beyond the usual time",
        lambda operator: operator.press("Cancel the longest job"),
        lambda: not Lease.objects.exists(),
    ),
    "queue_without_worker": Incident(
        _worker_is_quiet, "No live worker takes the jobs of queue q",
        lambda operator: operator.press("Resume worker w"),
        lambda: Worker.objects.get(id="w").directive == 0,
    ),
    "queue_full": Incident(
        _queue_is_full, "Queue q is 100 % full", _raise_the_bound,
        lambda: Queue.objects.get(name="q").config["backpressure"]["max_depth"] == 1_000,
    ),
    "queue_paused": Incident(
        _queue_is_paused, "Queue q is paused, and 2 jobs wait",
        lambda operator: operator.press("Resume queue"),
        lambda: Queue.objects.get(name="q").paused_at is None,
    ),
    "queue_late": Incident(
        _queue_is_late, "Jobs of queue q wait 8 min 20 s until they start", _raise_the_concurrency,
        lambda: Queue.objects.get(name="q").config["concurrency"] == 50, ends=False,
    ),
    "pool_full": Incident(
        _pool_is_full, "Pool mail runs as many jobs as it may, and 3 jobs wait", _raise_the_limit,
        lambda: PoolRow.objects.get(name="mail").concurrency == 20, ends=False,
    ),
    "worker_stuck": Incident(
        _worker_is_stuck, "Worker w makes no progress",
        lambda operator: operator.press("Remove it and return its jobs"),
        lambda: not Lease.objects.exists(),
    ),
    "workers_gone": Incident(
        _workers_are_gone, "8 of 9 workers are gone", _start_workers,
        lambda: Worker.objects.filter(id__startswith="new").count() == 8,
    ),
    "cron_failing": Incident(
        _schedule_fails, "The last 3 runs of schedule nightly failed",
        lambda operator: operator.press("Pause schedule"),
        lambda: not entry().enabled,
    ),
    "cron_missed": Incident(
        _schedule_is_missed, "Schedule nightly should have run and did not",
        lambda operator: operator.press("End maintenance"),
        _has_run,
    ),
    "workflow_waits": Incident(
        _workflow_waits, "Workflow import has made no step for long",
        lambda operator: operator.press("Cancel workflow"),
        lambda: Workflow.objects.get().finished_at,
    ),
    "tenant_suspended": Incident(
        _tenant_is_suspended, "Tenant acme is suspended, and 2 jobs wait",
        lambda operator: operator.press("Resume tenant"),
        lambda: Tenant.objects.get(id="acme").state == "active",
    ),
    "tenant_throttled": Incident(
        _tenant_is_throttled, "Tenant acme is throttled",
        lambda operator: operator.press("End the throttle"),
        lambda: not Throttle.objects.filter(hold="applied").exists(),
    ),
    "tenant_noisy": Incident(
        _tenant_is_noisy, "Tenant acme is a noisy neighbour", _limit,
        lambda: Tenant.objects.get(id="acme").max_concurrency == 5, ends=False,
    ),
    "region_open": Incident(
        _breaker_is_open, f"The circuit breaker of region {LOCAL} was opened by hand",
        lambda operator: operator.press("Close breaker"),
        lambda: RegionHealth.objects.get(region_id=LOCAL).breaker == "closed",
    ),
    "webhook_off": Incident(
        _webhook_is_off, "The webhook to example.org is off",
        lambda operator: operator.press("Enable webhook"),
        lambda: Subscription.objects.get().active,
    ),
    "maintenance": Incident(
        _maintenance, "Maintenance: no job starts",
        lambda operator: operator.press("End maintenance"),
        lambda: not maintenance.is_on(),
    ),
}  # fmt: skip
