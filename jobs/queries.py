"""One typed function per statement in `sql/`: the only place of the core with a cursor.

Rows come back as tuples or `Job`s; JSON crosses the boundary as text. Each function is one round
trip; what it locks stands in its file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.models.functions import Now

from jobs.domain.claim import ClaimPlan, LaneKey, Share
from jobs.domain.dispatches import OpenQueue, Started
from jobs.domain.duplicates import Known
from jobs.domain.job import Job
from jobs.domain.limits import LimitPolicy
from jobs.domain.periods import BY_SECOND_MS, DISPATCH_SPANS, SPANS
from jobs.domain.place import FIRST, SEQ_MASK, Place
from jobs.domain.states import CODES
from jobs.migrations import _functions
from jobs.models import Event
from jobs.statements import Statements

_statements = Statements(Path(__file__).resolve().parent / "sql")
_rows, _hot_rows = _statements.rows, _statements.hot_rows


def _json(rows: object) -> str:
    return orjson.dumps(rows).decode()


class Placed(NamedTuple):
    """Where an enqueued draft ended up; `state` 0: it hit a job with its fingerprint instead."""

    n: int
    state: int
    created_at: datetime
    scheduled_at: datetime | None
    expires_at: datetime | None
    hit: str | None
    hit_state: int | None
    woken: int | None
    known: bool | None


class Checking(IntEnum):
    """Whether drafts have fingerprints that are to be checked."""

    NONE, HERE, DONE = 0, 1, 2


def enqueue(
    drafts: bytes, *, terms: int, wake: bool, checking: Checking = Checking.NONE
) -> list[Placed]:
    """Store drafts, one JSON array as `sql/enqueue.sql` reads it; answers in request order.

    Stores and returns nothing when `terms` is not the latest version.
    """
    params = {
        "drafts": drafts.decode(), "terms": terms, "wake": wake, "checking": int(checking),
    }  # fmt: skip
    return list(starmap(Placed, _hot_rows("enqueue", params)))


def hits(
    wanted: Sequence[tuple[str, int, int | None]],
) -> tuple[datetime, dict[str, list[Known]]]:
    """Find the stored jobs that (fingerprint, states as bits, period in ms) may hit.

    Returns the time of this transaction and the jobs by fingerprint, oldest first. Nobody else
    stores or replaces jobs with these fingerprints until commit.
    """
    params = {
        "keys": [key for key, _, _ in wanted],
        "states": [states for _, states, _ in wanted],
        "periods_ms": [period for _, _, period in wanted],
    }
    found: dict[str, list[Known]] = {}
    rows = _rows("hits", params)
    for _, n, job_id, state, created_at, scheduled_at in rows:
        if n is not None:
            known = Known(job_id, state, created_at, (scheduled_at, None))
            found.setdefault(wanted[n - 1][0], []).append(known)
    return rows[0][0], found


class UniqueJob(NamedTuple):
    """A job that keeps equal ones out; `key` is its fingerprint in hex."""

    key: str
    job_id: str
    type: str
    queue: str
    state: int
    locked_until: datetime | None


def unique_jobs(
    tenant: str | None, *, looked: int, offset: int, limit: int
) -> tuple[list[UniqueJob], int]:
    """List jobs that keep equal ones out, and how many there are; see `sql/unique_jobs.sql`."""
    params = {
        "tenant": tenant, "looked": looked, "offset": offset, "limit": limit,
        "states": [state.value for state in CODES],
    }  # fmt: skip
    rows = _rows("unique_jobs", params)
    return [UniqueJob(*row[:6]) for row in rows], (rows[0][6] if rows else 0)


def hold(ids: Sequence[str]) -> set[str]:
    """Lock live jobs until commit, without waiting; those locked by others or gone are absent."""
    return {row[0] for row in _rows("hold", {"ids": list(ids)})}


def wait(ids: Sequence[str]) -> int:
    """Wait until nobody else has these jobs locked; returns how many are live."""
    return int(_rows("wait", {"ids": list(ids)})[0][0])


class StoredTerms(NamedTuple):
    """The version of the terms, the limits of types, (config, is draining) of queues that exist.

    `template` is what the others will be configured with.
    """

    version: int
    types: dict[str, int]
    queues: dict[str, tuple[dict[str, Any], bool]]
    template: dict[str, Any]


def terms(queues: Sequence[str]) -> StoredTerms:
    """Read what producers must know about queues and types."""
    rows = _rows("terms", {"queues": list(queues)})
    found = {row[1]: (orjson.loads(row[2]), row[3]) for row in rows if row[1]}
    template, types = (orjson.loads(text or "{}") for text in rows[0][4:6])
    return StoredTerms(rows[0][0], types, found, template)


def raise_terms() -> None:
    """Make every process read the terms anew before it stores a job again."""
    _rows("raise_terms", {})


def lock_lanes(*, exclusive: bool) -> None:
    """Wait until no tenant's limit is being set (or, exclusive, no lane is being made)."""
    _rows("lock_lanes", {"exclusive": exclusive})


def lanes(
    keys: Sequence[LaneKey], shares: Mapping[LaneKey, Share]
) -> tuple[dict[LaneKey, int], int]:
    """Find or make the lanes of `keys`, shares plain where absent; returns the terms' version, too.

    A lane that another transaction is just making is absent: ask again.
    """
    wanted = [
        {
            "n": n, "queue": key.queue, "priority": key.priority, "tenant": key.tenant,
            "route": key.route, "limits": f"{{{','.join(map(str, key.limits))}}}",
            **_share(shares.get(key, Share()), key.queue),
        }
        for n, key in enumerate(keys)
    ]  # fmt: skip
    rows = _rows("lanes", {"keys": _json(wanted)})
    return {keys[n]: lane_id for n, lane_id, _ in rows if n is not None}, rows[0][2]


