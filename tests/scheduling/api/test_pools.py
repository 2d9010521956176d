"""Pools, their workers and their limits. Spec: contract 20.2, 3, 5; fair-scheduling 6, 10, 14."""

from typing import Any

import orjson
import pytest
from django.test import override_settings

from jobs.models import Audit, Lease, Worker
from tests.factories import stored_ids
from tests.scheduling.pools import fill, get, put, queue_order, refused, send, taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def beat(worker_id: str, **body: Any) -> int:
    """Send a heartbeat and return the status."""
    return send("POST", "workers/heartbeat", {"worker_id": worker_id, **body}).status_code


# --- the resource ---------------------------------------------------------------------------------


@spec("FS-6.1-a")
def test_a_pool_has_defaults_and_is_shown_flat_and_wrapped() -> None:
    made = put("mail", "a", "b")

    assert made == {**made["pool"], "pool": made["pool"]}
    assert made["pool"] == {
        "name": "mail", "id": "mail", "queues": ["a", "b"], "concurrency": 0,
        "concurrency_unlimited": True, "strategy": "round-robin", "isolated": False,
        "starvation_prevention": {
            "enabled": False, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.05,
        },
        "tenant_fairness": None, "tenant": None, "active_workers": 0, "workers": 0,
        "active_jobs": 0, "utilization": None, "static": False,
    }  # fmt: skip
    assert get("admin/pools/mail") == made


@spec("FS-10.1-b")
def test_put_makes_a_pool_and_then_replaces_it_as_a_whole() -> None:
    put("p", "a", "b", strategy="strict", concurrency=12, isolated=True)

    changed = put("p", "b", strategy="weighted", weights={"b": 4}, status=200)

    assert (changed["queues"], changed["weights"]) == (["b"], {"b": 4})
    assert (changed["concurrency_unlimited"], changed["isolated"]) == (True, False)
    assert [entry.action for entry in Audit.objects.all()] == ["pool.changed"] * 2


def test_what_was_read_can_be_put_again() -> None:
    put("p", "a", "b", strategy="weighted", weights={"a": 3}, starvation_prevention={
        "min_dispatch_ratio": 0.25, "rotation_interval": "PT1M",
    }, tenant_fairness={"weights": {"tenant:blue": 4}, "default_weight": 2})  # fmt: skip
    before = get("admin/pools/p")

    for body in (before, before["pool"]):
        answer = send("PUT", "admin/pools/p", body)
        assert (answer.status_code, orjson.loads(answer.content)) == (200, before)
    assert before["tenant_fairness"]["weights"] == {"blue": 4}


@spec("D-FS-1")
def test_queues_may_be_an_object_with_weights_in_document_order() -> None:
    made = put("p", strategy="weighted", queues={"z": {"weight": 8}, "a": 3, "m": {}})

    assert made["queues"] == ["z", "a", "m"]
    assert made["weights"] == {"z": 8, "a": 3, "m": 1}


@spec("D-FS-11")
def test_a_ratio_switches_prevention_on_unless_it_is_switched_off() -> None:
    def enabled(**said: Any) -> bool:
        answer = send("PUT", "admin/pools/p", {"queues": ["a"], "starvation_prevention": said})
        return bool(orjson.loads(answer.content)["starvation_prevention"]["enabled"])

    assert not enabled(rotation_interval="PT5S")
    assert enabled(min_dispatch_ratio=0.1)
    assert not enabled(min_dispatch_ratio=0.1, enabled=False)


