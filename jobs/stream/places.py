"""Bound the streams of a process, in all and for one client. Spec: contract 25.3, connections."""

import threading
from collections import Counter
from collections.abc import Callable

from jobs.conf import conf
from jobs.domain.errors import RateLimited, RealtimeUnavailable

RETRY = {"Retry-After": "5"}


class Places:
    """Counts the places that streams take; a client is a key's name or an address."""

    def __init__(self) -> None:
        """Start with all places free."""
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def take(self, client: str) -> Callable[[], None]:
        """Take a place; returns a function that gives it back, once.

        Raises RateLimited for a client without a free place, RealtimeUnavailable without any.
        """
        with self._lock:
            if self._taken[client] >= conf().stream_limit_per_client:
                raise RateLimited(
                    f"{client} follows {self._taken[client]} streams already", headers=RETRY
                )
            if self._taken.total() >= conf().stream_limit:
                raise RealtimeUnavailable("all streams of this process are taken", headers=RETRY)
            self._taken[client] += 1
        held = [client]

        def leave() -> None:
            with self._lock:
                if held:
                    self._taken[held.pop()] -= 1
                    self._taken += Counter()  # removes clients without a stream

        return leave
