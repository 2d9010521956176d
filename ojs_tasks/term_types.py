"""The types of the terms, for type checkers: one dictionary of keyword arguments each."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from ojs_tasks.times import Moment, Span


class RetryTerms(TypedDict, total=False):
    """A retry policy; members that are left out come from the queue or the server."""

    max_attempts: int  # in all, the first one included
    initial_interval: Span | str
    max_interval: Span | str
    backoff_coefficient: float
    backoff_strategy: Literal["none", "constant", "linear", "exponential", "polynomial"]
    jitter: bool
    non_retryable_errors: Sequence[str]  # class names, `Auth.*` for a prefix
    on_exhaustion: Literal["discard", "dead_letter"]


class UniqueTerms(TypedDict, total=False):
    """A uniqueness policy. An empty one compares type and arguments of live jobs."""

    keys: Sequence[str]
    args_keys: Sequence[str]
    meta_keys: Sequence[str]
    period: Span | str
    states: Sequence[str]
    on_conflict: Literal["reject", "replace", "replace_except_schedule", "ignore"]


class WindowTerms(TypedDict):
    """A number of starts in any period of this length."""

    limit: int
    period: Span | str


class RateLimitTerms(TypedDict, total=False):
    """A limit of the group of jobs with the same key; without a key of the whole queue."""

    key: str
    concurrency: int
    rate: WindowTerms
    throttle: WindowTerms
    limit: int
    period: Span | str
    max_per_second: float
    on_limit: Literal["wait", "reschedule", "drop"]
    scope: Literal["tenant", "global"]


class TaskTerms(TypedDict, total=False):
    """The terms without those that Django's Tasks framework has under its own names."""

    retry: RetryTerms | None
    unique: UniqueTerms | None
    rate_limit: RateLimitTerms | None
    meta: Mapping[str, Any] | None
    tags: Sequence[str] | None
    tenant: str | None  # sets meta.tenant_id
    version: str | int | None
    schema: str | None  # URI of the schema of its arguments
    timeout: Span | None
    visibility_timeout: Span | None
    result_ttl: Span | None  # 0: the result is not kept, -1: kept as long as the job
    expires_at: Moment | None
    pending: bool | None
    attributes: Mapping[str, Any] | None  # custom members of the envelope


class JobTerms(TaskTerms, total=False):
    """The terms of `@job`, for every job of the handler."""

    queue: str | None
    priority: int | Literal["high", "normal", "low"] | None
    delay: Moment | None
    scheduled_at: Moment | None


class Terms(JobTerms, total=False):
    """The terms of `options`, for a single call."""

    id: str | None  # UUIDv7; a second job with this id is refused
