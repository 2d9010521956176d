"""Limit the requests of a principal: a token bucket per process. Spec: contract 27.3.

Off by default. Fetch, ack, nack and heartbeat are never refused: a worker that cannot report causes
more work.
"""

import threading
from collections import OrderedDict
from time import monotonic, time
from typing import Final

from jobs.conf import conf
from jobs.domain.errors import RateLimited

UNLIMITED: Final = 2**31 - 1  # value of the headers without a limit
PRINCIPALS: Final = 10_000  # remembered; the longest silent one is dropped first


class Buckets:
    """Token buckets by name, `rate` tokens a second, at most `burst` of them."""

    def __init__(self) -> None:
        """Start with full buckets."""
        self._lock = threading.Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, tokens: float, rate: float, burst: float) -> float:
        """Take tokens and return how many are left; below 0 none were taken."""
        with self._lock:
            now = monotonic()
            level, at = self._levels.pop(name, (burst, now))
            level = min(burst, level + (now - at) * rate)
            left = level - tokens
            self._levels[name] = (left if left >= 0 else level, now)
            if len(self._levels) > PRINCIPALS:
                self._levels.popitem(last=False)
            return left

    def clear(self) -> None:
        """Fill all buckets."""
        with self._lock:
            self._levels.clear()


buckets = Buckets()


def limits_requests() -> bool:
    """Return whether the settings limit requests."""
    return bool(conf().api_enqueues_per_s or conf().api_requests_per_s)


class Allowance:
    """The limit of the principal, for the headers of one answer."""

    __slots__ = ("limit", "remaining", "reset_s")

    def __init__(self) -> None:
        """Whether there is no limit."""
        self.limit, self.remaining, self.reset_s = UNLIMITED, UNLIMITED, 0.0

    def charge(self, principal: str, tokens: int, *, enqueues: bool, may_refuse: bool) -> None:
        """Count a request, or the jobs of one. Raises RateLimited."""
        rate = conf().api_enqueues_per_s if enqueues else conf().api_requests_per_s
        if not rate:
            return
        burst = max(rate * conf().api_burst_s, tokens)
        name = f"{'enqueue' if enqueues else 'request'}:{principal}"
        left = buckets.take(name, tokens, rate, burst)
        self.limit, self.remaining = int(burst), max(0, int(left))
        self.reset_s = (burst - max(left, 0)) / rate
        if left < 0 and may_refuse:
            wait = max(1, round(-left / rate + 0.5))
            raise RateLimited(
                f"the limit is {rate:g} {'jobs' if enqueues else 'requests'} a second",
                headers={"Retry-After": str(wait)},
            )

    def headers(self) -> dict[str, str]:
        """Return the headers that every answer has."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(int(time() + self.reset_s)),
        }
