"""Envelope, retry policy and job errors. Spec: contract 1, 5."""

from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    DURATION,
    ID,
    LEASE_MS,
    META,
    OBJECT,
    QUEUE,
    SPAN,
    STATE,
    TIME,
    TYPE,
    WHEN,
    WORKER_ID,
    Schema,
    array,
    component,
    integer,
    matching,
    obj,
    optional,
    text,
)
from jobs.domain import envelope
from jobs.domain.enqueue import unique
from jobs.domain.outcome import retry
from jobs.domain.wire import durations, names, priorities
from jobs.domain.wire.bounds import MAX_INT, MAX_INTERVAL_MS, MAX_MS, MAX_TAG, MAX_TAGS
from ojs_tasks import versions

_NUMBERS = {
    "max_attempts": integer(0, MAX_INT),
    "backoff_coefficient": {"type": "number", "minimum": 1, "maximum": MAX_INT},
    "jitter": BOOLEAN,
    "non_retryable_errors": array(text(1)),
    "on_exhaustion": {"type": "string", "enum": ["discard", "dead_letter"]},
    "backoff_strategy": {"type": "string", "enum": list(retry.STRATEGIES)},
}
RETRY = component(
    "RetryPolicy", obj({**_NUMBERS, "initial_interval": DURATION, "max_interval": DURATION})
)
RETRY_REQUEST = component(
    "RetryPolicyRequest",
    {
        "description": "Merged over the defaults. Intervals are above zero. max_interval is at "
        "least initial_interval. Violations answer 422.",
        **obj(
            {},
            optional(
                _NUMBERS
                | {
                    "initial_interval": DURATION,
                    "max_interval": DURATION,
                    "initial_interval_ms": integer(0, MAX_INTERVAL_MS),
                    "max_interval_ms": integer(0, MAX_INTERVAL_MS),
                    "backoff": _NUMBERS["backoff_strategy"],
                }
            ),
        ),
    },
)

_NAMES = array(text(), minItems=1, maxItems=unique.MAX_NAMES)
_DIMENSIONS = array({"type": "string", "enum": list(unique.DIMENSIONS)}, minItems=1)
_ON_CONFLICT = {"type": "string", "enum": [choice.value for choice in unique.OnConflict]}
UNIQUE = component(
    "UniquePolicy",
    obj(
        {"keys": _DIMENSIONS, "states": array(STATE, minItems=1), "on_conflict": _ON_CONFLICT},
        {"args_keys": _NAMES, "meta_keys": _NAMES, "period": DURATION},
    ),
)
UNIQUE_REQUEST = component(
    "UniquePolicyRequest",
    {
        "description": "Without `keys` (aliases: `dimensions`, `key`) type and args count.",
        **obj(
            {},
            optional(
                {
                    "keys": _DIMENSIONS,
                    "dimensions": _DIMENSIONS,
                    "key": {"anyOf": [text(), _NAMES]},
                    "args_keys": _NAMES,
                    "meta_keys": _NAMES,
                    "period": SPAN,
                    "within": SPAN,
                    "period_ms": integer(1, durations.LONGEST_MS),
                    "states": array(STATE, minItems=1),
                    "on_conflict": _ON_CONFLICT,
                }
            ),
        ),
    },
)