def _share(share: Share, queue: str | None = None) -> dict[str, object]:
    return {
        "weight": share.weight, "boost": share.boost, **share.way._asdict(),
        "found_in": share.found_in or queue,
    }  # fmt: skip


class LimitKey(NamedTuple):
    """What names a limit; kinds are in domain/limits.py."""

    kind: int
    tenant: str
    key: str


def limits(policies: Mapping[LimitKey, LimitPolicy]) -> dict[LimitKey, int]:
    """Find or make limits with these policies, or set them; returns their ids.

    A limit that another transaction is just making is absent: ask again.
    """
    keys = sorted(policies)
    wanted = [
        {
            "n": n, "kind": key.kind, "tenant": key.tenant, "key": key.key,
            "policy": policies[key].to_row(), "slot_ms": policies[key].slot_ms,
        }
        for n, key in enumerate(keys)
    ]  # fmt: skip
    return {keys[n]: limit_id for n, limit_id in _rows("limits", {"limits": _json(wanted)})}


def wake(lane_ids: Sequence[int]) -> None:
    """Offer lanes to the claim. Raises DatabaseError OJS01 when one is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ojs_wake(%s::bigint[])", [sorted(lane_ids)])


def offer(lane_id: int) -> bool:
    """Offer a lane again that was held; false when it was not."""
    return bool(_rows("offer", {"id": lane_id}))


class Hints(NamedTuple):
    """Lower bounds for one claim; see `sql/functions/claim.sql`."""

    ranks: list[int | None] | None = None
    vts: list[float | None] | None = None
    lanes: list[int] | None = None
    seqs: list[int] | None = None


def lock_queue(queue: str) -> None:
    """Let no other producer of this bounded queue pass until this transaction ends."""
    _rows("lock_queue", {"queue": queue})


def oldest(queue: str, number: int) -> list[tuple[str, int]]:
    """Return the available jobs of a queue that wait longest, with their bytes."""
    return [(row[0], row[1]) for row in _rows("oldest", {"queue": queue, "number": number})]


class Load(NamedTuple):
    """How many jobs wait in a queue, and how many bytes they have."""

    jobs: int = 0
    bytes: int = 0


def pressure(threshold: float) -> int:
    """Tell of queues that crossed their warning threshold (this one by default); how many did."""
    return len(_rows("pressure", {"threshold": threshold}))


def loads(queues: Sequence[str]) -> dict[str, Load]:
    """Exact numbers of what waits; a queue where nothing ever waited is absent."""
    rows = _rows("loads", {"queues": list(queues)})
    return {queue: Load(int(jobs), int(size or 0)) for queue, jobs, size in rows}


def heads(lane_id: int, number: int) -> list[str]:
    """Return the next jobs of a lane, at most `number`."""
    return [row[0] for row in _rows("heads", {"lane_id": lane_id, "number": number})]


def drop(ids: Sequence[str], code: str, message: str, kind: int) -> list["Discarded"]:
    """Discard jobs that are available; returns those that still were."""
    params = {"ids": list(ids), "code": code, "message": message, "kind": kind}
    return list(starmap(Discarded, _rows("drop", params)))


def postpone(ids: Sequence[str], until: datetime | None) -> int:
    """Move available jobs to scheduled, until a time or (None) for half their age, 1 s to 30 s."""
    return len(_rows("postpone", {"ids": list(ids), "until": until}))


def note(kind: int, queue: str | None, data: Mapping[str, Any]) -> None:
    """Record an event that is not a change of a job."""
    _rows("note", {"kind": kind, "queue": queue, "data": _json(data)})


def make_queues(queues: Sequence[str]) -> None:
    """Make those of the queues that are not there, by the template."""
    _rows("make_queues", {"queues": list(queues)})


def configure(queue: str, config: Mapping[str, Any], limit_id: int | None) -> None:
    """Set the configuration of a queue that is there."""
    _rows("configure", {"queue": queue, "config": _json(config), "limit_id": limit_id})


def adopt(limit_id: int) -> None:
    """Count the active jobs of a queue or tenant for its new limit."""
    _rows("adopt", {"id": limit_id})


def weigh(tenant: str, weight: float | None, limit_id: int | None) -> int:
    """Give all lanes of a tenant a weight and a limit, if any; returns how many there are."""
    return len(_rows("weigh", {"tenant": tenant, "weight": weight, "limit_id": limit_id}))


def reweigh(shares: Mapping[int, Share]) -> int:
    """Set how lanes share and the queue they are found in, by id; returns how many changed."""
    wanted = [{"id": lane_id, **_share(share)} for lane_id, share in shares.items()]
    return len(_rows("reweigh", {"shares": _json(wanted)}))


def charge(batch: int, memory: int) -> tuple[int, bool]:
    """Charge attempts that ended by how long they took; returns how many, and whether more wait."""
    attempts, has_more = _rows("charge", {"batch": batch, "memory": memory})[0]
    return attempts, has_more


def charge_queues(queues: Sequence[str]) -> None:
    """Let jobs of these queues, and of no others, cost by how long they run."""
    _rows("charge_queues", {"queues": list(queues)})


def prune_turns(kept_ms: int, batch: int) -> int:
    """Forget the turns of lists of queues that nobody asked for lately; returns how many."""
    return len(_rows("prune_turns", {"kept_ms": kept_ms, "batch": batch}))


def outlook(
    pools: Sequence[str],
    plans: Sequence[Mapping[str, Any]],
    queue: str | None,
    *,
    slots: int,
    silence_ms: int,
) -> dict[str, Any]:
    """Read how full pools are and which turns come next, members as `sql/functions/outlook.sql`."""
    params = {
        "pools": list(pools), "plans": _json(list(plans)), "queue": queue,
        "slots": slots, "silence_ms": silence_ms,
    }  # fmt: skip
    found: dict[str, Any] = orjson.loads(_rows("outlook", params)[0][0])
    return found


class LimitNow(NamedTuple):
    """A limit, how many of its jobs are active and wait, and when they started."""

    id: int
    kind: int
    tenant: str
    key: str
    policy: dict[str, Any] | None
    override: dict[str, Any] | None
    override_until: datetime | None
    active: int
    waiting: int
    started: int
    resets_at: datetime | None
    last_start_at: datetime | None


def limit_states(ids: Sequence[int]) -> list[LimitNow]:
    """Read limits with what counts for them now, in the order of `ids`; ended overrides absent."""
    return [
        LimitNow(*row[:4], *(text and orjson.loads(text) for text in row[4:6]), *row[6:])
        for row in _rows("limit_states", {"ids": list(ids)})
    ]


def limit_loads(most: int) -> list[tuple[int, str, int, int]]:
    """Return kind, key, active and waiting jobs of all limits but those of tenants."""
    return [(row[0], row[1], row[2], row[3]) for row in _rows("limit_loads", {"most": most})]


def override_limit(limit_id: int, policy: LimitPolicy | None, until: datetime | None) -> None:
    """Let another policy count for a limit, or (None) its own again."""
    row = _json(policy.to_row()) if policy else None
    slot_ms = policy.slot_ms if policy else None
    _rows("override_limit", {"id": limit_id, "policy": row, "until": until, "slot_ms": slot_ms})


def pause_limits(job_ids: Sequence[str], until: datetime) -> int:
    """Start no more jobs of the limits of active jobs before a time; returns how many limits."""
    return len(_rows("pause_limits", {"jobs": list(job_ids), "until": until}))


@dataclass(slots=True)
class Claimed:
    """The answer of one claim; `heads` has (queue, lane, seq, rank, vt) per job, for the hints."""

    jobs: list[Job]
    heads: list[tuple[str, int, int, int, float]]
    directive: int = 0
    is_due: bool = False
    opens_ms: int | None = None  # until a limit that held jobs back opens by itself
    crowded: list[dict[str, int]] = field(default_factory=list)  # jobs that shall not wait for one
    is_stale: bool = False  # the plan follows from terms that are no longer
    bound: str | None = None  # the pool the worker is in instead; empty: none
    awaits: int | None = None  # the lock that may have hidden jobs; see Claimer.awaits
    declared: int | None = None  # what the worker has declared instead; 0: nothing
    is_taken: bool = False  # the worker is of another tenant than the caller


class Claimer(NamedTuple):
    """Who claims; `pool` is the one it is taken to be in, `binds` whether it said so itself.

    `prefetches`: its concurrency does not bound the claim, it keeps count by itself. `awaits` is
    what its last claim said: the claim waits for that lock first. `declared` is what the worker is
    taken to have declared, null: the request says so itself. `tenant` is the one that the caller is
    bound to.
    """

    worker_id: str | None = None
    lease_ms: int | None = None
    pool: str | None = None
    binds: bool = False
    prefetches: bool = False
    awaits: int | None = None
    declared: int | None = None
    tenant: str | None = None


def claim(plan: ClaimPlan, by: Claimer, default_ms: int, hints: Hints) -> Claimed:
    """Hand out jobs, in turn order. Spec: contract 10.1, core FETCH, fair-scheduling 7."""
    turns = plan.turns
    params = {
        "queues": list(plan.queues),
        "limit": plan.limit,
        "worker_id": by.worker_id,
        "lease_ms": by.lease_ms,
        "default_lease_ms": default_ms,
        "tenant": plan.tenant,
        "routes": list(plan.routes) if plan.routes is not None else None,
        "pool": plan.pool,
        "pool_cap": plan.pool_cap,
        "bound": by.pool,
        "binds": by.binds,
        "prefetches": by.prefetches,
        "terms": plan.terms,
        "awaits": by.awaits,
        "turns": turns and turns.key,
        "strategy": turns and int(turns.strategy),
        "weights": turns and turns.weights and list(turns.weights),
        "ratio": turns and turns.ratio,
        "rotation_ms": turns and turns.rotation_ms,
        "is_global": turns and turns.is_global,
        "low_ranks": hints.ranks,
        "low_vts": hints.vts,
        "low_lanes": hints.lanes,
        "low_seqs": hints.seqs,
        "declared": by.declared,
        "refuses": plan.refuses,
        "caller": by.tenant,
    }
    answer = Claimed([], [])
    for row in _hot_rows("claim", params):
        if row[0] is None:
            answer.directive, answer.is_due = row[28] or 0, bool(row[29])
            answer.opens_ms, answer.crowded = row[30], orjson.loads(row[31] or "[]")
            answer.is_stale, answer.bound, answer.awaits = bool(row[32]), row[33], row[35]
            answer.declared, answer.is_taken = row[36], bool(row[37])
            if row[34]:
                answer.jobs = _in_turn(answer.jobs, [plan.queues[at - 1] for at in row[34]])
        else:
            answer.jobs.append(_claimed_job(row, by.worker_id, plan.pool))
            answer.heads.append((row[2], row[4], row[5], row[26], row[27]))
    return answer


def _in_turn(found: list[Job], order: Sequence[str]) -> list[Job]:
    """Return jobs in the order of the queues that they are of."""
    waiting: dict[str, list[Job]] = {}
    for job in reversed(found):
        waiting.setdefault(job.queue, []).append(job)
    return [waiting[queue].pop() for queue in order]


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
        lease_until=row[29], pool=row[30], watched=row[31], progress=row[32],
    )  # fmt: skip


def explain(
    job_id: str, *, most: int, lanes: int, silence_ms: int, minutes: int
) -> dict[str, Any] | None:
    """Read what a claim would find about a job, members as in `sql/functions/explain.sql`.

    Times are parsed. None: there is no such job.
    """
    params = {
        "id": job_id, "most": most, "lanes": lanes, "silence_ms": silence_ms, "minutes": minutes,
    }  # fmt: skip
    text = _rows("explain", params)[0][0]
    return None if text is None else _timed(orjson.loads(text))


EXPLAINED_TIMES = ("now", "at", "since", "until", "paused_at", "opens_at", "blocked_until")


def _timed(found: dict[str, Any]) -> dict[str, Any]:
    for name, value in found.items():
        if name in EXPLAINED_TIMES and value is not None:
            found[name] = datetime.fromisoformat(value).astimezone(UTC)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and name != "policy":
                _timed(part)
    return found


class Completed(NamedTuple):
    """One job that was acknowledged."""

    id: str
    queue: str
    type: str
    tenant: str
    attempt: int
    finished_at: datetime


def complete(acks: bytes, *, watched: bool) -> tuple[list[Completed], list[str]]:
    """End active jobs that are held as stated; returns them and the ids of watched ones left."""
    rows = _hot_rows("complete", {"acks": acks.decode(), "watched": watched})
    done = [Completed(row[0], *row[1:6]) for row in rows if row[1] is not None]
    return done, [row[0] for row in rows if row[1] is None]


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


class Discarded(NamedTuple):
    """A job that was discarded while it waited, and the state code it left."""

    id: str
    queue: str
    type: str
    tenant: str
    attempt: int
    previous: int
    watched: bool


def discard(batch: int) -> list[Discarded]:
    """Discard expired jobs."""
    return list(starmap(Discarded, _rows("discard", {"batch": batch})))


class Ended(NamedTuple):
    """A job that was cancelled and the state code it left."""

    id: str
    previous: int
    queue: str
    type: str
    tenant: str
    attempt: int


def cancel(
    ids: Sequence[str], actor: str, reason: str | None, *, watched: bool, active: bool = True
) -> list[Ended]:
    """Cancel live jobs, active ones if asked; those that just moved are absent: look again."""
    rows = _rows(
        "cancel",
        {"ids": list(ids), "actor": actor, "reason": reason, "watched": watched, "active": active},
    )
    return [Ended(*row[:6]) for row in rows]


def waiting(ids: Sequence[str]) -> list[str]:
    """Return those of `ids` that wait."""
    return [row[0] for row in _rows("waiting", {"ids": list(ids)})]


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
    # the pool the worker lives in, or empty; nothing was done: it says another, or is another's
    conflict: str | None


def heartbeat(params: Mapping[str, Any]) -> Beat:
    """Note a heartbeat; parameters as named in `sql/heartbeat.sql`."""
    row = _rows("heartbeat", params)[0]
    extended, cancelled = ([str(i) for i in listed] for listed in row[2:4])
    return Beat(row[0], row[1], extended, cancelled, row[4], row[5])


def bury(silence_ms: int, batch: int) -> list[str]:
    """Mark silent workers dead; returns their ids."""
    return [row[0] for row in _rows("bury", {"silence_ms": silence_ms, "batch": batch})]


def forget(silence_ms: int, batch: int) -> int:
    """Remove workers that were silent for long; returns how many."""
    return len(_rows("forget", {"silence_ms": silence_ms, "batch": batch}))


def revive(jobs_json: bytes, states: Iterable[int]) -> list[str]:
    """Make ended jobs available, `jobs` as in `sql/revive.sql`; returns the ids of those it left.

    Raises DatabaseError OJS01 when a lane is gone.
    """
    rows = _rows("revive", {"jobs": jobs_json.decode(), "states": list(states)})
    return [str(row[0]) for row in rows]


def hasten(ids: Sequence[str]) -> list[str]:
    """Make retryable jobs available now; returns the ids of those that were."""
    return [str(row[0]) for row in _rows("hasten", {"ids": list(ids)})]


def remove(
    ids: Sequence[str], states: Iterable[int], *, pruned: bool = False, archive: bool = False
) -> list[str]:
    """Delete jobs that ended in one of these states; returns their ids."""
    given = {"ids": list(ids), "states": list(states), "pruned": pruned, "archive": archive}
    return [row[0] for row in _rows("remove", given)]


def reprioritize(job_id: str, lane_id: int, priority: int, actor: str) -> bool:
    """Move a waiting job to another lane; false when it does not wait any more.

    Raises DatabaseError OJS01 when the lane is gone.
    """
    params = {"id": job_id, "lane_id": lane_id, "priority": priority, "actor": actor}
    return bool(_rows("reprioritize", params))


def move(jobs: Sequence[Mapping[str, Any]], left: str, queue: str) -> set[str]:
    """Give waiting jobs to another queue; returns those that still were in their lanes.

    `jobs` as named in `sql/move.sql`.
    """
    rows = _rows("move", {"jobs": _json(jobs), "left": left, "queue": queue})
    return {row[0] for row in rows}


def reroute(jobs: Sequence[Mapping[str, Any]]) -> set[str]:
    """Give waiting jobs to other lanes; returns those that still were in theirs.

    `jobs` as named in `sql/reroute.sql`.
    """
    return {row[0] for row in _rows("reroute", {"jobs": _json(jobs)})}


class Prunable(NamedTuple):
    """An ended job that outlived rule `n`, by its age or else by the number of newer ones."""

    n: int
    id: str
    finished_at: datetime
    is_old: bool
    held: bool  # this transaction has it; otherwise somebody else works on it
    watched: bool


def prunable(rules: Sequence[Mapping[str, Any]], batch: int) -> list[Prunable]:
    """Lock ended jobs that have to go; members of a rule as in `sql/prunable.sql`."""
    found = _rows("prunable", {"rules": _json(rules), "batch": batch})
    return list(starmap(Prunable, found))


Seen = tuple[str, int]  # (stamp, seq) of an event


class PrunedEvents(NamedTuple):
    """What left the record: how many, how many of these no reader had read, the last place."""

    removed: int
    unread: int
    place: Seen


def prune_events(params: Mapping[str, Any], behind: Seen) -> PrunedEvents:
    """Remove the oldest events behind a place; parameters as named in `sql/prune_events.sql`."""
    rows = _rows("prune_events", {**params, "stamp": behind[0], "seq": behind[1]})
    if not rows:
        return PrunedEvents(0, 0, behind)
    removed, unread, stamp, seq = rows[0]
    return PrunedEvents(removed, unread, (stamp, seq))


def unread(stamp: int) -> int:
    """Return about how many events of the record have this stamp or a later one; a few reads."""
    return max(0, int(_rows("unread", {"unread": str(stamp)})[0][0]))


def prune_periods(span_s: int, age_ms: int, batch: int) -> int:
    """Remove old counts of periods of a span; returns how many from the table that had most."""
    given = {"span_s": span_s, "age_ms": age_ms, "batch": batch}
    return int(_rows("prune_periods", given)[0][0])


def prune_audit(age_ms: int, batch: int) -> int:
    """Remove old entries of the audit log; returns how many."""
    return int(_rows("prune_audit", {"age_ms": age_ms, "batch": batch})[0][0])


def expire_results(batch: int) -> int:
    """Drop results whose time is over; returns how many."""
    return int(_rows("expire_results", {"batch": batch})[0][0])


def tell_pruned(pruned: Sequence[Mapping[str, Any]]) -> None:
    """Record that jobs left the dead letter; items have queue, reason and count."""
    _rows("tell_pruned", {"pruned": _json(pruned)})


class Picked(NamedTuple):
    """Ids by filter, and where to go on (parameters of the same statement); None: at the end."""

    ids: list[str]
    rest: dict[str, Any] | None


def pick_ready(params: Mapping[str, Any]) -> Picked:
    """Pick available jobs; parameters as named in `sql/pick_ready.sql`."""
    ids, lane, seq = _rows("pick_ready", params)[0]
    return _picked(ids, None if lane is None else {"lane": lane, "seq": seq})


def pick_live(params: Mapping[str, Any]) -> Picked:
    """Pick other live jobs; parameters as named in `sql/pick_live.sql`."""
    ids, rest = _rows("pick_live", params)[0]
    return _picked(ids, None if rest is None else {"before": str(rest)})


def pick_ended(params: Mapping[str, Any]) -> Picked:
    """Pick ended jobs; parameters as named in `sql/pick_ended.sql`."""
    ids, at, rest = _rows("pick_ended", params)[0]
    return _picked(ids, None if rest is None else {"at": at, "before": str(rest)})


def _picked(ids: list[object], rest: dict[str, Any] | None) -> Picked:
    return Picked([str(job_id) for job_id in ids], rest)


def reserve_answer(params: Mapping[str, Any]) -> bool:
    """Reserve an idempotency key; parameters as named in `sql/reserve_answer.sql`."""
    return bool(_rows("reserve_answer", params))


def pause(queue: str, actor: str, *, paused: bool) -> tuple[datetime | None, datetime]:
    """Pause or resume a queue, made if unknown.

    Returns when it was paused (None: not) and the time of this call.
    """
    while True:
        make_queues([queue])
        rows = _rows("pause", {"queue": queue, "paused": paused, "actor": actor})
        if rows:  # else somebody has deleted it just now
            return rows[0][0], rows[0][1]


def depths(queues: Sequence[str] | None = None) -> dict[str, dict[int, int]]:
    """Exact numbers of jobs by queue and state code."""
    found: dict[str, dict[int, int]] = {}
    rows = _rows("depths", {"queues": list(queues) if queues is not None else None})
    for queue, state, number in rows:
        found.setdefault(queue, {})[state] = int(number)
    return found


def fold(
    batch: int, wait_bounds: Iterable[float], run_bounds: Iterable[float], tenants: int = 0
) -> int:
    """Add new events to the counts; returns how many; bounds in seconds.

    So many `tenants` are told apart in what metrics show.
    """
    params = {
        "batch": batch,
        "wait_bounds": [bound * 1000.0 for bound in wait_bounds],
        "run_bounds": [bound * 1000.0 for bound in run_bounds],
        "spans": list(SPANS),
        "dispatch_spans": list(DISPATCH_SPANS),
        "tenants": tenants,
    }
    folded, is_placed = _rows("fold", params)[0]
    if not is_placed:
        _rows("fold_from_start", {})
    return int(folded)


class Drift(NamedTuple):
    """A count that differs from the jobs: it tells `excess` too many, or too few if negative."""

    table: str
    queue: str
    excess: int  # jobs; bytes in ojs_queue_size
    tenant: str | None = None  # of ojs_tenant_depth
    state: int | None = None  # null: all that waits


def lock_counts() -> None:
    """Wait for the turn to prove the counts, and keep it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(20266617, 0)")


