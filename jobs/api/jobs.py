"""Endpoints under /ojs/v1/jobs. Spec: contract 3.3."""

from time import perf_counter
from typing import Any

from rest_framework.request import Request

from jobs.api import codec
from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, OBJECT, array, integer, obj
from jobs.api.schemas.jobs import JOB, JOB_ANSWER, JOB_REQUEST
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import NotFound, OJSError
from jobs.domain.ids import is_id
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.metrics import observe_enqueue
from jobs.services.activate import activate
from jobs.services.cancel import cancel
from jobs.services.enqueue import enqueue
from jobs.services.show import show

LISTED_ERRORS = 100


class JobCollection(OJSView):
    """PUSH."""

    scopes = {"POST": "ojs:data:enqueue"}

    @operation(
        "createJob",
        {201: JOB_ANSWER, 200: obj({"job": {"type": "null"}, "dropped": BOOLEAN})},
        body=JOB_REQUEST,
        headers={201: ("Location",)},
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Answer:
        """Enqueue one job.

        200: an enqueue middleware of this server dropped the job.
        """
        draft = codec.decode_job(self.body())
        self.principal.require_enqueue([(draft.queue, draft.type)])
        job = enqueue([draft], self.caller)[0]
        if job is None:
            return Answer({"job": None, "dropped": True})
        observe_enqueue(draft.queue, perf_counter() - self.began)
        location = f"/ojs/v1/jobs/{job.id}"
        return Answer({"job": codec.encode_job(job)}, status=201, headers={"Location": location})


class JobBatch(OJSView):
    """PUSH of many, all or none."""

    scopes = {"POST": "ojs:data:enqueue"}

    @operation(
        "createJobs",
        {201: obj({"jobs": array(JOB), "count": integer(0)}, {"dropped": array(integer(0))})},
        body=obj({"jobs": array(JOB_REQUEST, minItems=1, maxItems=10_000)}),
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Answer:
        """Enqueue a batch.

        `dropped` holds the positions of jobs that an enqueue middleware of this server dropped.
        """
        drafts = decode_all(codec.decode_batch(self.body()))
        self.principal.require_enqueue((draft.queue, draft.type) for draft in drafts)
        stored = enqueue(drafts, self.caller)
        kept = [codec.encode_job(job) for job in stored if job is not None]
        answer: dict[str, Any] = {"jobs": kept, "count": len(kept)}
        if len(kept) < len(stored):
            answer["dropped"] = [n for n, job in enumerate(stored) if job is None]
        return Answer(answer, status=201)


def decode_all(raw: list[Any]) -> list[JobDraft]:
    """Decode every job of a batch; raises the first problem, naming its index and the others."""
    drafts, problems = [], []
    for index, item in enumerate(raw):
        try:
            drafts.append(codec.decode_batch_item(item))
        except OJSError as problem:
            problem.details["index"] = index
            problems.append(problem)
            if len(problems) >= LISTED_ERRORS:
                break
    if problems:
        first = problems[0]
        first.details["errors"] = [
            {"index": problem.details["index"], "field": problem.details.get("field"),
             "message": problem.message}
            for problem in problems
        ]  # fmt: skip
        raise first
    return drafts


class JobDetail(OJSView):
    """INFO and CANCEL."""

    scopes = {"GET": "ojs:data:read", "DELETE": "ojs:data:cancel"}

    @operation("getJob", {200: JOB_ANSWER}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show a job."""
        return Answer({"job": codec.encode_job(self.visible(job_id))})

    @operation("cancelJob", {200: JOB_ANSWER}, refusals=(404, 409))
    def delete(self, request: Request, job_id: str) -> Answer:
        """Cancel a job."""
        self.visible(job_id)
        job, previous = cancel(job_id, self.principal.name)
        return Answer({"job": codec.encode_job(job, previous_state=previous.value)})

    def visible(self, job_id: str) -> Job:
        """Read a job the caller may see. Raises NotFound, also for another tenant's job."""
        if not is_id(job_id):
            raise NotFound.of("job", job_id)
        job = show(job_id)
        if self.principal.tenant not in {None, job.tenant}:
            raise NotFound.of("job", job_id)
        return job


class JobActivation(JobDetail):
    """ACTIVATE."""

    scopes = {"POST": "ojs:data:enqueue"}
    http_method_names = ["post", "options"]

    @operation("activateJob", {200: JOB_ANSWER}, body=OBJECT, needs_body=False, refusals=(404, 409))
    def post(self, request: Request, job_id: str) -> Answer:
        """Start a pending job."""
        self.optional_body()
        self.visible(job_id)
        job = activate(job_id)
        return Answer({"job": codec.encode_job(job, previous_state=State.PENDING.value)})
