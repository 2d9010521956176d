"""Strategy and weights that a worker declares for itself. Spec: fair-scheduling 5.2, 14.1."""

from typing import Any

import orjson
import pytest

from jobs.services.lanes import bindings
from tests.scheduling.pools import counts, fill, get, put, queue_order, refused, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

QUEUES = ["critical", "default", "low"]
WEIGHTS = {"critical": 5, "default": 3, "low": 1}
WORKER = {
    "id": "worker-abc-123", "pool": "general", "queues": QUEUES, "strategy": "weighted",
    "weights": WEIGHTS, "concurrency": 100,
}  # fmt: skip
PATHS = ("workers/register", "workers/heartbeat")
HANDLERS = [{"type": "tests.noop", "versions": ">=1.0"}]


def register(path: str = PATHS[0], **body: Any) -> None:
    """Report a worker, by default w1."""
    answer = send("POST", path, {"worker_id": "w1", "queues": QUEUES, **body})
    assert answer.status_code == 200, answer.content


def names(count: int, **body: Any) -> dict[str, int]:
    """Fetch as w1 and count the jobs by queue."""
    found = taken(count, worker_id="w1", queues=QUEUES, **body)
    return {name: sum(job["queue"] == name for job in found) for name in QUEUES}


@pytest.mark.parametrize("path", PATHS)
@spec("fair-scheduling 14.1")
def test_a_registered_worker_is_served_by_its_weights(path: str) -> None:
    fill(critical=60, default=60, low=60)
    assert send("POST", path, {"worker": WORKER}).status_code == 200

    found = taken(90, worker_id=WORKER["id"], pool="general", queues=QUEUES)

    shares = {name: sum(job["queue"] == name for job in found) for name in QUEUES}
    assert shares == pytest.approx({"critical": 50, "default": 30, "low": 10}, abs=1)


@spec("fair-scheduling 14.1")
def test_what_was_registered_counts_in_every_process() -> None:
    fill(critical=20, default=20, low=20)
    register(strategy="strict")
    bindings.clear_cache()  # as in another process

    assert names(15) == {"critical": 15, "default": 0, "low": 0}
    register(strategy="round-robin")
    bindings.clear_cache()
    assert names(15) == {"critical": 5, "default": 5, "low": 5}


@spec("fair-scheduling 14.1")
def test_a_change_counts_where_the_worker_was_known_otherwise() -> None:
    fill(critical=20, default=20, low=20)
    register(strategy="strict")
    assert names(3)["critical"] == 3
    known = bindings.declared("w1")

    register(strategy="round-robin")
    bindings.learn_declared("w1", known)  # as in a process that missed the second report

    assert names(3) == dict.fromkeys(QUEUES, 1)


@spec("FS-5.2-b")
def test_a_fetch_names_its_own_before_those_of_its_worker() -> None:
    fill(critical=9, default=9, low=9)
    register(strategy="strict")

    assert names(9, strategy="round-robin") == dict.fromkeys(QUEUES, 3)


@spec("FS-5.2-c")
def test_a_pool_of_the_server_counts_before_its_workers() -> None:
    fill(critical=9, default=9, low=9)
    put("p", *QUEUES, strategy="strict")
    register(pool="p", weights={"low": 1_000}, strategy="weighted")

    assert names(9) == {"critical": 9, "default": 0, "low": 0}


def test_a_report_without_them_keeps_strategy_and_weights_and_an_empty_one_clears_them() -> None:
    fill(critical=9, default=9, low=9)
    register(strategy="strict")
    register(PATHS[1])
    assert names(3)["critical"] == 3

    register(PATHS[1], weights={})
    assert names(3) == dict.fromkeys(QUEUES, 1)


def test_handlers_and_turns_are_reported_apart() -> None:
    fill(critical=9, default=9, low=9)
    register(strategy="strict")
    register(PATHS[1], handlers=HANDLERS)
    bindings.clear_cache()
    assert names(3)["critical"] == 3
    register(PATHS[1], handlers=[])
    assert names(3)["critical"] == 3

    assert names(3, handlers=HANDLERS)["critical"] == 3  # a FETCH may name only handlers, too


def test_weights_of_queues_that_a_fetch_leaves_out_are_left_out() -> None:
    fill(critical=9, default=9)
    register(weights=WEIGHTS)

    assert counts(queue_order(8, worker_id="w1", queues=["critical"])) != {}


@pytest.mark.parametrize("path", [*PATHS, "workers/fetch"])
@pytest.mark.parametrize(
    ("member", "value", "field"),
    [
        ("strategy", "fastest", "strategy"),
        ("strategy", 7, "strategy"),
        ("strategy", ["strict"], "strategy"),
        ("weights", [1], "weights"),
        ("weights", "5", "weights"),
        ("weights", {"critical": 0}, "weights.critical"),
        ("weights", {"critical": "5"}, "weights.critical"),
        ("weights", {"critical": 1.5}, "weights.critical"),
        ("weights", {"critical": True}, "weights.critical"),
        ("weights", {"elsewhere": 1}, "weights"),
    ],
)
@pytest.mark.parametrize("pool", [None, "p"])
def test_nonsense_is_refused_with_its_name(
    path: str, member: str, value: Any, field: str, pool: str | None
) -> None:
    put("p", *QUEUES)
    body = {"worker_id": "w1", "queues": QUEUES, member: value, "pool": pool}

    assert refused(send("POST", path, body), 422)["field"] == field


@spec("contract 24.2")
def test_a_worker_is_shown_with_its_turns_and_handlers() -> None:
    register(strategy="weighted", weights={"low": 2})
    shown = get("admin/workers/w1")
    assert (shown["strategy"], shown["weights"]) == ("weighted", {"low": 2})
    assert (shown["handlers"], shown["declared_handlers"]) == ([], [])

    register(PATHS[1], handlers=[*HANDLERS, "tests.other"], handlers_exclusive=True)

    shown = get("admin/workers/w1")
    assert shown["handlers"] == ["tests.noop", "tests.other"]
    assert shown["declared_handlers"] == [
        {"type": "tests.noop", "versions": ">=1.0"}, {"type": "tests.other", "versions": "*"},
    ]  # fmt: skip
    assert shown["handlers_exclusive"] is True
    assert orjson.loads(send("GET", "admin/workers").content)["items"][0]["strategy"] == "weighted"
