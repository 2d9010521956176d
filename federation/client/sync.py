"""The federated client for threads; `aio` has the client for asyncio. Spec: contract 23.2."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Self, TypeVar

from federation.client import enqueueing, lookup, operations
from federation.client.newjob import NewJob
from federation.client.operations import Answer, Steps
from federation.client.results import BatchResult, Enqueued, FederationHealth, Located
from federation.client.state import OnEvent, RegionState, State
from federation.client.summary import summary
from federation.domain.config import FederationConfig
from federation.domain.exchange import Call
from federation.domain.routing import Decision
from federation.transport import DEFAULT_TIMEOUT_S, Transport

logger = logging.getLogger(__name__)
T = TypeVar("T")
AT_ONCE = 32  # calls of one operation
NO_HEADERS: Mapping[str, str] = {}


class FederatedClient:
    """Sends jobs to the regions of a federation; any thread may use it.

    Without `start`, the client asks for health and loads when a job needs them. `start` (or `with`)
    keeps them fresh in the background, so that no job waits for a probe.
    """

    def __init__(
        self,
        config: FederationConfig,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_event: OnEvent | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Prepare. `timeout_s` bounds each wait for a region; `on_event` receives failovers.

        `clock` counts seconds; health, breakers and loads use it.

        Raises FederationConfigError, also for missing secrets and certificates.
        """
        self.config = config
        self._state = State(config, clock, on_event)
        self._transport = Transport(config.regions, timeout_s=timeout_s, debug=config.debug)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._is_over = Event()
        self._threads: list[Thread] = []

    # --- jobs -------------------------------------------------------------------------------------

    def enqueue(
        self,
        type: str,
        args: Sequence[Any] = (),
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        **members: Any,
    ) -> Enqueued:
        """Enqueue a job; `members` are members of `NewJob`.

        Raises UnknownRegion, RegionUnavailable and NoHealthyRegion when it is stored nowhere,
        RegionRefused when a region answered with a 4xx, InvalidFederationMeta.
        """
        return self._run(enqueueing.enqueue(self._state, NewJob(type, args, **members), headers))

    def enqueue_batch(
        self, jobs: Sequence[NewJob], *, headers: Mapping[str, str] = NO_HEADERS
    ) -> BatchResult:
        """Enqueue jobs, one request per region: all or none in a region, not across regions.

        The result has the problems of single jobs; they raise no exception.
        """
        return self._run(enqueueing.enqueue_batch(self._state, jobs, headers))

    def route(self, meta: Mapping[str, Any] | None = None) -> Decision:
        """Return the decision for a job with this meta; only probes are sent."""
        return self._run(enqueueing.route(self._state, meta or {}))

    def get_job(
        self, id: str, region: str | None = None, *, headers: Mapping[str, str] = NO_HEADERS
    ) -> Located:
        """Return the job whose id or federation id is `id`.

        Raises NotFound if no region has it, NoHealthyRegion if a region without an answer may have
        it.
        """
        return self._run(lookup.get_job(self._state, id, region, headers))

    def cancel(
        self, id: str, region: str | None = None, *, headers: Mapping[str, str] = NO_HEADERS
    ) -> Located:
        """Cancel a job in its region. Raises as `get_job`, and RegionRefused when it has ended."""
        return self._run(lookup.cancel(self._state, id, region, headers))

    # --- regions ----------------------------------------------------------------------------------

    def regions(self) -> list[RegionState]:
        """Return the stored state of each region, without requests."""
        return self._state.regions()

    def health(self) -> FederationHealth:
        """Return the health of the federation from stored states, without requests."""
        return summary(self._state.regions())

    def probe(self) -> None:
        """Probe the health of all regions whose probe is due."""
        self._run(operations.attend(self._state))

    def collect_loads(self) -> None:
        """Collect the load of all healthy regions whose load is due."""
        self._run(operations.collect(self._state))

    # --- life -------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Probe once, then keep probing and collecting loads in two threads until `close`."""
        with self._lock:
            if self._threads or self._is_over.is_set():
                return self
            self._threads = [
                Thread(target=self._repeat, args=(action, wait), name=name, daemon=True)
                for action, wait, name in (
                    (self.probe, self._state.probe_in, "ojs-federation-probe"),
                    (self.collect_loads, self._state.load_in, "ojs-federation-load"),
                )
            ]
        self.probe()
        self.collect_loads()
        self._state.is_attended = True
        for thread in self._threads:
            thread.start()
        return self

    def _repeat(self, action: Callable[[], None], wait: Callable[[], float]) -> None:
        while not self._is_over.wait(wait()):
            try:
                action()
            except Exception:
                logger.exception("ojs.federation.loop_failed")

    def close(self) -> None:
        """End the threads and all connections; the client is unusable afterwards."""
        self._is_over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        if self._pool is not None:
            self._pool.shutdown()
        self._transport.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_problem: object) -> None:
        self.close()

    # --- driving ----------------------------------------------------------------------------------

    def _run(self, steps: Steps[T]) -> T:
        try:
            calls = next(steps)
            while True:
                calls = steps.send(self._send(calls))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    def _send(self, calls: Sequence[Call]) -> Sequence[Answer]:
        if len(calls) == 1:
            return [self._transport.send(calls[0])]
        return list(self._executor().map(self._transport.send, calls))

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(AT_ONCE, "ojs-federation")
            return self._pool
