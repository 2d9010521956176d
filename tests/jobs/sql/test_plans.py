"""The reads of every statement in a large store, also inside the stored functions.

A statement must not read a growing table from end to end, nor walk an index further than its batch
needs. PostgreSQL itself counts both. The tests run each statement with three kinds of plans: made
for its parameters, made for any parameters, and made while the tables were empty.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import ClaimPlan, LaneKey, QueueRotation, Strategy
from jobs.domain.errors import OJSError
from jobs.domain.lanes.limits import LimitPolicy
from jobs.domain.outcome.bulk import JobFilter
from jobs.domain.record.events import Kind
from jobs.domain.record.loglines import wanted_kinds
from jobs.domain.record.place import Place
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import new_id
from jobs.models import (
    Charge,
    Depth,
    FoldPosition,
    Job,
    Lease,
    LoopTick,
    Ready,
    Worker,
)
from jobs.queries import LimitKey
from jobs.services.enqueue import backpressure
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.idempotency import Reply, Ticket, forget_answers, once
from jobs.services.enqueue.unique import unique_jobs
from jobs.services.health.health import health
from jobs.services.lanes import lanes, limits
from jobs.services.lanes.queue_config import configure
from jobs.services.lanes.rotations import outlook
from jobs.services.operate import queues
from jobs.services.operate.bulk import _pick, begin
from jobs.services.operate.queues import pause
from jobs.services.operate.reprioritize import reprioritize
from jobs.services.outcome import dead_letter, progress, promote
from jobs.services.outcome.ack import Ack, ack, ack_all
from jobs.services.outcome.activate import activate
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.expire import expire, expiry_in_ms
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import overdue_in_ms
from jobs.services.outcome.stall import stall
from jobs.services.outcome.suspend import suspend, wake
from jobs.services.read.find import Wanted, find, find_jobs
from jobs.services.read.show import show
from jobs.services.record import dispatches, objectives, rates
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.emit import NewEvent, emit
from jobs.services.record.events import EventFilter, following, history, latest
from jobs.services.upkeep.heal import heal
from jobs.services.upkeep.reset import reset
from jobs.services.upkeep.statistics import refresh_statistics
from jobs.services.workers import workers
from jobs.services.workers.heartbeat import Report, heartbeat
from ojs_tasks.worker.ports import Suspend
from tests.concurrency import wait_until_old_rows_are_dead
from tests.conftest import ROOT, statements_in
from tests.effort import of_each
from tests.factories import DraftFactory, error, stored
from tests.jobs.sql.volume import (
    AGGREGATED,
    EVENTS,
    FINISHED,
    JOBS,
    LANE,
    LATER,
    LEASE,
    PENDING,
    READY,
    SHAPES,
    STAMPS,
    analyze,
    job_id,
    load,
    touched_by,
)

pytestmark = pytest.mark.xdist_group("plans of jobs")

GROWING = {
    f"ojs_{name}"
    for name in (
        "job", "ready", "lease", "later", "finished", "event", "progress", "period", "duration",
        "latency", "tenant_period", "dispatch_period", "objective_period", "audit", "unique",
        "bulk_answer", "result_expiry", "archived_job", "served", "undo_job",
    )
}  # fmt: skip
FEW = 250  # rows of a small table, or index entries, that a call on ten jobs may read
SOME = 2_500  # the same for calls that count, list or repair
BATCH = 10
SHARED = sha256(b"shared").hexdigest()
LISTENER = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"

# Calls whose reads are bounded by other numbers than the size of their batch.
MAY_READ: dict[str, int] = {
    "bury": SOME,  # workers
    "explain": 5_000,  # its bounds, workers, minutes of the queue
    "outlook": 25_000,  # waiting jobs of the queues, up to 10,000; active jobs of pools; workers
    "dead_letters": 10_000,  # counted up to the most that retention keeps per queue
    "dead_letter_stats": 11_000,  # the same for every queue, and the latest dead letters
    "find_any": SOME,
    "find_live": 11_000,
    "find_ended": 11_000,  # its bound, as in find_live; lanes, depths
    "history": SOME,  # an hour of types
    "objective_windows": SOME,  # minutes of seven hours, hours of 33 days
    "latency_history": SOME,
    "latencies": SOME,  # an hour of buckets
    "oldest_at": 20_000,
    "priorities": 30_000,  # all available jobs, up to its bound
    "replayable": SOME,  # its bound
    "standings": SOME,  # workers
    "tenant_depths": SOME,  # events since the last aggregation
    "workers": 20_000,  # active jobs
    "label_depths": 5_000,  # tenants with labels of their own, queues, unaggregated events
    "depths": SOME,  # events since the last aggregation, queues
    "namespace_starts": SOME,  # events since the last aggregation
    "dispatches": SOME,  # a minute of seconds, an hour of minutes, a day of hours; events as above
    "full_pools": SOME,  # workers
    "last_starts": SOME,  # events since the last aggregation
    "loads": SOME,  # events since the last aggregation
    "pool_loads": 20_000,  # active jobs of the pool
    "events": SOME,  # of a queue: the events of other queues between them
    "feed": SOME,  # of a job: the events of other jobs between them
    "aggregate_events": 5_000,  # events since the last aggregation
    "forget": SOME,  # workers
    "next_death": SOME,  # workers
    "adopt": 20_000,  # active jobs
    "drifts": 40_000,  # all live jobs; the lanes of each state, counts, unaggregated events
    "size_drifts": 40_000,  # all waiting jobs and their sizes; lanes, counts, events as above
    "size_drifts of too many": SOME,  # up to its bound; counts
    "configure": 20_000,  # the same
    "asleep": 20_000,  # lanes
    "minutes": SOME,  # an hour of types
    "orphans": SOME,  # workers
    "overdue": SOME,  # a batch of overdue jobs
    "name_queues": 20_000,  # lanes
    "outgrown": SOME,  # the catalogue
    "keep_scopes": 40_000,
    "prunable": SOME,  # the dead letter, up to the most that it keeps
    "pause": SOME,  # its answer has the counts of the queue
    "hits": SOME,  # live jobs with one fingerprint
    "pick_ready": 30_000,  # lanes, and the jobs that a step may read
    "pick_live": 40_000,  # the jobs that a step may read, and the lane of each
    "pick_ended": 210_000,  # the same for each queue, by its index
    "oldest": 200_000,  # the heads of a queue's lanes, and their jobs
    "limit_states": 20_000,  # active jobs, limits
    "limit_loads": 120_000,  # limits and their active jobs, lanes, waiting jobs of limited lanes
    "override_limit": 20_000,  # active jobs, limits
    "unblock": 20_000,  # lanes
    "unique_jobs": SOME,  # the jobs that a list reads
    "vitals": SOME,  # workers and queues
    "claim of a scope": SOME,  # lanes whose tenants got jobs elsewhere, some hundreds at most
    "claim by depth": 30_000,  # counts waiting jobs, up to its bound
    "reweigh": 20_000,  # lanes
    "weigh": 20_000,  # lanes of the tenant, active jobs
    "charge": SOME,  # events since the last time
}


# These calls run once for a new limit or a page, and there are not many active jobs.
SCANS = {name: {"ojs_lease"} for name in ("adopt", "configure", "weigh", "workers")}
# Every five minutes, by design: the narrow rows of all live jobs, but no wide row and no history.
SCANS["drifts"] = {"ojs_ready", "ojs_lease", "ojs_later"}
SCANS["keep_scopes"] = {"ojs_served"}  # when a pool changes: a row for each tenant of a scope
SCANS["size_drifts"] = SCANS["size_drifts of too many"] = {"ojs_ready", "ojs_later"}

POLICY = LimitPolicy(concurrency=3, rate=10, rate_ms=1000)


class Numbers:
    """Hands out jobs that no statement has touched yet."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start again, behind the jobs that are due."""
        self._next = {READY: 5000, LEASE: 500, LATER: 5000, PENDING: 0, FINISHED: 0}

    def take(self, kind: int, number: int = BATCH) -> list[str]:
        """Return ids of this kind."""
        start = kind + self._next[kind]
        self._next[kind] += number
        return [job_id(n) for n in range(start, start + number)]


