"""OpenAPI schemas of workflows. Spec: contract 8."""

from jobs.api.schemas import (
    ANY,
    ID,
    NUMBER,
    OBJECT,
    PAGINATION,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    optional,
    text,
)
from jobs.domain.wire.names import TYPE_PATTERN
from ojs_tasks.children import CANCEL, PARENT, WITH_PARENT
from workflows.domain.kinds import CALLBACKS, FLOW_NAMES, Kind
from workflows.domain.request import MAX_NAME

STATE: Schema = {"type": "string", "enum": sorted(set(FLOW_NAMES.values()))}
STEP_STATE: Schema = {
    "type": "string",
    "enum": ["waiting", "pending", "active", "completed", "failed", "cancelled"],
}
FRACTION: Schema = {"type": "number", "minimum": 0, "maximum": 1}

STEP_REQUEST = component(
    "WorkflowStepRequest",
    {
        "description": "A job as at PUSH with `id` as the name of the step, or a nested workflow "
        "with `steps` or `jobs`. `depends_on` belongs to a step graph.",
        **obj(
            {},
            optional(
                {
                    "id": text(1, MAX_NAME),
                    "type": text(pattern=f"^{TYPE_PATTERN.pattern}$"),
                    "args": array(ANY),
                    "options": OBJECT,
                    "meta": OBJECT,
                    "depends_on": array(text()),
                }
            ),
        ),
    },
)
_STEPS = array(STEP_REQUEST, minItems=1)
_NONE: Schema = {"type": "null"}
_META = obj(
    {},
    {
        "tenant_id": {**maybe(text()), "description": "Tenant of all its jobs"},
        PARENT: {**maybe(ID), "description": "The job whose step starts it and waits for its end"},
        CANCEL: {
            "enum": [WITH_PARENT, None],
            "description": f"With `{WITH_PARENT}` the cancel of that job cancels the workflow",
        },
    },
)


def _form(kind: Schema, required: Schema, absent: tuple[str, ...]) -> Schema:
    common = optional({"name": text(0, MAX_NAME), "options": OBJECT, "meta": _META})
    missing = dict.fromkeys((*absent, "tenant", "tenant_id"), _NONE)
    return obj(required, {"type": kind, **common, **missing})


def _typed(kind: Kind, required: Schema, *absent: str) -> Schema:
    form = _form({"const": kind.value}, required, absent)
    return {**form, "required": ["type", *required]}


WORKFLOW_REQUEST = component(
    "WorkflowRequest",
    {
        "description": "Typed: `type` with `steps` (chain) or `jobs` (group, batch) and "
        "`callbacks` (batch). Step graph: no `type`, steps with `depends_on`; callbacks are "
        "steps with `options.callback_type`, or of the id on-complete, on-success, on-failure. "
        "`options` are defaults of every step. At most 10,000 jobs, three levels.",
        "anyOf": [
            _typed(Kind.CHAIN, {"steps": _STEPS}, "jobs", "callbacks"),
            _typed(Kind.GROUP, {"jobs": _STEPS}, "steps", "callbacks"),
            _typed(
                Kind.BATCH,
                {
                    "jobs": _STEPS,
                    "callbacks": obj(
                        {},
                        optional(dict.fromkeys(CALLBACKS, STEP_REQUEST)),
                        additionalProperties=False,
                        minProperties=1,
                    ),
                },
                "steps",
            ),
            _form({"enum": [Kind.DAG.value, None]}, {"steps": _STEPS}, ("jobs", "callbacks")),
        ],
    },
)

ERROR = obj(
    {"job_id": maybe(ID), "step_id": text(1)},
    {name: maybe(text()) for name in ("code", "type", "message")} | {"attempt": maybe(integer(0))},
)
STEP = component(
    "WorkflowStep",
    obj(
        {
            "id": text(1),
            "index": integer(0),
            "type": text(1),
            "state": STEP_STATE,
            "job_id": maybe(ID),
            "job_ids": array(ID),
            "depends_on": array(text(1)),
        },
        {
            "started_at": TIME,
            "completed_at": TIME,
            "result": ANY,
            "result_omitted": {"const": True},
            "error": OBJECT,
            "workflow_id": ID,
            "steps": array({"$ref": "#/components/schemas/WorkflowStep"}),
        },
    ),
)
_TIMES = {"started_at": TIME, "completed_at": TIME, "cancelled_at": TIME}
_NUMBERS = ("total", "completed", "failed")
_SUMMARY = {
    "id": ID,
    "type": {"type": "string", "enum": [kind.value for kind in Kind]},
    "name": text(),
    "state": STATE,
    **{f"steps_{name}": integer(0) for name in _NUMBERS},
    "step_count": integer(0),
    "created_at": TIME,
    "metadata": obj(
        {"created_at": TIME}
        | {name: integer(0) for name in ("job_count", "completed_count", "failed_count")},
        _TIMES,
    ),
}
_MORE = {
    **_TIMES,
    **{f"jobs_{name}": integer(0) for name in _NUMBERS},
    "parent_job_id": {**ID, "description": "The job whose step started it; its end wakes the job"},
    "parent_workflow_id": ID,
    "root_workflow_id": ID,
}
CALLBACK = obj({"id": text(1), "type": text(1), "state": STEP_STATE, "job_id": maybe(ID)})
_WHOLE = {**_SUMMARY, "steps": array(STEP)}
_WHOLE_MORE = _MORE | {
    "callbacks": obj({}, dict.fromkeys(CALLBACKS, CALLBACK)),
    "failed_step_index": integer(0),
    "failed_job_ids": array(ID),
    "errors": array(ERROR),
    **{
        name: integer(0)
        for name in ("steps_cancelled", "cancelled_steps", "steps_already_completed")
    },
}
WORKFLOW = component("Workflow", obj(_WHOLE, _WHOLE_MORE))
WORKFLOW_ANSWER = obj(
    {"workflow": WORKFLOW, **_WHOLE},
    _WHOLE_MORE,
    description="The workflow, and its members again beside it",
)
ITEM = component("WorkflowSummary", obj(_SUMMARY, _MORE))
LIST = obj(
    {
        "workflows": array(ITEM),
        "items": array(ITEM),
        "total": integer(0),
        "pagination": PAGINATION,
    }
)
PROGRESS = component(
    "WorkflowProgress",
    obj(
        {
            "workflow_id": ID,
            "type": _SUMMARY["type"],
            "state": STATE,
            "progress": FRACTION,
            "steps": array(
                obj(
                    {
                        "id": text(1),
                        "job_id": maybe(ID),
                        "type": text(1),
                        "state": STEP_STATE,
                        "progress": NUMBER,
                    }
                )
            ),
            "updated_at": TIME,
        }
    ),
)
