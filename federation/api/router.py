"""The hosted router: endpoints under /ojs/v1/federation. Spec: contract 23.3, 23.5."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from rest_framework.request import Request

from federation.api import codec, schemas
from federation.api.base import FederationView
from federation.domain.meta import DEDUPLICATED_HEADER
from federation.services.registry.regions import registry
from federation.services.replication.dedupe import asking
from federation.services.replication.lag import lags_ms
from federation.services.routing import route
from federation.services.routing.place import (
    HOP_HEADER,
    Placed,
    Sender,
    Stored,
    Wish,
    place,
    wished,
)
from federation.services.routing.place_many import Outcome, place_many
from jobs.api.openapi import operation
from jobs.api.problems import error_body
from jobs.api.schemas import OBJECT, PROBLEM, TYPE, array, component, integer, obj, text
from jobs.api.schemas.jobs import JOB, JOB_REQUEST
from jobs.api.wire import job_codec, members
from jobs.api.wire.answer import Answer
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import BulkFailed, InvalidRequest, OJSError, TenantMismatch
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.domain.wire.names import VERSIONED_TYPE_PATTERN as VERSIONED_TYPE
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each

EXTENSION = "federation"
MOST = 1_000
LAST_STATUS = 599  # of HTTP
HOP = "HTTP_" + HOP_HEADER.upper().replace("-", "_")
FEDERATION = component(
    "Federation",
    obj(
        {
            "target_region": schemas.REGION_ID,
            "strategy": text(1),
            "federation_id": text(1),
            "redirects": integer(0),
        },
        additionalProperties=False,
    ),
)
# the body of the region's answer; the region may be another server
PLACED = obj({"federation": FEDERATION}, {"job": JOB}, additionalProperties=True)
RESULT = obj(
    {"index": integer(0), "status": integer(HTTPStatus.CONTINUE.value, LAST_STATUS)},
    {"job": OBJECT, "error": PROBLEM, "federation": FEDERATION},
)
COUNTS = {"results": array(RESULT), "enqueued": integer(0), "failed": integer(0)}


class Regions(FederationView):
    """The regions as this router sees them."""

    @operation("listFederationRegions", {200: schemas.REGIONS}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """List the regions with status, latency and breaker."""
        return Answer(codec.encode_regions(registry()))


class Route(FederationView):
    """A dry run of the routing."""

    @operation(
        "routeJob",
        {200: schemas.ROUTE},
        body=obj({}, {"type": TYPE, "meta": OBJECT}),
        refusals=(409, 503),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Return the region that a job would go to now, with the reasons; nothing is enqueued.

        The body may have further members of an envelope; the routing reads only `meta`.
        """
        body = self.body()
        if "type" in body:
            kind = body["type"]
            if not (isinstance(kind, str) and VERSIONED_TYPE.fullmatch(kind)):
                raise InvalidRequest.field("type", "is not a valid job type", kind)
        if body.get("meta", {}) is None:
            raise InvalidRequest.field("meta", "must be an object", None)
        return Answer(codec.encode_decision(route.decided(wished(body).meta)))