numbers = Numbers()


def claim(**plan: object) -> None:
    """Claim with a plan, without and with low-water marks."""
    facts = {"queues": ("q0",), "limit": BATCH, **plan}
    for bounds in (queries.Hints(), queries.Hints([0], [0.0], [1], [0])):
        queries.claim(ClaimPlan(**facts), queries.Claimer("w900"), 1000, bounds)  # type: ignore[arg-type]


def resumed() -> None:
    """Pause a lane that has jobs, and offer it again."""
    lane = Ready.objects.order_by("-id").values_list("lane_id", flat=True)[0]
    lanes.set_paused([lane], paused=True)
    queries.offer(lane)


def latest_ready() -> str:
    """Return a waiting job, far behind the jobs that claims take."""
    return str(Ready.objects.order_by("-id").values_list("id", flat=True)[0])


SPARE = ("q3", "q0")  # q3 comes first: these claims must not empty q0 where it has jobs


def claim_by_turns(
    strategy: Strategy,
    ratio: float | None = None,
    queues: tuple[str, ...] = ("q0", "q1", "other"),
    *,
    is_global: bool = False,
) -> None:
    """Claim from queues that take turns."""
    rotation = QueueRotation(
        "p", strategy, (1.0, 2.0, 3.0), ratio, None if ratio is None else 30_000, is_global
    )
    plan = ClaimPlan(queues, BATCH, rotation=rotation)
    queries.claim(plan, queries.Claimer("w900"), 1000, queries.Hints())


