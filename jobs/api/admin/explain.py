"""Explain why a job waits and when it may start, or which claim took it."""

from datetime import datetime
from typing import Any

from rest_framework.request import Request

from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    NUMBER,
    QUEUE,
    STATE,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.jobs import PRIORITY
from jobs.api.wire.answer import Answer
from jobs.domain.dispatch.explanation import (
    Decision,
    Estimate,
    Explanation,
    Place,
    Standing,
    Verdict,
)
from jobs.domain.dispatch.gates import Gate, GateState
from jobs.domain.states import state_of
from jobs.domain.wire.times import format_time
from jobs.services.dispatch.explain import explain

PLACE = obj({"ahead": integer(0), "is_lower_bound": BOOLEAN})
GATE = component(
    "Gate",
    obj(
        {
            "gate": text(1),
            "name": maybe(text(1)),
            "state": {"type": "string", "enum": list(GateState)},
            "message": text(1),
            "since": maybe(TIME),
            "until": {**maybe(TIME), "description": "When it changes by itself"},
            "numbers": {"type": "object", "additionalProperties": NUMBER},
            "enforced": {
                **BOOLEAN,
                "description": "False: the gate reports on workers and holds back no job",
            },
        }
    ),
)
POSITION: Schema = obj(
    {
        "lane": {**PLACE, "description": "Jobs of its queue, priority and tenant before it"},
        "queue": {
            **maybe(PLACE),
            "description": "Jobs that claims of one job take first; null for keys of one tenant",
        },
        "next": {
            "type": ["boolean", "null"],
            "description": "Whether the next claim takes it; null: it or one of its equals",
        },
    }
)
ESTIMATE = obj(
    {
        "starts_at": maybe(TIME),
        "wait_ms": maybe(integer(0)),
        "is_lower_bound": BOOLEAN,
        "jobs_per_minute": maybe(NUMBER),
        "reason": {**maybe(text(1)), "description": "Why there is no estimate"},
    }
)
DECISION = obj(
    {
        "started_at": TIME,
        "attempt": integer(1),
        "worker_id": maybe(text()),
        "pool": maybe(text()),
        "queue": QUEUE,
        "tenant_id": text(1),
        "priority": PRIORITY,
        "route": maybe(integer(0)),
        "limits": array(text(1)),
        "waited_ms": maybe(integer(0)),
        "lease_until": maybe(TIME),
    }
)
EXPLANATION = component(
    "Explanation",
    obj(
        {
            "job_id": text(1),
            "state": STATE,
            "at": TIME,
            "verdict": {"type": "string", "enum": list(Verdict)},
            "message": text(1),
            "eligible": BOOLEAN,
            "gates": array(GATE),
            "position": maybe(POSITION),
            "estimate": maybe(ESTIMATE),
            "decision": maybe(DECISION),
        }
    ),
)


class AdminJobExplain(JobDetail):
    """The explanation of one job."""

    http_method_names = ["get", "head", "options"]

    @operation("adminExplainJob", {200: EXPLANATION}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Explain why a job waits, its position and possible start, or which claim took it.

        It uses the conditions of the claim itself. `next` refers to a worker that asks for one job
        of this queue alone and is bound to no tenant. Counts end at a bound.
        """
        job = self.visible(job_id)
        found = explain(job, self.principal.tenant)
        return Answer({"job_id": job.id, "state": state_of(job.state).value, **encode(found)})


def encode(found: Explanation) -> dict[str, Any]:
    """Encode the explanation of a job."""
    return {
        "at": format_time(found.at),
        "verdict": found.verdict.value,
        "message": found.message,
        "eligible": found.is_eligible,
        "gates": [_gate(gate) for gate in found.gates],
        "position": found.standing and _position(found.standing),
        "estimate": found.estimate and _estimate(found.estimate, found.at),
        "decision": found.decision and _decision(found.decision),
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else format_time(at)


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "gate": gate.gate,
        "name": gate.name,
        "state": gate.state.value,
        "message": gate.message,
        "since": _time(gate.since),
        "until": _time(gate.until),
        "numbers": dict(gate.numbers),
        "enforced": gate.is_enforced,
    }


def _position(standing: Standing) -> dict[str, Any]:
    return {
        "lane": _place(standing.lane),
        "queue": standing.queue and _place(standing.queue),
        "next": standing.is_next,
    }


def _place(place: Place) -> dict[str, Any]:
    return {"ahead": place.ahead, "is_lower_bound": place.is_lower_bound}


def _estimate(estimate: Estimate, now: datetime) -> dict[str, Any]:
    at = estimate.starts_at
    return {
        "starts_at": _time(at),
        "wait_ms": None if at is None else max(0, round((at - now).total_seconds() * 1000)),
        "is_lower_bound": estimate.is_lower_bound,
        "jobs_per_minute": estimate.jobs_per_minute,
        "reason": estimate.reason,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "started_at": format_time(decision.started_at),
        "attempt": decision.attempt,
        "worker_id": decision.worker_id,
        "pool": decision.pool,
        "queue": decision.queue,
        "tenant_id": decision.tenant,
        "priority": decision.priority,
        "route": decision.route,
        "limits": list(decision.limits),
        "waited_ms": decision.waited_ms,
        "lease_until": _time(decision.lease_until),
    }