BAD: list[tuple[str, dict[str, Any]]] = [
    ("name", {"queues": ["a"], "name": "q"}),
    ("name", {"queues": ["a"], "name": 5}),
    ("pool", {"pool": []}),
    ("queues", {}),
    ("queues", {"queues": []}),
    ("queues", {"queues": "a"}),
    ("queues", {"queues": ["A"]}),
    ("queues", {"queues": ["a", 5]}),
    ("queues", {"queues": ["a", "a"]}),
    ("queues", {"queues": [f"q{n}" for n in range(101)]}),
    ("queues.a", {"queues": {"a": {"weight": 0}}}),
    ("queues.a", {"queues": {"a": "5"}}),
    ("queues.a", {"queues": {"a": None}}),
    ("strategy", {"queues": ["a"], "strategy": "fifo"}),
    ("strategy", {"queues": ["a"], "strategy": ["strict"]}),
    ("weights", {"queues": ["a"], "weights": [1]}),
    ("weights", {"queues": ["a"], "weights": {"b": 1}}),
    *[("weights.a", {"queues": ["a"], "weights": {"a": w}})
      for w in (0, -1, 1.5, True, "1", 10**9)],
    ("weights.a", {"queues": {"a": 3}, "weights": {"a": 2}}),
    *[("concurrency", {"queues": ["a"], "concurrency": n}) for n in (0, -1, 1.5, True, "1", 2**31)],
    ("concurrency", {"queues": ["a"], "concurrency": 3, "concurrency_unlimited": True}),
    ("isolated", {"queues": ["a"], "isolated": "yes"}),
    ("tenant", {"queues": ["a"], "tenant": 7}),
    ("tenant", {"queues": ["a"], "tenant": ""}),
    ("starvation_prevention", {"queues": ["a"], "starvation_prevention": []}),
    ("starvation_prevention.enabled",
     {"queues": ["a"], "starvation_prevention": {"enabled": 1}}),
    *[("starvation_prevention.min_dispatch_ratio",
       {"queues": ["a"], "starvation_prevention": {"min_dispatch_ratio": r}})
      for r in (1.2, -0.1, "0.1", True)],
    *[("starvation_prevention.rotation_interval",
       {"queues": ["a"], "starvation_prevention": {"rotation_interval": d}})
      for d in ("30", "", 30, "PT0S", "PT0.5S", "P2D")],
    ("tenant_fairness", {"queues": ["a"], "tenant_fairness": True}),
    ("tenant_fairness.weights", {"queues": ["a"], "tenant_fairness": {"weights": [1]}}),
    ("tenant_fairness.weights", {"queues": ["a"], "tenant_fairness": {"weights": {"": 1}}}),
    ("tenant_fairness.weights",
     {"queues": ["a"], "tenant_fairness": {"weights": {"t": 1, "tenant:t": 2}}}),
    ("tenant_fairness.weights.t", {"queues": ["a"], "tenant_fairness": {"weights": {"t": 0}}}),
    ("tenant_fairness.default_weight", {"queues": ["a"], "tenant_fairness": {"default_weight": 0}}),
    ("tenant_fairness.enabled", {"queues": ["a"], "tenant_fairness": {"enabled": "no"}}),
    *[("tenant_fairness.cost", {"queues": ["a"], "tenant_fairness": {"cost": cost}})
      for cost in ("time", "", 1, True)],
    ("tenant_fairness.cost", {"queues": ["a"], "tenant_fairness": {"cost": ["duration"]}}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "body"), BAD)
@spec("FS-6.1-a", "FS-8.1-b")
def test_what_is_wrong_is_refused_naming_the_field(field: str, body: dict[str, Any]) -> None:
    assert refused(send("PUT", "admin/pools/p", body), 422)["field"] == field
    assert get("admin/pools")["items"] == []


@spec("fair-scheduling 9")
def test_what_is_not_offered_is_refused_as_such() -> None:
    fairness = {"strategy": "x"}
    answer = send("PUT", "admin/pools/p", {"queues": ["a"], "tenant_fairness": fairness})

    refused(answer, 422, "unsupported")


@pytest.mark.parametrize("name", ["-p", ".p", "p%20q", "p" * 129])
def test_a_pool_needs_a_plain_name(name: str) -> None:
    assert refused(send("PUT", f"admin/pools/{name}", {"queues": ["a"]}), 422)["field"] == "name"
    refused(send("GET", f"admin/pools/{name}"), 404, "not_found")
    refused(send("DELETE", f"admin/pools/{name}"), 404, "not_found")