def claim_of_a_scope() -> None:
    """Claim where tenants share over several queues, and got jobs in other queues."""
    plan = ClaimPlan(SPARE, BATCH, scopes=dict.fromkeys(SPARE, "s"))
    queries.claim(plan, queries.Claimer("w900"), 1000, queries.Hints())


def claim_after(blocked_on: int) -> None:
    """Claim jobs that the lock of a limit or of a lane has hidden."""
    plan = ClaimPlan(SPARE, BATCH)
    queries.claim(plan, queries.Claimer("w900", blocked_on=blocked_on), 1000, queries.Hints())


def claim_bounded() -> None:
    """Claim for a worker that has declared its concurrency."""
    Worker.objects.filter(id="w100").update(concurrency=1000)
    queries.claim(ClaimPlan(SPARE, BATCH), queries.Claimer("w100"), 1000, queries.Hints())


def move(kind: int) -> None:
    """Move jobs to a lane of another queue."""
    rows = list(Job.objects.filter(id__in=numbers.take(kind)).values_list("id", "lane_id"))
    given = [
        {"n": n, "id": str(i), "lane": lane, "target": rows[0][1]}
        for n, (i, lane) in enumerate(rows)
    ]
    queries.move(given, "q0", "q1")


def reroute(kind: int) -> None:
    """Move jobs to one lane."""
    rows = list(Job.objects.filter(id__in=numbers.take(kind)).values_list("id", "lane_id"))
    queries.reroute(
        [
            {"n": n, "id": str(i), "lane": lane, "target": rows[0][1]}
            for n, (i, lane) in enumerate(rows)
        ]
    )


def enqueue_unique(number: int, shared: int = 0) -> None:
    """Store jobs with fingerprints of their own, and `shared` jobs with the same fingerprint."""
    drafts = [DraftFactory.create(queue="q0", args=[new_id()], unique={}) for _ in range(number)]
    enqueue(drafts)
    for _ in range(shared):
        enqueue([DraftFactory.create(queue="q0", unique={"on_conflict": "replace"})])


def walk(state: State, **wanted: str) -> None:
    """Pick a few jobs of a state without a change."""
    _pick(state, CODES[state], JobFilter(states=(state,), **wanted), begin(), BATCH)  # type: ignore[arg-type]


def prunable(most: int | None = None) -> None:
    """Find jobs beyond their retention, in queues where all, some or no jobs are."""
    ages = {6: 1000, 7: 10_000_000, 8: None, 9: None}  # ms by kind
    queries.prunable(
        [
            {"n": n, "queue": f"q{n // 4}", "kind": kind, "age_ms": ages[kind],
             "most": most if kind == 9 else None, "seen_at": None, "seen_id": None}
            for n, kind in enumerate(list(ages) * 10)
        ],
        BATCH,
    )  # fmt: skip


def remove(*, archive: bool) -> None:
    """Remove ended jobs as retention does."""
    queries.remove(numbers.take(FINISHED, 12), (6, 7, 8), pruned=True, archive=archive)


def explained(kind: int) -> None:
    """Explain a job that thousands of jobs may precede."""
    queries.explain(
        job_id(kind + JOBS[kind] - 7), most=1000, lanes=500, silence_ms=60_000, minutes=5
    )


def looked_ahead() -> None:
    """Read the next turns of a pool with many active jobs."""
    Lease.objects.filter(id__in=numbers.take(LEASE)).update(pool="p")
    rotation = QueueRotation("p", Strategy.WEIGHTED, (1.0, 2.0, 3.0), 0.05, 30_000)
    plan = ClaimPlan(("q0", "q1", "other"), 1, pool="p", rotation=rotation)
    outlook(["p", "none"], [plan], "q0", slots=200)


def suspended() -> None:
    """Let an active job wait for a signal, as its worker asks."""
    until = queries.now() + timedelta(hours=1)
    suspend(Suspend(numbers.take(LEASE, 1)[0], "step", until, ("go",), attempt=1))


def discarded() -> str:
    """Return a discarded job: every third ended job is."""
    return numbers.take(FINISHED, 3)[2]


