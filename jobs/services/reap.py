"""Take jobs back from leases, executions and workers that are over. Spec: contract 9.3 to 9.6."""

from typing import Any

from jobs import queries
from jobs.conf import conf
from jobs.domain import retry
from jobs.services.nack import fail

FORGOTTEN_AFTER_MS = 86_400_000  # Spec: contract 9.1


def reap(batch: int = 1000) -> int:
    """End one batch of attempts that ran out of lease or time; returns how many."""
    found = queries.overdue(batch)
    late = [item for item in found if item.reason == "timeout"]
    lost = [item for item in found if item.reason != "timeout"]
    ended = fail([(item, _timeout(item), None) for item in late])
    ended += fail([(item, retry.visibility_error(), None) for item in lost], at_once=True)
    return len(ended)


def reap_dead_workers(batch: int = 1000) -> int:
    """Mark silent workers dead, take their jobs, forget those long gone; returns rows changed."""
    buried = queries.bury(conf().worker_silence_ms, batch)
    found = queries.orphans(batch)
    ended = fail(
        [(item, retry.worker_death_error(item.worker_id or ""), None) for item in found],
        at_once=True,
    )
    return len(buried) + len(ended) + queries.forget(FORGOTTEN_AFTER_MS, batch)


def _timeout(attempt: queries.Attempt) -> dict[str, Any]:
    return retry.timeout_error(attempt.timeout_ms, attempt.elapsed_ms)
