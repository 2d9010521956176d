"""Priorities that compete over all queues of a FETCH. Spec: contract 20.5, D-FS-5, FS-9.3."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings

from jobs.services.operate.queues import pause
from tests.factories import stored_ids
from tests.scheduling.pools import get, one_by_one, put, queue_order, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Fetching = Callable[..., list[str]]


def in_batch(number: int, **body: Any) -> list[str]:
    """Fetch `number` jobs at once; return queue and priority of each."""
    return [f"{job['queue']}{job['priority']}" for job in taken(number, **body)]


def one_at_a_time(number: int, **body: Any) -> list[str]:
    """Fetch `number` times, one job each."""
    return [place for _ in range(number) for place in in_batch(1, **body)]


both_sizes = pytest.mark.parametrize(
    "fetching", [in_batch, one_at_a_time], ids=["batch", "one by one"]
)


@pytest.fixture(params=["pool", "list"])
def asked(request: pytest.FixtureRequest, store: None) -> dict[str, Any]:
    """Return the members of a FETCH: a pool with the queues, or the queues."""
    if request.param == "list":
        return {"queues": ["a", "b", "c"]}
    put("p", "a", "b", "c")
    return {"pool": "p"}


@pytest.fixture(params=["configuration", "setting"])
def over_all(request: pytest.FixtureRequest, store: None) -> Iterator[None]:
    """Let priorities compete over all queues."""
    if request.param == "configuration":
        configure("global")
        yield
        return
    with override_settings(OJS_SCHEDULING={"PRIORITY_SCOPE": "global"}):
        yield


def configure(scope: str, **more: Any) -> None:
    answer = send("PUT", "admin/scheduling/config", {"priority_scope": scope, **more})
    assert answer.status_code == 200, answer.content


def fill(*places: str) -> None:
    """Store jobs: `a5` is a job of priority 5 in queue a."""
    for place in places:
        stored_ids(1, queue=place[0], priority=int(place[1:]))


@both_sizes
@spec("D-FS-5")
def test_the_queue_comes_first_where_nothing_else_is_said(
    fetching: Fetching, asked: dict[str, Any]
) -> None:
    fill("a0", "a0", "b9", "b9", "c5")

    assert get("admin/scheduling/config")["priority_scope"] == "queue"
    assert fetching(5, **asked) == ["a0", "b9", "c5", "a0", "b9"]


@both_sizes
@pytest.mark.usefixtures("over_all")
@spec("D-FS-5")
def test_the_highest_priority_of_all_queues_comes_first_and_equals_take_turns(
    fetching: Fetching, asked: dict[str, Any]
) -> None:
    fill("a0", "a0", "a5", "b9", "b9", "b0", "c5", "c5", "c-1")

    assert get("admin/scheduling/config")["priority_scope"] == "global"
    assert fetching(9, **asked) == ["b9", "b9", "a5", "c5", "c5", "b0", "a0", "a0", "c-1"]


@both_sizes
@pytest.mark.usefixtures("over_all")
@spec("FS-9.3-a")
def test_a_narrowed_claim_goes_by_the_priorities_it_may_see(fetching: Fetching) -> None:
    stored_ids(1, queue="a", meta={"tenant_id": "t"})
    stored_ids(1, queue="b", priority=3, meta={"tenant_id": "t"})
    stored_ids(1, queue="a", priority=2, meta={"tenant_id": "t"})
    stored_ids(1, queue="a", priority=9)

    assert fetching(4, queues=["a", "b"]) == ["a9", "b3", "a2", "a0"]


@both_sizes
@spec("D-FS-5")
def test_strict_queues_of_equal_priority_come_in_their_order(fetching: Fetching) -> None:
    configure("global", default_strategy="strict")
    fill("a0", "a0", "a5", "b5", "b5", "c9")

    assert fetching(6, queues=["a", "b", "c"]) == ["c9", "a5", "b5", "b5", "a0", "a0"]


@both_sizes
@spec("D-FS-5")
def test_weighted_queues_of_equal_priority_share(fetching: Fetching) -> None:
    configure("global")
    put("p", strategy="weighted", queues={"a": 2, "b": 1, "c": 1})
    fill(*["a1"] * 4, *["b1"] * 2, *["c0"] * 2)

    assert fetching(8, pool="p") == ["a1", "b1", "a1", "a1", "b1", "a1", "c0", "c0"]


@spec("D-FS-5")
def test_a_high_job_that_cannot_start_holds_back_none_below_it() -> None:
    configure("global")
    fill("a9", "b5", "c7")
    pause("a")
    stored_ids(2, queue="c", priority=8, rate_limit={"key": "k", "concurrency": 1})

    assert in_batch(4, queues=["a", "b", "c"]) == ["c8", "c7", "b5"]


@both_sizes
@spec("D-FS-5")
def test_owed_queues_still_win(fetching: Fetching) -> None:
    configure("global")
    put("p", "a", "b", strategy="strict", starvation_prevention={
        "enabled": True, "rotation_interval": "PT1H", "min_dispatch_ratio": 0.25,
    })  # fmt: skip
    fill(*["a9"] * 12, *["b0"] * 12)

    order = fetching(12, pool="p")

    assert all("b0" in order[n : n + 4] for n in range(9))
    assert order.count("a9") >= 6


@spec("D-FS-5")
def test_a_change_counts_for_the_next_fetch_and_is_undone_by_leaving_it_out() -> None:
    fill("a0", "a0", "b9", "b9")

    assert queue_order(1, queues=["a", "b"]) == "a"
    configure("global")
    assert one_by_one(1, queues=["a", "b"]) == "b"
    assert send("PUT", "admin/scheduling/config", {}).status_code == 200
    assert get("admin/scheduling/config")["priority_scope"] == "queue"
    assert queue_order(1, queues=["a", "b"]) == "a"
