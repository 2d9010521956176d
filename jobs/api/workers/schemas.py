"""Requests and answers of workers. Spec: contract 3.4, 9."""

from http import HTTPStatus
from typing import Any

from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    LEASE_MS,
    OBJECT,
    PROBLEM,
    QUEUE,
    STATE,
    TIME,
    TYPE,
    WORKER_ID,
    Schema,
    array,
    component,
    integer,
    matching,
    maybe,
    obj,
    optional,
    text,
)
from jobs.api.schemas.jobs import JOB
from jobs.api.workers import worker_codec
from jobs.domain.dispatch.claim import MAX_WEIGHT, POOL_PATTERN, STRATEGIES
from jobs.domain.wire.bounds import (
    MAX_BATCH,
    MAX_COUNT,
    MAX_HANDLERS,
    MAX_INT,
    MAX_INTERVAL_MS,
    MAX_QUEUES,
    MAX_WAIT_MS,
    MAX_WHOLE,
    MAX_WORKER_ID,
)
from jobs.services.workers.heartbeat import Standing
from ojs_tasks import ranges

DIRECTIVE: Schema = {"type": "string", "enum": [standing.name.lower() for standing in Standing]}
POOL = matching(POOL_PATTERN)
HANDLER = obj(
    {"type": TYPE},
    {
        "versions": maybe(
            {
                **matching(ranges.GRAMMAR, maxLength=ranges.MAX_RANGE),
                "description": "Versions of the type: `*`, `2.0`, `>=1.0 <3.0`; else any",
            }
        ),
        "accept_unversioned": maybe(
            {**BOOLEAN, "description": "false: no jobs of the type that have no version"}
        ),
    },
    additionalProperties=False,
)
HANDLERS = {
    "handlers": {
        **array({"anyOf": [HANDLER, TYPE]}, maxItems=MAX_HANDLERS),
        "description": "The job types and versions that the worker accepts. Absent: the last "
        "declaration stays. An empty list withdraws it.",
    },
    "handlers_exclusive": {
        **BOOLEAN,
        "description": "Jobs of types that are not in `handlers` go elsewhere, too",
    },
}
ROTATION: Schema = {
    "strategy": {"type": "string", "enum": list(STRATEGIES)},
    "weights": {
        "type": "object",
        "description": "Weights of queues for the strategy weighted. A pool overrides the FETCH, "
        "and the FETCH overrides the worker's last report",
        "propertyNames": QUEUE,
        "additionalProperties": integer(1, MAX_WEIGHT),
    },
}
FETCH = obj(
    {},
    optional(
        {
            "queues": {
                **array(QUEUE, minItems=1, maxItems=MAX_QUEUES),
                "description": "Needed where no pool names any",
            },
            "count": {
                **integer(1, MAX_WHOLE),
                "description": f"At most {MAX_COUNT} are handed out",
            },
            "worker_id": WORKER_ID,
            "visibility_timeout_ms": LEASE_MS,
            "wait_ms": {
                **integer(0, MAX_WAIT_MS),
                "description": "Hold the request until a job arrives or the time is over. A client "
                "that closes its connection meanwhile gets no job.",
            },
            "pool": POOL,
            **HANDLERS,
            **ROTATION,
        }
    ),
)
FETCHED = obj({"jobs": array(JOB)}, {"directive": DIRECTIVE})
HELD: Schema = {"job_id": text(1)}
OF_ACK: Schema = {"result": ANY, "worker_id": maybe(WORKER_ID)}
ACK = component("Ack", obj(HELD, OF_ACK))
# of the job that the path names
OWN_ACK = obj({}, {**optional(HELD), **OF_ACK})
ACKED = obj(
    {
        "acknowledged": BOOLEAN,
        "id": ID,
        "job_id": ID,
        "state": STATE,
        "attempt": integer(0),
        "completed_at": TIME,
    }
)
REPORTED_ERROR = {
    "description": "Has a code or a type; long texts are cut",
    **obj(
        {},
        optional(
            {
                "code": text(),
                "type": text(),
                "message": text(),
                "retryable": BOOLEAN,
                "retry_after_ms": {
                    **integer(0, MAX_INTERVAL_MS),
                    "description": "The wait until the next attempt, instead of the policy's",
                },
                "details": OBJECT,
                "backtrace": {"anyOf": [text(), array(text())]},
            }
        ),
        anyOf=[{"required": [name], "properties": {name: text(1)}} for name in ("code", "type")],
    ),
}
OF_NACK: Schema = {"error": ANY, "requeue": BOOLEAN, "worker_id": maybe(WORKER_ID)}
HAS_REASON: list[Schema] = [
    {"required": ["error"], "properties": {"error": REPORTED_ERROR}},
    {"required": ["requeue"], "properties": {"requeue": {"const": True}}},
]
NACK = component("Nack", obj(HELD, OF_NACK, anyOf=HAS_REASON))
OWN_NACK = obj({}, {**optional(HELD), **OF_NACK}, anyOf=HAS_REASON)
NACKED = obj(
    {"id": ID, "job_id": ID, "state": STATE, "attempt": integer(0), "max_attempts": integer(0)},
    {
        "next_attempt_at": TIME,
        "retry_delay_ms": integer(0),
        "discarded_at": TIME,
        "completed_at": TIME,
        "dead_letter": BOOLEAN,
    },
)
OWN_ACKED = obj({**ACKED["properties"], "job": JOB})
OWN_NACKED = obj(
    {**{name: NACKED["properties"][name] for name in NACKED["required"]}, "job": JOB},
    NACKED["properties"],
)
COUNT = integer(0, MAX_INT)
OF_WORKER: Schema = optional(
    {
        "state": {"type": "string", "enum": list(worker_codec.STANDINGS)},
        "active_jobs": {"anyOf": [array(text()), COUNT]},
        "active_job_ids": array(text()),
        "visibility_timeout_ms": LEASE_MS,
        "hostname": text(0, MAX_WORKER_ID),
        "pid": integer(0, MAX_WHOLE),
        "queues": array(QUEUE, maxItems=MAX_QUEUES),
        "concurrency": COUNT,
        "labels": {"anyOf": [OBJECT, array(ANY)]},
        "started_at": TIME,
        "pool": POOL,
        **HANDLERS,
        **ROTATION,
    }
)


