"""Fetch jobs for the slots of a worker process, in its main thread."""

import logging
import random
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from ojs_tasks.context import Context
from ojs_tasks.remote.answers import RemoteReturns
from ojs_tasks.remote.errors import ServerRefused
from ojs_tasks.remote.fetched import FetchedJob
from ojs_tasks.remote.worker_calls import RemoteReports, WorkerCalls
from ojs_tasks.worker.config import WorkerConfig
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.ports import Away, Standing
from ojs_tasks.worker.trouble import Attempts
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S

logger = logging.getLogger("ojs.worker")

MOST: Final = 100  # jobs that a server hands out at once
WAIT_S: Final = 5.0  # how long the server may hold a request without a job
ANSWER_S: Final = 10.0  # for the answer after that
# The lease of a fetched job: heartbeats extend it. After a lost answer the server knows the worker
# as the holder of jobs that it has never seen. This is how long they wait then.
LEASE_MS: Final = 60_000
FIRST_POLL_S, LAST_POLL_S = 0.05, 1.0  # between requests that the server answers at once, empty
REFUSED_S: Final = 5.0  # after a refused request, until the next


class RemoteClaims:
    """The claims of one process."""

    def __init__(
        self, config: WorkerConfig, engine: Engine, calls: WorkerCalls, *,
        returns: RemoteReturns, reports: RemoteReports,
    ) -> None:  # fmt: skip
        """Prepare; `run` claims."""
        self._config = config
        self._engine = engine
        self._calls = calls
        self._returns = returns
        self._reports = reports
        self._attempts = Attempts(logger, "claim.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        self._refusal = ""  # the reason of the latest refused claim

    def run(self) -> None:
        """Claim jobs until the process has to end; with `once` until no job is available."""
        directives, in_flight, waits = (
            self._engine.directives, self._engine.in_flight, self._engine.waits
        )  # fmt: skip
        pause_s = FIRST_POLL_S
        while not directives.is_ending:
            # The server cannot notice the death of a worker without heartbeats. So claims begin
            # after the first heartbeat.
            free = in_flight.free() if directives.is_registered else 0
            if free <= 0 or directives.standing is Standing.QUIET:
                self._returns.give_back(in_flight.surplus())
                waits.tick()
                continue
            # Seen before the claim: a job that ends during an empty claim may enqueue the next one.
            was_idle = self._config.once and self._engine.is_idle()
            began = monotonic()
            claimed = self._claim(min(free, MOST))
            if claimed:
                pause_s = FIRST_POLL_S
            elif claimed == 0 and was_idle:
                return
            elif monotonic() - began < WAIT_S / 2:  # the server does not hold requests
                waits.tick(pause_s * (0.75 + random.random() / 2))  # noqa: S311 - no secret
                pause_s = min(pause_s * 2, LAST_POLL_S)

    def _claim(self, count: int) -> int | None:
        """Claim up to `count` jobs; returns how many, None if the server does not say."""
        wait_s = 0.0 if self._config.once else WAIT_S
        body = self._body(count) | ({"wait_ms": round(wait_s * 1000)} if wait_s else {})
        try:
            answer = self._calls.post("workers/fetch", body, timeout_s=wait_s + ANSWER_S)
            contexts = [self._context(one) for one in answer["jobs"]]
        except Away as problem:
            self._engine.waits.tick(self._attempts.failed(problem))
            return None
        except ServerRefused as problem:  # no queues, a wrong key, a pool of another worker
            self._rest_after(problem.message)
            return None
        except (TypeError, KeyError, ValueError) as problem:
            self._rest_after(f"the answer is not that of an OJS server: {problem!r}")
            return None
        self._attempts.went_well()
        self._refusal = ""
        self._obey(answer)
        if not self._engine.directives.hold(lambda: self._engine.in_flight.add(contexts)):
            self._returns.give_back([one.job for one in contexts])
        return len(contexts)

    def _body(self, count: int) -> dict[str, Any]:
        config = self._config
        pool = {} if config.pool is None else {"pool": config.pool}
        queues = {"queues": list(config.queues)} if config.queues else {}
        return {
            **queues, **pool, "count": count, "worker_id": config.worker_id,
            "visibility_timeout_ms": LEASE_MS,
        }  # fmt: skip

    def _context(self, envelope: Any) -> Context:
        job = FetchedJob.of(envelope)
        return Context(job, self._config.worker_id, reporter=self._reports)

    def _obey(self, answer: Mapping[str, Any]) -> None:
        directive = standing_of(answer.get("directive"))
        if directive is not None:
            # perhaps older than a resume that was not reported yet: the next heartbeat decides
            self._engine.directives.obey(directive)
            self._engine.waits.beat.set()

    def _rest_after(self, reason: str) -> None:
        if reason != self._refusal:
            logger.warning("claim.refused", extra={"reason": reason})
        self._refusal = reason
        self._engine.waits.tick(REFUSED_S)


def standing_of(name: Any) -> Standing | None:
    """Return the directive of this name; None for another value."""
    return Standing[name.upper()] if name in {"running", "quiet", "terminate"} else None
