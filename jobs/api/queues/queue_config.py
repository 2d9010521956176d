"""Endpoints that make and configure queues. Spec: contract 10.4, 24.4, 27.3."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.queues.detail import OF_DETAIL, PAUSED_AT, queue_detail
from jobs.api.queues.queues import checked_name, encode_config
from jobs.api.schemas import OBJECT, QUEUE, Schema, obj
from jobs.api.schemas.queues import CONFIG_CHANGE, QUEUE_RATE, STRICT_CHANGE
from jobs.api.wire import members
from jobs.api.wire.answer import Answer
from jobs.domain.errors import InvalidRequest
from jobs.services.audit.documents import TEMPLATE
from jobs.services.lanes.queue_config import change as reconfigure
from jobs.services.lanes.queue_config import config_of, template
from jobs.services.operate.queues import pause, resume

NAME = {"anyOf": [QUEUE, {"type": "string", "enum": [TEMPLATE]}]}
CONFIGURATION: Schema = {
    "name": NAME, "queue": NAME, "config": OBJECT, "configuration": OBJECT,
}  # fmt: skip
# of a queue with its detail, and of the template
CONFIGURED = obj(CONFIGURATION, {**OF_DETAIL, **PAUSED_AT})


def _change(view: OJSView, name: str, change: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    """Change the configuration of a queue, or that of new queues; returns it as stored."""
    if name != TEMPLATE:
        members.queue_name("name", name)
    return reconfigure(name, change, view.caller, strict=strict)


def _configured(name: str, config: dict[str, Any]) -> Answer:
    """Show a changed configuration, with the detail of its queue. Spec: contract 24.1."""
    shown = encode_config(name, config)
    return Answer(shown if name == TEMPLATE else {**shown, **queue_detail(name, None)})


class QueueConfig(OJSView):
    """The configuration of one queue, or, under the name `_default`, of new queues."""

    @operation("getQueueConfig", {200: obj(CONFIGURATION)}, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show the configuration of a queue; `_default`: of new queues."""
        config = template() if name == TEMPLATE else config_of(checked_name(name))
        return Answer(encode_config(name, config))

    @operation("setQueueConfig", {200: CONFIGURED}, body=CONFIG_CHANGE)
    def put(self, request: Request, name: str) -> Answer:
        """Change the configuration of a queue, made if unknown.

        Absent members stay, null resets a member. Under the name `_default`: of new queues.
        """
        self.principal.require_queues("configure", [name])
        body = self.body()
        change = body.get("config", body)
        if not isinstance(change, dict):
            raise InvalidRequest.field("config", "must be an object", change)
        return _configured(name, _change(self, name, change, strict=False))


class AdminQueueConfig(OJSView):
    """The configuration of one queue, for operators: unknown members are refused."""

    @operation("configureQueue", {200: CONFIGURED}, body=STRICT_CHANGE)
    def put(self, request: Request, name: str) -> Answer:
        """Change the configuration of a queue; `paused` pauses or resumes it.

        Under the name `_default`: of new queues, which start unpaused.
        """
        self.principal.require_queues("configure", [name])
        change = self.body()
        paused = change.pop("paused", None)
        if not isinstance(paused, bool | None):
            raise InvalidRequest.field("paused", "must be a boolean", paused)
        if paused and name == TEMPLATE:
            raise InvalidRequest.field("paused", "is not a member of the template", paused)
        config = _change(self, name, change, strict=True)
        if paused is not None and name != TEMPLATE:
            (pause if paused else resume)(name, self.caller)
        return _configured(name, config)


class AdminQueueRateLimit(OJSView):
    """The rate limit of one queue."""

    @operation("setQueueRateLimit", {200: CONFIGURED}, body=QUEUE_RATE)
    def put(self, request: Request, name: str) -> Answer:
        """Limit the starts of a queue's jobs in a period, or its running jobs."""
        members.queue_name("name", name)
        self.principal.require_queues("configure", [name])
        body = self.body()
        change: dict[str, Any] = {}
        if "concurrency" in body:
            change["concurrency"] = body["concurrency"]
        rest = {key: value for key, value in body.items() if key != "concurrency"}
        if rest or not change:
            change["rate_limit"] = rest
        return _configured(name, reconfigure(name, change, self.caller, strict=True))
