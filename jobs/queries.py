"""One typed function per statement in `sql/`: the only place of the core with a cursor.

Rows come back as tuples or `Job`s; JSON crosses the boundary as text. Each function is one round
trip; what it locks stands in its file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models.functions import Now

from jobs.domain.claim import ClaimPlan, LaneKey
from jobs.domain.job import Job
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


def _json(rows: Sequence[Any]) -> str:
    return orjson.dumps(rows).decode()


class Placed(NamedTuple):
    """Where an enqueued draft ended up."""

    n: int
    state: int
    created_at: datetime
    scheduled_at: datetime | None
    expires_at: datetime | None
    woken: int | None


def enqueue(drafts: bytes, *, wake: bool) -> list[Placed]:
    """Store drafts, one JSON array as `sql/enqueue.sql` reads it; answers in request order."""
    return list(starmap(Placed, _rows("enqueue", {"drafts": drafts.decode(), "wake": wake})))


def lanes(
    keys: Sequence[LaneKey], terms: Mapping[str, tuple[float, int | None]]
) -> dict[LaneKey, int]:
    """Find or make the lanes of `keys`; `terms` has (weight, cap) by tenant.

    A lane that another transaction is just making is absent: ask again.
    """
    wanted = []
    for n, key in enumerate(keys):
        weight, cap = terms.get(key.tenant, (1.0, None))
        wanted.append(
            {
                "n": n, "queue": key.queue, "priority": key.priority, "tenant": key.tenant,
                "route": key.route, "weight": weight, "cap": cap,
            }
        )  # fmt: skip
    return {keys[n]: lane_id for n, lane_id in _rows("lanes", {"keys": _json(wanted)})}


def wake(lane_ids: Sequence[int]) -> None:
    """Offer lanes to the claim. Raises DatabaseError OJS01 when one is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ojs_wake(%s::bigint[])", [sorted(lane_ids)])


class Hints(NamedTuple):
    """Lower bounds for one claim; see `sql/functions/claim.sql`."""

    ranks: list[int | None] | None = None
    vts: list[float | None] | None = None
    lanes: list[int] | None = None
    seqs: list[int] | None = None


@dataclass(slots=True)
class Claimed:
    """The answer of one claim; `heads` has (queue, lane, seq, rank, vt) per job, for the hints."""

    jobs: list[Job]
    heads: list[tuple[str, int, int, int, float]]
    directive: int = 0
    is_due: bool = False


def claim(
    plan: ClaimPlan, worker_id: str | None, lease_ms: int | None, default_ms: int, hints: Hints
) -> Claimed:
    """Hand out jobs. Spec: contract 10.1, core FETCH."""
    params = {
        "queues": list(plan.queues),
        "quotas": list(plan.quotas) if plan.quotas is not None else None,
        "limit": plan.limit,
        "worker_id": worker_id,
        "lease_ms": lease_ms,
        "default_lease_ms": default_ms,
        "tenant": plan.tenant,
        "routes": list(plan.routes) if plan.routes is not None else None,
        "pool": plan.pool,
        "pool_cap": plan.pool_cap,
        "low_ranks": hints.ranks,
        "low_vts": hints.vts,
        "low_lanes": hints.lanes,
        "low_seqs": hints.seqs,
    }
    answer = Claimed([], [])
    for row in _rows("claim", params):
        if row[0] is None:
            answer.directive, answer.is_due = row[28] or 0, bool(row[29])
        else:
            answer.jobs.append(_claimed_job(row, worker_id, plan.pool))
            answer.heads.append((row[2], row[4], row[5], row[26], row[27]))
    return answer


def _claimed_job(row: Any, worker_id: str | None, pool: str | None) -> Job:
    # positions follow the RETURNS TABLE of functions/claim.sql
    return Job(
        id=str(row[0]), type=row[1], queue=row[2], tenant=row[3], lane_id=row[4], priority=row[6],
        version=row[7], args=row[8], meta=row[9], attributes=row[10], max_attempts=row[11],
        timeout_ms=row[12], created_at=row[13], scheduled_at=row[14], expires_at=row[15],
        activated_at=row[16], attempt=row[17], enqueued_at=row[18], started_at=row[19],
        lease_ms=row[20], lease_until=row[21], error=row[22], errors=row[23],
        retry_delay_ms=row[24], watched=row[25], state=4, worker_id=worker_id, pool=pool,
    )  # fmt: skip


def jobs(ids: Sequence[str]) -> dict[str, Job]:
    """Read whole jobs by id; unknown ids are absent."""
    return {str(row[0]): _stored_job(row) for row in _rows("jobs", {"ids": list(ids)})}