EARLIER = Place(STAMPS // 2, 0)
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
FEED = {
    "stamp": str(STAMPS - 2), "sent": [], "patience_ms": 0, "jobs": None, "queues": None,
    "limit": BATCH,
}  # fmt: skip

NOW = datetime.now(UTC)
SPELL = rates.Spell(300, NOW - timedelta(hours=1), NOW)
DAYS = rates.Spell(3600, NOW - timedelta(days=3), NOW)
OBJECTIVE = {"objective": {"start_within_ms": 30_000, "percent": 99.0}}
MONTH = rates.Spell(86_400, NOW - timedelta(days=30), NOW)
RULE = {
    "rule": "r", "queue": "q0", "type": None, "error_type": "Broken", "tenant": None,
    "delay_ms": 1000, "max_replays": 3, "batch": BATCH, "looked": FEW,
}  # fmt: skip


DRIFTS = [
    queries.Drift("ojs_depth", "q0", 1, None, 3),
    queries.Drift("ojs_tenant_depth", "q0", 1, "t0", 3),
    queries.Drift("ojs_queue_size", "q0", 1),
]


def lines(sample: float) -> None:
    """Read the events of log lines, of all kinds, from the middle of the event record."""
    place = queries.LogPlace(str(EARLIER.stamp), 0)
    kinds = wanted_kinds(lambda _level: True)
    queries.recorded(place, {"kinds": kinds, "thinned": kinds, "sample": sample}, BATCH)


def prune_events(**given: object) -> None:
    """Remove a batch from the beginning of the event record."""
    rest = {"age_ms": None, "most": None, "unread": None, "most_unread": 0, "batch": BATCH}
    queries.prune_events(rest | given, ("0", 0))


def placed(kind: int) -> dict[str, int]:
    """Return jobs of a kind with the lane to which an undo returns them."""
    return dict.fromkeys(numbers.take(kind, 9), LANE)


def kept(call: Callable[[], object]) -> None:
    """Make a change that leaves records for an undo."""
    with queries.keeping(7):
        call()


CALLS: dict[str, Callable[[], object]] = {
    "adopt": lambda: queries.adopt(10),
    "activate": lambda: activate(numbers.take(PENDING, 1)[0]),
    "await_begin": lambda: queries.await_begin(numbers.take(READY), LISTENER, 60_000, connection),
    "await_end": lambda: queries.await_end(numbers.take(READY), LISTENER, connection),
    "await_look": lambda: queries.await_look(numbers.take(LEASE), connection),
    "bury": lambda: queries.bury(60_000, 1000),
    "cancel ready": lambda: cancel(numbers.take(READY, 1)[0]),
    "cancel later": lambda: cancel(numbers.take(LATER, 1)[0]),
    "cancel lease": lambda: cancel(numbers.take(LEASE, 1)[0]),
    "claim": claim,
    "claim of a tenant": lambda: claim(tenant="t0"),
    "claim of routes": lambda: claim(version_keys=(0, 3)),
    "claim in a pool": lambda: claim(pool="p", pool_cap=100),
    "claim by turns": lambda: claim_by_turns(Strategy.WEIGHTED, 0.05),
    "claim by depth": lambda: claim_by_turns(Strategy.LEAST_LOADED),
    "claim by priority": lambda: claim_by_turns(
        Strategy.STRICT, queues=("q3", "q4", "q0"), is_global=True
    ),
    "claim of a scope": claim_of_a_scope,
    "claim after a limit": lambda: claim_after(1_000_009),
    "claim after a lane": lambda: claim_after(-LANE),
    "claim of a worker": claim_bounded,
    "complete": lambda: ack([Ack(job_id, b"1", f"w{1}") for job_id in numbers.take(LEASE)]),
    "complete all": lambda: ack_all([Ack(job_id, b"1", f"w{1}") for job_id in numbers.take(LEASE)]),
    "complete unheld": lambda: ack([Ack(job_id) for job_id in numbers.take(READY)]),
    "configure": lambda: configure("other", {"concurrency": 9}),
    "dead_letters": lambda: dead_letter.dead_letters(
        dead_letter.DeadLetterFilter(queue="q0"), limit=BATCH, offset=0
    ),
    "depths": queries.depths,
    "dispatches": lambda: dispatches.started(60_000),
    "dispatches of an hour": lambda: dispatches.started(3_600_000, ["q0", "q1"], "p0"),
    "dispatches of a day": lambda: dispatches.started(86_400_000, pool="p0"),
    "full_pools": lambda: dispatches.full_pools({"p0": 10, "p1": None}, "default"),
    "last_starts": lambda: dispatches.last_starts(["q0", "q1"]),
    "open_queues": lambda: dispatches.open_queues(["q0", "q1", "none"]),
    "namespaces": lambda: dispatches.namespaces("", 1000),
    "namespace_starts": lambda: dispatches.namespace_starts(
        {"t0:q0": queries.now() - timedelta(hours=1)}
    ),
    "pool_loads": lambda: dispatches.loads(["q0"], "p0"),
    "depths of a queue": lambda: queries.depths(["q0"]),
    "discard": expire,
    "drop": lambda: queries.drop(numbers.take(READY), "rate_limited", "reached", 76),
    "enqueue": lambda: enqueue([DraftFactory.create(queue="q0") for _ in range(BATCH)]),
    "enqueue one": lambda: enqueue([DraftFactory.create(queue="q0")]),
    "enqueue unique": lambda: enqueue_unique(BATCH),
    "enqueue unique hits": lambda: enqueue_unique(1, 1),
    "enqueue later": lambda: enqueue([DraftFactory.create(queue="q0", scheduled_at="+PT1H")]),
    "events after": lambda: following(EventFilter(), EARLIER, limit=BATCH),
    "events of a queue after": lambda: following(EventFilter(queues=("q0",)), EARLIER, limit=BATCH),
    "events latest": lambda: latest(EventFilter(), limit=BATCH),
    "events of a job": lambda: history(numbers.take(LEASE, 1)[0], limit=BATCH),
    "events of a time": lambda: latest(EventFilter(since=NOON, until=NOON), limit=BATCH),
    "feed": lambda: queries.feed(FEED),
    "feed of a job": lambda: queries.feed({**FEED, "jobs": [job_id(LEASE)], "queues": []}),
    "missed": lambda: queries.missed(STAMPS - 2, [], BATCH),
    "stamp_at": lambda: queries.stamp_at(NOON),
    "emit": lambda: emit([NewEvent(Kind.QUEUE_PAUSED, queue="q0")]),
    "explain": lambda: explained(READY),
    "explain of a lease": lambda: explained(LEASE),
    "explain of an ended one": lambda: explained(FINISHED),
    "outlook": looked_ahead,
    "fail": lambda: nack([Nack(job_id, error()) for job_id in numbers.take(LEASE)]),
    "expire_results": lambda: queries.expire_results(2),
    "failures": lambda: queries.failures(numbers.take(LEASE)),
    "aggregate_events": aggregate_events,
    "forget": lambda: queries.forget(86_400_000, 1000),
    "aggregate_from_start": lambda: queries.base.run("aggregate_from_start", {}),
    "heads": lambda: queries.heads(1, BATCH),
    "asleep": heal,
    "heartbeat": lambda: heartbeat(Report("w1", active_ids=tuple(numbers.take(LEASE)))),
    "reserve_answer": lambda: once(
        Ticket("op", None, new_id(), b"", is_atomic=True), lambda: Reply(200, b"")
    ),
    "forget_answers": forget_answers,
    "hasten": lambda: queries.hasten(numbers.take(LATER)),
    "hits": lambda: queries.hits([(f"{n:064x}", 511, None) for n in range(BATCH)]),
    "hits of a used fingerprint": lambda: queries.hits([(SHARED, 7 << 6, 3_600_000)]),
    "hold": lambda: queries.hold(numbers.take(READY)),
    "jobs": lambda: [show(job_id(kind + 777)) for kind in (READY, LEASE, LATER, FINISHED)],
    "lanes": lambda: queries.lanes([LaneKey(f"q{n}", 0, "made") for n in range(BATCH)], {}),
    "limit_states": lambda: limits.states(None, limit=BATCH, offset=0),
    "limits": lambda: limits.resolve({LimitKey(0, "t0", f"k{n}"): POLICY for n in range(BATCH)}),
    "log": lambda: lines(1.0),
    "log of none": lambda: lines(0.0),
    "log_begin": queries.log_begin,
    "lock_lanes": lambda: queries.lock_lanes(exclusive=False),
    "lock_queues": lambda: queries.lock_queues(["q0", "q1"]),
    "minutes": lambda: queries.minutes("q0", 60),
    "note": lambda: queries.note(71, "q0", {"depth": 1}),
    "name_queues": queries.name_queues,
    "next_due": promote.due_in_ms,
    "next_overdue": overdue_in_ms,
    "next_expiry": expiry_in_ms,
    "next_death": lambda: queries.next_death_ms(1, 1),
    "log_position": queries.log_position,
    "log_reached": lambda: queries.log_reached(queries.LogPlace("1", 0), queries.LogPlace("2", 0)),
    "draining": queries.draining,
    "orphans": lambda: queries.orphans(1, 1000),
    "outgrown": refresh_statistics,
    "override_limit": lambda: limits.override("k1", POLICY, None, Caller("test", "t0")),
    "overdue": lambda: queries.overdue(1000),
    "pause": lambda: pause("paused"),
    "progress": lambda: progress.report(numbers.take(LEASE, 1)[0], progress.Progress(0.5)),
    "pick_ready": lambda: walk(State.AVAILABLE),
    "pick_ready of a queue": lambda: walk(State.AVAILABLE, queue="q0"),
    "pick_live": lambda: walk(State.SCHEDULED),
    "pick_live active": lambda: walk(State.ACTIVE),
    "pick_ended": lambda: walk(State.COMPLETED),
    "pick_ended of a queue": lambda: walk(State.COMPLETED, queue="q0"),
    "promote": promote.promote,
    "prunable": prunable,
    "prunable beyond a number": lambda: prunable(most=1000),
    "prune_events by age": lambda: prune_events(age_ms=1),
    "prune_events by number": lambda: prune_events(most=EVENTS - 5),
    "prune_events that stay": lambda: prune_events(age_ms=10**12, most=10**12),
    "prune_events unread": lambda: prune_events(age_ms=1, unread="0", most_unread=EVENTS - 5),
    "unread": lambda: queries.unread(AGGREGATED),
    "prune_periods": lambda: queries.prune_periods(60, 86_400_000, BATCH),
    "prune_periods of seconds": lambda: queries.prune_periods(1, 7_200_000, BATCH),
    "prune_periods of hours": lambda: queries.prune_periods(3600, 40 * 86_400_000, BATCH),
    "prune_audit": lambda: queries.prune_audit(86_400_000, BATCH),
    "prune_config_changes": lambda: queries.prune_config_changes(86_400_000, BATCH),
    "drifts": queries.drifts,
    "size_drifts": lambda: queries.size_drifts(None),
    "size_drifts of too many": lambda: queries.size_drifts(1000),
    "amend": lambda: queries.amend(DRIFTS),
    "raise_config_version": queries.raise_config_version,
    "remove": lambda: dead_letter.delete(discarded()),
    "remove pruned": lambda: remove(archive=False),
    "remove archived": lambda: remove(archive=True),
    "requeue": lambda: nack([Nack(job_id, None, requeue=True) for job_id in numbers.take(LEASE)]),
    "revive": lambda: dead_letter.retry(discarded()),
    "runs": lambda: queries.runs(STAMPS // 2, (str(STAMPS), 2**62), BATCH),
    "stall": stall,
    "start_waits": lambda: queries.start_waits((STAMPS // 2, STAMPS), (NOON, NOON), BATCH),
    "label_depths": lambda: queries.label_depths(1000),
    "stalled": lambda: queries.stalled(1000),
    "suspend": suspended,
    "dead_letter_stats": dead_letter.dead_letter_stats,
    "find_any": lambda: find_jobs(Wanted(), offset=0, limit=BATCH),
    "find_any by queue": lambda: find(Wanted(queue="q0"), size=BATCH, looked=FEW),
    "find_live": lambda: find_jobs(Wanted(state=State.AVAILABLE), offset=0, limit=BATCH),
    "find_live of any state": lambda: find_jobs(Wanted(is_live=True), offset=0, limit=BATCH),
    "find_live by type": lambda: find(
        Wanted(state=State.SCHEDULED, type="none", sort="scheduled_at"), size=BATCH, looked=FEW
    ),
    "find_ended": lambda: find_jobs(Wanted(state=State.COMPLETED), offset=0, limit=BATCH),
    "find_ended first": lambda: find(
        Wanted(state=State.DISCARDED, tenant="t0", ascending=True), size=BATCH, looked=FEW
    ),
    "history": lambda: rates.history(SPELL),
    "latency_history": lambda: rates.history(SPELL, queue="q0"),
    "latencies": lambda: rates.latencies_of(["q0"]),
    "objective_windows": lambda: objectives.judged("q0", OBJECTIVE),
    "objectives": queries.objectives,
    "history of days": lambda: rates.history(MONTH),
    "latency_history of hours": lambda: rates.history(DAYS),
    "tenant_history": lambda: rates.history(SPELL, tenant="t0"),
    "tenant_history of days": lambda: rates.history(MONTH, tenant="t0"),
    "tenant_minutes": lambda: rates.rates_of(["q0"], "t0"),
    "tenant_depths": lambda: rates.jobs_by_state(tenant="t0"),
    "priorities": lambda: queues.priorities("q0"),
    "oldest_at": lambda: queues.oldest_available("q0"),
    "reprioritize": lambda: reprioritize(latest_ready(), 3, "test"),
    "replayable": lambda: queries.replayable(RULE),
    "workers": lambda: workers.workers(workers.WorkerFilter(), limit=BATCH),
    "standings": lambda: workers.standings(workers.WorkerFilter()),
    "loads": lambda: queries.loads(["q0"]),
    "move": lambda: move(READY),
    "offer": resumed,
    "keep_scopes": lambda: queries.keep_scopes(["pool:p"]),
    "move later": lambda: move(LATER),
    "reroute": lambda: reroute(READY),
    "reroute later": lambda: reroute(LATER),
    "pressure": backpressure.watch_pressure,
    "limit_loads": lambda: queries.limit_loads(10_000),
    "make_queues": lambda: queries.make_queues(["other", "q0"]),
    "maintain": lambda: queries.maintain("test", None, None, enabled=False),
    "emit_pruned": lambda: queries.emit_pruned([{"queue": "q0", "reason": "max_age", "count": 1}]),
    "configuration": lambda: queries.configuration([f"q{n}" for n in range(BATCH)]),
    "tick": lambda: queries.tick("loop"),
    "look": queries.look,
    "has_unread": queries.has_unread,
    "oldest": lambda: queries.oldest("q0", BATCH),
    "pause_limits": lambda: limits.pause(numbers.take(LEASE), datetime.now(UTC)),
    "postpone": lambda: queries.postpone(numbers.take(READY), None),
    "unblock": heal,
    "unique_jobs": lambda: unique_jobs(None, limit=BATCH, offset=0),
    "vitals": health,
    "wake_job": lambda: wake(numbers.take(LATER, 1)[0]),
    "wait": lambda: queries.wait(numbers.take(READY)),
    "waiting": lambda: queries.waiting(numbers.take(READY)),
    "charge": lambda: queries.charge(BATCH, BATCH),
    "charge_queues": lambda: queries.charge_queues(["q0", "other"]),
    "prune_rotations": lambda: queries.prune_rotations(86_400_000, BATCH),
    "reweigh": lambda: lanes.reweigh(in_queues=["q0"]),
    "undo_lock": lambda: queries.undo_lock(7, most_jobs=1, most_bytes=1),
    "undo_next": lambda: queries.undo_next(7, BATCH),
    "undo_mark": lambda: queries.undo_mark(7, dict.fromkeys(numbers.take(FINISHED, 9), "ran")),
    "undo_remove": lambda: queries.undo_remove(7, numbers.take(FINISHED, 9)),
    "undo_null_results": lambda: queries.undo_null_results(7, numbers.take(FINISHED, 9)),
    "undo_revive": lambda: queries.undo_revive(7, numbers.take(READY)),
    "undo_cancel": lambda: queries.undo_cancel(7, placed(FINISHED)),
    "undo_hasten": lambda: queries.undo_hasten(7, placed(READY)),
    "undo_place": lambda: queries.undo_place(7, placed(READY), "test"),
    "undo_duplicates": lambda: queries.undo_duplicates([f"{1:064x}"]),
    "undo_forget": lambda: queries.undo_forget(BATCH),
    "touched": lambda: queries.touched(numbers.take(FINISHED, 9)),
    "keep cancel": lambda: kept(
        lambda: queries.cancel(numbers.take(READY), "a", None, watched=True)
    ),
    "keep remove": lambda: kept(lambda: dead_letter.delete(discarded())),
    "keep revive": lambda: kept(lambda: dead_letter.retry(discarded())),
    "keep move": lambda: kept(lambda: move(READY)),
    "keep hasten": lambda: kept(lambda: queries.hasten(numbers.take(LATER))),
    "keep reprioritize": lambda: kept(lambda: reprioritize(latest_ready(), 3, "test")),
    "weigh": lambda: lanes.set_weight_and_cap("t1", weight=1, cap=5),
}

CLAIMS = [name for name in CALLS if name.startswith("claim")]
CUSTOM, GENERIC = "force_custom_plan", "force_generic_plan"


@pytest.fixture(scope="module")
def cleared(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Allow the use of the database, and leave it unchanged."""
    with django_db_blocker.unblock():
        reset()
        yield
        connection.close()  # with the mode and the plans
        reset()
        FoldPosition.objects.all().delete()
        LoopTick.objects.all().delete()


@pytest.fixture(scope="module", params=SHAPES)
def full(request: pytest.FixtureRequest, cleared: None) -> None:
    """Load a store and give the planner its statistics."""
    reset()
    numbers.start()
    load(SHAPES[request.param])
    analyze()


@pytest.fixture(scope="module")
def burst(cleared: None) -> None:
    """Run every statement in an almost empty store until its plan is kept, then fill the store."""
    reset()
    connection.close()
    stored(5, queue="q0")
    analyze()
    set_mode(GENERIC)
    numbers.start()
    for _ in range(4):
        for call in CALLS.values():
            with suppress(OJSError, KeyError):  # most of the named jobs do not exist
                call()
    for model in (Charge, Worker, Depth):
        model.objects.all().delete()
    numbers.start()
    load(SHAPES["10,000 lanes of a queue"])


def set_mode(mode: str) -> None:
    """Choose how plans are made on this connection."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")


def assert_reads_what_it_needs(name: str) -> None:
    """A call reads no growing table from end to end and no index further than its work needs."""
    if name in CLAIMS:  # earlier claims have replaced the rows at the front
        wait_until_old_rows_are_dead()
    read = touched_by(CALLS[name])

    assert not read.scanned.keys() & (GROWING - SCANS.get(name, set())), read.scanned
    most = MAY_READ.get(name) or MAY_READ.get(name.split(maxsplit=1)[0], FEW)
    assert max(read.scanned.values(), default=0) <= most, read.scanned
    assert max(read.entries.values(), default=0) <= most, read.entries


def test_every_statement_is_measured() -> None:
    files = set(statements_in(ROOT / "jobs"))
    # They run at a reset, an upgrade, a login, a simulation or a change of the configuration. Their
    # reads do not grow with the jobs, except those of a move of a tenant.
    rare = {"reset", "login_try", "lock_config_version"}
    rare |= {"wal_written", "wal_replayed"}  # they read no table
    rare |= {name for name in files if name.startswith(("schema_", "scratch_", "moving_"))}

    assert files - rare <= {name.split()[0] for name in CALLS}


def test_events_that_are_not_aggregated_yet_are_bounded_on_both_sides() -> None:
    """With only a lower bound, the planner expects a third of the record and parallel workers."""
    root = Path(queries.__file__).parent.parent.parent
    lower = "stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position"
    upper = "stamp <= '18446744073709551615'"
    read = {path: path.read_text() for path in root.glob("*/sql/**/*.sql")}

    assert sum(text.count(lower) for text in read.values()) > 10
    wrong = [path for path, text in read.items() if text.count(lower) != text.count(upper)]
    assert not wrong


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, GENERIC) for name in CALLS), *((name, CUSTOM) for name in of_each(CALLS))],
)
def test_statement_at_volume_reads_what_it_needs(name: str, mode: str) -> None:
    set_mode(mode)

    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("burst")
