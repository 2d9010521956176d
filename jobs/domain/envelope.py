"""The job envelope as a producer sends it. Spec: contract 1.

`parse_job` checks everything that needs no database and collects all problems of one job.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from jobs.domain.access.keys import allowed
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.server_limits import DEFAULT_LIMITS, Limits, check_meta
from jobs.domain.enqueue.unique import read_policy
from jobs.domain.errors import (
    InvalidRequest,
    MetadataTooLarge,
    PayloadTooLarge,
    Problem,
    Unprocessable,
)
from jobs.domain.lanes.limits import parse_rate_limit
from jobs.domain.outcome.retry import parse_policy
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import (
    MAX_MS,
    MAX_QUEUE,
    MAX_TAG,
    MAX_TAGS,
    MAX_TYPE,
    MIN_LEASE_MS,
)
from jobs.domain.wire.durations import parse_duration
from jobs.domain.wire.ids import is_id, new_id
from jobs.domain.wire.names import QUEUE_PATTERN, TYPE_PATTERN, URI_PATTERN
from jobs.domain.wire.priorities import parse_priority
from jobs.domain.wire.times import read_time
from ojs_tasks import versions

VERSION_PATTERN: Final = re.compile(r"1(\.0(\.\d+(-[0-9A-Za-z.-]+)?)?)?", re.ASCII)
KEEP_RESULT, NO_RESULT = -1, 0  # values of `result_ttl` besides seconds. Spec: contract 10.6
SPECVERSION: Final = "1.0"

# Set by the server alone; a client's value is dropped. Spec: contract 1.2
MANAGED: Final = frozenset(
    {
        "state", "attempt", "max_attempts", "created_at", "enqueued_at", "started_at",
        "completed_at", "cancelled_at", "discarded_at", "activated_at", "next_attempt_at",
        "retry_delay_ms", "error", "errors", "result", "worker_id", "workflow_id",
        "workflow_step", "parent_results", "dead_letter", "previous_state", "last_checkpoint",
        "progress", "progress_data", "progress_message", "checkpoint",
    }
)  # fmt: skip
MEMBERS: Final = frozenset(
    {
        "specversion", "id", "type", "queue", "args", "meta", "priority", "timeout", "timeout_ms",
        "scheduled_at", "delay_until", "expires_at", "retry", "unique", "schema", "tags",
        "visibility_timeout", "visibility_timeout_ms", "pending", "rate_limit", "options",
        "result_ttl", "version",
    }
)  # fmt: skip

# The members of most jobs; for such a job no other member is looked up
PLAIN: Final = frozenset(
    {"specversion", "id", "type", "version", "queue", "args", "meta", "priority"}
)

# Read by extensions, so accepted by the strictest server. Spec: contract 22
EXTENDED: Final = frozenset({"version"})


def parse_job(raw: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> JobDraft:
    """Check one PUSH request and return its draft. Spec: contract 1.1, 1.7.

    Raises InvalidRequest with all problems of shape, InvalidRetryPolicy, the 413s, Unsupported.
    Raises Unprocessable for a type or an attribute that the settings of this server exclude.
    """
    reader = _Reader(raw)
    check_sizes(raw, limits)
    job = reader.draft()
    if reader.problems:
        raise InvalidRequest.of_problems(reader.problems)
    retry, max_attempts = reader.get("retry"), reader.options.get("max_attempts")
    job.retry_given = retry, max_attempts
    job.retry = parse_policy(retry, limits.retry, max_attempts=max_attempts)
    _check_settings(job, limits)
    if reader.get("rate_limit") is not None:
        job.rate_limit = parse_rate_limit(reader.get("rate_limit"))
    return job


def check_sizes(raw: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a job or a meta that is too large. Spec: contract 1.6."""
    size = len(jsonio.dumps(raw))
    if size > limits.max_envelope_bytes:
        raise PayloadTooLarge.of("job", limits.max_envelope_bytes, size)
    if size > limits.max_meta_bytes:
        size = len(jsonio.dumps(_Reader(raw).meta()))
        if size > limits.max_meta_bytes:
            raise MetadataTooLarge.of("meta", limits.max_meta_bytes, size)


