"""Configuration of queues, and limits. Spec: contract 10.4, 24.4, 27.1."""

from typing import Final

from jobs.api.schemas import (
    BOOLEAN,
    LEASE_MS,
    Schema,
    array,
    component,
    integer,
    matching,
    maybe,
    obj,
    optional,
)
from jobs.api.schemas.jobs import RETRY_REQUEST
from jobs.domain.lanes import limits, objective, queues
from jobs.domain.wire import durations, names

PERIOD: Final[Schema] = {
    "description": "A duration (PT30S), a short form (30s) or a unit, longer than nothing",
    "anyOf": [
        matching(durations.PATTERN),
        matching(durations.SHORT),
        {"type": "string", "enum": list(durations.NAMED_MS)},
    ],
}
NUMBER_OF: Final = integer(1, limits.MOST)
WINDOW: Final = obj({"limit": NUMBER_OF, "period": PERIOD})
PER_SECOND: Final = {
    "anyOf": [NUMBER_OF, {"type": "number", "minimum": limits.SLOWEST, "maximum": limits.MOST}]
}
QUEUE_RATE: Final = component(
    "QueueRate",
    {
        "description": "Jobs that may start in a time",
        "anyOf": [WINDOW, obj({"max_per_second": PER_SECOND})],
    },
)
LIMITS: Final = {
    **optional(
        {
            "concurrency": integer(0, limits.MOST),
            "throttle": WINDOW,
            "max_per_second": PER_SECOND,
            "on_limit": {"type": "string", "enum": list(limits.WHEN_REACHED)},
        }
    ),
    "limit": NUMBER_OF,
    "period": PERIOD,
    "rate": maybe(WINDOW),
}
AGE: Final = {"anyOf": [PERIOD, {"enum": [None, 0, "0"]}]}
CHANGE: Final = optional(
    {
        "concurrency": integer(0, limits.MOST),
        "rate_limit": QUEUE_RATE,
        "backpressure": obj(
            {},
            optional(
                {
                    **{name: integer(0, most) for name, most in queues.BOUNDS.items()},
                    "strategy": {"type": "string", "enum": list(queues.STRATEGIES)},
                    "warning_threshold": {
                        "type": "number", "exclusiveMinimum": 0, "maximum": 1,
                    },
                }
            ),
        ),
        "max_size": integer(0, limits.MOST),
        "visibility_timeout_ms": LEASE_MS,
        "default_timeout_ms": LEASE_MS,
        "default_retry": RETRY_REQUEST,
        "retention": {
            "anyOf": [
                PERIOD,
                obj(
                    {},
                    {
                        **dict.fromkeys(queues.RETAINED, AGE),
                        "dead_letter": {
                            "anyOf": [
                                AGE,
                                obj(
                                    {},
                                    {"max_age": AGE, "max_count": maybe(integer(0, limits.MOST))},
                                    additionalProperties=False,
                                ),
                            ]
                        },
                    },
                    additionalProperties=False,
                ),
            ]
        },
        "allowed_job_types": array(
            {"anyOf": [matching(names.TYPE_PATTERN), matching(queues.PREFIX)]},
            minItems=1,
            maxItems=queues.MAX_TYPES,
        ),
        "objective": obj(
            {},
            {
                "start_within_ms": integer(objective.LOW_MS, objective.HIGH_MS),
                "percent": {
                    "type": "number",
                    "minimum": objective.LOW_PERCENT, "maximum": objective.HIGH_PERCENT,
                },
            },
            additionalProperties=False,
        ),
    }
)  # fmt: skip
CONFIG_CHANGE: Final = component(
    "QueueConfigChange",
    {
        "description": "Absent members stay. null resets a member.",
        **obj({}, CHANGE),
    },
)
STRICT_CHANGE: Final = component(
    "QueueConfigChangeStrict",
    {
        "description": "Absent members stay. null resets a member. Unknown members are refused.",
        **obj({}, {**CHANGE, "paused": maybe(BOOLEAN)}, additionalProperties=False),
    },
)
