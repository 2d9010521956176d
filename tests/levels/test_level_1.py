"""Level 1, reliable: retries, leases, heartbeats, timeouts, dead letter, over HTTP."""

from typing import Any

import pytest

from tests.levels.conftest import Wire
from tests.processes import until
from tests.spec import spec

QUICK = {"initial_interval": "PT0.01S", "jitter": False}


@spec("contract 5")
def test_a_failed_job_is_tried_again_until_its_attempts_are_spent(wire: Wire) -> None:
    job = wire.push(retry={**QUICK, "max_attempts": 3})

    for attempt in (1, 2, 3):
        (taken,) = wire.fetched()
        assert taken["attempt"] == attempt
        wire.nack(taken, type="HullBreach", message=f"leak {attempt}")

    done = wire.show(job["id"])
    assert done["state"] == "discarded"
    assert [error["message"] for error in done["errors"]] == ["leak 1", "leak 2", "leak 3"]
    assert done["error"]["type"] == "HullBreach"
    assert wire.fetch() == []


@pytest.mark.parametrize(
    ("strategy", "coefficient", "expected"),
    [
        ("exponential", 3.0, [1_000, 3_000]), ("linear", 1.0, [1_000, 2_000]),
        ("constant", 1.0, [1_000, 1_000]), ("polynomial", 2.0, [1_000, 4_000]),
    ],
)  # fmt: skip
@spec("contract 5.3")
def test_the_delay_follows_the_strategy(
    wire: Wire, strategy: str, coefficient: float, expected: list[int]
) -> None:
    retry = {"backoff_strategy": strategy, "backoff_coefficient": coefficient, "jitter": False}
    wire.push(retry={**retry, "max_attempts": 5})
    delays = []
    for _ in expected:
        (taken,) = wire.fetched()
        wire.nack(taken)
        delays.append(wire.show(taken["id"])["retry_delay_ms"])

    assert delays == expected


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ({"non_retryable_errors": ["Cargo.*"]}, {"type": "Cargo.Missing"}),
        ({}, {"retryable": False}), ({"max_attempts": 1}, {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("exhaustion", ["discard", "dead_letter"])
@spec("contract 5.4")
def test_final_failures_end_as_the_policy_says(
    wire: Wire, policy: dict[str, Any], error: dict[str, Any], exhaustion: str
) -> None:
    wire.push(retry={**policy, "on_exhaustion": exhaustion})
    (taken,) = wire.fetch()

    wire.nack(taken, **error)

    done = wire.show(taken["id"])
    assert (done["state"], done["dead_letter"]) == ("discarded", exhaustion == "dead_letter")


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"max_attempts": -1}, "max_attempts"),
        ({"backoff_coefficient": 0.5}, "backoff_coefficient"),
        ({"initial_interval": "soon"}, "initial_interval"), ({"jitter": 1}, "jitter"),
    ],
)  # fmt: skip
@spec("contract 5.1")
def test_a_bad_policy_is_refused(wire: Wire, policy: dict[str, Any], field: str) -> None:
    error = wire.send("POST", "/ojs/v1/jobs", wire.job(retry=policy), 422)["error"]

    assert error["type"] == "validation_error"
    assert field in error["message"]


@spec("contract 9.3")
def test_a_lease_that_ends_returns_the_job(wire: Wire) -> None:
    job = wire.push()
    wire.fetch(visibility_timeout_ms=1000)

    (again,) = wire.fetched()

    assert (again["id"], again["attempt"]) == (job["id"], 2)
    assert again["errors"][0]["code"] == "visibility_timeout"


@spec("contract 9.2")
def test_a_heartbeat_extends_the_lease_and_tells_of_cancels(wire: Wire) -> None:
    kept, cancelled = wire.push("kept"), wire.push("cancelled")
    wire.fetch(2, worker_id=wire.queue)
    wire.send("DELETE", f"/ojs/v1/jobs/{cancelled['id']}")

    told = wire.send(
        "POST",
        "/ojs/v1/workers/heartbeat",
        {"worker_id": wire.queue, "active_jobs": [kept["id"], cancelled["id"]]},
    )

    assert told["state"] == "running"
    assert told["jobs_extended"] == [kept["id"]]
    assert told["cancelled_jobs"] == [cancelled["id"]]


@spec("contract 9.3")
def test_only_the_holder_may_answer(wire: Wire) -> None:
    wire.push()
    (taken,) = wire.fetch(worker_id="mine")

    refused = wire.ack(taken, 409, worker_id="theirs")

    assert refused["error"]["details"]["reason"] == "lease_lost"
    wire.ack(taken, worker_id="mine")


@spec("contract 9.6")
def test_an_execution_that_takes_too_long_fails(wire: Wire) -> None:
    job = wire.push(timeout_ms=1000, retry={"max_attempts": 1})
    wire.fetch()

    done = wire.reaches(job["id"], "discarded")

    assert (done["error"]["code"], done["error"]["details"]["limit_ms"]) == ("timeout", 1000)


@spec("contract 9.4")
def test_a_quiet_worker_gets_nothing(wire: Wire) -> None:
    wire.push()
    beat = {"worker_id": wire.queue, "active_jobs": []}
    wire.send("POST", "/ojs/v1/workers/heartbeat", beat)

    wire.send("POST", f"/ojs/v1/admin/workers/{wire.queue}/quiet")

    assert wire.fetch(worker_id=wire.queue) == []
    assert wire.send("POST", "/ojs/v1/workers/heartbeat", beat)["state"] == "quiet"
    wire.send("POST", f"/ojs/v1/admin/workers/{wire.queue}/resume")
    assert len(wire.fetched(worker_id=wire.queue)) == 1


@spec("contract 2.3")
def test_a_requeued_job_has_spent_no_attempt(wire: Wire) -> None:
    job = wire.push()
    (taken,) = wire.fetch()

    wire.send("POST", "/ojs/v1/workers/nack", {"job_id": taken["id"], "requeue": True})

    shown = wire.show(job["id"])
    assert (shown["state"], shown["attempt"]) == ("available", 0)
    assert shown.get("errors", []) == []


@spec("contract 10.7")
def test_the_dead_letter_is_listed_retried_and_removed(wire: Wire) -> None:
    wire.push(retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    (taken,) = wire.fetch()
    wire.nack(taken)
    path = f"/ojs/v1/dead-letter/{taken['id']}"
    listed = wire.send("GET", f"/ojs/v1/dead-letter?queue={wire.queue}")["jobs"]
    assert [job["id"] for job in listed] == [taken["id"]]

    wire.send("POST", f"{path}/retry")

    (again,) = wire.fetched()
    assert (again["id"], again["attempt"]) == (taken["id"], 1)
    wire.nack(again)
    wire.send("DELETE", path)
    wire.send("GET", f"/ojs/v1/jobs/{taken['id']}", status=404)


@spec("contract 9.1")
def test_the_first_heartbeat_makes_a_worker_known(wire: Wire) -> None:
    wire.send("POST", "/ojs/v1/workers/heartbeat", {"worker_id": wire.queue, "active_jobs": []})

    until(lambda: wire.queue in _workers(wire), "the worker's row")

    assert _workers(wire)[wire.queue]["state"] == "running"


def _workers(wire: Wire) -> dict[str, Any]:
    items = wire.send("GET", "/ojs/v1/admin/workers?per_page=100")["items"]
    return {item["id"]: item for item in items}
