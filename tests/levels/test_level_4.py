"""Level 4, advanced: priorities, unique jobs, batches, queues and their limits, over HTTP."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.levels.conftest import Wire
from tests.spec import spec


@spec("contract 10.1")
def test_higher_priorities_come_first_and_equals_in_order(wire: Wire) -> None:
    for name, priority in (("a", 0), ("b", 10), ("c", -10), ("d", 10), ("e", 0)):
        wire.push(name, priority=priority)

    assert [job["args"][0] for job in wire.fetch(5)] == ["b", "d", "a", "e", "c"]


@spec("contract 6")
def test_an_equal_job_is_refused_by_default(wire: Wire) -> None:
    job = wire.push(1, unique={})

    error = wire.send("POST", "/ojs/v1/jobs", wire.job(1, unique={}), 409)["error"]

    assert error["code"] == "duplicate"
    assert error["details"]["existing_job_id"] == job["id"]
    wire.push(2, unique={})


@spec("contract 6.3")
def test_ignore_answers_with_the_job_that_is_there(wire: Wire) -> None:
    unique = {"on_conflict": "ignore"}
    job = wire.push(1, unique=unique)

    told = wire.send("POST", "/ojs/v1/jobs", wire.job(1, unique=unique), 200)

    assert (told["deduplicated"], told["job"]["id"]) == (True, job["id"])


@spec("contract 6.3")
def test_replace_cancels_the_job_that_was_there(wire: Wire) -> None:
    unique = {"on_conflict": "replace"}
    old = wire.push(1, unique=unique)

    new = wire.push(1, unique=unique)

    assert wire.show(old["id"])["state"] == "cancelled"
    assert [job["id"] for job in wire.fetch(5)] == [new["id"]]


@spec("contract 6.3")
def test_of_equal_requests_at_once_one_is_stored(wire: Wire) -> None:
    body = wire.job(1, unique={"keys": ["type"]})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: wire.http.post("/ojs/v1/jobs", json=body), range(16)))

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 15
    assert len(wire.fetch(20)) == 1


@pytest.mark.parametrize(
    "unique",
    [{"states": []}, {"states": ["afloat"]}, {"on_conflict": "sink"}, {"keys": ["colour"]},
     {"keys": ["meta"]}, {"period": "soon"}],
)  # fmt: skip
@spec("contract 6.1")
def test_a_bad_uniqueness_is_refused(wire: Wire, unique: dict[str, Any]) -> None:
    error = wire.send("POST", "/ojs/v1/jobs", wire.job(1, unique=unique), 400)["error"]

    assert "unique" in error["details"]["field"]


@spec("contract 11.1")
def test_a_batch_is_stored_in_order(wire: Wire) -> None:
    told = wire.send("POST", "/ojs/v1/jobs/batch", {"jobs": [wire.job(n) for n in range(40)]}, 201)

    assert told["count"] == 40
    assert [job["args"][0] for job in told["jobs"]] == list(range(40))
    assert [job["args"][0] for job in wire.fetch(40)] == list(range(40))


@spec("contract 11.1")
def test_a_batch_with_a_bad_job_stores_none(wire: Wire) -> None:
    jobs = [wire.job(1), {**wire.job(2), "type": "no type"}, wire.job(3)]

    error = wire.send("POST", "/ojs/v1/jobs/batch", {"jobs": jobs}, 400)["error"]

    assert error["details"]["index"] == 1
    assert wire.fetch(5) == []


@spec("contract 10.2")
def test_a_paused_queue_takes_jobs_and_hands_out_none(wire: Wire) -> None:
    wire.send("POST", f"/ojs/v1/queues/{wire.queue}/pause")
    wire.push()
    assert wire.fetch() == []

    wire.send("POST", f"/ojs/v1/queues/{wire.queue}/resume")

    assert len(wire.fetched()) == 1


@spec("contract 10.3")
def test_stats_count_by_state(wire: Wire) -> None:
    for number in range(3):
        wire.push(number)
    (taken,) = wire.fetch()
    wire.ack(taken)
    wire.fetch()

    told = wire.send("GET", f"/ojs/v1/queues/{wire.queue}/stats")

    assert told["queue"]["name"] == wire.queue
    states = ("available", "active", "completed", "depth")
    assert [told["stats"][name] for name in states] == [1, 1, 1, 1]
    wire.send("GET", "/ojs/v1/queues/nobody-knows-it/stats", status=404)


@spec("contract 10.4")
def test_a_queue_runs_no_more_at_once_than_it_may(wire: Wire) -> None:
    path = f"/ojs/v1/queues/{wire.queue}/config"
    wire.send("PUT", path, {"config": {"concurrency": 2}})
    for number in range(4):
        wire.push(number)

    taken = wire.fetch(4)
    assert len(taken) == 2
    assert wire.fetch(4) == []
    wire.ack(taken[0])

    assert len(wire.fetched(1)) == 1
    assert wire.send("GET", path)["config"]["concurrency"] == 2


@spec("contract 10.5")
def test_a_queue_hands_out_no_more_a_second_than_it_may(wire: Wire) -> None:
    for number in range(3):
        wire.push(number, rate_limit={"max_per_second": 1})

    assert len(wire.fetch(3)) == 1
    assert len(wire.fetched(1)) == 1


@spec("contract 27")
def test_a_full_queue_refuses_more(wire: Wire) -> None:
    wire.send("PUT", f"/ojs/v1/queues/{wire.queue}/config", {"config": {"max_size": 2}})
    wire.push(1)
    wire.push(2)

    answer = wire.http.post("/ojs/v1/jobs", json=wire.job(3))

    assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
