"""Endpoints under /ojs/v1/dead-letter. Spec: contract 2.4, 3.6, 10.7, 28.

The admin API has the same endpoints under its own prefix and scopes:
`jobs/api/admin/dead_letter.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from rest_framework.request import Request

from jobs import queries
from jobs.api.base import OJSView
from jobs.api.jobs.detail import JOB_DETAIL, details, replay_facts
from jobs.api.jobs.jobs import JobDetail
from jobs.api.jobs.override import OVERRIDE, decode_override
from jobs.api.jobs.targets import require_covered
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    ID,
    PAGINATION,
    SHORT_DURATION,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.jobs import JOB, JOB_ANSWER
from jobs.api.wire import job_codec
from jobs.api.wire.admin import SINCE, moment, moment_of, plain, require_confirm
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, Page, page
from jobs.domain.errors import InvalidRequest
from jobs.domain.job import Job
from jobs.domain.outcome.retention import Retention
from jobs.domain.wire.durations import format_duration, parse_short_duration
from jobs.domain.wire.times import format_time
from jobs.services.operate import operate
from jobs.services.outcome.dead_letter import (
    DeadLetterFilter,
    Swept,
    dead_letter,
    dead_letter_stats,
    dead_letters,
    replays_of,
)

FLAGS = {"true": True, "1": True, "false": False, "0": False, "": False}
FILTER_TEXTS = ("queue", "type", "error_type", "tenant", "q")
MAX_SHOWN_ERRORS = 100

LIST = obj(
    {
        "jobs": array(JOB),
        "items": array(JOB),
        "total": integer(0),
        "pagination": PAGINATION,
    }
)
FILTER: dict[str, Schema] = {
    "queue": text(),
    "type": {**text(), "description": "Exact, or the beginning and `*`"},
    "error_type": text(),
    "since": SINCE,
    "until": SINCE,
    "q": {**text(), "description": "Part of the type or of the error's message"},
    "all": {"type": "string", "enum": list(FLAGS), "description": "Also jobs without a flag"},
}
AGE = maybe({"anyOf": [*SHORT_DURATION["anyOf"], {"const": ""}]})
BODY_FILTER = obj(
    {},
    {
        **{name: maybe(text()) for name in FILTER_TEXTS},
        **dict.fromkeys(("since", "until"), maybe(SINCE)),
        "older_than": AGE,
    },
    additionalProperties=False,
)
SWEPT = component(
    "DeadLetterSwept",
    obj(
        {
            "action": text(1),
            "matched": integer(0),
            "succeeded": integer(0),
            "failed": integer(0),
            "retried": integer(0),
            "errors": array(obj({"job_id": ID, "error": text(1)})),
        },
        {"truncated": BOOLEAN},
    ),
)
PURGED = obj({"deleted": integer(0), "purged_count": integer(0)}, {"truncated": BOOLEAN})
RETENTION = component(
    "DeadLetterRetention",
    obj(
        {
            "max_age": {**maybe(text(1)), "description": "Null: any age"},
            "max_count": {**maybe(integer(1)), "description": "Null: any number"},
        }
    ),
)
STATS = component(
    "DeadLetterStats",
    obj(
        {
            "total": integer(0),
            **{
                f"by_{name}": {"type": "object", "additionalProperties": integer(0)}
                for name in ("queue", "type", "error_type")
            },
            "oldest_at": maybe(TIME),
            "newest_at": maybe(TIME),
            "retention": RETENTION,
            "retention_by_queue": {"type": "object", "additionalProperties": RETENTION},
        },
        {"is_partial": BOOLEAN},
    ),
)


class DeadLetterCollection(OJSView):
    """List the dead letter, or empty it."""

    @may_lag
    @operation(
        "listDeadLetter",
        {200: LIST},
        query={**FILTER, **QUERY},
        aliases={"/ojs/v1/admin/dead-letter": "adminListDeadLetter"},
    )
    def get(self, request: Request) -> Answer:
        """List flagged jobs, with `all=true` every discarded one, newest first."""
        window = self.window(request)
        jobs, total = dead_letters(
            self.decode_filter(request), limit=window.limit, offset=window.offset
        )
        shown = encode_dead([self.as_seen(job, is_listed=True) for job in jobs])
        pagination = window.answer(total)
        return Answer({"jobs": shown, "items": shown, "total": total, "pagination": pagination})

    def window(self, request: Request) -> Page:
        """Read the filter of the list. Raises InvalidRequest."""
        return page(request)

    def decode_filter(self, request: Request) -> DeadLetterFilter:
        """Read the query. Raises InvalidRequest."""
        everything = request.query_params.get("all", "").lower()
        if everything not in FLAGS:
            raise InvalidRequest.field("all", "must be true or false", everything[:100])
        return DeadLetterFilter(
            queue=plain(request, "queue"),
            type=plain(request, "type"),
            error_type=plain(request, "error_type"),
            since=moment(request, "since"),
            before=moment(request, "until"),
            tenant=self.principal.tenant,
            text=plain(request, "q"),
            is_all=FLAGS[everything],
        )

    @operation(
        "emptyDeadLetter",
        {200: PURGED},
        body=obj(
            {"confirm": {"const": True}},
            {"filter": maybe(BODY_FILTER), "older_than": AGE},
        ),
        aliases={"/ojs/v1/admin/dead-letter": "adminEmptyDeadLetter"},
    )
    def delete(self, request: Request) -> Answer:
        """Delete the matching jobs of the dead letter for good, at most 10,000 at once."""
        body = self.body()
        require_confirm(body)
        wanted = decode_body_filter(body, self.principal.tenant)
        require_covered(self.principal, None, wanted.queue, wanted.type)
        return Answer(_purged(operate.purge_dead_letters(wanted, self.caller)))


def encode_dead(jobs: Sequence[Job]) -> list[orjson.Fragment]:
    """Encode list items: the envelope with its errors and how often it was replayed."""
    replays = replays_of([job.id for job in jobs])
    return [
        job_codec.encode_job(
            job,
            errors=[] if job.errors is None else orjson.Fragment(job.errors),
            replay_count=replay_facts(job, replays.get(job.id))["replay_count"],
        )
        for job in jobs
    ]


def decode_body_filter(body: Mapping[str, Any], tenant: str | None) -> DeadLetterFilter:
    """Read `filter` and `older_than` of a body; a misspelt member must not delete everything.

    Raises InvalidRequest.
    """
    raw = body.get("filter")
    given: Mapping[str, Any] = {} if raw is None else raw
    if not isinstance(given, Mapping):
        raise InvalidRequest.field("filter", "must be an object", raw)
    accepted = {*FILTER_TEXTS, "since", "until", "older_than"}
    if unknown := sorted(set(given) - accepted):
        raise InvalidRequest.field(f"filter.{unknown[0]}", "is not a member of the filter")
    texts = {name: _text_of(given, name) for name in FILTER_TEXTS}
    until = moment_of(given.get("until"), "filter.until")
    ages = (body.get("older_than"), given.get("older_than"))
    ends = [at for at in (until, *map(age_limit, ages)) if at]
    return DeadLetterFilter(
        queue=texts["queue"],
        type=texts["type"],
        error_type=texts["error_type"],
        since=moment_of(given.get("since"), "filter.since"),
        before=min(ends, default=None),
        tenant=tenant or texts["tenant"],
        text=texts["q"],
    )


def _text_of(given: Mapping[str, Any], name: str) -> str | None:
    raw = given.get(name)
    if raw is not None and not isinstance(raw, str):
        raise InvalidRequest.field(f"filter.{name}", "must be a string", raw)
    return raw or None


def age_limit(raw: object) -> datetime | None:
    """Return the time before which a job is older than `raw`. Raises InvalidRequest."""
    if raw is None or raw == "":
        return None
    try:
        ms = parse_short_duration(raw)
    except ValueError as problem:
        raise InvalidRequest.field("older_than", str(problem), raw) from None
    return queries.now() - timedelta(milliseconds=ms)


def _purged(swept: Swept) -> dict[str, Any]:
    shown: dict[str, Any] = {"deleted": swept.succeeded, "purged_count": swept.succeeded}
    return shown | ({"truncated": True} if swept.is_truncated else {})


class DeadLetterStats(OJSView):
    """Its statistics."""

    @may_lag
    @operation(
        "getDeadLetterStats",
        {200: STATS},
        aliases={"/ojs/v1/admin/dead-letter/stats": "adminGetDeadLetterStats"},
    )
    def get(self, request: Request) -> Answer:
        """Count the dead letter by queue, type and error.

        By type and error the latest 10,000 jobs are counted, by queue at most 10,000 of each.
        `is_partial` states that there are more. `retention` applies to queues without their own.
        """
        found = dead_letter_stats(self.principal.tenant)
        return Answer(
            {
                "total": found.total,
                "by_queue": found.by_queue,
                "by_type": found.by_type,
                "by_error_type": found.by_error_type,
                "oldest_at": found.oldest_at and format_time(found.oldest_at),
                "newest_at": found.newest_at and format_time(found.newest_at),
                "retention": _encode_retention(found.retention),
                "retention_by_queue": {
                    queue: _encode_retention(kept)
                    for queue, kept in found.retention_by_queue.items()
                },
                **({"is_partial": True} if found.is_partial else {}),
            }
        )


def _encode_retention(kept: Retention) -> dict[str, Any]:
    age_ms = kept.dead_letter
    return {
        "max_age": None if age_ms is None else format_duration(age_ms),
        "max_count": kept.dead_letter_jobs,
    }


class DeadLetterJob(JobDetail):
    """One discarded job."""

    http_method_names = ["get", "head", "delete", "options"]

    @operation(
        "getDeadLetterJob",
        {200: JOB_DETAIL},
        refusals=(404,),
        aliases={"/ojs/v1/admin/dead-letter/{job_id}": "adminGetDeadLetterJob"},
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """Show a discarded job with all its details."""
        self.visible(job_id)
        job = dead_letter(job_id)
        more = details(job, replays_of([job.id]).get(job.id))
        return Answer(job_codec.job_answer(self.as_seen(job), **more))

    @operation(
        "deleteDeadLetterJob",
        {200: obj({"deleted": BOOLEAN, "job_id": ID, "id": ID})},
        refusals=(404,),
    )
    def delete(self, request: Request, job_id: str) -> Answer:
        """Delete a discarded job for good."""
        self.remove(job_id)
        return Answer({"deleted": True, "job_id": job_id, "id": job_id})

    def remove(self, job_id: str) -> None:
        """Delete a job that the caller may see. Raises NotFound."""
        self.changeable(job_id)
        operate.delete_dead_letter(job_id, self.caller)


class DeadLetterRetry(JobDetail):
    """Manual retry."""

    http_method_names = ["post", "options"]

    @operation(
        "retryDeadLetterJob",
        {200: JOB_ANSWER},
        body=obj({}, {"override": maybe(OVERRIDE), "clear_checkpoint": BOOLEAN}),
        needs_body=False,
        refusals=(404, 409),
        aliases={"/ojs/v1/admin/dead-letter/{job_id}/retry": "adminRetryDeadLetterJob"},
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Make a discarded job available again, with changes if wanted."""
        body = self.optional_body()
        job = self.changeable(job_id)
        override = decode_override(body, job)
        if override and override.queue:
            self.principal.require_enqueue([(override.queue, job.type)])
        retried = operate.retry_dead_letter(job_id, override, self.caller)
        return Answer(job_codec.job_answer(self.as_seen(retried)))


