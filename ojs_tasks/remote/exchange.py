"""Calls of a server, and when to repeat them: without any input or output of its own.

A script is a generator. It yields calls and pauses, and the client resumes it with the answers. So
one text serves threads and event loops.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ojs_tasks.exceptions import ServerUnreachable

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_BACKOFF_S = 0.2, 5.0
LONGEST_PAUSE_S: Final = 10.0  # a longer Retry-After is the caller's to wait for
MOST_RETRY_AFTER_S: Final = 86_400.0
REPEATED: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT,
    }
)  # fmt: skip
# after these the server may have done what the call asked for
UNCERTAIN: Final = REPEATED - {HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class Call:
    """A request; `path` is below /ojs/v1/, or absolute."""

    method: str
    path: str
    body: bytes | None = None
    timeout_s: float | None = None  # null: that of the settings
    is_repeatable: bool = True  # a second one does no harm after a lost answer
    doubt: str = ""  # for the error: what a lost answer leaves open


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Follow:
    """Follow the event stream of a job until it ends, at most for `seconds`.

    The script is resumed with whether the server offers the stream.
    """

    path: str
    seconds: float


class Reply(NamedTuple):
    """An answer; `body` is None if it was no JSON."""

    status: int
    body: Any
    retry_after_s: float | None = None

    @property
    def is_success(self) -> bool:
        """Whether the server did what the call asked for."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def code(self) -> str:
        """The code of the error, empty without one."""
        return str(self._error.get("code") or "")

    @property
    def details(self) -> dict[str, Any]:
        """The details of the error."""
        found = self._error.get("details")
        return found if isinstance(found, dict) else {}

    @property
    def _error(self) -> dict[str, Any]:
        found = self.body.get("error") if isinstance(self.body, dict) else None
        return found if isinstance(found, dict) else {}


class Unanswered(Exception):
    """A call has no answer; `was_sent`: the server may have received it."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        """Set the reason."""
        super().__init__(message)
        self.was_sent = was_sent


class Answered(NamedTuple):
    """The answer to a call; `is_repeat`: an earlier try may have reached the server, too."""

    reply: Reply
    is_repeat: bool


Step: TypeAlias = Call | Pause | Follow
Script: TypeAlias = Generator[Step, Any, T]


def asked(call: Call, retries: int) -> Script[Answered]:
    """Make a call until its answer is known, with pauses. Raises ServerUnreachable."""
    is_repeat = False
    for left in range(retries, -1, -1):
        backoff_s = _backoff_s(retries - left)
        try:
            reply = yield call
        except Unanswered as problem:
            may_repeat = call.is_repeatable or not problem.was_sent
            failed = None if may_repeat and left else _unreachable(call, problem)
            is_uncertain, pause_s = problem.was_sent, backoff_s
        else:
            failed = None
            is_uncertain = reply.status in UNCERTAIN
            pause_s = backoff_s if reply.retry_after_s is None else reply.retry_after_s
            may_repeat = call.is_repeatable or not is_uncertain
            if (
                reply.status not in REPEATED
                or not (may_repeat and left)
                or pause_s > LONGEST_PAUSE_S
            ):
                return Answered(reply, is_repeat)
        if failed is not None:  # raised here: it must not carry the frames of the request
            raise failed
        is_repeat = is_repeat or is_uncertain
        yield Pause(pause_s)
    raise AssertionError("the last try returns or raises")


def _unreachable(call: Call, problem: Unanswered) -> ServerUnreachable:
    is_open = call.doubt and problem.was_sent
    return ServerUnreachable(f"{problem}; {call.doubt}" if is_open else str(problem))


def _backoff_s(failures: int) -> float:
    longest: float = min(FIRST_PAUSE_S * 2**failures, LONGEST_BACKOFF_S)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 - spreads tries, no secret


def retry_after_s(text: str | None) -> float | None:
    """Read a header Retry-After: seconds, or a date; None without a valid one."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MOST_RETRY_AFTER_S)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), MOST_RETRY_AFTER_S)
