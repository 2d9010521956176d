"""Metrics of checkpoints, with the names of contract 34.1."""

from prometheus_client import Counter, Histogram

from jobs.metrics import capped

_saved = Counter("ojs_checkpoint_saved_total", "Checkpoints saved", ["queue", "type"])
_bytes = Histogram(
    "ojs_checkpoint_bytes",
    "Size of a saved checkpoint",
    buckets=(64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576),
)
_resumed = Counter("ojs_checkpoint_resumed_total", "Attempts that began with a checkpoint")


def observe_saved(queue: str, job_type: str, size: int) -> None:
    """Count a save of so many bytes."""
    _saved.labels(capped("queue", queue), capped("type", job_type)).inc()
    _bytes.observe(size)


def observe_resumed() -> None:
    """Count a claimed job with a checkpoint."""
    _resumed.inc()
