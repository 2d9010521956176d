"""Progress endpoints, HTTP and SDK form. Spec: contract 3.3, 29."""

from collections.abc import Mapping
from typing import Any

from django.utils.http import http_date
from rest_framework.request import Request

from jobs.api.jobs.jobs import JobDetail
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
from jobs.api.wire import members
from jobs.api.wire.answer import Answer
from jobs.domain.errors import InvalidRequest, PayloadTooLarge, Unprocessable
from jobs.domain.job import Job, JobKind
from jobs.domain.states import state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.metrics import observe_progress
from jobs.services.outcome.progress import Progress, progress_of, report

MAX_DATA_BYTES = MAX_CHECKPOINT_BYTES = 65_536
SOFT_DATA_BYTES = 4096  # more is accepted, with a warning
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
        },
        {"ignored": {"const": True}},
    ),
)
REPORT = {"message": text(), "data": ANY, "checkpoint": ANY, "worker_id": WORKER_ID}


def _one_of(number: str) -> list[Schema]:
    anything: Schema = {"not": {"type": "null"}}
    given = (
        (number, NUMBER), ("message", text()), ("data", anything), ("checkpoint", anything)
    )  # fmt: skip
    return [{"required": [name], "properties": {name: schema}} for name, schema in given]


def decode_progress(body: Mapping[str, Any], name: str, scale: float) -> Progress:
    """Read a report; `name` is the number's member, `scale` the value of 100 percent."""
    raw = body.get(name)
    if raw is not None and (isinstance(raw, bool) or not isinstance(raw, int | float)):
        raise Unprocessable.field(name, "must be a number", raw)
    message, data, checkpoint = body.get("message"), body.get("data"), body.get("checkpoint")
    if message is not None and not isinstance(message, str):
        raise InvalidRequest.field("message", "must be a string", message)
    if raw is None and message is None and data is None and checkpoint is None:
        raise Unprocessable.field(name, "or message, data or checkpoint is required")
    for member, value, most in (
        ("data", data, MAX_DATA_BYTES),
        ("checkpoint", checkpoint, MAX_CHECKPOINT_BYTES),
    ):
        size = len(jsonio.dumps(value))
        if size > most:
            raise PayloadTooLarge.of(member, most, size)
    fraction = None if raw is None else min(1.0, max(0.0, raw / scale))
    return Progress(fraction, message and message[:MAX_MESSAGE], data, checkpoint=checkpoint)


def encode_progress(job: Job, now: Progress | None = None) -> dict[str, Any]:
    """Encode the progress of a job, read here unless it is given."""
    now = now or progress_of(job)
    return {
        "job_id": job.id,
        "state": state_of(job.state).value,
        "progress": now.fraction,
        "message": now.message,
        "data": now.data,
        "updated_at": now.updated_at and format_time(now.updated_at),
    }


def progress_answer(job: Job, *, reported: Progress | None = None, stored: bool = True) -> Answer:
    """Answer with the progress of a job; after a report also whether it was stored."""
    now = progress_of(job)
    headers = {"Cache-Control": "no-cache"}
    if now.fraction is not None:
        headers["X-OJS-Progress"] = f"{now.fraction:g}"
    if now.updated_at is not None:
        headers["Last-Modified"] = http_date(now.updated_at.timestamp())
    if reported and len(jsonio.dumps(reported.data)) > SOFT_DATA_BYTES:
        headers["Warning"] = f'299 - "data is larger than {SOFT_DATA_BYTES} bytes"'
    shown = encode_progress(job, now)
    return Answer(shown if stored else {**shown, "ignored": True}, headers=headers)


class ProgressView(JobDetail):
    """Stores reports."""

    def reported(self, job_id: str, wanted: Progress, worker_id: str | None) -> Answer:
        """Store a report and show the progress. Raises NotFound, Conflict."""
        job = self.visible(job_id)
        if refusal := self.principal.answer_refusal(JobKind(job.queue, job.type)):
            raise refusal
        is_stored = report(job_id, wanted, worker_id=worker_id)
        if is_stored:
            checkpoint = wanted.checkpoint
            size = None if checkpoint is None else len(jsonio.dumps(checkpoint))
            observe_progress(job.queue, job.type, size)
        return progress_answer(self.visible(job_id), reported=wanted, stored=is_stored)


class JobProgress(ProgressView):
    """Read and report the progress of one job."""

    http_method_names = ["get", "head", "put", "options"]

    @operation("getProgress", {200: PROGRESS}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show the latest progress report."""
        return progress_answer(self.visible(job_id))

    @operation(
        "reportProgress",
        {200: PROGRESS},
        body=obj({}, optional({"progress": NUMBER, **REPORT}), anyOf=_one_of("progress")),
        refusals=(404, 409),
    )
    def put(self, request: Request, job_id: str) -> Answer:
        """Report progress.

        Clamped to 0 to 1; never falls within an attempt; only reports of active jobs are stored.
        """
        body = self.body()
        wanted, worker_id = decode_progress(body, "progress", 1.0), members.worker_id(body)
        return self.reported(job_id, wanted, worker_id)


class WorkerProgress(ProgressView):
    """The path for progress reports of SDKs, in percent."""

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
        job_id = members.job_id(body)
        wanted, worker_id = decode_progress(body, "percentage", 100.0), members.worker_id(body)
        return self.reported(job_id, wanted, worker_id)