def _check_settings(job: JobDraft, limits: Limits) -> None:
    """Refuse valid members that the settings of this server exclude. Spec: contract 31.3."""
    if limits.types and not allowed(job.type, limits.types):
        raise Unprocessable.field(
            "type", "is not accepted by this server: use an allowed job type", job.type
        )
    if not limits.takes_unknown and (unknown := sorted(job.extra.keys() - EXTENDED)):
        raise Unprocessable.of_problems(
            Problem(name, "is not an attribute of a job", job.extra[name]) for name in unknown
        )
    check_meta(job.meta, limits)


class _Reader:
    """Reads one request, `options` before top level (D7), and collects its problems."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.problems: list[Problem] = []
        self.raw: Mapping[str, Any] = raw
        self.options: Mapping[str, Any] = {}
        merged = raw
        options = raw.get("options")
        if isinstance(options, Mapping):
            self.options = options
            merged = {
                **raw,
                **{name: value for name, value in options.items() if value is not None},
            }
        elif options is not None:
            self.refuse("options", "must be an object", options)
        self.get: Callable[[str], Any] = merged.get  # called for each member
        self.is_plain = PLAIN.issuperset(merged)

    def refuse(self, name: str, problem: str, received: object = None) -> None:
        self.problems.append(Problem(name, problem, received))

    def draft(self) -> JobDraft:
        """Read all but the policies, whose problems are errors of their own."""
        self.specversion()
        job_id = self.id()
        job_type, behind = self.type()
        job = JobDraft(
            id=job_id,
            id_given=self.raw.get("id") is not None,
            type=job_type,
            type_given=None if behind is None else self.raw["type"],
            version=self.version(behind),
            queue=self.queue(),
            args=self.args(),
            meta=self.meta(),
            priority=self.priority(),
        )
        if not self.is_plain:
            self.read_times(job)
            self.read_rest(job)
        return job

    def read_times(self, job: JobDraft) -> None:
        timeout_ms, in_seconds = self.duration("timeout", low_ms=0)
        job.timeout_ms, job.timeout_in_seconds = timeout_ms or None, in_seconds and bool(timeout_ms)
        job.visibility_ms, job.visibility_in_seconds = self.duration(
            "visibility_timeout", low_ms=MIN_LEASE_MS
        )
        job.scheduled_at, job.scheduled_in_ms = self.schedule()
        job.expires_at, job.expires_in_ms = self.time("expires_at")
        # two times of one kind need a clock to compare: services/enqueue/resolve_times.py
        if _is_later(job.scheduled_at, job.expires_at) or _is_later(
            job.scheduled_in_ms, job.expires_in_ms
        ):
            self.refuse("expires_at", "must be later than scheduled_at", self.get("expires_at"))

    def read_rest(self, job: JobDraft) -> None:
        job.tags = self.tags()
        job.pending = self.pending()
        job.unique = read_policy(self.get("unique"), self.refuse)
        job.schema = self.schema()
        job.result_ttl = self.whole(
            "result_ttl", self.get("result_ttl"), KEEP_RESULT, MAX_MS // 1000
        )
        job.extra = self.extra()

    def specversion(self) -> None:
        value = self.raw.get("specversion")
        if value is not None and not (isinstance(value, str) and VERSION_PATTERN.fullmatch(value)):
            self.refuse("specversion", f"must be {SPECVERSION}", value)

    def id(self) -> str:
        value = self.raw.get("id")
        if value is None:
            return new_id()
        if not is_id(value):
            self.refuse("id", "must be a UUIDv7 in lower case", value)
        return str(value)

    def type(self) -> tuple[str, str | None]:
        """Read the type and the version behind it, if there is one."""
        value = self.raw.get("type")
        if isinstance(value, str):
            base, behind = versions.split_type(value)
            if len(base) <= MAX_TYPE and TYPE_PATTERN.fullmatch(base):
                return base, behind
        if value is None:
            self.refuse("type", "is required")
        else:
            self.refuse("type", "must be dot-separated lower-case words", value)
        return "", None

    def version(self, behind: str | None) -> str | int | None:
        """Read the version, which may stand behind the type. Spec: job-versioning 5.3."""
        chosen = None
        for name, given in (
            ("type", behind),
            ("options.version", self.options.get("version")),
            ("version", self.raw.get("version")),
        ):
            if given is not None and self.is_version(name, given):
                chosen = given  # text or an integer, as sent
        return chosen

    def is_version(self, name: str, value: object) -> bool:
        try:
            versions.parse_version(value)
        except ValueError as problem:
            said = f"has a version behind '@' that {problem}" if name == "type" else str(problem)
            self.refuse(name, said, value)
            return False
        return True

    def queue(self) -> str:
        value = self.get("queue")
        if value is None:
            return "default"
        if not isinstance(value, str) or not QUEUE_PATTERN.fullmatch(value):
            self.refuse(
                "queue",
                f"must be 1 to {MAX_QUEUE} of a-z, 0-9, '.' and '-', not '.' or '-' first",
                value,
            )
        return str(value)

    def args(self) -> list[Any]:
        value = self.raw.get("args")
        if not isinstance(value, list):
            self.refuse("args", "is required and must be an array", value)
            return []
        return value

    def meta(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for name, value in (
            ("metadata", self.options.get("metadata")), ("meta", self.raw.get("meta")),
        ):  # fmt: skip
            if value is None:
                continue
            if not isinstance(value, dict):
                self.refuse(name, "must be an object", value)
            else:
                merged |= value
        return merged

    def priority(self) -> int:
        value = self.get("priority")
        if value is None:
            return 0
        try:
            return parse_priority(value)
        except ValueError as problem:
            self.refuse("priority", str(problem), value)
            return 0

    def tags(self) -> list[str]:
        value = self.get("tags")
        if value is None:
            return []
        if (
            not isinstance(value, list)
            or not all(isinstance(tag, str) and 1 <= len(tag) <= MAX_TAG for tag in value)
            or len(value := list(dict.fromkeys(value))) > MAX_TAGS
        ):
            self.refuse("tags", f"must be at most {MAX_TAGS} texts of 1 to {MAX_TAG} characters")
            return []
        return value

    def pending(self) -> bool:
        value = self.get("pending")
        if value is not None and not isinstance(value, bool):
            self.refuse("pending", "must be a boolean", value)
        return value is True

    def schema(self) -> str | None:
        value = self.raw.get("schema")
        if value is None:
            return None
        if not isinstance(value, str) or not URI_PATTERN.fullmatch(value):
            self.refuse("schema", "must be an absolute URI", value)
        return str(value)

    def extra(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.raw.items()
            if name not in MEMBERS and name not in MANAGED
        }

    def duration(self, name: str, *, low_ms: int) -> tuple[int | None, bool]:
        """Read `<name>_ms`, else `<name>` in seconds; returns (ms, whether it was seconds)."""
        milliseconds, seconds = self.get(f"{name}_ms"), self.raw.get(name)
        found = self.whole(f"{name}_ms", milliseconds, low_ms, MAX_MS)
        in_seconds = self.whole(name, seconds, low_ms // 1000, MAX_MS // 1000)
        if found is not None or in_seconds is None:
            return found, False
        return in_seconds * 1000, milliseconds is None

    def whole(self, name: str, value: object, low: int, high: int) -> int | None:
        if value is None:
            return None
        number = _whole(value)
        if number is None or not low <= number <= high:
            self.refuse(name, f"must be an integer from {low} to {high}", value)
            return None
        return number

    def schedule(self) -> tuple[datetime | None, int | None]:
        at = self.time("scheduled_at")
        other = self.time("delay_until")
        if self.get("scheduled_at") is None:
            return other
        if self.get("delay_until") is not None and other != at:
            self.refuse("delay_until", "differs from scheduled_at", self.get("delay_until"))
        return at

    def time(self, name: str) -> tuple[datetime | None, int | None]:
        """Read an absolute time, or `+` and a duration; returns one of (time, ms)."""
        value = self.get(name)
        if value is None:
            return None, None
        try:
            if isinstance(value, str) and value.startswith("+"):
                return None, parse_duration(value[1:])
            return read_time(value), None
        except ValueError as problem:
            self.refuse(name, str(problem), value)
            return None, None


def _is_later(first: Any, second: Any) -> bool:
    return first is not None and second is not None and bool(first >= second)


def _whole(value: object) -> int | None:
    """Return an integer as JSON defines it: 10.0 is an integer, true is not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
