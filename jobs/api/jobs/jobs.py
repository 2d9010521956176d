"""Endpoints under /ojs/v1/jobs. Spec: contract 3.3."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import orjson
from rest_framework.request import Request

from jobs.api.access.access import Principal
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    OBJECT,
    PAGINATION,
    STATE,
    TIME,
    array,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.jobs import JOB, JOB_ANSWER, JOB_ERROR, JOB_REQUEST, PRIORITY
from jobs.api.wire import job_codec, members
from jobs.api.wire.answer import Answer
from jobs.api.wire.checkpoints import checkpoint_member
from jobs.api.wire.paging import QUERY, page
from jobs.api.wire.waits import WAIT, decode_wait
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import LISTED, Duplicate, InvalidRequest, NotFound, OJSError
from jobs.domain.job import Job, JobKind
from jobs.domain.states import TERMINAL, State, state_of
from jobs.domain.wire.bounds import MAX_BATCH
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.times import format_time
from jobs.gather import Later, now
from jobs.metrics import observe_enqueue
from jobs.services.dispatch.result import job_or_wait
from jobs.services.enqueue.enqueue import enqueue_batch_soon, enqueue_soon
from jobs.services.operate.operate import change_priority
from jobs.services.outcome.activate import activate
from jobs.services.outcome.attempts import FailedAttempt, failed_attempts
from jobs.services.outcome.cancel import cancel
from jobs.services.read.find import Wanted, find_jobs, pattern
from jobs.services.read.show import show, show_soon

LISTED_BY = ("queue", "type", "tenant")
STATES = [state.value for state in State]

LIST = obj(
    {"jobs": array(JOB), "total": integer(0), "pagination": PAGINATION},
    {"total_is_estimate": BOOLEAN},
)
RESULT = obj(
    {
        "job_id": ID,
        "state": STATE,
        "result": ANY,
        "error": maybe(JOB_ERROR),
        "completed_at": maybe(TIME),
    }
)
RETRIES = obj(
    {
        "job_id": ID,
        "retries": array(
            obj(
                {
                    "attempt": integer(0),
                    "state": STATE,
                    "error": text(),
                    "details": JOB_ERROR,
                    "started_at": maybe(TIME),
                    "failed_at": maybe(TIME),
                    "next_retry_at": maybe(TIME),
                }
            )
        ),
        "policy": OBJECT,
    }
)
REPEATED = "OJS-Deduplicated"
PRESSURE = ("X-OJS-Queue-Depth", "X-OJS-Queue-Bound", "X-OJS-Queue-Pressure")


class JobCollection(OJSView):
    """PUSH and list."""

    @operation(
        "listJobs",
        {200: LIST},
        query={
            **dict.fromkeys(("queue", "type", "tenant"), text()),
            "state": {"type": "string", "enum": [*State, ""]},
            **QUERY,
        },
    )
    def get(self, request: Request) -> Answer:
        """List jobs, newest first; ended jobs by their end."""
        window = page(request)
        state = request.query_params.get("state") or None
        if state is not None and state not in STATES:
            raise InvalidRequest.field("state", f"must be one of {', '.join(STATES)}", state[:100])
        found = find_jobs(self.wanted(request, state), offset=window.offset, limit=window.limit)
        answer = {
            "jobs": job_codec.encode_all(self.as_seen(job, is_listed=True) for job in found.jobs),
            "total": found.total,
            "pagination": window.answer(found.total),
        }
        return Answer(answer | ({"total_is_estimate": True} if found.is_estimate else {}))

    def wanted(self, request: Request, state: str | None) -> Wanted:
        """Read the filter. Raises InvalidRequest."""
        given = {name: request.query_params.get(name) or None for name in LISTED_BY}
        for name, value in given.items():
            if value and "\0" in value:
                raise InvalidRequest.field(name, "must not hold NUL", value[:100])
        return Wanted(
            state=State(state) if state else None,
            queue=given["queue"],
            tenant=self.principal.tenant or given["tenant"],
            type=given["type"] and pattern(given["type"]),
        )

    @operation(
        "createJob",
        {
            201: JOB_ANSWER,
            200: obj({"job": maybe(JOB)}, {"dropped": BOOLEAN, "deduplicated": BOOLEAN}),
        },
        body=JOB_REQUEST,
        headers={201: ("Location", *PRESSURE), 200: (REPEATED,)},
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Answer:
        """Enqueue one job.

        200 in three cases. An enqueue middleware of this server dropped the job. The job equals a
        stored job and its `unique` policy is `ignore`. Or `OJS-Federation-Dedupe: 1` was sent with
        a federation id that is stored.
        """
        return now(self.post_soon(request))

    def post_soon(self, request: Request) -> Later[Answer] | Answer:
        """Begin to enqueue one job."""
        draft = job_codec.decode_job(self.body())
        self.principal.require_enqueue([(draft.queue, draft.type)])
        self.charge(1, enqueues=True)
        found = enqueue_soon(draft, self.caller)
        if isinstance(found, Later):
            return found.then(lambda job: self._answer(draft.queue, job))
        return self._answer(draft.queue, found)

    def _answer(self, queue: str, job: Job | None) -> Answer:
        if job is None:
            return Answer({"job": None, "dropped": True})
        if job.deduplicated:
            return Answer({"job": job_codec.encode_job(self.as_seen(job)), "deduplicated": True})
        observe_enqueue(queue, perf_counter() - self.began)
        location = self.path(f"/jobs/{job.id}")
        return Answer(job_codec.job_answer(job), status=201, headers={"Location": location})


class JobBatch(OJSView):
    """PUSH of many jobs, all or none."""

    @operation(
        "createJobs",
        {
            201: obj(
                {
                    "jobs": array(JOB),
                    **dict.fromkeys(("count", "enqueued"), integer(0)),
                    "failed": {"const": 0},
                },
                {"dropped": array(integer(0))},
            )
        },
        body=obj({"jobs": array(JOB_REQUEST, minItems=1, maxItems=MAX_BATCH)}),
        headers={201: (REPEATED,)},
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Answer:
        """Enqueue a batch.

        `dropped` holds the positions of jobs that an enqueue middleware of this server dropped. A
        job has `deduplicated` if it equals a stored job and its `unique` policy is `ignore`, or if
        it was stored before.
        """
        return now(self.post_soon(request))

    def post_soon(self, request: Request) -> Later[Answer] | Answer:
        """Begin to enqueue a batch."""
        drafts = decode_all(job_codec.decode_batch(self.body()))
        self.principal.require_enqueue({(draft.queue, draft.type): None for draft in drafts})
        self.charge(len(drafts), enqueues=True)
        try:
            found = enqueue_batch_soon(drafts, self.caller)
        except Duplicate as problem:  # a batch of one job needs an index, too
            problem.details.setdefault("index", 0)
            raise
        return found.then(self._answer) if isinstance(found, Later) else self._answer(found)

    def _answer(self, stored: Sequence[Job | None]) -> Answer:
        encode = job_codec.NewJobs().encode
        kept = [
            job_codec.encode_job(seen, deduplicated=True) if seen.deduplicated else encode(seen)
            for job in stored
            if job is not None and (seen := self.as_seen(job))
        ]
        # all or none: the command line client reads both counts
        counts = {"count": len(kept), "enqueued": len(kept), "failed": 0}
        answer: dict[str, Any] = {"jobs": kept, **counts}
        if len(kept) < len(stored):
            answer["dropped"] = [n for n, job in enumerate(stored) if job is None]
        return Answer(answer, status=201)


def decode_all(raw: list[Any]) -> list[JobDraft]:
    """Decode every job of a batch; raises the first problem, with its index and all others."""
    drafts, problems = [], []
    decode = job_codec.batch_decoder()
    for index, item in enumerate(raw):
        try:
            drafts.append(decode(item))
        except OJSError as problem:
            problem.details["index"] = index
            problems.append(problem)
            if len(problems) >= LISTED:
                break
    if problems:
        raise OJSError.first_of(problems)
    return drafts


class JobDetail(OJSView):
    """INFO, CANCEL and PATCH."""

    @operation("getJob", {200: JOB_ANSWER}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show a job."""
        return now(self.get_soon(request, job_id))

    def get_soon(self, request: Request, job_id: str) -> Later[Answer] | Answer:
        """Begin to show a job."""
        found = show_soon(job_id)
        if isinstance(found, Later):
            return found.then(self._answer)
        return self._answer(found)

    def _answer(self, job: Job) -> Answer:
        seen = self.as_seen(own(self.principal, job))
        return Answer(job_codec.job_answer(seen, **checkpoint_member(job)))

    @operation(
        "changeJob", {200: JOB_ANSWER}, body=obj({"priority": PRIORITY}), refusals=(404, 409)
    )
    def patch(self, request: Request, job_id: str) -> Answer:
        """Change the priority of a waiting job: available, scheduled or pending."""
        priority = decode_priority(self.body())
        self.changeable(job_id)
        return Answer(
            job_codec.job_answer(self.as_seen(change_priority(job_id, priority, self.caller)))
        )

    @operation("cancelJob", {200: JOB_ANSWER}, refusals=(404, 409))
    def delete(self, request: Request, job_id: str) -> Answer:
        """Cancel a job."""
        self.changeable(job_id)
        job, previous = cancel(job_id, self.principal.name)
        return Answer(job_codec.job_answer(self.as_seen(job), previous_state=previous.value))

    def visible(self, job_id: str) -> Job:
        """Read a job the caller may see. Raises NotFound, also for another tenant's job."""
        if not is_id(job_id):
            raise NotFound.of("job", job_id)
        return own(self.principal, show(job_id))

    def changeable(self, job_id: str) -> Job:
        """Read a job the caller may change. Raises NotFound, PermissionDenied."""
        job = self.visible(job_id)
        self.principal.require_jobs("change jobs", [JobKind(job.queue, job.type)])
        return job


