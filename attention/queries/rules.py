"""One function for each statement in `sql/rules/`.

Each returns the subjects for which a rule's condition holds. The parameters are the thresholds of
the rule and the values that all rules share: see services/look.py.
"""

from attention.domain.rule import Hit, Params
from attention.queries.base import hits
from attention.queries.base import rows as _rows


def error_rate(params: Params) -> list[Hit]:
    """Find types whose attempts fail more often than in the past of the type."""
    return hits(_rows("error_rate", params))


def dead_letters(params: Params) -> list[Hit]:
    """Find types with more discarded jobs than in the past of the type."""
    return hits(_rows("dead_letters", params))


def job_slow(params: Params) -> list[Hit]:
    """Find types with jobs that run far beyond their usual time."""
    return hits(_rows("job_slow", params))


def canary_worse(params: Params) -> list[Hit]:
    """Find types whose newest version fails more often than the version below it."""
    return hits(_rows("canary_worse", params))


def version_held(params: Params) -> list[Hit]:
    """Find versions whose jobs no live worker accepts."""
    return hits(_rows("version_held", params))


def queue_late(params: Params) -> list[Hit]:
    """Find queues whose jobs wait longer than the objective."""
    return hits(_rows("queue_late", params))


def queue_objective(params: Params) -> list[Hit]:
    """Find queues that use up their error budget too fast."""
    return hits(_rows("queue_objective", params))


def queue_grows(params: Params) -> list[Hit]:
    """Find queues whose available jobs multiply."""
    return hits(_rows("queue_grows", params))


def queue_full(params: Params) -> list[Hit]:
    """Find bounded queues that are almost full."""
    return hits(_rows("queue_full", params))


def queue_paused(params: Params) -> list[Hit]:
    """Find paused queues with available jobs."""
    return hits(_rows("queue_paused", params))


def queue_without_worker(params: Params) -> list[Hit]:
    """Find queues with available jobs that no live worker takes."""
    return hits(_rows("queue_without_worker", params))


def queue_starved(params: Params) -> list[Hit]:
    """Find starving queues."""
    return hits(_rows("queue_starved", params))


def pool_full(params: Params) -> list[Hit]:
    """Find pools at their limit while jobs wait."""
    return hits(_rows("pool_full", params))


def retention_late(params: Params) -> list[Hit]:
    """Find queues with ended jobs that retention should have removed."""
    return hits(_rows("retention_late", params))


def worker_stuck(params: Params) -> list[Hit]:
    """Find live workers of which no job ends."""
    return hits(_rows("worker_stuck", params))


def workers_gone(params: Params) -> list[Hit]:
    """Compare the live workers with their usual number."""
    return hits(_rows("workers_gone", params))


def worker_skewed(params: Params) -> list[Hit]:
    """Find workers whose clock is ahead."""
    return hits(_rows("worker_skewed", params))


def cron_failing(params: Params) -> list[Hit]:
    """Find schedules whose latest runs have all failed."""
    return hits(_rows("cron_failing", params))


def cron_missed(params: Params) -> list[Hit]:
    """Find schedules that should have fired and did not."""
    return hits(_rows("cron_missed", params))


def workflow_waits(params: Params) -> list[Hit]:
    """Find running workflows of which no step begins or ends."""
    return hits(_rows("workflow_waits", params))


def tenant_suspended(params: Params) -> list[Hit]:
    """Find suspended tenants with waiting jobs."""
    return hits(_rows("tenant_suspended", params))


def tenant_noisy(params: Params) -> list[Hit]:
    """Find noisy tenants."""
    return hits(_rows("tenant_noisy", params))


def tenant_throttled(params: Params) -> list[Hit]:
    """Find throttled tenants."""
    return hits(_rows("tenant_throttled", params))


def region_open(params: Params) -> list[Hit]:
    """Find regions whose circuit breaker is not closed."""
    return hits(_rows("region_open", params))


def region_down(params: Params) -> list[Hit]:
    """Find unhealthy regions."""
    return hits(_rows("region_down", params))


def region_skewed(params: Params) -> list[Hit]:
    """Find regions whose clock differs."""
    return hits(_rows("region_skewed", params))


def replication_late(params: Params) -> list[Hit]:
    """Find regions that lack changes of this region."""
    return hits(_rows("replication_late", params))


def webhook_off(params: Params) -> list[Hit]:
    """Find subscriptions that the server switched off."""
    return hits(_rows("webhook_off", params))


def loop_stuck(params: Params) -> list[Hit]:
    """Find loops that have not run lately."""
    return hits(_rows("loop_stuck", params))


def maintenance(params: Params) -> list[Hit]:
    """Find the maintenance in force."""
    return hits(_rows("maintenance", params))


def database_slow(params: Params) -> list[Hit]:
    """Report a slow database."""
    return hits(_rows("database_slow", params))


def counts_late(params: Params) -> list[Hit]:
    """Report events that wait too long for their aggregation."""
    return hits(_rows("counts_late", params))


def counts_drifted(params: Params) -> list[Hit]:
    """Find counts that were wrong."""
    return hits(_rows("counts_drifted", params))
