"""The federated client for asyncio; `sync` has the client for threads. Spec: contract 23.2."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from federation.transport import DEFAULT_TIMEOUT_S, AsyncTransport

logger = logging.getLogger(__name__)
T = TypeVar("T")
NO_HEADERS: Mapping[str, str] = {}


class AsyncFederatedClient:
    """Sends jobs to the regions of a federation, from the tasks of one event loop.

    Without `start`, the client asks for health and loads when a job needs them. `start` (or `async
    with`) keeps them fresh in the background, so that no job waits for a probe.
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
        self._transport = AsyncTransport(config.regions, timeout_s=timeout_s, debug=config.debug)
        self._tasks: list[asyncio.Task[None]] = []
        self._is_over = False

    # --- jobs -------------------------------------------------------------------------------------

    async def enqueue(
        self,
        type: str,
        args: Sequence[Any] = (),
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        **members: Any,
    ) -> Enqueued:
        """Enqueue a job; `members` are members of `NewJob`. Raises as `FederatedClient.enqueue`."""
        job = NewJob(type, args, **members)
        return await self._run(enqueueing.enqueue(self._state, job, headers))

    async def enqueue_batch(
        self, jobs: Sequence[NewJob], *, headers: Mapping[str, str] = NO_HEADERS
    ) -> BatchResult:
        """Enqueue jobs, one request per region: all or none in a region, not across regions."""
        return await self._run(enqueueing.enqueue_batch(self._state, jobs, headers))

    async def route(self, meta: Mapping[str, Any] | None = None) -> Decision:
        """Return the decision for a job with this meta; only probes are sent."""
        return await self._run(enqueueing.route(self._state, meta or {}))

    async def get_job(
        self, id: str, region: str | None = None, *, headers: Mapping[str, str] = NO_HEADERS
    ) -> Located:
        """Return the job whose id or federation id is `id`."""
        return await self._run(lookup.get_job(self._state, id, region, headers))

    async def cancel(
        self, id: str, region: str | None = None, *, headers: Mapping[str, str] = NO_HEADERS
    ) -> Located:
        """Cancel a job in the region that has it."""
        return await self._run(lookup.cancel(self._state, id, region, headers))

    # --- regions ----------------------------------------------------------------------------------

    def regions(self) -> list[RegionState]:
        """Return the stored state of each region, without requests."""
        return self._state.regions()

    def health(self) -> FederationHealth:
        """Return the health of the federation from stored states, without requests."""
        return summary(self._state.regions())

    async def probe(self) -> None:
        """Probe the health of all regions whose probe is due."""
        await self._run(operations.attend(self._state))

    async def collect_loads(self) -> None:
        """Collect the load of all healthy regions whose load is due."""
        await self._run(operations.collect(self._state))

    # --- life -------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Probe once, then keep probing and collecting loads in two tasks until `close`."""
        if self._tasks or self._is_over:
            return self
        await self.probe()
        await self.collect_loads()
        self._state.is_attended = True
        self._tasks = [
            asyncio.create_task(self._repeat(self.probe, self._state.probe_in)),
            asyncio.create_task(self._repeat(self.collect_loads, self._state.load_in)),
        ]
        return self

    async def _repeat(
        self, action: Callable[[], Awaitable[None]], wait: Callable[[], float]
    ) -> None:
        while not self._is_over:
            await asyncio.sleep(wait())
            try:
                await action()
            except Exception:
                logger.exception("ojs.federation.loop_failed")

    async def close(self) -> None:
        """End the tasks and all connections; the client is unusable afterwards."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_problem: object) -> None:
        await self.close()

    # --- driving ----------------------------------------------------------------------------------

    async def _run(self, steps: Steps[T]) -> T:
        try:
            calls = next(steps)
            while True:
                calls = steps.send(await self._send(calls))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    async def _send(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return await asyncio.gather(*map(self._transport.send, calls))
