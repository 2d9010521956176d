"""In-process metrics of the API; lifecycle counters come from the database instead.

Names follow contract 32.3. Children are resolved once per label set: looking them up is the dearest
part of counting.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from prometheus_client import Counter, Histogram

from jobs.fastpath.deferred_metrics import later

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_requests = Histogram(
    "ojs_http_request_duration_seconds",
    "Time to answer an API request",
    ["method", "route", "status"],
    buckets=BOUNDS,
)
_fetch = Histogram("ojs_fetch_duration_seconds", "Time to answer a FETCH", buckets=BOUNDS)
_enqueue = Histogram(
    "ojs_job_enqueue_duration_seconds", "Time to accept a job", ["queue"], buckets=BOUNDS
)
_tick = Histogram("ojs_loop_tick_seconds", "Time of one turn of a loop", ["loop"], buckets=BOUNDS)
_fetch_empty = Counter("ojs_fetch_empty_total", "FETCH answers without a job")


_replica = Counter(
    "ojs_replica_reads_total",
    "Reads that a replica may serve: by the replica, or by the database because the caller wants"
    " its latest data, or the replica is late, unusable, has failed or lacks the thing",
    ["outcome"],
)
_lost = Counter("ojs_events_lost_total", "Events that left before a reader had read them")
_drifts = Counter("ojs_count_drifts_total", "Counts that differed from the jobs", ["table"])
_progress = Counter("ojs_progress_updates_total", "Reports stored", ["queue", "job_type"])
_checkpoint = Histogram(
    "ojs_progress_checkpoint_size_bytes",
    "Size of the checkpoints stored",
    ["job_type"],
    buckets=(64, 256, 1024, 4096, 16_384, 65_536),
)

MOST_QUEUES = 200  # further queues share `_other`
_queues: dict[str, Any] = {}
_names: dict[str, set[str]] = {}


@cache
def _request_child(method: str, route: str, status: int) -> Any:
    return _requests.labels(method, route, str(status)).observe


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one answer; `route` is a URL name, never a path."""
    later(_request_child(method, route, status), seconds)


def observe_fetch(seconds: float, jobs: int) -> None:
    """Count one FETCH."""
    later(_fetch.observe, seconds)
    if not jobs:
        later(_fetch_empty.inc, 1)


def observe_enqueue(queue: str, seconds: float) -> None:
    """Count one accepted PUSH."""
    child = _queues.get(queue)
    if child is None:
        name = queue if len(_queues) < MOST_QUEUES else "_other"
        child = _enqueue.labels(name).observe
        if name == queue:
            _queues[queue] = child
    later(child, seconds)


def observe_progress(queue: str, job_type: str, checkpoint_bytes: int | None) -> None:
    """Count one stored report; null: it had no checkpoint."""
    name = capped("type", job_type)
    _progress.labels(capped("queue", queue), name).inc()
    if checkpoint_bytes is not None:
        _checkpoint.labels(name).observe(checkpoint_bytes)


def capped(kind: str, value: str) -> str:
    """Return a label's value; values of a kind beyond the first MOST_QUEUES share one."""
    seen = _names.setdefault(kind, set())
    if value not in seen and len(seen) >= MOST_QUEUES:
        return "_other"
    seen.add(value)
    return value


def observe_lost(events: int) -> None:
    """Count events that a reader will never read."""
    _lost.inc(events)


def observe_drifts(tables: Mapping[str, int]) -> None:
    """Count counts that were wrong, by table; 0 is shown, too."""
    for table in ("ojs_depth", "ojs_tenant_depth", "ojs_queue_size"):
        _drifts.labels(table).inc(tables.get(table, 0))


def observe_tick(loop: str, seconds: float) -> None:
    """Count one run of a loop."""
    _tick.labels(loop).observe(seconds)


def observe_replica_read(outcome: str) -> None:
    """Count one read that a replica may serve: see jobs/services/read/replica.py."""
    _replica.labels(outcome).inc()