def drifts() -> list[Drift]:
    """Return the numbers of live jobs, by queue and by tenant, that differ from the jobs."""
    return [
        Drift("ojs_depth" if tenant is None else "ojs_tenant_depth", queue, excess, tenant, state)
        for tenant, queue, state, excess in _rows("drifts", {})
    ]


def size_drifts(most: int | None) -> list[Drift]:
    """Return the sizes that differ from the jobs; none where `most` jobs wait or more."""
    return [Drift("ojs_queue_size", *row) for row in _rows("size_drifts", {"most": most})]


def amend(drifts: Iterable[Drift]) -> int:
    """Take drifts out of the counts; returns how many."""
    given = _json([drift._asdict() for drift in drifts])
    return int(_rows("amend", {"drifts": given})[0][0])


def name_queues() -> list[str]:
    """Make deleted queues again that hold jobs; returns their names."""
    return [row[0] for row in _rows("name_queues", {})]


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


OLDEST_FIRST, NEWEST_FIRST = "", " DESC"  # orders of events
_OF_JOB = "\n   AND e.job_id = %(job_id)s::uuid"
_BEFORE = "\n   AND e.stamp < %(before_stamp)s::text::xid8"
_SETTLED = "\n   AND e.stamp < pg_snapshot_xmin(pg_current_snapshot())"
# A name of an event has the low bits of its seq only, enough within one stamp
_FROM = f"""
   AND (e.stamp > %(after_stamp)s::text::xid8
        OR ((e.seq - %(after_seq)s::bigint) & {SEQ_MASK}) BETWEEN 0 AND {SEQ_MASK // 2})"""
