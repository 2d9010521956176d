"""Endpoints under /ojs/v1/workers. Spec: contract 3.4, 9."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.problems import error_body
from jobs.api.wire import job_codec, members
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import GONE
from jobs.api.workers import schemas, worker_codec
from jobs.conf import conf
from jobs.domain.dispatch.claim import split_queue
from jobs.domain.errors import NotFound, OJSError
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.times import format_time
from jobs.gather import Later, now
from jobs.metrics import observe_fetch
from jobs.queries import Claimed, Completed
from jobs.services.dispatch.fetch import fetch_soon
from jobs.services.dispatch.waiting import fetch_or_wait
from jobs.services.outcome.ack import Ack, ack, ack_soon
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import kinds_of, show
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.services.workers.held import queues_of_worker
from jobs.services.workers.leave import leave

Outcome = Completed | OJSError

HEARTBEAT_S = 5  # how often a worker should send one
POOL_HEADER = "HTTP_X_OJS_POOL"  # applies if the body names no pool


class WorkerView(OJSView):
    """Base of endpoints for workers."""

    def answerable(self, ids: Iterable[str]) -> dict[str, OJSError | None]:
        """Return the job ids that the caller may see, and a refusal for each job it may not answer.

        A key without limits costs no statement.
        """
        formed = {job_id for job_id in ids if is_id(job_id)}
        tenant = self.principal.tenant
        if tenant is None and not self.principal.is_limited_worker:
            return dict.fromkeys(formed)
        found = kinds_of(formed, tenant)
        return {job_id: self.principal.answer_refusal(kind) for job_id, kind in found.items()}

    def require_worker(self, worker_id: str | None) -> None:
        """Refuse to act for a worker of queues the key does not cover. Raises PermissionDenied.

        A key without limits costs no statement.
        """
        if self.principal.grant.queues_fetch and worker_id is not None:
            self.principal.require_fetch(queues_of_worker(worker_id))

    def of_pool(self, report: Report) -> Report:
        """Return a report with the pool that the caller's key is bound to, if any."""
        return replace(report, pool=self.principal.pool(report.pool))

    def require_answerable(self, job_id: str) -> str:
        """Return a job id that the caller may answer for. Raises NotFound, PermissionDenied."""
        answerable = self.answerable([job_id])
        if job_id not in answerable:
            raise NotFound.of("job", job_id)
        if problem := answerable[job_id]:
            raise problem
        return job_id


def _is_here() -> bool:
    """Return that the client has not gone, for HTTP servers that cannot tell."""
    return False


