"""Endpoints that delete the jobs of a queue. Spec: contract 24.1, 24.6."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.queues.queues import WAITING, checked_name
from jobs.api.schemas import BOOLEAN, STATE, array, integer, obj, optional
from jobs.api.schemas.queues import PERIOD
from jobs.api.wire.answer import Answer
from jobs.domain.access.caller import Caller
from jobs.domain.errors import ConfirmationRequired, InvalidRequest
from jobs.domain.states import State
from jobs.domain.wire.durations import parse_period
from jobs.services.audit.audit import record
from jobs.services.audit.undo_log import undoable_steps
from jobs.services.operate.queue_removal import purge

PURGED_STATES = [state.value for state in State if state is not State.ACTIVE]
PURGE = obj(
    {},
    optional(
        {
            "states": array({"type": "string", "enum": PURGED_STATES}, minItems=1),
            "older_than": PERIOD,
        }
    ),
)
CONFIRMED_PURGE = obj({"confirm": {"const": True}}, PURGE["properties"])
PURGED = obj(
    {"purged_count": integer(0), "deleted": integer(0), "states": array(STATE)},
    {"truncated": BOOLEAN},
)


class QueuePurge(OJSView):
    """Delete jobs of a queue."""

    @operation("purgeQueue", {200: PURGED}, body=PURGE, needs_body=False, refusals=(404,))
    def post(self, request: Request, name: str) -> Answer:
        """Delete the waiting jobs of a queue, or those in `states`; at most 10,000 at a time."""
        self.principal.require_queues("delete jobs", [name])
        return _purged(name, self.optional_body(), self.caller)


class AdminQueueJobs(OJSView):
    """The jobs of a queue, for operators."""

    @operation("purgeQueueJobs", {200: PURGED}, body=CONFIRMED_PURGE, refusals=(404,))
    def delete(self, request: Request, name: str) -> Answer:
        """Delete the jobs of a queue in `states`; at most 10,000 at a time."""
        body = self.body()
        if body.get("confirm") is not True:
            raise ConfirmationRequired.field("confirm", "must be true", body.get("confirm"))
        self.principal.require_queues("delete jobs", [name])
        return _purged(name, body, self.caller)


def _purged(name: str, body: Mapping[str, Any], caller: Caller) -> Answer:
    states = _states(body.get("states"))
    older = body.get("older_than")
    try:
        older_ms = None if older is None else parse_period(older)
    except ValueError as problem:
        raise InvalidRequest.field("older_than", str(problem), older) from problem
    with undoable_steps(caller, "queue.purged", checked_name(name)):
        gone, is_truncated = purge(name, states, caller.name, older_than_ms=older_ms)
    facts = {"states": [state.value for state in states], "purged_count": gone}
    record(caller, "queue.purged", name, data=facts)
    answer: dict[str, Any] = {
        "purged_count": gone, "deleted": gone, "states": [state.value for state in states],
    }  # fmt: skip
    return Answer(answer | ({"truncated": True} if is_truncated else {}))


def _states(raw: object) -> list[State]:
    if raw is None:
        return list(WAITING)
    if not isinstance(raw, list) or not raw:
        raise InvalidRequest.field("states", "must be a non-empty array", raw)
    for name in raw:
        if name not in PURGED_STATES:
            raise InvalidRequest.field(
                "states", "must not hold the state active or an unknown state", name
            )
    return [State(name) for name in dict.fromkeys(raw)]
