"""JSON Schemas of schedules, for the OpenAPI document only."""

import re

from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    OBJECT,
    PAGINATION,
    QUEUE,
    STATE,
    TIME,
    TYPE,
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
from jobs.api.schemas.jobs import JOB_REQUEST_MEMBERS
from jobs.domain.wire.bounds import MAX_TENANT
from scheduling.domain.cron import MAX_EXPRESSION
from scheduling.domain.definition import MAX_DESCRIPTION, NAME_PATTERN
from scheduling.domain.overlap import Overlap

NAME = matching(NAME_PATTERN, example="nightly")
TENANT_PATTERN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._:-]{{0,{MAX_TENANT - 1}}}")
TENANT = matching(
    TENANT_PATTERN,
    description="The tenant of the schedule, for callers that are bound to no tenant",
)
EXPRESSION: Schema = {
    **text(1, MAX_EXPRESSION),
    "description": "Five fields, a name such as `@daily`, or `@every 1h30m`",
    "example": "*/5 * * * *",
}
ZONE: Schema = {**text(1), "description": "`UTC` or an IANA name", "example": "Europe/Berlin"}
POLICY: Schema = {"type": "string", "enum": list(Overlap)}
TEMPLATE_FACTS: Schema = {"type": TYPE, "args": array(ANY), "meta": OBJECT, "options": OBJECT}
TEMPLATE = component(
    "CronJobTemplate",
    {
        "description": "The job of every run: a PUSH request without an id",
        **obj(TEMPLATE_FACTS, additionalProperties=True),
    },
)
ENTRY = component(
    "Cron",
    obj(
        {
            "id": NAME,
            "name": NAME,
            "expression": EXPRESSION,
            "cron": EXPRESSION,
            "schedule": EXPRESSION,
            "timezone": ZONE,
            **TEMPLATE_FACTS,
            "queue": QUEUE,
            "job_template": TEMPLATE,
            "overlap_policy": POLICY,
            "enabled": BOOLEAN,
            "status": {"type": "string", "enum": ["active", "disabled"]},
            "next_run_at": maybe(TIME),
            "last_run_at": maybe(TIME),
            "last_job_id": maybe(ID),
            "run_count": integer(0),
            "created_at": TIME,
            "updated_at": TIME,
        },
        {"description": text(0, MAX_DESCRIPTION), "tenant_id": text(1)},
    ),
)
ENTRY_ANSWER = component(
    "CronAnswer",
    {
        "description": "The schedule as `cron` and `cron_job`, its other members flat as well",
        **obj({"cron": ENTRY, "cron_job": ENTRY, "name": NAME}, additionalProperties=True),
    },
)
DELETED = obj(
    {"cron": ENTRY, "cron_job": ENTRY, "name": NAME, "deleted": {"const": True}},
    additionalProperties=True,
)
ENTRY_LIST = obj(
    {
        "crons": array(ENTRY),
        "cron_jobs": array(ENTRY),
        "items": array(ENTRY),
        "count": integer(0),
        "total": integer(0),
        "pagination": PAGINATION,
    }
)
EXECUTION = component(
    "CronExecution",
    obj(
        {
            "job_id": maybe(ID),
            "state": {
                "type": "string",
                "enum": [*STATE["enum"], "skipped", "removed"],
                "description": "Of the job; `skipped` made none, `removed` is no longer kept",
            },
            "scheduled_at": TIME,
            "triggered_at": TIME,
            "started_at": maybe(TIME),
            "completed_at": maybe(TIME),
            "trigger": {"type": "string", "enum": ["schedule", "manual"]},
        },
        {"attempt": integer(0), "reason": text(1), "detail": maybe(text())},
    ),
)
UPCOMING = obj(
    {
        "name": NAME,
        "timezone": ZONE,
        "enabled": BOOLEAN,
        "runs": array(obj({"at": TIME, "local": TIME})),
    }
)
TEMPLATE_MEMBERS = {
    name: maybe(schema) if name in {"type", "args"} else schema
    for name, schema in JOB_REQUEST_MEMBERS.items()
    if name not in {"id", "specversion"}
}
_CHANGEABLE: Schema = {
    **TEMPLATE_MEMBERS,
    **optional(
        {
            "expression": EXPRESSION,
            "cron": EXPRESSION,
            "schedule": EXPRESSION,
            "timezone": ZONE,
            "job_template": obj({}, TEMPLATE_MEMBERS),
            "overlap_policy": POLICY,
            "enabled": BOOLEAN,
            "description": text(0, MAX_DESCRIPTION),
        }
    ),
}
CHANGES = component(
    "CronChanges",
    {
        "description": "Absent members stay. The job is given as `job_template` or flat. "
        "A member given in both places must have the same value.",
        **obj({}, _CHANGEABLE),
    },
)
REGISTRATION = component(
    "CronRegistration",
    {
        "description": "One of `expression`, `cron` and `schedule`, and `type` in `job_template` "
        "or flat, are required.",
        **obj({"name": NAME}, _CHANGEABLE),
    },
)
