"""The actions of operators on jobs with steps: signals, and "retry from step"."""

from typing import Final

import orjson
from django.http import QueryDict

from console.actions.action import Action
from console.actions.jobs import own_job
from durable.domain.names import check_name, check_size
from durable.services.signals import send
from durable.services.steps import retry_from
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest


def _signal(form: QueryDict, who: Caller) -> str:
    job_id, name = own_job(form, who), check_name("name", form.get("name", "").strip())
    payload = form.get("payload", "").strip() or "null"
    check_size(len(payload.encode()))
    try:
        orjson.loads(payload)
    except ValueError:
        raise InvalidRequest.field("payload", "must be JSON", payload[:50]) from None
    sent = send(job_id, name, payload, who.name)
    what = "it continues" if sent.wakes else "no step waits for it yet"
    return f"Signal {name!r} is sent to job {job_id}; {what}."


def _retry(form: QueryDict, who: Caller) -> str:
    step = check_name("step", form.get("step", ""))
    job, deleted = retry_from(own_job(form, who), step, who)
    return f"Job {job.id} runs again from step {step!r}; stored results deleted: {len(deleted)}."


ACTIONS: Final = (
    Action("send-signal", "signals.send", _signal, audit="job.signalled"),
    Action("retry-from-step", "steps.retry", _retry, needs_reason=True),
)
