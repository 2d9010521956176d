"""The endpoint of "retry from step". Spec: contract 34.2."""

from dataclasses import replace

from rest_framework.request import Request

from durable.api.checkpoints import EXTENSION
from durable.domain import names
from durable.domain.names import check_name
from durable.services.steps import retry_from
from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.schemas import ID, STATE, array, matching, maybe, obj, text
from jobs.api.wire.admin import optional_text
from jobs.api.wire.answer import Answer
from jobs.domain.states import state_of

NAME = matching(names.NAME)
RETRIED = obj({"job_id": ID, "state": STATE, "step": NAME, "deleted_steps": array(text())})


class JobRetryFromStep(JobDetail):
    """Retry from a step."""

    http_method_names = ["post", "options"]

    @operation(
        "adminRetryFromStep",
        {200: RETRIED},
        body=obj({"step": NAME}, {"reason": maybe(text())}),
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Delete the results of a step and the later ones, and run the job from there.

        It takes a job that waits or is in the dead letter, none that runs.
        """
        body = self.body()
        step = check_name("step", body.get("step"))
        reason = optional_text(body, "reason")
        self.changeable(job_id)
        caller = replace(self.caller, reason=reason or self.caller.reason)
        job, deleted = retry_from(job_id, step, caller)
        answer = {"job_id": job.id, "state": state_of(job.state).value, "step": step}
        return Answer({**answer, "deleted_steps": deleted})
