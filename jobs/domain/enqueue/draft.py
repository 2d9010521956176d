"""A job that is valid and not stored yet, and the envelope members that it fixes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from jobs.domain.enqueue.unique import UniquePolicy
from jobs.domain.lanes.limits import RateLimit
from jobs.domain.outcome.retry import DEFAULT_POLICY, RetryPolicy

DEFAULT_TIMEOUT_MS: Final = 1_800_000


@dataclass(slots=True)
class JobDraft:
    """A valid job that is not stored yet; times in UTC, relative times in milliseconds from PUSH.

    Not frozen for the same reason as `Job`.
    """

    id: str
    type: str
    queue: str
    args: list[Any]
    meta: dict[str, Any]
    id_given: bool = False  # the producer chose the id
    priority: int = 0
    tags: list[str] = field(default_factory=list)
    retry: RetryPolicy = DEFAULT_POLICY
    retry_given: tuple[Any, Any] = (None, None)  # `retry` and `max_attempts` as sent
    timeout_ms: int | None = None
    timeout_in_seconds: bool = False  # sent as `timeout`, so returned as `timeout` (D5)
    visibility_ms: int | None = None
    visibility_in_seconds: bool = False
    scheduled_at: datetime | None = None
    scheduled_in_ms: int | None = None
    expires_at: datetime | None = None
    expires_in_ms: int | None = None
    pending: bool = False
    unique: UniquePolicy | None = None
    schema: str | None = None
    result_ttl: int | None = None  # seconds from the end; see KEEP_RESULT in envelope.py
    rate_limit: RateLimit | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # unknown members, kept for the client
    tenant: str = "_default"
    version: str | int | None = None  # as sent; see ojs_tasks/versions.py
    type_given: str | None = None  # the type with the version behind it, if it was sent so
    route: int = 0  # version key of the lane; 0: any worker of the type
    watched: bool = False  # an extension follows its end
    warnings: Sequence[str] = ()  # warnings of extensions for the producer

    def like(
        self, job_id: str, args: list[Any], meta: dict[str, Any], *, id_given: bool
    ) -> "JobDraft":
        """Return a draft with the same members, but an id, arguments and meta of its own."""
        return JobDraft(
            job_id, self.type, self.queue, args, meta, id_given, self.priority, [*self.tags],
            self.retry, self.retry_given, self.timeout_ms, self.timeout_in_seconds,
            self.visibility_ms, self.visibility_in_seconds, self.scheduled_at,
            self.scheduled_in_ms, self.expires_at, self.expires_in_ms, self.pending, self.unique,
            self.schema, self.result_ttl, self.rate_limit, {}, self.tenant, self.version,
            self.type_given, self.route, self.watched, self.warnings,
        )  # fmt: skip


def attributes(draft: JobDraft) -> dict[str, Any]:
    """Return the envelope members that are fixed at PUSH and share one column."""
    shown: dict[str, Any] = {
        **draft.extra,
        "tags": draft.tags,
        "retry": draft.retry.to_wire(),
        "timeout_ms": draft.timeout_ms or DEFAULT_TIMEOUT_MS,
    }
    if draft.timeout_in_seconds:
        shown["timeout"] = shown["timeout_ms"] // 1000
    if draft.visibility_ms is not None:
        shown["visibility_timeout_ms"] = draft.visibility_ms
    if draft.visibility_in_seconds and draft.visibility_ms is not None:
        shown["visibility_timeout"] = draft.visibility_ms // 1000
    if draft.unique is not None:
        shown["unique"] = draft.unique.to_wire()
    if draft.schema is not None:
        shown["schema"] = draft.schema
    if draft.result_ttl is not None:
        shown["result_ttl"] = draft.result_ttl
    if draft.rate_limit is not None:
        shown["rate_limit"] = draft.rate_limit.to_wire()
    return shown