class FetchJobs(WorkerView):
    """FETCH."""

    may_refuse = False

    @operation("fetchJobs", {200: schemas.FETCHED}, body=schemas.FETCH, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Hand out jobs."""
        return now(self.post_soon(request))

    def post_soon(self, request: Request) -> Later[Answer] | Answer:
        """Begin to hand out jobs; with `wait_ms` the method itself waits for a job."""
        body = self.body()
        wanted = worker_codec.decode_fetch(
            {"pool": request.META.get(POOL_HEADER), **body}, tenant=self.principal.tenant
        )
        pool = self.principal.pool(wanted.pool)
        if pool != wanted.pool:
            wanted = replace(wanted, pool=pool)
        self.principal.require_fetch(split_queue(name)[1] for name in wanted.queues)
        self.require_worker(wanted.worker_id)
        self.principal.require_handlers(**worker_codec.handled(body))
        if not wanted.queues and self.principal.grant.queues_fetch:
            wanted = replace(wanted, may_fetch=self.principal.may_fetch)
        wait_ms = worker_codec.wait_ms(body)
        is_gone: Callable[[], bool] = request.META.get(GONE, _is_here)
        if is_gone():  # while its request waited for the server
            return self.answer(Claimed([], []))
        found = fetch_or_wait(wanted, wait_ms, is_gone) if wait_ms else fetch_soon(wanted)
        return found.then(self.answer) if isinstance(found, Later) else self.answer(found)

    def answer(self, claimed: Claimed) -> Answer:
        """Return the answer with the claimed jobs."""
        observe_fetch(perf_counter() - self.began, len(claimed.jobs))
        answer: dict[str, Any] = {"jobs": job_codec.encode_all(claimed.jobs)}
        if claimed.directive:
            answer["directive"] = Standing(claimed.directive).name.lower()
        return Answer(answer)


class AckView(WorkerView):
    """Base of endpoints that complete one job."""

    may_refuse = False

    def acked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the job that a body names."""
        found: Any = now(self.acked_soon(body))
        return _done(found)

    def acked_soon(self, body: Mapping[str, Any]) -> Later[Outcome] | Outcome:
        """Begin to complete the job that a body names."""
        wanted = worker_codec.decode_ack(body)
        self.require_answerable(wanted.job_id)
        return ack_soon(wanted)


def _done(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, OJSError):
        raise outcome
    return worker_codec.encode_ack(outcome)


class AckJob(AckView):
    """ACK."""

    @operation("ackJob", {200: schemas.ACKED}, body=schemas.ACK, refusals=(404, 409))
    def post(self, request: Request) -> Answer:
        """Complete a job."""
        return now(self.post_soon(request))

    def post_soon(self, request: Request) -> Later[Answer] | Answer:
        """Begin to complete a job."""
        found = self.acked_soon(self.body())
        if isinstance(found, Later):
            return found.then(lambda outcome: Answer(_done(outcome)))
        return Answer(_done(found))


class AckOwnPath(AckView):
    """ACK under the path of the job, which answers with the job."""

    @operation(
        "ackJobByPath",
        {200: schemas.OWN_ACKED},
        body=schemas.OWN_ACK,
        needs_body=False,
        refusals=(404, 409),
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Complete the job of the path."""
        done = self.acked(members.of_path(self.optional_body(), job_id))
        return Answer({**done, "job": job_codec.encode_job(self.as_seen(show(job_id)))})


class NackView(WorkerView):
    """Base of endpoints that fail one attempt."""

    may_refuse = False

    def nacked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Fail the attempt of the job that a body names, or give the job back."""
        wanted = worker_codec.decode_nack(body)
        self.require_answerable(wanted.job_id)
        outcome = nack([wanted])[0]
        if isinstance(outcome, OJSError):
            raise outcome
        return worker_codec.encode_nack(outcome)


class NackJob(NackView):
    """FAIL."""

    @operation("nackJob", {200: schemas.NACKED}, body=schemas.NACK, refusals=(404, 409))
    def post(self, request: Request) -> Answer:
        """Fail an attempt, or give it back."""
        return Answer(self.nacked(self.body()))


class NackOwnPath(NackView):
    """FAIL under the path of the job, which answers with the job."""

    @operation(
        "nackJobByPath", {200: schemas.OWN_NACKED}, body=schemas.OWN_NACK, refusals=(404, 409)
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Fail the attempt of the job of the path, or give the job back."""
        done = self.nacked(members.of_path(self.body(), job_id))
        return Answer({**done, "job": job_codec.encode_job(self.as_seen(show(job_id)))})


Item = Ack | Nack


class BatchView(WorkerView):
    """Many answers about jobs in one request; each item succeeds or fails by itself.

    Declared extension `x-batch-ack`: 200 with one result per item, in order.
    """

    member: ClassVar[str]

    def answer(self) -> Answer:
        """Apply all items."""
        raw = members.items(self.body(), self.member, conf().max_batch)
        wanted = [members.decode_item(self.decode, n, item) for n, item in enumerate(raw)]
        answerable = self.answerable(item.job_id for item in wanted)
        barred = {job_id: problem for job_id, problem in answerable.items() if problem}
        mine = answerable.keys() - barred.keys()
        first = {item.job_id: item for item in reversed(wanted) if item.job_id in mine}
        # a repeated job id is answered as in a second request
        again = {i.job_id: i for i in wanted if i.job_id in first and i is not first[i.job_id]}
        done, refused = self.outcomes(first), self.outcomes(again) | barred
        results = [
            self.result(i.job_id, (done if i is first.get(i.job_id) else refused).get(i.job_id))
            for i in wanted
        ]
        return Answer({"results": results, "count": len(results)})

    def outcomes(self, wanted: Mapping[str, Item]) -> dict[str, Any]:
        """Change the jobs; one outcome per id."""
        return dict(zip(wanted, self.apply(list(wanted.values())), strict=True))

    def decode(self, item: Mapping[str, Any]) -> Item:
        """Read one item."""
        raise NotImplementedError

    def apply(self, wanted: Sequence[Any]) -> Sequence[Any]:
        """Change the jobs; one outcome per item."""
        raise NotImplementedError

    def encode(self, outcome: Any) -> dict[str, Any]:
        """Write one success."""
        raise NotImplementedError

    def result(self, job_id: str, outcome: Any) -> dict[str, Any]:
        """Encode one item's outcome; None: the id names no job."""
        if outcome is None:
            outcome = NotFound.of("job", job_id)
        if isinstance(outcome, OJSError):
            body = error_body(outcome, self.identity)
            return {"id": job_id, "job_id": job_id, "status": outcome.status, **body}
        return {"status": 200, **self.encode(outcome)}


class AckBatch(BatchView):
    """ACK of many jobs."""

    may_refuse = False
    member = "acks"

    @operation("ackJobs", **schemas.batch("acks", schemas.ACK, schemas.ACKED))
    def post(self, request: Request) -> Answer:
        """Complete many jobs; each item succeeds or fails by itself."""
        return self.answer()

    def decode(self, item: Mapping[str, Any]) -> Item:
        """Read one ACK."""
        return worker_codec.decode_ack(item)

    def apply(self, wanted: Sequence[Any]) -> Sequence[Any]:
        """Complete the jobs."""
        return ack(wanted) if wanted else ()

    def encode(self, outcome: Any) -> dict[str, Any]:
        """Write one ACK."""
        return worker_codec.encode_ack(outcome)


class NackBatch(BatchView):
    """FAIL of many attempts."""

    may_refuse = False
    member = "nacks"

    @operation("nackJobs", **schemas.batch("nacks", schemas.NACK, schemas.NACKED))
    def post(self, request: Request) -> Answer:
        """Fail many attempts; each item succeeds or fails by itself."""
        return self.answer()

    def decode(self, item: Mapping[str, Any]) -> Item:
        """Read one FAIL."""
        return worker_codec.decode_nack(item)

    def apply(self, wanted: Sequence[Any]) -> Sequence[Any]:
        """Fail the attempts."""
        return nack(wanted) if wanted else ()

    def encode(self, outcome: Any) -> dict[str, Any]:
        """Write one FAIL."""
        return worker_codec.encode_nack(outcome)


class Heartbeat(WorkerView):
    """BEAT."""

    may_refuse = False

    @operation(
        "heartbeat",
        {200: schemas.BEATEN},
        body=schemas.BEAT,
        refusals=(409,),
        aliases={"/ojs/v1/workers/beat": "beat"},
    )
    def post(self, request: Request) -> Answer:
        """Record a worker's sign of life and answer with its directive."""
        report = self.of_pool(
            worker_codec.decode_heartbeat(self.body(), tenant=self.principal.tenant)
        )
        self.require_worker(report.worker_id)
        answerable = self.answerable(report.active_ids)
        mine = tuple(
            one for one in report.active_ids if one in answerable and answerable[one] is None
        )
        report = replace(report, active_ids=mine)
        return Answer(worker_codec.encode_heartbeat(heartbeat(report)))


class RegisterWorker(WorkerView):
    """Registration, which the first heartbeat or FETCH would do as well."""

    may_refuse = False

    @operation(
        "registerWorker", {200: schemas.REGISTERED}, body=schemas.REGISTRATION, refusals=(409,)
    )
    def post(self, request: Request) -> Answer:
        """Register a worker with its properties and its pool."""
        report = worker_codec.decode_registration(self.body(), tenant=self.principal.tenant)
        self.require_worker(report.worker_id)
        heard = heartbeat(self.of_pool(report))
        return Answer(
            {
                "ok": True,
                "server_time": format_time(heard.server_time),
                "heartbeat_interval": HEARTBEAT_S,
                "heartbeat_timeout": conf().worker_silence_ms // 1000,
                "visibility_timeout_default": conf().default_visibility_ms // 1000,
            }
        )


class OneWorker(WorkerView):
    """One worker, for its own requests."""

    @operation("deregisterWorker", {204: None}, refusals=(404,))
    def delete(self, request: Request, worker_id: str) -> Answer:
        """Record that a worker has ended, and return the jobs it still holds."""
        self.require_worker(worker_id)
        leave(worker_id, tenant=self.principal.tenant)
        return Answer(None, status=204)
