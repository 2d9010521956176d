"""Explanations of waiting jobs by their pools, over HTTP. Spec: contract 20.5; FS 6 to 8."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Ready, Turn, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pool_cache, pools
from tests.factories import stored, stored_ids
from tests.jobs.api.admin.test_explain import closed, explained, gate, of_tenant
from tests.scheduling.pools import fill, put, queue_order, taken
from tests.spec import spec

Keys = Callable[..., dict[str, str]]


def crew(pool: str | None, worker_id: str = "w1", queues: Sequence[str] = ()) -> None:
    """Report a live worker in a pool."""
    heartbeat(Report(worker_id, pool=pool, queues=tuple(queues) or None))


def pool_gates(found: dict[str, Any], *names: str) -> list[tuple[str, str | None, str]]:
    """Return gate, name and state of the gates of pools, in order."""
    wanted = names or ("isolation", "pools", "pool", "turns")
    return [
        (one["gate"], one["name"], one["state"]) for one in found["gates"] if one["gate"] in wanted
    ]


@spec("contract 20.5")
def test_without_pools_there_are_no_gates_of_pools(api: Client) -> None:
    assert pool_gates(explained(api, stored_ids(1)[0])) == []


@spec("FS-6.3-a")
def test_queue_of_isolated_pools_names_them_and_whether_they_live(api: Client) -> None:
    put("gpu-a", "gpu", isolated=True)
    put("gpu-b", "gpu", isolated=True)
    put("other", "gpu")
    job_id = stored_ids(1, queue="gpu")[0]
    crew(None, "outsider", ["gpu"])

    before = explained(api, job_id)
    crew("gpu-b")
    after = explained(api, job_id)

    assert pool_gates(before) == [
        ("isolation", None, "closed"), ("pool", "gpu-a", "open"), ("pool", "gpu-b", "open"),
    ]  # fmt: skip
    assert before["verdict"] == "unserved"
    assert before["message"] == (
        "Queue gpu is closed to all workers outside of isolated pools gpu-a, gpu-b,"
        " and none of them is live."
    )
    assert gate(after, "isolation")["state"] == "open"
    assert gate(after, "isolation")["numbers"] == {"pools": 2, "workers": 1}
    assert after["verdict"] == "next"


@spec("FS-6.1-b")
def test_full_pool_is_closed_when_nobody_else_may(api: Client) -> None:
    put("p", "a", concurrency=2, isolated=True)
    crew("p")
    job_id = stored_ids(3, queue="a")[2]
    taken(3, pool="p", worker_id="w1")

    found = explained(api, job_id)

    full = gate(found, "pool")
    assert (found["verdict"], found["eligible"], closed(found)) == ("held", False, ["pool"])
    assert (full["name"], full["enforced"]) == ("p", True)
    assert full["numbers"] == {"active": 2, "concurrency": 2, "workers": 1}
    assert found["message"] == (
        "Pool p is full: 2 of its jobs run, 2 may; there is room when one of them ends."
    )
    assert found["estimate"]["reason"].endswith("gate pool p")


@spec("FS-6.1-b")
def test_full_pool_is_not_closed_while_another_has_room(api: Client) -> None:
    put("full", "a", concurrency=1)
    put("free", "a", concurrency=5)
    job_id = stored_ids(2, queue="a")[1]
    crew("full")
    taken(1, pool="full", worker_id="w1")

    alone = explained(api, job_id)
    crew("free", "w2")
    found = explained(api, job_id)

    # no known worker would take the job, though a worker of the pool `free` may appear
    assert pool_gates(alone) == [("pool", "free", "open"), ("pool", "full", "closed")]
    assert (alone["verdict"], alone["eligible"]) == ("unserved", True)
    assert pool_gates(found) == [("pool", "free", "open"), ("pool", "full", "unknown")]
    assert found["verdict"] == "next"
    (full,) = [one for one in found["gates"] if one["name"] == "full"]
    assert full["message"].endswith("Other workers may take the job.")


@spec("FS-6.2-a")
def test_queue_that_nobody_serves(api: Client) -> None:
    put("mail", "mail")
    job_id = stored_ids(1, queue="a")[0]
    crew("mail")
    nobody = explained(api, job_id)
    put("late", "a")
    listed = explained(api, job_id)
    crew(None, "w2")
    served = explained(api, job_id)

    assert pool_gates(nobody) == [("pools", None, "closed")]
    assert "no pool has the queue" in gate(nobody, "pools")["message"]
    assert gate(nobody, "pools")["enforced"] is False
    assert pool_gates(listed) == [("pools", None, "closed"), ("pool", "late", "open")]
    assert "pool late and workers outside of all pools may" in gate(listed, "pools")["message"]
    assert pool_gates(served) == [("pool", "late", "open")]


@spec("FS-6.2")
def test_workers_that_name_no_pool_are_in_the_default_one(api: Client) -> None:
    put("default", "other")
    job_id = stored_ids(1, queue="a")[0]
    crew(None)
    assert gate(explained(api, job_id), "pools")["state"] == "closed"

    put("default", "a", status=200)

    assert pool_gates(explained(api, job_id)) == [("pool", "default", "open")]
    assert gate(explained(api, job_id), "pool")["numbers"]["workers"] == 1


@spec("FS-6.2")
def test_workers_without_a_pool_do_not_count_where_one_is_required(api: Client) -> None:
    put("p", "b")
    job_id = stored_ids(1, queue="a")[0]
    crew(None)
    assert pool_gates(explained(api, job_id)) == []

    with override_settings(OJS_SCHEDULING={"REQUIRE_POOL": True}):
        assert pool_gates(explained(api, job_id)) == [("pools", None, "closed")]


@pytest.mark.parametrize(
    "fact", [{"standing": Standing.QUIET}, {"queues": ("b",)}, {"pool": "elsewhere"}]
)
def test_worker_that_is_quiet_elsewhere_or_fetches_others_serves_nothing(
    api: Client, fact: dict[str, Any]
) -> None:
    put("p", "a", "b", isolated=True)
    job_id = stored_ids(1, queue="a")[0]
    heartbeat(Report("w1", **{"pool": "p", **fact}))

    assert gate(explained(api, job_id), "isolation")["state"] == "closed"


def test_silent_worker_serves_nothing(api: Client) -> None:
    put("p", "a", isolated=True)
    job_id = stored_ids(1, queue="a")[0]
    crew("p")
    Worker.objects.update(last_heartbeat_at=ago(3_600_000))

    assert gate(explained(api, job_id), "isolation")["state"] == "closed"


# --- queue rotation -------------------------------------------------------------------------------


@spec("FS-7.3")
def test_turns_tell_place_and_share_by_weight(api: Client) -> None:
    put("p", "a", "b", strategy="weighted", weights={"a": 3})
    jobs = fill(a=9, b=9)
    crew("p")

    first, second = (gate(explained(api, jobs[queue][0]), "turns") for queue in "ab")

    assert first["message"] == (
        "In the weighted turns of pool p queue a is next."
        " Its share while all have jobs is 75 %, weight 3 of 4."
    )
    assert first["numbers"] == {
        "place": 0, "waited_turns": 0, "owed": 0, "share": 0.75, "weight": 3,
    }  # fmt: skip
    assert "comes after a. Its share" in second["message"]
    assert (second["state"], second["numbers"]["place"]) == ("open", 1)
    assert queue_order(2, pool="p") == "ab"


@spec("FS-7.1")
def test_turns_of_a_strict_pool_come_in_their_order(api: Client) -> None:
    put("p", "a", "b", "c", strategy="strict")
    jobs = fill(a=2, c=1)

    def rotation_gate_of() -> dict[str, Any]:
        return gate(explained(api, jobs["c"][0]), "turns")

    assert "comes after a (2 times)." in rotation_gate_of()["message"]
    assert rotation_gate_of()["numbers"] == {"place": 2, "waited_turns": 0, "owed": 0}
    taken(2, pool="p")
    assert "queue c is next." in rotation_gate_of()["message"]
    fill(a=120)
    assert "comes after a (200 times), and after further turns" in rotation_gate_of()["message"]
    assert "place" not in rotation_gate_of()["numbers"]


@spec("FS-8.1")
def test_turn_that_is_owed_by_ratio_is_told(api: Client) -> None:
    put("p", "a", "b", strategy="strict", starvation_prevention={"min_dispatch_ratio": 0.25})
    jobs = fill(a=20, b=9)
    owed = []
    order = ""
    for _ in range(8):
        found = gate(explained(api, jobs["b"][-1]), "turns")
        owed.append(found["numbers"]["owed"])
        order += queue_order(1, pool="p")

    assert [one == "b" for one in order] == [bool(one) for one in owed]
    assert 0 < sum(owed) < 8
    assert found["numbers"]["min_ratio"] == 0.25


@spec("FS-8.1")
def test_turn_that_is_owed_by_time_is_told(api: Client) -> None:
    put("p", "a", "b", strategy="strict", starvation_prevention={"min_dispatch_ratio": 0})
    jobs = fill(a=20, b=9)
    queue_order(2, pool="p")
    assert gate(explained(api, jobs["b"][0]), "turns")["numbers"]["owed"] == 0
    Ready.objects.update(enqueued_at=ago(31_000))
    long_ago = timezone.now() - timedelta(seconds=31)
    Turn.objects.update(since=[long_ago, long_ago])

    found = gate(explained(api, jobs["b"][0]), "turns")

    assert (found["numbers"]["owed"], found["numbers"]["place"]) == (1, 0)
    assert (
        "It is owed a turn by starvation prevention: 2 of others have passed." in found["message"]
    )
    assert queue_order(1, pool="p") == "b"


def test_queue_without_a_job_to_give_is_passed_over(api: Client) -> None:
    put("p", "a", "b")
    jobs = fill(a=1, b=1)
    pause("a")

    found = gate(explained(api, jobs["a"][0]), "turns")

    assert "is skipped" in found["message"]
    assert "place" not in found["numbers"]


def test_job_that_is_not_available_or_a_queue_alone_has_no_turn(api: Client) -> None:
    put("p", "a", "b")
    put("alone", "c")
    later = stored_ids(1, queue="a", scheduled_at="2099-01-01T00:00:00Z")[0]
    single = stored_ids(1, queue="c")[0]

    assert pool_gates(explained(api, later), "turns", "pool") == [("pool", "p", "open")]
    assert pool_gates(explained(api, single), "turns", "pool") == [("pool", "alone", "open")]


# --- visibility by caller, and cost ---------------------------------------------------------------


@spec("fair-scheduling 6")
def test_decision_of_a_started_job_tells_its_pool(api: Client) -> None:
    put("p", "a", "b")
    job_id = fill(a=1)["a"][0]
    taken(1, pool="p", worker_id="w1")

    assert explained(api, job_id)["decision"]["pool"] == "p"


@spec("contract 31.3")
def test_key_of_a_tenant_sees_no_numbers_of_pools(api: Client, new_key: Keys) -> None:
    for body in (
        {"name": "p", "queues": ["a", "b"], "strategy": "weighted", "concurrency": 1},
        {"name": "q", "queues": ["a", "b"], "isolated": True},
        {"name": "p", "queues": ["a", "b"], "isolated": True, "concurrency": 1},
    ):
        pools.put(parse_pool(str(body["name"]), body))
    mine = of_tenant("north", 2, queue="a")[1]
    crew("q")
    fetch(FetchRequest((), pool="p"))

    found = explained(api, mine, **new_key("ojs:admin:read", tenant="north"))

    told = [one for one in found["gates"] if one["gate"] in {"pool", "turns", "isolation"}]
    assert pool_gates(found) == [
        ("isolation", None, "open"), ("pool", "p", "unknown"), ("pool", "q", "open"),
        ("turns", "p", "open"), ("turns", "q", "open"),
    ]  # fmt: skip
    assert all(one["numbers"] == {} for one in told)
    assert not any(char.isdigit() for one in told for char in one["message"])


def test_change_in_another_process_counts_at_once(api: Client) -> None:
    job_id = stored_ids(1, queue="a")[0]
    old = pool_cache.current()
    put("p", "a")
    pool_cache.cache.latest = old

    assert gate(explained(api, job_id), "pool")["name"] == "p"


def test_pools_take_one_statement_however_many_there_are(api: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            explained(api, job_id)
        return len(captured)

    job_id = stored_ids(1, queue="a")[0]
    without = cost()
    for n in range(15):
        put(f"p{n}", "a", "b", strategy="weighted", concurrency=1)
    stored(3, queue="b")
    explained(api, job_id)

    assert (without, cost()) == (5, 5)