@spec("FS-8.2")
def test_shares_that_add_up_to_more_than_all_are_refused() -> None:
    def answer(ratio: float, enabled: bool = True) -> Any:
        prevention = {"min_dispatch_ratio": ratio, "enabled": enabled}
        body = {"queues": list("abc"), "starvation_prevention": prevention}
        return send("PUT", "admin/pools/p", body)

    refused(answer(0.34), 422, "infeasible_ratio")
    assert answer(1 / 3).status_code == 201
    assert answer(0.34, enabled=False).status_code == 200


@spec("FS-10.1-a")
def test_pools_are_listed_with_their_live_workers_and_active_jobs() -> None:
    fill(a=3, b=1)
    put("one", "a", concurrency=4)
    put("two", "b")
    beat("w1", pool="one")
    beat("w2", pool="one")
    beat("w2", pool="one", state="terminate")
    beat("w3")
    taken(2, pool="one")

    found = get("admin/pools")

    assert found["pools"] == found["items"]
    assert found["pagination"]["total"] == 2
    assert [
        (p["name"], p["active_workers"], p["workers"], p["active_jobs"], p["utilization"])
        for p in found["items"]
    ] == [("one", 1, 1, 2, 0.5), ("two", 0, 0, 0, None)]
    assert [p["name"] for p in get("admin/pools?per_page=1&page=2")["items"]] == ["two"]


def test_pool_in_use_a_pool_with_live_workers_is_deleted_by_force_only() -> None:
    put("p", "a", isolated=True)
    beat("w1", pool="p")

    assert refused(send("DELETE", "admin/pools/p"), 409, "pool_in_use")["active_workers"] == 1
    assert send("DELETE", "admin/pools/p?force=true").status_code == 204

    refused(send("GET", "admin/pools/p"), 404, "not_found")
    refused(send("DELETE", "admin/pools/p"), 404, "not_found")
    fill(a=1)
    assert queue_order(queues=["a"]) == "a"


def test_pool_in_use_a_pool_whose_workers_have_ended_is_deleted() -> None:
    put("p", "a")
    beat("w1", pool="p")
    beat("w1", state="terminate")

    assert send("DELETE", "admin/pools/p").status_code == 204


STATIC = {
    "DEFAULT_STRATEGY": "strict",
    "POOLS": [{"name": "gpu", "queues": ["g"], "isolated": True, "concurrency": 1}],
}


def test_pools_of_the_settings_govern_and_cannot_be_changed() -> None:
    fill(g=2)
    with override_settings(OJS_SCHEDULING=STATIC):
        assert get("admin/pools/gpu")["static"] is True
        refused(send("PUT", "admin/pools/gpu", {"queues": ["a"]}), 409, "x_pool_static")
        refused(send("DELETE", "admin/pools/gpu"), 409, "x_pool_static")
        assert queue_order(2, queues=["g"]) == ""
        assert queue_order(2, pool="gpu") == "g"


# --- the pool of a worker -------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["workers/heartbeat", "workers/register", "workers/fetch"])
@spec("FS-6.2-a")
def test_a_worker_names_its_pool_in_any_first_request(path: str) -> None:
    body = {"worker_id": "w1", "pool": "p", "queues": ["a"]}

    assert send("POST", path, body).status_code == 200

    assert get("admin/workers/w1")["pool"] == "p"


@spec("D-FS-10")
def test_body_then_header_then_binding_name_the_pool() -> None:
    fill(a=9)
    for name in ("one", "two", "three"):
        put(name, "a")
    beat("w3", pool="three")

    pools = []
    for body, header in (
        ({"pool": "one"}, {"X-OJS-Pool": "two"}),
        ({}, {"X-OJS-Pool": "two"}),
        ({"worker_id": "w3"}, {}),
        ({}, {}),
    ):
        answer = send("POST", "workers/fetch", {"queues": ["a"], **body}, **header)
        job_id = orjson.loads(answer.content)["jobs"][0]["id"]
        pools.append(Lease.objects.get(id=job_id).pool)

    assert pools == ["one", "two", "three", None]


