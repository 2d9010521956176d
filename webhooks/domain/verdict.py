"""The outcome of an attempt by the subscriber's answer. Spec: contract 26, WH-7, WH-8."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TOO_MANY_REQUESTS: Final = 429
MAX_WAIT_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of an attempt; `status` None: no answer, for the reason in `error`."""

    status: int | None
    took_ms: int
    error: str | None = None
    body: str | None = None  # its first KiB
    retry_after_s: int | None = None
    is_final: bool = False  # the address is refused, so later attempts would fail, too

    @property
    def is_success(self) -> bool:
        """Return whether the subscriber accepted the delivery."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 - the 2xx


def wait_s(answer: Answer, tries: int, schedule: Sequence[int]) -> int | None:
    """Return the seconds to wait after attempt number `tries` failed, None to give up.

    `schedule` has the wait before each attempt. A 4xx answer except 429 ends the delivery.
    """
    status = answer.status
    is_refusal = status is not None and 400 <= status < 500 and status != TOO_MANY_REQUESTS  # noqa: PLR2004
    if is_refusal or answer.is_final or tries >= len(schedule):
        return None
    asked = answer.retry_after_s if status == TOO_MANY_REQUESTS else None
    return max(schedule[tries], min(asked or 0, MAX_WAIT_S))
