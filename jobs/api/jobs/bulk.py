"""Endpoints under /ojs/v1/jobs/bulk. Spec: contract 11.2."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, ClassVar

import orjson
from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.jobs import REPEATED, decode_all
from jobs.api.jobs.targets import (
    MOST,
    MOST_MATCHES,
    decode_targets,
    limited,
    require_covered,
    targets,
)
from jobs.api.openapi import operation
from jobs.api.problems import error_body
from jobs.api.schemas import BOOLEAN, PROBLEM, array, integer, maybe, obj, text
from jobs.api.schemas.jobs import JOB, JOB_REQUEST
from jobs.api.wire import job_codec
from jobs.api.wire.answer import Answer
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import BulkFailed, Duplicate, InvalidRequest, OJSError
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import ALLOWED_TO_CLIENTS, DEFAULTS, DONE, JobFilter, Verb
from jobs.domain.states import State
from jobs.domain.wire import jsonio
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.enqueue.idempotency import Reply, Ticket, once
from jobs.services.operate.bulk import Report
from jobs.services.operate.operate import many, matching

MAX_KEY = 256
UNDONE = BulkFailed("rolled back: another job of the request failed")

Outcome = Job | OJSError | None
KEY = {"idempotency_key": maybe(text(1, MAX_KEY))}
TARGETS = targets({}, KEY)
ITEM = obj(
    {"index": integer(0), "status": {"type": "string", "enum": ["created", "duplicate", "failed",
                                                                "dropped"]}},
    {"job": JOB, "error": PROBLEM},
)  # fmt: skip
COUNTS = {
    "total": integer(0), "succeeded": integer(0), "failed": integer(0), "items": array(ITEM),
}  # fmt: skip
CREATED = obj(COUNTS)


class Repeatable(OJSView):
    """A bulk operation that may carry an idempotency key."""

    is_atomic: ClassVar[bool] = False

    def answer_once(self, body: Mapping[str, Any], work: Callable[[], Reply]) -> Answer:
        """Do the work, or return the stored answer of its key."""
        key = _key(self.http.META.get("HTTP_IDEMPOTENCY_KEY"), body)
        if key is None:
            reply = work()
        else:
            name = type(self).__name__
            raw = self.http.body
            reply = once(Ticket(name, self.principal.tenant, key, raw, self.is_atomic), work)
        headers = {"Idempotency-Replayed": "true"} if reply.is_repeated else {}
        return Answer(reply.body, status=reply.status, headers=headers)


def _key(header: str | None, body: Mapping[str, Any]) -> str | None:
    name = "Idempotency-Key" if header is not None else "idempotency_key"
    raw = header if header is not None else body.get(name)
    if raw is None:
        return None
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_KEY:
        raise InvalidRequest.field(name, f"must be text of 1 to {MAX_KEY} characters", raw)
    return raw


# --- enqueue --------------------------------------------------------------------------------------


class BulkEnqueue(Repeatable):
    """PUSH of many jobs, each by itself by default."""

    is_atomic = True

    @operation(
        "bulkEnqueue",
        {201: CREATED, 200: CREATED, 207: CREATED, 422: obj({"error": PROBLEM}, COUNTS)},
        body=obj(
            {"jobs": array(JOB_REQUEST, minItems=1, maxItems=MOST)},
            {"atomicity": maybe({"type": "string", "enum": ["partial", "atomic"]}), **KEY},
        ),
        headers=dict.fromkeys((200, 201, 207), (REPEATED,)),
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Answer:
        """Enqueue up to 1,000 jobs, each accepted one; with `atomicity` `atomic` all or none.

        201: all are stored; 200: some equal stored jobs or were dropped by middleware; 207: some
        failed; 422: all failed, or one failed and all were undone.
        """
        body = self.body()
        atomicity = "partial" if body.get("atomicity") is None else body["atomicity"]
        if atomicity not in ("partial", "atomic"):  # a list: it may be unhashable
            raise InvalidRequest.field("atomicity", "must be partial or atomic", atomicity)
        raw = limited(body, "jobs")
        push = self._push_all if atomicity == "atomic" else self._push_each
        return self.answer_once(body, lambda: self._reply(push(raw)))

    def _push_all(self, raw: list[Any]) -> list[Outcome]:
        try:
            drafts = decode_all(raw)
            self.principal.require_enqueue({(draft.queue, draft.type): None for draft in drafts})
            return list(enqueue(drafts, self.caller))
        except OJSError as problem:
            index = problem.details.pop("index", 0 if len(raw) == 1 else None)
            if index is None:
                raise
            return [problem if n == index else UNDONE for n in range(len(raw))]

    def _push_each(self, raw: list[Any]) -> list[Outcome]:
        outcomes: list[Outcome] = [None] * len(raw)
        drafts: dict[int, JobDraft] = {}
        decode = job_codec.batch_decoder()
        for n, item in enumerate(raw):
            try:
                draft = decode(item)
                self.principal.require_enqueue([(draft.queue, draft.type)])
                drafts[n] = draft
            except OJSError as problem:
                outcomes[n] = problem
        for n, outcome in zip(
            drafts, enqueue_each(list(drafts.values()), self.caller), strict=True
        ):
            outcomes[n] = outcome
        return outcomes

    def _reply(self, outcomes: list[Outcome]) -> Reply:
        encode = job_codec.NewJobs().encode
        items = [self._item(n, outcome, encode) for n, outcome in enumerate(outcomes)]
        failed = sum(isinstance(outcome, OJSError) for outcome in outcomes)
        shown: dict[str, Any] = {
            "total": len(items),
            "succeeded": len(items) - failed,
            "failed": failed,
            "items": items,
        }
        if failed == len(items):
            first = next(o for o in outcomes if isinstance(o, OJSError) and o is not UNDONE)
            details = {**first.details, "index": outcomes.index(first)}
            problem = BulkFailed(f"no job was stored: {first.message}", details=details)
            shown = error_body(problem, self.identity) | shown
            return Reply(HTTPStatus.UNPROCESSABLE_ENTITY, jsonio.dumps(shown))
        status = HTTPStatus.CREATED
        if failed:
            status = HTTPStatus.MULTI_STATUS
        elif any(item["status"] != "created" for item in items):
            status = HTTPStatus.OK
        return Reply(status, jsonio.dumps(shown))

    def _item(
        self, index: int, outcome: Outcome, encode: Callable[[Job], orjson.Fragment]
    ) -> dict[str, Any]:
        if outcome is None:
            return {"index": index, "status": "dropped"}
        if isinstance(outcome, OJSError):
            status = "duplicate" if isinstance(outcome, Duplicate) else "failed"
            error = error_body(outcome, self.identity)["error"]
            return {"index": index, "status": status, "error": error}
        status = "duplicate" if outcome.deduplicated else "created"
        return {
            "index": index,
            "status": status,
            "job": encode(self.as_seen(outcome)),
        }


# --- verbs on stored jobs -------------------------------------------------------------------------


def _done(verb: Verb) -> dict[str, Any]:
    statuses = {"type": "string", "enum": [DONE[verb], "skipped"]}
    item = obj({"id": text(), "job_id": text(), "status": statuses}, {"reason": text()})
    counts = {name: integer(0) for name in ("total_matched", DONE[verb], "skipped", "failed")}
    return obj({**counts, "items": array(item)}, {"truncated": BOOLEAN})


class BulkVerb(Repeatable):
    """One verb on jobs by id or filter."""

    verb: ClassVar[Verb]

    def act(self) -> Answer:
        """Read the request and apply the verb."""
        body = self.body()
        ids, wanted = decode_targets(body)
        require_covered(self.principal, ids, wanted.queue, wanted.type)
        if ids is not None:
            return self.answer_once(body, lambda: self._by_id(ids))
        return self.answer_once(body, lambda: self._by_filter(wanted))

    def _by_id(self, ids: list[str]) -> Reply:
        states = ALLOWED_TO_CLIENTS[self.verb]
        report, why = many(self.verb, ids, self.caller, states=states)
        return self._reply(report, why)

    def _by_filter(self, wanted: JobFilter) -> Reply:
        own = self.principal.tenant
        is_foreign = own is not None and wanted.tenant not in {None, own}
        # running jobs are cancelled by id only
        taken = ALLOWED_TO_CLIENTS[self.verb] - {State.ACTIVE}
        states = tuple(state for state in wanted.states or DEFAULTS[self.verb] if state in taken)
        if is_foreign or not states:
            return self._reply(Report(), {})
        wanted = replace(wanted, tenant=own or wanted.tenant, states=states)
        return self._reply(matching(self.verb, wanted, self.caller, most=MOST_MATCHES), {})

    def _reply(self, report: Report, why: Mapping[str, str]) -> Reply:
        done = DONE[self.verb]
        items = [_item(job_id, done) for job_id in report.done[:MOST]]
        for job_id in report.skipped[: MOST - len(items)]:
            items.append(_item(job_id, "skipped") | {"reason": why.get(job_id, "moved")})
        shown: dict[str, Any] = {
            "total_matched": report.matched,
            done: len(report.done),
            "skipped": len(report.skipped),
            "failed": 0,
            "items": items,
        }
        if report.is_truncated:
            shown["truncated"] = True
        is_mixed = bool(report.done and report.skipped)
        status = HTTPStatus.MULTI_STATUS if is_mixed else HTTPStatus.OK
        return Reply(status, jsonio.dumps(shown))


def _item(job_id: str, status: str) -> dict[str, str]:
    return {"id": job_id, "job_id": job_id, "status": status}


class BulkCancel(BulkVerb):
    """CANCEL of many jobs."""

    verb = Verb.CANCEL

    @operation("bulkCancel", dict.fromkeys((200, 207), _done(verb)), body=TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Cancel jobs by `job_ids` or by `filter`: exactly one of them.

        A filter selects available and scheduled jobs unless it names states; running jobs are
        cancelled by id only.
        """
        return self.act()


class BulkRetry(BulkVerb):
    """Manual retry of many jobs."""

    verb = Verb.RETRY

    @operation("bulkRetry", dict.fromkeys((200, 207), _done(verb)), body=TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Make discarded and retryable jobs available by `job_ids` or by `filter`."""
        return self.act()


class BulkDelete(BulkVerb):
    """Removal of many jobs."""

    verb = Verb.DELETE

    @operation("bulkDelete", dict.fromkeys((200, 207), _done(verb)), body=TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Delete ended jobs for good by `job_ids` or by `filter`."""
        return self.act()
