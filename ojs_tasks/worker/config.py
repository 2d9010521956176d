"""The configuration of one worker process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The configuration of a worker process."""

    worker_id: str
    queues: tuple[str, ...]
    concurrency: int
    pool: str | None = None
    once: bool = False  # end when no job is available
    grace_s: float = 30.0  # how long running handlers may go on at the end
