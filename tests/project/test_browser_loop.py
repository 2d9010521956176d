"""The browser of the tests leaves no running event loop to other tests."""

import asyncio

import pytest
from django.db import connection


async def answer() -> int:
    return 42


def test_a_test_with_the_browser_comes_first(browser: object) -> None:
    with pytest.raises(RuntimeError):
        asyncio.run(coroutine := answer())
    coroutine.close()


def test_a_coroutine_runs_after_the_browser_has_started() -> None:
    assert asyncio.run(answer()) == 42


@pytest.mark.django_db
def test_a_test_without_the_browser_has_its_transaction() -> None:
    assert connection.in_atomic_block