@pytest.mark.parametrize("path", ["workers/heartbeat", "workers/register", "workers/fetch"])
@spec("FS-6.2-b")
def test_a_worker_is_in_one_pool_alone(path: str) -> None:
    stored_ids(1, queue="a")
    beat("w1", pool="one")
    body = {"worker_id": "w1", "queues": ["a"]}

    assert refused(send("POST", path, {**body, "pool": ["one", "two"]}), 422)["field"] == "pool"
    details = refused(send("POST", path, {**body, "pool": "two"}), 409, "pool_conflict")

    assert details == {"worker_id": "w1", "pool": "one"}
    assert Worker.objects.get(id="w1").pool == "one"
    assert not Lease.objects.exists()


@pytest.mark.parametrize("path", ["workers/heartbeat", "workers/fetch"])
@spec("FS-6.2-b")
def test_a_worker_that_ended_may_come_back_in_another_pool(path: str) -> None:
    beat("w1", pool="one")
    assert send("DELETE", "workers/w1").status_code == 204

    body = {"worker_id": "w1", "queues": ["a"], "pool": "two"}
    if path == "workers/fetch":  # a removed worker gets terminate until it sends a heartbeat
        beat("w1")
        Worker.objects.filter(id="w1").update(pool=None)

    assert send("POST", path, body).status_code == 200
    assert Worker.objects.get(id="w1").pool == "two"


def test_a_heartbeat_refused_for_its_pool_extends_no_lease() -> None:
    stored_ids(1, queue="a")
    job = taken(worker_id="w1", pool="one", queues=["a"])[0]
    before = Lease.objects.get(id=job["id"]).lease_until

    assert beat("w1", pool="two", active_jobs=[job["id"]]) == 409

    assert Lease.objects.get(id=job["id"]).lease_until == before
    assert Worker.objects.get(id="w1").last_heartbeat_at is None


@spec("D-FS-12")
def test_registration_tells_how_to_live() -> None:
    answer = send("POST", "workers/register", {
        "worker_id": "w1", "hostname": "h", "pid": 7, "queues": ["a"], "concurrency": 2,
        "labels": {"zone": "x"}, "pool": "p", "handlers": ["mail.send"],
    })  # fmt: skip

    told = orjson.loads(answer.content)
    assert (told["ok"], told["heartbeat_interval"], told["heartbeat_timeout"]) == (True, 5, 30)
    assert told["visibility_timeout_default"] == 1800
    shown = get("admin/workers/w1")
    assert (shown["handlers"], shown["labels"]["zone"]) == (["mail.send"], "x")
    details = refused(send("POST", "workers/register", {"worker_id": "w1", "handlers": "x"}), 400)
    assert details["field"] == "handlers"


@pytest.mark.parametrize("path", ["heartbeat", "register"])
@spec("fair-scheduling 14.1")
def test_worker_may_be_told_of_as_an_object(path: str) -> None:
    worker = {"id": "w1", "pool": "p", "queues": ["a"], "concurrency": 3, "handlers": ["mail.send"]}

    answer = send("POST", f"workers/{path}", {"worker": worker, "hostname": "h"})

    assert answer.status_code == 200, answer.content
    row = Worker.objects.get(id="w1")
    assert (row.pool, row.queues, row.concurrency, row.hostname) == ("p", ["a"], 3, "h")
    if path == "register":
        assert get("admin/workers/w1")["handlers"] == ["mail.send"]


@pytest.mark.parametrize("path", ["heartbeat", "register"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"worker": "w1"}, "worker"),
        ({"worker": {}}, "worker_id"),
        ({"worker": {"id": 7}}, "worker_id"),
        ({"worker": {"id": "w1"}, "worker_id": "w2"}, "worker.id"),
    ],
)
@spec("fair-scheduling 14.1")
def test_worker_that_is_not_named_or_twice_is_refused(
    path: str, body: dict[str, Any], field: str
) -> None:
    assert refused(send("POST", f"workers/{path}", body), 400)["field"] == field
    assert not Worker.objects.exists()


