"""End attempts that failed. Spec: core FAIL, contract 2.2, 3.4, 5.4."""

import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from jobs import queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.errors import OJSError
from jobs.domain.outcome.retry import decide, from_wire
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import read_time
from jobs.repeat import repeated
from jobs.services.lanes.limits import pause
from jobs.services.outcome.follow import follow
from jobs.services.outcome.refusal import refusals
from ojs_tasks.worker.ports import Nack

__all__ = ["Nack", "Outcome", "fail", "nack"]

SYSTEM_RANDOM = random.SystemRandom()
# reasons of `queries.Attempt`
LOST = {"visibility_timeout", "worker_death"}
OVERDUE = {"visibility_timeout", "timeout"}


class _Row(NamedTuple):
    """The parameters of `fail.sql` for one attempt; `watched`: an extension follows its job."""

    decided: dict[str, Any]
    watched: bool


Outcome = queries.Failed | queries.Requeued | OJSError


def nack(nacks: Sequence[Nack], *, by_worker: bool = True) -> list[Outcome]:
    """Fail or give back attempts; one entry per nack, in order, an error for each refused nack.

    It is a sign of life of the workers that hold the jobs, unless `by_worker` is false.

    Failures take two statements for any number of jobs (read, guarded change), requeues one. Jobs
    that an extension watches take one more transaction, with the extension's own work.
    """
    done: dict[str, Outcome] = {}
    heard_ms = conf().heard_ms if by_worker else None
    requeues = [item for item in nacks if item.requeue]
    if requeues:
        rows = [{"id": n.job_id, "worker_id": n.worker_id, "attempt": n.attempt} for n in requeues]
        done |= {row.id: row for row in queries.requeue(orjson.dumps(rows), heard_ms)}
    failures = [item for item in nacks if not item.requeue]
    if failures:
        done |= {row.id: row for row in _fail(failures, heard_ms)}
    missing = {item.job_id: item.worker_id for item in nacks if item.job_id not in done}
    done |= refusals("nack", missing)
    return [done[item.job_id] for item in nacks]


def _fail(nacks: Sequence[Nack], heard_ms: int | None) -> list[queries.Failed]:
    running = queries.failures([item.job_id for item in nacks])
    decisions = []
    for item in nacks:
        attempt = running.get(item.job_id)
        if attempt and (item.attempt is None or item.attempt == attempt.attempt):
            decisions.append((attempt, item.error or {}, item.worker_id))
            _pause(attempt, item)
    return _end([_row(*decision) for decision in decisions], heard_ms)


def _pause(attempt: queries.Attempt, item: Nack) -> None:
    """Start no job of the same key before the time that a called service gave (RL-9)."""
    until = (item.error or {}).get("rate_limit_until")
    if until and (item.worker_id is None or item.worker_id == attempt.worker_id):
        pause([attempt.id], read_time(until))


def fail(attempts: Iterable[tuple[queries.Attempt, dict[str, Any]]]) -> list[queries.Failed]:
    """End attempts for the server: attempts that took too long, or lost their lease or worker.

    Takes (attempt, normalised error). A lost attempt that may run again becomes available without
    backoff. If a heartbeat has extended the lease or time meanwhile, the attempt goes on. Spec:
    contract 9.3, D41.
    """
    return _end([_row(*entry) for entry in attempts], None)


def _end(rows: Sequence[_Row], heard_ms: int | None) -> list[queries.Failed]:
    plain = [row.decided for row in rows if not row.watched]
    watched = [row.decided for row in rows if row.watched]
    ended = queries.fail(jsonio.dumps(plain), heard_ms) if plain else []
    return ended + (repeated(lambda: _fail_watched(watched, heard_ms)) if watched else [])


def _fail_watched(rows: list[dict[str, Any]], heard_ms: int | None) -> list[queries.Failed]:
    with atomic():
        ended = queries.fail(jsonio.dumps(rows), heard_ms)
        follow(
            [
                Transition(row.id, row.queue, row.type, row.tenant, CODES[State.ACTIVE], row.state,
                           row.attempt)
                for row in ended if row.state == CODES[State.DISCARDED]
            ]
        )  # fmt: skip
    return ended


def _row(attempt: queries.Attempt, error: dict[str, Any], worker_id: str | None = None) -> _Row:
    policy = from_wire(orjson.loads(attempt.retry))
    decision = decide(
        policy, error, attempt.attempt, attempt.max_attempts, random=SYSTEM_RANDOM.random
    )
    is_final = decision.state == State.DISCARDED
    waits = not is_final and attempt.reason not in LOST
    state = State.DISCARDED if is_final else State.RETRYABLE if waits else State.AVAILABLE
    decided = {
        "id": attempt.id,
        "attempt": attempt.attempt,
        "worker_id": worker_id,
        "state": CODES[state],
        "delay_ms": decision.delay_ms if waits else None,
        "dead_letter": decision.dead_letter,
        "error": {**error, "attempt": attempt.attempt},
        "overdue": attempt.reason in OVERDUE,
    }
    return _Row(decided, attempt.watched)
