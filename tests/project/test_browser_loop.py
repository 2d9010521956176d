"""The browser of the tests leaves no running event loop to other tests."""

import asyncio

import pytest


async def answer() -> int:
    return 42


def test_a_test_with_the_browser_comes_first(browser: object) -> None:
    with pytest.raises(RuntimeError):
        asyncio.run(coroutine := answer())
    coroutine.close()


def test_a_coroutine_runs_after_the_browser_has_started() -> None:
    assert asyncio.run(answer()) == 42


@pytest.fixture(scope="module")
def loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop; fixtures of a module come before all those of a test."""
    return asyncio._get_running_loop()


def test_fixtures_see_no_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    assert loop is None