@spec("D-FS-12")
def test_a_deregistered_worker_gives_its_jobs_back_and_gets_none() -> None:
    job_id = stored_ids(1, queue="a")[0]
    taken(worker_id="w1", queues=["a"])

    assert send("DELETE", "workers/w1").status_code == 204

    assert queue_order(worker_id="w1", queues=["a"]) == ""
    assert [job["id"] for job in taken(worker_id="w2", queues=["a"])] == [job_id]
    refused(send("DELETE", "workers/nobody"), 404, "not_found")
    refused(send("DELETE", "workers/%00"), 400, "invalid_request")


@spec("D-FS-6")
def test_a_server_may_require_pools() -> None:
    fill(a=2)
    put("p", "a")
    beat("w1", pool="p")
    with override_settings(OJS_SCHEDULING={"REQUIRE_POOL": True}):
        assert refused(send("POST", "workers/fetch", {"queues": ["a"]}), 422)["field"] == "pool"
        body = {"queues": ["a"], "worker_id": "stranger"}
        assert refused(send("POST", "workers/fetch", body), 422)["field"] == "pool"
        assert queue_order(queues=["a"], worker_id="w1") == "a"
        assert queue_order(queues=["a"], pool="p") == "a"


@pytest.mark.parametrize("path", ["workers/register", "workers/heartbeat"])
@spec("D-FS-6")
def test_a_server_that_requires_pools_registers_no_worker_without(path: str) -> None:
    put("p", "a")
    beat("w1", pool="p")
    with override_settings(OJS_SCHEDULING={"REQUIRE_POOL": True}):
        assert refused(send("POST", path, {"worker_id": "w2"}), 422)["field"] == "pool"
        assert send("POST", path, {"worker_id": "w3", "pool": "p"}).status_code == 200
        # it named its pool before
        assert send("POST", path, {"worker_id": "w1"}).status_code == 200

    assert sorted(Worker.objects.values_list("id", flat=True)) == ["w1", "w3"]


@spec("D-FS-6")
def test_a_pool_called_default_has_the_workers_that_name_none() -> None:
    put("default", "a")
    fill(a=1)
    with override_settings(OJS_SCHEDULING={"REQUIRE_POOL": True}):
        assert beat("w1") == 200
        assert queue_order(queues=["a"], worker_id="w1") == "a"


def test_a_pool_may_name_the_queues_and_without_one_a_request_must() -> None:
    fill(a=2, b=1)
    put("p", "a", "b")
    beat("w1", pool="p")
    beat("w2")

    assert queue_order(2, pool="p") == "ab"
    assert queue_order(worker_id="w1") == "a"
    assert refused(send("POST", "workers/fetch", {}), 400)["field"] == "queues"
    assert refused(send("POST", "workers/fetch", {"worker_id": "w2"}), 400)["field"] == "queues"


# --- limits of a pool -----------------------------------------------------------------------------


@spec("FS-6.1-b")
def test_concurrency_caps_the_jobs_of_all_workers() -> None:
    fill(a=9)
    put("p", "a", concurrency=3)

    first = taken(10, pool="p", worker_id="w1")

    assert len(first) == 3
    assert taken(10, pool="p", worker_id="w2") == []
    assert send("POST", "workers/ack", {"job_id": first[0]["id"]}).status_code == 200
    assert len(taken(10, pool="p", worker_id="w2")) == 1
    put("p", "a", concurrency=5, status=200)
    assert len(taken(10, pool="p")) == 2


@spec("FS-6.1-b")
def test_concurrency_counts_over_all_queues_that_take_turns() -> None:
    fill(a=4, b=4)
    put("p", "a", "b", concurrency=5)

    assert queue_order(9, pool="p") == "ababa"
    assert queue_order(9, pool="p") == ""


