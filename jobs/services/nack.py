"""End attempts that failed. Spec: core FAIL, contract 2.2, 3.4, 5.4."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import transaction

from jobs import queries
from jobs.domain import jsonio
from jobs.domain.errors import OJSError
from jobs.domain.retry import decide, from_wire
from jobs.domain.states import CODES, State
from jobs.domain.times import read_time
from jobs.domain.transition import Transition
from jobs.repeat import repeated
from jobs.services.follow import follow
from jobs.services.limits import pause
from jobs.services.refusal import refusals

SYSTEM_RANDOM = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Nack:
    """One attempt to fail; `error` is normalised, None with `requeue`."""

    job_id: str
    error: dict[str, Any] | None
    requeue: bool = False
    worker_id: str | None = None
    attempt: int | None = None


Outcome = queries.Failed | queries.Requeued | OJSError


def nack(nacks: Sequence[Nack]) -> list[Outcome]:
    """Fail or give back attempts; one entry per nack, in order, an error where it was refused.

    Two statements for failures whatever their number (read, guarded change), one for requeues.
    Jobs that an extension watches take a transaction more, with its own work.
    """
    done: dict[str, Outcome] = {}
    requeues = [item for item in nacks if item.requeue]
    if requeues:
        rows = [{"id": n.job_id, "worker_id": n.worker_id, "attempt": n.attempt} for n in requeues]
        done |= {row.id: row for row in queries.requeue(orjson.dumps(rows))}
    failures = [item for item in nacks if not item.requeue]
    if failures:
        done |= {row.id: row for row in _fail(failures)}
    missing = {item.job_id: item.worker_id for item in nacks if item.job_id not in done}
    done |= refusals("nack", missing)
    return [done[item.job_id] for item in nacks]


def _fail(nacks: Sequence[Nack]) -> list[queries.Failed]:
    running = queries.failures([item.job_id for item in nacks])
    decisions = []
    for item in nacks:
        attempt = running.get(item.job_id)
        if attempt and (item.attempt is None or item.attempt == attempt.attempt):
            decisions.append((attempt, item.error or {}, item.worker_id))
            _pause(attempt, item)
    return fail(decisions)


def _pause(attempt: queries.Attempt, item: Nack) -> None:
    """Let no job of the same key start before the time that a called service gave (RL-9)."""
    until = (item.error or {}).get("rate_limit_until")
    if until and (item.worker_id is None or item.worker_id == attempt.worker_id):
        pause([attempt.id], read_time(until))


def fail(
    attempts: Iterable[tuple[queries.Attempt, dict[str, Any], str | None]], *, at_once: bool = False
) -> list[queries.Failed]:
    """Decide about attempts by their retry policies and end those that still run.

    Takes (attempt, normalised error, worker id to check or None). `at_once`: a lost attempt that
    may run again becomes available without backoff. Spec: contract 9.3, D41.
    """
    plain: list[dict[str, Any]] = []
    watched: list[dict[str, Any]] = []
    for entry in attempts:
        (watched if entry[0].watched else plain).append(_row(*entry, at_once=at_once))
    ended = queries.fail(jsonio.dumps(plain)) if plain else []
    return ended + (repeated(lambda: _fail_watched(watched)) if watched else [])


def _fail_watched(rows: list[dict[str, Any]]) -> list[queries.Failed]:
    with transaction.atomic():
        ended = queries.fail(jsonio.dumps(rows))
        follow(
            [
                Transition(row.id, row.queue, row.type, row.tenant, CODES[State.ACTIVE], row.state,
                           row.attempt)
                for row in ended if row.state == CODES[State.DISCARDED]
            ]
        )  # fmt: skip
    return ended


def _row(
    attempt: queries.Attempt, error: dict[str, Any], worker_id: str | None, *, at_once: bool
) -> dict[str, Any]:
    policy = from_wire(orjson.loads(attempt.retry))
    decision = decide(
        policy, error, attempt.attempt, attempt.max_attempts, random=SYSTEM_RANDOM.random
    )
    is_final = decision.state == State.DISCARDED
    waits = not is_final and not at_once
    state = State.DISCARDED if is_final else State.RETRYABLE if waits else State.AVAILABLE
    return {
        "id": attempt.id,
        "attempt": attempt.attempt,
        "worker_id": worker_id,
        "state": CODES[state],
        "delay_ms": decision.delay_ms if waits else None,
        "dead_letter": decision.dead_letter,
        "error": {**error, "attempt": attempt.attempt},
    }
