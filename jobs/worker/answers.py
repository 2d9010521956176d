"""Send the outcomes of attempts to the database."""

import logging
from collections.abc import Sequence
from typing import Final

from django.db import DataError, Error

from jobs.bounds import Work, for_thread
from jobs.database import connection
from jobs.domain.errors import OJSError
from jobs.extensions import checkpoints
from jobs.services.outcome.ack import Ack, ack_all
from jobs.services.outcome.nack import Nack, nack
from jobs.trouble import Attempts
from ojs_tasks.worker.acker import LONGEST_RETRY_S, RETRY_S, Acker
from ojs_tasks.worker.ports import Away, Outcome, Suspend

logger: Final = logging.getLogger("ojs.worker")


class DatabaseAnswers:
    """Answers for jobs in the database of this project; it has no state."""

    def open(self) -> None:
        """Bound the statements of this thread."""
        for_thread(Work.REQUESTS)

    def send(self, outcomes: Sequence[Outcome]) -> None:
        """Commit outcomes. Raises Away without the database, DataError for a bad outcome."""
        try:
            _send(outcomes)
        except DataError:
            raise
        except Error as problem:
            raise Away(str(problem)) from problem

    def close(self) -> None:
        """Close the connection of this thread."""
        connection.close()


class _Tries(Attempts):
    """The tries of the thread that sends: the log has the error of the database."""

    def failed(self, problem: Exception) -> float:
        cause = problem.__cause__
        return super().failed(cause if isinstance(cause, Error) else problem)


def acker() -> Acker:
    """Return a thread, not started yet, that sends outcomes to the database."""
    return Acker(DatabaseAnswers(), _Tries(logger, "ack.delayed", RETRY_S, LONGEST_RETRY_S))


def _send(batch: Sequence[Outcome]) -> None:
    acks = [outcome for outcome in batch if isinstance(outcome, Ack)]
    nacks = [outcome for outcome in batch if isinstance(outcome, Nack)]
    answers = [*(ack_all(acks) if acks else ()), *(nack(nacks) if nacks else ())]
    if waits := [outcome for outcome in batch if isinstance(outcome, Suspend)]:
        checkpoints.suspend(waits)
    for answer in answers:
        if isinstance(answer, OJSError):  # cancelled, or the lease was lost
            logger.warning("ack.refused", extra={"reason": answer.message})
