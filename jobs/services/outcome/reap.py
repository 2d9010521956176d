"""Take jobs back from leases, executions and workers that are over. Spec: contract 9.3 to 9.6.

Heartbeat, FETCH, ACK, FAIL and progress are signs of a worker's life. Each heartbeat is noted in
`Worker.last_heartbeat_at`. The other requests note the sign only when the last one is older than
`conf().heard_ms` (`sql/functions/heard.sql`): the row of a busy worker is rarely written. An ACK or
FAIL of a lease that is younger than that notes none. The last noted sign may therefore be older
than the last sign by twice `conf().heard_ms`, and a worker is dead that much later.
"""

from typing import Any

from django.db import transaction

from jobs import queries
from jobs.conf import conf
from jobs.domain import retry
from jobs.services.outcome.nack import fail

FORGOTTEN_AFTER_MS = 86_400_000  # Spec: contract 9.1


def reap(batch: int = 1000) -> int:
    """End one batch of attempts that ran out of lease or time; returns how many."""
    return len(fail([(item, _error(item)) for item in queries.overdue(batch)]))


def reap_dead_workers(batch: int = 1000) -> int:
    """Mark silent workers dead, take their jobs, forget those long gone; returns rows changed."""
    silence_ms = conf().worker_silence_ms + 2 * conf().heard_ms
    buried = queries.bury(silence_ms, batch)
    with transaction.atomic():  # the workers stay locked until their jobs are taken
        ended = fail([(item, _error(item)) for item in queries.orphans(silence_ms, batch)])
    return len(buried) + len(ended) + queries.forget(FORGOTTEN_AFTER_MS, batch)


def _error(attempt: queries.Attempt) -> dict[str, Any]:
    match attempt.reason:
        case "timeout":
            return retry.timeout_error(attempt.timeout_ms, attempt.elapsed_ms)
        case "worker_death":
            return retry.worker_death_error(attempt.worker_id or "")
        case _:
            return retry.visibility_error()