class DeadLetterRetryAll(OJSView):
    """Manual retry of many jobs."""

    @operation(
        "retryDeadLetter",
        {200: SWEPT},
        body=obj({"confirm": {"const": True}}, {"filter": maybe(BODY_FILTER)}),
        aliases={"/ojs/v1/admin/dead-letter/retry": "adminRetryDeadLetter"},
    )
    def post(self, request: Request) -> Answer:
        """Make the matching jobs available again, at most 10,000 at once."""
        body = self.body()
        require_confirm(body)
        wanted = decode_body_filter(body, self.principal.tenant)
        require_covered(self.principal, None, wanted.queue, wanted.type)
        swept = operate.retry_dead_letters(wanted, self.caller)
        shown = {
            "action": "retry",
            "matched": swept.matched,
            "succeeded": swept.succeeded,
            "retried": swept.succeeded,
            "failed": len(swept.skipped),
            "errors": [
                {"job_id": job_id, "error": "not discarded any more"}
                for job_id in swept.skipped[:MAX_SHOWN_ERRORS]
            ],
        }
        return Answer(shown | ({"truncated": True} if swept.is_truncated else {}))


class DeadLetterPurge(OJSView):
    """Empty the dead letter, at the path of the command line client."""

    @operation(
        "purgeDeadLetter",
        {200: PURGED},
        query={
            "older_than": {**AGE, "description": "Only jobs older than this, such as 7d or P7D"}
        },
        aliases={"/ojs/v1/admin/dead-letter/purge": "adminPurgeDeadLetter"},
    )
    def post(self, request: Request) -> Answer:
        """Delete the jobs of the dead letter for good, at most 10,000 at once."""
        before = age_limit(request.query_params.get("older_than"))
        require_covered(self.principal, None, None, None)
        wanted = DeadLetterFilter(before=before, tenant=self.principal.tenant)
        return Answer(_purged(operate.purge_dead_letters(wanted, self.caller)))
