"""The configuration of one worker process."""

from dataclasses import dataclass

from ojs_tasks.worker import config


@dataclass(frozen=True, slots=True)
class WorkerConfig(config.WorkerConfig):
    """The configuration of a worker process with a database."""

    tenant: str | None = None  # runs only this tenant's jobs; null: all jobs outside of namespaces
