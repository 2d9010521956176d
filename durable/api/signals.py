"""Endpoints of signals, and of attempts that wait. Spec: contract 34.2."""

from typing import Any

from rest_framework.request import Request

from durable.api import codec
from durable.api.checkpoints import EXTENSION, DurableView
from durable.domain import names
from durable.domain.names import check_name
from durable.services import signals
from durable.services.resume import shown_signal
from durable.services.suspend import suspend
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    STATE,
    TIME,
    WORKER_ID,
    array,
    component,
    integer,
    matching,
    obj,
    optional,
)
from jobs.api.wire.answer import Answer
from jobs.domain.access.classified import HIDDEN
from jobs.domain.states import State
from jobs.domain.wire.times import format_time
from jobs.services.outcome.refusal import refusals

NAME = matching(names.NAME)
SIGNAL = component("Signal", obj({"id": integer(1), "name": NAME, "payload": ANY, "sent_at": TIME}))
SENT = obj({"job_id": ID, "id": integer(1), "name": NAME, "sent_at": TIME, "woken": BOOLEAN})
SUSPEND = obj(
    {"step": NAME},
    optional(
        {
            "until": TIME,
            "signals": array(NAME, maxItems=codec.MAX_SIGNALS),
            "worker_id": WORKER_ID,
            "attempt": integer(1),
            "started_at": {
                **TIME,
                "description": "Start of the attempt, as FETCH returned it; compared when given",
            },
        }
    ),
)
SUSPENDED = obj({"job_id": ID, "state": STATE, "scheduled_at": TIME})


class JobSignals(DurableView):
    """The signals of one job."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "listSignals",
        {200: obj({"job_id": ID, "signals": array(SIGNAL)})},
        refusals=(404,),
        extension=EXTENSION,
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """List the signals of a job that no step has taken, the earliest first."""
        job = self.visible(job_id)
        hidden: dict[str, Any] = {} if self.as_seen(job) is job else {"payload": HIDDEN}
        found = [{**shown_signal(one), **hidden} for one in signals.waiting(job_id)]
        return Answer({"job_id": job_id, "signals": found})


class JobSignal(DurableView):
    """Send a signal to one job."""

    http_method_names = ["post", "options"]

    @operation(
        "sendSignal",
        {200: SENT},
        body=obj({}, {"payload": ANY}),
        needs_body=False,
        path={"name": NAME},
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, job_id: str, name: str) -> Answer:
        """Send a signal to a job; it wakes a job that waits for it.

        The job keeps it until a step takes it. At most 100 signals of a job wait.
        """
        check_name("name", name)
        payload = codec.decode_payload(self.optional_body())
        job = self.visible(job_id)
        self.principal.require_enqueue([(job.queue, job.type)])
        sent = signals.send(job_id, name, payload, self.principal.name)
        return Answer(codec.encode_sent(job_id, name, sent))


class JobSuspension(DurableView):
    """End an attempt whose job waits."""

    http_method_names = ["post", "options"]

    @operation(
        "suspendJob", {200: SUSPENDED}, body=SUSPEND, refusals=(404, 409), extension=EXTENSION
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """End an attempt without a failure: its job waits for a time or a signal.

        The attempt is not counted. Without `until` the job waits for ten years at most.
        """
        wanted = codec.decode_suspension(job_id, self.body())
        self.answerable(job_id)
        self.visible(job_id)
        if not suspend(wanted):
            raise refusals("suspend", {job_id: wanted.worker_id})[job_id]
        return Answer(
            {
                "job_id": job_id,
                "state": State.SCHEDULED.value,
                "scheduled_at": format_time(wanted.until),
            }
        )
