"""Send the outcomes of attempts over HTTP, in batches where the server takes them."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import orjson

from ojs_tasks.context import ClaimedJob
from ojs_tasks.job_errors import server_error
from ojs_tasks.remote.errors import ServerRefused, refusal
from ojs_tasks.remote.worker_calls import WorkerCalls, is_invalid, is_unauthorized
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.ports import Ack, Away, Nack, Outcome, Suspend

logger = logging.getLogger("ojs.worker")

MOST: Final = 200  # answers per request
Answer = Ack | Nack
MOST_BYTES: Final = 2 * 1024 * 1024  # of results per request; a single result may be larger


class RemoteAnswers:
    """Answers for the jobs of one worker.

    A repeated answer does no harm: the server refuses it, since the attempt has ended.
    """

    def __init__(self, calls: WorkerCalls) -> None:
        """Answer through the calls of this process."""
        self._calls = calls

    def open(self) -> None:
        """Do nothing: the first call connects."""

    def send(self, outcomes: Sequence[Outcome]) -> None:
        """Send outcomes until the answer to each is known. Raises Away."""
        acks = [outcome for outcome in outcomes if isinstance(outcome, Ack)]
        nacks = [outcome for outcome in outcomes if isinstance(outcome, Nack)]
        for part in (*_parts(acks), *_parts(nacks)):
            self._send_part(part)
        for one in outcomes:
            if isinstance(one, Suspend):
                self._suspend(one)

    def close(self) -> None:
        """Do nothing: each call takes a connection that works."""

    def _send_part(self, part: Sequence[Answer]) -> None:
        if len(part) > 1 and self._calls.has_batches():
            verb = "ack" if isinstance(part[0], Ack) else "nack"
            body = {f"{verb}s": [_body(one) for one in part]}
            try:
                answer = self._calls.post(f"workers/{verb}/batch", body)
            except ServerRefused as problem:
                self._require_key(problem)
            else:
                self._take_results(part, answer)
                return
        for one in part:  # the server has no batches, or it refuses this one as a whole
            self._send_one(one)

    def _take_results(self, part: Sequence[Answer], answer: Any) -> None:
        results = answer.get("results") if isinstance(answer, Mapping) else None
        if not isinstance(results, list) or len(results) != len(part):
            raise Away("the server's answer to a batch does not fit the batch")
        for one, result in zip(part, results, strict=True):
            status = result.get("status") if isinstance(result, Mapping) else None
            if status != HTTPStatus.OK:
                self._refused(one, refusal(status if isinstance(status, int) else 0, result))

    def _send_one(self, one: Answer) -> None:
        verb = "ack" if isinstance(one, Ack) else "nack"
        try:
            self._calls.post(f"workers/{verb}", _body(one))
        except ServerRefused as problem:
            self._refused(one, problem)

    def _suspend(self, one: Suspend) -> None:
        body = {
            "step": one.step, "until": one.until.isoformat(), "signals": list(one.signals),
            "worker_id": one.worker_id, "attempt": one.attempt,
        }  # fmt: skip
        if one.started_at is not None:
            body["started_at"] = one.started_at.isoformat()
        try:
            self._calls.post(f"jobs/{quote(one.job_id, safe='')}/suspend", body)
        except ServerRefused as problem:
            self._refused(one, problem)

    def _refused(self, one: Outcome, problem: ServerRefused) -> None:
        """Deal with a refused answer: the job was cancelled, its lease was lost, or it is known."""
        self._require_key(problem)
        if isinstance(one, Ack) and is_invalid(problem):
            error = server_error("invalid_result", problem.message)
            self._send_one(Nack(one.job_id, error, worker_id=one.worker_id, attempt=one.attempt))
            return
        facts = {"job_id": one.job_id, "reason": problem.message}
        logger.warning("ack.refused", extra=facts)

    def _require_key(self, problem: ServerRefused) -> None:
        """Keep the outcomes if the key is refused: an operator may replace it. Raises Away."""
        if is_unauthorized(problem):
            raise Away(problem.message)


class RemoteReturns:
    """Gives back the jobs of one worker."""

    def __init__(self, worker_id: str, in_flight: InFlight, answers: RemoteAnswers) -> None:
        """Give back what `in_flight` holds."""
        self._worker_id = worker_id
        self._in_flight = in_flight
        self._answers = answers

    def give_back(self, jobs: Sequence[ClaimedJob]) -> None:
        """Requeue held jobs that this process does not finish."""
        if not jobs:
            return
        self._in_flight.drop(jobs)
        nacks = [
            Nack(job.id, None, requeue=True, worker_id=self._worker_id, attempt=job.attempt)
            for job in jobs
        ]
        try:
            self._answers.send(nacks)
        except Away as problem:  # the leases return them
            logger.warning("requeue.failed", extra={"count": len(jobs), "reason": str(problem)})


def _parts(outcomes: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Split outcomes into requests of a bounded size."""
    part: list[Answer] = []
    size = 0
    for one in outcomes:
        own = len(one.result or b"") if isinstance(one, Ack) else 0
        if part and (len(part) >= MOST or size + own > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(one)
        size += own
    if part:
        yield part


def _body(one: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {"job_id": one.job_id}
    if one.worker_id is not None:
        body["worker_id"] = one.worker_id
    if isinstance(one, Ack):
        return body if one.result is None else {**body, "result": orjson.Fragment(one.result)}
    if one.requeue:
        return {**body, "requeue": True}
    return {**body, "error": one.error}