@pytest.mark.parametrize("name", CLAIMS)
def test_claim_planned_while_empty_reads_what_it_needs(name: str) -> None:
    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("burst")
@pytest.mark.parametrize("name", CALLS)
def test_statement_planned_while_empty_is_right_after_one_look_at_the_sizes(name: str) -> None:
    refresh_statistics()

    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("claim", {"ojs_lane_pick", "ojs_ready_order", "ojs_job_pkey"}),
        ("promote", {"ojs_later_due"}),
        ("overdue", {"ojs_lease_due"}),
        ("discard", {"ojs_ready_expires", "ojs_later_expires"}),
        ("complete", {"ojs_lease_pkey", "ojs_job_pkey"}),
        ("complete all", {"ojs_lease_pkey", "ojs_job_pkey"}),
        ("orphans", {"ojs_lease_worker"}),
        ("events of a job", {"ojs_event_job"}),
        ("events after", {"ojs_event_pkey"}),
        ("log", {"ojs_event_pkey", "ojs_job_pkey"}),
        ("dead_letters", {"ojs_finished_pkey"}),
        ("hits", {"ojs_unique_hits"}),
        ("enqueue unique", {"ojs_unique_hits"}),
        ("pick_ready of a queue", {"ojs_ready_order"}),
        ("pick_live", {"ojs_later_kind"}),
        ("pick_ended", {"ojs_finished_pkey"}),
        ("prunable", {"ojs_finished_pkey", "ojs_job_pkey"}),
        ("prune_events by number", {"ojs_event_pkey"}),
        ("prune_events unread", {"ojs_event_pkey"}),
        ("unread", {"ojs_event_pkey"}),
        ("prune_periods", {"ojs_period_pkey", "ojs_latency_pkey", "ojs_tenant_period_at"}),
        ("prune_audit", {"ojs_audit_at"}),
        ("prune_config_changes", {"ojs_config_change_at"}),
        ("history of days", {"ojs_period_pkey", "ojs_latency_pkey"}),
        ("tenant_history of days", {"ojs_tenant_period_pkey"}),
        ("remove pruned", {"ojs_finished_pkey", "ojs_job_pkey", "ojs_progress_pkey"}),
        ("expire_results", {"ojs_result_due", "ojs_job_pkey"}),
    ],
)
def test_statement_uses_the_index_that_was_made_for_it(name: str, indexes: set[str]) -> None:
    set_mode(GENERIC)

    assert indexes <= touched_by(CALLS[name]).entries.keys()