def _by_worker(members: Schema) -> Schema:
    """Describe a body about one worker, named by `worker_id` or by an object `worker`."""
    worker = obj({}, {**members, **optional({"id": WORKER_ID})})
    named = {"type": "object", "required": ["id"], "properties": {"id": WORKER_ID}}
    return obj(
        {},
        {**members, **optional({"worker_id": WORKER_ID, "worker": worker})},
        anyOf=[
            {"required": ["worker_id"], "properties": {"worker_id": WORKER_ID}},
            {"required": ["worker"], "properties": {"worker": named}},
        ],
    )


BEAT = _by_worker(OF_WORKER)
REGISTRATION = BEAT
REGISTERED = obj(
    {
        "ok": {"const": True},
        "server_time": TIME,
        **{
            name: {**integer(1), "description": "Seconds"}
            for name in ("heartbeat_interval", "heartbeat_timeout", "visibility_timeout_default")
        },
    }
)
BEATEN = obj(
    {
        "state": DIRECTIVE,
        "jobs_extended": array(ID),
        "cancelled_jobs": array(ID),
        "server_time": TIME,
        "acknowledged": BOOLEAN,
    }
)


def batch(name: str, item: Schema, answer: Schema) -> dict[str, Any]:
    """Describe one batch operation; each item's result is its answer or its error."""
    refused = obj(
        {
            "id": text(),
            "job_id": text(),
            "status": integer(HTTPStatus.BAD_REQUEST.value),
            "error": PROBLEM,
        }
    )
    done = {
        **answer,
        "properties": {"status": {"const": 200}, **answer["properties"]},
        "required": ["status", *answer["required"]],
    }
    return {
        "answers": {200: obj({"results": array({"anyOf": [done, refused]}), "count": integer(1)})},
        "body": obj({name: array(item, minItems=1, maxItems=MAX_BATCH)}),
        "extension": "x-batch-ack",
    }
