"""Probe the regions and count their jobs continuously. Spec: federation 3.2, 4.2.

One loop per deployment does it for all routers of this server. A slow region delays no other
region: threads only send requests, and the loop's thread stores the results. After the death of a
process, the next leader repeats the unfinished requests.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from federation.domain.breaker import Permit, State
from federation.domain.config import FederationConfig
from federation.domain.health import Health, Status
from federation.domain.region import Region
from federation.services.health import breakers, load, probe
from federation.services.registry import regions
from federation.services.registry.registry import Registry

Store = Callable[[], None]


class Attendant:
    """The running requests of this process; one thread makes each run."""

    def __init__(self) -> None:
        """Begin without requests."""
        self._done: SimpleQueue[tuple[str, Store]] = SimpleQueue()
        self._busy: set[str] = set()

    def run_once(self) -> int:
        """Store results and start due requests; returns the number of both.

        1. Store the answers.
        2. Get permits of the breakers for due regions, and send requests in threads.
        """
        stored = self._take_in()
        if regions.registry().config is None:  # most servers: no region to read
            return stored
        regions.reread()
        known = regions.registry()
        if known.config is None:
            return stored
        started = 0
        for region in known.regions.values():
            if region.id not in self._busy and self.is_due(region, known, known.config):
                started += self._begin(region, known.config)
        return stored + started

    def is_due(self, region: Region, known: Registry, config: FederationConfig) -> bool:
        """Return whether a request to a region is due."""
        raise NotImplementedError

    def ask(self, region: Region, config: FederationConfig) -> Callable[[], Store] | None:
        """Return the work of a thread, which returns the storing function; None: no request."""
        raise NotImplementedError

    def _begin(self, region: Region, config: FederationConfig) -> bool:
        work = self.ask(region, config)
        if work is None:
            return False
        if region.id == config.local_region:  # it queries the database: this thread's connection
            work()()
            regions.reread()
            return True
        self._busy.add(region.id)
        threading.Thread(
            target=self._run, args=(region.id, work), daemon=True, name="ojs-federation"
        ).start()
        return True

    def _run(self, region_id: str, work: Callable[[], Store]) -> None:
        self._done.put((region_id, work()))

    def _take_in(self) -> int:
        number = 0
        while True:
            try:
                region_id, store = self._done.get_nowait()
            except Empty:
                return number
            self._busy.discard(region_id)
            store()
            number += 1


class Prober(Attendant):
    """Probes regions; a region with an open breaker is skipped until the cooldown ends."""

    def is_due(self, region: Region, known: Registry, config: FederationConfig) -> bool:
        """Return whether an interval has passed, or the breaker admits its one probe."""
        health = known.health[region.id]
        if not region.enabled or not health.is_admitting:
            return False
        if health.breaker is State.HALF_OPEN or health.status is Status.UNKNOWN:
            return True
        at = known.probed_at.get(region.id)
        return at is None or known.now - at >= config.health_check.interval_seconds

    def ask(self, region: Region, config: FederationConfig) -> Callable[[], Store] | None:
        """Get the breaker's permit for a probe."""
        permit = breakers.admit(region.id, config.breaker_rules)
        return None if permit is None else lambda: self._probed(region, permit, config)

    def _probed(self, region: Region, permit: Permit, config: FederationConfig) -> Store:
        found = probe.asked(region, config)
        return lambda: probe.note(region.id, permit, found, config)


class Counter(Attendant):
    """Requests the load of healthy regions, once per interval."""

    def __init__(self) -> None:
        """Begin without requests."""
        super().__init__()
        self._asked_at: dict[str, float] = {}  # by the database's clock

    def is_due(self, region: Region, known: Registry, config: FederationConfig) -> bool:
        """Return whether the load of a healthy region is older than the interval."""
        if not (region.enabled and is_well(known.health[region.id])):
            return False
        counted = known.loads.get(region.id)
        last = max(counted.at if counted else 0.0, self._asked_at.get(region.id, 0.0))
        if known.now - last < config.load_interval_seconds:
            return False
        self._asked_at[region.id] = known.now
        return True

    def ask(self, region: Region, config: FederationConfig) -> Callable[[], Store]:
        """Return the work: count here, or request the counts."""
        return lambda: self._counted(region, config)

    def _counted(self, region: Region, config: FederationConfig) -> Store:
        is_local = region.id == config.local_region
        found = load.counted_here() if is_local else load.counted(region, config)
        return lambda: load.note(region.id, found)


def is_well(health: Health) -> bool:
    """Return whether a region may get requests besides probes."""
    return health.status is Status.HEALTHY and health.breaker is State.CLOSED
