"""Stub regions, and both clients behind one interface."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pytest

from federation.client import AsyncFederatedClient, FederatedClient, FederationConfig, HealthCheck
from tests.federation.stub import Stub


class Clock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        """Start at an arbitrary time."""
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_time(self, seconds: float) -> None:
        """Move the clock forward."""
        self.now += seconds


class FromThread:
    """The asyncio client behind the methods of the other client; its loop has its own thread."""

    def __init__(self, config: FederationConfig, **members: Any) -> None:
        """Start the loop."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self._client = AsyncFederatedClient(config, **members)
        except BaseException:
            self._end()
            raise

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)

        def call(*arguments: Any, **members: Any) -> Any:
            result = found(*arguments, **members)
            if asyncio.iscoroutine(result):
                return self._wait(result)
            return result

        return call

    def __enter__(self) -> "FromThread":
        self._wait(self._client.start())
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def close(self) -> None:
        """End the client and the loop."""
        if not self._loop.is_closed():
            self._wait(self._client.close())
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)


Connect = Callable[..., FederatedClient]


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the clients of a test."""
    return Clock()


@pytest.fixture(params=["sync", "asyncio"])
def connect(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Connect]:
    """Return a function that makes a client of regions; the first region is the local one."""
    made: list[Any] = []

    def make(*regions: Any, on_event: Any = None, timeout_s: float = 10, **members: Any) -> Any:
        found = tuple(one.region() if isinstance(one, Stub) else one for one in regions)
        chosen = members.pop("clock", clock)
        members = {"local_region": found[0].id, "health_check": QUICK, **members}
        kind = FederatedClient if request.param == "sync" else FromThread
        client = kind(
            FederationConfig(regions=found, **members),
            timeout_s=timeout_s, on_event=on_event, clock=chosen,
        )  # fmt: skip
        made.append(client)
        return cast(FederatedClient, client)

    yield make
    for client in made:
        client.close()


QUICK = HealthCheck(interval_seconds=10, timeout_seconds=5)


@pytest.fixture
def stubs() -> Iterator[Callable[..., list[Stub]]]:
    """Return a function that starts stub regions."""
    started: list[Stub] = []

    def start(*ids: str) -> list[Stub]:
        fresh = [Stub(one) for one in ids]
        started.extend(fresh)
        return fresh

    yield start
    for stub in started:
        stub.stop()


@pytest.fixture
def three(stubs: Callable[..., list[Stub]]) -> list[Stub]:
    """Return regions us, eu and ap."""
    return stubs("us", "eu", "ap")
