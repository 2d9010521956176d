"""Statements on running jobs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.queries.base import begin_one, run, run_hot, run_pooled
from jobs.trips import Trip


def jobs(ids: Sequence[str]) -> dict[str, Job]:
    """Read whole jobs by id; unknown ids are absent."""
    return _jobs(run_pooled("jobs", {"ids": list(ids)}))


def begin_jobs(ids: Sequence[str]) -> Trip[dict[str, Job]]:
    """Begin to read whole jobs, as `jobs` does, on a connection of the pool."""
    return begin_one("jobs", {"ids": list(ids)}).then(_jobs)


def _jobs(rows: Iterable[Any]) -> dict[str, Job]:
    return {str(row[0]): stored_job(row) for row in rows}


def stored_job(row: Any) -> Job:
    # positions follow jobs.sql
    return Job(
        id=str(row[0]), type=row[1], queue=row[2], tenant=row[3], lane_id=row[4], priority=row[5],
        version=row[6], args=row[7], meta=row[8], attributes=row[9], max_attempts=row[10],
        timeout_ms=row[11], created_at=row[12], scheduled_at=row[13], expires_at=row[14],
        activated_at=row[15], state=row[16], attempt=row[17], enqueued_at=row[18],
        started_at=row[19], finished_at=row[20], ran=row[21], dead_letter=row[22], result=row[23],
        error=row[24], errors=row[25], retry_delay_ms=row[26], due_at=row[27], worker_id=row[28],
        lease_until=row[29], pool=row[30], watched=row[31], request_id=row[32], progress=row[33],
    )  # fmt: skip


Parts = tuple[tuple[str, str], ...]
ONE: Parts = (("ended", "ack"), ("answer", "one_completed"))
EACH: Parts = (("ended", "acks"), ("answer", "each_completed"))
COUNTED: Parts = (("ended", "acks"), ("answer", "all_completed"))
SKIPPING: Parts = (("unless locked", "skip_locked"),)  # a mark in the part `acks`


class Completed(NamedTuple):
    """One job that was acknowledged."""

    id: str
    queue: str
    type: str
    tenant: str
    attempt: int
    finished_at: datetime
    has_checkpoint: bool | None = None  # of a watched job


def complete(
    acks: Sequence[Mapping[str, Any]], *, watched: bool, heard_ms: int | None
) -> tuple[list[Completed], list[str]]:
    """End active jobs held as stated; returns them and the ids of watched jobs left untouched.

    An ack has an `id`, and may have `worker_id`, `attempt` and a `result` as bytes of JSON.
    """
    params: dict[str, Any] = {"watched": watched, "heard_ms": heard_ms}
    if len(acks) == 1:
        return _completed(_complete(params | _only(acks[0]), ONE))
    return _completed(_complete(params | {"acks": _encode(acks)}, EACH))


def begin_complete(
    acks: Sequence[Mapping[str, Any]], *, heard_ms: int | None
) -> Trip[tuple[list[Completed], list[str]]]:
    """Begin to end active jobs, as `complete` does, on a connection of the pool.

    Watched jobs are left untouched. If there are several acks, so are jobs whose lease another
    transaction has locked.
    """
    params: dict[str, Any] = {"watched": False, "heard_ms": heard_ms}
    if len(acks) == 1:
        return begin_one("complete", params | _only(acks[0]), ONE).then(_completed)
    params["acks"] = _encode(acks)
    return begin_one("complete", params, EACH + SKIPPING).then(_completed)


def _only(ack: Mapping[str, Any]) -> dict[str, Any]:
    result = ack.get("result")
    return {
        "id": ack["id"], "worker_id": ack.get("worker_id"), "attempt": ack.get("attempt"),
        "has_result": result is not None, "result": result and result.decode(),
    }  # fmt: skip


def _completed(rows: Sequence[Any]) -> tuple[list[Completed], list[str]]:
    done = [Completed(row[0], *row[1:7]) for row in rows if row[1] is not None]
    return done, [row[0] for row in rows if row[1] is None]


def complete_all(
    acks: Sequence[Mapping[str, Any]], *, heard_ms: int | None
) -> tuple[set[str] | None, set[str]]:
    """End active jobs held as stated, for a caller that expects to end all of them.

    Returns None if it has ended all, else the ids of the ended jobs; and the ids of watched jobs,
    which it leaves untouched.
    """
    params = {"acks": _encode(acks), "watched": False, "heard_ms": heard_ms}
    ((done, watched, *_),) = _complete(params, COUNTED)
    return None if done is None else set(done), set(watched)


def _complete(params: Mapping[str, Any], parts: Parts) -> list[Any]:
    return run_pooled("complete", params, parts)


def _encode(acks: Sequence[Mapping[str, Any]]) -> str:
    return jsonio.dumps([_row(ack) for ack in acks]).decode()


def _row(ack: Mapping[str, Any]) -> dict[str, Any]:
    result = ack.get("result")
    if result is None:
        return {name: ack.get(name) for name in ("id", "worker_id", "attempt")}
    return {**ack, "has_result": True, "result": orjson.Fragment(result)}


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
    """Read the data for decisions about failed attempts."""
    rows = run("failures", {"ids": list(ids)})
    return {
        str(r[0]): Attempt(str(r[0]), r[1], r[2], r[3], 0, r[4], r[5], r[6], r[7], "nack")
        for r in rows
    }


def overdue(batch: int) -> list[Attempt]:
    """Read attempts whose lease or execution time ran out."""
    return [Attempt(str(row[0]), *row[1:]) for row in run("overdue", {"batch": batch})]


def next_overdue_ms() -> int | None:
    """Return milliseconds until the next lease or execution time ends; None: no job is active."""
    rows = run_hot("next_overdue", {})
    return int(rows[0][0]) if rows else None


def orphans(silence_ms: int, batch: int) -> list[Attempt]:
    """Read attempts of workers that are dead since before a silence; locks the workers."""
    rows = run("orphans", {"silence_ms": silence_ms, "batch": batch})
    return [Attempt(str(row[0]), *row[1:]) for row in rows]


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


def fail(failures_json: bytes, heard_ms: int | None) -> list[Failed]:
    """End attempts as decided; returns only attempts that were still running."""
    rows = run("fail", {"failures": failures_json.decode(), "heard_ms": heard_ms})
    return [Failed(str(row[0]), *row[1:11]) for row in rows]


class Requeued(NamedTuple):
    """One claim that was given back."""

    id: str
    attempt: int
    max_attempts: int


def requeue(jobs_json: bytes, heard_ms: int | None) -> list[Requeued]:
    """Give claims back without a failed attempt."""
    rows = run("requeue", {"jobs": jobs_json.decode(), "heard_ms": heard_ms})
    return [Requeued(str(row[0]), row[1], row[2]) for row in rows]


def suspend(params: Mapping[str, Any]) -> bool:
    """Schedule an active job again; False when it is not held so."""
    return bool(run("suspend", params))


def wake_job(job_id: str) -> bool:
    """Make a scheduled job due now; False when it is not scheduled for later."""
    return bool(run("wake_job", {"id": job_id}))


def progress(params: Mapping[str, Any]) -> bool:
    """Store the progress of a running attempt; False when it is not held so."""
    return bool(run("progress", params))


def stall(quiet_ms: int, batch: int) -> tuple[int, int]:
    """Mark stalled progress; returns how many reports were read, and how many stalled."""
    looked_at, stalled_now = run("stall", {"quiet_ms": quiet_ms, "batch": batch})[0]
    return int(looked_at), int(stalled_now)


def stalled(most: int) -> dict[tuple[str, str], int]:
    """Count running jobs whose progress stalled, by queue and tenant."""
    return {(row[0], row[1]): int(row[2]) for row in run("stalled", {"most": most})}