def _stored_job(row: Any) -> Job:
    # positions follow sql/jobs.sql
    return Job(
        id=str(row[0]), type=row[1], queue=row[2], tenant=row[3], lane_id=row[4], priority=row[5],
        version=row[6], args=row[7], meta=row[8], attributes=row[9], max_attempts=row[10],
        timeout_ms=row[11], created_at=row[12], scheduled_at=row[13], expires_at=row[14],
        activated_at=row[15], state=row[16], attempt=row[17], enqueued_at=row[18],
        started_at=row[19], finished_at=row[20], ran=row[21], dead_letter=row[22], result=row[23],
        error=row[24], errors=row[25], retry_delay_ms=row[26], due_at=row[27], worker_id=row[28],
        lease_until=row[29], pool=row[30],
    )  # fmt: skip


class Completed(NamedTuple):
    """One job that was acknowledged."""

    id: str
    queue: str
    type: str
    tenant: str
    attempt: int
    finished_at: datetime


def complete(acks: bytes, *, watched: bool) -> list[Completed]:
    """End active jobs; only those that were active and held as stated are returned."""
    rows = _rows("complete", {"acks": acks.decode(), "watched": watched})
    return [Completed(str(row[0]), *row[1:6]) for row in rows]


class Attempt(NamedTuple):
    """A running attempt that may have to fail; `retry` and `errors` are JSON text."""

    id: str
    attempt: int
    worker_id: str | None
    watched: bool
    timeout_ms: int
    max_attempts: int
    retry: str
    errors: str
    elapsed_ms: int
    reason: str


def failures(ids: Sequence[str]) -> dict[str, Attempt]:
    """Read what deciding about failed attempts needs."""
    rows = _rows("failures", {"ids": list(ids)})
    return {
        str(r[0]): Attempt(str(r[0]), r[1], r[2], r[3], 0, r[4], r[5], r[6], r[7], "nack")
        for r in rows
    }


def overdue(batch: int) -> list[Attempt]:
    """Read attempts whose lease or execution time ran out."""
    return [Attempt(str(row[0]), *row[1:]) for row in _rows("overdue", {"batch": batch})]


def orphans(batch: int) -> list[Attempt]:
    """Read attempts that dead workers hold."""
    return [Attempt(str(row[0]), *row[1:]) for row in _rows("orphans", {"batch": batch})]


class Failed(NamedTuple):
    """One attempt that ended in failure; `due_at` when it will run again."""

    id: str
    state: int
    attempt: int
    max_attempts: int
    due_at: datetime | None
    delay_ms: int | None
    finished_at: datetime | None
    dead_letter: bool | None
    queue: str
    type: str
    tenant: str


def fail(failures_json: bytes) -> list[Failed]:
    """End attempts as decided; only those that were still running are returned."""
    rows = _rows("fail", {"failures": failures_json.decode()})
    return [Failed(str(row[0]), *row[1:11]) for row in rows]


class Requeued(NamedTuple):
    """One claim that was given back."""

    id: str
    attempt: int
    max_attempts: int


def requeue(jobs_json: bytes) -> list[Requeued]:
    """Give claims back unharmed."""
    rows = _rows("requeue", {"jobs": jobs_json.decode()})
    return [Requeued(str(row[0]), row[1], row[2]) for row in rows]


def promote(batch: int) -> int:
    """Make due jobs available; returns how many."""
    return int(_rows("promote", {"batch": batch})[0][0])


def discard(batch: int) -> int:
    """Discard expired jobs; returns how many."""
    return int(_rows("discard", {"batch": batch})[0][0])


class Ended(NamedTuple):
    """A job that was cancelled and the state code it left."""

    id: str
    previous: int
    queue: str
    type: str
    tenant: str


def cancel(ids: Sequence[str], actor: str, reason: str | None) -> list[Ended]:
    """Cancel live jobs; those that just moved are absent: look again."""
    rows = _rows("cancel", {"ids": list(ids), "actor": actor, "reason": reason})
    return [Ended(str(row[0]), *row[1:5]) for row in rows]


def activate(job_id: str) -> int | None:
    """Start a pending job; returns its new state code, None when it was not pending."""
    rows = _rows("activate", {"id": job_id})
    return int(rows[0][1]) if rows else None


class Beat(NamedTuple):
    """The answer to a heartbeat; `directive` is a code of Worker.directive."""

    directive: int
    server_time: datetime
    extended: list[str]
    cancelled: list[str]
    test_directive: str | None


def heartbeat(params: Mapping[str, Any]) -> Beat:
    """Note a heartbeat; parameters as named in `sql/heartbeat.sql`."""
    row = _rows("heartbeat", params)[0]
    return Beat(row[0], row[1], [str(i) for i in row[2]], [str(i) for i in row[3]], row[4])


def bury(silence_ms: int, batch: int) -> list[str]:
    """Mark silent workers dead; returns their ids."""
    return [row[0] for row in _rows("bury", {"silence_ms": silence_ms, "batch": batch})]


def forget(silence_ms: int, batch: int) -> int:
    """Remove workers that were silent for long; returns how many."""
    return len(_rows("forget", {"silence_ms": silence_ms, "batch": batch}))


