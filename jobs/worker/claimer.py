"""Claim jobs for the slots of a worker process, in its main thread."""

import logging
import random
import threading
from contextlib import suppress
from math import inf
from typing import Final

from django.db import Error, close_old_connections

from jobs.database import connection
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.services.dispatch.fetch import fetch
from jobs.services.dispatch.waiting import opens_in_s
from jobs.trouble import Attempts
from jobs.worker.config import WorkerConfig
from jobs.worker.notices import Notices
from jobs.worker.reports import Reports
from jobs.worker.returns import Returns
from ojs_tasks.context import Context
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.ports import Standing
from ojs_tasks.worker.waits import LONGEST_RECONNECT_S, RECONNECT_S

logger = logging.getLogger("ojs.worker")

FIRST_POLL_S, LAST_POLL_S = 0.01, 5.0
GATHER_S: Final = 0.001  # after a claim that got fewer jobs than it asked for
REFUSED_S: Final = 5.0  # after a refused claim, until the next


class Claimer:
    """The claims of one process."""

    def __init__(
        self,
        config: WorkerConfig,
        engine: Engine,
        returns: Returns,
        *,
        notices: Notices,
    ) -> None:
        """Prepare; `run` claims."""
        self._config = config
        self._engine = engine
        self._in_flight = engine.in_flight
        self._returns = returns
        self._directives = engine.directives
        self._waits = engine.waits
        self._notices = notices
        self._attempts = Attempts(logger, "claim.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        self._reports = Reports()
        self._opens_in_s = inf  # until a limit that held jobs back opens by itself
        self._refusal = ""  # the reason of the latest refused claim

    def run(self) -> None:
        """Claim jobs until the process has to end; with `once` until no job is available."""
        pause = FIRST_POLL_S
        while not self._directives.is_ending:
            # The server cannot notice the death of a worker without heartbeats: its jobs would wait
            # for the end of their leases. So claims begin after the first heartbeat. Spec: GS-17.
            free = self._in_flight.free() if self._directives.is_registered else 0
            if free <= 0 or self._directives.standing is Standing.QUIET:
                self._returns.give_back(self._in_flight.surplus())
                with suppress(Error):  # the next claim reconnects, and looks again
                    self._returns.give_back_lost_claims()
                self._waits.tick()
                continue
            # Seen before the claim: a job that ends during an empty claim may enqueue the next one.
            was_idle = self._config.once and self._engine.is_idle()
            claimed = self._claim(free)
            if claimed:
                pause = FIRST_POLL_S
                if claimed < free:
                    # No job is left. While this thread waits, the handlers begin without competing
                    # with it for the interpreter, and jobs gather for the next claim.
                    self._notices.wait(GATHER_S)
                continue
            if was_idle and not self._returns.may_have_lost_claims:
                return
            # An empty claim may have skipped rows that another claim held and then returned, or a
            # lane that a concurrent claim left active without a wake-up. So the first retries are
            # quick.
            jitter = 0.75 + random.random() / 2  # noqa: S311 - no secret
            is_woken = self._notices.wait(min(pause * jitter, self._opens_in_s))
            pause = FIRST_POLL_S if is_woken else min(pause * 2, LAST_POLL_S)

    def _claim(self, free: int) -> int:
        """Claim up to `free` jobs; returns how many. Jobs of a late claim go back unharmed."""
        try:
            close_old_connections()
            self._notices.listen()
            self._returns.give_back_lost_claims()
            claimed = fetch(self._request(free))
        except Error as problem:
            self._returns.may_have_lost_claims = True
            connection.close()
            threading.Event().wait(self._attempts.failed(problem))
            return 0
        except OJSError as refused:  # no queues, or a pool that is not defined yet
            self._rest_after(str(refused))
            return 0
        self._attempts.went_well()
        self._opens_in_s = opens_in_s(claimed)
        if claimed.directive:
            # perhaps older than a resume that was not reported yet: the next heartbeat decides
            self._directives.obey(Standing(claimed.directive))
            self._waits.beat.set()
        worker_id, reports = self._config.worker_id, self._reports
        contexts = [Context(job, worker_id, reporter=reports) for job in claimed.jobs]
        if not self._directives.hold(lambda: self._in_flight.add(contexts)):
            self._returns.give_back(claimed.jobs)
        return len(claimed.jobs)

    def _request(self, free: int) -> FetchRequest:
        return FetchRequest(
            self._config.queues,
            count=free,
            worker_id=self._config.worker_id,
            tenant=self._config.tenant,
            caller_tenant=self._config.tenant,
            pool=self._config.pool,
            prefetches=True,  # the window bounds it, and only this thread claims
        )

    def _rest_after(self, refusal: str) -> None:
        if refusal != self._refusal:
            # a worker without handlers, queues and a pool only runs loops: this is no fault
            level = logging.WARNING if self._config.queues or self._config.pool else logging.DEBUG
            logger.log(level, "claim.refused", extra={"reason": refusal})
        self._refusal = refusal
        self._waits.tick(REFUSED_S)
