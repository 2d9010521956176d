"""A job as FETCH shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from ojs_tasks.remote.wire import dumps, moment

DEFAULT_TIMEOUT_MS: Final = 1_800_000  # of a server that shows none
MAX_TIMEOUT_MS: Final = 10 * 365 * 86_400_000
# members with an attribute of their own, and those that only the server reads
LEFT_OUT: Final = frozenset(
    {"id", "type", "queue", "attempt", "max_attempts", "timeout_ms", "args", "meta", "state"}
)


@dataclass(frozen=True, slots=True)
class FetchedJob:
    """A claimed job; the members of `ojs_tasks.context.ClaimedJob`."""

    id: str
    type: str
    queue: str
    attempt: int
    max_attempts: int
    timeout_ms: int
    args: bytes
    meta: bytes
    attributes: bytes
    version: str | None
    priority: int
    errors: bytes
    created_at: datetime
    scheduled_at: datetime | None
    started_at: datetime | None

    @classmethod
    def of(cls, envelope: Any) -> Self:
        """Read an envelope. Raises ValueError for an answer that shows no job."""
        if not isinstance(envelope, Mapping):
            raise ValueError("the server's answer shows no job")  # noqa: TRY004 - a wrong answer
        try:
            version = envelope.get("version")
            return cls(
                id=str(envelope["id"]),
                type=str(envelope["type"]),
                queue=str(envelope.get("queue", "default")),
                attempt=int(envelope.get("attempt") or 1),
                max_attempts=int(envelope.get("max_attempts") or 1),
                timeout_ms=_timeout_ms(envelope.get("timeout_ms")),
                args=dumps(envelope.get("args") or []),
                meta=dumps(envelope.get("meta") or {}),
                attributes=dumps({n: v for n, v in envelope.items() if n not in LEFT_OUT}),
                priority=int(envelope.get("priority") or 0),
                errors=dumps(envelope.get("errors") or []),
                created_at=moment(envelope.get("created_at")) or datetime.now(UTC),
                scheduled_at=moment(envelope.get("scheduled_at")),
                started_at=moment(envelope.get("started_at")),
                version=None if version is None else dumps(version).decode(),
            )
        except (KeyError, TypeError) as problem:
            raise ValueError(f"the server's answer shows no job: {problem!r}") from None


def _timeout_ms(raw: Any) -> int:
    return min(int(raw), MAX_TIMEOUT_MS) if raw else DEFAULT_TIMEOUT_MS