PRIORITY: Schema = {
    "anyOf": [
        integer(-priorities.MAX_PRIORITY, priorities.MAX_PRIORITY),
        {
            "type": "string",
            "enum": [*priorities.NAMES, *map(str.upper, priorities.NAMES)],
        },
    ]
}
_RESULT_TTL = {
    **integer(envelope.KEEP_RESULT, MAX_MS // 1000),
    "description": "Seconds that the result is kept; 0: not stored; -1: as long as the job",
}
_OPTIONS = {
    "queue": QUEUE,
    "priority": PRIORITY,
    "timeout_ms": integer(0, MAX_MS),
    "visibility_timeout_ms": LEASE_MS,
    "scheduled_at": WHEN,
    "expires_at": {**WHEN, "description": "Later than `scheduled_at`; " + WHEN["description"]},
    "retry": RETRY_REQUEST,
    "tags": array(text(1, MAX_TAG), maxItems=MAX_TAGS),
    "pending": BOOLEAN,
    "unique": UNIQUE_REQUEST,
    "result_ttl": _RESULT_TTL,
}
VERSION: Schema = {
    "description": "major.minor, such as `2.0`; a third part does not count. Of several, the one "
    "at the top level wins, then that of `options`, then the one behind the type.",
    "anyOf": [
        integer(0, 10**versions.DIGITS - 1),
        matching(versions.PATTERN),
    ],
}
JOB_REQUEST_MEMBERS = {
    "type": matching(names.VERSIONED_TYPE_PATTERN),
    "args": array(ANY),
    **optional(
        _OPTIONS
        | {
            "specversion": matching(envelope.VERSION_PATTERN),
            "id": ID,
            "meta": META,
            "timeout": integer(0, MAX_MS // 1000),
            "visibility_timeout": integer(1, MAX_MS // 1000),
            "schema": matching(names.URI_PATTERN),
            "version": VERSION,
            "options": obj(
                {},
                optional(
                    _OPTIONS
                    | {
                        "delay_until": {**WHEN, "description": "Same as `scheduled_at`"},
                        "metadata": {**META, "description": "Merged into `meta`"},
                        "max_attempts": _NUMBERS["max_attempts"],
                        "version": VERSION,
                    }
                ),
            ),
        }
    ),
}
JOB_REQUEST = component(
    "JobRequest",
    {
        "description": "A member of `options` overrides the same member at the top level. Other "
        "top-level members are kept with the job and returned.",
        **obj({}, JOB_REQUEST_MEMBERS, required=["type", "args"]),
    },
)

JOB_ERROR = component(
    "JobError",
    obj(
        {"type": text(), "code": text(), "message": text(), "retryable": BOOLEAN},
        {
            "attempt": integer(0),
            "occurred_at": TIME,
            "details": OBJECT,
            "backtrace": array(text()),
        },
        additionalProperties=True,
    ),
)
CHECKPOINT = obj(
    {"sequence": integer(1), "created_at": TIME}, {"bytes": integer(1), "state": ANY}
)  # FETCH shows the state, other answers its size
JOB_MEMBERS = obj(
    {
        "specversion": {"const": envelope.SPECVERSION},
        "id": ID,
        "type": TYPE,
        "queue": QUEUE,
        "args": array(ANY),
        "meta": OBJECT,
        "priority": integer(-priorities.MAX_PRIORITY, priorities.MAX_PRIORITY),
        "tags": array(text(1)),
        "retry": RETRY,
        "timeout_ms": integer(1),
        "state": STATE,
        "attempt": integer(0),
        "max_attempts": integer(0),
        "created_at": TIME,
    },
    {
        "timeout": integer(0),
        "visibility_timeout_ms": LEASE_MS,
        "visibility_timeout": integer(1),
        "enqueued_at": TIME,
        "started_at": TIME,
        "scheduled_at": TIME,
        "expires_at": TIME,
        "activated_at": TIME,
        "next_attempt_at": TIME,
        "completed_at": TIME,
        "cancelled_at": TIME,
        "discarded_at": TIME,
        "retry_delay_ms": integer(0),
        "error": JOB_ERROR,
        "errors": array(JOB_ERROR),
        "result": ANY,
        "last_checkpoint": ANY,
        "checkpoint": CHECKPOINT,
        "progress": {"type": ["number", "null"]},
        "progress_data": ANY,
        "progress_message": {"type": ["string", "null"]},
        "worker_id": WORKER_ID,
        "dead_letter": BOOLEAN,
        "previous_state": STATE,
        "schema": text(1),
        "version": VERSION,
        "unique": UNIQUE,
        "deduplicated": BOOLEAN,
        "warnings": array(text()),
        "result_ttl": _RESULT_TTL,
    },
    additionalProperties=True,
)
JOB = component("Job", JOB_MEMBERS)
JOB_ANSWER = component(
    "JobAnswer",
    {
        "description": "The job, and its members once more beside it",
        **JOB_MEMBERS,
        "properties": {**JOB_MEMBERS["properties"], "job": JOB},
        "required": [*JOB_MEMBERS["required"], "job"],
    },
)
