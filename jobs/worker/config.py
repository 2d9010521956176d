"""The configuration of one worker process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The configuration of a worker process."""

    worker_id: str
    queues: tuple[str, ...]
    concurrency: int
    pool: str | None = None
    tenant: str | None = None  # runs only this tenant's jobs; null: all jobs outside of namespaces
    once: bool = False  # end when no job is available
