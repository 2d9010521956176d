"""End expired leases and executions, and the leases of dead workers. Spec: contract 9.3 to 9.6.

Heartbeat, FETCH, ACK, FAIL and progress are signs of life of a worker. `Worker.last_heartbeat_at`
stores each heartbeat. The other requests store the sign only when the last stored sign is older
than `conf().heard_ms` (`functions/workers/heard.sql`), so the row of a busy worker is rarely
written. An ACK or FAIL of a lease that is younger than that stores none. The last stored sign may
therefore be older than the last sign by twice `conf().heard_ms`. A worker counts as dead that much
later.
"""

from typing import Any

from jobs import queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.outcome import retry
from jobs.services.outcome.nack import fail
from ojs_tasks.job_errors import timeout_error

FORGOTTEN_AFTER_MS = 86_400_000  # Spec: contract 9.1


def reap(batch: int = 1000) -> int:
    """End one batch of attempts that exceeded their lease or time; returns how many."""
    return len(fail([(item, _error(item)) for item in queries.overdue(batch)]))


def overdue_in_ms() -> int | None:
    """Return the milliseconds until the next attempt is overdue, None when no job is active."""
    return queries.next_overdue_ms()


def reap_dead_workers(batch: int = 1000) -> int:
    """Mark silent workers dead, return their jobs, forget old workers; returns rows changed."""
    silence_ms = _silence_ms()
    buried = queries.bury(silence_ms, batch)
    with atomic():  # the workers stay locked until their jobs are returned
        ended = fail([(item, _error(item)) for item in queries.orphans(silence_ms, batch)])
    return len(buried) + len(ended) + queries.forget(FORGOTTEN_AFTER_MS, batch)


def death_in_ms() -> int | None:
    """Return the milliseconds until `reap_dead_workers` may have work, None when it never has.

    A later sign of life only makes them more.
    """
    return queries.next_death_ms(_silence_ms(), FORGOTTEN_AFTER_MS)


def _silence_ms() -> int:
    return conf().worker_silence_ms + 2 * conf().heard_ms


def _error(attempt: queries.Attempt) -> dict[str, Any]:
    match attempt.reason:
        case "timeout":
            return timeout_error(attempt.timeout_ms, attempt.elapsed_ms)
        case "worker_death":
            return retry.worker_death_error(attempt.worker_id or "")
        case _:
            return retry.visibility_error()
