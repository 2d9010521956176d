"""What the demo shows besides its stream of jobs: tenants, pools, a canary, and small incidents.

Incidents follow a timetable, so that each page has something to show within minutes and each
incident is over before the next one. `workers` plays the workers of the rendering service and of
the export service; they live in the loop of the demo and need no process of their own.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import Any, Final

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.domain.outcome.retry import normalise_error
from jobs.models import Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import queue_config
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tenancy.domain.tenant import Source
from tenancy.domain.tenant_request import parse_tenant
from tenancy.models import Tenant
from tenancy.services import tenants
from versioning.domain.canary_request import parse_wanted
from versioning.domain.declaration import declared
from versioning.services import routing

DEMO: Final = Caller("demo")
CHANCE = random.Random()  # noqa: S311 - variety, no secret
NOISY: Final = "acme:eu"
RENDER, EXPORT = "invoice.render", "export.create"
FLOOD: Final = 25  # jobs of the noisy tenant per turn
GOOD, BAD = 0.01, 0.45  # failure rates of the canary


class Incident(StrEnum):
    """The incidents of the timetable."""

    ERRORS = "errors"  # the mail relay fails
    NOISE = "noise"  # one tenant floods its queue
    STARVATION = "starvation"  # exports may not start
    BAD_CANARY = "bad_canary"  # the new version of a renderer fails


# seconds of a cycle in which each incident happens
CYCLE_S: Final = 900
TIMETABLE: Final[Mapping[Incident, tuple[int, int]]] = {
    Incident.ERRORS: (60, 110),
    Incident.NOISE: (150, 210),
    Incident.STARVATION: (240, 340),
    Incident.BAD_CANARY: (420, 600),
}
_began = monotonic()


def happens(incident: Incident, at_s: float | None = None) -> bool:
    """Return whether an incident happens now, or so long after the start."""
    begin, end = TIMETABLE[incident]
    return begin <= (monotonic() - _began if at_s is None else at_s) % CYCLE_S < end


# --- objects of operators -------------------------------------------------------------------------

TENANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "north": {"name": "North Ltd", "fairness_weight": 4, "limits": {"max_concurrency": 50}},
    "south": {"name": "South GmbH", "fairness_weight": 2,
              "limits": {"max_enqueue_rate": {"limit": 600, "period": "PT1M"}}},
    "east": {"name": "East SA", "limits": {"max_scheduled": 200}},
    NOISY: {"name": "Acme EU", "limits": {"max_queue_depth": 500, "max_concurrency": 5}},
}  # fmt: skip
POOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {"queues": ["billing", "mail", "reports", "default", "maintenance"],
                "strategy": "weighted", "concurrency": 40,
                "weights": {"billing": 8, "mail": 4, "reports": 2}},
    "renderers": {"queues": ["invoices"], "strategy": "round-robin", "concurrency": 12},
    "exporters": {"queues": ["exports", "imports"], "strategy": "strict", "concurrency": 12,
                  "starvation_prevention": {"enabled": True, "rotation_interval": "PT10S"}},
}  # fmt: skip
CANARY: Final[Mapping[str, Any]] = {
    "mode": "override",
    "rules": [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}],
    "plan": {"steps": [10, 25, 50], "bake_time": "PT2M"},
    "auto_rollback": {"error_rate_threshold": 0.2, "evaluation_window": "PT5M", "min_samples": 20},
}


def furnish() -> int:
    """Create the missing objects; existing objects keep their changes. Returns 0."""
    configured = Tenant.objects.filter(id__in=TENANTS).exclude(source=Source.AUTO)
    for name in TENANTS.keys() - set(configured.values_list("id", flat=True)):
        tenants.put(name, parse_tenant(name, TENANTS[name]), DEMO)
    for name, members in POOLS.items():
        if not pools.exists(name):
            pools.put(parse_pool(name, members), DEMO)
    row = routing.find(RENDER)
    if row is None or (row.rolled_back_at is not None and not happens(Incident.BAD_CANARY)):
        revision = None if row is None else row.revision
        routing.put(parse_wanted(RENDER, {**CANARY, "revision": revision}), DEMO)
    _hold_exports(wanted=happens(Incident.STARVATION))
    return 0


def _hold_exports(*, wanted: bool) -> None:
    """Let no export start during the incident; jobs wait, and the queue recovers afterwards."""
    found = Queue.objects.filter(name="exports").values_list("config", flat=True).first() or {}
    is_held = found.get("concurrency") == 0
    if is_held != wanted:
        reason = "the export service is down" if wanted else "the export service is back"
        change = {"concurrency": 0 if wanted else None}
        queue_config.change("exports", change, replace(DEMO, reason=reason))


# --- jobs -----------------------------------------------------------------------------------------


def produce() -> None:
    """Enqueue jobs of the played services, and the flood of the noisy tenant."""
    number = CHANCE.randrange(10_000, 99_999)
    drafts = [
        {"type": RENDER, "version": "1.0", "args": [{"invoice": number}],
         "options": {"queue": "invoices"}, "meta": {"tenant_id": "north"}},
        {"type": EXPORT, "args": [{"table": CHANCE.choice(("orders", "customers"))}],
         "options": {"queue": CHANCE.choice(("exports", "imports"))},
         "meta": {"tenant_id": CHANCE.choice(("south", "east"))}},
    ]  # fmt: skip
    if happens(Incident.NOISE):
        drafts += [
            {"type": "mail.send", "args": [f"lead{number + n}@example.org", "Offer"],
             "options": {"queue": "mail"}, "meta": {"tenant_id": NOISY}}
            for n in range(FLOOD)
        ]  # fmt: skip
    for draft in drafts:
        job = parse_job(draft)
        try:
            enqueue([replace(job, tenant=str(job.meta["tenant_id"]))])
        except OJSError:  # the tenant is at its limit, which the demo is to show
            continue


# --- workers --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Played:
    """A worker that the loop plays; `running` has its jobs and when each ends."""

    name: str
    pool: str
    queues: tuple[str, ...]
    seconds: float  # of a job, about
    concurrency: int
    handlers: Sequence[Mapping[str, Any]] = ()
    fails: Callable[[], float] = lambda: GOOD
    running: dict[str, float] | None = None

    def turn(self) -> None:
        """Report, end the jobs whose time is over, and fetch others."""
        now = monotonic()
        held = self.running = self.running or {}
        declaration = declared(list(self.handlers), is_exclusive=False) if self.handlers else None
        heartbeat(
            Report(self.name, active_ids=tuple(held), active_jobs=len(held), pool=self.pool,
                   hostname="demo", queues=self.queues, concurrency=self.concurrency,
                   declaration=declaration)
        )  # fmt: skip
        for job_id in [one for one, until in held.items() if until <= now]:
            del held[job_id]
            self._end(job_id)
        room = self.concurrency - len(held)
        if room:
            request = FetchRequest(
                self.queues, room, self.name, pool=self.pool, declaration=declaration
            )
            for job in fetch(request).jobs:
                held[job.id] = now + self.seconds * CHANCE.uniform(0.5, 1.5)

    def _end(self, job_id: str) -> None:
        if CHANCE.random() < self.fails():
            error = {"type": "LayoutError", "message": "the total does not fit its box"}
            nack([Nack(job_id, normalise_error(error), worker_id=self.name)])
        else:
            ack([Ack(job_id, worker_id=self.name)])


def _of(versions: str) -> list[dict[str, Any]]:
    return [{"type": RENDER, "versions": versions}]


WORKERS: Final = (
    Played("renderer-1", "renderers", ("invoices",), 1.5, 4, _of(">=1.0 <2.0")),
    Played("renderer-2", "renderers", ("invoices",), 1.5, 4, _of(">=1.0 <2.0")),
    Played("renderer-canary", "renderers", ("invoices",), 1.2, 4, _of(">=2.0 <3.0"),
           lambda: BAD if happens(Incident.BAD_CANARY) else GOOD),
    Played("exporter-1", "exporters", ("exports", "imports"), 1.5, 12),
)  # fmt: skip


def work() -> int:
    """Play one turn of each worker. Returns 0, so that the loop waits for its interval."""
    for worker in WORKERS:
        worker.turn()
    return 0