class FederationHealth(FederationView):
    """The health of the federation."""

    @operation("getFederationHealth", {200: schemas.FEDERATION_HEALTH}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Show the health: healthy with all regions healthy, unhealthy with none, else degraded."""
        return Answer(codec.encode_health(registry(), lags_ms()))


class RoutedView(FederationView):
    """Places jobs in the federation for a caller."""

    @property
    def sender(self) -> Sender:
        """The sender of the jobs, for the router."""
        return Sender(self.deduping, is_forwarded=HOP in self.http.META)

    @property
    def deduping(self) -> Caller:
        """The caller, set to answer a repeated federation id with the stored job."""
        return asking(self.caller)

    def read(self, body: dict[str, Any]) -> Wish:
        """Check a job as an enqueue here would, and read its routing members. Raises OJSError."""
        wish = wished(body)
        draft = job_codec.decode_job(body)
        self.principal.require_enqueue([(draft.queue, draft.type)])
        _require_own(draft, self.caller)
        return wish

    def store(self, envelope: dict[str, Any]) -> Stored:
        """Enqueue one job here."""
        return _stored(enqueue([job_codec.decode_job(envelope)], self.deduping)[0])

    def store_many(self, envelopes: Sequence[dict[str, Any]]) -> list[Stored | OJSError]:
        """Enqueue several jobs here, each by itself; refused jobs get their error."""
        found: list[Stored | OJSError | None] = [None] * len(envelopes)
        drafts: dict[int, JobDraft] = {}
        for n, envelope in enumerate(envelopes):
            try:
                drafts[n] = job_codec.decode_job(envelope)
            except OJSError as problem:  # its meta has become too large
                found[n] = problem
        for n, outcome in zip(
            drafts, enqueue_each(list(drafts.values()), self.deduping), strict=True
        ):
            found[n] = outcome if isinstance(outcome, OJSError) else _stored(outcome)
        return [one for one in found if one is not None]


def _require_own(draft: JobDraft, caller: Caller) -> None:
    """Refuse a job of another tenant than the caller's, before any request to a region."""
    named = draft.meta.get("tenant_id")
    if caller.tenant is not None and named not in {None, caller.tenant}:
        raise TenantMismatch(
            "the caller is bound to another tenant than the job names",
            details={"reason": "tenant_mismatch", "field": "meta.tenant_id"},
        )


def _stored(job: Job | None) -> Stored:
    if job is None:
        return 200, jsonio.dumps({"job": None, "dropped": True}), {}
    if job.deduplicated:
        return 200, job_codec.job_answer(job, deduplicated=True), {DEDUPLICATED_HEADER: "true"}
    return 201, job_codec.job_answer(job), {}


class RoutedJobs(RoutedView):
    """PUSH to the best region."""

    @operation(
        "placeJob",
        {201: PLACED, 200: PLACED},
        body=JOB_REQUEST,
        refusals=(404, 409, 429, 503),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Enqueue a job in the region that its `meta` names, or in the best region.

        The answer, or the refusal, is the region's with `federation` added. A retry with the same
        federation id is answered with the stored job.
        """
        wish = self.read(self.body())
        self.charge(1, enqueues=True)
        found = place(wish, self.sender, self.store)
        return Answer(_with_federation(found), status=found.status, headers=found.headers)


def _with_federation(found: Placed) -> bytes:
    """Add the member `federation` to the bytes of a region's answer, an object."""
    member = b'"federation":' + jsonio.dumps(_federation(found)) + b"}"
    return found.body[:-1] + (b"" if found.body == b"{}" else b",") + member


def _federation(found: Placed) -> dict[str, Any]:
    return {
        "target_region": found.target_region,
        "strategy": found.strategy,
        "federation_id": found.federation_id,
        "redirects": found.redirects,
    }


class RoutedBatch(RoutedView):
    """PUSH of several jobs, each to its best region."""

    @operation(
        "placeJobs",
        {201: obj(COUNTS), 207: obj(COUNTS), 422: obj({"error": PROBLEM}, COUNTS)},
        body=obj({"jobs": array(JOB_REQUEST, minItems=1, maxItems=MOST)}),
        refusals=(409, 429),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Enqueue up to 1,000 jobs, each independently and in its best region.

        201: all jobs are stored; 207: some; 422: none. `results` are in the order of the request.
        """
        raw = members.list_of(self.body(), "jobs", MOST)
        outcomes: dict[int, Outcome] = {}
        wishes: dict[int, Wish] = {}
        for n, item in enumerate(raw):
            try:
                if not isinstance(item, dict):
                    raise InvalidRequest.field("jobs", "must hold objects", item)
                wishes[n] = self.read(item)
            except OJSError as problem:
                outcomes[n] = problem
        self.charge(len(wishes), enqueues=True)
        if wishes:
            outcomes |= place_many(wishes, self.sender, self.store, self.store_many)
        return self._answer([outcomes[n] for n in range(len(raw))])

    def _answer(self, outcomes: list[Outcome]) -> Answer:
        results = [self._result(n, outcome) for n, outcome in enumerate(outcomes)]
        enqueued = sum(isinstance(one, Placed) and one.is_success for one in outcomes)
        failed = len(outcomes) - enqueued
        shown = {"results": results, "enqueued": enqueued, "failed": failed}
        if not enqueued:
            problem = BulkFailed(
                "no job was stored: results have the reasons", details=_first(outcomes)
            )
            return Answer(error_body(problem, self.identity) | shown, status=422)
        return Answer(shown, status=HTTPStatus.MULTI_STATUS if failed else HTTPStatus.CREATED)

    def _result(self, index: int, outcome: Outcome) -> dict[str, Any]:
        if isinstance(outcome, OJSError):
            error = error_body(replace_index(outcome), self.identity)["error"]
            return {"index": index, "status": outcome.status, "error": error}
        body = jsonio.loads(outcome.body)
        shown = {"index": index, "status": outcome.status, "federation": _federation(outcome)}
        for name in ("job", "error"):
            if isinstance(body.get(name), dict):
                shown[name] = body[name]
        return shown


def _first(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the details of the first refusal by this server."""
    for n, outcome in enumerate(outcomes):
        if isinstance(outcome, OJSError):
            return {**outcome.details, "index": n}
    return {"index": 0}


def replace_index(problem: OJSError) -> OJSError:
    """Return the problem without its index in a part of the request."""
    problem.details.pop("index", None)
    return problem