def test_a_pool_has_its_own_queues_alone() -> None:
    fill(a=1, b=1)
    put("p", "a")

    assert queue_order(9, queues=["b"], pool="p") == ""
    assert queue_order(9, queues=["b", "a"], pool="p") == "a"


@spec("FS-6.3-a")
def test_jobs_of_an_isolated_queue_go_to_its_pool_alone() -> None:
    fill(g=3, a=3)
    put("gpu", "g", isolated=True)
    put("other", "g", "a")

    assert queue_order(9, queues=["g", "a"]) == "aaa"
    assert queue_order(9, pool="other") == ""
    assert queue_order(1, pool="gpu", queues=["g", "a"]) == "g"
    put("second", "g", isolated=True)  # D-FS-7: isolated pools may share a queue
    assert queue_order(1, pool="second") == "g"
    assert send("DELETE", "admin/pools/gpu").status_code == 204
    assert send("DELETE", "admin/pools/second").status_code == 204
    assert queue_order(9, pool="other") == "g"


@spec("FS-6.3-b")
def test_without_isolation_any_pool_may_have_a_job() -> None:
    fill(q=2)
    put("one", "q")
    put("two", "q")

    assert [queue_order(1, pool="one"), queue_order(1, pool="two")] == ["q", "q"]


@spec("FS-5.2-c")
def test_the_pool_beats_what_the_request_prefers() -> None:
    fill(a=3, b=3)
    put("p", "a", "b", strategy="strict")

    preferred = {"strategy": "weighted", "weights": {"b": 9}, "queues": ["b", "a"]}
    assert queue_order(6, pool="p", **preferred) == "aaabbb"


def test_a_pool_called_default_governs_workers_that_name_none() -> None:
    fill(a=3, b=3)
    put("default", "b", "a", strategy="strict", concurrency=4)
    beat("w1")

    assert queue_order(9, queues=["a", "b"]) == "bbba"
    assert queue_order(9, queues=["a", "b"], worker_id="w1") == ""
    shown = get("admin/pools/default")
    assert (shown["active_workers"], shown["active_jobs"]) == (1, 4)
    assert queue_order(9, queues=["a"], pool="unknown") == "aa"


# --- the examples of the specification ------------------------------------------------------------


@spec("fair-scheduling 14.1")
def test_a_worker_with_three_weighted_queues() -> None:
    fill(critical=60, default=60, low=60)
    wanted: dict[str, Any] = {
        "pool": "general", "queues": ["critical", "default", "low"], "strategy": "weighted",
        "weights": {"critical": 5, "default": 3, "low": 1},
    }  # fmt: skip

    found = [job["queue"] for _ in range(9) for job in taken(10, worker_id="worker-abc", **wanted)]

    assert [found.count(q) for q in ("critical", "default", "low")] == [50, 30, 10]


@spec("fair-scheduling 14.2")
def test_payments_are_for_their_pool() -> None:
    fill(payments=4, default=1, email=1, notifications=1)
    put("payment-workers", "payments", concurrency=2, strategy="strict", isolated=True)
    put("general-workers", "default", "email", "notifications", concurrency=50)

    assert [job["queue"] for job in taken(9, pool="general-workers")] == [
        "default", "email", "notifications",
    ]  # fmt: skip
    assert taken(9, queues=["payments"]) == []
    assert len(taken(9, pool="payment-workers")) == 2


@spec("fair-scheduling 14.3")
def test_analytics_gets_a_tenth_under_load() -> None:
    fill(critical=100, default=100, analytics=100)
    put(
        "general", "critical", "default", "analytics", strategy="strict",
        starvation_prevention={
            "enabled": True, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.10,
        },
    )  # fmt: skip

    found = [job["queue"] for _ in range(10) for job in taken(10, pool="general")]

    for queue in ("analytics", "default"):
        assert all(queue in found[n : n + 10] for n in range(91))
    assert 70 <= found.count("critical") <= 80