def revive(params: Mapping[str, Any]) -> bool:
    """Move a discarded job to available; parameters as named in `sql/revive.sql`."""
    return bool(_rows("revive", params))


def remove(job_id: str) -> bool:
    """Delete a discarded job."""
    return bool(_rows("remove", {"id": job_id}))


def pause(queue: str, actor: str, *, paused: bool) -> tuple[datetime | None, datetime]:
    """Pause or resume; returns when it was paused (None: not) and the time of this call."""
    row = _rows("pause", {"queue": queue, "paused": paused, "actor": actor})[0]
    return row[0], row[1]


def depths(queues: Sequence[str] | None = None) -> dict[str, dict[int, int]]:
    """Exact numbers of jobs by queue and state code."""
    found: dict[str, dict[int, int]] = {}
    rows = _rows("depths", {"queues": list(queues) if queues is not None else None})
    for queue, state, number in rows:
        found.setdefault(queue, {})[state] = int(number)
    return found


def fold(batch: int, wait_bounds: Iterable[float], run_bounds: Iterable[float]) -> int:
    """Add new events to the counts; returns how many; bounds in seconds."""
    params = {
        "batch": batch,
        "wait_bounds": [bound * 1000.0 for bound in wait_bounds],
        "run_bounds": [bound * 1000.0 for bound in run_bounds],
    }
    folded, is_placed = _rows("fold", params)[0]
    if not is_placed:
        _rows("fold_from_start", {})
    return int(folded)


def heal() -> int:
    """Repair lanes that are not offered though they should be; returns how many (0 is healthy)."""
    return (_rows("heal", {})[0][0] or 0) + (_rows("unblock", {})[0][0] or 0)


def outgrown(tables: Sequence[str]) -> list[str]:
    """Return those of our tables that have more than doubled since they were analyzed."""
    return [row[0] for row in _rows("outgrown", {"tables": list(tables)})]


def analyze(tables: Sequence[str]) -> None:
    """Take the planner's numbers of our tables, except where another session is just at it."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE (SKIP_LOCKED) " + ", ".join(map(connection.ops.quote_name, tables)))


def events(params: Mapping[str, Any], *, ascending: bool, limit: int) -> list[Any]:
    """Read public events by filter, rows as in `sql/events.sql`."""
    of_job = "" if params["job_id"] is None else "\n   AND e.job_id = %(job_id)s::uuid"
    order = "ORDER BY e.stamp, e.seq" if ascending else "ORDER BY e.stamp DESC, e.seq DESC"
    return _rows("events", {**params, "limit": limit}, f"{of_job}\n {order} LIMIT %(limit)s::int")


def next_due_ms() -> int | None:
    """Milliseconds until the next waiting job is due, None when none is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint"
            " FROM ojs_later WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"
        )
        row = cursor.fetchone()
    return int(row[0]) if row else None


class Vitals(NamedTuple):
    """Numbers of queues and workers, and whether every loop did its turn lately."""

    queues: int
    paused: int
    workers: int
    alive: int
    ticked_at: datetime | None
    is_ticking: bool


def vitals(silence_ms: int, stale_ms: int) -> Vitals:
    """Tell whether the system is well; workers silent for `silence_ms` are not alive."""
    return Vitals(*_rows("vitals", {"silence_ms": silence_ms, "stale_ms": stale_ms})[0])


def tick(loop: str) -> None:
    """Note that a loop did its turn."""
    _rows("tick", {"name": loop})


def reset() -> None:
    """Forget everything but keys."""
    _rows("reset", {})


def dead_letters(params: Mapping[str, Any]) -> tuple[list[str], int]:
    """List discarded jobs by filter, newest first; returns ids and how many there are."""
    rows = _rows("dead_letters", params)
    return [str(row[0]) for row in rows], (rows[0][1] if rows else 0)


class Counted(NamedTuple):
    """What happened to the jobs of a queue; `failed` counts attempts."""

    completed: int = 0
    failed: int = 0
    started: int = 0
    wait_ms: int = 0
    run_ms: int = 0


def minutes(queues: Sequence[str] | None, since_minutes: int) -> dict[str, Counted]:
    """Sum the last minutes of queues; those where nothing happened are absent."""
    params = {"queues": list(queues) if queues is not None else None, "minutes": since_minutes}
    return {row[0]: Counted(*row[1:]) for row in _rows("minutes", params)}


def lead(key: int) -> bool:
    """Take the session lock of a loop, kept until this connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(20266604, %s)", [key])
        return bool(cursor.fetchone()[0])


def progress(params: Mapping[str, Any]) -> bool:
    """Store the progress of a running attempt; false when it is not held so."""
    return bool(_rows("progress", params))


def now() -> datetime:
    """Read the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        at: datetime = cursor.fetchone()[0]
        return at


def ago(ms: int) -> Any:
    """Return an expression for a time before the database's now."""
    return Now() - timedelta(milliseconds=ms)