def own(principal: Principal, job: Job) -> Job:
    """Return a job if the caller may see it. Raises NotFound."""
    if principal.tenant not in {None, job.tenant}:
        raise NotFound.of("job", job.id)
    return job


class JobActivation(JobDetail):
    """ACTIVATE."""

    http_method_names = ["post", "options"]

    @operation("activateJob", {200: JOB_ANSWER}, body=OBJECT, needs_body=False, refusals=(404, 409))
    def post(self, request: Request, job_id: str) -> Answer:
        """Start a pending job."""
        self.optional_body()
        self.changeable(job_id)
        job = activate(job_id)
        return Answer(job_codec.job_answer(self.as_seen(job), previous_state=State.PENDING.value))


class JobResult(JobDetail):
    """The result."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "getJobResult",
        {200: RESULT},
        query=WAIT,
        refusals=(404,),
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """Show the result of a job, with `wait=true` once it has ended.

        If many others wait, the answer comes at once: check `state` and ask again.
        """
        wait_s = decode_wait(request)
        job = self.visible(job_id)
        if wait_s:
            job = job_or_wait(job, wait_s)
        job = self.as_seen(job)
        is_ended = state_of(job.state) in TERMINAL
        return Answer(
            {
                "job_id": job.id,
                "state": state_of(job.state).value,
                "result": None if job.result is None else orjson.Fragment(job.result),
                "error": None if job.error is None else orjson.Fragment(job.error),
                "completed_at": job.finished_at if is_ended and job.finished_at else None,
            }
        )


class JobRetries(JobDetail):
    """Failed attempts."""

    http_method_names = ["get", "head", "options"]

    @operation("getJobRetries", {200: RETRIES}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show the failed attempts of a job and its retry policy."""
        job = self.visible(job_id)
        policy = orjson.loads(job.attributes).get("retry") or {}
        return Answer(
            {
                "job_id": job.id,
                "retries": [_encode_failed(one, job) for one in failed_attempts(job)],
                "policy": {**policy, "max_attempts": job.max_attempts},
            }
        )


def _encode_failed(failed: FailedAttempt, job: Job) -> dict[str, Any]:
    is_last = failed.attempt == job.attempt and state_of(job.state) is State.DISCARDED
    return {
        "attempt": failed.attempt,
        "state": State.DISCARDED.value if is_last else State.RETRYABLE.value,
        "error": str(failed.error.get("message") or failed.error.get("code") or ""),
        "details": failed.error,
        "started_at": failed.started_at and format_time(failed.started_at),
        "failed_at": failed.failed_at and format_time(failed.failed_at),
        "next_retry_at": failed.retry_at,
    }


def decode_priority(body: Mapping[str, Any]) -> int:
    """Read `priority` by the rules of PUSH. Raises InvalidRequest."""
    if body.get("priority") is None:
        raise InvalidRequest.field("priority", "is required", body.get("priority"))
    return members.priority_of(body["priority"])
