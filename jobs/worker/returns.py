"""Give jobs back to the server without a failure: jobs that did not run, and lost claims."""

import logging
from collections.abc import Collection, Sequence
from time import monotonic
from typing import Final

from django.db import Error

from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.held import held_by
from ojs_tasks.context import ClaimedJob
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.waits import RECONNECT_S

logger = logging.getLogger("ojs.worker")

LOOK_S: Final = 15.0  # between two looks for claims that were lost unnoticed; an indexed read


class Returns:
    """Gives back the jobs of one worker."""

    def __init__(self, worker_id: str, in_flight: InFlight, acker: Acker) -> None:
        """Begin without a lost claim."""
        self._worker_id = worker_id
        self._in_flight = in_flight
        self._acker = acker
        self.may_have_lost_claims = False  # the answer to a claim was lost
        self._looks_at = monotonic() + LOOK_S

    def give_back(self, jobs: Sequence[ClaimedJob]) -> None:
        """Requeue held jobs that this process does not finish."""
        if not jobs:
            return
        self._in_flight.drop(jobs)
        try:
            nack([self._requeue(job.id, job.attempt) for job in jobs])
        except Error as problem:  # the next claim or the goodbye tries again, then the leases
            self.may_have_lost_claims = True
            logger.warning("requeue.database", extra={"count": len(jobs), "error": str(problem)})

    def give_back_lost_claims(self) -> None:
        """Give back the jobs of a claim whose answer was lost, instead of waiting for their leases.

        Looks after a lost answer, and from time to time: the commit of a lost claim may wait for a
        standby, and nobody sees its jobs until then. For the thread that claims.

        The order matters: a job that ends meanwhile is in `in_flight`, or its lease is gone by the
        flush.
        """
        if not self.may_have_lost_claims and not self._is_found_by_look():
            return
        in_flight = self._in_flight.attempts()
        if not self._acker.flush(RECONNECT_S):
            return
        if lost := self._unknown(in_flight):
            logger.warning("claim.lost", extra={"count": len(lost)})
            nack([self._requeue(job_id, attempt) for job_id, attempt in lost])
        self.may_have_lost_claims = False

    def _is_found_by_look(self) -> bool:
        """Return whether a look, if it is time for one, found leases of unknown attempts."""
        if monotonic() < self._looks_at:
            return False
        self._looks_at = monotonic() + LOOK_S
        return bool(self._unknown(self._in_flight.attempts()))

    def _unknown(self, known: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        return [item for item in held_by(self._worker_id).items() if item not in known]

    def _requeue(self, job_id: str, attempt: int) -> Nack:
        return Nack(job_id, None, requeue=True, worker_id=self._worker_id, attempt=attempt)
