"""Give jobs back to the server without a failure: jobs that did not run, and lost claims."""

import logging
from collections.abc import Sequence

from django.db import Error

from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.held import held_by
from ojs_tasks.context import ClaimedJob
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.waits import RECONNECT_S

logger = logging.getLogger("ojs.worker")


class Returns:
    """Gives back the jobs of one worker."""

    def __init__(self, worker_id: str, in_flight: InFlight, acker: Acker) -> None:
        """Begin without a lost claim."""
        self._worker_id = worker_id
        self._in_flight = in_flight
        self._acker = acker
        self.may_have_lost_claims = False  # the answer to a claim was lost

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

        The order matters: a job that ends meanwhile is in `in_flight`, or its lease is gone by the
        flush.
        """
        if not self.may_have_lost_claims:
            return
        in_flight = self._in_flight.attempts()
        if not self._acker.flush(RECONNECT_S):
            return
        lost = [item for item in held_by(self._worker_id).items() if item not in in_flight]
        if lost:
            logger.warning("claim.lost", extra={"count": len(lost)})
            nack([self._requeue(job_id, attempt) for job_id, attempt in lost])
        self.may_have_lost_claims = False

    def _requeue(self, job_id: str, attempt: int) -> Nack:
        return Nack(job_id, None, requeue=True, worker_id=self._worker_id, attempt=attempt)
