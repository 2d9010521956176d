"""What follows from the answer to a delivery. Spec: contract 26, WH-7, WH-8."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TOO_MANY_REQUESTS: Final = 429
MAX_WAIT_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Answer:
    """What an attempt gave; `status` None: no answer, for the reason in `error`."""

    status: int | None
    took_ms: int
    error: str | None = None
    body: str | None = None  # its first KiB
    retry_after_s: int | None = None
    is_final: bool = False  # no later attempt can do better: the address is refused

    @property
    def is_success(self) -> bool:
        """The subscriber took it."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 - the 2xx


def wait_s(answer: Answer, tries: int, schedule: Sequence[int]) -> int | None:
    """Return how long to wait after attempt number `tries` failed, None to give up.

    `schedule` has the wait before each attempt. A 4xx but 429 is the subscriber's last word.
    """
    status = answer.status
    is_refusal = status is not None and 400 <= status < 500 and status != TOO_MANY_REQUESTS  # noqa: PLR2004
    if is_refusal or answer.is_final or tries >= len(schedule):
        return None
    asked = answer.retry_after_s if status == TOO_MANY_REQUESTS else None
    return max(schedule[tries], min(asked or 0, MAX_WAIT_S))
