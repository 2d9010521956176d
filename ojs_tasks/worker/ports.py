"""What the engine of a worker needs of a server, in its database or over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from ojs_tasks.context import ClaimedJob


class Standing(IntEnum):
    """What a worker does: it claims jobs, only finishes them, or ends. Our server stores it."""

    RUNNING = 0
    QUIET = 1
    TERMINATE = 2


class Ack(NamedTuple):
    """A job to complete; `result` is serialized JSON, None without a result.

    `worker_id` and `attempt` are checked against the lease when given.
    """

    job_id: str
    result: bytes | None = None
    worker_id: str | None = None
    attempt: int | None = None


class Nack(NamedTuple):
    """An attempt to fail; with `requeue` the job goes back unharmed, and `error` is None.

    `error` is as `job_errors.bounded` returns it.
    """

    job_id: str
    error: dict[str, Any] | None
    requeue: bool = False
    worker_id: str | None = None
    attempt: int | None = None


class Suspend(NamedTuple):
    """An attempt that ends without a failure, because its job waits; it is not counted.

    The job becomes available again at `until`, or when a signal of one of these names arrives.
    `step` names the step that waits. `worker_id`, `attempt` and `started_at` are checked against
    the lease when given. An attempt that continues has the number of the one before it, and perhaps
    its worker. So `started_at` alone tells a repeated suspension from one of the present attempt.
    """

    job_id: str
    step: str
    until: datetime
    signals: tuple[str, ...] = ()
    worker_id: str | None = None
    attempt: int | None = None
    started_at: datetime | None = None


Outcome = Ack | Nack | Suspend


class Away(Exception):
    """The server gives no answer at present; the same request may succeed later."""


class Answers(Protocol):
    """Sends the outcomes of attempts."""

    def open(self) -> None:
        """Prepare the thread that sends; its first call."""

    def send(self, outcomes: Sequence[Outcome]) -> None:
        """Send outcomes until the answer to each is known; the server may refuse some.

        Raises Away if the same outcomes have to be sent again, any other error if one of them
        cannot be stored.
        """

    def close(self) -> None:
        """Give up the connection; the next call connects again."""


class Tries(Protocol):
    """The repeated tries of one thread to reach the server."""

    def failed(self, problem: Exception) -> float:
        """Record a failure; returns how many seconds to pause before the next try."""

    def went_well(self) -> None:
        """Record a success."""


class Claimer(Protocol):
    """The claims of one process, in its main thread."""

    def run(self) -> None:
        """Claim jobs until the process has to end; with `once` until no job is available."""


class Heart(Protocol):
    """The heartbeats of one process."""

    def start(self) -> None:
        """Start the thread that sends them."""

    def stop(self) -> None:
        """End the thread after a report under way."""

    def say_goodbye(self) -> None:
        """Report the end of the process, and give back what it may still hold."""


class Returns(Protocol):
    """Gives jobs back to the server without a failure."""

    def give_back(self, jobs: Sequence[ClaimedJob]) -> None:
        """Requeue held jobs that this process does not finish; an error is logged."""