_AFTER = f"""
   AND (e.stamp > %(after_stamp)s::text::xid8
        OR ((e.seq - %(after_seq)s::bigint) & {SEQ_MASK}) <> 0 OR k.part > %(after_part)s::int)"""


def events(
    params: Mapping[str, Any],
    *,
    order: str,
    limit: int,
    offset: int = 0,
    after: Place | None = None,
    settled: bool = False,
) -> list[Any]:
    """Read public events by filter, rows as in `sql/events.sql`; `after` is a place of theirs."""
    given = {**params, "limit": limit, "offset": offset}
    conditions = _OF_JOB if params["job_id"] is not None else ""
    conditions += _BEFORE if params["before_stamp"] is not None else ""
    conditions += _SETTLED if settled else ""
    place = ""
    if after is not None and after != FIRST:
        conditions, place = conditions + _FROM, _AFTER
        given |= {"after_stamp": str(after.stamp), "after_seq": after.seq, "after_part": after.part}
    by = f"e.stamp{order}, e.seq{order}"
    parts = {
        "conditions": conditions, "place": place,
        "order": by, "order of parts": f"{by}, k.part{order}",
    }  # fmt: skip
    return _rows("events", given, parts=parts)


def stamp_at(at: datetime) -> int:
    """Return about where in the record a time is, as a stamp."""
    return int(_rows("stamp_at", {"at": at})[0][0])


