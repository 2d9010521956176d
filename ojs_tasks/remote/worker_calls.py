"""The calls of a worker. Spec: contract 3.4, 9."""

import logging
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from orjson import Fragment

from ojs_tasks.context import Context, Report
from ojs_tasks.exceptions import NoServer, ServerUnreachable
from ojs_tasks.remote.client import Client
from ojs_tasks.remote.errors import ServerRefused, refusal
from ojs_tasks.remote.exchange import REPEATED, Call, Reply, Unanswered, asked
from ojs_tasks.remote.wire import dumps
from ojs_tasks.worker.ports import Away

logger = logging.getLogger("ojs.worker")

MANIFEST: Final = "/ojs/manifest"
BATCH_ACK: Final = "x-batch-ack"  # the end of an extension's name


class WorkerCalls:
    """The server as one worker process calls it; for any thread."""

    def __init__(self, client: Client) -> None:
        """Prepare; the first call connects."""
        self._client = client
        self._has_batches: bool | None = None

    def post(self, path: str, body: Any, *, timeout_s: float | None = None) -> Any:
        """Call once, and return the body of a success. Raises Away, or Refused."""
        reply = self.reply(Call("POST", path, dumps(body), timeout_s))
        if not reply.is_success:
            raise refusal(reply.status, reply.body, reply.retry_after_s)
        return reply.body

    def reply(self, call: Call) -> Reply:
        """Call once. Raises Away if the same call may succeed later."""
        try:
            reply = self._client.send(call)
        except (Unanswered, NoServer) as problem:
            raise Away(str(problem)) from None
        if reply.status in REPEATED:
            raise Away(str(refusal(reply.status, reply.body)))
        return reply

    def has_batches(self) -> bool:
        """Return whether the server takes many answers in one request. Raises Away."""
        if self._has_batches is None:
            body = self.reply(Call("GET", MANIFEST)).body
            names = body.get("extensions") if isinstance(body, Mapping) else None
            self._has_batches = isinstance(names, list) and any(
                isinstance(name, str) and name.endswith(BATCH_ACK) for name in names
            )
        return self._has_batches

    def leave(self, worker_id: str) -> bool:
        """Deregister, so that the server takes back all that it gave; returns whether it did."""
        call = Call("DELETE", f"workers/{quote(worker_id, safe='')}")
        return self.reply(call).is_success


class RemoteReports:
    """The `Reporter` of remote workers: reports of progress are sent at once."""

    def __init__(self, client: Client, retries: int) -> None:
        """Report through a client."""
        self._client = client
        self._retries = retries

    def report(self, context: Context, report: Report) -> None:
        """Send a report, which also extends the lease. Raises Refused without the lease.

        A report that does not reach the server is logged: the handler goes on.
        """
        members = {
            "progress": report.fraction, "message": report.message, "data": report.data,
            "checkpoint": report.checkpoint, "worker_id": context.worker_id,
        }  # fmt: skip
        body = dumps({name: value for name, value in members.items() if value is not None})
        path = f"jobs/{quote(context.id, safe='')}/progress"
        try:
            reply = self._client.run(asked(Call("PUT", path, body), self._retries)).reply
        except ServerUnreachable as problem:
            _log_lost(context, str(problem))
            return
        problem_ = refusal(reply.status, reply.body, reply.retry_after_s)
        if reply.is_success:
            return
        if reply.status in REPEATED or reply.status == HTTPStatus.NOT_FOUND:
            _log_lost(context, problem_.message)
        else:
            raise problem_

    def save(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Save a checkpoint. Raises Refused, as for a lost lease, or ServerUnreachable."""
        members = {
            "state": Fragment(state), "worker_id": context.worker_id, "attempt": context.attempt,
            "signals_taken": list(taken),
        }  # fmt: skip
        body = dumps({name: value for name, value in members.items() if value != []})
        path = f"jobs/{quote(context.id, safe='')}/checkpoint"
        reply = self._client.run(asked(Call("PUT", path, body), self._retries)).reply
        if not reply.is_success:
            raise refusal(reply.status, reply.body, reply.retry_after_s)

    async def asave(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Save a checkpoint as `save` does, from a coroutine."""
        await to_thread(self.save, context, state, taken)

    async def areport(self, context: Context, report: Report) -> None:
        """Send a report as `report` does, from a coroutine."""
        await to_thread(self.report, context, report)


def _log_lost(context: Context, reason: str) -> None:
    logger.warning("progress.lost", extra={"job_id": context.id, "reason": reason})


def is_invalid(problem: ServerRefused) -> bool:
    """Return whether the server refuses the content of a request, whatever the job's state."""
    return problem.status in {
        HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }  # fmt: skip


def is_unauthorized(problem: ServerRefused) -> bool:
    """Return whether the server refuses the key: another key may be accepted."""
    return problem.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
