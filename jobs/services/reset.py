"""Forget everything, for conformance runs. Spec: contract 3.2, `/admin/reset`."""

from jobs import queries
from jobs.services import lanes
from jobs.services.fetch import low_water


def reset() -> None:
    """Delete all jobs, queues, workers, events and counts; API keys stay."""
    queries.reset()
    lanes.forget()
    low_water.forget()