def record_ends() -> tuple[Place, Place] | None:
    """Return the first and the last place of the record, None when it is empty."""
    rows = [
        Event.objects.order_by(*order).values_list("stamp", "seq").first()
        for order in (("stamp", "seq"), ("-stamp", "-seq"))
    ]
    if rows[0] is None or rows[1] is None:
        return None
    return Place(int(rows[0][0]), rows[0][1]), Place(int(rows[1][0]), rows[1][1])


def feed(params: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """Read what streams tell next; returns the horizon and rows as in `sql/events.sql`."""
    rows = _rows("feed", params)
    return rows[0][0], [row[1:] for row in rows if row[1] is not None]


def missed(stamp: int, told: Iterable[int], limit: int) -> dict[int, int]:
    """Return what is committed from a stamp on and was not told, newest first: stamps by seq."""
    rows = _rows("missed", {"stamp": str(stamp), "told": list(told), "limit": limit})
    return {seq: at for at, seq in rows}


def horizon() -> int:
    """Return the oldest running transaction: events below it are complete."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


def tell(events_json: bytes) -> None:
    """Record events; one JSON array as `sql/tell.sql` reads it."""
    _rows("tell", {"events": events_json.decode()})


def next_due_ms() -> int | None:
    """Milliseconds until the next waiting job is due, None when none is or during maintenance."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint"
            " FROM ojs_later WHERE due_at IS NOT NULL AND NOT EXISTS (SELECT 1"
            " FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))"
            " ORDER BY due_at LIMIT 1"
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


def reset(tables: Sequence[str]) -> None:
    """Forget everything but keys; `tables` are those of extensions."""
    _rows("reset", {}, "".join(f", {connection.ops.quote_name(name)}" for name in tables))


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


def minutes(
    queues: Sequence[str] | None, since_minutes: int, tenant: str | None = None
) -> dict[str, Counted]:
    """Sum the last minutes of queues, a tenant's own if given; idle ones are absent."""
    params: dict[str, Any] = {
        "queues": list(queues) if queues is not None else None, "minutes": since_minutes,
    }  # fmt: skip
    if tenant is None:
        return {row[0]: Counted(*row[1:]) for row in _rows("minutes", params)}
    return {
        row[0]: Counted(*row[1:]) for row in _rows("tenant_minutes", params | {"tenant": tenant})
    }


def dispatches(
    window_ms: int, queues: Sequence[str] | None, pool: str | None
) -> dict[str, Started]:
    """Count what started of each queue in the window that ends now; idle ones are absent."""
    params = {
        "window_ms": window_ms, "by_second_ms": BY_SECOND_MS, "pool": pool,
        "queues": None if queues is None else list(queues),
    }  # fmt: skip
    return {queue: Started(*rest) for queue, *rest in _rows("dispatches", params)}


def open_queues(queues: Sequence[str]) -> dict[str, OpenQueue]:
    """Look at queues as a claim would."""
    return {
        name: OpenQueue(*rest) for name, *rest in _rows("open_queues", {"queues": list(queues)})
    }


def namespaces(after: str, most: int) -> list[str]:
    """Return the next queues of namespaces, `tenant:queue`, that have a lane to offer."""
    return [row[0] for row in _rows("namespaces", {"after": after, "most": most})]


def namespace_starts(wanted: Mapping[str, tuple[str, str, datetime]]) -> dict[str, datetime]:
    """Return when a job of a tenant and queue last started since a time, by name."""
    tenants, queues, since = (list(one) for one in zip(*wanted.values(), strict=True))
    params = {"names": list(wanted), "tenants": tenants, "queues": queues, "since": since}
    return dict(_rows("namespace_starts", params))


def last_starts(queues: Sequence[str]) -> dict[str, datetime]:
    """Return the last of the starts that are not folded yet."""
    return dict(_rows("last_starts", {"queues": list(queues)}))


def full_pools(caps: Mapping[str, int | None], unnamed: str) -> dict[str, int]:
    """Return the active jobs of those pools that can hand out no more."""
    params = {"pools": list(caps), "caps": list(caps.values()), "unnamed": unnamed}
    return {name: int(active) for name, active in _rows("full_pools", params)}


def pool_loads(pool: str) -> dict[str, int]:
    """Count the active jobs of a pool by queue."""
    return {queue: int(jobs) for queue, jobs in _rows("pool_loads", {"pool": pool})}


def lead(key: int) -> bool:
    """Take the session lock of a loop, kept until this connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(20266604, %s)", [key])
        return bool(cursor.fetchone()[0])


def alone(key: int) -> bool:
    """Take a lock until the transaction ends; false while somebody else has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(20266610, %s)", [key])
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


def stall(quiet_ms: int, batch: int) -> tuple[int, int]:
    """Note progress that stopped; returns how many reports were looked at, and how many stalled."""
    looked_at, stalled_now = _rows("stall", {"quiet_ms": quiet_ms, "batch": batch})[0]
    return int(looked_at), int(stalled_now)


def label_depths(most: int) -> list[tuple[str, str, int, int]]:
    """Return jobs by what metrics call their tenant, `most` of them, by queue and state."""
    found = _rows("label_depths", {"most": most})
    return [(tenant, queue, state, int(jobs)) for tenant, queue, state, jobs in found]


def stalled(most: int) -> dict[tuple[str, str], int]:
    """Count running jobs whose progress stalled, by queue and tenant."""
    return {(row[0], row[1]): int(row[2]) for row in _rows("stalled", {"most": most})}


class Found(NamedTuple):
    """A search: ids in order, how many matched in what was read, and where to look on (id, end).

    `rest` None: everything was read.
    """

    ids: list[str]
    matched: int
    rest: str | None
    rest_at: datetime | None


def find_any(params: Mapping[str, Any]) -> Found:
    """Find jobs in any state; parameters as named in `sql/find_any.sql`."""
    return _found(_rows("find_any", params))


def find_live(params: Mapping[str, Any]) -> Found:
    """Find live jobs; parameters as named in `sql/find_live.sql`."""
    return _found(_rows("find_live", params))


def find_ended(params: Mapping[str, Any]) -> Found:
    """Find ended jobs; parameters as named in `sql/find_ended.sql`."""
    return _found(_rows("find_ended", params))


def _found(rows: list[Any]) -> Found:
    ids, matched, rest, rest_at = rows[0]
    return Found([str(job_id) for job_id in ids], int(matched), rest and str(rest), rest_at)


class DeadGroup(NamedTuple):
    """One line of the statistics of the dead letter."""

    dimension: str
    name: str
    jobs: int
    oldest_at: datetime | None
    newest_at: datetime | None


def dead_letter_stats(tenant: str | None, *, most: int, looked: int) -> list[DeadGroup]:
    """Count the dead letter by queue, type and error; see `sql/dead_letter_stats.sql`."""
    params = {"tenant": tenant, "most": most, "looked": looked}
    return [DeadGroup(*row) for row in _rows("dead_letter_stats", params)]


def replayable(params: Mapping[str, Any]) -> list[str]:
    """Find dead jobs that a rule retries now; parameters as named in `sql/replayable.sql`."""
    return [str(row[0]) for row in _rows("replayable", params)]


class Span(NamedTuple):
    """What happened from `at` on, for one period; `failed` counts attempts."""

    at: datetime
    enqueued: int
    completed: int
    failed: int
    started: int
    wait_ms: int
    run_ms: int


def history(params: Mapping[str, Any]) -> list[Span]:
    """Sum counts per period; parameters as named in `sql/history.sql`, a tenant's with `tenant`."""
    rows = _rows("tenant_history", params) if "tenant" in params else _rows("history", params)
    return [Span(*row) for row in rows]


def latency_history(params: Mapping[str, Any]) -> dict[datetime, dict[int, int]]:
    """Sum latencies per period: jobs by bucket."""
    found: dict[datetime, dict[int, int]] = {}
    for at, bucket, number in _rows("latency_history", params):
        found.setdefault(at, {})[bucket] = int(number)
    return found


def latencies(queues: Sequence[str], minutes: int) -> dict[str, dict[int, int]]:
    """Read the latencies of queues: jobs by bucket."""
    found: dict[str, dict[int, int]] = {}
    for queue, bucket, number in _rows("latencies", {"queues": list(queues), "minutes": minutes}):
        found.setdefault(queue, {})[bucket] = int(number)
    return found


def tenant_depths(tenant: str) -> dict[str, dict[int, int]]:
    """Exact numbers of a tenant's jobs by queue and state code."""
    found: dict[str, dict[int, int]] = {}
    for queue, state, number in _rows("tenant_depths", {"tenant": tenant}):
        found.setdefault(queue, {})[state] = int(number)
    return found


def priorities(queue: str, tenant: str | None, *, most: int, looked: int) -> dict[int, int]:
    """Count a queue's available jobs by priority, highest first, up to the bounds."""
    params = {"queue": queue, "tenant": tenant, "most": most, "looked": looked}
    return {int(row[0]): int(row[1]) for row in _rows("priorities", params)}


def oldest_at(queue: str, tenant: str | None) -> datetime | None:
    """Tell since when a queue's oldest available job waits."""
    rows = _rows("oldest_at", {"queue": queue, "tenant": tenant})
    return rows[0][1] if rows else None


class WorkerRow(NamedTuple):
    """One worker and how many jobs it holds; `queues` and `labels` are JSON text."""

    id: str
    hostname: str | None
    pid: int | None
    queues: str | None
    concurrency: int | None
    pool: str | None
    reported: int
    directive: int
    started_at: datetime
    last_heartbeat_at: datetime | None
    dead_at: datetime | None
    stopped_at: datetime | None
    active: int
    is_silent: bool
    is_draining: bool
    labels: str | None
    standing: str
    tenant: str | None


def workers(params: Mapping[str, Any]) -> list[WorkerRow]:
    """Read workers by name, those that ended last; parameters as named in `sql/workers.sql`."""
    return [WorkerRow(*row) for row in _rows("workers", params)]


def standings(params: Mapping[str, Any]) -> dict[str, int]:
    """Count workers by how they stand; parameters as named in `sql/standings.sql`."""
    return {row[0]: int(row[1]) for row in _rows("standings", params)}


def lock_replay_rules() -> None:
    """Let the rules be replaced by one at a time, until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE ojs_replay_rule IN SHARE ROW EXCLUSIVE MODE")


def maintain(actor: str, reason: str | None, duration_ms: int | None, *, enabled: bool) -> None:
    """Switch maintenance on or off."""
    facts = {"actor": actor, "reason": reason, "duration_ms": duration_ms, "enabled": enabled}
    _rows("maintain", facts)


class Run(NamedTuple):
    """Where a job started (`starts`) or stopped running (`ends`), or what else is on record."""

    stamp: str
    seq: int
    at: datetime
    starts: bool
    ends: bool
    job_id: str | None
    queue: str | None
    tenant: str | None
    took_ms: int | None  # of a start: the wait before it
    worker_id: str | None
    lane_id: int | None  # of a start, while the job is kept


def runs(since: int, before: tuple[str, int], limit: int) -> list[Run]:
    """Read a page of the record backwards, from before (stamp, seq) down to the stamp `since`."""
    params = {"since": str(since), "stamp": before[0], "seq": before[1], "limit": limit}
    return list(starmap(Run, _rows("runs", params)))


# --- a scratch schema: see services/scratch.py ----------------------------------------------------

_scratch = Statements(Path(__file__).resolve().parent / "sql" / "scratch")


def make_scratch(
    name: str, tables: Sequence[str], copied: Sequence[str], unread: Sequence[str]
) -> None:
    """Move this session into a new schema with copies of tables and all functions.

    They are empty, but for those in `copied`; those that are only written there (`unread`) have no
    indexes. Removes the schemas that others
    left behind. Call `drop_scratch` whatever happens.
    """
    names = {"tables": ",".join(tables), "copied": ",".join(copied), "unread": ",".join(unread)}
    _scratch.rows("open", {"name": name, **names})
    _scratch.rows("sweep", {})
    _scratch.rows("make", {})
    _scratch.rows("shadow", {})
    with connection.cursor() as cursor:
        _functions.create(cursor)


def drop_scratch() -> None:
    """Remove the schema of this session."""
    _scratch.rows("drop", {})


def set_clock(at: datetime) -> None:
    """Let it be this time in the scratch schema."""
    _scratch.hot_rows("clock", {"at": at.isoformat()})


def set_depths(jobs: Mapping[str, int]) -> None:
    """Set how many jobs of queues are available, as folding would, in the scratch schema."""
    _scratch.rows("depths", {"queues": list(jobs), "jobs": list(jobs.values())})
