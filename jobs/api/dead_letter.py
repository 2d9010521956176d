"""Endpoints under /ojs/v1/dead-letter. Spec: contract 2.4, 3.6, 10.7."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from jobs.api import codec
from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.paging import QUERY, page
from jobs.api.schemas import (
    BOOLEAN,
    ID,
    PAGINATION,
    TIME,
    array,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.jobs import JOB, JOB_ANSWER, JOB_REQUEST_MEMBERS
from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest
from jobs.domain.job import Job
from jobs.domain.times import parse_time
from jobs.services.dead_letter import DeadLetterFilter, Override, dead_letters, delete, retry

OVERRIDABLE = frozenset({"queue", "args", "meta", "priority", "retry"})
FLAGS = {"true": True, "1": True, "false": False, "0": False, "": False}

LIST = obj({"jobs": array(JOB), "items": array(JOB), "total": integer(0), "pagination": PAGINATION})
FILTER = {
    "queue": text(),
    "type": text(),
    "error_type": text(),
    "since": {"anyOf": [TIME, {"const": ""}]},
    "all": {"type": "string", "enum": list(FLAGS), "description": "Those not flagged, too"},
}
OVERRIDE = obj(
    {}, {name: JOB_REQUEST_MEMBERS[name] for name in sorted(OVERRIDABLE)},
    additionalProperties=False,
)  # fmt: skip


class DeadLetterCollection(OJSView):
    """List the dead letter."""

    scopes = {"GET": "ojs:data:read"}

    @operation("listDeadLetter", {200: LIST}, query={**FILTER, **QUERY})
    def get(self, request: Request) -> Answer:
        """List flagged jobs, with `all=true` every discarded one, newest first."""
        window = page(request)
        wanted = self.decode_filter(request)
        jobs, total = dead_letters(wanted, limit=window.limit, offset=window.offset)
        shown = codec.encode_all(jobs)
        return Answer(
            {"jobs": shown, "items": shown, "total": total, "pagination": window.answer(total)}
        )

    def decode_filter(self, request: Request) -> DeadLetterFilter:
        """Read the query. Raises InvalidRequest."""
        query = request.query_params
        everything = query.get("all", "").lower()
        if everything not in FLAGS:
            raise InvalidRequest.field("all", "must be true or false", everything[:100])
        since = query.get("since")
        return DeadLetterFilter(
            queue=query.get("queue"),
            type=query.get("type"),
            error_type=query.get("error_type"),
            since=parse_time(since, "since") if since else None,
            tenant=self.principal.tenant,
            is_all=FLAGS[everything],
        )


class DeadLetterJob(JobDetail):
    """Remove a discarded job."""

    scopes = {"DELETE": "ojs:data:cancel"}
    http_method_names = ["delete", "options"]

    @operation(
        "deleteDeadLetterJob",
        {200: obj({"deleted": BOOLEAN, "job_id": ID, "id": ID})},
        refusals=(404,),
    )
    def delete(self, request: Request, job_id: str) -> Answer:
        """Delete a discarded job for good."""
        self.visible(job_id)
        delete(job_id)
        return Answer({"deleted": True, "job_id": job_id, "id": job_id})


class DeadLetterRetry(JobDetail):
    """Manual retry."""

    scopes = {"POST": "ojs:data:cancel"}
    http_method_names = ["post", "options"]

    @operation(
        "retryDeadLetterJob",
        {200: JOB_ANSWER},
        body=obj({}, {"override": maybe(OVERRIDE)}),
        needs_body=False,
        refusals=(404,),
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Make a discarded job available again, with changes if wanted."""
        raw = self.optional_body().get("override")
        job = self.visible(job_id)
        override = decode_override(raw, job)
        if override and override.queue:
            self.principal.require_enqueue([(override.queue, job.type)])
        return Answer({"job": codec.encode_job(retry(job_id, override))})


def decode_override(raw: object, job: Job) -> Override | None:
    """Read what a manual retry changes, by the rules of PUSH. Raises InvalidRequest and others."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field("override", "must be an object", raw)
    if unknown := sorted(set(raw) - OVERRIDABLE):
        raise InvalidRequest.field(f"override.{unknown[0]}", "cannot be changed by a retry")
    given: dict[str, Any] = {name: raw[name] for name in OVERRIDABLE & raw.keys()}
    # null is "not given" for what PUSH may leave out, and args it may not
    given = {name: value for name, value in given.items() if value is not None or name == "args"}
    draft = parse_job({"type": job.type, "args": [], **given}, limits=codec.limits())
    return Override(
        queue=draft.queue if "queue" in given else None,
        args=draft.args if "args" in given else None,
        meta=draft.meta if "meta" in given else None,
        priority=draft.priority if "priority" in given else None,
        retry=draft.retry if "retry" in given else None,
    )
