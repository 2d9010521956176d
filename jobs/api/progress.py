"""Progress endpoints, HTTP and SDK form. Spec: contract 3.3, 29."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from jobs.api import codec
from jobs.api.answer import Answer
from jobs.api.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    ID,
    NUMBER,
    STATE,
    TIME,
    WORKER_ID,
    Schema,
    component,
    maybe,
    obj,
    optional,
    text,
)
from jobs.domain import jsonio
from jobs.domain.errors import InvalidRequest, PayloadTooLarge
from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.domain.times import format_time
from jobs.services.progress import Progress, progress_of, report

MAX_DATA_BYTES = 65_536
MAX_MESSAGE = 10_000

PROGRESS = component(
    "Progress",
    obj(
        {
            "job_id": ID,
            "state": STATE,
            "progress": maybe({"type": "number", "minimum": 0, "maximum": 1}),
            "message": maybe(text()),
            "data": ANY,
            "updated_at": maybe(TIME),
        }
    ),
)
REPORT = {"message": text(), "data": ANY, "worker_id": WORKER_ID}


def _one_of(number: str) -> list[Schema]:
    given = ((number, NUMBER), ("message", text()), ("data", {"not": {"type": "null"}}))
    return [{"required": [name], "properties": {name: schema}} for name, schema in given]


def decode_progress(body: Mapping[str, Any], name: str, scale: float) -> Progress:
    """Read a report; `name` is the number's member, `scale` what counts as done."""
    raw = body.get(name)
    if raw is not None and (isinstance(raw, bool) or not isinstance(raw, int | float)):
        raise InvalidRequest.field(name, "must be a number", raw)
    message, data = body.get("message"), body.get("data")
    if message is not None and not isinstance(message, str):
        raise InvalidRequest.field("message", "must be a string", message)
    if raw is None and message is None and data is None:
        raise InvalidRequest.field(name, "or message or data is required")
    size = len(jsonio.dumps(data))
    if size > MAX_DATA_BYTES:
        raise PayloadTooLarge.of("data", MAX_DATA_BYTES, size)
    fraction = None if raw is None else min(1.0, max(0.0, raw / scale))
    return Progress(fraction, message and message[:MAX_MESSAGE], data)


def encode_progress(job: Job) -> dict[str, Any]:
    """Encode what is known of a job's progress."""
    now = progress_of(job)
    return {
        "job_id": job.id,
        "state": state_of(job.state).value,
        "progress": now.fraction,
        "message": now.message,
        "data": now.data,
        "updated_at": now.updated_at and format_time(now.updated_at),
    }


class JobProgress(JobDetail):
    """Read and report the progress of one job."""

    scopes = {"GET": "ojs:data:read", "PUT": "ojs:data:fetch"}
    http_method_names = ["get", "head", "put", "options"]

    @operation("getProgress", {200: PROGRESS}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show what was reported last."""
        return Answer(encode_progress(self.visible(job_id)))

    @operation(
        "reportProgress",
        {200: PROGRESS},
        body=obj({}, optional({"progress": NUMBER, **REPORT}), anyOf=_one_of("progress")),
        refusals=(404, 409),
    )
    def put(self, request: Request, job_id: str) -> Answer:
        """Report progress.

        Clamped to 0 to 1; never falls within an attempt; nothing is stored unless the job is
        active.
        """
        body = self.body()
        wanted, worker_id = decode_progress(body, "progress", 1.0), codec.worker_id(body)
        self.visible(job_id)
        report(job_id, wanted, worker_id=worker_id)
        return Answer(encode_progress(self.visible(job_id)))


class WorkerProgress(JobDetail):
    """The SDKs' way to report progress, in percent."""

    scopes = {"POST": "ojs:data:fetch"}
    http_method_names = ["post", "options"]

    @operation(
        "reportPercentage",
        {200: PROGRESS},
        body=obj(
            {"job_id": text(1)},
            optional({"percentage": NUMBER, **REPORT}),
            anyOf=_one_of("percentage"),
        ),
        refusals=(404, 409),
    )
    def post(self, request: Request) -> Answer:
        """Report progress in percent."""
        body = self.body()
        job_id = codec.job_id(body)
        wanted, worker_id = decode_progress(body, "percentage", 100.0), codec.worker_id(body)
        self.visible(job_id)
        report(job_id, wanted, worker_id=worker_id)
        return Answer(encode_progress(self.visible(job_id)))
